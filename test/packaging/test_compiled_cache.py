"""Where the translated functions are kept, and until when."""

from __future__ import annotations

from pathlib import Path

from impact_aware.compiled import fingerprint, first_writable


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
    assert first_writable([unwritable, tmp_path / "user" / "cache"]) == tmp_path / "user" / "cache"
    assert first_writable([tmp_path / "first", tmp_path / "second"]) == tmp_path / "first"
    assert first_writable([unwritable]) is None
