"""Results as one unit: what is refused, what is replaced, and what is there after a kill at any moment."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from impact_aware import output_folder as module
from impact_aware.child_process import survives
from impact_aware.cli.main import main
from impact_aware.errors import InvalidInputError
from impact_aware.output_folder import MARKER, FolderLock, OutputError, OutputFolder, free_name, marker_of, write_whole


def write(folder, text, command="analyze", **more):
    with OutputFolder(folder, command, **more) as inside:
        (inside / "one.txt").write_text(text)
        (inside / "deep").mkdir()
        (inside / "deep" / "two.txt").write_text(text)


def content(folder):
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*.txt")}


def whole(text):
    return {"one.txt": text, "deep/two.txt": text}


def test_results_appear_with_their_marker(tmp_path):
    write(tmp_path / "out", "a")
    assert content(tmp_path / "out") == whole("a")
    assert marker_of(tmp_path / "out") == {"command": "analyze", "complete": True, "files": ["deep/two.txt", "one.txt"]}
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    (tmp_path / "empty").mkdir()
    write(tmp_path / "empty", "b")
    assert content(tmp_path / "empty") == whole("b")


def test_results_are_replaced_whole_and_what_others_put_there_stays_at_any_depth(tmp_path):
    out = tmp_path / "out"
    write(out, "a")
    mine = ("mine.txt", "notes/b.txt", "deep/mine.txt", "deep/deeper/mine.txt")
    for name in mine:
        (out / name).parent.mkdir(exist_ok=True)
        (out / name).write_text("keep")
    (out / "deep" / "link").symlink_to(tmp_path)
    with pytest.raises(InvalidInputError, match="which has results, expected another folder, or --force"):
        write(out, "b")
    with OutputFolder(out, "analyze", force=True) as inside:
        (inside / "other.txt").write_text("c")
    assert content(out) == {"other.txt": "c"} | dict.fromkeys(mine, "keep")
    assert (out / "deep" / "link").is_symlink()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_folder_of_another_user_in_a_sticky_one_is_refused_before_the_work(tmp_path, monkeypatch):
    (tmp_path / "out").mkdir()
    tmp_path.chmod(0o1777)
    OutputFolder(tmp_path / "out", "analyze")
    monkeypatch.setattr(os, "geteuid", lambda: 1 + tmp_path.stat().st_uid)
    OutputFolder(tmp_path / "new", "analyze")
    with pytest.raises(InvalidInputError, match="out, which is another user's, expected a folder that you can replace"):
        OutputFolder(tmp_path / "out", "analyze")


def test_results_can_be_moved_aside(tmp_path):
    out = tmp_path / "out"
    for text in "abc":
        write(out, text, "demo", aside=True)
    assert [content(tmp_path / name) for name in ("out", "out.1", "out.2")] == [whole("c"), whole("a"), whole("b")]
    with pytest.raises(ZeroDivisionError), OutputFolder(out, "demo", aside=True) as inside:
        (inside / "log.txt").write_text("d")
        raise ZeroDivisionError
    assert content(out) == whole("c") and content(tmp_path / "out.failed.1") == {"log.txt": "d"}
    with (output := OutputFolder(out, "demo", aside=True)) as inside:
        (inside / "one.txt").write_text("e")
    assert output.moved == tmp_path / "out.3" and content(output.moved) == whole("c")


def test_an_error_leaves_the_earlier_results(tmp_path):
    out = tmp_path / "out"
    write(out, "a")
    with pytest.raises(ZeroDivisionError), OutputFolder(out, "analyze", force=True) as inside:
        (inside / "one.txt").write_text("b")
        raise ZeroDivisionError
    assert content(out) == whole("a") and [path.name for path in tmp_path.iterdir()] == ["out"]


def test_what_is_not_ours_is_refused_in_one_line(tmp_path, monkeypatch):
    theirs, recording = tmp_path / "theirs", tmp_path / "bag"
    for folder in (theirs, recording):
        folder.mkdir()
        (folder / "precious.txt").write_text("x")
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to(theirs)
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    write(tmp_path / "demo", "a", "demo")
    monkeypatch.chdir(recording)
    for out, words in {
        theirs: "no result of this project",
        tmp_path / "demo": "a result of demo",
        tmp_path / "file": "expected a folder",
        tmp_path / "link": "not a link",
        tmp_path / "dangling": "not a link",
        tmp_path / "loop": "a folder",
        tmp_path: "not the current one or one around it",
        Path(""): "not the current one",
        Path("."): "not the current one",
        Path("/"): "not the current one",
        Path(".."): "not the current one",
        recording / "inside": "outside the recording",
        Path("a\0b"): "a folder",
    }.items():
        with pytest.raises(InvalidInputError) as error:
            OutputFolder(out, "analyze", inputs=[recording], force=True)
        assert words in str(error.value) and str(error.value).isprintable()
    monkeypatch.chdir("/")
    with pytest.raises(InvalidInputError, match="outside the recording"):
        OutputFolder(tmp_path, "analyze", inputs=[recording], force=True)
    assert (theirs / "precious.txt").read_text() == "x"


def test_a_place_that_can_not_be_written_to_is_one_line():
    with pytest.raises(OutputError, match="can't be written"), OutputFolder(Path("/proc/nothing/here"), "analyze"):
        pass


@pytest.mark.parametrize("words", [("validate",), ("identify", "plan"), ("tune-detector", "bag"), ("doctor",)])
def test_every_command_refuses_a_place_that_is_closed_before_the_work(tmp_path, monkeypatch, capsys, words):
    monkeypatch.setattr(os, "access", lambda path, _how: Path(path) != tmp_path)
    assert main([*words, "--out", str(tmp_path / "deep" / "out")]) == 2
    expected = f"a place that can be written to, which {tmp_path} is not"
    assert capsys.readouterr().err == f"impact-aware: error: --out: got {tmp_path}/deep/out, expected {expected}\n"


def test_what_a_killed_run_left_is_swept_and_what_a_living_one_writes_is_not(tmp_path):
    dead, done, living = (tmp_path / f".o*t.unfinished-{number}" for number in (1, 2, 3))
    for folder, complete in ((dead, False), (done, True), (living, False)):
        folder.mkdir()
        (folder / MARKER).write_text(json.dumps({"command": "analyze", "complete": complete}))
    other = tmp_path / ".oXt.unfinished-4"
    other.mkdir()
    lock = FolderLock(living)
    write(tmp_path / "o*t", "a")
    assert not dead.exists() and living.exists() and other.exists()
    assert marker_of(tmp_path / "o*t.1") == {"command": "analyze", "complete": True}
    lock.close()
    write(tmp_path / "o*t", "a", force=True)
    assert not living.exists()


def test_a_lock_is_held_by_one(tmp_path):
    first, second = FolderLock(tmp_path), FolderLock(tmp_path)
    assert first.held and not second.held
    first.close()
    third = FolderLock(tmp_path)
    assert third.held
    second.close()
    third.close()


def test_without_an_exchange_in_the_system_folders_change_places_all_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(module.sys, "platform", "elsewhere")
    out = tmp_path / "out"
    write(out, "a")
    write(out, "b", force=True)
    assert content(out) == whole("b") and [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_file_is_whole_and_a_number_is_free(tmp_path):
    write_whole(tmp_path / "a", "one")
    write_whole(tmp_path / "a", b"two")
    assert (tmp_path / "a").read_text() == "two" and [path.name for path in tmp_path.iterdir()] == ["a"]
    (tmp_path / "a.1").symlink_to(tmp_path / "nowhere")
    assert free_name(tmp_path / "a").name == "a.2"


def test_what_a_killed_writer_left_of_a_file_goes_with_the_next_and_what_others_write_stays(tmp_path):
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    left, elsewhere, alive, other, strange = (
        tmp_path / name
        for name in (
            f".map[1].npz.{dead.pid}.part", f".map[1].npz.{2**22 + 1}.part", f".map[1].npz.{os.getppid()}.part",
            f".map1.npz.{dead.pid}.part", ".map[1].npz.mine.part",
        )
    )  # fmt: skip
    for path in (left, elsewhere, alive, other, strange):
        path.write_bytes(b"half")
    # A process that another machine or container numbers holds its own.
    lock = FolderLock(elsewhere)
    write_whole(tmp_path / "map[1].npz", "whole")
    lock.close()
    assert not left.exists()
    assert all(path.exists() for path in (elsewhere, alive, other, strange))
    write_whole(tmp_path / "map[1].npz", "again")
    assert not elsewhere.exists()


def test_a_link_or_a_pipe_that_waits_beside_a_result_is_not_followed(tmp_path):
    """In a folder of several users: a link where the file is written first, and pipes, at which a reader would hang."""
    precious = tmp_path / "precious"
    precious.write_text("keep")
    (tmp_path / f".a.{os.getpid()}.part").symlink_to(precious)
    write_whole(tmp_path / "a", "mine")
    assert precious.read_text() == "keep" and (tmp_path / "a").read_text() == "mine"
    assert not (tmp_path / "a").is_symlink()
    (tmp_path / "out").mkdir()
    for name in (f".b.{2**22 + 1}.part", ".out.unfinished-1", f"out/{MARKER}"):
        os.mkfifo(tmp_path / name)
    assert survives(lambda: write_whole(tmp_path / "b", "mine"))
    assert survives(lambda: module.sweep(tmp_path / "out"))
    assert survives(lambda: marker_of(tmp_path / "out"))
    assert (tmp_path / "b").read_text() == "mine" and marker_of(tmp_path / "out") is None


REPEAT = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from test_output_folder import write
number = int(sys.argv[2])
print("ready", flush=True)
while True:
    number += 1
    write(Path(sys.argv[1]), f"{number}", "demo" if number < 0 else "analyze", force=True)
"""


