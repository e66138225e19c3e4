"""What stands in the detector's events, and which predictions it compares with."""

from types import SimpleNamespace

import numpy as np
import pytest
from impact_aware_msgs.msg import ImpactEvent, ImpactPrediction
from node_harness import joint_state, refused, send, status
from rclpy.serialization import serialize_message

from impact_aware.detection.bounce import ContactLoss
from impact_aware.detection.impact_watch import ImpactWatch, WatchEvent, WatchEventKind
from impact_aware.nodes import impact_detector
from impact_aware.nodes.impact_detector import ImpactDetectorNode
from impact_aware.records import ImpactEvent as Found
from impact_aware.ros.messages import stamp

NAMES = ["a", "b", "c"]
FOUND = Found(2.25, 2.254, 3e-4, "kink", 2, np.array([0.1, 0.2, 0.3]), np.array([1.1, 1.2, 1.3]), None, np.ones(3), 0.8)


@pytest.fixture
def make_node(make):
    given = {"joints": NAMES, "arm": "left", "base_frame": "left_link0", "measure_noise": False}

    def made(**parameters) -> ImpactDetectorNode:
        node = make(ImpactDetectorNode, **given | parameters)
        node.published = []
        node._publisher = SimpleNamespace(publish=lambda message: node.published.append((message, message.meaning)))
        return node

    return made


@pytest.fixture
def node(make_node):
    return make_node()


def state(
    time: float, names=NAMES, position=(0.1, 0.2, 0.3), velocity=(1.1, 1.2, 1.3), effort=(7.1, 7.2, 7.3)
) -> bytes:
    return serialize_message(joint_state(time, names, position, velocity, effort))


def watched(node, monkeypatch) -> list:
    """Samples that reach the watch."""
    samples = []
    monkeypatch.setattr(
        ImpactWatch,
        "update",
        lambda self, sample: samples.append((sample, sample.position.copy())) or [],
    )
    return samples


def test_a_sample_is_the_state_in_the_configured_order(node, monkeypatch):
    samples = watched(node, monkeypatch)
    send(node, "joint_states", state(2.5, "cab", (0.3, 0.1, 0.2), (1.3, 1.1, 1.2), (7.3, 7.1, 7.2)))
    ((sample, position),) = samples
    assert sample.time == 2.5
    np.testing.assert_array_equal(position, [0.1, 0.2, 0.3])
    np.testing.assert_array_equal(sample.velocity, [1.1, 1.2, 1.3])
    np.testing.assert_array_equal(sample.effort, [7.1, 7.2, 7.3])


def test_a_differenced_velocity_is_no_measured_one(node, monkeypatch):
    samples = watched(node, monkeypatch)
    send(node, "joint_states", state(2.5, velocity=()))
    assert samples[0][0].velocity is None


def test_an_impact_is_published_with_all_that_was_found(node):
    node._publish(WatchEvent(WatchEventKind.MADE, 4, event=FOUND, cause="second_contact"))
    ((message, meaning),) = node.published
    assert message.cause == ImpactEvent.CAUSE_SECOND_CONTACT
    assert (message.sequence, message.arm, message.header.frame_id) == (4, "left", "left_link0")
    assert (message.header.stamp, message.stamp_detected) == (stamp(2.25), stamp(2.254))
    assert (message.time_standard_error.nanosec, message.first_joint, message.confidence) == (300_000, 2, 0.8)
    assert (message.kind, meaning) == (ImpactEvent.KIND_CONTACT_MADE, ImpactEvent.MEANING_UNKNOWN)
    assert list(message.velocity_before) == [1.1, 1.2, 1.3]


@pytest.mark.parametrize(
    ("expected", "meaning"), [(True, ImpactEvent.MEANING_EXPECTED), (False, ImpactEvent.MEANING_UNEXPECTED)]
)
def test_its_meaning_follows_under_its_number(make_node, expected, meaning):
    node = make_node()
    send(node, "joint_states", state(2.0))
    node._publish(WatchEvent(WatchEventKind.MADE, 4, event=FOUND))
    verdict = SimpleNamespace(expected=expected, unexplained=0.1)
    node._publish(WatchEvent(WatchEventKind.MEANING, 3, verdict=verdict))
    assert len(node.published) == 1, "of an impact that was not published"
    node._publish(WatchEvent(WatchEventKind.MEANING, 4, verdict=verdict))
    assert [found for _, found in node.published] == [ImpactEvent.MEANING_UNKNOWN, meaning]
    assert node.published[1][0].sequence == 4


