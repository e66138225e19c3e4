"""docs/architecture.md against the source: rooms, arrows between them, and the rules of the house."""

import ast
import functools
import re
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "impact_aware"
PAGE = ROOT / "docs" / "architecture.md"
# Where ROS may be imported: its client library, and every generated message.
WITH_ROS = ("nodes", "ros")
ROS = re.compile(r"rclpy|\w+_msgs|\w+_srvs|\w+_interfaces|rosidl_\w+|tf2_ros|ament_index_python")
LONGEST_FILE = 400
LONGEST_FUNCTION = 80
MOST_LINES = {"impact_aware": 68_150, "rigs": 10_150, "test": 57_700}
"""Lines of Python, docstrings included: what comes replaces something, and the numbers follow what goes."""
# What holds the house up and belongs to no room.
FOUNDATION = {
    "arrays", "child_process", "compiled", "errors", "json_text", "library_settings", "output_folder", "parameters",
    "plugins", "ranges", "resources", "screen", "transform_buffer", "worker_pool", "yaml_text",
}  # fmt: skip

OPENERS = {
    "open", ".open", ".read_text", ".read_bytes", "np.load", ".loadtxt", ".genfromtxt", ".fromfile", ".memmap", ".File",
    "loadmat", ".ParquetFile", ".read_table", "sqlite3.connect", "AnyReader", "MeshLoader", ".MeshLoader", ".imread",
}  # fmt: skip
"""Calls that open a file."""

DOORS = {
    "resources.py": "the files of the user: regular ones of a bounded size",
    "tables/column_file.py": "tables: resources has looked at the file before a library opens it",
    "tables/arrays.py": "the same",
    "tables/text.py": "the same",
    "bags/bag_files.py": "recordings: resources has looked at each file before a library opens it",
    "bags/bag_parts.py": "the same",
    "bags/mcap_scan.py": "the same",
    "impact/sampled_map.py": "bytes that resources has read",
    "contact/hull.py": "meshes: resources has read the file, and a copy of the process has tried it",
    "output_folder.py": "results that this process writes, and /proc",
    "recordings/annotated_bag.py": "results that this process writes",
    "experiments/campaign_store.py": "a database within a locked folder of results",
    "bringup/processes.py": "logs of processes that this one started",
    "cli/doctor.py": "the same",
    "library_settings.py": "/dev/null, and the current folder to come back to",
    "child_process.py": "/dev/null and /proc",
    "bringup/host_check.py": "/proc and /sys",
    "ros/diagnostics.py": "/proc",
    "compiled.py": "sources of this package",
    "cli/main.py": "sources of installed plugins",
    "report/html.py": "templates of this package",
    "bags/message_types.py": "definitions of installed messages",
    "nodes/bag_recorder.py": "the same, and the recording that it writes",
}
"""Modules that open files, and why nothing from outside is opened there unseen."""

