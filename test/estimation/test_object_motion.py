"""An object's track made by hand: onset, velocities and turn, on the arm's clock and on its own."""

import numpy as np
import pinocchio as pin
import pytest

from impact_aware.errors import InvalidInputError
from impact_aware.estimation.object_motion import SAME_CLOCK, ObjectTrack, object_motion

BEFORE, AFTER = np.array([0.05, -0.02, 0.0]), np.array([0.45, 0.3, -0.04])
TURN = np.array([0.1, -0.2, 1.3])
AT = np.array([0.6, -0.3, 0.2])


def tracked(onset=1.0007, rate=150.0, noise=0.0, seed=0, brake=2.0, jitter=0.1, until=3.0, stops=False):
    """An object that slides on, braked along its way, or with `stops` until it rests."""
    rng = np.random.default_rng(seed)
    times = np.arange(0.5, until, 1.0 / rate) + rng.uniform(-jitter, jitter, round((until - 0.5) * rate + 0.49)) / rate
    since = (times - onset)[:, None]
    way = AFTER / np.linalg.norm(AFTER)
    slid = np.clip(since, 0.0, np.linalg.norm(AFTER) / brake if stops else None)
    positions = AT + np.minimum(since, 0.0) * BEFORE + slid * AFTER - 0.5 * brake * slid**2 * way
    rotations = np.array([pin.exp3(TURN * max(s, 0.0)) @ pin.exp3(np.array([0.4, 0.1, -0.7])) for s in since[:, 0]])
    return ObjectTrack(times, positions + noise * rng.standard_normal(positions.shape), rotations)


def test_a_track_without_noise_gives_what_it_was_made_of():
    found = object_motion(tracked(), 1.0)
    assert found.onset == pytest.approx(1.0007, abs=3e-4) and found.same_clock
    np.testing.assert_allclose(found.velocity_before, BEFORE, atol=2e-3)
    np.testing.assert_allclose(found.velocity_after, AFTER, atol=5e-3)
    np.testing.assert_allclose(found.turn_after, TURN, atol=2e-2)
    np.testing.assert_allclose(found.turn_before, 0.0, atol=2e-2)
    np.testing.assert_allclose(found.position, AT, atol=1e-3)


def test_another_clock_is_found_and_the_time_of_the_impact_not_used():
    found = object_motion(tracked(onset=1.0185, noise=1e-4), 1.0)
    assert not found.same_clock
    assert found.onset == pytest.approx(1.0185, abs=1.5e-3)
    np.testing.assert_allclose(found.velocity_after, AFTER, atol=0.03)


@pytest.mark.parametrize(("onset", "same"), [(0.9952, False), (0.9985, True), (1.003, True), (1.007, False)])
def test_an_object_of_the_same_clock_moves_after_the_impact_but_not_before(onset, same):
    """Before it by 2 ms beyond the error of the onset, after it by as long as a contact pushes."""
    assert object_motion(tracked(onset=onset, noise=3e-4, seed=1), 1.0).same_clock == same
    assert object_motion(tracked(onset=onset, noise=3e-5, seed=1), 1.0).same_clock == same


def test_an_object_that_comes_to_rest_is_not_taken_for_a_slow_one():
    found = object_motion(tracked(brake=11.0, stops=True, noise=5e-5), 1.0)
    np.testing.assert_allclose(found.velocity_after, AFTER, atol=0.05)


@pytest.mark.slow
def test_errors_hold_the_truth():
    ratios, times = [], []
    for seed in range(40):
        found = object_motion(tracked(noise=3e-4, seed=seed), 1.0)
        ratios.append((found.velocity_after - AFTER) / found.velocity_after_error)
        times.append((found.onset - 1.0007) / found.onset_error)
    # Two standard errors hold 95 of 100; those of the misfit widen them.
    assert np.mean(np.abs(ratios) < 2.0) > 0.85 and np.mean(np.abs(times) < 2.0) > 0.85
    assert np.mean(np.abs(ratios)) > 0.2


def test_what_happens_later_is_no_part_of_it():
    track = tracked()
    later = track.positions.copy()
    later[track.times > 1.06] += 2.0 * (track.times[track.times > 1.06] - 1.06)[:, None]
    kicked = ObjectTrack(track.times, later)
    found = object_motion(kicked, 1.0, until=1.06)
    np.testing.assert_allclose(found.velocity_after, AFTER, atol=0.01)
    assert found.window < 0.06 and np.isnan(found.turn_after).all()


def test_too_short_a_track_is_refused():
    with pytest.raises(InvalidInputError, match="too few samples around 2.990 s"):
        object_motion(tracked(), 2.99)
    with pytest.raises(InvalidInputError, match="before anything else happens"):
        object_motion(tracked(), 1.0, until=1.015)


def test_a_gentle_push_begins_when_the_arm_was_hit_and_no_surer():
    """Where the track hardly bends, the onset is known by the clock alone: to 2 ms."""
    rng = np.random.default_rng(2)
    times = np.arange(0.5, 1.5, 1.0 / 150.0)
    positions = AT + (times[:, None] - 1.0) * BEFORE + 3e-4 * rng.standard_normal((len(times), 3))
    found = object_motion(ObjectTrack(times, positions), 1.0)
    assert found.same_clock
    # Beside it stands a tenth of a sample, 0.67 ms.
    assert found.onset_error == pytest.approx(np.hypot(SAME_CLOCK, 0.67e-3), rel=0.1)
