"""After an impact the predictor says what it really did, once, and as the library does on the same samples."""

from __future__ import annotations

import numpy as np
import pytest
from impact_aware_msgs.msg import ImpactEvent, ImpactPrediction
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from impact_aware.estimation import estimate
from impact_aware.nodes.jump_predictor import JumpPredictorNode
from impact_aware.nodes.ros.messages import stamp
from impact_aware.robot import RobotModel

ROBOT = RobotModel.from_profile("panda")
NAMES = list(ROBOT.joint_names)
HOME = np.array(ROBOT.profile.home)
PERIOD = 1e-3
DOWN = np.linalg.pinv(ROBOT.frame_jacobian(HOME)) @ np.array([0.0, 0.0, -0.3, 0.0, 0.0, 0.0])
# Stamps are whole milliseconds and the impact a quarter off, so that nothing hangs on rounding.
INSTANT = 2.30025


class Recorder:
    """Stands in for a publisher."""

    def __init__(self):
        self.messages = []

    def publish(self, message):
        self.messages.append(message)


@pytest.fixture
def predictor(ros_context):
    node = JumpPredictorNode()
    recorder = node._publisher = node._estimates._publisher = Recorder()
    yield node, recorder
    node.destroy_node()


def path(times):
    late = np.maximum(times - INSTANT, 0.0)
    return HOME + np.outer(times - INSTANT, DOWN) - np.outer(late, DOWN * np.linspace(1.2, 0.6, ROBOT.n))


def feed(node, times):
    for time, position in zip(times, path(times), strict=True):
        message = JointState(name=NAMES, position=position, velocity=DOWN)
        message.header.stamp = stamp(float(time))
        node._source._receive(serialize_message(message))
        if not node._estimates._timer.is_canceled():
            # The executor would call it a moment later.
            node._estimates.finish()


def impact(sequence=1, meaning=0, velocity=DOWN):
    message = ImpactEvent(sequence=sequence, meaning=meaning, joint_names=NAMES, time_standard_error=3e-4)
    message.header.stamp, message.stamp_detected = stamp(INSTANT), stamp(INSTANT + 0.002)
    message.position, message.velocity_before = HOME, velocity
    return message


def of_source(recorder, source):
    return [message for message in recorder.messages if message.source == source]


def test_estimate_is_published_once_the_window_is_filled(predictor):
    node, recorder = predictor
    before, after = np.arange(2.2, 2.303, PERIOD), np.arange(2.303, 2.6, PERIOD)
    feed(node, before)
    node._on_impact(impact())
    # The same event again, with its meaning, is no second impact.
    node._on_impact(impact(meaning=ImpactEvent.MEANING_EXPECTED))
    feed(node, after)
    (at_impact,) = of_source(recorder, ImpactPrediction.SOURCE_AT_IMPACT)
    (late,) = of_source(recorder, ImpactPrediction.SOURCE_ESTIMATE)
    assert late.event_sequence == at_impact.event_sequence == 1
    assert late.header == at_impact.header
    for field in ("velocity_before", "velocity_after", "position"):
        np.testing.assert_array_equal(getattr(late, field), getattr(at_impact, field))
    assert not len(at_impact.velocity_estimated)

    times = np.concatenate((before, after))
    window = node._settings.estimation_window
    offline = estimate(times, path(times), INSTANT, impact_time_error=3e-4, until=INSTANT + window + 1e-6)
    # Stamps travel as nanoseconds, positions as they are: 1e-9 s at less than 1 rad/s over 0.06 s.
    np.testing.assert_allclose(late.velocity_estimated, offline.velocity_after, atol=1e-6)
    np.testing.assert_allclose(late.velocity_estimated_error, offline.standard_error, atol=1e-6)
    np.testing.assert_allclose(late.velocity_estimated, DOWN * (1.0 - np.linspace(1.2, 0.6, ROBOT.n)), atol=1e-3)


def test_next_impact_cuts_the_first_one_short(predictor):
    node, recorder = predictor
    feed(node, np.arange(2.2, 2.303, PERIOD))
    node._on_impact(impact())
    feed(node, np.arange(2.303, 2.4, PERIOD))
    second = impact(sequence=2)
    second.header.stamp, second.stamp_detected = stamp(2.3975), stamp(2.3995)
    node._on_impact(second)
    feed(node, np.arange(2.4, 2.7, PERIOD))
    estimates = of_source(recorder, ImpactPrediction.SOURCE_ESTIMATE)
    assert [message.event_sequence for message in estimates] == [1, 2]


def test_too_few_samples_give_no_estimate(predictor):
    node, recorder = predictor
    feed(node, np.arange(2.298, 2.303, PERIOD))
    node._on_impact(impact())
    feed(node, np.arange(2.303, 2.6, PERIOD))
    assert of_source(recorder, ImpactPrediction.SOURCE_ESTIMATE) == []
