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
        levels.append(np.array(detector.levels, dtype=float))
        if event is not None:
            events.append((k, event))
    return np.array(levels), events


def moving(k, n=2):
    return np.linspace(0.1, 0.4, n) * k * PERIOD


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        # |3 - 1| + |-5 - 2| over 8, the second joint alone, and with the sensors the other way round.
        ({}, 9.0 / 8.0),
        ({"joints": (1,)}, 7.0 / 8.0),
        ({"joints": (0,)}, 2.0 / 8.0),
        ({"effort_sign": -1.0}, (4.0 + 3.0) / 8.0),
        ({"threshold": 20.0}, 9.0 / 20.0),
    ],
)
def test_torque_residual_is_the_sum_over_the_joints(options, expected):
    detector = make_detector("torque_residual", 2, bias_removal=False, confirmation_samples=3, **options)
    levels, _ = feed(
        detector, 2, lambda k: JointSample(k * PERIOD, moving(k), None, np.array([3.0, -5.0]), np.array([1.0, 2.0]))
    )
    np.testing.assert_allclose(levels[:, 0], expected, rtol=1e-12)


@pytest.mark.parametrize("confirmed", [1, 2, 4])
def test_torque_residual_counts_samples_in_a_row_above_the_median(confirmed):
    # 10 N m of friction are taken away; 9 more from sample 40 on count.
    detector = make_detector("torque_residual", 2, confirmation_samples=confirmed)

    def sample(k):
        return JointSample(k * PERIOD, moving(k), None, np.array([10.0 + 9.0 * (k >= 40), 1.0]), np.zeros(2))

    levels, events = feed(detector, 60, sample)
    np.testing.assert_allclose(levels[20:40], 0.0, atol=1e-12)
    np.testing.assert_allclose(levels[40, 0], 9.0 / 8.0, rtol=1e-12)
    ((index, event),) = events
    assert index == 40 + confirmed - 1
    assert event.time_detected == index * PERIOD
    assert (event.detector, event.joint) == ("torque_residual", 0)
    np.testing.assert_allclose(event.residual, [9.0 / 8.0, 0.0], atol=1e-12)


@pytest.mark.parametrize(("share", "first"), [(0.5, 42), (0.7, 43)])
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(
    ("kind", "masses"), [("", (8.0, 5.0)), ("without_gravity", (8.0, 5.0)), ("motor_torque", (10.0, 6.0))]
)
def test_momentum_observer_sees_the_force_that_nobody_commanded(sign, kind, masses, share, first):
    # Accelerations 0.5 and -0.2; from sample 40 on the first needs 12 N more than its inertia explains.
    detector = make_detector(
        "momentum_observer", 2, robot=two_sliders(kind), effort_sign=sign, threshold=(10.0, 40.0),
        acceleration_error=0.0, samples=4, baseline_samples=6, confirmation_samples=2, confirmation_share=share,
    )  # fmt: skip
    rates = np.array([0.5, -0.2])

    def sample(k):
        time = k * PERIOD
        effort = np.array(masses) * rates + [12.0 * (k >= 40), 0.0]
        return JointSample(time, 0.5 * rates * time**2 + [0.1 * time, 0.0], rates * time + [0.1, 0.0], sign * effort)

    levels, events = feed(detector, 60, sample)
    np.testing.assert_allclose(levels[:40], 0.0, atol=1e-9)
    # The middle of four periods fills up, and one sample alone is not in it.
    np.testing.assert_allclose(levels[40:first, 0], np.array([0.0, 6.0, 12.0])[: first - 40] / 10.0, atol=1e-9)
    ((index, event),) = events
    # The first sample over the bound is 42; 41 is over half of it and makes 42 the second.
    assert (index, event.joint, event.time_detected) == (first, 0, first * PERIOD)
    np.testing.assert_allclose(event.residual, [1.2, 0.0], atol=1e-9)


def test_momentum_observer_takes_the_median_of_earlier_torques_away():
    def drawn(baseline):
        detector = make_detector("momentum_observer", 2, robot=two_sliders(), baseline_samples=baseline)
        sample = lambda k: JointSample(k * PERIOD, moving(k), np.array([0.1, 0.4]), np.array([4.5, -3.0]))  # noqa: E731
        return feed(detector, 40, sample)[0][-1]

    np.testing.assert_allclose(drawn(0), [0.75, 0.5], rtol=1e-9)
    np.testing.assert_allclose(drawn(10), 0.0, atol=1e-12)


def test_momentum_observer_knows_gravity_and_coriolis():
    robot = RobotModel.from_profile("panda")
    bare = robot.model.copy()
    bare.armature = np.zeros(7)
    data = bare.createData()
    rates = np.array([3.0, -4.0, 5.0, 4.0, -6.0, 5.0, 7.0])
    detector = make_detector("momentum_observer", 7, robot=robot, baseline_samples=0, samples=1, threshold=1.0)

    def sample(k):
        # A middle posture, so that the sum over one period is exact to the square of it.
        time = k * 1e-3
        q = robot.home + 0.3 * np.sin(rates * time)
        dq, ddq = 0.3 * rates * np.cos(rates * time), -0.3 * rates**2 * np.sin(rates * time)
        return JointSample(time, q, dq, np.array(pin.rnea(bare, data, q, dq, ddq)))

    levels, _ = feed(detector, 120, sample)
    known = levels[5:]
    # Half a period's change of torque, some hundred N m/s; gravity alone is 30 N m, Coriolis' torques reach 2 N m.
    assert known.max() < 0.25
    assert known.max() > 0.0


@pytest.mark.parametrize("half_width", [1, 2, 3])
def test_acceleration_is_in_units_of_the_threshold(half_width):
    detector = make_detector("acceleration", 3, threshold=(40.0, 50.0, 5.0), joints=(0, 1), half_width=half_width)
    rates = np.array([10.0, -20.0, 30.0])

    def sample(k):
        return JointSample(k * PERIOD, 0.5 * rates * (k * PERIOD) ** 2 + 1e-3 * k, rates * k * PERIOD + 1.0)

    levels, events = feed(detector, 30, sample)
    np.testing.assert_allclose(levels[10:], np.tile([0.25, 0.4, 0.0], (20, 1)), atol=1e-6)
    assert events == []


@pytest.mark.parametrize("over", [0, 1])
def test_refractory_time_ends_with_the_sample_at_its_end(over):
    # A period that floating-point numbers hold exactly; 32 of them, or 31 of a sample that comes one too early.
    period = 1.0 / 1024.0
    detector = make_detector(
        "torque_residual", 1, sampling_period=period, refractory_time=(32 + over) * period, bias_removal=False,
        confirmation_samples=1,
    )  # fmt: skip

    def sample(k):
        return JointSample(k * period, np.array([0.1 * k * period]), None, np.array([9.0 * (k >= 40)]), np.zeros(1))

    assert [k for k, _ in feed(detector, 80, sample)[1]] == [40, 72 + over]


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
