"""Estimating while the robot runs gives what estimating from the recording gives."""

import numpy as np
import pytest

from impact_aware.errors import InvalidInputError
from impact_aware.estimation import estimate
from impact_aware.estimation.online import CAPACITY, OnlineEstimation

PERIOD = 1e-3


def recording(count=900, impacts=(0.2503,), seed=1):
    rng = np.random.default_rng(seed)
    times = 5.0 + np.arange(count) * PERIOD
    since = times - 5.0
    positions = np.outer(since, [0.4, -0.3]) + 0.3 * since[:, None] ** 2
    for instant in impacts:
        late = np.maximum(since - instant, 0.0)
        ringing = 1e-3 * np.sin(2 * np.pi * 45 * late) * np.exp(-late / 0.03)
        positions += np.outer(late, [-0.2, 0.1]) + ringing[:, None]
    return times, positions + 5e-6 * rng.standard_normal(positions.shape)


def run(online, times, positions, begins):
    """Feed everything; impacts become known 3 ms after they happened, and what is due is finished at once."""
    results, waiting = [], sorted(begins.items())
    for time, position in zip(times, positions, strict=True):
        online.add(float(time), position)
        if waiting and time >= waiting[0][1] + 3e-3:
            online.begin(*waiting.pop(0), 2e-4)
        if online.due:
            results += [(float(time), late) for late in online.finish()]
    return results


def assert_equal(found, offline):
    for name in ("velocity_after", "standard_error", "velocity_before", "velocity_before_error"):
        np.testing.assert_array_equal(getattr(found, name), getattr(offline, name))
    assert (found.window, found.samples) == (offline.window, offline.samples)


def test_same_arrays_give_the_same_estimate():
    times, positions = recording()
    impact = 5.2503
    ((when, late),) = run(OnlineEstimation(2), times, positions, {7: impact})
    assert late.key == 7
    # The window of the parabola.
    assert when == pytest.approx(impact + 0.2, abs=1.01 * PERIOD)
    known = times <= when
    assert_equal(late.estimate, estimate(times[known], positions[known], impact, impact_time_error=2e-4))


def test_next_impact_cuts_the_window():
    times, positions = recording(impacts=(0.2503, 0.3703))
    first, second = run(OnlineEstimation(2), times, positions, {1: 5.2503, 2: 5.3703})
    assert [first[1].key, second[1].key] == [1, 2]
    assert first[1].estimate.window[1] < 5.3703
    known = times <= first[0]
    assert_equal(
        first[1].estimate,
        estimate(times[known], positions[known], 5.2503, impact_time_error=2e-4, until=5.3703),
    )
    # The second one's branch before the impact is the first one's branch after it, and so is its window of 50 ms.
    assert_equal(second[1].estimate, estimate(times, positions, 5.3703, impact_time_error=2e-4))


def test_of_three_impacts_in_a_window_the_first_ends_at_the_second():
    times, positions = recording(impacts=(0.2503, 0.3303, 0.3903))
    online = OnlineEstimation(2)
    for time, position in zip(times[:470], positions[:470], strict=True):
        online.add(float(time), position)
    for key, impact in enumerate((5.2503, 5.3303, 5.3903)):
        online.begin(key, impact, 2e-4)
    first, second = online.finish()
    assert first.estimate.window[1] < 5.3303 < second.estimate.window[1] < 5.3903


def test_shorter_window_is_kept_to():
    times, positions = recording()
    ((when, late),) = run(OnlineEstimation(2, window=0.06), times, positions, {1: 5.2503})
    assert when == pytest.approx(5.3103, abs=1.01 * PERIOD)
    assert_equal(late.estimate, estimate(times, positions, 5.2503, impact_time_error=2e-4, until=5.2503 + 0.06))


def test_ring_forgets_what_is_too_old_to_matter():
    times, positions = recording(count=2600, impacts=(2.2503,))
    assert len(times) > CAPACITY + 500
    ((_, late),) = run(OnlineEstimation(2), times, positions, {1: 7.2503})
    assert_equal(late.estimate, estimate(times, positions, 7.2503, impact_time_error=2e-4))


def test_two_impacts_at_once_leave_a_reason():
    times, positions = recording()
    results = [late for _, late in run(OnlineEstimation(2), times, positions, {1: 5.2503, 2: 5.2523})]
    assert results[0].estimate is None and "samples" in results[0].reason
    assert results[1].estimate is not None


def test_time_that_runs_backwards_begins_a_new_run():
    times, positions = recording()
    online = OnlineEstimation(2)
    run(online, times[:300], positions[:300], {1: 5.2503})
    ((_, late),) = run(online, times - 4.0, positions, {2: 1.2503})
    assert late.key == 2


def test_a_single_late_stamp_is_left_out():
    times, positions = recording()
    late = np.insert(times, 400, times[300]), np.insert(positions, 400, 9.0, axis=0)
    ((_, found),) = run(OnlineEstimation(2), *late, {1: 5.2503})
    assert_equal(found.estimate, estimate(times, positions, 5.2503, impact_time_error=2e-4))


def test_wrong_settings_are_refused():
    with pytest.raises(InvalidInputError, match="joint_count"):
        OnlineEstimation(0)