def test_a_lost_contact_is_published_under_its_arm(node):
    loss = ContactLoss(3.5, 3.52, 2e-3, np.array([0.1, 0.2, 0.3]), 0.2, "receding")
    node._publish(WatchEvent(WatchEventKind.LOST, 5, loss=loss))
    ((message, _),) = node.published
    assert (message.kind, message.sequence, message.arm) == (ImpactEvent.KIND_CONTACT_LOST, 5, "left")
    assert (message.header.stamp, message.stamp_detected) == (stamp(3.5), stamp(3.52))
    assert status(node)[2]["events: lost"] == "1"


def prediction(**fields) -> ImpactPrediction:
    values = {
        "source": ImpactPrediction.SOURCE_LOOK_AHEAD, "arm": "left", "valid": True, "joint_names": ["c", "a", "b"],
        "velocity_before": [0.0, 0.0, 0.0], "velocity_after": [0.3, 0.1, 0.2], "has_time_to_impact": True,
    }  # fmt: skip
    message = ImpactPrediction(**(values | fields))
    message.time_to_impact.nanosec = 250_000_000
    message.header.stamp = stamp(2.0)
    return message


@pytest.fixture
def expected(node, monkeypatch):
    found = []
    monkeypatch.setattr(ImpactWatch, "expect", lambda self, jump: found.append(jump))
    return found


@pytest.mark.parametrize(
    "fields", [{}, {"arm": ""}, {"source": ImpactPrediction.SOURCE_AT_IMPACT, "event_sequence": 4}]
)
def test_a_prediction_of_this_arm_is_compared_with_in_the_detectors_order(node, expected, fields):
    send(node, "predicted_jumps", prediction(**fields))
    (jump,) = expected
    np.testing.assert_allclose(jump.jump, [0.1, 0.2, 0.3])
    assert (jump.time, jump.sequence) == (2.25, fields.get("event_sequence", 0))


@pytest.mark.parametrize(
    "fields",
    [
        {"arm": "right"},
        {"source": ImpactPrediction.SOURCE_SERVICE},
        {"source": ImpactPrediction.SOURCE_ESTIMATE},
        {"source": ImpactPrediction.SOURCE_PLANT},
        {"valid": False},
    ],
)
def test_other_predictions_are_not_compared_with(node, expected, fields):
    send(node, "predicted_jumps", prediction(**fields))
    assert expected == [] and not refused(node)


def test_a_prediction_without_the_joints_is_counted(node, expected):
    send(node, "predicted_jumps", prediction(joint_names=["x", "y", "z"]))
    assert expected == [] and refused(node) == {"prediction not usable": 1}


def test_other_arms_impacts_reach_the_watch_once_each(make_node, monkeypatch):
    node, found = make_node(other_impacts=["/right/impacts"]), []
    monkeypatch.setattr(ImpactWatch, "notify_other", lambda self, event: found.append(event))
    for sequence, kind, detected in ((1, 0, 3.001), (1, 0, 3.001), (2, 2, 3.1), (2, 0, 3.2), (1, 0, 0.5)):
        message = ImpactEvent(sequence=sequence, kind=kind, joint_names=["q"], position=[0.7])
        message.header.stamp, message.stamp_detected = stamp(detected - 0.002), stamp(detected)
        send(node, "/right/impacts", message)
    assert [event.time_detected for event in found] == pytest.approx([3.001, 3.2, 0.5])
    assert found[0].time == pytest.approx(2.999)


@pytest.mark.parametrize(("stated", "allowed_for"), [(1e-6, True), (4e-4, False)])
def test_more_noise_than_was_stated_is_allowed_for_and_less_is_not(make_node, monkeypatch, stated, allowed_for):
    node = make_node(measure_noise=True, position_noise=stated, encoder_resolution=0.0)
    made = []
    monkeypatch.setattr(
        impact_detector, "make_watch", lambda count, settings, **_: made.append(settings.position_noise)
    )
    rng = np.random.default_rng(2)
    for index in range(80):
        if node._noise_samples is None:
            break
        position = (np.array([0.1, 0.2, 0.3]) + 5e-5 * rng.standard_normal(3)).tolist()
        send(node, "joint_states", state(2.0 + 1e-3 * index, position=position))
    assert node._noise_samples is None
    # Up to twice what the samples have: a few tens of them show it only roughly.
    assert [5e-5 <= noise <= 2e-4 for noise in made] == ([True] if allowed_for else [])
    make_node(position_noise=3e-4)
    assert made[-1] == 3e-4
