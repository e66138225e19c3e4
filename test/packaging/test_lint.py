"""The style of the sources as part of `colcon test`: ruff in place of ament_flake8 and ament_pep257."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_ruff_has_nothing_to_say() -> None:
    pytest.importorskip("ruff")
    answer = subprocess.run([sys.executable, "-m", "ruff", "check", "."], cwd=ROOT, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stdout