@pytest.mark.slow
def test_after_a_kill_at_any_moment_there_is_one_whole_result(tmp_path):
    """Twelve kills of a process that does nothing but replace its results."""
    out, rng = tmp_path / "out", np.random.default_rng(5)
    for number in range(12):
        words = [sys.executable, "-c", REPEAT, str(out), str(1000 * number), str(Path(__file__).parent)]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, env={**os.environ, "PYTHONSAFEPATH": "1"})
        assert process.stdout.readline() == b"ready\n"
        time.sleep(rng.uniform(0.0, 0.05))
        process.kill()
        process.communicate()
        if out.exists():
            texts = content(out)
            assert set(texts) == set(whole("")) and len(set(texts.values())) == 1
    write(out, "last", force=True)
    assert content(out) == whole("last")
    # Complete results that were about to be replaced, or to replace, are kept; nothing else is left.
    assert all(path.name.startswith("out") for path in tmp_path.iterdir())
    assert all(len(set(content(path).values())) == 1 for path in tmp_path.iterdir())


def test_a_file_that_must_not_be_replaced_stays_and_what_fails_leaves_nothing(tmp_path, monkeypatch):
    path = tmp_path / ("n" * 255)
    for platform in (module.sys.platform, "elsewhere"):
        monkeypatch.setattr(module.sys, "platform", platform)
        write_whole(path, lambda file: file.write(b"one"), replace=False)
        with pytest.raises(FileExistsError):
            write_whole(path, "two", replace=False)
        assert path.read_text() == "one" and [own.name for own in tmp_path.iterdir()] == [path.name]
        path.unlink()
        path.symlink_to(tmp_path / "nowhere")
        with pytest.raises(FileExistsError):
            write_whole(path, "two", replace=False)
        path.unlink()
    with pytest.raises(ZeroDivisionError):
        write_whole(path, lambda file: 1 / 0)
    assert not list(tmp_path.iterdir())