SOURCES = {path.relative_to(PACKAGE): path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py"))}
TREES = {path: ast.parse(text) for path, text in SOURCES.items()}


def room_of(path: Path) -> str:
    return path.parts[0].removesuffix(".py")


def imported_modules(tree: ast.AST) -> list[str]:
    """Dotted names of everything that is imported, anywhere in a file."""
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports inside the package are absolute"
            names += [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Call) and "import_module" in ast.dump(node.func):
            names += [arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
    return names


@functools.cache
def imports() -> dict[str, dict[str, list[str]]]:
    """Room -> imported room -> the imports, as `file: module`; without the foundation."""
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for path, tree in TREES.items():
        for name in imported_modules(tree):
            first, _, rest = name.partition(".")
            room = rest.partition(".")[0]
            if first == "impact_aware" and room and room != room_of(path):
                found[room_of(path)][room].append(f"{path}: {name}")
    return found


def arrows() -> dict[str, set[str]]:
    """Room -> rooms that it imports, from the block `arrows` of the page, in the order of its lines."""
    block = re.search(r"```arrows\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert block, "docs/architecture.md has no block ```arrows"
    drawn: dict[str, set[str]] = {}
    for line in block[1].splitlines():
        room, arrow, others = line.partition("->")
        assert arrow, f"no arrow in the line {line!r}"
        assert room.strip() not in drawn, f"two lines of {room.strip()}"
        drawn[room.strip()] = set(others.split()) - {"-"}
    return drawn


def rooms() -> set[str]:
    return {path.name for path in PACKAGE.iterdir() if path.is_dir() and any(path.glob("*.py"))}


def test_the_page_draws_every_room() -> None:
    assert set(arrows()) == rooms()


@pytest.mark.parametrize("room", sorted(rooms()))
def test_the_arrows_of_a_room_are_its_imports(room: str) -> None:
    found = {other: where for other, where in imports()[room].items() if other not in FOUNDATION}
    drawn = arrows()[room]
    for other, where in found.items():
        assert other in drawn, f"docs/architecture.md lacks the arrow {room} -> {other}: {where}"
    for other in drawn:
        assert other in found, f"docs/architecture.md draws {room} -> {other}, which nothing imports"


def test_arrows_point_to_earlier_lines_only() -> None:
    seen: set[str] = set()
    for room, others in arrows().items():
        assert others <= seen, f"{room} imports {sorted(others - seen)}, drawn below it"
        seen.add(room)


def test_the_foundation_imports_no_room() -> None:
    assert {path.stem for path in PACKAGE.glob("*.py")} == FOUNDATION | {"__init__"}
    for name in FOUNDATION:
        assert set(imports()[name]) <= FOUNDATION, name


def test_only_nodes_import_ros() -> None:
    """Nothing else needs an installed ROS 2, and `messages` takes the classes of messages as arguments."""
    found = {
        f"{path} imports {name}"
        for path, tree in TREES.items()
        if room_of(path) not in WITH_ROS
        for name in imported_modules(tree)
        if ROS.fullmatch(name.partition(".")[0])
    }
    assert not found


def _roots(tree: ast.Module) -> set[str]:
    return {name.partition(".")[0] for name in imported_modules(tree)}


def test_only_one_file_imports_numba() -> None:
    """It keeps Numba from reading a file of the current folder, which could choose code to run."""
    assert {str(path) for path, tree in TREES.items() if "numba" in _roots(tree)} == {"compiled.py"}


def test_files_are_opened_in_known_places_only() -> None:
    """Whoever wants a file of the user calls `resources.read_text`, `open_columns` or `Bag`."""
    found = set()
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            # `read_text(...)` alone is that of resources.
            if {called, "." + called.rpartition(".")[2] if "." in called else ""} & OPENERS:
                found.add(str(path))
    assert found == set(DOORS)


def test_no_product_file_names_the_rigs() -> None:
    """The product works without them: their commands and nodes come by entry points."""
    plugged = tomllib.loads((ROOT / "rigs" / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    modules = {module for group in plugged.values() for module in group.values()}
    for path, text in SOURCES.items():
        assert "impact_aware_rigs" not in text, path
        assert not [module for module in modules if module in text], path


def test_only_the_session_makes_the_controller_and_nothing_outside_control_holds_it() -> None:
    """Whoever wants torques from states drives `ControlSession`."""
    law = "ReferenceSpreadingController"
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else None
            assert name != law or room_of(path) == "control", f"{path} holds the controller"
            if isinstance(node, ast.Call) and law in ast.dump(node.func):
                assert path == Path("control/session.py"), f"{path}:{node.lineno} makes a controller"


def test_files_and_functions_are_short() -> None:
    counts = {path: len(text.splitlines()) for path, text in SOURCES.items()}
    long = {f"{path} has {count} lines" for path, count in counts.items() if count > LONGEST_FILE}
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                if length > LONGEST_FUNCTION:
                    long.add(f"{path}: {node.name} has {length} lines")
    assert not long


@pytest.mark.parametrize("folder", MOST_LINES)
def test_what_comes_replaces_something(folder: str) -> None:
    """Fails too where a number is left behind by a thousand lines: it would allow to add them again."""
    files = [path for path in (ROOT / folder).rglob("*.py") if ".venv" not in path.parts]
    count = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files)
    assert MOST_LINES[folder] - 1000 < count <= MOST_LINES[folder]


def test_no_room_is_over_a_tenth() -> None:
    """Of the installed lines: what is larger has two things in it."""
    lines: defaultdict[str, int] = defaultdict(int)
    for path, text in SOURCES.items():
        lines[room_of(path)] += len(text.splitlines())
    total = sum(lines.values())
    assert [room for room, count in lines.items() if 10 * count > total] == []
