"""What springs leave open about an instant, on an arm that is solved exactly."""

import numpy as np
import pytest
from swinging_arm import POSTURE, ROBOT, STIFFNESS, swinging_arm

from impact_aware.estimation.joint_springs import joint_springs
from impact_aware.estimation.sample_noise import Noise
from impact_aware.estimation.spring_model import SpringModel
from impact_aware.estimation.spring_parts import DAMPING_RATIOS, SPREAD, STIFF_SWINGS, SWINGS, SpringParts

PERIOD = 0.005
TIMES = np.arange(40) * PERIOD + 0.0013
ENCODER, STAMPS = 2e-5, 5e-5
FIRST, SECOND = 0.031, 0.1017
VELOCITY = np.array([0.2, -0.3, 0.1, 0.4, -0.2, 0.15, 0.3])
SPRINGS = joint_springs(ROBOT, POSTURE, STIFFNESS)
RESPONSE = np.linalg.solve(ROBOT.mass_matrix(POSTURE, "M"), ROBOT.frame_jacobian(POSTURE, ROBOT.tool_frame)[:3].T)


def kick(size):
    """A jump of the links by a push at the tool, of the fastest joint by `size`, rad/s."""
    jump = RESPONSE @ np.array([0.3, -0.2, 1.0])
    return size * jump / np.abs(jump).max()


def model(kicks=(), drives=(), known=(FIRST,), seed=0, presses=()):
    rng = np.random.default_rng(seed)
    positions = swinging_arm(TIMES, VELOCITY, kicks, drives, presses) + ENCODER * rng.standard_normal((len(TIMES), 7))
    stamps = TIMES + STAMPS * rng.standard_normal(len(TIMES))
    return SpringModel(stamps, positions, Noise(np.full(7, ENCODER), STAMPS), SPRINGS, RESPONSE, known)


def judged(*args, instant=SECOND + 0.003, **kwargs):
    return model(*args, **kwargs).judge(instant - 0.01, instant + 0.01)


def test_ringing_is_no_contact():
    found, misfit = judged([(FIRST, kick(1.5))])
    assert found.kink < max(found.smooth, found.step) + 3.0
    assert 0.2 < misfit < 1.2


def test_a_weak_contact_in_the_ringing_of_a_strong_one_stands_out():
    found, misfit = judged([(FIRST, kick(1.5)), (SECOND, kick(0.3))])
    assert found.kink > max(found.smooth, found.step) + 30.0
    # A push of some milliseconds that began earlier is nearly the same.
    assert found.time == pytest.approx(SECOND, abs=2e-3)
    assert misfit < 1.5


def test_a_step_of_the_motors_is_one():
    drive = np.array([2.0, -6.0, 3.0, 8.0, -4.0, 5.0, -3.0])
    found, _ = judged([(FIRST, kick(1.5))], [(SECOND, drive)])
    assert found.step > max(found.smooth, found.kink) + 9.0
    assert found.step_time == pytest.approx(SECOND, abs=PERIOD)


def test_contacts_beside_it_are_looked_beyond():
    # Six samples after the strong one and four before the next, where a window between them would tell nothing.
    kicks = [(0.0705, kick(0.9)), (SECOND, kick(0.4)), (0.1213, kick(0.5))]
    found, _ = judged(kicks, known=(0.0705, 0.1213))
    assert found.kink > max(found.smooth, found.step) + 30.0
    unknown, misfit = judged(kicks, known=())
    assert misfit > 2.0 and unknown.time != pytest.approx(found.time, abs=1e-5)


def test_a_contact_that_begins_to_press_is_none():
    """Its force steps, along what pushes at the tool do, and stays: no velocity jumps."""
    found, misfit = judged([(FIRST, kick(1.5))], presses=[(SECOND, kick(40.0))])
    assert found.step > max(found.smooth, found.kink) + 15.0
    assert misfit < 1.5


def test_the_covariance_of_swings_is_that_of_damped_sinusoids():
    """Sampled with the frequencies, damping and phases that it stands for."""
    stiffness = STIFFNESS.copy()
    stiffness[2] *= 40.0
    springs = joint_springs(ROBOT, POSTURE, stiffness)
    assert springs.stiff.any() and not springs.stiff.all()
    times = TIMES[:12] - TIMES[0]
    total = np.zeros((7 * 12, 7 * 12))
    since = times[:, None] + times - times[-1]
    for mode, turns in enumerate(springs.turns):
        part = np.zeros((12, 12))
        for ratio in (springs.damping[mode],) if springs.stiff[mode] else DAMPING_RATIOS:
            for tone in turns * (1.0 + SPREAD):
                decay = np.abs(times[:, None] - times) if springs.stiff[mode] else since
                size = STIFF_SWINGS if springs.stiff[mode] else SWINGS
                count = len(SPREAD) * (1 if springs.stiff[mode] else len(DAMPING_RATIOS))
                swing = np.cos(tone * (times[:, None] - times)) * np.exp(-ratio * turns * decay)
                part += (size / tone) ** 2 * swing / count
        shape = springs.shapes[:, mode]
        total += np.kron(np.outer(shape, shape), part)
    made = SpringParts(times, springs, RESPONSE).swings()
    assert np.abs(made - total).max() < 1e-9 * np.abs(total).max()
