"""Live detectors compare the velocities on both sides of a gap in the samples."""

import numpy as np
import pytest

from impact_aware.detection import JointSample, make_detector

HIT, JUMP = 0.4003, np.array([-0.72, 0.3])
SPEED = np.array([0.6, -0.4])


def motion(times, hit=True):
    positions = SPEED * times[:, None] + 0.05 * np.sin(3.0 * times)[:, None]
    positions += hit * np.maximum(times - HIT, 0.0)[:, None] * JUMP
    noise = 3e-6 * np.random.default_rng(3).standard_normal(positions.shape)
    return np.round((positions + noise) / 1e-5) * 1e-5


def detector(noise=0.0):
    return make_detector("adaptive_window", 2, sampling_period=1e-3, position_noise=noise)


def found(watch, times, positions):
    rows = (JointSample(float(time), row) for time, row in zip(times, positions, strict=True))
    return [event for sample in rows if (event := watch.update(sample)) is not None]


# After six the first sample lags as a late one would, and is not used.
@pytest.mark.parametrize(("lost", "apart"), [(6, 8), (12, 13)])
def test_a_jump_in_a_gap_is_an_event_with_a_larger_error(lost, apart):
    times = np.arange(700) * 1e-3
    begin = round(HIT * 1e3) - lost // 2
    kept = np.delete(np.arange(700), np.arange(begin, begin + lost))
    (event,) = found(detector(), times[kept], motion(times)[kept])
    assert abs(event.time - HIT) < 2.0 * event.time_std
    assert event.time_std == pytest.approx(apart * 1e-3 / np.sqrt(12.0), rel=1e-6)
    assert event.velocity_after - event.velocity_before == pytest.approx(JUMP, abs=0.05)
    assert found(detector(), times[kept], motion(times, hit=False)[kept]) == []
    assert [each.time for each in detector().detect(times[kept], motion(times)[kept])] == [event.time]


def test_a_jump_in_a_stall_is_an_event_though_the_first_samples_after_it_are_late():
    """Four periods are lost, and the next three samples come at once."""
    times, begin = np.arange(700) * 1e-3, round(HIT * 1e3) - 2
    stamps = times.copy()
    stamps[begin + 4 : begin + 7] = times[begin + 6] + 1e-4 * np.arange(1, 4)
    kept = np.delete(np.arange(700), np.arange(begin, begin + 4))
    (event,) = found(detector(), stamps[kept], motion(times)[kept])
    assert abs(event.time - HIT) < 2.0 * event.time_std
    assert event.velocity_after - event.velocity_before == pytest.approx(JUMP, abs=0.05)
    assert found(detector(), stamps[kept], motion(times, hit=False)[kept]) == []


def test_a_brake_in_a_gap_is_no_jump():
    times = np.arange(700) * 1e-3
    since = np.clip(times - 0.4, 0.0, 0.02)[:, None]
    positions = motion(times, hit=False) - 7.5 * np.sign(SPEED) * (
        since**2 + 2.0 * since * (times - 0.42).clip(0.0)[:, None]
    )
    kept = np.delete(np.arange(700), np.arange(400, 421))
    assert found(detector(), times[kept], positions[kept]) == []


@pytest.mark.parametrize("seed", range(4))
def test_noise_in_the_velocities_beside_a_gap_is_no_jump(seed):
    times = np.delete(np.arange(700), np.arange(400, 406)) * 1e-3
    positions = SPEED * times[:, None] + 1e-3 * np.random.default_rng(seed).standard_normal((len(times), 2))
    assert found(detector(noise=1e-3), times, positions) == []
