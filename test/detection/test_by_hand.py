"""Events of detectors on motions made for them: what an event says when little is known, and who decides with whom."""

import dataclasses
import math

import numpy as np
import pytest
from scipy import stats
from sliders import two_sliders

from impact_aware.detection import JointSample, make_detector
from impact_aware.detection.papers import impact_sensitivity
from impact_aware.detection.tuning import _second_maxima, _threshold, tune
from impact_aware.detection.windowed_detector import WindowParameters, joint_mask, per_joint
from impact_aware.errors import InvalidInputError
from impact_aware.robot import RobotModel

PERIOD = 1e-3
SPEED = np.array([0.3, -0.2])


def pushed(k, push=9.0, begin=40, position=None):
    """A sample of steady motion on which the first joint's torque is off by `push` from sample `begin` on."""
    position = SPEED * k * PERIOD if position is None else position
    return JointSample(k * PERIOD, position, None, np.array([push * (k >= begin), 0.0]), np.zeros(2))


def torque_detector():
    return make_detector("torque_residual", 2)


def run(detector, count, sample):
    return [(k, event) for k in range(count) if (event := detector.update(sample(k))) is not None]


def test_an_impact_on_a_joint_that_has_just_come_back_is_at_the_sample_that_showed_it():
    def sample(k):
        lost = np.where([k == 38, False], math.nan, SPEED * k * PERIOD)
        return pushed(k, position=lost)

    ((index, event),) = run(torque_detector(), 60, sample)
    # Three samples of that joint are known, and four are needed for a fit.
    assert (index, event.time, event.time_detected) == (41, 41 * PERIOD, 41 * PERIOD)
    assert (event.time_std, event.confidence) == (PERIOD, 0.0)
    assert np.isnan(event.velocity_before).all() and np.isnan(event.velocity_after).all()
    np.testing.assert_array_equal(event.position, SPEED * 41 * PERIOD)


def test_with_one_sample_more_it_is_fitted():
    def sample(k):
        return pushed(k, position=np.where([k == 37, False], math.nan, SPEED * k * PERIOD))

    ((_, event),) = run(torque_detector(), 60, sample)
    assert event.time < event.time_detected
    np.testing.assert_allclose(event.velocity_before, SPEED, atol=1e-6)


def test_a_joint_without_values_keeps_the_last_position_and_has_no_velocity():
    def sample(k):
        return pushed(k, position=np.where([False, k >= 35], math.nan, SPEED * k * PERIOD))

    ((_, event),) = run(torque_detector(), 60, sample)
    assert np.isnan(event.velocity_before).tolist() == np.isnan(event.velocity_after).tolist() == [False, True]
    assert event.position[1] == SPEED[1] * 34 * PERIOD
    assert event.velocity_before[0] == pytest.approx(SPEED[0], abs=1e-6)


def jumping(k):
    """A sample of a motion that jumps after samples 40 and 60."""
    time = k * PERIOD
    jumps = sum(max(time - at, 0.0) for at in (0.0402, 0.0602))
    return JointSample(time, SPEED * time + np.array([0.5, -0.5]) * jumps)


def test_rearmed_a_detector_reports_the_next_impact_at_once_and_time_set_back_does_so_too():
    for rearmed in (True, False):
        detector = make_detector("adaptive_window", 2)
        first = [k for k, _ in run(detector, 55, jumping)]
        assert len(first) == 1 and 40 < first[0] < 45
        if rearmed:
            detector.rearm()
        second = run(detector, 15, lambda k: jumping(k + 55))
        assert [5 < k < 10 for k, _ in second] == [True] * rearmed
        assert [k for k, _ in run(detector, 55, jumping)] == first


def test_the_level_of_a_sample_that_is_refused_or_in_the_refractory_time_is_none():
    detector = torque_detector()
    run(detector, 41, lambda k: pushed(k, 4.0))
    assert detector.level == 0.5
    detector.update(pushed(40, 4.0))
    assert detector.level == 0.0
    assert [k for k, _ in run(detector, 3, lambda k: pushed(k + 41))] == [1]
    assert detector.level == 0.0


@pytest.mark.parametrize("chosen", [(2,), (-1,), (), (0, 2)])
def test_joints_are_chosen_among_those_there_are(chosen):
    with pytest.raises(InvalidInputError, match="joints: got .*, expected indices from 0 to 1"):
        make_detector("acceleration", 2, joints=chosen)
    values = dataclasses.make_dataclass("Chosen", ["joints"])((1, 2))
    assert joint_mask(values, "joints", 4).tolist() == [False, True, True, False]


