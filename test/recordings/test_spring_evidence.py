"""Contacts in the ringing of another, told by springs, on an arm that is solved exactly."""

from dataclasses import replace

import numpy as np
import pytest
from swinging_arm import POSTURE, ROBOT, swinging_arm

from impact_aware.estimation.sample_noise import Noise
from impact_aware.recordings.kink_finder import KinkFinder
from impact_aware.recordings.momentum_evidence import Samples
from impact_aware.recordings.spring_evidence import CLEAR, CLOSEST, FITS, LEAST, _View
from impact_aware.robot import RobotModel
from impact_aware.robot.profile import load_profile

PERIOD = 0.005
ENCODER, STAMPS = 1.5e-5, 4e-5
VELOCITY = np.array([0.2, -0.3, 0.1, 0.4, -0.2, 0.15, 0.3])
FIRST = 0.2517
BARE = RobotModel.from_profile(replace(load_profile("panda"), apparent_motor_inertia=(0.0,) * 7))
NOISE = Noise(np.full(7, ENCODER), STAMPS)


def response(posture):
    forces = ROBOT.frame_jacobian(posture, ROBOT.tool_frame)[:3].T
    return np.linalg.solve(ROBOT.mass_matrix(posture, "M"), forces)


def kick(size):
    jump = response(POSTURE) @ np.array([0.3, -0.2, 1.0])
    return size * jump / np.abs(jump).max()


def samples_of(kicks, period=PERIOD):
    rng = np.random.default_rng(1)
    times = np.arange(round(0.7 / period)) * period + 0.0013
    positions = swinging_arm(times, VELOCITY, kicks) + ENCODER * rng.standard_normal((len(times), 7))
    return times + STAMPS * rng.standard_normal(len(times)), positions


def fed(times, positions, robot=ROBOT, period=PERIOD):
    finder = KinkFinder(period, response, robot)
    finder.feed(times, positions)
    finder.finish()
    return finder


def finder_of(kicks, robot=ROBOT, period=PERIOD):
    return fed(*samples_of(kicks, period), robot, period)


def jumps_of(finder):
    return sorted(one.told.time for one in finder.judged if one.is_jump)


def test_touches_that_follow_each_other_are_told_one_by_one():
    times = [FIRST, 0.3081, 0.3436]
    kicks = [(times[0], kick(1.4)), (times[1], kick(0.6)), (times[2], kick(0.45))]
    assert len(jumps_of(finder_of(kicks, robot=BARE))) < 3
    found = sorted((one for one in finder_of(kicks).judged if one.is_jump), key=lambda one: one.told.time)
    assert len(found) == 3 and found[-1].sprung is not None
    assert all(abs(one.told.time - time) < 3.0 * one.time_std for one, time in zip(found, times, strict=True))


def test_what_the_joints_show_is_left_to_them():
    """Springs add contacts, and change nothing about those that are found without them."""
    kicks = [(FIRST, kick(1.4)), (0.3081, kick(0.6)), (0.3436, kick(0.45))]
    alone = [one for one in finder_of(kicks, robot=BARE).judged if one.is_jump]
    beside = [one for one in finder_of(kicks).judged if one.is_jump and one.sprung is None]
    assert [one.told.time for one in beside] == [one.told.time for one in alone]
    assert [one.time_std for one in beside] == [one.time_std for one in alone]


def test_mere_ringing_has_no_second_contact():
    assert jumps_of(finder_of([(FIRST, kick(1.4))])) == pytest.approx([FIRST], abs=1e-3)


def test_the_time_of_a_contact_that_springs_alone_show_is_less_exact():
    found = finder_of([(FIRST, kick(1.4)), (0.3081, kick(0.6)), (0.3436, kick(0.45))])
    sprung = next(one for one in found.judged if one.sprung is not None)
    assert sprung.time_std == pytest.approx(
        np.hypot(replace(sprung, sprung=None, branches=sprung.sprung).time_std, 1.2e-3)
    )


