"""Outcome of a run of real nodes with a fault, from reports written by hand."""

from types import SimpleNamespace
from typing import Any

import pytest

from impact_aware.robot import RobotModel
from impact_aware_rigs.faults import dds
from impact_aware_rigs.faults.dds import REST_WITHIN, DdsRun
from impact_aware_rigs.graph_run import GraphRun

LIMITS = RobotModel.from_profile("panda").limits


class Graph(GraphRun):
    """Reports that come one after the other with each look, without any process."""

    def __init__(self, *reports: dict[str, dict[str, Any]]) -> None:
        super().__init__()
        self.reports, self.restarted, self.asked = list(reports), [], []
        node = SimpleNamespace(
            running=True, exit_description=lambda: "ended with status 3", last_lines=lambda count: "bye"
        )
        self.processes = {"rs_controller": node}  # type: ignore[dict-item]

    def listen(self) -> None:
        if self.reports:
            for node, values in self.reports.pop(0).items():
                self.latest[node] = self.latest.get(node, {}) | values

    def wait(self, condition, patience, period=0.0):
        for _ in range(len(self.reports) + 1):
            self.listen()
            if condition():
                return True
        return False

    def ask(self, request, condition, patience, period):
        self.asked.append(request)
        return self.wait(condition, patience)

    def restart(self, name):
        self.restarted.append(name)

    def last_lines(self):
        return "words"


def run_of(fault: str, *reports: dict[str, dict[str, Any]]) -> DdsRun:
    run = DdsRun(fault, 0)
    run.graph = Graph(*reports)
    return run


def at(time: float, mode: str = "ANTE", speed: float = 0.5, **more: str) -> dict[str, dict[str, Any]]:
    return {"sim_robot": {"time": time, "largest_speed": speed}, "rs_controller": {"mode": mode} | more}


SAFE = {"mode": "SAFE", "reason": "STATE_STALE"}


def test_rest_is_counted_from_the_first_report_of_the_safe_mode():
    rests = at(2.5, speed=0.021, **SAFE), at(2.75, speed=0.019, **SAFE)
    run = run_of("controller_stalled", at(2.0), at(2.25, **SAFE), *rests)
    assert run._watch() == ("STATE_STALE", 0.5)
    assert run.failures == []


@pytest.mark.parametrize(("moving", "late"), [(REST_WITHIN - 0.01, False), (REST_WITHIN + 0.02, True)])
def test_an_arm_that_still_moves_too_long_afterwards_fails(moving, late):
    """What counts is the last report of a motion: the next one, of rest, may come late on a busy machine."""
    later = at(2.0 + moving, speed=0.021, **SAFE), at(3.9, speed=0.0, **SAFE)
    run = run_of("controller_stalled", at(2.0, **SAFE), *later)
    assert run._watch() == ("STATE_STALE", 1.9)
    assert run.failures == ([f"still moving {moving:.2f} s after the safe mode began"] if late else [])


def test_another_reason_fails_and_so_does_none_where_there_must_be_one():
    run = run_of("controller_stalled", at(2.0, speed=0.0, mode="SAFE", reason="CLOCK_JUMP"))
    assert run._watch() == ("CLOCK_JUMP", 0.0)
    assert run.failures == ["reason CLOCK_JUMP, expected STATE_STALE"]
    run = run_of("controller_stalled", at(2.0, mode="HOLD", speed=0.0, done="True"))
    assert run._watch() == ("done", None)
    assert run.failures == ["reason none, expected STATE_STALE"]
    run = run_of("field_killed", at(2.0, mode="HOLD", speed=0.0, done="True"))
    assert run._watch() == ("done", None)
    assert run.failures == []


def test_who_neither_rests_nor_is_done_fails():
    run = run_of("controller_stalled", at(2.0, mode="HOLD", speed=0.0, done="False"), at(2.1, speed=0.3, **SAFE))
    assert run._watch()[1] is None
    assert run.failures == ["neither at rest nor done: mode SAFE, speed 0.3 rad/s"]


def test_of_a_controller_that_was_killed_the_plants_brake_counts():
    run = run_of("controller_killed", at(2.0), at(2.3), {"sim_robot": {"time": 2.4, "arm": "brake"}})
    run.graph.reports.append({"sim_robot": {"time": 2.6, "arm": "brake", "largest_speed": 0.0}})
    outcome, rest = run._watch()
    assert (outcome, rest, run.failures) == ("braked by the robot", pytest.approx(0.2), [])


