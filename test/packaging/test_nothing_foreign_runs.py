"""A file that a stranger left in the current folder, or a quote in the clone's path, runs nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from patience import LONGEST

from impact_aware.bringup.processes import quiet_environment
from impact_aware.cli.main import main

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def trap(tmp_path):
    """A folder whose `yaml.py` says that it ran."""
    (tmp_path / "yaml.py").write_text("print('foreign code ran')\n")
    (tmp_path / "impact_aware").mkdir()
    (tmp_path / "impact_aware" / "__init__.py").write_text("print('foreign code ran')\n")
    return tmp_path


def python(folder, environment, *words):
    command = [sys.executable, *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=LONGEST).stdout


def test_the_trap_works(trap):
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    assert "foreign code ran" in python(trap, environment, "-c", "import yaml")


def test_nodes_take_no_module_of_the_current_folder(trap):
    assert "foreign" not in python(trap, quiet_environment(7), "-c", "import yaml, impact_aware")


def test_what_a_command_starts_takes_no_module_of_the_current_folder(trap, monkeypatch):
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    assert main(["predict", "--robot", "nobody"]) == 2
    assert "foreign" not in python(trap, None, "-c", "import yaml, impact_aware")


@pytest.mark.parametrize("content", [b"no.such.key: 1\ntext.usetex: True\n", b"\xff"])
def test_a_commands_figures_are_drawn_without_matplotlibrc(tmp_path, content):
    """The file of the current folder and the user's own: the latter with settings that need LaTeX."""
    (tmp_path / "matplotlibrc").write_bytes(content)
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "matplotlibrc").write_text("text.usetex: True\n")
    words = ["validate", "viscoelastic", "--trials", "5", "--out", "o"]
    command = [sys.executable, "-P", "-m", "impact_aware.cli.main", *words]
    given = {**os.environ, "MPLCONFIGDIR": str(tmp_path / "own"), "PATH": ""}
    done = subprocess.run(command, cwd=tmp_path, env=given, capture_output=True, text=True, timeout=LONGEST)
    assert done.stderr == "" and list(tmp_path.glob("o/*.png"))


def test_fast_dds_reads_no_profiles_of_the_current_folder(tmp_path):
    """A node in a folder with a file of profiles, which Fast DDS reports as damaged when it reads it."""
    (tmp_path / "DEFAULT_FASTRTPS_PROFILES.xml").write_text("no XML")
    script = "import sys; from impact_aware.bringup import start; start.EXECUTABLES['node'] = 'node'; "
    script += "sys.path.append('.'); sys.exit(start.start('node'))"
    (tmp_path / "node.py").write_text("def main():\n    import rclpy\n    rclpy.init()\n    rclpy.create_node('n')\n")
    given = {**os.environ, "ROS_DOMAIN_ID": "97", "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    command = [sys.executable, "-P", "-c", script]
    done = subprocess.run(command, cwd=tmp_path, env=given, capture_output=True, text=True, timeout=LONGEST)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@pytest.mark.parametrize("name", ["it's", 'a "b"', "$(touch ran)", "`touch ran`", "a; touch ran"])
def test_a_path_with_quotes_is_a_path(tmp_path, name):
    """What `make` reads before a command: the environment's entrance, made from the clone's path."""
    venv = tmp_path / name
    (venv / "bin").mkdir(parents=True)
    script = "import sys; sys.path.insert(0, sys.argv[1]); import wheels, pathlib; "
    script += "wheels.write_entrance(pathlib.Path(sys.argv[2]))"
    subprocess.run([sys.executable, "-c", script, str(ROOT / "environment"), str(venv)], check=True, timeout=LONGEST)
    shell = ["bash", "-c", '. "$1/enter.sh"; printf %s "$PATH"', "bash", str(venv)]
    path = subprocess.run(shell, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert path.split(":")[0] == str(venv / "bin") and not (tmp_path / "ran").exists()


def test_the_entrance_leaves_another_ros_and_keeps_bytecode(tmp_path):
    script = "import sys; sys.path.insert(0, sys.argv[1]); import wheels, pathlib; "
    script += "wheels.write_entrance(pathlib.Path(sys.argv[2]))"
    command = [sys.executable, "-c", script, str(ROOT / "environment"), str(tmp_path)]
    subprocess.run(command, check=True, timeout=LONGEST)
    names = ("PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "AMENT_PREFIX_PATH")
    shell = ["bash", "-c", '. "$1/enter.sh"; printf "%s|" "${PYTHONDONTWRITEBYTECODE-}" "${PYTHONPATH-}" "${HOME-}"']
    given = {**os.environ, **dict.fromkeys(names, "1"), "HOME": "/here"}
    done = subprocess.run([*shell, "bash", str(tmp_path)], env=given, capture_output=True, text=True, check=True)
    assert done.stdout == "||/here|"
