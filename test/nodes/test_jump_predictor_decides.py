"""What the predictor publishes by itself: ahead of an impact and at one, with what it was configured for."""

from __future__ import annotations

import numpy as np
import pytest
from geometry_msgs.msg import PoseStamped
from impact_aware_msgs.msg import ImpactEvent, ImpactPrediction
from impact_aware_msgs.srv import PredictPostImpact
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from impact_aware.contact import Contact
from impact_aware.contact.box import Box, homogeneous_box
from impact_aware.contact.geometry import contact_point
from impact_aware.contact.shape import PlacedShape
from impact_aware.impact import predict
from impact_aware.nodes.jump_predictor import JumpPredictorNode
from impact_aware.nodes.ros.messages import stamp
from impact_aware.robot import RobotModel

ROBOT = RobotModel.from_profile("panda")
HOME = np.array(ROBOT.profile.home)
NAMES = list(ROBOT.joint_names)
NORMAL = np.array([0.0, 0.6, 0.8])
DOWN = np.linalg.pinv(ROBOT.frame_jacobian(HOME)) @ np.array([0.1, -0.2, -0.5, 0.0, 0.0, 0.0])
HALF = [0.1, 0.07, 0.05]
CONFIGURED = {
    "arm": "left", "normal": NORMAL.tolist(), "friction": 0.35, "restitution": 0.45, "object_name": "parcel",
    "object_mass": 1.3, "object_half_extents": HALF, "tool_radius": 0.02, "inertia": "M", "look_ahead_horizon": 0.4,
}  # fmt: skip
CONTACT = Contact("tool", NORMAL, friction=0.35, restitution=0.45, radius=0.02)


@pytest.fixture
def make_node(ros_context, monkeypatch):
    made = []
    original = Node.__init__

    def make(**parameters) -> JumpPredictorNode:
        overrides = [Parameter(name, value=value) for name, value in (CONFIGURED | parameters).items()]
        monkeypatch.setattr(
            Node, "__init__", lambda self, name, **more: original(self, name, parameter_overrides=overrides, **more)
        )
        node = JumpPredictorNode()
        monkeypatch.undo()
        node.published = []
        node._publisher = type("Recorder", (), {"publish": lambda self, message: node.published.append(message)})()
        made.append(node)
        return node

    yield make
    for node in made:
        node.destroy_node()


def state(time: float, position=HOME, velocity=DOWN) -> bytes:
    message = JointState(name=NAMES, position=position, velocity=velocity)
    message.header.stamp = stamp(time)
    return serialize_message(message)


def centre_ahead(gap: float) -> np.ndarray:
    """Centre of the object whose near face is `gap` ahead of the tool's tip."""
    face = PlacedShape(Box(HALF), np.zeros(3)).plane_point(np.array(NORMAL))
    return contact_point(ROBOT, HOME, CONTACT) - gap * NORMAL - face


def show_object(node: JumpPredictorNode, centre: np.ndarray) -> None:
    pose = PoseStamped()
    pose.pose.position.x, pose.pose.position.y, pose.pose.position.z = centre.tolist()
    node._object.receive(pose)


def event(**fields) -> ImpactEvent:
    message = ImpactEvent(**({"sequence": 3, "arm": "left", "joint_names": NAMES} | fields))
    message.header.stamp, message.stamp_detected = stamp(4.25), stamp(4.254)
    if not len(message.position):
        message.position, message.velocity_before = HOME, DOWN
    return message


def test_looking_ahead_predicts_at_the_posture_of_the_contact(make_node):
    node, gap = make_node(), 0.03
    centre = centre_ahead(gap)
    show_object(node, centre)
    node._source._receive(state(2.5))
    (ahead,) = node.published
    assert (ahead.source, ahead.valid, ahead.arm) == (ImpactPrediction.SOURCE_LOOK_AHEAD, True, "left")
    assert (ahead.header.stamp, ahead.header.frame_id) == (stamp(2.5), "panda_link0")
    posture = HOME + DOWN * ahead.time_to_impact
    assert ahead.time_to_impact == pytest.approx(gap / 0.52, rel=0.02), "0.6 * 0.2 + 0.8 * 0.5 = 0.52 m/s"
    np.testing.assert_allclose(ahead.position, posture, atol=1e-12)
    box = homogeneous_box(1.3, HALF, centre)
    expected = predict(ROBOT, posture, DOWN, CONTACT, obstacle=box, inertia="M")
    np.testing.assert_allclose(ahead.velocity_after, expected.velocity_after, atol=1e-9)
    assert np.abs(np.array(ahead.velocity_after) - predict(
        ROBOT, HOME, DOWN, CONTACT, obstacle=box, inertia="M").velocity_after).max() > 1e-4  # fmt: skip
    assert (ahead.object, ahead.contacts[0].obstacle) == ("parcel", "parcel")


