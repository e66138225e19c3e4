"""`make setup`: commands at the same time, what fails, and pip where uv can't install."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "environment"))
import steps  # noqa: E402
import wheels  # noqa: E402


def shell(folder: Path, title: str, script: str) -> steps.Job:
    return steps.Job(title, ["sh", "-c", script], folder / f"{title}.log")


def test_commands_run_at_the_same_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each of the two ends only when the other one has begun."""
    wait = f"cd {tmp_path}; touch %s; while [ ! -e %s ]; do sleep 0.02; done"
    steps.run_together([shell(tmp_path, "a", wait % ("x", "y")), shell(tmp_path, "b", wait % ("y", "x"))])
    said = capsys.readouterr().out
    assert all(f"[setup] {title}: done in" in said for title in "ab")


def test_a_command_that_fails_ends_the_others_and_shows_its_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    endless = shell(tmp_path, "endless", f"echo $$ > {tmp_path}/pid; exec sleep 10000")
    broken = shell(
        tmp_path, "broken", f"while [ ! -s {tmp_path}/pid ]; do sleep 0.02; done; echo no such header; exit 3"
    )
    with pytest.raises(steps.SetupError, match="broken: failed with code 3 .* all output is in .*broken.log"):
        steps.run_together([endless, broken])
    assert "no such header" in capsys.readouterr().err
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}").exists()


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    """An environment whose uv fails and whose Python notes what it was asked for."""
    folder = tmp_path / "venv"
    (folder / "bin").mkdir(parents=True)
    for name, script in (("uv", "exit 2"), ("python", f'echo "$@" >> {tmp_path}/asked')):
        program = folder / "bin" / name
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
    return folder


def test_pip_installs_what_uv_could_not(venv: Path, tmp_path: Path) -> None:
    wheels.install_pins(venv, wheels.HERE / "uv.txt", tmp_path / "log")
    [asked] = (tmp_path / "asked").read_text().splitlines()
    assert asked.startswith("-m pip ") and "--require-hashes" in asked and asked.endswith("uv.txt")


def test_where_uv_can_not_be_had_pip_installs(venv: Path, tmp_path: Path) -> None:
    (venv / "bin" / "uv").unlink()
    (venv / "bin" / "python").write_text(
        f'#!/bin/sh\necho "$@" >> {tmp_path}/asked; case "$*" in *uv.txt) exit 1; esac\n'
    )
    wheels.install_pins(venv, wheels.HERE / "checks.txt", tmp_path / "log")
    uv, packages = (tmp_path / "asked").read_text().splitlines()
    assert uv.endswith("uv.txt") and packages.startswith("-m pip ") and packages.endswith("checks.txt")


def test_uv_takes_the_index_of_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "mirror")
    monkeypatch.delenv("UV_DEFAULT_INDEX", raising=False)
    assert wheels.installer_environment()["UV_DEFAULT_INDEX"] == "mirror"
    monkeypatch.setenv("UV_DEFAULT_INDEX", "own")
    assert wheels.installer_environment()["UV_DEFAULT_INDEX"] == "own"


def test_a_rewritten_export_leaves_the_installers_copy_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """uv links files from its cache, which other environments share."""
    export = tmp_path / "venv" / "share" / "a" / "cmake" / "a__rosidl_generator_pyExport.cmake"
    export.parent.mkdir(parents=True)
    cached = tmp_path / "cached.cmake"
    cached.write_text("/opt/python/cp311-cp311/include/python3.11")
    export.hardlink_to(cached)
    (tmp_path / "venv" / "bin").mkdir()
    # A script, because a link to an interpreter has not the packages of the environment that it is in.
    python = tmp_path / "venv" / "bin" / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    wheels.point_exports_at(tmp_path / "venv")
    assert cached.read_text() == "/opt/python/cp311-cp311/include/python3.11"
    assert "/opt/python" not in export.read_text() and export.read_text().endswith(f"python{sys.version_info.major}.11")


def test_a_script_beside_the_clone_imports_the_package(tmp_path: Path) -> None:
    """The clone is a folder of the package's name without `__init__.py`, which Python takes for a package, too."""
    (tmp_path / "impact_aware").mkdir()
    (tmp_path / "script.py").write_text("import impact_aware\nprint(impact_aware.__file__)\n")
    done = subprocess.run([sys.executable, tmp_path / "script.py"], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("__init__.py"), done.stdout
