"""Laws of the adaptive-window detector: smooth motion never fires, jumps do, and offline equals online."""

import numpy as np
import pytest

from impact_aware.detection import JointSample, make_detector
from impact_aware.detection.adaptive_window import AdaptiveWindowDetector, AdaptiveWindowParameters
from impact_aware.errors import InvalidInputError, UnknownNameError

PERIOD = 1e-3
JOINTS = 7


def smooth_motion(times, rng, joints=JOINTS, peak_acceleration=20.0):
    """Three sines per joint whose accelerations add up to at most `peak_acceleration`, rad/s^2."""
    positions = np.empty((len(times), joints))
    for joint in range(joints):
        angular = 2.0 * np.pi * rng.uniform(0.3, 4.0, 3)
        amplitudes = rng.dirichlet(np.ones(3)) * peak_acceleration * rng.uniform(0.3, 1.0) / angular**2
        positions[:, joint] = np.sin(np.outer(times, angular) + rng.uniform(0.0, 6.28, 3)) @ amplitudes
    return positions + rng.uniform(-2.0, 2.0, joints)


def with_jump(times, positions, instant, jump):
    return positions + np.outer(np.maximum(times - instant, 0.0), jump)


def quantise(positions, resolution):
    return np.round(positions / resolution) * resolution


def run(detector, times, positions):
    events = [detector.update(JointSample(float(t), q)) for t, q in zip(times, positions, strict=True)]
    return [event for event in events if event is not None]


def test_steps_of_acceleration_within_the_bound_raise_no_alarm():
    # A torque-controlled start: from rest to 20 rad/s^2 within one period, which is the stated variation.
    times = np.arange(4000) * PERIOD
    rng = np.random.default_rng(3)
    levels = np.zeros((len(times), JOINTS))
    for joint in range(JOINTS):
        for begin in range(200, 4000, 200):
            level = rng.choice([0.0, 20.0]) if joint % 2 else rng.uniform(-10, 10)
            levels[begin + rng.integers(0, 50) :, joint] = level
    velocities = np.cumsum(levels, axis=0) * PERIOD
    positions = np.cumsum(velocities, axis=0) * PERIOD
    detector = make_detector("adaptive_window", JOINTS)
    assert detector.detect(times, quantise(positions, 1e-5)) == []


# The jump must stand clear of what smooth motion may do: 20 rad/s^2 make 0.05 rad/s in 2.5 ms.
@pytest.mark.parametrize(
    ("resolution", "jump"),
    [(1e-6, 0.08), (1e-6, 0.1), (1e-6, 0.5), (1e-5, 0.1), (1e-5, 0.2), (1e-5, 0.5), (1e-4, 0.5), (1e-4, 1.0)],
)
def test_jumps_are_found_within_five_milliseconds_and_timed(resolution, jump):
    rng = np.random.default_rng(int(1e6 * jump) + int(1e7 * resolution))
    delays, errors, claims, jump_errors = [], [], [], []
    detector = make_detector("adaptive_window", JOINTS, encoder_resolution=resolution)
    for _ in range(25):
        times = np.arange(300) * PERIOD
        instant = rng.uniform(0.15, 0.2)
        jumps = rng.uniform(-0.3, 0.3, JOINTS) * jump
        strongest = rng.integers(JOINTS)
        jumps[strongest] = jump * rng.choice([-1.0, 1.0])
        motion = with_jump(times, smooth_motion(times, rng, peak_acceleration=15.0), instant, jumps)
        events = detector.detect(times, quantise(motion, resolution))
        assert len(events) == 1, (instant, events)
        event = events[0]
        delays.append(event.time_detected - instant)
        errors.append(abs(event.time - instant))
        claims.append(event.time_std)
        jump_errors.append(abs((event.velocity_after - event.velocity_before - jumps)[strongest]))
        assert event.residual.max() > 1.0
        assert np.isfinite(event.time_std)
    assert 0.0 < min(delays)
    assert max(delays) < 5e-3
    # Nobody tells the fit that these jumps take no time, so it allows for a contact time and dates them early; a
    # jump that is weak besides the encoder's steps shows its shape least.
    assert np.median(errors) < (0.3e-3 if jump >= 0.2 and resolution < 1e-4 else 0.6e-3)
    assert np.median(errors) < 2.0 * np.median(claims)
    # Few samples after the impact, each wrong by up to half a step: a first estimate, not a measurement.
    assert np.median(jump_errors) < 0.2 * jump


def soft_contact(rate, duration, peak, begin=0.3013):
    """Positions (m, 2) whose acceleration is half a sine of one duration, s, and height, rad/s^2."""
    times = np.arange(round(0.5 * rate)) / rate
    within = np.clip(times - begin, 0.0, duration)
    scale = duration / np.pi
    pushed = peak * scale * (within - scale * np.sin(within / scale) + 2.0 * np.maximum(times - begin - duration, 0.0))
    return times, quantise(np.outer(times, [0.3, -0.2]) + np.outer(pushed, [1.0, 0.3]), 1e-5)


