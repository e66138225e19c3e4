"""Few samples of joints that swing and are controlled: with a hit it is told, without one it is not."""

import numpy as np
import pytest

from impact_aware.detection.ring_bands import BandTest

PERIOD, COUNT, NOISE = 5e-3, 12, np.array([4e-6, 9e-6, 6e-6])
AGES = np.arange(0.5, 4.25, 0.5)
SWINGS = np.array([0.4, 0.07, 0.2])


def motion(rng, *, pull=5.0, hit=None):
    """Times, delays behind the grid and positions (12, 3) of the newest samples; a hit is a time and slopes."""
    grid = PERIOD * np.arange(1.0 - COUNT, 1.0)
    late = 0.02 * PERIOD * rng.normal(size=COUNT)
    time = (grid + late)[:, None]
    omega, damping = 2.0 * np.pi * rng.uniform(15.0, 50.0, 3), 10.0 ** rng.uniform(-2.0, -1.0, 3)
    since = time - grid[0]
    position = SWINGS / omega * np.exp(-damping * omega * since) * np.sin(omega * since + rng.uniform(0.0, 6.0, 3))
    position += pull * rng.uniform(-1.0, 1.0, 3) * 0.05 * (since - 0.05 * (1.0 - np.exp(-since / 0.05)))
    position += 0.3 * time - 1.2
    if hit is not None:
        position += hit[1] * np.maximum(time - hit[0], 0.0)
    return time[:, 0], late, position + NOISE * rng.normal(size=position.shape)


def remembering(times, late, positions):
    test = BandTest(PERIOD, range(5, COUNT + 1), AGES, NOISE, (np.linspace(10.0, 55.0, 46), 2e-5, 20.0))
    for time, delay, position in zip(times, late, positions, strict=True):
        test.push(position, time, delay)
    return test


def test_swinging_joints_under_control_are_no_hit():
    rng = np.random.default_rng(8)
    levels = [remembering(*motion(rng)).look(SWINGS).level for _ in range(300)]
    # A thousandth of the odds of what is a hit.
    assert max(levels) < 3.0


def test_a_hit_is_told_with_its_age_and_size():
    rng = np.random.default_rng(9)
    slopes = np.array([-0.25, 0.15, 0.11])
    found = [remembering(*motion(rng, hit=(-1.6 * PERIOD, slopes))).look(SWINGS) for _ in range(100)]
    assert np.mean([each.level > 4.0 for each in found]) >= 0.95
    assert np.mean([abs(each.age - 1.6) < 0.5 for each in found]) >= 0.95
    sizes = np.array([each.slopes / slopes for each in found])
    assert np.median(sizes, axis=0) == pytest.approx(np.ones(3), abs=0.5)
    assert (sizes > 0.0).mean() > 0.95


@pytest.mark.parametrize("error", [2e-3, -0.02])
def test_a_wrong_sample_is_what_the_others_tell(error):
    rng = np.random.default_rng(10)
    for _ in range(50):
        times, late, positions = motion(rng)
        wrong = positions.copy()
        wrong[-3, 1] += error
        test = remembering(times, late, wrong)
        assert test.look(SWINGS).level > 4.0
        test.mend(2, SWINGS, 4.0)
        assert test.look(SWINGS).level < 3.0
        # A value that is right stays.
        assert test._rows.rows[-3, [0, 2]] == pytest.approx(positions[-3, [0, 2]], abs=1e-12)
        assert test._rows.rows[-3, 1] == pytest.approx(positions[-3, 1], abs=2e-4)


def test_no_noise_and_no_swing_are_allowed():
    test = BandTest(PERIOD, range(5, COUNT + 1), AGES, np.zeros(3), (np.linspace(10.0, 55.0, 46), 2e-5, 20.0))
    for index in range(COUNT):
        test.push(np.array([0.1, -0.2, 0.3]) * index, PERIOD * index, 0.0)
    found = test.look(np.zeros(3))
    assert found.level == 0.0 and np.isfinite(found.slopes).all()