DAMPED = {"kuka_fri_relay": {"message": "holding the arm: no command for 83 ms"}}
EMULATOR = "lbr_torque_command_controller"


def test_of_a_controller_before_a_relay_that_was_killed_its_damping_counts():
    braked = {"sim_robot": {"time": 2.1, "arm": "brake", "largest_speed": 0.0}}
    run = run_of("relayed_controller_killed", at(2.0), braked)
    moving = {"sim_robot": {"time": 2.2, "largest_speed": 0.4}}
    run.graph.reports += [moving | DAMPED, {"sim_robot": {"time": 2.5, "largest_speed": 0.0}}]
    outcome, rest = run._watch()
    assert (outcome, rest, run.failures) == ("held by kuka_fri_relay", pytest.approx(0.3), [])


@pytest.mark.parametrize(
    ("fault", "reports", "held", "failures"),
    [
        ("relayed_controller_killed", [DAMPED, {EMULATOR: {"held_late": "9"}}], 9, []),
        ("relayed_controller_killed", [{EMULATOR: {"held_late": "9"}}], 9, ["the relay does not say that it damps"]),
        ("relayed_controller_stopped", [DAMPED, {EMULATOR: {"held_late": "31"}}], 31, ["torque was held for 31 ms"]),
        ("relayed_controller_stopped", [DAMPED, {EMULATOR: {"held_late": "0"}}], None, ["no torque was held"]),
        (
            "relay_killed",
            [{EMULATOR: {"held_late": "14", "component_active": "False"}}, {"command_watchdog": {"stopped": "True"}}],
            14,
            [],
        ),
        ("relay_killed", [{EMULATOR: {"held_late": "14", "active": "False"}}], None, ["no node deactivated"]),
        ("relay_stopped", [{EMULATOR: {"held_late": "14", "component_active": "False"}}], 14, ["the watchdog"]),
        ("relay_watchdog_killed", [], None, []),
        (
            "watched_controller_killed",
            [{"effort_controller": {"active": "False", "held_late": "13"}}],
            13,
            ["the watchdog does not say"],
        ),
    ],
)
def test_how_long_the_last_torque_went_on_and_who_ended_it(fault, reports, held, failures):
    run = run_of(fault, *reports)
    assert run._held() == held
    assert len(run.failures) == len(failures)
    assert all(words in own for words, own in zip(failures, run.failures, strict=True))


def test_after_the_safe_mode_it_is_reset_and_started():
    run = run_of("controller_stalled", at(3.0, **SAFE), at(3.2, mode="IDLE"), at(3.3, mode="ANTE"))
    assert run._recover("STATE_STALE") == "reset, moves again"
    assert run.graph.asked == ["reset", "start"]
    assert run.failures == []


@pytest.mark.parametrize(
    ("modes", "recovered", "failure"),
    [
        (["SAFE", "SAFE"], "no", "did not leave the safe mode on request (mode SAFE)"),
        (["IDLE", "IDLE"], "reset", "did not move again on request (mode IDLE): words"),
    ],
)
def test_one_that_does_not_recover_fails(modes, recovered, failure):
    run = run_of("controller_stalled", *(at(3.0, mode=mode) for mode in modes))
    assert run._recover("STATE_STALE") == recovered
    assert run.failures == [failure]


def test_only_a_node_that_was_started_anew_must_answer_again():
    present, absent = ({"lockstep_relay": {"absent": name}} for name in ("", "impact_detector"))
    run = run_of("detector_killed", absent, at(3.0, mode="IDLE"))
    assert run._recover("UPSTREAM_LOST") == "reset"
    assert run.failures == []
    run = run_of("detector_restarted", absent, absent, present, at(3.0, mode="IDLE"), at(3.1, mode="ANTE"))
    assert run._recover("UPSTREAM_LOST") == "reset, moves again"
    assert run.failures == []
    run = run_of("detector_restarted", absent)
    run._recover("UPSTREAM_LOST")
    assert run.failures[0] == "impact_detector does not answer after its new start"


