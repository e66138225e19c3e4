"""`pip install .` without ROS on other versions of Python, where an interpreter is there: `make test-pythons`."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from patience import LONGEST

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "test" / "data" / "panda_touch" / "touch.csv"


def interpreter(version: str) -> str:
    """Path of an interpreter that starts, or empty: a shim of pyenv may only name versions that are not chosen."""
    chosen = Path.home().glob(f".pyenv/versions/{version}.*/bin/python")
    for path in filter(None, [shutil.which(f"python{version}"), *map(str, chosen)]):
        if subprocess.run([path, "-c", ""], capture_output=True).returncode == 0:
            return path
    return ""


@pytest.fixture(scope="module", params=[pytest.param(v, marks=pytest.mark.xdist_group(v)) for v in ("3.12", "3.13")])
def commands(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with the commands of a new environment that has the package and what it requires, and nothing else."""
    path = interpreter(request.param)
    if not path:
        pytest.skip(f"no Python {request.param}")
    folder = tmp_path_factory.mktemp("python")
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, files.split("\0")):  # a build leaves files beside its source
        (folder / "source" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / "source" / name)
    environment, uv = folder / "environment", str(Path(sys.executable).parent / "uv")
    subprocess.run([uv, "venv", "--quiet", "--python", path, environment], check=True)
    python = ["--python", environment / "bin" / "python"]
    subprocess.run([uv, "pip", "install", "--quiet", *python, folder / "source"], check=True, timeout=LONGEST)
    return environment / "bin"


def run(*words: str | Path, folder: Path) -> str:
    answer = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=LONGEST)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def test_predict_gives_the_numbers_of_this_version(commands: Path, tmp_path: Path) -> None:
    words = ["predict", "--json", "--robot", "fr3", "--dq", "0.1", "0.2", "0", "-0.4", "0", "0.6", "0"]
    found = json.loads(run(commands / "impact-aware", *words, folder=tmp_path))
    here = json.loads(run(sys.executable, "-m", "impact_aware.cli.main", *words, folder=tmp_path))
    # Other builds of the same libraries round differently.
    np.testing.assert_allclose(found["velocity_after"], here["velocity_after"], rtol=0.0, atol=1e-9)
    assert found["mode"] == here["mode"]


def test_analyze_reads_a_table_and_writes_its_report(commands: Path, tmp_path: Path) -> None:
    words = ["analyze", TABLE, "--robot", "panda", "--out", "results"]
    touch = re.search(r"touch at ([\d.]+) s", run(commands / "impact-aware", *words, folder=tmp_path))
    assert touch and float(touch[1]) == pytest.approx(2.6, abs=0.02)
    assert (tmp_path / "results" / "report.html").stat().st_size > 1000


def test_an_example_runs(commands: Path, tmp_path: Path) -> None:
    words = [commands / "python", ROOT / "examples" / "predict_a_jump.py"]
    assert run(*words, folder=tmp_path).startswith("slide, impulse")
