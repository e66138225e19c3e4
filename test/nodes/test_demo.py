"""The demo for real: nodes as processes over DDS, the simulator as plant."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pinocchio as pin
import pytest
from drawn_robot import assert_drawn
from patience import LONGEST, patient, until

from impact_aware.bags.bag import Bag
from impact_aware.cli.main import main
from impact_aware.output_folder import marker_of

pytestmark = pytest.mark.dds

LIMIT = 200.0


def demo_command(out: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "impact_aware.cli.main", "demo", "hit-and-push", "--out", str(out), *more]


APART = ("--single-process", "none")
"""Each node in a process of its own, on however few processors."""


@pytest.fixture
def demo(tmp_path, zygote):
    """A demo that moves its arm, or is about to: its folder and its process, forked like its nodes."""
    out = tmp_path / "run"
    process = zygote.Popen(demo_command(out, *APART), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    yield out, process
    process.kill()
    process.communicate()


@pytest.fixture(scope="module")
def run(tmp_path_factory, zygote):
    out = tmp_path_factory.mktemp("demo") / "run"
    result = zygote.run(demo_command(out, "--json", "--gif", *APART)[2:], timeout=LONGEST)
    assert result.returncode == 0, result.stderr
    return out, json.loads(result.stdout)


def test_the_impact_is_predicted_and_detected_and_the_box_reaches_its_goal(run):
    _, summary = run
    impact, control = summary["impact"], summary["control"]
    assert 0.0 <= impact["delay_ms"] <= 5.0 and impact["false_detections"] == 0
    assert impact["predictions_before_impact"] > 0 and summary["prediction_error_relative"] < 0.15
    assert summary["goal_error_m"] < 0.02
    assert control["missed"] == 0 and control["cycles"] > 1000


def test_the_result_is_complete(run):
    out, summary = run
    assert json.loads((out / "summary.json").read_text()) == summary
    assert Path(summary["figure"]).stat().st_size > 10_000
    assert (out / "impact.gif").read_bytes()[:6] == b"GIF89a"
    with Bag(Path(summary["bag"])) as bag:
        names = {topic.rpartition("/")[2] for topic in bag.topics}
    expected = {"joint_states", "impacts", "predicted_jumps", "reference_field", "controller_state", "commands"}
    assert expected | {"object_pose", "true_impacts", "impact_markers", "robot_description"} <= names


def test_the_recording_alone_places_every_link_of_the_described_robot_in_a_viewer(run):
    assert_drawn(Path(run[1]["bag"]), "panda_link0", {"": pin.SE3.Identity()})


def test_the_result_is_one_unit_and_another_folder_is_refused(run, capsys):
    out, _ = run
    marker = marker_of(out)
    assert marker is not None and (marker["command"], marker["complete"]) == ("demo", True)
    written = {name.partition("/")[0] for name in marker["files"]}
    assert written == {"bag", "impact.gif", "impact.png", "logs", "summary.json"}
    assert all((out / name).is_file() for name in marker["files"])
    theirs = out.with_name("theirs")
    theirs.mkdir()
    (theirs / "notes.txt").write_text("precious")
    assert main(["demo", "hit-and-push", "--out", str(theirs)]) == 2
    assert "no result of this project" in capsys.readouterr().err
    assert [path.name for path in theirs.iterdir()] == ["notes.txt"]


@pytest.mark.slow
def test_the_nodes_of_the_suite_do_the_same_in_one_process(tmp_path, zygote, run):
    out = tmp_path / "run"
    result = zygote.run(demo_command(out, "--json", "--single-process")[2:], timeout=LONGEST)
    assert result.returncode == 0, result.stderr
    summary, apart = json.loads(result.stdout), run[1]
    assert len(list((out / "logs").iterdir())) == len(list((run[0] / "logs").iterdir())) - 4
    assert summary["goal_error_m"] < 0.02
    assert summary["control"]["missed"] == summary["impact"]["false_detections"] == 0
    assert summary["impact"]["time_true"] == pytest.approx(apart["impact"]["time_true"], abs=0.2)
    assert summary["prediction_error_relative"] == pytest.approx(apart["prediction_error_relative"], abs=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["rs_controller", "sim_robot"])
def test_killing_a_node_leaves_the_arm_safe_and_ends_with_a_clear_error(demo, victim):
    out, process = demo
    wait_until_moving(out, process)
    os.kill(node_process(victim, process.pid), signal.SIGKILL)
    _, errors = process.communicate(timeout=LONGEST)
    assert process.returncode == 1
    assert f"{victim} was ended by SIGKILL during the run" in errors
    assert "Traceback" not in errors
    if victim == "rs_controller":
        assert "the simulator braked the arm" in errors
    else:
        assert "mode SAFE" in errors


@pytest.mark.slow
def test_a_node_that_dies_before_the_first_command_leaves_a_controller_that_does_not_begin(demo):
    out, process = demo
    wait_for_controller(out, process, "configured")
    os.kill(node_process("impact_detector", process.pid), signal.SIGKILL)
    _, errors = process.communicate(timeout=LONGEST)
    assert process.returncode == 1
    assert "mode SAFE" in errors or "mode IDLE" in errors
    assert "largest joint speed 0.000 rad/s" in errors


@pytest.mark.slow
def test_an_interrupt_ends_the_demo_and_every_node(demo):
    out, process = demo
    wait_until_moving(out, process)
    children = child_processes(process.pid)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=LONGEST)
    assert process.returncode == 130
    assert children
    assert not any(map(alive, children))


@pytest.mark.slow
def test_nodes_end_with_a_parent_that_was_killed(tmp_path):
    """Started as by a user: that a node ends with its parent is asked for when it is started."""
    out = tmp_path / "run"
    process = subprocess.Popen(demo_command(out), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    wait_until_moving(out, process)
    children = child_processes(process.pid)
    process.kill()
    process.communicate(timeout=LONGEST)
    assert children
    assert until(lambda: not any(map(alive, children)), seconds=LIMIT)


def wait_until_moving(out: Path, process: subprocess.Popen) -> None:
    wait_for_controller(out, process, "mode ANTE")


def wait_for_controller(out: Path, process: subprocess.Popen, words: str) -> None:
    deadline = time.monotonic() + patient(LIMIT)
    while time.monotonic() < deadline and process.poll() is None:
        # A run becomes `out` when it is done.
        for log in out.parent.glob(f".{out.name}.unfinished-*/logs/rs_controller.log"):
            if words in log.read_text():
                return
        time.sleep(0.05)
    ending = "timeout" if process.poll() is None else process.communicate()[1]
    raise AssertionError(f"the controller never said {words!r}: {ending}")


def child_processes(parent: int) -> list[int]:
    listing = subprocess.run(["ps", "-o", "pid=", "--ppid", str(parent)], capture_output=True, text=True).stdout
    return [int(word) for word in listing.split()]


def node_process(name: str, parent: int) -> int:
    for pid in child_processes(parent):
        # Linux keeps the first 15 characters.
        if Path(f"/proc/{pid}/comm").read_text().strip() == name[:15]:
            return pid
    raise AssertionError(f"no process of {name} below {parent}")


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended may stay listed until its parent asks for its status."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def test_a_robot_that_can_not_do_the_task_is_said_before_anything_starts(tmp_path, capsys):
    out = tmp_path / "run"
    assert main(["demo", "hit-and-push", "--robot", "kuka_lwr4", "--out", str(out)]) == 2
    error = capsys.readouterr().err
    expected = "an arm that can do task hit_and_push_palm: impact_position: got tool"
    assert f"robot: got kuka_lwr4, expected {expected}" in error
    assert not list(tmp_path.iterdir())
