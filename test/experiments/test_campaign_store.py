"""No run of a campaign is lost or done twice, whatever is killed and however often; no folder is shared or mixed."""

import csv
import math
import signal
import subprocess
import sys
import time
from pathlib import Path

import campaign_runs
import numpy as np
import pytest
from campaign_runs import open_store, row_of, setups
from patience import patient

from impact_aware import worker_pool
from impact_aware.errors import InvalidInputError
from impact_aware.experiments import campaign_store
from impact_aware.experiments.campaign import RunOptions
from impact_aware.experiments.campaign_store import CampaignError, execute

pytestmark = pytest.mark.slow

SUPPORT = Path(campaign_runs.__file__).parent


def figures(folder):
    """Rows of the folder, as they are read."""
    store = open_store(folder)
    store.close()
    return {key: {name: repr(value) for name, value in row.items()} for key, row in store.rows.items()}


def undisturbed(folder):
    store = open_store(folder)
    for setup in setups():
        store.add(row_of(setup))
    store.close()
    return figures(folder)


def test_what_is_no_number_stays_so_however_often_the_folder_is_opened(tmp_path):
    first = undisturbed(tmp_path)
    for number in range(4):
        store = open_store(tmp_path)
        rows = [store.rows[setup.key] for setup in setups()]
        assert all(math.isnan(row["slip_m"]) and row["false_detections"] == 2 for row in rows)
        assert {type(row["success"]) for row in rows} == {bool}
        store.add({**row_of(setups()[0]), "key": f"another{number}", "false_detections": math.nan})
        store.write_in_order(setup.key for setup in setups())
        store.close()
    after = figures(tmp_path)
    assert {key: row for key, row in after.items() if not key.startswith("another")} == first and len(after) == 49
    with (tmp_path / "runs.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 49


def test_a_run_is_kept_once_as_it_was_first(tmp_path):
    store = open_store(tmp_path)
    store.add(row_of(setups()[0]))
    store.add({**row_of(setups()[0]), "peak": -1.0})
    store.close()
    (row,) = open_store(tmp_path).rows.values()
    assert row["peak"] == row_of(setups()[0])["peak"]


def test_a_second_campaign_in_the_folder_is_refused_while_the_first_one_writes(tmp_path):
    first = open_store(tmp_path / "out")
    with pytest.raises(InvalidInputError, match="no other campaign is writing to"):
        open_store(tmp_path / "out")
    first.close()
    open_store(tmp_path / "out").close()


def test_other_folders_are_refused(tmp_path):
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "notes.txt").write_text("x")
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / ".impact_aware.json").write_text('{"command": "demo"}')
    (tmp_path / "link").symlink_to(tmp_path / "demo")
    (tmp_path / "file").write_text("x")
    said = {"theirs": "new or empty", "demo": "a result of demo", "link": "not a link", "file": "a folder"}
    for name, words in said.items():
        with pytest.raises(InvalidInputError, match=words):
            open_store(tmp_path / name)
    for out in ("", ".", "/"):
        with pytest.raises(InvalidInputError, match="not the current one"):
            open_store(out)
    assert [path.name for path in (tmp_path / "theirs").iterdir()] == ["notes.txt"]


@pytest.mark.slow
def test_a_worker_that_is_killed_is_replaced(tmp_path, monkeypatch):
    monkeypatch.setattr(campaign_store, "_run", campaign_runs.die_once)
    store = open_store(tmp_path / "out")
    seen = []
    execute(setups(), store, RunOptions(maps=str(tmp_path)), workers=2, on_row=seen.append)
    store.close()
    assert (tmp_path / "died").exists()
    assert sorted(row["key"] for row in seen) == sorted(setup.key for setup in setups())
    assert figures(tmp_path / "out") == undisturbed(tmp_path / "calm")


@pytest.mark.slow
def test_runs_that_kill_every_worker_end_the_campaign(tmp_path, monkeypatch):
    monkeypatch.setattr(campaign_store, "_run", campaign_runs.die_always)
    monkeypatch.setattr(worker_pool, "MOST_DEATHS", 1)
    store = open_store(tmp_path / "out")
    said = "2 times a worker died and nothing was finished in between: is there memory enough[?] What is done is kept"
    with pytest.raises(CampaignError, match=said):
        execute(setups()[:2], store, RunOptions(), workers=2)
    store.close()
    assert figures(tmp_path / "out") == {}


def start(folder, workers):
    words = [sys.executable, str(SUPPORT / "campaign_runs.py"), str(folder), str(workers)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_a_campaign_that_is_killed_goes_on_and_gives_the_same(tmp_path):
    rng, out = np.random.default_rng(3), tmp_path / "out"
    for _ in range(2):
        process = start(out, 1)
        assert process.stdout.readline() == "begun\n"
        with pytest.raises(InvalidInputError, match="no other campaign is writing to"):
            open_store(out)
        time.sleep(rng.uniform(0.0, 0.2))
        process.kill()
        process.communicate()
        assert set(figures(out)) <= {setup.key for setup in setups()}
    process = start(out, 1)
    assert process.communicate()[1] == ""
    assert figures(out) == undisturbed(tmp_path / "calm")
    with (out / "runs.csv").open() as file:
        assert [row["key"] for row in csv.DictReader(file)] == [setup.key for setup in setups()]


def _runs(pid):
    """Whether a process has not ended; one that nobody has waited for yet is still listed."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.slow
def test_workers_end_with_a_parent_that_is_killed(tmp_path):
    process = start(tmp_path / "out", 2)
    assert process.stdout.readline() == "begun\n"
    children = set()
    deadline = time.monotonic() + patient(60.0)
    while len(children) < 2 and time.monotonic() < deadline:
        listed = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        children = {int(pid) for pid in listed if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()}
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert children
    while time.monotonic() < deadline and any(map(_runs, children)):
        time.sleep(0.05)
    assert not [pid for pid in children if _runs(pid)]
    open_store(tmp_path / "out").close()
