"""The window of motion sample by sample: what it takes, mends, bridges and refuses, and for how long it remembers."""

import math

import numpy as np
import pytest

from impact_aware.detection import JointSample
from impact_aware.detection.motion_window import LARGEST_GAP, DropCounts, MotionWindow
from impact_aware.detection.ring import Ring
from impact_aware.errors import InvalidInputError

PERIOD = 1e-3
LENGTH = 12
STEP = 1e-4
"""Encoder resolution; twice as much from one sample to the next is motion."""


def make(joints=2):
    return MotionWindow(joints, LENGTH, PERIOD, np.full(joints, STEP))


def motion(k):
    """A parabola and a line, 0.02 and 0.05 rad per period and more."""
    return np.array([0.3 + 0.02 * k + 0.001 * k * k, -1.0 - 0.05 * k])


def accept(window, k, position=None):
    return window.accept(JointSample(k * PERIOD, motion(k) if position is None else np.asarray(position)))


def filled(upto=20, joints=2):
    """A window that has seen samples 0 to `upto`."""
    window = make(joints)
    for k in range(upto + 1):
        assert accept(window, k, motion(k)[:joints]) == 1
    return window


def rows(*indices):
    return np.array([motion(k) for k in indices])


def test_samples_of_the_grid_fill_it_in_order():
    window = make()
    assert math.isnan(window.time) and not window.full
    for k in range(20):
        assert accept(window, k) == 1
        assert (window.time, window.fresh) == (k * PERIOD, k == 0)
        assert window.counts.tolist() == [min(k + 1, LENGTH)] * 2
        assert window.full is (k >= LENGTH - 1)
    np.testing.assert_array_equal(window.positions, rows(*range(8, 20)))
    assert window.mixture is window.offsets is None
    assert window.drops == DropCounts()


@pytest.mark.parametrize("joints", [0, -1])
def test_a_window_has_a_joint(joints):
    with pytest.raises(InvalidInputError, match="joint_count"):
        MotionWindow(joints, LENGTH, PERIOD, np.zeros(0))


def test_malformed_samples_are_counted_and_change_nothing():
    window = filled()
    for time, position in ((math.nan, motion(21)), (0.021, [1.0]), (0.021, "none"), (None, motion(21)), (0.021, None)):
        assert window.accept(JointSample(time, position)) == 0
    assert window.drops == DropCounts(malformed=5)
    assert accept(window, 21) == 1


def test_a_second_sample_of_the_same_period_is_early():
    window = filled()
    for k in (20, 20.3, 20.49):
        assert accept(window, k) == 0
    assert window.drops == DropCounts(early=3)
    assert accept(window, 21) == 1


@pytest.mark.parametrize(("sample", "drops"), [(3, DropCounts(backwards=1)), (25, DropCounts(gaps=1))])
def test_time_that_runs_backwards_and_a_gap_that_is_too_long_start_everything_again(sample, drops):
    window = filled()
    assert accept(window, sample) == 1 and window.drops == drops
    assert window.fresh and window.counts.tolist() == [1, 1] and window.time == sample * PERIOD
    assert accept(window, sample + 1) == 1 and not window.fresh


@pytest.mark.parametrize("missing", [1, 2, 3])
def test_missing_samples_are_bridged_by_the_parabola_and_remembered_for_a_window(missing):
    window = filled(14)
    next_one = 15 + missing
    assert accept(window, next_one) == missing + 1
    assert window.drops == DropCounts(missing=missing)
    np.testing.assert_allclose(window.positions, rows(*range(next_one - LENGTH + 1, next_one + 1)), atol=1e-12)
    assert window.counts.tolist() == [LENGTH, LENGTH]
    for after in range(1, LENGTH + 1):
        # As long as a bridged row is inside, the newest of which is one older than the sample behind the gap.
        if after < LENGTH - 1:
            assert window.mixture is not None
        assert accept(window, next_one + after) == 1


