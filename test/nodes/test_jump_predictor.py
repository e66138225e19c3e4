"""What the predictor answers to a client, right or wrong."""

from __future__ import annotations

import numpy as np
import pytest
from geometry_msgs.msg import Vector3
from impact_aware_msgs.msg import ContactImpulse, ImpactPrediction
from impact_aware_msgs.srv import PredictPostImpact
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from impact_aware.contact import Contact
from impact_aware.impact import predict
from impact_aware.nodes.jump_predictor import JumpPredictorNode
from impact_aware.nodes.ros.messages import stamp
from impact_aware.robot import RobotModel

ROBOT = RobotModel.from_profile("panda")
HOME = np.array(ROBOT.profile.home)
NAMES = list(ROBOT.joint_names)
# Down onto the surface below: the node's configured normal points up.
DOWN = np.linalg.pinv(ROBOT.frame_jacobian(HOME)) @ np.array([0.1, 0.0, -0.5, 0.0, 0.0, 0.0])


@pytest.fixture
def predictor(ros_context):
    node = JumpPredictorNode()
    yield node
    node.destroy_node()


def ask(node: JumpPredictorNode, **fields: object) -> PredictPostImpact.Response:
    """The answer to a request that leaves the contact as it is configured, except for `fields`."""
    configured = {"friction": -1.0, "restitution": -1.0, "object_mass": -1.0, "use_tool_radius": True}
    return node._on_request(PredictPostImpact.Request(**{**configured, **fields}), PredictPostImpact.Response())


def show(node: JumpPredictorNode, position: np.ndarray, velocity: np.ndarray) -> None:
    message = JointState(name=NAMES, position=position, velocity=velocity)
    message.header.stamp = stamp(2.0)
    node._source._receive(serialize_message(message))


def test_the_answer_is_that_of_the_library(predictor):
    answer = ask(predictor, position=HOME, velocity=DOWN, friction=0.2, restitution=0.5)
    contact = Contact("tool", np.array([0.0, 0.0, 1.0]), friction=0.2, restitution=0.5, radius=ROBOT.tool_radius)
    assert (answer.success, answer.message) == (True, "")
    np.testing.assert_array_equal(answer.prediction.velocity_after, predict(ROBOT, HOME, DOWN, contact).velocity_after)
    assert answer.prediction.source == ImpactPrediction.SOURCE_SERVICE
    assert list(answer.prediction.joint_names) == NAMES


def test_only_a_free_object_is_named_as_the_obstacle(predictor):
    fixed = ask(predictor, position=HOME, velocity=DOWN).prediction
    free = ask(predictor, position=HOME, velocity=DOWN, object_mass=1.0).prediction
    assert (fixed.object, fixed.contacts[0].obstacle) == ("", "")
    assert (free.object, free.contacts[0].obstacle) == ("box", "box")


def test_joints_may_come_in_any_order_with_others_between_them(predictor):
    names = [*reversed(NAMES), "panda_finger_joint1"]
    shuffled = ask(predictor, joint_names=names, position=[*HOME[::-1], 0.04], velocity=[*DOWN[::-1], 0.0]).prediction
    ordered = ask(predictor, position=HOME, velocity=DOWN).prediction
    np.testing.assert_array_equal(shuffled.velocity_after, ordered.velocity_after)


def test_without_a_state_the_latest_joint_states_are_taken(predictor):
    assert "position" in ask(predictor).message
    show(predictor, HOME, DOWN)
    answer = ask(predictor)
    assert answer.success
    np.testing.assert_array_equal(answer.prediction.velocity_before, DOWN)
    assert answer.prediction.header.stamp == stamp(2.0)


def test_an_arm_that_goes_away_keeps_its_velocity(predictor):
    prediction = ask(predictor, position=HOME, velocity=-DOWN).prediction
    assert prediction.contacts[0].mode == ContactImpulse.MODE_SEPARATE
    np.testing.assert_array_equal(prediction.velocity_after, -DOWN)


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"position": [0.0, 1.0]}, "position"),
        ({"velocity": []}, "velocity"),
        ({"position": []}, "position"),
        ({"velocity": [float("nan"), *DOWN[1:]]}, "velocity"),
        ({"joint_names": ["a"]}, "joint_names"),
        ({"joint_names": NAMES[1:]}, "joint_names"),
        ({"friction": float("nan")}, "friction"),
        ({"restitution": 1.5}, "restitution"),
        ({"normal": Vector3(x=float("nan"))}, "normal"),
        ({"object_mass": float("inf")}, "mass"),
        ({"contact_frame": "nose"}, "frame"),
        ({"inertia": "B"}, "inertia"),
        ({"method": "guess"}, "method"),
    ],
)
def test_a_wrong_request_is_refused_in_one_line_that_names_the_field(predictor, wrong, field):
    answer = ask(predictor, **{"position": HOME, "velocity": DOWN, **wrong})
    assert not answer.success
    assert field in answer.message.partition(":")[0]
    assert "\n" not in answer.message
    assert not answer.prediction.valid and answer.prediction.reason == answer.message
