import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_aware.errors import InvalidInputError, UnknownNameError
from impact_aware.simulation.sensors import JointSensors, SensorSettings

CYCLE = 0.001


def ramp(count, speed=0.5, n=3):
    """States of joints that turn at a constant speed."""
    for k in range(count):
        yield k * CYCLE, np.full(n, speed * k * CYCLE), np.full(n, speed), np.arange(n, dtype=float)


def readings(sensor_settings, count=200, seed=0):
    sensors = JointSensors(sensor_settings, CYCLE, seed)
    return [sensors.read(*state) for state in ramp(count)]


def test_defaults_show_the_truth():
    for state, reading in zip(ramp(10), readings(SensorSettings(), 10), strict=True):
        assert reading.time == state[0]
        for true, shown in zip(state[1:], (reading.q, reading.dq, reading.effort), strict=True):
            np.testing.assert_array_equal(shown, true)


@settings(max_examples=30)
@given(st.floats(1e-6, 1e-2), st.floats(-3.0, 3.0))
def test_quantised_position_is_a_multiple_and_within_half_a_step(resolution, angle):
    sensors = JointSensors(SensorSettings(encoder_resolution=resolution), CYCLE)
    shown = sensors.read(0.0, np.array([angle]), np.zeros(1), np.zeros(1)).q[0]
    # A rounding of the quotient of two doubles, hence the small allowance.
    assert abs(shown - angle) <= 0.5 * resolution * (1.0 + 1e-9)
    assert abs(shown / resolution - round(shown / resolution)) < 1e-6


def test_delay_shows_states_of_so_many_cycles_ago():
    delayed = readings(SensorSettings(delay=3), 10)
    assert [round(reading.time / CYCLE) for reading in delayed] == [0, 0, 0, 0, 1, 2, 3, 4, 5, 6]


def test_noise_has_the_stated_spread():
    noisy = readings(SensorSettings(position_noise=1e-4, velocity_noise=1e-2, effort_noise=0.1), 2000)
    truth = list(ramp(2000))
    for index, (name, deviation) in enumerate((("q", 1e-4), ("dq", 1e-2), ("effort", 0.1)), start=1):
        errors = np.array([getattr(r, name) - s[index] for r, s in zip(noisy, truth, strict=True)])
        # 6000 samples give the deviation to 0.9 % (one sigma); five sigma allowed.
        assert abs(errors.std() / deviation - 1.0) < 0.05


def test_differenced_velocity_lags_a_step():
    shown = readings(SensorSettings(velocity_source="differences", velocity_cutoff=20.0), 20)
    speeds = np.array([reading.dq[0] for reading in shown])
    assert np.all(np.diff(speeds) > 0.0)
    # First-order low-pass at k cycles after the step: 1 - exp(-2 pi f k T).
    np.testing.assert_allclose(speeds, 0.5 * (1.0 - np.exp(-2.0 * np.pi * 20.0 * CYCLE * np.arange(20))), rtol=1e-9)


def test_same_seed_same_bits_other_seed_other_bits():
    noise = SensorSettings(position_noise=1e-4, velocity_noise=1e-3)
    first, again, other = readings(noise, seed=4), readings(noise, seed=4), readings(noise, seed=5)
    assert all(np.array_equal(a.q, b.q) and np.array_equal(a.dq, b.dq) for a, b in zip(first, again, strict=True))
    assert not np.array_equal(first[5].q, other[5].q)


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"encoder_resolution": -1.0}, "encoder_resolution"),
        ({"position_noise": float("nan")}, "position_noise"),
        ({"delay": -1}, "delay"),
        ({"velocity_cutoff": 0.0}, "velocity_cutoff"),
    ],
)
def test_senseless_settings_are_refused(values, field):
    with pytest.raises(InvalidInputError, match=field):
        SensorSettings(**values)


def test_unknown_velocity_source_is_refused():
    with pytest.raises(UnknownNameError, match="differences"):
        SensorSettings(velocity_source="gyro")


def test_velocities_are_differenced_joint_by_joint_from_what_the_encoders_show():
    sensors = JointSensors(
        SensorSettings(encoder_resolution=0.01, velocity_source="differences", velocity_cutoff=np.inf), CYCLE
    )
    shown = [sensors.read(k * CYCLE, np.array(q), np.array([9.0, 9.0]), np.zeros(2)) for k, q in enumerate(POSITIONS)]
    np.testing.assert_allclose([reading.q for reading in shown], [[0.0, 1.0], [0.01, 0.98], [0.01, 0.98]])
    # 10 and -20 mrad in a millisecond; nothing is known of the first.
    np.testing.assert_allclose([reading.dq for reading in shown], [[0.0, 0.0], [10.0, -20.0], [0.0, 0.0]], atol=1e-9)


POSITIONS = [[0.004, 1.001], [0.006, 0.984], [0.012, 0.976]]


def test_a_reset_leaves_nothing_of_the_past():
    noise = SensorSettings(position_noise=1e-4, delay=2, velocity_source="differences", velocity_cutoff=30.0)
    used, fresh = JointSensors(noise, CYCLE, 3), JointSensors(noise, CYCLE, 8)
    for state in ramp(7, speed=-4.0):
        used.read(*state)
    used.reset(8)
    for state in ramp(5):
        mine, theirs = used.read(*state), fresh.read(*state)
        assert mine.time == theirs.time
        for name in ("q", "dq", "effort"):
            np.testing.assert_array_equal(getattr(mine, name), getattr(theirs, name))


def test_everything_of_a_reading_is_equally_old():
    sensors = JointSensors(SensorSettings(delay=2), CYCLE)
    states = [(k * CYCLE, np.array([0.1 * k]), np.array([1.0 * k]), np.array([10.0 * k])) for k in range(6)]
    last = [sensors.read(*state) for state in states][-1]
    assert (last.time, last.q[0], last.dq[0], last.effort[0]) == pytest.approx((0.003, 0.3, 3.0, 30.0))


def test_each_joint_has_noise_of_its_own():
    shown = readings(SensorSettings(position_noise=1e-3, effort_noise=1e-3), 500)
    errors = np.array([reading.q - state[1] for reading, state in zip(shown, ramp(500), strict=True)])
    assert abs(np.corrcoef(errors.T)[0, 1]) < 0.2
    assert abs(np.corrcoef(errors[:, 0], [reading.effort[0] for reading in shown])[0, 1]) < 0.2