def test_behind_a_single_sample_a_gap_is_guessed_by_a_line_and_not_trusted():
    window = make()
    accept(window, 0)
    assert accept(window, 3, [0.9, -4.0]) == 3
    expected = np.array([[0.3, -1.0], [0.5, -2.0], [0.7, -3.0], [0.9, -4.0]])
    np.testing.assert_allclose(window.positions[-4:], expected, atol=1e-12)
    assert window.counts.tolist() == [1, 1] and window.drops == DropCounts(missing=2)
    accept(window, 4)
    assert window.counts.tolist() == [2, 2]


def test_a_mixture_says_of_which_samples_a_bridged_row_is_made():
    window = filled(14)
    accept(window, 17)
    for first, nodes in ((9, [7, 8, 11]), (8, [6, 7, 10])):
        # At 1 and 2 on the nodes -1, 0 and 3: Lagrange's weights.
        expected = np.eye(LENGTH)
        expected[[first, first + 1]] = 0.0
        expected[first, nodes] = [-1 / 2, 4 / 3, 1 / 6]
        expected[first + 1, nodes] = [-1 / 2, 1.0, 1 / 2]
        np.testing.assert_allclose(window.mixture, expected, atol=1e-12)
        accept(window, 18)


@pytest.mark.parametrize("value", [math.nan, math.inf, -1e7])
def test_a_joint_without_a_value_starts_again_alone(value):
    window = filled()
    assert accept(window, 21, [motion(21)[0], value]) == 1
    assert window.drops == DropCounts(not_finite=1)
    assert window.counts.tolist() == [LENGTH, 0] and not window.full
    np.testing.assert_array_equal(window.positions[-1], [motion(21)[0], motion(20)[1]])
    for after in range(1, LENGTH + 1):
        accept(window, 21 + after)
        assert window.counts.tolist() == [LENGTH, after]


def test_a_sample_without_any_value_is_none():
    window = filled()
    assert accept(window, 21, [math.nan, math.inf]) == 0
    assert window.drops == DropCounts(not_finite=2) and window.time == 20 * PERIOD
    assert accept(window, 22) == 2


@pytest.mark.parametrize("turns", [1, -1, 2])
def test_whole_turns_are_taken_away_and_kept_in_mind(turns):
    window = filled()
    turn = np.array([2.0 * math.pi * turns, 0.0])
    for k in range(21, 21 + LENGTH + 1):
        accept(window, k, motion(k) + turn)
    assert window.drops == DropCounts()
    np.testing.assert_allclose(window.positions, rows(*range(22, 34)), atol=1e-12)


def test_a_repeat_in_motion_is_held_however_often_it_comes():
    window = filled()
    assert [accept(window, 20 + k, motion(20)) for k in range(1, 9)] == [0] * 8
    assert window.drops == DropCounts(held=8) and window.time == 20 * PERIOD


def slow(k):
    """One encoder step per period: less than what can't be repeated."""
    return np.array([0.3 + STEP * k, -1.0])


def slow_window():
    window = make()
    for k in range(LENGTH + 1):
        accept(window, k, slow(k))
    return window


def test_a_slow_arm_may_repeat_more_often_than_can_be_bridged():
    window = slow_window()
    assert [accept(window, LENGTH + k, slow(LENGTH)) for k in range(1, 7)] == [0, 0, 0, 4, 1, 1]
    assert window.drops == DropCounts(held=3, missing=3)
    for k in range(LENGTH + 7, 3 * LENGTH + 7):
        accept(window, k, slow(k - 6))
    assert window.drops.gaps == 0


def test_faster_than_two_encoder_steps_is_motion():
    for speed, held in ((1.9 * STEP, 3), (2.1 * STEP, 6), (-2.1 * STEP, 6)):
        window = make(1)
        for k in range(LENGTH):
            accept(window, k, [speed * k])
        for k in range(LENGTH, LENGTH + 6):
            accept(window, k, [speed * (LENGTH - 1)])
        assert window.drops.held == held