# The acceleration changes by twice the variation of smooth motion when it goes from one end of that to the other.
@pytest.mark.parametrize("rate", [1000, 500, 200])
@pytest.mark.parametrize(("duration", "found", "quiet"), [(0.02, 45.0, 42.0), (0.04, 46.0, 43.0), (0.06, 47.0, 43.0)])
def test_a_soft_contact_is_found_by_its_acceleration_at_every_rate_alike(rate, duration, found, quiet):
    detector = make_detector("adaptive_window", 2, sampling_period=1.0 / rate)
    assert detector.detect(*soft_contact(rate, duration, quiet)) == []
    events = detector.detect(*soft_contact(rate, duration, found))
    # The second one is the end of the contact.
    assert 0.3013 < events[0].time_detected < 0.3013 + duration + 0.005 and len(events) <= 2
    assert abs(events[0].time - 0.3013) < 0.7 * duration
    assert detector.detect(*soft_contact(rate, duration, found))[0].time == events[0].time


def test_soft_contacts_are_looked_for_from_two_periods_on_and_by_a_bound_of_their_own():
    def events(peak=47.0, rate=1000, **options):
        detector = make_detector("adaptive_window", 2, sampling_period=1.0 / rate, **options)
        return detector.detect(*soft_contact(rate, 0.04, peak))

    assert events() and events(soft_period=0.002) == events(soft_period=None) == events(fixed_bound=0.7e-3) == []
    assert events(soft_variation=(24.0, 20.0)) == [] != events(60.0, soft_variation=(24.0, 20.0))
    with pytest.raises(InvalidInputError, match="soft_variation"):
        make_detector("adaptive_window", 2, soft_variation=(20.0, 20.0, 20.0))


def test_a_hit_is_one_event_for_quick_and_for_soft_contacts():
    times, quiet = soft_contact(1000, 0.04, 0.0)
    for number in range(5):
        rows = with_jump(times, quiet, 0.2003 + number * PERIOD, [0.5, -0.2])
        assert len(make_detector("adaptive_window", 2, refractory_time=0.0).detect(times, rows)) == 1
    # In the refractory time of one kind there is none of the other.
    hard_and_soft = with_jump(times, soft_contact(1000, 0.04, 60.0)[1], 0.2803, [0.5, -0.2])
    detector = make_detector("adaptive_window", 2, refractory_time=0.15)
    (first,) = run(detector, times, hard_and_soft)
    assert first.time_detected < 0.29
    detector.reset()
    first, second = [*run(detector, times[:290], hard_and_soft[:290]), *rearmed(detector, times, hard_and_soft, 290)]
    assert first.time_detected < 0.29 and 0.31 < second.time_detected < 0.35
    soft_and_hard = with_jump(times, soft_contact(1000, 0.04, 60.0)[1], 0.3303, [0.5, -0.2])
    (first,) = detector.detect(times, soft_and_hard)
    assert first.time_detected < 0.3303


def rearmed(detector, times, positions, begin):
    detector.rearm()
    return run(detector, times[begin:], positions[begin:])


def test_earliest_joint_and_branch_velocities_are_those_of_the_signal():
    times = np.arange(200) * PERIOD
    slopes = np.array([0.2, -0.4, 0.6])
    jump = np.array([0.05, -0.5, 0.1])
    instant = 0.1003
    positions = with_jump(times, np.outer(times, slopes), instant, jump)
    (event,) = make_detector("adaptive_window", 3, encoder_resolution=0.0).detect(times, positions)
    assert event.joint == 1
    # Noise-free lines: the grid of impact times, a 20th of a period, and the mean over contact times are left.
    assert event.time == pytest.approx(instant, abs=0.3 * PERIOD)
    np.testing.assert_allclose(event.velocity_before, slopes, atol=0.02)
    np.testing.assert_allclose(event.velocity_after, slopes + jump, atol=0.06)
    np.testing.assert_allclose(event.position, slopes * instant, atol=2e-4)
    assert event.confidence > 0.99


def test_glitch_of_one_sample_is_mended():
    times = np.arange(300) * PERIOD
    rng = np.random.default_rng(6)
    positions = quantise(smooth_motion(times, rng), 1e-5)
    positions[150, 3] += 0.01
    positions[200, 0] -= 0.5
    detector = make_detector("adaptive_window", JOINTS)
    assert run(detector, times, positions) == []
    assert detector.drops.outliers == 2
    # One confirmation less, and a glitch is an impact: that is what the second sample buys.
    assert run(make_detector("adaptive_window", JOINTS, confirmation_samples=1), times, positions)


def test_joint_without_values_does_not_blind_the_others():
    times = np.arange(300) * PERIOD
    rng = np.random.default_rng(10)
    positions = quantise(with_jump(times, smooth_motion(times, rng), 0.2, np.full(JOINTS, 0.3)), 1e-5)
    positions[:, 4] = np.nan
    positions[50, :] = np.nan
    detector = make_detector("adaptive_window", JOINTS)
    (event,) = run(detector, times, positions)
    assert 0.2 < event.time_detected < 0.205
    assert np.isnan(event.velocity_before[4]) and np.isfinite(np.delete(event.velocity_before, 4)).all()
    assert detector.drops.not_finite == 300 + JOINTS - 1


def test_parameters_are_checked():
    with pytest.raises(InvalidInputError, match="encoder_resolution"):
        AdaptiveWindowDetector(7, AdaptiveWindowParameters(encoder_resolution=(1e-5, 1e-5)))
    with pytest.raises(UnknownNameError, match="adaptive_window"):
        make_detector("psychic", 7)
    with pytest.raises(InvalidInputError, match="windw"):
        make_detector("adaptive_window", 7, windw=3)
    with pytest.raises(InvalidInputError, match="positions"):
        make_detector("adaptive_window", 7).detect(np.arange(3), np.zeros((3, 6)))
