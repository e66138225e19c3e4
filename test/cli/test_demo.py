"""What the demo says of a recording that can't be summed up: it did not happen, or it was not recorded."""

import math
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from recorded_bag import bag_of
from tqdm import tqdm

from impact_aware.bags.bag import BagError
from impact_aware.bringup import urgency
from impact_aware.bringup.urgency import URGENCY
from impact_aware.cli import demo, demo_run
from impact_aware.cli.demo import _explained
from impact_aware.cli.demo_run import Demo, pace_between
from impact_aware.cli.main import build_parser, main
from impact_aware.report.run_report import RunReport

PROGRAM = Path(sys.executable).with_name("impact-aware")
ERROR = BagError("bag: the arm never touched the object")


def parsed(*words):
    return build_parser("demo").parse_args(["demo", *words])


@pytest.mark.parametrize(
    ("plant", "text"),
    [
        ({"impacts": "2", "states": "3"}, "the recording lacks what happened, 2 impacts in 3 states of the plant"),
        ({"impacts": "0", "states": "3000"}, "the plant counts no impact in 3000 states"),
        ({}, "the plant counts no impact in 0 states"),
    ],
)
def test_the_plant_knows_which(plant: dict[str, str], text: str) -> None:
    assert _explained(ERROR, plant) == f"{text}: {ERROR}"


@pytest.mark.parametrize(
    ("time", "ended", "text"),
    [
        ("6.9", 0.2, "the recording lacks the last 0.4 s, and by what it has the object ended 200 mm from its goal"),
        ("6.7", 0.2, "the object ended 200 mm from its goal"),
        ("7.3", 0.01, ""),
    ],
)
def test_a_recording_that_ends_early_is_not_taken_for_a_task_that_failed(time: str, ended: float, text: str) -> None:
    report = RunReport(Path(), {}, {}, {"goal_error_m": ended, "recorded_until": 6.5})
    assert demo._failure(report, {"time": time}) == text


@pytest.mark.parametrize(
    ("words", "processors", "expected"),
    [
        (["hit-and-push", "--free-running"], 2, URGENCY),
        (["hit-and-push", "--free-running"], 1, None),
        (["dual-arm-grab", "--free-running"], 1, None),
        (["dual-arm-grab"], 2, None),
        (["hit-and-push"], 8, None),
        (["dual-arm-grab", "--free-running"], 2, URGENCY),
        (["dual-arm-grab", "--free-running", "--single-process", "none"], 2, None),
        (["dual-arm-grab", "--free-running", "--single-process", "none"], 4, URGENCY),
        (["dual-arm-grab", "--free-running", "--priority", "7"], 2, 7),
        (["hit-and-push", "--free-running", "--priority", "0"], 8, None),
    ],
)
def test_the_loop_is_urgent_in_wall_time_where_it_leaves_room(monkeypatch, words, processors, expected):
    monkeypatch.setattr(urgency, "may_be_urgent", lambda: True)
    monkeypatch.setattr("os.sched_getaffinity", lambda process: set(range(processors)))
    graph = demo._graph(parsed(*words))
    found = {spec.executable: spec.parameters.get("realtime_priority") for spec in graph}
    assert {found[name] for name in ("sim_robot", "impact_detector")} == {expected}
    assert found["rs_controller"] == (None if expected is None else expected + 1)
    assert found["jump_predictor"] == found["reference_field"] == (None if expected is None else expected - 1)
    assert found["impact_markers"] is None


@pytest.mark.parametrize(
    ("words", "processors", "expected"),
    [
        (["hit-and-push", "--free-running"], 2, "none"),
        (["hit-and-push", "--free-running"], 1, "watchers"),
        (["dual-arm-grab", "--free-running"], 3, "none"),
        (["dual-arm-grab", "--free-running"], 2, "watchers"),
        (["dual-arm-grab"], 2, "watchers"),
        (["hit-and-push"], 2, "watchers"),
        (["hit-and-push"], 3, "none"),
        (["dual-arm-grab", "--single-process"], 2, "all"),
        (["hit-and-push", "--single-process", "watchers"], 8, "watchers"),
        (["dual-arm-grab", "--free-running", "--single-process", "none"], 2, "none"),
    ],
)
def test_those_that_watch_share_a_process_where_processors_are_few(
    monkeypatch, words, processors, expected
):
    monkeypatch.setattr("os.sched_getaffinity", lambda process: set(range(processors)))
    assert demo._sharing(parsed(*words)) == expected


