"""Where the translated functions are kept, until when, and what a damaged or foreign file there does."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from patience import LONGEST

from impact_aware.compiled import fingerprint, private_folder

PROGRAM = """
from impact_aware.compiled import NUMBER, VECTOR, compiled

@compiled(NUMBER, NUMBER)
def double(value):
    return 2.0 * value

print(double(21.0))
"""


def test_a_changed_part_in_another_file_makes_another_cache(tmp_path: Path) -> None:
    files = {
        "kernels.py": "\n@compiled(NUMBER)\ndef f(): ...\n",
        "part.py": "\nTRANSLATED = (g,)\n",
        "other.py": "x = 1\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    before = fingerprint(tmp_path)
    (tmp_path / "other.py").write_text("x = 2\n")
    assert fingerprint(tmp_path) == before
    for name in ("kernels.py", "part.py"):
        (tmp_path / name).write_text(files[name] + "# changed\n")
        after = fingerprint(tmp_path)
        assert after != before, name
        before = after


def test_an_install_that_is_read_only_is_cached_in_the_users_folder(tmp_path: Path) -> None:
    # Nobody makes a folder there, not even root, whom permissions do not stop.
    unwritable = Path("/proc/impact_aware")
    assert private_folder([unwritable, tmp_path / "user" / "cache"]) == tmp_path / "user" / "cache"
    assert private_folder([tmp_path / "first", tmp_path / "second"]) == tmp_path / "first"
    assert private_folder([unwritable]) is None


def test_a_folder_that_others_can_write_to_or_a_link_keeps_nothing(tmp_path: Path) -> None:
    shared, link, own = tmp_path / "shared", tmp_path / "link", tmp_path / "own"
    shared.mkdir()
    shared.chmod(0o777)
    link.symlink_to(tmp_path)
    assert private_folder([shared, link, own]) == own
    assert own.stat().st_mode & 0o777 == 0o700


@pytest.fixture
def program(tmp_path):
    """A program with one compiled function, run in `tmp_path`: its standard output and error."""
    (tmp_path / "program.py").write_text(PROGRAM)

    def run(**options):
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kept")}
        command = [sys.executable, "-P", "program.py"]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=LONGEST, **options
        )
        return done.stdout, done.stderr

    return run


@pytest.mark.parametrize("content", [b"", b"garbage", None], ids=["empty", "garbage", "cut"])
@pytest.mark.parametrize("kind", ["nbi", "nbc"])
def test_a_damaged_file_is_one_line_once_and_then_replaced(program, tmp_path, kind, content):
    assert program() == ("42.0\n", "")
    (kept,) = tmp_path.glob(f"kept/numba-*/**/program.double*.{kind}")
    kept.write_bytes(kept.read_bytes()[:-20] if content is None else content)
    out, error = program()
    assert out == "42.0\n" and len(error.splitlines()) == 1 and "damaged files" in error
    assert program() == ("42.0\n", "")


def test_a_full_disk_is_one_line_and_no_failure(program):
    # A limit on the size of files stands for the full disk.
    out, error = program(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10)))
    assert out == "42.0\n" and len(error.splitlines()) == 1 and "keeps none" in error


@pytest.mark.parametrize("content", ["cache_dir: planted\ndisable_jit: 1\n", "[1, 2]\n", "\xff"])
def test_numbas_file_in_the_current_folder_is_not_read(program, tmp_path, content):
    (tmp_path / ".numba_config.yaml").write_text(content)
    assert program() == ("42.0\n", "")
    assert not (tmp_path / "planted").exists() and list(tmp_path.glob("kept/numba-*/**/*.nbc"))
