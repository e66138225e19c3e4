"""Faults in process: the trials check what they must, and the controller takes a sample of them well."""

import json

import numpy as np
import pytest

from impact_aware.cli.main import main
from impact_aware.control import ControlSession
from impact_aware.control.braking import HOLD_TORQUE, Braking
from impact_aware.control.safety.command_filter import CommandFilter
from impact_aware.control.safety.torque_fit import TorqueFit
from impact_aware.errors import InvalidInputError, UnknownNameError
from impact_aware.robot import RobotModel
from impact_aware.simulation.sensors import JointReading
from impact_aware_rigs.faults import held_trial
from impact_aware_rigs.faults.bench import PERFECT, FaultBench, draw_world, loaded
from impact_aware_rigs.faults.campaign import plan
from impact_aware_rigs.faults.checks import CommandCheck
from impact_aware_rigs.faults.classes import FAULT_CLASSES, MODES, Extent, Trial
from impact_aware_rigs.faults.hardware import EffortHardware, LawHardware
from impact_aware_rigs.faults.held_trial import HeldTrial
from impact_aware_rigs.faults.model_trial import ModelTrial
from impact_aware_rigs.faults.trial import run_trial


@pytest.fixture(scope="module")
def bench():
    return FaultBench()


@pytest.fixture(scope="module")
def two_arms():
    return FaultBench(2)


def test_the_plan_has_every_class_in_every_mode_alike():
    trials = plan(500, seed=2)
    assert len(trials) >= 500
    count = len(trials) // (len(FAULT_CLASSES) * len(MODES))
    for name in FAULT_CLASSES:
        for mode in MODES:
            assert sum(trial.fault == name and trial.mode == mode for trial in trials) == count
    assert len(set(trials)) == len(trials)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [((0,), InvalidInputError), ((1, 0, ["dance"]), UnknownNameError), ((1, 0, [], ["fast"]), InvalidInputError)],
)
def test_a_plan_that_can_not_be_is_refused(arguments, error):
    with pytest.raises(error):
        plan(*arguments)


@pytest.mark.parametrize(
    ("fault", "mode", "reason"),
    [
        ("huge_velocity", "post", "STATE_IMPLAUSIBLE"),
        ("object_gone", "ante", "IMPACT_MISSED"),
        ("slow_source", "interim", "STATE_STALE"),
        ("clock_forward", "safe", "REQUESTED"),
        ("reorder", "post", ""),
    ],
)
def test_a_sample_of_faults_ends_as_it_must(bench, fault, mode, reason):
    result = run_trial(bench, Trial(fault, mode, 12))
    assert result.failures == ()
    assert result.reason == reason
    assert result.recovered
    assert max(result.peak_effort_share, result.peak_rate_share) <= 1.0 + 1e-6


MISFITS = [name for name, fault in FAULT_CLASSES.items() if fault.kind == "model"]


@pytest.mark.parametrize("interface", ["effort", "local_law"])
@pytest.mark.parametrize("fault", MISFITS)
def test_a_model_that_does_not_fit_is_refused_or_does_no_harm(bench, fault, interface):
    for mode in ("ante", "post"):
        result = ModelTrial(bench, Trial(fault, mode, 12, interface)).run()
        assert result.failures == ()
        assert result.outcome in ("refused", "held")


def test_the_trial_sees_the_harm_where_nobody_compares_torques(bench, monkeypatch):
    monkeypatch.setattr(TorqueFit, "check", lambda *_: None)
    heavy = next(trial for trial in plan(400, 0, ["unknown_load"]) if ModelTrial(bench, trial).severity > 3.0)
    result = ModelTrial(bench, heavy).run()
    assert result.outcome == "held"
    assert any(failure.startswith("a tool went") for failure in result.failures)


@pytest.mark.parametrize(("mode", "interface"), [("safe", "local_law"), ("post", "effort")])
def test_an_arm_that_is_moved_while_held_stays_where_it_is(bench, mode, interface):
    result = HeldTrial(bench, Trial("moved_while_held", mode, 12, interface)).run()
    assert result.failures == () and result.severity > 0.01


def test_the_trial_sees_a_hold_without_bounds(bench, monkeypatch):
    def as_before(self, time, q, dq, mass_matrix):
        """A hold without bounds."""
        if np.isnan(self._time):
            self._time, self._anchor = time, q.copy()
        return 100.0 * (self._anchor - q) - 20.0 * dq

    trial = Trial("moved_while_held", "safe", 12)
    monkeypatch.setattr(Braking, "acceleration", as_before)
    monkeypatch.setattr(held_trial, "AMOUNT", (0.3, 0.4))
    failures = HeldTrial(bench, trial).run().failures
    assert any("rad/s" in failure for failure in failures) and any("beside gravity" in failure for failure in failures)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "mode", "seed", "reason"),
    [
        ("silence", "post", 12, "STATE_STALE"),
        ("command_drop", "interim", 13, ""),
        ("controller_restarted", "ante", 14, ""),
    ],
)
def test_laws_end_as_they_must_too(bench, fault, mode, seed, reason):
    result = run_trial(bench, Trial(fault, mode, seed, "local_law"))
    assert result.failures == ()
    assert result.reason == reason
    assert result.recovered
    assert 0.2 < result.peak_rate_share <= 1.0 + 1e-6