def test_one_value_stands_for_every_joint_and_several_for_each_its_own():
    for given, expected in ((2e-5, [2e-5] * 3), ((1e-5, 2e-5, 3e-5), [1e-5, 2e-5, 3e-5])):
        parameters = WindowParameters(encoder_resolution=given, position_noise=4e-5)
        assert per_joint(parameters, "encoder_resolution", 3).tolist() == expected
        variance = np.array(expected) ** 2 / 12.0 + 4e-5**2
        np.testing.assert_allclose(parameters.position_variance(3), variance, rtol=1e-12)
    with pytest.raises(InvalidInputError, match="one value or 2 of them"):
        per_joint(WindowParameters(encoder_resolution=(1e-5,) * 3), "encoder_resolution", 2)


EXACT = 1.0 / 1024.0


def accelerations_events(accelerations):
    """Numbers of the samples at which accelerations (k,) of one joint over four periods, rad/s^2, are an impact."""
    detector = make_detector("acceleration", 1, sampling_period=EXACT, threshold=64.0)
    positions = [0.5 * EXACT * k for k in range(4)]
    for acceleration in accelerations:
        positions.append(2.0 * positions[-2] - positions[-4] + acceleration * (2.0 * EXACT) ** 2)
    return [k for k, q in enumerate(positions) if detector.update(JointSample(k * EXACT, np.array([q]))) is not None]


@pytest.mark.parametrize(
    ("shares", "found"),
    [
        # The threshold itself counts, and so does the share of it that confirms.
        ((1.0, 0.41), [25]),
        ((0.99, 0.9), []),
        ((1.0, 0.39), []),
        ((-1.0, -0.41), [25]),
        # Accelerations that change their sign, as of a glitch of one sample.
        ((1.0, -2.0, 1.0), []),
        # The stronger of two samples' excesses, the second of which is confirmed by the third.
        ((0.5, 0.99, 0.99), []),
        ((0.5, 1.0, 1.0), [26]),
    ],
)
def test_an_acceleration_is_confirmed_by_its_share_at_the_next_sample(shares, found):
    assert accelerations_events([0.0] * 20 + [64.0 * share for share in shares])[:1] == found


@pytest.mark.parametrize("torque", [38.0, 30.0])
def test_positions_and_torques_together_are_an_impact_at_a_share_of_their_bounds(torque):
    robot, jump = two_sliders("link_torque"), np.array([0.028, 0.0])

    def sample(k):
        time = k * PERIOD
        position = np.round((SPEED * time + jump * max(time - 0.0502, 0.0)) / 1e-6) * 1e-6
        return JointSample(time, position, SPEED, np.array([torque * (k >= 50), 0.0]))

    options = {"robot": robot, "encoder_resolution": 1e-6}
    alone = [make_detector(name, 2, **options) for name in ("adaptive_window", "momentum_observer")]
    levels = []
    for k in range(60):
        for detector in alone:
            assert detector.update(sample(k)) is None
        levels.append([detector.level for detector in alone])
    both = np.flatnonzero((np.array(levels) >= 0.8).all(axis=1))
    assert 0.8 < np.max(levels, axis=0)[0] < 1.0
    together = make_detector("fusion", 2, **options)
    events = run(together, 60, sample)
    # The masses have 8 kg, and torques of sqrt(6^2 + (8 * 5)^2) N are an impact.
    assert [k for k, _ in events] == both[:1].tolist()
    assert len(events) == (torque > 0.8 * np.hypot(6.0, 40.0))
    if events:
        (k, event) = events[0]
        assert (event.detector, event.joint, event.time_detected) == ("fusion", 0, k * PERIOD)
        # All members know of it and rest.
        assert all(member.level == 0.0 for member in together.members if member.update(sample(k + 1)) is None)


def test_the_sensitive_joint_is_the_one_that_the_contact_moves_most():
    robot = two_sliders()
    # M + B_theta is diag(10, 6) kg: an impulse along (0.8, 0.6) moves the first by 0.08, the second by 0.1 per N s.
    gamma = impact_sensitivity(robot, np.zeros(2), (8.0, 6.0, 0.0))
    np.testing.assert_allclose(gamma, [0.08, 0.1], rtol=1e-12)
    jump = np.array([0.5, 0.5])

    def sample(k, joint):
        moved = jump * np.eye(2)[joint] * max(k * PERIOD - 0.0502, 0.0)
        return JointSample(k * PERIOD, SPEED * k * PERIOD + moved)

    for joint, seen in enumerate([False, True]):
        detector = make_detector("sensitive_joint", 2, robot=robot, normal=(8.0, 6.0, 0.0))
        assert bool(run(detector, 70, lambda k, joint=joint: sample(k, joint))) is seen


# What is learnt


def test_the_largest_of_every_whole_second():
    signals = np.arange(25.0)[:, None] * [1.0, -1.0]
    np.testing.assert_array_equal(_second_maxima(signals, 0.1), [[9.0, 0.0], [19.0, -10.0]])
    assert _second_maxima(signals, 5.0).shape == (25, 2)


