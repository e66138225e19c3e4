"""A sourced ROS 2: both packages built with colcon, and what only PyPI has in a virtual environment beside it."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import kernels
from steps import ROOT, SetupError, Stamp, fingerprint, run, run_together, say

HERE = Path(__file__).resolve().parent
VENV = ROOT / ".venv-ros"
REQUIREMENTS = HERE / "with-ros.txt"
# Raise it when this file installs something else for the same requirements: every environment is then built anew.
RECIPE = "1"


def system_python() -> str:
    """The interpreter that the sourced ROS 2 is made for."""
    return shutil.which("python3") or sys.executable


def answer(code: str) -> str | None:
    """What the system's Python prints for `code`, or None when it fails."""
    process = subprocess.run([system_python(), "-c", code], capture_output=True, text=True)
    return process.stdout.strip() if process.returncode == 0 else None


def can_import(module: str) -> bool:
    """Whether the system's Python, with ROS 2 sourced, imports `module`."""
    return answer(f"import {module}") is not None


def requirements() -> list[str]:
    """The pinned requirements that the sourced ROS 2 and the system do not already satisfy.

    Raises:
        SetupError: Pinocchio must come from ROS, and is not there.
    """
    wanted = []
    for line in REQUIREMENTS.read_text(encoding="utf-8").splitlines():
        requirement, _, module = (part.strip() for part in line.partition("#"))
        if requirement and not (module.isidentifier() and can_import(module)):
            wanted.append((requirement, module))
    numpy = answer("import numpy; print(numpy.__version__)")
    if numpy is None:
        raise SetupError("python3 cannot import numpy, which rclpy's messages need: sudo apt install python3-numpy")
    if int(numpy.split(".")[0]) < 2 and any(module == "pinocchio" for _, module in wanted):
        # PyPI's Pinocchio needs NumPy 2, and this ROS 2's messages are compiled for NumPy 1.
        raise SetupError(f"python3 cannot import pinocchio: sudo apt install ros-{os.environ['ROS_DISTRO']}-pinocchio")
    # Never another NumPy than the one that ROS 2's messages were compiled for.
    return [requirement for requirement, _ in wanted] + [f"numpy=={numpy}"]


def create(wanted: list[str], log: Path) -> None:
    """Create the environment beside the sourced ROS 2 and install `wanted` into it."""
    if VENV.exists():
        if not (VENV / "made-by-impact-aware").exists():
            raise SetupError(f"{VENV.name} exists and was not made by this setup: move it away")
        shutil.rmtree(VENV)
    say(f"{VENV.name}: beside the sourced ROS 2 {os.environ['ROS_DISTRO']}")
    run("virtual environment", [system_python(), "-m", "venv", "--system-site-packages", VENV], log)
    (VENV / "made-by-impact-aware").touch()
    pip = [str(VENV / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "install"]
    run(f"{len(wanted)} packages from PyPI", [*pip, *wanted], log)
    run("the rigs, editable", [*pip, "--no-deps", "-e", ROOT / "rigs"], log)


def build(log: Path) -> None:
    """Build both packages into `install/`, with the environment's Python, so that the nodes see its packages."""
    python = VENV / "bin" / "python"
    colcon = [str(python), "-m", "colcon"]
    if subprocess.run([*colcon, "--help"], capture_output=True).returncode != 0:
        raise SetupError("colcon is missing: sudo apt install python3-colcon-common-extensions")
    command = [*colcon, "--log-base", "log", "build", "--base-paths", ".", "msg", "--symlink-install"]
    command += ["--packages-select", "impact_aware_msgs", "impact_aware", "--build-base", "build"]
    command += ["--install-base", "install", "--event-handlers", "console_direct+"]
    command += ["--cmake-args", f"-DPython3_EXECUTABLE={python}", "-DBUILD_TESTING=OFF", "-DCMAKE_BUILD_TYPE=Release"]
    variables = dict(os.environ)
    for name in ("MAKEFLAGS", "MAKEOVERRIDES", "MFLAGS"):
        variables.pop(name, None)
    run("impact_aware_msgs and impact_aware, built with colcon", command, log, variables)


def tell_rosdep(log: Path) -> None:
    """Print the dependencies that rosdep misses, where it is installed; installing them needs the user's consent."""
    if shutil.which("rosdep") is None:
        return
    command = ["rosdep", "check", "--from-paths", str(ROOT), str(ROOT / "msg"), "--ignore-src"]
    process = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    if process.returncode != 0:
        with log.open("a", encoding="utf-8") as out:
            out.write(process.stdout + process.stderr)
        say(f"rosdep misses some dependencies ({log}); to install them: rosdep install --from-paths . msg --ignore-src")


def setup() -> Path:
    """Bring the environment and the workspace up to date with the sourced ROS 2; return the environment's folder."""
    log = ROOT / "build" / "sourced.log"
    # The last prefix is ROS 2 itself: overlays come and go in front of it.
    underlay = os.environ["AMENT_PREFIX_PATH"].split(os.pathsep)[-1]
    made_from = [REQUIREMENTS, ROOT / "rigs" / "pyproject.toml"]
    base = fingerprint(made_from, RECIPE, os.environ["ROS_DISTRO"], underlay, system_python(), str(ROOT))
    sources = [path for path in (ROOT / "msg").rglob("*") if path.is_file()]
    sources += [ROOT / name for name in ("package.xml", "setup.py", "setup.cfg")]
    # A symlinked install follows edits of a file, not that one is added.
    layout = [str(path.relative_to(ROOT)) for name in ("config", "launch", "rviz") for path in (ROOT / name).rglob("*")]
    environment, workspace = Stamp(VENV / "stamps" / "environment"), Stamp(VENV / "stamps" / "workspace")
    if not environment.matches(base):
        log.unlink(missing_ok=True)
        environment.clear()
        create(requirements(), log)
        tell_rosdep(log)
        environment.write(base)
    key = fingerprint(sources, base, *sorted(layout))
    if not workspace.matches(key):
        workspace.clear()
        build(log)
        workspace.write(key)
    translated = Stamp(VENV / "stamps" / "kernels")
    if not translated.matches(arithmetic := fingerprint(kernels.sources(), base)):
        run_together([kernels.translation(VENV / "bin" / "python", log)])
        translated.write(arithmetic)
    setup, programs = shlex.quote(str(ROOT / "install" / "local_setup.sh")), shlex.quote(str(VENV / "bin"))
    text = f'. {setup}\nexport PATH={programs}:"$PATH"\n'
    (VENV / "enter.sh").write_text(text, encoding="utf-8")
    return VENV