@pytest.mark.parametrize("last", ["law", "torque"])
def test_a_controller_that_is_gone_leaves_an_arm_damped_only_with_laws(bench, last):
    kinds = {"law": LawHardware, "torque": EffortHardware}
    check = CommandCheck(bench)
    hardware = kinds[last](bench, check, lambda arm: False, 1.0)
    session = ControlSession(bench.robots, field=bench.field, bases=bench.bases, send=None)
    session.activate()
    q, dq = bench.start, np.linspace(0.2, -0.3, 7)
    for k in range(20):
        hardware.now = 1.0 + 1e-3 * k
        session.cycle(hardware.now, q, np.zeros(7))
        hardware.take(session, session.filter.previous)
        hardware.follow(session)
        torque = hardware.torque(q, JointReading(0.0, q, np.zeros(7), np.zeros(7)))
    for _ in range(200):
        hardware.now += 1e-3
        torque = hardware.torque(q, JointReading(0.0, q, dq, np.zeros(7)))
    robot = bench.robots[0]
    if last == "torque":
        assert torque is None
    else:
        helped = torque - robot.bias(q, dq) + 10.0 * robot.mass_matrix(q) @ dq
        assert dq @ helped < 0.0 and np.abs(helped).max() <= HOLD_TORQUE + 1e-9
    assert check.failures == []


# Seeds by the worlds that they bring: 12 perfect, 13 noisy, 14 flexible.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "mode", "seed", "reason"),
    [
        ("object_gone", "post", 12, "OBJECT_LOST"),
        ("slow_source", "interim", 13, "STATE_STALE"),
        ("missing", "safe", 14, "REQUESTED"),
    ],
)
def test_two_arms_take_a_sample_of_faults_as_well(two_arms, fault, mode, seed, reason):
    result = run_trial(two_arms, Trial(fault, mode, seed))
    assert result.failures == ()
    assert result.reason == reason
    assert result.recovered
    assert result.arms


def test_of_three_seeds_one_world_is_perfect_one_noisy_one_flexible():
    worlds = [draw_world(seed) for seed in range(6)]
    assert [world.kind for world in worlds] == ["perfect", "noisy", "flexible"] * 2
    assert worlds[0] == PERFECT
    assert worlds[1] != worlds[4]
    assert draw_world(4) == worlds[4]


def test_a_load_makes_the_arm_heavier_at_its_tool_and_nothing_else():
    robot = RobotModel.from_profile("panda")
    heavier = loaded(robot, 0.5)
    masses = [sum(inertia.mass for inertia in own.model.inertias) for own in (robot, heavier)]
    assert masses[1] - masses[0] == pytest.approx(0.5)
    np.testing.assert_allclose(heavier.placement(robot.home).translation, robot.placement(robot.home).translation)
    assert loaded(robot, 0.0) is robot


def test_what_one_of_two_arms_has_alone_leaves_no_pairs_of_states():
    jump = FAULT_CLASSES["clock_forward"].outcomes
    assert jump(10.0, 0.1, Extent(1, 1)) == jump(10.0, 0.1, Extent(2, 2)) == {"CLOCK_JUMP"}
    assert jump(10.0, 0.1, Extent(1, 2)) == {"STATE_STALE"}
    assert jump(10.0, 0.01, Extent(1, 2)) == {None}


def test_a_controller_that_sends_too_much_is_found_out(bench, monkeypatch):
    real = CommandFilter.apply

    def loud(self, *args, **more):
        violation = real(self, *args, **more)
        self.effort = 10.0 * self.effort
        self.previous = 10.0 * self.previous
        return violation

    monkeypatch.setattr(CommandFilter, "apply", loud)
    assert any("over its limit" in failure for failure in run_trial(bench, Trial("inf", "ante", 0)).failures)


def test_an_exception_is_found_out(bench, monkeypatch):
    def broken(self, *args, **more):
        raise RuntimeError("a mistake")

    monkeypatch.setattr(ControlSession, "receive", broken)
    assert "RuntimeError: a mistake" in run_trial(bench, Trial("silence", "ante", 0)).failures


def test_the_command_prints_one_object_and_refuses_nonsense_in_one_line(capsys):
    assert main(["faults", "duplicate", "--modes", "safe", "--runs", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["runs"] == 1
    assert main(["faults", "--arms", "3"]) == 2
    assert "1 to 2" in capsys.readouterr().err
    assert main(["faults", "dance"]) == 2
    assert "dance" in capsys.readouterr().err
    assert main(["faults", "--list"]) == 0
    assert "slow_source" in capsys.readouterr().out


def test_no_link_is_put_into_the_table():
    trial = HeldTrial(FaultBench(2), Trial("moved_while_held", "interim", 92001, "local_law"))
    plant = trial.plant
    plant.reset(trial.bench.start + trial.moved)
    plant.step(None)
    assert not plant.link_touches
    # By the whole amount that was drawn, two links of the wrist would be in it.
    plant.reset(trial.bench.start + trial.moved / 0.8)
    plant.step(None)
    assert {(arm, partner) for arm, partner, _ in plant.link_touches} == {("left", "table")}
