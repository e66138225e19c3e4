"""`pip install .` without ROS: the wheel, in a bare environment that has what setup.py requires and nothing else."""

import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from patience import LONGEST

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "test" / "data" / "panda_touch" / "touch.csv"
pytestmark = pytest.mark.slow


def closure(names: list[str]) -> dict[str, importlib.metadata.Distribution]:
    """Distributions that these requirements bring along, as their metadata says."""
    requirements = pytest.importorskip("packaging.requirements")
    found: dict[str, importlib.metadata.Distribution] = {}
    waiting = [requirements.Requirement(name) for name in names]
    while waiting:
        wanted = waiting.pop()
        name = re.sub(r"[-_.]+", "-", wanted.name).lower()
        if name in found or (wanted.marker is not None and not wanted.marker.evaluate({"extra": ""})):
            continue
        try:
            found[name] = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            pytest.skip(f"{name} is installed here, but not by pip")
        waiting += [requirements.Requirement(line) for line in found[name].requires or []]
    return found


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel, and links to the libraries that the wheel requires."""
    folder = tmp_path_factory.mktemp("pip_alone")
    source = folder / "source"
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in ("impact_aware", "config", "launch", "rviz", "resource", "bin"):
        shutil.copytree(ROOT / name, source / name, ignore=ignored)
    for name in ("setup.py", "setup.cfg", "pyproject.toml", "package.xml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    build = ["wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(source)]
    subprocess.run([*pip, *build], check=True, capture_output=True)
    environment = folder / "venv"
    venv.create(environment, with_pip=False)
    [site] = environment.glob("lib/python3.*/site-packages")
    [wheel] = folder.glob("impact_aware-*.whl")
    python = ["--python", str(environment / "bin" / "python")]
    subprocess.run([*pip, *python, "install", "--no-deps", "--no-index", str(wheel)], check=True, capture_output=True)
    [described] = importlib.metadata.distributions(path=[str(site)], name="impact_aware")
    for distribution in closure([line for line in described.requires or [] if "extra ==" not in line]).values():
        for top in {file.parts[0] for file in distribution.files or []} - {"..", "__pycache__"}:
            if not (site / top).exists():
                (site / top).symlink_to(str(distribution.locate_file(top)))
    subprocess.run([*pip, *python, "check"], check=True, capture_output=True)
    return environment


def run(bare: Path, command: str, *words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A command of the environment, from another folder and without the variables of this one."""
    variables = {name: os.environ[name] for name in ("HOME", "LANG", "OMP_NUM_THREADS") if name in os.environ}
    path = {"PATH": f"{bare / 'bin'}:/usr/bin:/bin", "MPLBACKEND": "Agg"}
    return subprocess.run(
        [str(bare / "bin" / command), *words],
        cwd=folder,
        env=variables | path,
        capture_output=True,
        text=True,
        timeout=LONGEST,
    )


def test_the_library_predicts_with_the_profiles_that_come_with_it(bare: Path, tmp_path: Path) -> None:
    shutil.copy(ROOT / "examples" / "predict_a_jump.py", tmp_path)
    answer = run(bare, "python", "predict_a_jump.py", folder=tmp_path)
    assert answer.returncode == 0 and answer.stdout.startswith("slide, impulse"), answer.stderr
    where = run(bare, "python", "-c", "import impact_aware; print(impact_aware.__file__)", folder=tmp_path)
    assert Path(where.stdout).is_relative_to(bare)


def test_predict_gives_the_numbers_of_the_clone(bare: Path, tmp_path: Path) -> None:
    words = ["predict", "--json", "--robot", "fr3", "--dq", "0.1", "0.2", "0", "-0.4", "0", "0.6", "0"]
    answer = run(bare, "impact-aware", *words, folder=tmp_path)
    here = subprocess.run([sys.executable, "-m", "impact_aware.cli.main", *words], capture_output=True, text=True)
    assert json.loads(answer.stdout) == json.loads(here.stdout)


def test_analyze_reads_a_table_and_writes_its_report(bare: Path, tmp_path: Path) -> None:
    answer = run(bare, "impact-aware", "analyze", str(TABLE), "--robot", "panda", "--out", "results", folder=tmp_path)
    assert answer.returncode == 0 and "520 messages, samples at 100 Hz" in answer.stdout, answer.stderr
    assert (tmp_path / "results" / "report.html").stat().st_size > 1000


def test_what_is_left_out_is_named_with_its_package(bare: Path, tmp_path: Path) -> None:
    (tmp_path / "log.parquet").write_bytes(b"PAR1")
    for package, words in {"pyarrow": ["analyze", "log.parquet"], "mujoco": ["campaign", "hit-and-push"]}.items():
        answer = run(bare, "impact-aware", *words, folder=tmp_path)
        line = f"impact-aware: error: {package} is not installed: python3 -m pip install {package}"
        assert (answer.returncode, answer.stderr.splitlines()) == (2, [line])
    answer = run(bare, "python", "-c", "import impact_aware; impact_aware.run_episode", folder=tmp_path)
    assert answer.stderr.endswith("run_episode needs the simulator: python3 -m pip install mujoco\n")


def test_validate_recomputes_a_papers_number(bare: Path, tmp_path: Path) -> None:
    answer = run(bare, "impact-aware", "validate", "push", folder=tmp_path)
    assert answer.returncode == 0 and "0.34" in answer.stdout, answer.stderr


@pytest.mark.parametrize("words", [["impact-aware", "demo", "hit-and-push"], ["impact_detector"]])
def test_a_command_that_starts_nodes_says_what_is_missing(bare: Path, tmp_path: Path, words: list[str]) -> None:
    answer = run(bare, *words, folder=tmp_path)
    [line] = answer.stderr.splitlines()
    assert answer.returncode == 2
    assert "no rclpy and no impact_aware_msgs" in line and "predict, analyze and validate need no ROS" in line
    assert not list(tmp_path.iterdir())


def test_pip_s_command_is_not_overwritten_by_the_one_of_a_workspace(bare: Path) -> None:
    assert (bare / "bin" / "impact-aware").read_text(encoding="utf-8").startswith(f"#!{bare}")
