"""Jumps that measured torques do not explain: on motions whose torques are those of inverse dynamics, by hand."""

import numpy as np
import pinocchio as pin
import pytest
from driven_motion import BRAKE, HIT, SLOW, TIMES, jump_of, recorded

from impact_aware.arrays import Array
from impact_aware.estimation.sample_noise import noise_of
from impact_aware.estimation.unexplained_jump import UnexplainedJumps, held_up
from impact_aware.recordings.torque_verdict import LEFT
from impact_aware.robot import RobotModel


def looked(robot: RobotModel, positions: Array, efforts: Array) -> UnexplainedJumps:
    return UnexplainedJumps(robot, TIMES, positions, efforts, noise_of(TIMES, positions), np.zeros_like(TIMES))


@pytest.mark.parametrize("duration", [0.004, 0.022])
def test_a_contact_that_a_drive_takes_back_is_left_whole(robot: RobotModel, duration: float) -> None:
    seen = looked(robot, *recorded(robot, duration=duration)).look(HIT - 0.006, HIT + 0.009)
    assert seen is not None
    assert seen.gain > LEFT
    assert seen.time == pytest.approx(HIT, abs=3e-3)
    # The drive acts for three samples: the standard error includes what its torques may do between them.
    assert (np.abs(seen.jump - jump_of(robot)) < 2.5 * seen.jump_std + 0.01).all()
    assert seen.jump_std.max() < 0.12


def test_what_torques_did_leaves_nothing(robot: RobotModel) -> None:
    """A brake of 25 rad/s^2, and a wiggle as large as that of the contact."""
    jumps = looked(robot, *recorded(robot, contact=0.0))
    brake = jumps.look(BRAKE - 0.006, BRAKE + 0.009)
    assert brake is not None
    assert brake.gain < 3.0
    # Without its torques the jump of every joint is unknown.
    positions, efforts = recorded(robot, contact=0.0)
    alone = looked(robot, positions, np.tile(efforts[:40].mean(axis=0), (len(TIMES), 1)))
    unknown = alone.look(BRAKE - 0.006, BRAKE + 0.009)
    assert unknown is not None
    assert unknown.gain < 3.0
    assert unknown.jump_std.min() > 0.02


@pytest.mark.parametrize("late", [0.001, 0.004])
def test_three_late_samples_are_no_certain_contact(robot: RobotModel, late: float) -> None:
    """The model has no late samples, so what it misses of them makes everything less certain."""
    positions, efforts = recorded(robot, contact=0.0, brake=0.0)
    rows = np.searchsorted(TIMES, HIT) + np.arange(3)
    early = [np.interp(TIMES[rows] - late, TIMES, joint) for joint in positions.T]
    positions[rows] = np.stack(early, axis=1)
    seen = looked(robot, positions, efforts).look(HIT - 0.006, HIT + 0.009)
    assert seen is not None
    assert seen.gain < LEFT


def test_torques_that_are_wrong_leave_nothing_clear(robot: RobotModel) -> None:
    positions, efforts = recorded(robot)
    wrong = efforts + 8.0 * np.random.default_rng(5).standard_normal(efforts.shape)
    quiet = looked(robot, positions, efforts).look(HIT - 0.006, HIT + 0.009)
    loud = looked(robot, positions, wrong).look(HIT - 0.006, HIT + 0.009)
    assert quiet is not None
    assert loud is not None
    assert loud.gain < 0.2 * quiet.gain


def test_another_jump_beside_it_is_not_taken_for_it(robot: RobotModel) -> None:
    jumps = looked(robot, *recorded(robot))
    unknown = jumps.look(HIT + 0.020, HIT + 0.035)
    known = jumps.look(HIT + 0.020, HIT + 0.035, [HIT])
    assert unknown is not None
    assert known is not None
    assert known.gain < 3.0
    assert known.gain < unknown.gain - 3.0
    assert unknown.gain < LEFT


def test_too_short_a_recording_tells_nothing(robot: RobotModel) -> None:
    positions, efforts = recorded(robot)
    some = slice(50, 75)
    times, places = TIMES[some], positions[some]
    short = UnexplainedJumps(robot, times, places, efforts[some], noise_of(times, places), np.zeros_like(times))
    assert not short.known
    assert short.look(HIT - 0.006, HIT + 0.009) is None
    # Nor are there samples before the first.
    assert looked(robot, positions, efforts).look(3.004, 3.012) is None


def test_torques_are_held_against_what_gravity_needs(robot: RobotModel) -> None:
    positions, efforts = (column[:80] for column in recorded(robot))
    assert held_up(robot, positions, efforts) == pytest.approx((1.0, 1.0), abs=0.05)
    assert held_up(robot, positions, -1e3 * efforts) == pytest.approx((-1.0, -1e3), rel=0.05)
    needed = np.array([robot.gravity(row) for row in positions])
    assert np.abs(held_up(robot, positions, efforts - needed)).max() < 0.3
    assert held_up(robot, positions, 0.0 * efforts) == (0.0, 0.0)


def test_a_force_that_begins_and_stays_is_no_jump(robot: RobotModel) -> None:
    """What torques leave bends by 6 rad/s^2 of the fastest joint, as when a tip begins to press."""
    positions, efforts = recorded(robot, contact=0.0, brake=0.0)
    since = np.maximum(TIMES - HIT, 0.0)[:, None]
    seen = looked(robot, positions + jump_of(robot) / 0.9 * 3.0 * since**2, efforts).look(HIT - 0.006, HIT + 0.009)
    assert seen is not None
    assert seen.gain < 3.0


def test_encoders_at_the_motors_move_by_what_the_springs_take(robot: RobotModel) -> None:
    """A torque that rises by 24 N m within 15 ms winds a spring up by 2.4 mrad, at 0.16 rad/s."""
    positions, efforts = recorded(robot, contact=0.0)
    seen = looked(robot, positions + 1e-4 * efforts, efforts).look(BRAKE - 0.006, BRAKE + 0.020)
    assert seen is not None
    assert seen.gain < 20.0


def test_torques_that_step_between_two_samples_leave_no_jump(robot: RobotModel) -> None:
    """A step of 15 rad/s^2 at 100 Hz, 0.8 ms before a sample: a spline begins half of it a sample too early."""
    times, begin = 3.0 + 0.01 * np.arange(110), 3.8092
    since = np.maximum(times - begin, 0.0)[:, None]
    pull = -15.0 * np.sign(SLOW) * (since > 0.0)
    q, dq = robot.home + SLOW * (times - begin)[:, None] + 0.5 * pull * since**2, SLOW + pull * since
    model, data = robot.variant("M")
    efforts = np.array([pin.rnea(model, data, *row).copy() for row in zip(q, dq, pull, strict=True)])
    q = q + 1e-5 * np.random.default_rng(4).standard_normal(q.shape)
    jumps = UnexplainedJumps(robot, times, q, efforts, noise_of(times, q), np.zeros_like(times))
    seen = jumps.look(begin - 0.0075, begin + 0.0075)
    assert seen is not None
    assert seen.gain < 0.5 * LEFT
