"""The clone inside somebody's colcon workspace, beside their packages."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]


def test_colcon_runs_pytest_on_files_that_exist() -> None:
    """colcon takes pytest only where setup.py names it, and these arguments only by the name of its own option."""
    calls = [own for own in ast.walk(ast.parse((ROOT / "setup.py").read_text())) if isinstance(own, ast.keyword)]
    [extras] = [ast.literal_eval(own.value) for own in calls if own.arg == "extras_require"]
    assert "pytest" in extras["test"]
    arguments = yaml.safe_load((ROOT / "colcon.pkg").read_text())["pytest-args"]
    assert arguments[0] == "-m" and all((ROOT / path).exists() for path in arguments[2:])


def test_the_readmes_line_finds_both_packages_and_the_third(tmp_path: Path) -> None:
    pytest.importorskip("colcon_core")
    options = re.search(r"`colcon build (--base-paths [^`]+)`", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert options, "README.md names no line for a larger workspace"
    third = tmp_path / "src" / "third"
    third.mkdir(parents=True)
    third.joinpath("package.xml").write_text("<package><name>third</name><version>0.0.0</version></package>")
    third.joinpath("setup.py").write_text("from setuptools import setup\nsetup(name='third')\n")
    (tmp_path / "src" / "impact_aware").symlink_to(ROOT)
    command = [sys.executable, "-m", "colcon", "--log-base", "log", "list", "--names-only", *options[1].split()]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout.split()
    assert found == ["impact_aware", "impact_aware_msgs", "third"]
