"""package.xml, setup.py and the source tree tell the same story."""

import ast
import re
import sys
import tomllib
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
import yaml

import impact_aware
from impact_aware.bringup.start import EXECUTABLES

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "impact_aware"
# Imported name -> name in package.xml, where the two differ.
ROSDEP_NAMES = {
    "coal": "pinocchio",  # which brings its collision library
    "h5py": "python3-h5py",
    "jinja2": "python3-jinja2",
    "markupsafe": "python3-jinja2",  # which depends on it
    "matplotlib": "python3-matplotlib",
    "PIL": "python3-matplotlib",  # which depends on it
    "numba": "python3-numba",
    "numpy": "python3-numpy",
    "scipy": "python3-scipy",
    "tqdm": "python3-tqdm",
    "yaml": "python3-yaml",
    "mpl_toolkits": "python3-matplotlib",
}
# No rosdep key but pip's, with which bloom makes no release; `make setup` takes them from environment/with-ros.txt.
FROM_PYPI_ONLY = {"lz4", "mcap", "mujoco", "pyarrow", "rosbags", "zstandard"}

# Imported name -> name on PyPI, where the two differ.
PYPI_NAMES = {
    "coal": "pin",
    "markupsafe": "jinja2",
    "mpl_toolkits": "matplotlib",
    "PIL": "matplotlib",
    "pinocchio": "pin",
    "yaml": "PyYAML",
}


def described(path: Path) -> ElementTree.Element:
    return ElementTree.parse(path).getroot()


def dependencies(root: ElementTree.Element) -> set[str]:
    return {(entry.text or "").strip() for entry in root if entry.tag.endswith("depend")}


def imports_that_may_fail(tree: ast.Module) -> set[ast.AST]:
    """The nodes inside a `try` that goes on without the package."""
    optional: set[ast.AST] = set()
    for block in ast.walk(tree):
        if isinstance(block, ast.Try) and any("ImportError" in ast.dump(handler) for handler in block.handlers):
            optional.update(node for statement in block.body for node in ast.walk(statement))
    return optional


def imported_packages() -> dict[str, Path]:
    """Every outside package that the source and the launch files cannot do without, with a file that imports it."""
    found: dict[str, Path] = {}
    for path in [*PACKAGE.rglob("*.py"), *(ROOT / "launch").rglob("*.py")]:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        optional = imports_that_may_fail(tree)
        for node in ast.walk(tree):
            if node in optional:
                continue
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module or ""]
            for name in names:
                top = name.partition(".")[0]
                if top not in sys.stdlib_module_names and top != "impact_aware":
                    found.setdefault(top, path)
    return found


def defined_names(node: ast.stmt) -> list[str]:
    """Names that a statement of a module defines: a function's, or those of an assignment."""
    if isinstance(node, ast.FunctionDef):
        return [node.name]
    return [target.id for target in getattr(node, "targets", []) if isinstance(target, ast.Name)]


def node_modules() -> dict[str, str]:
    """Executable -> module, of those modules of nodes/ that define `main`."""
    found = {}
    for path in (PACKAGE / "nodes").glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if "main" in {name for node in tree.body for name in defined_names(node)}:
            found[path.stem] = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    return found


def given_to_setuptools() -> dict[str, Any]:
    """What setup.py gives to setuptools, which is not asked to do anything."""
    given: dict[str, Any] = {}
    setuptools = pytest.importorskip("setuptools")
    source = (ROOT / "setup.py").read_text(encoding="utf-8")
    real = setuptools.setup
    setuptools.setup = lambda **arguments: given.update(arguments)
    try:
        exec(compile(source, str(ROOT / "setup.py"), "exec"), {"__file__": str(ROOT / "setup.py"), "__name__": "setup"})
    finally:
        setuptools.setup = real
    return given


@pytest.mark.parametrize("folder", [ROOT, ROOT / "msg"])
def test_package_description_is_complete(folder: Path) -> None:
    root = described(folder / "package.xml")
    assert root.tag == "package" and root.get("format") == "3"
    for tag in ("name", "version", "description", "maintainer", "license"):
        assert (root.findtext(tag) or "").strip(), tag
    assert root.findtext("license") == "Apache-2.0"
    assert root.findtext("version") == described(ROOT / "package.xml").findtext("version")


def test_every_import_is_declared() -> None:
    declared = dependencies(described(ROOT / "package.xml"))
    beside_ros = (ROOT / "environment" / "with-ros.txt").read_text(encoding="utf-8")
    for name, path in imported_packages().items():
        if name in FROM_PYPI_ONLY:
            assert f"# {name}\n" in beside_ros, name
        else:
            assert ROSDEP_NAMES.get(name, name) in declared, f"{path.relative_to(ROOT)} imports {name}"


def test_no_dependency_bars_a_release() -> None:
    for folder in (ROOT, ROOT / "msg"):
        assert not [name for name in dependencies(described(folder / "package.xml")) if name.endswith("-pip")]


def test_every_package_whose_executables_are_started_is_declared() -> None:
    declared = dependencies(described(ROOT / "package.xml"))
    # rosbag2's command, and the player's formats come with it.
    commands = {'"ros2", "bag"': "ros2bag"}
    started = set()
    for path in [*(ROOT / "launch").glob("*.py"), *(PACKAGE / "bringup").glob("*.py")]:
        text = path.read_text(encoding="utf-8")
        started |= set(re.findall(r'package="(\w+)"', text))
        started |= {package for words, package in commands.items() if words in text}
    assert {"rviz2", "robot_state_publisher", "tf2_ros", "ros2bag"} <= started
    assert started - {"impact_aware"} <= declared


