"""What each detector's signal is, in numbers: torques, momenta and accelerations that are known by hand."""

import numpy as np
import pinocchio as pin
import pytest
from sliders import two_sliders

from impact_aware.detection import JointSample, make_detector
from impact_aware.detection.detector import ImpactDetector
from impact_aware.robot import RobotModel

PERIOD = 1e-3


def feed(detector: ImpactDetector, count, sample):
    """Feed `sample(k)`; levels after each, and (index, event) of the events."""
    levels, events = [], []
    for k in range(count):
        event = detector.update(sample(k))
        levels.append(detector.level)
        if event is not None:
            events.append((k, event))
    return np.array(levels), events


def moving(k, n=2):
    return np.linspace(0.1, 0.4, n) * k * PERIOD


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        # |3 - 1| + |-5 - 2| over 8, the second joint alone, the first one, and another threshold.
        ({}, 9.0 / 8.0),
        ({"joints": (1,)}, 7.0 / 8.0),
        ({"joints": (0,)}, 2.0 / 8.0),
        ({"threshold": 20.0}, 9.0 / 20.0),
    ],
)
@pytest.mark.parametrize("expects", [True, False])
def test_torque_residual_is_the_sum_over_the_joints_above_the_median(options, expected, expects):
    # 10 N m of friction are taken away, with torques to expect or without.
    detector = make_detector("torque_residual", 2, **options)

    def sample(k):
        effort = np.array([10.0, -10.0]) + [3.0 * (k >= 40), -5.0 * (k >= 40)]
        given = np.array([1.0, 2.0]) * (k >= 40)
        return JointSample(k * PERIOD, moving(k), None, *((effort, given) if expects else (effort - given, None)))

    levels, events = feed(detector, 44, sample)
    np.testing.assert_allclose(levels[15:40], 0.0, atol=1e-12)
    assert levels[40] == pytest.approx(expected, rel=1e-12)
    # The second sample over the threshold.
    assert [k for k, _ in events] == [41] * (expected > 1.0)
    for _, event in events:
        watched = np.isin([0, 1], options.get("joints", (0, 1)))
        np.testing.assert_allclose(event.residual, watched * [2.0, 7.0] / 8.0, atol=1e-12)
        assert (event.detector, event.joint, event.time_detected) == ("torque_residual", 1, 41 * PERIOD)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(
    ("kind", "masses"), [("", (8.0, 5.0)), ("without_gravity", (8.0, 5.0)), ("motor_torque", (10.0, 6.0))]
)
def test_momentum_observer_sees_the_force_that_nobody_commanded(sign, kind, masses):
    # Accelerations 0.5 and -0.2; from sample 40 on the first needs 12 N more than its inertia explains.
    options = {"effort_sign": sign, "threshold": (10.0, 40.0), "acceleration_error": 0.0}
    detector = make_detector("momentum_observer", 2, robot=two_sliders(kind), **options)
    rates = np.array([0.5, -0.2])

    def sample(k):
        time = k * PERIOD
        effort = np.array(masses) * rates + [12.0 * (k >= 40) - 3.0, 5.0]
        return JointSample(time, 0.5 * rates * time**2 + [0.1 * time, 0.0], rates * time + [0.1, 0.0], sign * effort)

    levels, events = feed(detector, 60, sample)
    # What was there before is taken away; one sample alone is not in the middle of three.
    np.testing.assert_allclose(levels[:41], 0.0, atol=1e-9)
    np.testing.assert_allclose(levels[41], 1.2, atol=1e-9)
    ((index, event),) = events
    assert (index, event.joint, event.time_detected) == (42, 0, 42 * PERIOD)
    np.testing.assert_allclose(event.residual, [1.2, 0.0], atol=1e-9)