@pytest.mark.parametrize(("repeats", "gaps"), [(3, 0), (4, 1), (40, 1), (41, 0)])
def test_motion_right_after_repeats_tells_a_slow_source_from_an_arm_at_rest(repeats, gaps):
    window = make()
    for k in range(repeats + 1):
        accept(window, k, [0.3, -1.0])
    accept(window, repeats + 1, [0.3, -1.01])
    assert window.drops.gaps == gaps
    assert window.fresh is (gaps == 1)
    # A source too slow to be bridged is going to repeat this one as well.
    before = window.drops.held
    for k in range(2, 8):
        accept(window, repeats + k, [0.3, -1.01])
    assert window.drops.held == before + 6


def line(k, lag=(0.0, 0.0)):
    """Both joints at constant speed, each `lag` periods behind."""
    return np.array([0.02, -0.05]) * (k - np.asarray(lag))


@pytest.mark.parametrize(
    ("steps", "lag", "held"),
    [
        (2, (1.0, 1.0), True),
        (3, (1.0, 1.0), True),
        (2, (0.0, 0.0), False),
        (3, (2.0, 2.0), True),
        # Behind a gap that is not bridged too, but not after 30 periods.
        (9, (8.0, 8.0), True),
        (9, (2.0, 2.0), True),
        (31, (30.0, 30.0), False),
        # One joint alone may brake.
        (2, (1.0, 0.0), False),
        (2, (0.0, 1.0), False),
        # Up to a quarter of the way of a period.
        (2, (0.76, 0.76), True),
        (2, (1.24, 1.24), True),
        (2, (0.73, 0.73), False),
        (2, (1.27, 1.27), False),
    ],
)
@pytest.mark.parametrize("earlier_gap", [1, 2])
def test_the_value_of_a_lost_sample_is_held(steps, lag, held, earlier_gap):
    window = make()
    for k in (*range(15), 14 + earlier_gap):
        accept(window, k, line(k))
    before = window.drops.missing
    k = 14 + earlier_gap + steps
    bridged = steps <= LARGEST_GAP + 1
    assert accept(window, k, line(k, lag)) == (0 if held else steps if bridged else 1)
    missing = steps - 1 if bridged and not held else 0
    assert window.drops == DropCounts(held=int(held), missing=before + missing, gaps=int(not bridged and not held))


@pytest.mark.parametrize(
    ("samples", "held"),
    [
        # (period of the stamp, period of the positions): late alike, less and less, and more and more
        ([(17, 16), (18, 17), (18.9, 18)], [True, True, True]),
        ([(19, 15), (19.1, 16), (19.2, 17), (19.3, 18), (19.4, 19)], [True, True, True, True, False]),
        ([(17, 16), (19, 17), (22, 18)], [True, True, True]),
        # An arm that stopped, and one that was slowed down.
        ([(16, 15), (17, 15)], [True, False]),
        ([(16, 15), (17, 15.5)], [True, False]),
    ],
)
def test_late_samples_move_on_and_an_arm_that_stops_does_not(samples, held):
    window = make()
    for k in range(15):
        accept(window, k, line(k))
    assert [accept(window, stamp, line(k)) == 0 for stamp, k in samples] == held


def test_a_late_sample_is_known_in_a_motion_that_speeds_up_and_moves_no_grid():
    """Its position is that of a parabola; the grid of the stamps stays where it was."""
    window = make()
    position = np.array([3e-4, -1e-4])
    for k in range(15):
        accept(window, k, k**2 * position)
    for k in (15, 16):
        assert accept(window, k + 1.9, k**2 * position) == 0
    assert accept(window, 18, 18**2 * position) == 4
    assert window.offsets is None and (window.drops.early, window.drops.held) == (0, 2)


def test_after_an_impact_the_motion_before_it_says_nothing_of_late_samples():
    window = make()
    for k in range(15):
        accept(window, k, line(k))
    window.restart_joints(np.ones(2, dtype=bool), 1)
    assert accept(window, 16, line(15)) == 2


def test_numbers_without_end_behind_a_gap_are_not_late():
    window = filled()
    assert accept(window, 1e300, np.array([np.nan, 0.3])) == 1
    assert accept(window, 1e300 + 1e290, np.array([0.2, 0.3])) == 1