def test_a_task_that_is_done_needs_no_recovery_and_an_object_that_is_gone_no_new_start():
    assert run_of("field_killed")._recover("done") == "not needed"
    run = run_of("object_gone", at(3.0, mode="IDLE"))
    assert run._recover("IMPACT_MISSED") == "reset"
    assert run.graph.asked == ["reset"]


def test_a_controller_that_was_killed_is_started_anew_where_the_fault_says_so():
    assert run_of("controller_killed")._recover("braked by the robot") == ""
    run = run_of("controller_restarted", at(3.0, mode=""), at(3.5, mode="ANTE"))
    assert run._recover("braked by the robot") == "moves after a new start"
    assert run.graph.restarted == ["rs_controller"]
    run = run_of("controller_restarted", at(3.0, mode="IDLE"))
    assert run._recover("braked by the robot") == "no"
    assert run.failures == ["the new controller does not move (mode IDLE): words"]


def emulator(effort, change) -> dict[str, dict[str, str]]:
    words = {"largest": effort, "largest_change": change}
    return {"effort_controller": {key: " ".join(f"{value:.9g}" for value in own) for key, own in words.items()}}


def test_shares_are_of_each_joints_limit_and_of_its_rate_in_a_millisecond():
    effort, change = 0.5 * LIMITS.effort, 0.1e-3 * LIMITS.effort_rate
    effort[4] = 0.75 * LIMITS.effort[4]
    change[6] = 0.4e-3 * LIMITS.effort_rate[6]
    run = run_of("controller_stalled")
    run.graph.latest = emulator(effort, change)
    assert run._shares() == pytest.approx((0.75, 0.4))
    assert run.failures == []


@pytest.mark.parametrize(("effort", "change"), [(1.01, 0.5), (0.5, 1.01)])
def test_commands_beyond_a_limit_fail(effort, change):
    run = run_of("controller_stalled")
    run.graph.latest = emulator(effort * LIMITS.effort, change * 1e-3 * LIMITS.effort_rate)
    run._shares()
    assert run.failures == [f"commands beyond their limits: torque {effort:.3f}, torque rate {change:.3f}"]


def test_commands_of_which_nothing_is_known_fail_too_unless_there_is_no_emulator():
    run = run_of("controller_stalled")
    run._shares()
    assert len(run.failures) == 1
    assert run_of("controller_killed")._shares() == (None, None)


def test_who_died_by_itself_is_named_and_a_plant_that_gave_up_lockstep():
    run = run_of("controller_stalled")
    run.graph.processes["rs_controller"].running = False
    run.graph.latest = {"sim_robot": {"lockstep": "False"}}
    run._check_alive()
    assert run.failures == ["rs_controller ended with status 3: bye", "the plant gave up lockstep"]
    run = run_of("controller_killed")
    run.graph.processes["rs_controller"].running = False
    run._check_alive()
    assert run.failures == []


@pytest.mark.parametrize("spoilt", [0, 1, 5])
def test_a_start_before_there_is_a_fault_is_repeated_once(monkeypatch, spoilt):
    made = []

    class Started(Graph):
        def __init__(self, domain=None):
            super().__init__({})
            made.append(self)

        def __enter__(self):
            return self

        def __exit__(self, *_error):
            pass

        def start(self, *nodes, listener=False):
            pass

        def wait(self, condition, patience, period=0.01):
            return len(made) > spoilt

    monkeypatch.setattr(dds, "GraphRun", Started)
    run = dds.DdsRun("controller_stalled", 0)
    for name, answer in (("_strike", None), ("_watch", ("right", 0.1)), ("_held", None), ("_recover", "reset")):
        monkeypatch.setattr(run, name, lambda *_given, answer=answer: answer)
    monkeypatch.setattr(run, "_shares", lambda: (0.5, 0.5))
    monkeypatch.setattr(run, "_check_alive", lambda: None)
    result = run.run()
    assert result["starts"] == min(spoilt + 1, dds.MOST_STARTS)
    assert result["outcome"] == ("right" if spoilt < 2 else "")
    kinds = [[failure.split(" (")[0] for failure in result[name]] for name in ("failures", "spoilt_starts")]
    assert kinds == [["no motion"] * (spoilt >= 2), ["no motion"] * (spoilt >= 1)]
    assert ("right, at start 2" in dds.format_table([result])) is (spoilt == 1)