def test_nothing_soon_after_a_contact_is_asked_twice_and_what_is_late_not_at_all():
    finder = finder_of([(FIRST, kick(1.4))])
    asked = []
    look = finder._springs._look
    finder._springs._look = lambda *rest: asked.append(rest[2]) or look(*rest)
    jump = next(one for one in finder.judged if one.is_jump)
    others = [replace(jump, instant=FIRST + late, sure=np.inf) for late in (0.004, 0.04, 0.09, 0.2)]
    times, positions = samples_of([(FIRST, kick(1.4))])
    samples = Samples(times, positions, np.full_like(positions, np.nan))
    # Nor what torques refuted.
    refuted = replace(jump, instant=FIRST + 0.065, refuted=True)
    finder._springs.resolve(samples, NOISE, [jump, *others, refuted])
    assert sorted(set(asked)) == pytest.approx([FIRST + 0.04, FIRST + 0.09])


@pytest.mark.parametrize(("robot", "period"), [("bare", PERIOD), ("whole", 0.010), ("whole", 0.002)])
def test_arms_and_rates_whose_springs_tell_nothing_are_judged_without(robot, period):
    """Without the motors' inertia links ring against nothing; slow samples see no modes, and fast ones are enough."""
    finder = finder_of([(FIRST, kick(1.4))], robot=BARE if robot == "bare" else ROBOT, period=period)
    assert finder._springs is None
    assert any(one.is_jump for one in finder.judged)


def test_what_has_too_few_samples_of_its_own_is_asked_too():
    """Another contact 20 ms before it leaves it three samples: only springs can look beyond that."""
    times = [FIRST, 0.3081, 0.3292]
    kicks = [(time, kick(size)) for time, size in zip(times, (1.4, 0.6, 0.5), strict=True)]
    finder = finder_of([])
    samples = samples_of(kicks)
    samples = Samples(*samples, np.full_like(samples[1], np.nan))
    first = next(one for one in finder_of(kicks, robot=BARE).judged if one.is_jump)
    second = replace(first, instant=times[1], branches=replace(first.told, time=times[1]), explained=None)
    jumps = [first, second]
    *kept, added = finder._springs.resolve(samples, NOISE, jumps, [0.3292 + 0.004])
    assert all(one is other for one, other in zip(kept, jumps, strict=True))
    assert added.is_jump and abs(added.told.time - times[2]) < 2.0 * added.time_std
    assert added.speed[1] - added.speed[0] == pytest.approx(kick(0.5), abs=0.25)
    assert finder._springs.resolve(samples, NOISE, jumps, [0.3292 + 0.06]) == jumps


def test_what_springs_do_not_describe_well_is_no_contact():
    """Neither is what is too small, not clear enough, not known well, or too close to another."""
    found = finder_of([(FIRST, kick(1.4)), (0.3081, kick(0.6)), (0.3436, kick(0.45))])
    told = next(one.sprung for one in found.judged if one.sprung is not None)
    far, close = [FIRST], [FIRST, told.time - 0.9 * CLOSEST]
    assert _View(told, 0.9 * FITS).is_contact(far, CLOSEST)
    assert not _View(told, 0.9 * FITS).is_contact(close, CLOSEST)
    assert not _View(told, 1.1 * FITS).is_contact(far, CLOSEST)
    small = replace(told, jump=told.jump * 0.9 * LEAST / np.abs(told.jump).max(), jump_std=0.1 * told.jump_std)
    assert not _View(small, 0.9 * FITS).is_contact(far, CLOSEST)
    assert not _View(replace(told, jump_std=0.6 * np.abs(told.jump)), 0.9 * FITS).is_contact(far, CLOSEST)
    doubtful = replace(told, kink=max(told.smooth, told.step) + 0.9 * CLEAR)
    assert not _View(doubtful, 0.9 * FITS).is_contact(far, CLOSEST)
