"""Commands ended by SIGKILL: the rig of `make kills` sees what is torn, and a short series of it holds."""

import json
import os
import random
import signal
import subprocess
import sys

import kills
import numpy as np
import pytest
from kills import Torn

from impact_aware.bags.bag_files import BagError
from impact_aware.output_folder import MARKER


def result(folder, **changes):
    """A folder as a command would leave it."""
    folder.mkdir(parents=True)
    files = {"a.json": "{}", "b.csv": "x\n1\n", "page.html": "<html></html>\n", **changes}
    for name, text in files.items():
        if text is not None:
            (folder / name).write_text(text)
    (folder / MARKER).write_text(json.dumps({"command": "analyze", "complete": True}))
    return folder


def test_a_whole_result_is_seen_as_whole(tmp_path):
    kills.same_files(result(tmp_path / "one"), result(tmp_path / "two"))


@pytest.mark.parametrize(
    "changes",
    [
        {"a.json": '{"a": 1'},
        {"b.csv": "x\n2\n"},
        {"b.csv": None},
        {"more.csv": ""},
        {"page.html": "<html>"},
        {"run.mcap": "no recording"},
        {MARKER: None},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_a_torn_result_is_seen(tmp_path, changes):
    reference, torn = result(tmp_path / "one"), result(tmp_path / "two", **changes)
    if "run.mcap" in changes:
        (reference / "run.mcap").write_text("")
    if MARKER in changes:
        (torn / MARKER).write_text(json.dumps({"command": "analyze", "complete": False}))
    with pytest.raises((Torn, ValueError, BagError)):
        kills.same_files(torn, reference)


def test_the_digest_of_a_target_tells_every_change(tmp_path):
    one = result(tmp_path / "one")
    before = kills.content(one)
    assert before == kills.content(one) and kills.content(tmp_path / "none") is None
    (one / "b.csv").write_text("x\n3\n")
    after = kills.content(one)
    (one / "b.csv").rename(one / "c.csv")
    assert len({before, after, kills.content(one), kills.content(one / "c.csv")}) == 4


def test_what_a_killed_process_has_started_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(kills, "LEAVE", 0.2)
    code = "import subprocess, sys; p = subprocess.Popen(['sleep', '60']); print(p.pid, flush=True); p.wait()"
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    below = int(process.stdout.readline())
    # Its pipes are inherited, so that nobody waits for their end here.
    assert kills.descendants(process.pid) == {below}
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert kills.left({below, process.pid}) == {below}
    os.kill(below, signal.SIGKILL)
    monkeypatch.setattr(kills, "LEAVE", 20.0)
    assert kills.left({below}) == set()


def test_rows_that_are_lost_or_others_are_seen(tmp_path, monkeypatch):
    wanted = {"a": {"peak": "1.0"}, "b": {"peak": "2.0"}}
    found = dict(wanted)
    monkeypatch.setattr(kills, "rows_of", lambda folder, seed: found)
    kills.check_rows(tmp_path, 0, wanted, whole=True)
    (tmp_path / MARKER).write_text("{}")
    del found["b"]
    kills.check_rows(tmp_path, 0, wanted, whole=False)
    with pytest.raises(Torn, match="1 of 2 runs"):
        kills.check_rows(tmp_path, 0, wanted, whole=True)
    found["a"] = {"peak": "1.5"}
    with pytest.raises(Torn, match="of which .'a'. are others"):
        kills.check_rows(tmp_path, 0, wanted, whole=False)


@pytest.mark.slow
def test_a_map_is_there_whole_or_not_at_all(tmp_path):
    found = kills.kill_command("sample-map", kills.cases(tmp_path)["sample-map"], tmp_path, 2, random.Random(5))
    assert found["kills"] == sum(found["outcomes"].values()) == 2 and found["processes_left"] == 0
    assert set(found["outcomes"]) <= {"none", "new"} and found["folders"] == ["out.npz"]


@pytest.mark.slow
def test_an_analysis_is_the_old_one_whole_or_the_new_one_whole(tmp_path, monkeypatch):
    recording = kills.write_recording(tmp_path / "run.csv")
    assert np.loadtxt(recording, delimiter=",", skiprows=1).shape == (1200, 8)
    found = kills.kill_command("analyze", kills.cases(recording)["analyze"], tmp_path, 2, random.Random(2))
    assert found["kills"] == sum(found["outcomes"].values()) == 2 and found["processes_left"] == 0
    assert found["folders"] == ["out"]