def test_offsets_are_the_stamps_less_the_grid_as_long_as_they_are_inside():
    window = make()
    speed = np.array([7.0, -3.0])
    off = {20: 0.2, 22: -0.15, 25: 0.1}
    stamps = {k: (k + off.get(k, 0.0)) * PERIOD for k in range(60) if k not in (23, 24)}
    for k, stamp in stamps.items():
        window.accept(JointSample(stamp, speed * stamp))
        offsets = window.offsets
        # The last stamp off the grid is 25, and with 26 the grid is reached again.
        assert (offsets is not None) is (20 <= k < 26 + LENGTH)
        if offsets is not None and k >= LENGTH:
            # At constant speed a row is where the arm was at its stamp, also a bridged one.
            moved = window.positions - speed * (PERIOD * np.arange(LENGTH)[:, None] + offsets[:, None])
            np.testing.assert_allclose(moved - moved[0], 0.0, atol=1e-12)


@pytest.mark.parametrize(("deviation", "regular"), [(0.5e-6, True), (-0.5e-6, True), (0.7e-6, False), (-0.7e-6, False)])
def test_stamps_within_half_a_microsecond_are_on_the_grid(deviation, regular):
    window = filled()
    window.accept(JointSample(21 * PERIOD + deviation, motion(21)))
    assert (window.offsets is None) is regular


@pytest.mark.parametrize(("deviation", "gaps"), [(0.37, 0), (-0.37, 0), (0.39, 1), (-0.39, 1)])
def test_a_stamp_between_two_periods_is_trusted_by_nothing_for_a_window(deviation, gaps):
    window = filled()
    window.accept(JointSample((21 + deviation) * PERIOD, motion(21)))
    assert window.drops.gaps == gaps
    for k in range(22, 22 + LENGTH):
        if gaps:
            assert window.counts.tolist() == [1, 1]
        accept(window, k)
    assert window.counts.tolist() == ([2, 2] if gaps else [LENGTH, LENGTH])


@pytest.mark.parametrize(("interval", "taken"), [(0.25, 1), (0.2, 0)])
def test_the_grid_follows_a_late_stamp_by_a_tenth(interval, taken):
    window = filled()
    window.accept(JointSample(21.3 * PERIOD, motion(21)))
    # The stamp is 0.27 periods late on the grid then, and half a period ends 0.23 periods after it.
    assert window.accept(JointSample((21.3 + interval) * PERIOD, motion(22))) == taken


@pytest.mark.parametrize("age", [1, 2])
def test_a_glitch_is_mended_by_the_parabola_through_its_neighbours(age):
    window = filled(20 - age)
    accept(window, 21 - age, motion(21 - age) + [0.4, 0.0])
    for k in range(22 - age, 22):
        accept(window, k)
    window.mend(np.array([True, False]), age)
    np.testing.assert_allclose(window.positions, rows(*range(10, 22)), atol=1e-12)
    assert window.drops == DropCounts(outliers=1)
    for k in range(22, 22 + LENGTH):
        accept(window, k)


def test_a_ring_keeps_the_newest_rows_in_order():
    ring = Ring(4, 2)
    assert ring.count == 0 and not ring.rows.any()
    for k in range(1, 8):
        ring.push(np.array([k, -10.0 * k]))
        assert ring.count == min(k, 4)
        expected = [max(each, 0) for each in range(k - 3, k + 1)]
        np.testing.assert_array_equal(ring.rows, np.outer(expected, [1.0, -10.0]))
        np.testing.assert_array_equal(ring.newest, [k, -10.0 * k])
    for age in range(4):
        ring.replace(age, np.array([age, 0.5]))
        assert ring.rows[3 - age].tolist() == [age, 0.5]
    for k in range(4):
        # Both copies were replaced: the rows that are left show it while new ones come.
        ring.push(np.array([9.0, 9.0]))
        assert ring.rows[: 3 - k].tolist() == [[age, 0.5] for age in range(2 - k, -1, -1)]
    ring.restart()
    assert ring.count == 0 and ring.rows.all()
    ring.fill(-2.0)
    assert ring.count == 0 and (ring.rows == -2.0).all()
