"""Single wrong values among recorded ones: mended where they are alone, left where they may be true."""

import numpy as np
import pytest

from impact_aware.estimation.sample_noise import Noise, noise_of, without_spikes

NOISE = np.array([0.02, 0.3])


def test_noise_is_that_of_the_encoder_and_of_stamps_at_speed() -> None:
    steps = 1e-3 * np.array([0.0, 3.0, 1.0, 4.0, 8.0, 2.0])[:, None]
    # Rounding to a step is uniform over it.
    assert noise_of(0.01 * np.arange(6), steps).encoder == pytest.approx(1e-3 / np.sqrt(12.0))
    np.testing.assert_allclose(Noise(np.array([3e-5]), 2e-5).at(np.array([-2.0])), 5e-5)


def course() -> tuple[np.ndarray, np.ndarray]:
    """Two columns that ring at 21 and 34 Hz, at 200 Hz with jitter."""
    rng = np.random.default_rng(8)
    times = 5e-3 * (np.arange(80) + 0.15 * rng.uniform(-1.0, 1.0, 80))
    swing = np.stack((3.0 * np.sin(132.0 * times), 9.0 * np.cos(214.0 * times)), axis=1)
    return times, swing + NOISE * rng.standard_normal((80, 2))


@pytest.mark.parametrize(("row", "joint", "size"), [(30, 0, 6.0), (41, 0, -5.0), (33, 1, 60.0), (6, 1, -45.0)])
def test_a_single_wrong_value_is_replaced_by_what_its_neighbours_tell(row: int, joint: int, size: float) -> None:
    times, true = course()
    values = true.copy()
    values[row, joint] += size
    mended = without_spikes(times, values, NOISE)
    others = np.ones_like(values, dtype=bool)
    others[row, joint] = False
    np.testing.assert_array_equal(mended[others], values[others])
    # A cubic through five samples of a swing is good to a tenth at 21 Hz, to a quarter at 34 Hz.
    assert abs(mended[row, joint] - true[row, joint]) < (0.45, 3.0)[joint] < 0.1 * abs(size)


def test_what_swings_or_lasts_is_left_as_it_is() -> None:
    times, true = course()
    np.testing.assert_array_equal(without_spikes(times, true, NOISE), true)
    for wide in (2, 3, 40):
        values = true.copy()
        values[30 : 30 + wide, 0] += 6.0
        np.testing.assert_array_equal(without_spikes(times, values, NOISE), values)
    np.testing.assert_array_equal(without_spikes(times[:8], true[:8], NOISE), true[:8])
