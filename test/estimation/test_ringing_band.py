"""The band in which joints ring, found in hand-made motions after a contact."""

from __future__ import annotations

import numpy as np
import pytest

from impact_aware.arrays import Array
from impact_aware.estimation.motion_parts import RINGING
from impact_aware.estimation.ringing_band import FEWEST, MOST, ringing_band, stretches_between

NOISE = np.array([2e-5, 5e-5, 1e-5])


def stretch(frequencies: tuple[float, float, float], begin: float, swing: float = 0.2) -> tuple[Array, Array, Array]:
    """0.1 s of three joints that ring from time 0 on, at 200 Hz."""
    rng = np.random.default_rng(int(1e3 * begin))
    times = begin + 5e-3 * np.arange(20) + 2e-4 * rng.uniform(-1.0, 1.0, 20)
    turns = 2.0 * np.pi * np.array(frequencies)
    ring = swing * np.array([1.0, -0.6, 0.3]) * np.exp(-0.03 * turns * times[:, None]) * np.sin(turns * times[:, None])
    moved = np.array([0.4, -0.2, 0.7]) * times[:, None] + np.array([-1.5, 2.0, 0.8]) * times[:, None] ** 2
    return times, moved + ring / turns + NOISE * rng.standard_normal((20, 3)), NOISE


@pytest.mark.parametrize("frequencies", [(15.0, 17.0, 16.0), (22.0, 27.0, 25.0), (33.0, 37.0, 35.0)])
def test_joints_that_ring_together_tell_their_band(frequencies: tuple[float, float, float]) -> None:
    low, high = ringing_band([stretch(frequencies, begin) for begin in (0.01, 0.11, 0.21)])
    assert low < np.mean(frequencies) < high and high < 1.7 * low
    assert 0.85 * low < min(frequencies) and max(frequencies) < 1.15 * high


def test_where_nothing_rings_no_band_is_known() -> None:
    assert ringing_band([stretch((22.0, 27.0, 25.0), 0.01, swing=0.0)]) == RINGING
    assert ringing_band([]) == RINGING


def test_stretches_follow_one_another_and_end_with_enough_samples() -> None:
    times = 0.3 + 5e-3 * np.arange(100)
    found = stretches_between(times, 0.4001, 0.72)
    assert [len(times[each]) for each in found] == [20, 20, 20]
    assert times[found[0]][0] > 0.4001 and times[found[1]][0] == pytest.approx(0.505) and times[found[2]][-1] < 0.7002
    assert stretches_between(times, 0.4, 0.4 + (FEWEST - 1.5) * 5e-3) == []
    quick = 0.3 + 1e-3 * np.arange(500)
    assert all(FEWEST <= len(quick[each]) <= MOST for each in stretches_between(quick, 0.4, 0.72))