@pytest.mark.parametrize(("pushes", "first"), [((7.0, 12.0), 42), ((5.0, 12.0), 43)])
def test_momentum_observer_is_confirmed_by_a_share_in_the_sample_before(pushes, first):
    detector = make_detector("momentum_observer", 2, robot=two_sliders(), threshold=10.0, acceleration_error=0.0)
    steps = dict(zip((39, 40, 41), (pushes[0], pushes[0], pushes[1]), strict=True))

    def sample(k):
        effort = np.array([steps.get(k, pushes[1] * (k > 41)), 0.0])
        return JointSample(k * PERIOD, moving(k), np.array([0.1, 0.4]), effort)

    _, events = feed(detector, 60, sample)
    assert [k for k, _ in events] == [first]


def test_momentum_observer_knows_gravity_and_coriolis():
    robot = RobotModel.from_profile("panda")
    bare = robot.model.copy()
    bare.armature = np.zeros(7)
    data = bare.createData()
    rates = np.array([3.0, -4.0, 5.0, 4.0, -6.0, 5.0, 7.0])
    detector = make_detector("momentum_observer", 7, robot=robot, threshold=1.0, acceleration_error=0.0)

    def sample(k):
        time = k * 1e-3
        q = robot.home + 0.3 * np.sin(rates * time)
        dq, ddq = 0.3 * rates * np.cos(rates * time), -0.3 * rates**2 * np.sin(rates * time)
        return JointSample(time, q, dq, np.array(pin.rnea(bare, data, q, dq, ddq)))

    levels, _ = feed(detector, 120, sample)
    # Errors of sums over three periods; gravity changes by more than 1 N m in the time of the median, and Coriolis'
    # torques reach 2 N m.
    assert 0.0 < levels.max() < 0.4


def test_acceleration_is_in_units_of_the_threshold():
    rates = np.array([10.0, -20.0, 30.0])

    def sample(k):
        return JointSample(k * PERIOD, 0.5 * rates * (k * PERIOD) ** 2 + 1e-3 * k, rates * k * PERIOD + 1.0)

    for joints, largest in (((0, 1), 0.4), ((0,), 0.25), (None, 6.0)):
        detector = make_detector("acceleration", 3, threshold=(40.0, 50.0, 5.0), joints=joints)
        levels, events = feed(detector, 30, sample)
        assert levels[-1] == pytest.approx(largest, abs=1e-6) if joints else events


@pytest.mark.parametrize("over", [0, 1])
def test_refractory_time_ends_with_the_sample_at_its_end(over):
    # A period that floating-point numbers hold exactly; 32 of them, or 31 of a sample that comes one too early.
    period = 1.0 / 1024.0
    detector = make_detector("torque_residual", 1, sampling_period=period, refractory_time=(32 + over) * period)

    def sample(k):
        effort = np.array([9.0 * (40 <= k < 44 or k >= 72)])
        return JointSample(k * period, np.array([0.1 * k * period]), None, effort, np.zeros(1))

    # Known with the second sample of either push; the refractory time of the first ends at 73 or 74.
    assert [k for k, _ in feed(detector, 80, sample)[1]] == [41, 74 + over]


def test_confidence_is_what_the_jump_explains_of_the_misfit():
    rng = np.random.default_rng(5)
    detector = make_detector("adaptive_window", 2, position_noise=2e-5)

    def sample(k):
        time = k * PERIOD
        position = np.array([0.3, -0.1]) * time + np.array([0.25, -0.2]) * max(time - 0.0502, 0.0)
        return JointSample(time, position + rng.normal(0.0, 2e-5, 2))

    _, events = feed(detector, 80, sample)
    assert 0.5 < events[0][1].confidence < 0.9999


@pytest.mark.parametrize(("jump", "fixed", "found"), [(0.1, None, 1), (0.1, 0.7e-3, 0), (1.5, 0.7e-3, 1)])
def test_a_fixed_bound_replaces_the_derived_one(jump, fixed, found):
    detector = make_detector("adaptive_window", 1, encoder_resolution=1e-6, fixed_bound=fixed)

    def sample(k):
        time = k * PERIOD
        return JointSample(time, np.array([round((0.2 * time + jump * max(time - 0.0502, 0.0)) / 1e-6) * 1e-6]))

    # In the four periods that the longest horizon looks ahead, 0.1 rad/s moves a joint by at most 0.4e-3 rad.
    assert len(feed(detector, 53, sample)[1]) == found