def test_it_looks_ahead_once_a_period_and_again_after_a_clock_that_was_set_back(make_node):
    node = make_node(look_ahead_period=0.02)
    show_object(node, centre_ahead(0.03))
    for time in (2.0, 2.001, 2.019, 2.0201, 2.03):
        node._source._receive(state(time))
    assert [message.header.stamp.nanosec for message in node.published] == [0, 20_100_000]
    node._source._receive(state(0.5))
    assert len(node.published) == 3


@pytest.mark.parametrize(("gap", "velocity"), [(0.3, DOWN), (0.03, -DOWN), (-0.01, DOWN)])
def test_too_far_receding_or_touching_is_nothing_to_predict(make_node, gap, velocity):
    node = make_node()
    show_object(node, centre_ahead(gap))
    node._source._receive(state(2.0, velocity=velocity))
    assert node.published == []


def test_at_an_impact_the_events_own_state_and_the_configured_contact_count(make_node):
    node = make_node()
    centre = centre_ahead(0.0)
    show_object(node, centre)
    # The latest state is another one.
    node._source._receive(state(4.3, HOME + 0.1, -DOWN))
    order = [6, 2, 0, 1, 5, 3, 4]
    shuffled = event(joint_names=[NAMES[index] for index in order], position=HOME[order], velocity_before=DOWN[order])
    node._on_impact(shuffled)
    (found,) = node.published
    expected = predict(ROBOT, HOME, DOWN, CONTACT, obstacle=homogeneous_box(1.3, HALF, centre), inertia="M")
    np.testing.assert_array_equal(found.velocity_after, expected.velocity_after)
    np.testing.assert_array_equal(found.position, HOME)
    assert (found.source, found.event_sequence) == (ImpactPrediction.SOURCE_AT_IMPACT, 3)
    assert (found.header.stamp, found.time_to_impact) == (stamp(4.25), 0.0)
    assert (found.contacts[0].friction, found.contacts[0].restitution) == (0.35, 0.45)
    assert found.inertia == "M"


@pytest.mark.parametrize(
    ("changed", "differs"),
    [({"friction": 0.0}, True), ({"restitution": 0.0}, True), ({"object_mass": 9.0}, True),
     ({"inertia": "M+B_theta"}, True), ({"object_name": "other"}, False)],
)  # fmt: skip
def test_what_is_configured_matters(make_node, changed, differs):
    answers = []
    for parameters in ({}, changed):
        node = make_node(**parameters)
        node._on_impact(event())
        answers.append(np.array(node.published[0].velocity_after))
    assert (np.abs(answers[0] - answers[1]).max() > 1e-3) == differs


def test_an_event_counts_once_and_another_arms_not_at_all(make_node):
    node = make_node()
    node._on_impact(event(arm="right"))
    assert node.published == []
    assert node._status()[2]["refused: impact of another arm"] == 1
    for meaning in (ImpactEvent.MEANING_UNKNOWN, ImpactEvent.MEANING_EXPECTED):
        node._on_impact(event(meaning=meaning))
    node._on_impact(event(sequence=4, kind=ImpactEvent.KIND_CONTACT_LOST))
    assert [message.event_sequence for message in node.published] == [3]
    node._on_impact(event(sequence=4, arm=""))
    assert [message.event_sequence for message in node.published] == [3, 4]


def test_the_error_of_the_events_time_reaches_the_estimation(make_node):
    node, begun = make_node(), []
    node._estimates._estimation.begin = lambda *given: begun.append(given)
    node._on_impact(event(time_standard_error=7e-4))
    node._on_impact(event(sequence=4, time_standard_error=-1.0))
    assert begun == [(3, 4.25, 7e-4), (4, 4.25, 0.0)]


