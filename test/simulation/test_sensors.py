import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_aware.errors import InvalidInputError
from impact_aware.simulation.sensors import JointSensors, SensorSettings

CYCLE = 0.001


def ramp(count, speed=0.5, n=3):
    """States of joints that turn at a constant speed."""
    for k in range(count):
        yield k * CYCLE, np.full(n, speed * k * CYCLE), np.full(n, speed), np.arange(n, dtype=float)


def readings(sensor_settings, count=200, seed=0):
    sensors = JointSensors(sensor_settings, seed)
    return [sensors.read(*state) for state in ramp(count)]


def test_defaults_show_the_truth():
    for state, reading in zip(ramp(10), readings(SensorSettings(), 10), strict=True):
        assert reading.time == state[0]
        for true, shown in zip(state[1:], (reading.q, reading.dq, reading.effort), strict=True):
            np.testing.assert_array_equal(shown, true)


@settings(max_examples=30)
@given(st.floats(1e-6, 1e-2), st.floats(-3.0, 3.0))
def test_quantised_position_is_a_multiple_and_within_half_a_step(resolution, angle):
    sensors = JointSensors(SensorSettings(encoder_resolution=resolution))
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
    ],
)
def test_senseless_settings_are_refused(values, field):
    with pytest.raises(InvalidInputError, match=field):
        SensorSettings(**values)


def test_a_reset_leaves_nothing_of_the_past():
    noise = SensorSettings(position_noise=1e-4, delay=2)
    used, fresh = JointSensors(noise, 3), JointSensors(noise, 8)
    for state in ramp(7, speed=-4.0):
        used.read(*state)
    used.reset(8)
    for state in ramp(5):
        mine, theirs = used.read(*state), fresh.read(*state)
        assert mine.time == theirs.time
        for name in ("q", "dq", "effort"):
            np.testing.assert_array_equal(getattr(mine, name), getattr(theirs, name))


def test_everything_of_a_reading_is_equally_old():
    sensors = JointSensors(SensorSettings(delay=2))
    states = [(k * CYCLE, np.array([0.1 * k]), np.array([1.0 * k]), np.array([10.0 * k])) for k in range(6)]
    last = [sensors.read(*state) for state in states][-1]
    assert (last.time, last.q[0], last.dq[0], last.effort[0]) == pytest.approx((0.003, 0.3, 3.0, 30.0))


def test_each_joint_has_noise_of_its_own():
    shown = readings(SensorSettings(position_noise=1e-3, effort_noise=1e-3), 500)
    errors = np.array([reading.q - state[1] for reading, state in zip(shown, ramp(500), strict=True)])
    assert abs(np.corrcoef(errors.T)[0, 1]) < 0.2
    assert abs(np.corrcoef(errors[:, 0], [reading.effort[0] for reading in shown])[0, 1]) < 0.2