def test_a_threshold_is_passed_as_often_as_wanted_by_the_gumbel_distribution_of_the_maxima():
    maxima = stats.gumbel_r.rvs(3.0, 0.5, size=200, random_state=np.random.default_rng(2))
    spread = maxima.std() * math.sqrt(6.0) / math.pi
    mode = maxima.mean() - np.euler_gamma * spread
    for rate in (0.1, 2.0):
        threshold, expected = _threshold(maxima, rate, 1.0)
        assert threshold > maxima.max() and expected == pytest.approx(rate, rel=1e-9)
        assert 3600.0 * stats.gumbel_r.sf(threshold, mode, spread) == pytest.approx(rate, rel=1e-9)
    # A margin that is above wins, and fewer are to be expected.
    threshold, expected = _threshold(maxima, 0.1, 3.0)
    assert threshold == pytest.approx(3.0 * maxima.max())
    assert expected == pytest.approx(3600.0 * stats.gumbel_r.sf(threshold, mode, spread), rel=1e-6) and expected < 0.1


def test_maxima_that_are_all_alike_leave_the_margin():
    assert _threshold(np.full(20, 2.0), 0.1, 1.3) == (pytest.approx(2.6), 0.0)
    assert _threshold(np.zeros(20), 0.1, 1.5)[0] == pytest.approx(1.5e-9)


def rest(seconds=12.0, joints=2):
    times = np.arange(round(seconds / PERIOD)) * PERIOD
    return times, np.outer(0.3 * np.sin(times), np.linspace(1.0, 0.7, joints))


def test_a_threshold_meets_the_wanted_rate_of_false_alarms():
    times, _ = rest()
    positions = np.random.default_rng(7).normal(size=(len(times), 1)) * [1e-5, 0.5e-5]
    found = tune("acceleration", times, positions, false_alarms_per_hour=0.4, margin=1.0)
    assert found.false_alarms_per_hour == pytest.approx(0.4)
    # Of second differences over four periods: the largest of 12000, some four standard deviations.
    assert found.largest[0] == pytest.approx(4.0 * 1e-5 * math.sqrt(6.0) / 4e-6 / 45.0, rel=0.15)
    assert found.parameters["threshold"] > 45.0 * found.largest[0]


def test_a_motion_that_needs_no_variation_still_allows_some():
    times, positions = rest()
    found = tune("adaptive_window", times, 1e-3 * positions, margin=1.25)
    assert found.parameters["acceleration_variation"] == pytest.approx((2.5, 2.5))
    # The jerk builds it up within the same time as the defaults': 20 rad/s^2 at 30000 rad/s^3.
    assert found.parameters["jerk_bound"] == pytest.approx((2.5 * 1500.0,) * 2)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"false_alarms_per_hour": 0.0}, "false_alarms_per_hour"),
        ({"margin": 0.99}, "margin"),
        ({"times": np.zeros(12_000)}, "times"),
        ({"times": np.arange(99.0), "positions": np.zeros((99, 2))}, "positions"),
        ({"times": np.arange(11_999.0)}, "positions"),
        ({"times": np.arange(12_000) * 9.9e-4 * 10.0 / 11.88}, "recording"),
    ],
)
def test_what_nothing_can_be_learnt_from_is_refused(changes, field):
    times, positions = rest()
    with pytest.raises(InvalidInputError, match=field):
        tune("acceleration", **{"times": times, "positions": positions, **changes})


def test_detectors_with_a_robot_have_as_many_joints():
    robot = RobotModel.from_profile("panda")
    for name, more in (("momentum_observer", {}), ("sensitive_joint", {"normal": (0.0, 0.0, 1.0)})):
        with pytest.raises(InvalidInputError, match="robot: got 7 joints, expected 2 joints"):
            make_detector(name, 2, robot=robot, **more)


def test_a_tuning_tells_length_rate_and_what_was_seen():
    times, positions = rest()
    efforts = np.zeros_like(positions)
    efforts[3456, 0], efforts[7890, 1] = 4.0, -5.0
    found = tune("torque_residual", times, positions, None, efforts, np.zeros_like(efforts), margin=1.5, joints=(0, 1))
    assert found.largest == (pytest.approx(5.0 / 8.0),) and found.detector == "torque_residual"
    assert found.hours == pytest.approx(11.999 / 3600.0)
    assert found.false_alarms_bound == pytest.approx(3.0 / found.hours)
    assert found.parameters["threshold"] >= 7.5 and found.parameters["joints"] == (0, 1)
    assert found.parameters["sampling_period"] == pytest.approx(PERIOD)
    fewer = tune("torque_residual", times, positions, None, efforts, np.zeros_like(efforts), false_alarms_per_hour=1e-3)
    assert fewer.false_alarms_per_hour == pytest.approx(1e-3) and fewer.parameters["threshold"] > 7.5