@pytest.mark.parametrize(
    ("words", "processors", "expected"),
    [
        (["dual-arm-grab", "--free-running"], 2, 0.002),
        (["dual-arm-grab", "--free-running"], 3, None),
        (["dual-arm-grab"], 2, None),
        (["hit-and-push", "--free-running"], 1, None),
        (["dual-arm-grab", "--free-running", "--rate", "1000"], 2, 0.001),
        (["hit-and-push", "--rate", "200"], 8, 0.005),
    ],
)
def test_two_arms_give_fewer_states_in_wall_time_where_processors_are_few(monkeypatch, words, processors, expected):
    monkeypatch.setattr("os.sched_getaffinity", lambda process: set(range(processors)))
    graph = demo._graph(parsed(*words))
    keys = {"sim_robot": "period", "rs_controller": "period", "impact_detector": "sampling_period"}
    assert {spec.parameters.get(keys[spec.executable]) for spec in graph if spec.executable in keys} == {expected}


def test_the_pace_is_that_of_the_motion_not_of_what_came_before():
    start = {"time": "3.5", "given_up": "0.75", "unanswered": "4"}
    end = {"time": "6.5", "given_up": "1.75", "unanswered": "25"}
    assert pace_between(start, end) == {"real_time_factor": 0.75, "cycles_unanswered": 21.0}
    assert pace_between({}, end) == {}
    assert math.isnan(pace_between(start, start)["real_time_factor"])


@pytest.mark.parametrize(
    ("rate", "expected"),
    [("99", "100 to 2000 Hz"), ("2001", "100 to 2000 Hz"), ("nan", "100 to 2000 Hz"), ("700", "4000 Hz of")],
)
def test_a_rate_that_arms_do_not_have_is_refused(capsys, rate, expected):
    assert main(["demo", "hit-and-push", "--rate", rate]) == 2
    error = capsys.readouterr().err
    assert error.startswith("impact-aware: error: --rate: got ") and expected in error


def test_a_file_for_rerun_needs_its_package(capsys, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "rerun", None)
    monkeypatch.chdir(tmp_path)
    assert main(["demo", "hit-and-push", "--rerun"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("impact-aware: error: --rerun: got ") and "pip install 'impact_aware[rerun]'" in error
    assert list(tmp_path.iterdir()) == []


def test_rigid_arms_have_no_torque_loop_to_keep_in_step_with():
    assert demo._period(parsed("hit-and-push", "--rate", "700", "--plant", "rigid")) == 1.0 / 700.0


@pytest.mark.parametrize(("words", "expected"), [(["--priority", "7"], 1), (["--priority", "0"], None)])
def test_what_is_recorded_does_not_wait_for_those_without_a_priority(tmp_path: Path, words, expected) -> None:
    graph = demo._graph(parsed("dual-arm-grab", "--free-running", *words))
    run = Demo(graph, tmp_path, 3, sharing="watchers")
    found = {spec.executable: spec.parameters.get("realtime_priority") for spec in run._specs}
    assert found["bag_recorder"] == expected
    assert run.priority == int(words[1])


def test_a_recording_is_held_against_the_last_report_of_the_plant(tmp_path: Path, monkeypatch) -> None:
    run = Demo(demo._graph(parsed("hit-and-push")), tmp_path, 3)
    reports = [[{"node": "/sim_robot", "time": "2.0"}, {"node": "/rs_controller", "mode": "HOLD"}]]
    reports.append([{"node": "/sim_robot", "time": "2.4"}])
    run._processes["run_monitor"] = SimpleNamespace(running=True, read_lines=reports.copy().__iter__().__next__)
    monkeypatch.setattr(demo_run.time, "sleep", lambda _: None)
    run._follow(tqdm(total=100, disable=True), 1.0)
    assert run.plant["time"] == "2.4"


@pytest.mark.parametrize(("level", "program"), [({}, "impact-aware"), ({"MAKELEVEL": "1"}, ".venv/bin/impact-aware")])
def test_the_next_command_is_that_of_the_shell_that_started_make(tmp_path: Path, monkeypatch, level, program) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MAKELEVEL", raising=False)
    for name, value in level.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "argv", [str(tmp_path / ".venv" / "bin" / "impact-aware")])
    assert demo.next_command("results/bag", Path("more")) == f"{program} analyze results/bag --out more"


@pytest.mark.skipif(not PROGRAM.exists(), reason="the command impact-aware is not installed beside this interpreter")
def test_a_shell_runs_the_next_command_as_it_is_printed(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MAKELEVEL", "1")
    monkeypatch.setattr(sys, "argv", [str(PROGRAM)])
    times = 1e-3 * np.arange(400)
    positions = np.outer(times, [0.3, -0.2])
    bag = bag_of(tmp_path / "my runs" / "bag", ("a", "b"), zip(5.0 + times, positions, strict=True))
    line = demo.next_command(str(bag), tmp_path / "it's analysed")
    done = subprocess.run(line, shell=True, capture_output=True, text=True, env=os.environ | {"PATH": "/usr/bin:/bin"})
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "it's analysed" / "report.html").is_file()