def test_what_can_not_be_predicted_is_published_with_the_reason(make_node):
    node = make_node()
    node._predictor.object_position = np.array([1e300, 0.0, 0.0])
    node._on_impact(event())
    (found,) = node.published
    assert not found.valid and found.reason
    assert (found.arm, found.event_sequence, found.header.frame_id) == ("left", 3, "panda_link0")
    assert node._status()[2]["unpredicted"] == 1


def test_a_request_replaces_only_what_it_gives(make_node):
    node = make_node(object_mass=0.0)

    def ask(**fields) -> ImpactPrediction:
        unset = {"friction": -1.0, "restitution": -1.0, "object_mass": -1.0, "use_tool_radius": True}
        request = PredictPostImpact.Request(position=HOME, velocity=DOWN, **(unset | fields))
        answer = node._on_request(request, PredictPostImpact.Response())
        assert answer.success, answer.message
        return answer.prediction

    contact = ask().contacts[0]
    assert (contact.friction, contact.restitution) == (0.35, 0.45)
    contact = ask(friction=0.1).contacts[0]
    assert (contact.friction, contact.restitution) == (0.1, 0.45)
    contact = ask(restitution=0.0).contacts[0]
    assert (contact.friction, contact.restitution) == (0.35, 0.0)
    tip = contact_point(ROBOT, HOME, CONTACT)
    bare = ask(use_tool_radius=False).contacts[0].point
    np.testing.assert_allclose([bare.x, bare.y, bare.z], tip + 0.02 * NORMAL, atol=1e-12)
    offset = PredictPostImpact.Request().offset
    offset.x = 0.05
    moved = ask(use_tool_radius=False, offset=offset).contacts[0].point
    shift = np.array([moved.x, moved.y, moved.z]) - [bare.x, bare.y, bare.z]
    np.testing.assert_allclose(shift, 0.05 * ROBOT.placement(HOME).rotation[:, 0], atol=1e-12)
    assert ask(inertia="M+B_theta").inertia == "M+B_theta" and ask().inertia == "M"
    assert ask(method="frictionless").method == "frictionless"


def test_the_surface_and_the_object_are_where_they_are_configured(make_node):
    tip = contact_point(ROBOT, HOME, CONTACT)
    for place in ({"object_mass": 0.0, "surface_point": (tip - 0.03 * NORMAL).tolist()},
                  {"object_position": centre_ahead(0.03).tolist()}):  # fmt: skip
        node = make_node(**place)
        node._source._receive(state(2.0))
        assert node.published[0].time_to_impact == pytest.approx(0.03 / 0.52, rel=0.02)


@pytest.mark.parametrize("name", ["velocity_std", "restitution_std", "motor_inertia_std"])
def test_a_standard_deviation_twice_as_large_makes_the_covariance_four_times_as_large(make_node, name):
    covariances = []
    for deviation in (0.01, 0.02):
        node = make_node(**{"motor_inertia_std": 0.0, name: deviation, "inertia": "M+B_theta"})
        node._on_impact(event())
        covariances.append(np.array(node.published[0].velocity_after_covariance))
    assert covariances[0].max() > 0.0
    np.testing.assert_allclose(covariances[1], 4.0 * covariances[0], rtol=1e-6, atol=1e-15)
    node = make_node(**{name: 0.01, "inertia": "M+B_theta"})
    show_object(node, centre_ahead(0.03))
    node._source._receive(state(2.0))
    assert len(node.published[0].velocity_after_covariance) == 0, "looking ahead is done often"


def test_an_assumed_motor_inertia_spreads_without_being_asked_to(make_node):
    """The profile's share, 0.12, of an assumed B_theta; one set exact, and links alone, do not spread."""

    def covariance(**parameters):
        node = make_node(**parameters)
        node._on_impact(event())
        return np.array(node.published[0].velocity_after_covariance)

    default = covariance(inertia="M+B_theta")
    np.testing.assert_allclose(default, covariance(inertia="M+B_theta", motor_inertia_std=0.12), rtol=1e-12)
    assert default.max() > 0.0
    assert covariance(inertia="M+B_theta", motor_inertia_std=0.0).size == 0
    assert covariance(inertia="M").size == 0