def test_a_text_with_what_is_no_text_is_written_all_the_same(tmp_path):
    write_whole(tmp_path / "a", "name \udc80 \u00e4")
    assert (tmp_path / "a").read_text() == "name \\udc80 \u00e4"


@pytest.mark.parametrize("words", [("analyze", "loop"), ("render", "loop"), ("analyze", "loop/trial.csv")])
def test_a_link_to_itself_as_a_recording_is_one_line(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loop").symlink_to("loop")
    assert main([*words]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_results_that_came_first_stay_and_later_ones_are_kept_beside_them(tmp_path):
    """Two runs into one folder, which was free when both began."""
    out = tmp_path / "out"
    first, second = OutputFolder(out, "analyze"), OutputFolder(out, "analyze")
    with first as inside:
        (inside / "one.txt").write_text("first")
    with pytest.raises(OutputError, match=r"which has results.*; the results are in .*out\.1$"), second as inside:
        (inside / "one.txt").write_text("second")
    assert content(out) == {"one.txt": "first"} and content(tmp_path / "out.1") == {"one.txt": "second"}


def test_a_file_that_somebody_put_there_meanwhile_costs_neither_it_nor_the_results(tmp_path):
    out = tmp_path / "out"
    with pytest.raises(OutputError, match="no result of this project"), OutputFolder(out, "analyze") as inside:
        (inside / "one.txt").write_text("a")
        out.mkdir()
        (out / "mine.txt").write_text("keep")
    assert content(out) == {"mine.txt": "keep"} and content(tmp_path / "out.1") == {"one.txt": "a"}


def test_what_can_not_be_moved_in_is_refused_before_the_work(tmp_path, monkeypatch):
    with pytest.raises(InvalidInputError, match="a mount point"):
        OutputFolder(Path("/dev/shm"), "analyze")
    monkeypatch.setattr(os, "access", lambda path, mode: path != tmp_path)
    with pytest.raises(InvalidInputError, match="can be written to"):
        OutputFolder(tmp_path / "out", "analyze")
    monkeypatch.undo()
    write(tmp_path / "out", "a")
    os.mkfifo(tmp_path / "out" / "deep" / "pipe")
    with pytest.raises(InvalidInputError, match="deep/pipe, expected files and folders in it, no pipe"):
        OutputFolder(tmp_path / "out", "analyze", force=True)
