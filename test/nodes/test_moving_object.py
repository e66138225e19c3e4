"""An object that moves, through the nodes: its velocity reaches the field and the prediction, or why not is said."""


import numpy as np
import pytest
from geometry_msgs.msg import PoseStamped
from impact_aware_msgs.msg import ImpactEvent, ImpactPrediction
from impact_aware_msgs.msg import ReferenceField as ReferenceFieldMessage
from node_harness import send
from patience import until
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter

from impact_aware.messages.geometry import vector, write_vector
from impact_aware.messages.reference_field import field_from_message
from impact_aware.nodes.jump_predictor import JumpPredictorNode
from impact_aware.nodes.reference_field import ReferenceFieldNode
from impact_aware.nodes.ros.messages import stamp
from impact_aware.nodes.ros.qos import EVENT_QOS, LATCHED_EVENT_QOS
from impact_aware.robot import RobotModel

ROBOT = RobotModel.from_profile("panda")
PLACE, BELT = np.array([0.5, 0.02, 0.1]), np.array([0.05, -0.12, 0.0])
LONGEST = 20.0


def seen(count: int, frame: str = "panda_link0", stamped: bool = True, belt: np.ndarray = BELT) -> PoseStamped:
    message = PoseStamped()
    message.header.frame_id = frame
    if stamped:
        message.header.stamp = stamp(5.0 + 0.02 * count)
    write_vector(message.pose.position, PLACE + 0.02 * count * belt)
    message.pose.orientation.w = 1.0
    return message


@pytest.fixture
def field_node(make):
    return make(ReferenceFieldNode)


def test_the_field_moves_with_the_poses(field_node):
    for count in range(20):
        send(field_node, "object_pose", seen(count))
    assert field_node.no_motion() == ""
    field = field_node.live.field
    np.testing.assert_allclose(field.object_velocity, BELT, atol=1e-9)
    np.testing.assert_allclose(field.advanced(5.6).object_position, PLACE + 0.6 * BELT, atol=1e-9)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"stamped": False}, "the object moves, and its poses have no stamps"),
        ({"belt": 2.0 * BELT}, "the object moves, faster than 0.25 m/s"),
    ],
)
def test_a_motion_that_can_t_be_followed_is_refused(field_node, monkeypatch, how, words):
    clock = iter(np.arange(2000.0, 3000.0, 0.02))
    now = [2000.0]
    monkeypatch.setattr("impact_aware.nodes.object_poses.time.monotonic", lambda: now[0])
    for count in range(20):
        now[0] = next(clock)
        send(field_node, "object_pose", seen(count, **how))
    assert words in field_node.no_motion()
    # Without stamps it is not known when it was where; too fast, only no motion begins.
    assert field_node.live.field.object_moves == how.get("stamped", True)


@pytest.mark.dds
@pytest.mark.slow
def test_its_velocity_reaches_field_and_prediction_over_dds(ros_context):
    pushed = [Parameter("object_mass", value=2.2)]
    nodes = [ReferenceFieldNode(), JumpPredictorNode(parameter_overrides=pushed), Node("mocap")]
    mocap, executor = nodes[-1], SingleThreadedExecutor()
    fields: list[ReferenceFieldMessage] = []
    predictions: list[ImpactPrediction] = []
    poses = mocap.create_publisher(PoseStamped, "object_pose", 5)
    impacts = mocap.create_publisher(ImpactEvent, "impacts", EVENT_QOS)
    mocap.create_subscription(ReferenceFieldMessage, "reference_field", fields.append, LATCHED_EVENT_QOS)
    mocap.create_subscription(ImpactPrediction, "predicted_jumps", predictions.append, EVENT_QOS)
    for node in nodes:
        executor.add_node(node)
    count = 0

    def show() -> None:
        nonlocal count
        poses.publish(seen(count))
        count += 1
        executor.spin_once(timeout_sec=0.005)

    try:
        assert until(lambda: bool(fields) and vector(fields[-1].object_velocity).any(), show, LONGEST)
        np.testing.assert_allclose(vector(fields[-1].object_velocity), BELT, atol=1e-3)
        field = field_from_message(fields[-1])
        when = field.object_time
        np.testing.assert_allclose(field.object_position, PLACE + (when - 5.0) * BELT, atol=3e-3)
        assert until(lambda: nodes[1].predictor.object_velocity.any(), show, LONGEST)
        event = ImpactEvent(sequence=1, joint_names=ROBOT.joint_names, position=ROBOT.home)
        event.velocity_before = 0.1 * np.ones(7)
        event.header.stamp = event.stamp_detected = stamp(5.0 + 0.02 * count + 0.1)
        impacts.publish(event)
        at_impact = ImpactPrediction.SOURCE_AT_IMPACT
        assert until(lambda: any(own.source == at_impact for own in predictions), show, LONGEST)
        sent = next(own for own in predictions if own.source == at_impact)
        np.testing.assert_allclose(vector(sent.object_twist_before.linear), BELT, atol=1e-3)
    finally:
        executor.shutdown()
        for node in nodes:
            node.destroy_node()
