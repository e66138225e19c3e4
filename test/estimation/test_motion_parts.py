"""What joints may do around an instant: each part's course against its equation of motion."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from impact_aware.estimation.motion_parts import MotionParts, carried_bends, started_swings
from impact_aware.estimation.priors import DAMPING_RATIO, RINGING_BAND, Sizes, squares


@pytest.mark.parametrize("column", [1, 9, 17])
def test_a_step_of_the_motor_reaches_the_link_through_its_spring(column: int) -> None:
    """Link: x'' = w^2 (y - x) + 2 z w (y' - x'), motor: y'' = 1, both from rest."""
    turn = 2.0 * np.pi * np.linspace(*RINGING_BAND, 17)[column - 1]

    def slopes(time: float, state: list[float]) -> list[float]:
        link, speed = state
        motor, motor_speed = 0.5 * time**2, time
        return [speed, turn**2 * (motor - link) + 2.0 * DAMPING_RATIO * turn * (motor_speed - speed)]

    times = np.array([0.0, 0.003, 0.011, 0.027, 0.06])
    run = solve_ivp(slopes, (0.0, 0.06), [0.0, 0.0], t_eval=times, rtol=1e-9, atol=1e-14)
    # Half of the variance of one step is that of 17 frequencies.
    found = carried_bends(times)[:, column] / np.sqrt(0.5 / 17)
    # Terms of the squared damping ratio are left out.
    np.testing.assert_allclose(found, run.y[0], rtol=4e-3, atol=2e-7)
    np.testing.assert_allclose(carried_bends(times)[:, 0], np.sqrt(0.5) * 0.5 * times**2)


def test_the_link_follows_later_than_the_motor() -> None:
    late = carried_bends(np.array([0.004, 0.009]))[:, 1:] / np.sqrt(0.5 / 17)
    assert (late < 0.5 * np.array([[0.004], [0.009]]) ** 2).all() and (late > 0.0).all()


def test_a_covariance_is_the_sum_of_its_parts_in_their_sizes() -> None:
    times = 0.004 * np.arange(9) + 1e-4 * np.arange(9) ** 2
    since = np.maximum(times - 0.0151, 0.0)
    parts = MotionParts(times)
    size = Sizes(jerk=7.0, under_way=0.3, started=0.4, step=5.0, carried=11.0, rattle=13.0)
    names = ("jerk", "under_way", "started", "step", "carried", "rattle")
    table = parts.since(since).table.reshape(6, 9, 9)
    total = 0.02**2 * np.eye(9)
    for place, name in enumerate(names):
        value = getattr(size, name)
        alone = parts.since(since).covariance(Sizes(**({"jerk": 0.0} | {name: value})), 0.0)
        np.testing.assert_allclose(squares(size)[place] * table[place], alone, rtol=1e-12)
        total = total + alone
    np.testing.assert_allclose(parts.since(since).covariance(size, 0.02), total, rtol=1e-12)
    # 5 rad/s^2 for the time since the instant.
    step = parts.since(since).covariance(Sizes(jerk=0.0, step=5.0), 0.0)
    np.testing.assert_allclose(step[8, 7], 25.0 * (0.5 * since[8] ** 2) * (0.5 * since[7] ** 2))


def test_an_earlier_jump_has_begun_swings_where_the_drive_is_in_the_samples() -> None:
    times = 0.004 * np.arange(9) + 1e-4 * np.arange(9) ** 2
    parts, band = MotionParts(times, [0.0105]), 2.0 * np.pi * np.linspace(12.0, 60.0, 17)
    far, near = float(times[8]) - 0.0105, float(times[5]) - 0.0105
    swings = [np.exp(-0.03 * band * since) * np.sin(band * since) / band for since in (far, near)]
    # What stiff joints do is over soon, and less than a thousandth here.
    expected = 0.5**2 * float(np.mean(swings[0] * swings[1]))
    assert parts.given(0.02)[8, 5] == pytest.approx(expected, rel=2e-3)
    assert parts.given(0.02)[2, 2] == pytest.approx(0.02**2) and not parts.given(0.0)[:2].any()
    np.testing.assert_array_equal(parts.given(0.02, 3.0), MotionParts(times).given(0.02, 3.0))


def test_pushes_are_a_white_acceleration_and_a_rattle_a_white_jerk_from_the_instant_on() -> None:
    """Each against the integral over what has pushed by then, weighed by what it has moved."""
    times = 0.004 * np.arange(9) + 1e-4 * np.arange(9) ** 2
    late, early = float(times[7]), float(times[4])

    def moved(power: int, begin: float) -> float:
        pushes = np.linspace(begin, early, 20001)
        halves = 1.0 if power == 1 else 0.25
        return float(np.trapezoid(halves * (late - pushes) ** power * (early - pushes) ** power, pushes))

    parts = MotionParts(times)
    assert parts.given(0.0, 3.0)[7, 4] == pytest.approx(3.0 * moved(1, 0.0), rel=1e-6)
    assert parts.given(0.2, 3.0)[4, 4] - parts.given(0.0, 3.0)[4, 4] == pytest.approx(0.04)
    since = np.maximum(times - 0.0095, 0.0)
    rattle = parts.since(since).covariance(Sizes(jerk=0.0, rattle=2.0), 0.0)
    assert rattle[7, 4] == pytest.approx(2.0 * moved(2, 0.0095), rel=1e-6)
    assert not rattle[2].any() and not rattle[:, 2].any()
    jerk = parts.since(since).covariance(Sizes(jerk=2.0), 0.0)
    assert jerk[4, 7] == pytest.approx(2.0 * moved(2, 0.0), rel=1e-6)


def test_swings_have_the_frequencies_of_their_band() -> None:
    """The first and the last of the elastic ones: a quarter of a period after the start they are about to turn."""
    for column, frequency in ((0, 12.0), (16, 60.0)):
        quarter = 0.25 / frequency
        times = np.array([0.9, 1.1, 2.0]) * quarter
        swings = started_swings(times)[:, column]
        assert swings[0] == pytest.approx(swings[1], rel=0.06) and abs(swings[2]) < 1e-6 * swings[0]
        assert swings[0] == pytest.approx(0.98 / (2.0 * np.pi * frequency * np.sqrt(17.0)), rel=0.06)