def test_nothing_private_of_rclpy_is_used() -> None:
    """Names that begin with an underscore may be others in the next distribution."""
    rclpy = pytest.importorskip("rclpy")
    private: set[str] = set()
    for path in Path(rclpy.__file__).parent.rglob("*.py"):
        private |= set(re.findall(r"(?:self\.|def |node\.)(_[a-z]\w*)", path.read_text(encoding="utf-8")))
    assert {"_parameter_overrides", "_state_machine"} <= private
    sources = {path: ast.parse(path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.py")}
    own: set[str] = set()
    used: dict[str, str] = {}
    for path, tree in sources.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                own.add(node.name)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                own.add(node.attr)
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                own.add(node.target.id)
            elif isinstance(node, ast.Attribute) and node.attr in private:
                used.setdefault(node.attr, f"{path.relative_to(ROOT)}:{node.lineno}")
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(("rclpy._", "rclpy.impl")):
                used.setdefault(str(node.module), f"{path.relative_to(ROOT)}:{node.lineno}")
    assert {name: place for name, place in used.items() if name not in own} == {}


def test_pip_and_rosdep_are_told_of_the_same_libraries() -> None:
    """What is imported and is no part of ROS is what `pip install` and its extras bring along, and nothing else is."""
    libraries = set(imported_packages()) & ({*ROSDEP_NAMES, "pinocchio"} | FROM_PYPI_ONLY)
    given = given_to_setuptools()
    lines = [*given["install_requires"], *given["extras_require"]["parquet"], *given["extras_require"]["simulation"]]
    required = {re.split(r"[<>=]", line)[0] for line in lines}
    assert {PYPI_NAMES.get(name, name) for name in libraries} == required
    asked_for = (ROOT / "environment" / "requirements.in").read_text(encoding="utf-8").splitlines()
    assert required <= set(asked_for)


def test_every_message_package_used_by_the_interfaces_is_declared() -> None:
    declared = dependencies(described(ROOT / "msg" / "package.xml"))
    build = (ROOT / "msg" / "CMakeLists.txt").read_text(encoding="utf-8")
    for path in [*(ROOT / "msg").glob("msg/*.msg"), *(ROOT / "msg").glob("srv/*.srv")]:
        for package in re.findall(r"^([a-z]\w*)/[A-Z]\w*", path.read_text(encoding="utf-8"), flags=re.MULTILINE):
            assert package in declared, f"{path.name} uses {package}"
            assert f"find_package({package} REQUIRED)" in build, f"{path.name} uses {package}"


def test_every_interface_is_built() -> None:
    build = (ROOT / "msg" / "CMakeLists.txt").read_text(encoding="utf-8")
    listed = re.findall(r'"((?:msg|srv)/\w+\.(?:msg|srv))"', build)
    files = [*(ROOT / "msg").glob("msg/*.msg"), *(ROOT / "msg").glob("srv/*.srv")]
    assert sorted(listed) == sorted(f"{path.parent.name}/{path.name}" for path in files)


def test_commands_are_the_nodes_that_exist_and_the_command_line() -> None:
    scripts = given_to_setuptools()["entry_points"]["console_scripts"]
    commands = dict(re.split(r"\s*=\s*", script) for script in scripts)
    assert commands.pop("impact-aware") == "impact_aware.cli.main:main"
    assert commands.pop("analyze") == "impact_aware.cli.analyze:main"
    assert commands == {node: f"impact_aware.bringup.start:{node}" for node in node_modules()}
    assert EXECUTABLES == node_modules()


def test_version_is_the_same_everywhere() -> None:
    version = described(ROOT / "package.xml").findtext("version")
    assert f'version="{version}"' in (ROOT / "setup.py").read_text(encoding="utf-8")
    assert impact_aware.__version__ == version
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert (str(citation["version"]), citation["license"], citation["cff-version"]) == (version, "Apache-2.0", "1.2.0")


FLOOR = "3.11"
"""Oldest Python: `StrEnum` came with it, and the ROS 2 wheels are for it."""


def test_the_oldest_python_is_the_same_everywhere() -> None:
    stated = {
        "setup.py": r'python_requires=">=([\d.]+)"',
        "README.md": r"Python ([\d.]+) or newer",
        "environment/wheels.py": r'candidate in \(os.environ.get\("PYTHON"\), "python([\d.]+)"',
    }
    for name, pattern in stated.items():
        assert re.findall(pattern, (ROOT / name).read_text(encoding="utf-8")) == [FLOOR], name
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    assert tools["mypy"]["python_version"] == FLOOR
    assert tools["ruff"]["target-version"] == "py" + FLOOR.replace(".", "")


def test_no_file_uses_syntax_newer_than_the_oldest_python() -> None:
    version = tuple(map(int, FLOOR.split(".")))
    for path in [*PACKAGE.rglob("*.py"), *(ROOT / "launch").glob("*.py"), *(ROOT / "environment").glob("*.py")]:
        ast.parse(path.read_text(encoding="utf-8"), feature_version=version)
