"""`impact-aware analyze` as a user meets it: what it prints, what it writes, what it refuses."""

import json
import os
import resource
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from patience import LONGEST
from recorded_bag import bag_of

from impact_aware.cli.main import main
from impact_aware.output_folder import MARKER
from impact_aware.render import movie, rerun_file
from impact_aware.robot import load_profile

JOINTS = load_profile("panda").joint_names
IMPACT = 0.6004


def write_bag(path: Path, impact: float = IMPACT) -> Path:
    """A bag of a Panda that is stopped in its fall at a known time."""
    times = np.arange(0.001, 1.2, 0.001)
    home = np.array(load_profile("panda").home)
    velocity = np.array([0.1, 0.5, 0.0, 0.4, 0.0, -0.3, 0.2])
    jump = np.array([0.0, -0.4, 0.1, -0.2, 0.0, 0.5, 0.0])
    positions = home + np.outer(times, velocity) + np.outer(np.maximum(times - impact, 0.0), jump)
    return bag_of(path, JOINTS, zip(5.0 + times, np.round(positions / 1e-5) * 1e-5, strict=True))


@pytest.fixture(scope="module")
def bag(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_bag(tmp_path_factory.mktemp("recordings") / "run")


def test_json_has_what_is_promised(bag: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", str(bag), "--robot", "panda", "--normal", "0", "0", "1", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["files"] == [str(bag)]
    assert result["messages"] == 1199
    assert result["rate_hz"] == pytest.approx(1000.0)
    assert result["seconds_read"] > 0.0
    (impact,) = result["impacts"]
    assert impact["time"] == pytest.approx(5.0 + IMPACT, abs=2e-3)
    assert impact["arm"] == ""
    assert impact["joint_names"] == list(JOINTS)
    for name in ("velocity_before", "velocity_after_predicted", "velocity_after_estimated"):
        assert len(impact[name]) == 7
    difference = np.subtract(impact["velocity_after_predicted"], impact["velocity_after_estimated"])
    assert impact["error"] == pytest.approx(np.linalg.norm(difference))
    np.testing.assert_allclose(impact["velocity_before"], [0.1, 0.5, 0.0, 0.4, 0.0, -0.3, 0.2], atol=2e-3)


def test_text_names_the_impact(bag: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", str(bag), "--robot", "panda"]) == 0
    text = capsys.readouterr().out
    assert "impact 1 at 5.600" in text
    assert "1199 messages, samples at 1000 Hz, robot panda" in text


@pytest.mark.slow
def test_results_are_written_once_and_the_input_stays(bag: Path, tmp_path: Path, capsys, refused) -> None:
    before = {file.name: (file.stat().st_mtime_ns, file.read_bytes()) for file in bag.iterdir()}
    out = tmp_path / "results"
    words = ["analyze", str(bag), "--robot", "panda", "--out", str(out), "--no-report", "--no-annotated"]
    assert main(words) == 0
    capsys.readouterr()
    assert sorted(file.name for file in out.iterdir()) == [MARKER, "ablation.csv", "analysis.json", "impacts.csv"]
    rows = (out / "impacts.csv").read_text().splitlines()
    assert len(rows) == 8 and rows[0].startswith("file,arm,index,label,cause,time")
    first = json.loads((out / "analysis.json").read_text())

    (out / "mine.txt").write_text("keep me")
    assert "--force" in refused("analyze", *words[1:])
    assert main([*words, "--force", "--inertia", "M"]) == 0
    capsys.readouterr()
    again = json.loads((out / "analysis.json").read_text())
    assert (first["settings"]["inertia"], again["settings"]["inertia"]) == ("M+B_theta", "M")
    assert (out / "mine.txt").read_text() == "keep me"
    assert {file.name: (file.stat().st_mtime_ns, file.read_bytes()) for file in bag.iterdir()} == before
    for inside in (bag, bag / "results"):
        assert "outside the recording" in refused("analyze", bag, "--robot", "panda", "--out", inside, "--force")


@pytest.mark.slow
def test_impacts_are_written_for_rerun(bag: Path, tmp_path: Path, command, monkeypatch) -> None:
    chunk = pytest.importorskip("rerun.chunk", reason="rerun-sdk is not installed")
    monkeypatch.setattr(rerun_file, "FRAMES", 3)
    path = tmp_path / "new" / "hit.rrd"
    words = ("analyze", bag, "--robot", "panda", "--normal", "0", "0", "1", "--rrd", path)
    status, text, error = command(*words)
    assert status == 0 and f"rerun {path}" in text, error
    rows = Counter()
    for part in chunk.RrdReader(path).store().stream():
        rows[part.entity_path] += part.num_rows
    assert (rows["/impacts"], rows["/scene/robot"]) == (1, 3)
    for name in ("velocity_before", "velocity_after", "velocity_estimated", "impulse"):
        assert rows[f"/scene/at_impact/{name}/0"] > 0, sorted(rows)
    plots = {count for name, count in rows.items() if name.startswith("/velocity/joint_states/panda_joint")}
    assert plots == {round(1000 * (movie.BEFORE + movie.AFTER))}
    assert "--force" in command(*words)[2] and command(*words, "--force")[0] == 0


def test_what_no_file_for_rerun_can_be_made_of_is_refused(bag: Path, tmp_path: Path, refused, monkeypatch) -> None:
    (tmp_path / "trial.csv").write_text("time,q1\n0,0\n")
    (tmp_path / "there.rrd").write_text("mine")
    for words, sentence in (
        ((bag, "--rrd", tmp_path / "hit.mcap"), "a .rrd file outside the recording"),
        ((bag, "--rrd", bag / "hit.rrd"), "a .rrd file outside the recording"),
        ((bag, bag, "--rrd", tmp_path / "hit.rrd"), "several recordings, expected one rosbag2 recording"),
        ((tmp_path / "trial.csv", "--rrd", tmp_path / "hit.rrd"), "expected one rosbag2 recording"),
        ((bag, "--rrd", tmp_path / "there.rrd"), "does not exist yet, or --force"),
    ):
        assert sentence in refused("analyze", *words)
    monkeypatch.setitem(sys.modules, "rerun", None)
    assert "pip install 'impact_aware[rerun]'" in refused("analyze", bag, "--rrd", tmp_path / "hit.rrd")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["there.rrd", "trial.csv"]


@contextmanager
def little_room(size: int) -> Iterator[None]:
    """No file may grow beyond `size` bytes, which is how a full disk looks to whoever writes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.slow
def test_a_full_disk_leaves_nothing_half_written(bag: Path, tmp_path: Path, capsys, refused) -> None:
    with little_room(2000):
        line = refused("analyze", bag, "--out", tmp_path / "results", "--no-report", "--no-annotated")
    assert "there is no room" in line
    assert list(tmp_path.iterdir()) == []

    assert main(["analyze", str(bag), "--out", str(tmp_path / "kept"), "--no-report", "--no-annotated"]) == 0
    before = {file.name: file.read_bytes() for file in (tmp_path / "kept").iterdir()}
    with little_room(2000):
        capsys.readouterr()
        refused("analyze", bag, "--out", tmp_path / "kept", "--force", "--no-report", "--no-annotated")
    assert {file.name: file.read_bytes() for file in (tmp_path / "kept").iterdir()} == before
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_a_cut_off_recording_is_noted(bag: Path, tmp_path: Path, capsys, refused) -> None:
    content = next(bag.glob("*.mcap")).read_bytes()
    for share, count in ((0.9, 1), (0.001, 0)):
        cut = tmp_path / f"cut{share}.mcap"
        cut.write_bytes(content[: int(share * len(content))])
        if count:
            assert main(["analyze", str(cut), "--robot", "panda"]) == 0
            text = capsys.readouterr().out
            assert "ends in the middle of a chunk" in text and "impact 1 at 5.600" in text
        else:
            assert "not a recording that can be read" in refused("analyze", cut)


@pytest.mark.slow
def test_labels_group_the_ablation(bag: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = write_bag(tmp_path / "other", 0.5507)
    (tmp_path / "labels.csv").write_text("run,soft\nother,soft\n")
    words = [str(bag), str(other), "--robot", "panda", "--labels", str(tmp_path / "labels.csv"), "--friction", "0.3"]
    assert main(["analyze", *words, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert [impact["label"] for impact in result["impacts"]] == ["soft", "soft"]
    rows = {(row["label"], row["inertia"], row["friction"]): row["impacts"] for row in result["ablation"]}
    assert rows == {("soft", i, mu): 2 for i in ("M", "M+B_theta", "M+B_rho") for mu in (0.3, 0.0)}


def test_mistakes_are_answered_in_one_line(bag: Path, tmp_path: Path, refused) -> None:
    (tmp_path / "bad.yaml").write_text("normal: [0, 0")
    (tmp_path / "table.csv").write_text("time,q_a,q_b\n0.0,1.0,nonsense\n")
    (tmp_path / "words.csv").write_text("a,b\n1,2\n")
    (tmp_path / "ns.csv").write_text("time,q_a\n" + "".join(f"{0.001 * k:.3f},{k}\n" for k in range(300)))
    (tmp_path / "rough.yaml").write_text("{normal: [0, 0, 1], friction: -1}")
    (tmp_path / "sticky.yaml").write_text("{normal: [0, 0, 1], friction: 1e999}")
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / "notes.md").write_text("hello")
    cases = [
        ((tmp_path / "absent",), "existing"),
        ((tmp_path / "notes.txt",), "some of its columns hello"),
        ((tmp_path / "notes.md",), "rosbag2 folder"),
        ((tmp_path / "table.csv",), "'nonsense' for q_b in row 1 (line 2), expected a number"),
        ((tmp_path / "words.csv",), "columns: time"),
        ((bag, "--topic", "/left/joint_states"), "one of /joint_states"),
        ((bag, "--robot", "nobody"), "nobody"),
        ((bag, "--robot", "kuka_lwr4"), "has the joints of kuka_lwr4"),
        ((bag, "--detector", "nose"), "one of all, adaptive_window"),
        ((bag, "--detector", "momentum_observer"), "parameter robot"),
        ((bag, "--estimator", "guess"), "parabola"),
        ((bag, "--normal", "0", "0", "0"), "zero length"),
        ((bag, "--normal", "0", "up", "0"), "a number"),
        ((bag, "--friction", "-1"), "friction"),
        ((bag, "--restitution", "2"), "restitution"),
        ((bag, "--inertia", "B"), "M+B_theta"),
        ((bag, "--surface", tmp_path / "bad.yaml"), "valid YAML"),
        ((bag, "--surface", tmp_path / "rough.yaml"), "friction: got -1.0, expected a number >= 0 and <= 1000"),
        ((bag, "--surface", tmp_path / "sticky.yaml"), "friction: got inf, expected a number >= 0 and <= 1000"),
        ((bag, "--normal", "0", "0", "1", "--surface", tmp_path / "bad.yaml"), "one of normal, surface"),
        ((bag, "--robot", "panda", "--surface-frame", "table"), "needs /tf"),
        ((bag, "--labels", tmp_path / "absent.yaml"), "labels"),
        ((bag, "--labels", tmp_path / "pipe.csv"), "labels"),
        ((tmp_path / "ns.csv", "--time-unit", "ns"), "1e-12 s from one to the next, expected 1e-05 s or more"),
        ((bag, "--columns", tmp_path / "absent.yaml"), "columns"),
        ((bag, "--tuning", tmp_path / "absent.yaml"), "tuning"),
        ((bag, "--out", tmp_path / "notes.txt"), "a folder"),
        ((bag, "--no-report"), "--out DIR along with it"),
        ((bag, "--rate", "100"), "a table"),
    ]
    for words, sentence in cases:
        assert sentence in refused("analyze", *words), words


def test_the_current_folder_may_be_a_recording(bag: Path, command, refused, monkeypatch) -> None:
    monkeypatch.chdir(bag)
    assert command("analyze", ".", "--json")[0] == 0
    assert "a rosbag2 folder" in refused("analyze", "/")


@pytest.mark.slow
def test_the_package_s_executable_is_the_same_command(bag: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "impact_aware.cli.analyze", str(bag), "--json"],
        capture_output=True, text=True, check=True, timeout=LONGEST,
    )  # fmt: skip
    assert len(json.loads(done.stdout)["impacts"]) == 1
