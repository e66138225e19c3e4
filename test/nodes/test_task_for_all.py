"""A task that changes, changes for the field and the predictor alike; predictions for the one before are refused."""

from __future__ import annotations

import time

import numpy as np
import pytest
import rclpy
from impact_aware_msgs.msg import ImpactEvent, ImpactPrediction
from impact_aware_msgs.srv import SetTask
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter

from impact_aware.bringup.connections import field_topics
from impact_aware.messages.impact_prediction import impact_from_message
from impact_aware.messages.reference_field import field_to_message
from impact_aware.nodes.jump_predictor import JumpPredictorNode
from impact_aware.nodes.reference_field import ReferenceFieldNode
from impact_aware.nodes.ros.messages import ROS, stamp
from impact_aware.nodes.ros.qos import EVENT_QOS
from impact_aware.robot import RobotModel
from impact_aware.task import load_task, make_field, start_posture

ROBOT = RobotModel.from_profile("panda")
TASK = load_task("hit_and_push")
OLD = {"object_mass": 5.0, "object_half_extents": [0.2, 0.2, 0.2], "normal": [1.0, 0.0, 0.0]}


def parameters(**values) -> list[Parameter]:
    return [Parameter(name, value=value) for name, value in values.items()]


@pytest.fixture
def predictor(ros_context):
    node = JumpPredictorNode(parameter_overrides=parameters(**OLD))
    yield node
    node.destroy_node()


def hit(sequence: int = 1) -> ImpactEvent:
    """The tool touches the box of the task as the task wants it to."""
    own = make_field(TASK, [ROBOT]).arms[0]
    posture = start_posture(TASK.arms[0], ROBOT, own.impact_position)
    twist = np.concatenate([own.impact_velocity, np.zeros(3)])
    event = ImpactEvent(sequence=sequence, joint_names=ROBOT.joint_names)
    event.position, event.velocity_before = posture, np.linalg.pinv(ROBOT.frame_jacobian(posture)) @ twist
    event.header.stamp = event.stamp_detected = stamp(3.0 + sequence)
    return event


def test_the_predictor_takes_mass_size_and_face_from_the_field(predictor):
    predictor._on_field(field_to_message(make_field(TASK, [ROBOT]), 0.0, ROS))
    own = predictor._predictor
    assert own.object_mass == TASK.object.mass
    np.testing.assert_array_equal(own._half_extents, TASK.object.half_extents)
    np.testing.assert_array_equal(own.contact.normal, [0.0, 1.0, 0.0])
    centre = np.array([0.5, -0.2, 0.3])
    own.see_object(centre)
    np.testing.assert_allclose(own.plane_point, centre + [0.0, TASK.object.half_extents[1], 0.0])


def test_a_field_for_several_arms_gives_the_mass_only(ros_context):
    task = load_task("dual_arm_grab")
    field = field_to_message(make_field(task, [RobotModel.from_profile(arm.robot) for arm in task.arms]), 0.0, ROS)
    for arm, mass in (("right", task.object.mass), ("elbow", 5.0)):
        node = JumpPredictorNode(parameter_overrides=parameters(**OLD, arm=arm))
        node._on_field(field)
        assert node._predictor.object_mass == mass
        np.testing.assert_array_equal(node._predictor.contact.normal, [1.0, 0.0, 0.0])
        node.destroy_node()


@pytest.mark.parametrize("change", [{"object_mass": 0.0}, {"object_mass": float("nan")}, {"object_mass": -1.0}])
def test_a_field_that_makes_no_object_changes_nothing(predictor, change):
    message = field_to_message(make_field(TASK, [ROBOT]), 0.0, ROS)
    for name, value in change.items():
        setattr(message, name, value)
    predictor._on_field(message)
    assert predictor._predictor.object_mass == 5.0
    np.testing.assert_array_equal(predictor._predictor._half_extents, OLD["object_half_extents"])
    assert predictor._refused == {"reference_field not usable": 1}


def test_a_prediction_for_the_mass_of_the_task_before_stays_out_of_the_field(ros_context, predictor):
    field = ReferenceFieldNode()
    published: list[ImpactPrediction] = []
    predictor._publisher = type("Recorder", (), {"publish": lambda self, message: published.append(message)})()
    predictor._predictor.set_object(TASK.object.mass, np.array(TASK.object.half_extents), np.array([0.0, 1.0, 0.0]))
    predictor._predictor.see_object(np.array(TASK.object.position))
    assert field._on_set_task(SetTask.Request(object_mass=[1.3]), SetTask.Response()).success
    predictor._on_impact(hit())
    before = field._live.field
    field._on_prediction(0, published[0])
    assert field._live.field is before
    assert field._refused == {"prediction implausible": 1}
    predictor._on_field(field._message())
    predictor._on_impact(hit(2))
    field._on_prediction(0, published[1])
    assert field._live.field.object_velocity_predicted
    field.destroy_node()


def test_the_field_of_an_arm_is_in_its_namespace_or_one_above():
    assert field_topics("") == field_topics("/") == ("reference_field",)
    assert field_topics("/left") == ("reference_field", "/reference_field")
    assert field_topics("cell/left") == ("reference_field", "/cell/reference_field")


@pytest.mark.dds
def test_with_a_new_mass_the_next_prediction_uses_it(ros_context, predictor):
    """Over DDS: a client sets the task, the field follows, and so does what the predictor says of the next impact."""
    context = Context()
    rclpy.init(context=context)
    field, client = ReferenceFieldNode(context=context), Node("client", context=context)
    found: list[float] = []
    client.create_subscription(
        ImpactPrediction, "predicted_jumps", lambda message: found.append(impact_from_message(message).object_mass), 10
    )
    impacts = client.create_publisher(ImpactEvent, "impacts", EVENT_QOS)
    tasks = client.create_client(SetTask, "set_task")
    own, other = SingleThreadedExecutor(), SingleThreadedExecutor(context=context)
    own.add_node(predictor)
    other.add_node(field)
    other.add_node(client)
    sequences = iter(range(1, 10_000))

    def until(condition, *, hitting: bool = True) -> None:
        deadline = time.monotonic() + 20.0
        while not condition():
            assert time.monotonic() < deadline, found[-3:]
            if hitting:
                impacts.publish(hit(next(sequences)))
            own.spin_once(timeout_sec=0.01)
            other.spin_once(timeout_sec=0.01)

    try:
        until(lambda: found and found[-1] == pytest.approx(TASK.object.mass))
        until(tasks.service_is_ready, hitting=False)
        answer = tasks.call_async(SetTask.Request(object_mass=[1.3]))
        until(answer.done, hitting=False)
        assert answer.result().success and answer.result().field.object_mass == 1.3
        until(lambda: found[-1] == pytest.approx(1.3))
    finally:
        own.shutdown()
        other.shutdown()
        client.destroy_node()
        field.destroy_node()
        context.shutdown()
