"""A task that changes, changes for the field and the predictor alike; predictions for the one before are refused."""

import dataclasses
import functools
import math
import time

import numpy as np
import pinocchio as pin
import pytest
import rclpy
import yaml
from impact_aware_msgs.msg import ControllerState, ImpactEvent, ImpactPrediction
from impact_aware_msgs.srv import SetTask
from node_harness import call, refused, send, upright
from patience import patient
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.serialization import serialize_message

from impact_aware.bringup.task_parameters import contact_parameters
from impact_aware.messages.impact_prediction import impact_from_message
from impact_aware.messages.object_pose import ObjectPose
from impact_aware.messages.stamps import stamp_seconds
from impact_aware.messages.task import task_from_message, task_to_message
from impact_aware.nodes.impact_detector import ImpactDetectorNode
from impact_aware.nodes.jump_predictor import JumpPredictorNode
from impact_aware.nodes.reference_field import ReferenceFieldNode
from impact_aware.robot import RobotModel
from impact_aware.ros.messages import ROS, stamp
from impact_aware.ros.qos import EVENT_QOS, own_and_common
from impact_aware.task import load_task, make_field, start_posture

ROBOT = RobotModel.from_profile("panda")
TASK = load_task("hit_and_push")
OLD = {"object_mass": 5.0, "object_half_extents": [0.2, 0.2, 0.2], "normal": [1.0, 0.0, 0.0]}


@pytest.fixture
def predictor(make):
    return make(JumpPredictorNode, **OLD)


def hit(sequence: int = 1) -> ImpactEvent:
    """The tool touches the box of the task as the task wants it to."""
    own = make_field(TASK, [ROBOT]).arms[0]
    posture = start_posture(TASK.arms[0], ROBOT, own.impact_position)
    twist = np.concatenate([own.impact_velocity, np.zeros(3)])
    event = ImpactEvent(sequence=sequence, joint_names=ROBOT.joint_names)
    event.position, event.velocity_before = posture, np.linalg.pinv(ROBOT.frame_jacobian(posture)) @ twist
    event.header.stamp = event.stamp_detected = stamp(3.0 + sequence)
    return event


SLIPPERY = load_task(
    "hit_and_push", {"object": {"friction_tool": 0.15, "restitution": 0.4, "mass": 1.3, "name": "tin"}}
)


def recorded(node) -> list[ImpactPrediction]:
    published: list[ImpactPrediction] = []
    node._publisher = type("Recorder", (), {"publish": lambda self, message: published.append(message)})()
    return published


def test_the_predictor_takes_object_face_and_contact_from_the_task(predictor):
    send(predictor, "task", task_to_message(SLIPPERY, 4, 0.0, ROS))
    own = predictor.predictor
    assert own.object_mass == 1.3
    np.testing.assert_array_equal(own.shape.half_extents, SLIPPERY.object.half_extents)
    np.testing.assert_array_equal(own.contact.normal, [0.0, 1.0, 0.0])
    assert (own.contact.friction, own.contact.restitution) == (0.15, 0.4)
    centre = np.array([0.5, -0.2, 0.3])
    own.see_object(centre)
    np.testing.assert_allclose(own.plane_point, centre + [0.0, SLIPPERY.object.half_extents[1], 0.0])
    published = recorded(predictor)
    send(predictor, "impacts", hit())
    assert (published[0].task_number, published[0].object) == (4, "tin")


def test_the_predictor_s_palm_is_the_task_s(make, predictor):
    """A tip becomes a palm whose object stands on a table, one that lifts has no table, and back to the tip."""
    own, palm = predictor.predictor, load_task("hit_and_push_palm")
    pads = np.array(palm.arms[0].pad_half_sizes)
    changed = dataclasses.replace(palm, object=dataclasses.replace(palm.object, friction_table=0.23))
    send(predictor, "task", task_to_message(changed, 4, 0.0, ROS))
    np.testing.assert_array_equal(own._palm, pads)
    assert own._table_friction == 0.23
    told = make(JumpPredictorNode, **contact_parameters(changed, changed.arms[0]))
    found = [recorded(node) for node in (predictor, told)]
    for node in (predictor, told):
        send(node, "impacts", hit())
    np.testing.assert_allclose(found[0][0].velocity_after, found[1][0].velocity_after, atol=1e-12)
    send(predictor, "task", task_to_message(dataclasses.replace(changed, arms=TASK.arms), 4, 0.0, ROS))
    send(predictor, "impacts", hit(2))
    assert np.abs(np.subtract(found[0][1].velocity_after, found[0][0].velocity_after)).max() > 0.01
    lifting = dataclasses.replace(TASK.arms[0], pad_half_sizes=(0.03, 0.02, 0.01), load_share=0.5)
    send(predictor, "task", task_to_message(dataclasses.replace(TASK, arms=(lifting,)), 5, 0.0, ROS))
    np.testing.assert_array_equal(own._palm, [0.03, 0.02, 0.01])
    assert own._table_friction is None
    send(predictor, "task", task_to_message(TASK, 6, 0.0, ROS))
    assert own._palm is None and own._table_friction == TASK.object.friction_table


def test_where_no_pose_came_the_object_is_where_the_task_has_it(predictor):
    place = np.array([0.5, -0.03, 0.1])
    task = dataclasses.replace(TASK, object=dataclasses.replace(TASK.object, position=tuple(place.tolist())))
    send(predictor, "task", task_to_message(task, 4, 0.0, ROS))
    np.testing.assert_allclose(predictor.predictor.object_position, place, atol=1e-12)
    send(predictor, "object_pose", upright([0.47, 0.02, 0.11], time=1.0))
    send(predictor, "task", task_to_message(task, 5, 0.0, ROS))
    np.testing.assert_allclose(predictor.predictor.object_position, [0.47, 0.02, 0.11], atol=1e-12)


def test_the_predictor_takes_the_shape_from_the_task_and_from_its_parameters(make, predictor):
    can, wedge = load_task("hit_and_push_can"), load_task("hit_and_push_wedge")
    for number, task in enumerate((can, wedge), start=4):
        send(predictor, "task", task_to_message(task, number, 0.0, ROS))
        assert predictor.predictor.shape.name == task.object.shape == predictor.object_poses.shape.name
        np.testing.assert_allclose(predictor.predictor.shape.inertia(2.0), task.object.solid.inertia(2.0), atol=1e-12)
        told = contact_parameters(task, task.arms[0])
        node = make(JumpPredictorNode, **told, robot="panda")
        np.testing.assert_allclose(node.predictor.shape.inertia(2.0), task.object.solid.inertia(2.0), atol=1e-12)


def test_the_predictor_s_face_turns_with_the_object_that_is_seen(predictor):
    """A task whose box is turned, and then a pose that turns it further, by axes of other names."""
    task = dataclasses.replace(SLIPPERY, object=dataclasses.replace(SLIPPERY.object, orientation_rpy=(0.0, 0.0, 0.2)))
    send(predictor, "task", task_to_message(task, 4, 0.0, ROS))
    own = predictor.predictor
    np.testing.assert_allclose(own.contact.normal, [-np.sin(0.2), np.cos(0.2), 0.0], atol=1e-12)
    np.testing.assert_allclose(own.object_rotation, pin.utils.rotate("z", 0.2), atol=1e-11)
    seen = pin.SE3(pin.utils.rotate("z", 0.35 - np.pi), np.array([0.5, -0.2, 0.3]))
    predictor._on_object(ObjectPose("panda_link0", 1.0, seen))
    np.testing.assert_allclose(own.contact.normal, [-np.sin(0.35), np.cos(0.35), 0.0], atol=1e-12)
    predictor._on_object(ObjectPose("panda_link0", 2.5, seen, velocity=np.array([0.1, -0.02, 0.0])))
    assert own.object_time == 2.5
    np.testing.assert_array_equal(own.object_velocity, [0.1, -0.02, 0.0])
    depth = (own.plane_point - seen.translation) @ own.contact.normal
    assert depth == pytest.approx(SLIPPERY.object.half_extents[1])


def test_of_several_arms_each_takes_its_own_face(make):
    task = load_task("dual_arm_grab_tilted")
    message = task_to_message(task, 2, 0.0, ROS)
    for arm, mass in (("right", task.object.mass), ("elbow", 5.0)):
        node = make(JumpPredictorNode, **OLD, arm=arm)
        send(node, "task", message)
        assert node.predictor.object_mass == mass
        known = arm == "right"
        expected = contact_parameters(task, task.arms[1])["normal"] if known else [1.0, 0.0, 0.0]
        np.testing.assert_allclose(node.predictor.contact.normal, expected, atol=1e-12)
        assert node._task_number == (2 if known else 0)


def test_the_detector_s_face_is_that_of_the_latest_task(make):
    """Before its watch is made, and afterwards; of a task for others nothing is taken, and a broken one is counted."""
    robot = {"robot": "panda", "detector": "sensitive_joint", "normal": [0.0, 0.0, 1.0], "measure_noise": False}
    node = make(ImpactDetectorNode, **robot)
    turned = dataclasses.replace(SLIPPERY.object, orientation_rpy=(0.0, 0.0, 0.2))
    for yaw, task in ((0.0, SLIPPERY), (0.2, dataclasses.replace(SLIPPERY, object=turned))):
        send(node, "task", task_to_message(task, 3, 0.0, ROS))
        if node.watch is None:
            node.watch = node._make_watch(7)
        expected = [-np.sin(yaw), np.cos(yaw), 0.0]
        np.testing.assert_allclose(node.watch.normal, expected, atol=1e-11)
        np.testing.assert_allclose(node.watch.detector.normal, expected, atol=1e-11)
    send(node, "task", task_to_message(load_task("dual_arm_grab"), 4, 0.0, ROS))
    np.testing.assert_allclose(node.watch.normal, expected, atol=1e-11)
    broken = task_to_message(SLIPPERY, 5, 0.0, ROS)
    broken.yaml = "a: ["
    send(node, "task", broken)
    assert refused(node)["task not usable"] == 1


def test_a_request_changes_the_shape_for_the_field_and_opens_no_file(make, tmp_path):
    node = make(ReferenceFieldNode)
    cylinder = {"object": {"shape": "cylinder", "radius": 0.06, "half_length": 0.1, "position": [0.5, 0.0, 0.1]}}
    answer = call(node, "set_task", SetTask.Request(yaml=yaml.safe_dump(cylinder)))
    assert answer.success, answer.message
    assert (answer.field.object_shape, node.object_poses.shape.name) == (answer.field.OBJECT_CYLINDER, "cylinder")
    assert node.live.field.arms[0].impact_position[1] == pytest.approx(0.06 + ROBOT.tool_radius)
    for entries in ({"object": {"mesh": "/etc/hostname"}}, {"objects": [{"mesh": "/etc/hostname"}]}):
        answer = call(node, "set_task", SetTask.Request(yaml=yaml.safe_dump(entries)))
        assert not answer.success and "yaml: mesh: got /etc/hostname, expected vertices in its place" in answer.message
    assert node.object_poses.shape.name == "cylinder"


@pytest.mark.parametrize(
    ("place", "value"),
    [("yaml", "a: ["), ("yaml", "name: x"), ("yaml", "fields: {alpha: -1.0}"), ("yaml", "dance: 1"), ("arms", []),
     ("goal.x", math.nan), ("object.mass", -1.0), ("object.mass", math.nan), ("object.shape", 7),
     ("object.pose.orientation.w", 2.0), ("object.half_extents.z", 0.0)],
)  # fmt: skip
def test_a_message_that_makes_no_task_changes_nothing(predictor, place, value):
    message = task_to_message(SLIPPERY, 4, 0.0, ROS)
    *parents, last = place.split(".")
    setattr(functools.reduce(getattr, parents, message), last, value)
    send(predictor, "task", message)
    assert predictor.predictor.object_mass == 5.0 and predictor._task_number == 0
    np.testing.assert_array_equal(predictor.predictor.shape.half_extents, OLD["object_half_extents"])
    assert refused(predictor) == {"task not usable": 1}


def test_a_prediction_for_the_task_before_stays_out_of_the_field(make, predictor):
    """One of the same mass, too: the friction is another."""
    field = make(ReferenceFieldNode)
    published = recorded(predictor)
    send(predictor, "task", task_to_message(field.live.task, field.live.task_number, 0.0, ROS))
    predictor.predictor.see_object(np.array(TASK.object.position))
    request = SetTask.Request(yaml="object: {friction_tool: 0.2}")
    assert call(field, "set_task", request).field.task_number == 2
    send(predictor, "impacts", hit())
    before = field.live.field
    send(field, "predicted_jumps", published[0])
    assert field.live.field is before
    assert refused(field) == {"prediction implausible": 1}
    send(predictor, "task", task_to_message(field.live.task, field.live.task_number, 0.0, ROS))
    send(predictor, "impacts", hit(2))
    send(field, "predicted_jumps", published[1])
    assert field.live.field.object_velocity_predicted


def test_a_refused_request_changes_neither_task_nor_number(make):
    field = make(ReferenceFieldNode)
    sent = []
    field._task_publisher.publish = sent.append
    assert not call(field, "set_task", SetTask.Request(has_object_mass=True, object_mass=-1.0)).success
    assert field.live.task_number == 1 and not sent
    assert call(field, "set_task", SetTask.Request(has_object_mass=True, object_mass=1.9)).success
    (message,) = sent
    task, number = task_from_message(message)
    assert (number, task.object.mass, message.name, message.header.frame_id) == (2, 1.9, "hit_and_push", "panda_link0")
    assert message == task_to_message(field.live.task, 2, stamp_seconds(message), ROS)
    # Where the object was seen is no other task.
    field.live.move_object(pin.SE3(np.eye(3), np.array([0.52, 0.01, 0.1])))
    assert field.live.field.task_number == field.live.task_number == 2


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        (ControllerState.MODE_ANTE, "before the impact"),
        (ControllerState.MODE_INTERIM, "in the impact"),
        (ControllerState.MODE_POST, "after the impact"),
        (ControllerState.MODE_IDLE, ""),
        (ControllerState.MODE_HOLD, ""),
        (ControllerState.MODE_SAFE, ""),
    ],
)
def test_no_task_changes_under_a_moving_arm(make, mode, words):
    field = make(ReferenceFieldNode)
    send(field, "controller_state", ControllerState(mode=mode))
    answer = call(field, "set_task", SetTask.Request(has_object_mass=True, object_mass=1.3))
    assert answer.success == (not words)
    if words:
        expected = "one while the arms rest: deactivate or reset the controller first"
        assert answer.message == f"task: got a change while the arms move, {words}, expected {expected}"
        assert (field.live.task_number, field.live.task.object.mass) == (1, 2.2)
        # A controller that has been silent for long moves nothing.
        field._moving.see(serialize_message(ControllerState(mode=mode)), time.monotonic() - 1.5)
        assert call(field, "set_task", SetTask.Request(has_object_mass=True, object_mass=1.3)).success


def test_a_controller_that_says_nothing_readable_may_be_moving(make):
    field = make(ReferenceFieldNode)
    send(field, "controller_state", serialize_message(ControllerState(mode=ControllerState.MODE_IDLE))[:9])
    answer = call(field, "set_task", SetTask.Request(has_object_mass=True, object_mass=1.3))
    assert not answer.success and answer.message.startswith("controller_state: got ")


def test_the_task_of_an_arm_is_in_its_namespace_or_one_above():
    assert own_and_common("", "task") == own_and_common("/", "task") == ("task",)
    assert own_and_common("/left", "task") == ("task", "/task")
    assert own_and_common("cell/left", "task") == ("task", "/cell/task")


@pytest.mark.dds
def test_with_a_new_task_the_next_prediction_uses_it(ros_context, predictor):
    """Over DDS: a client sets the task, the field follows, and so does what the predictor says of the next impact.

    The predictor hears of the first task although it was published before it came.
    """
    context = Context()
    rclpy.init(context=context)
    field, client = ReferenceFieldNode(context=context), Node("client", context=context)
    found: list[tuple[int, float, float, float]] = []

    def note(message: ImpactPrediction) -> None:
        impact, contact = impact_from_message(message), message.contacts[0]
        found.append((impact.task_number, round(impact.object_mass or 0.0, 9), contact.friction, contact.restitution))

    client.create_subscription(ImpactPrediction, "predicted_jumps", note, 10)
    impacts = client.create_publisher(ImpactEvent, "impacts", EVENT_QOS)
    tasks = client.create_client(SetTask, "set_task")
    own, other = SingleThreadedExecutor(), SingleThreadedExecutor(context=context)
    own.add_node(predictor)
    other.add_node(field)
    other.add_node(client)
    sequences = iter(range(1, 10_000))

    def until(condition, *, hitting: bool = True) -> None:
        deadline = time.monotonic() + patient(20.0)
        while not condition():
            assert time.monotonic() < deadline, found[-3:]
            if hitting:
                impacts.publish(hit(next(sequences)))
            own.spin_once(timeout_sec=0.01)
            other.spin_once(timeout_sec=0.01)

    try:
        until(lambda: found and found[-1] == (1, TASK.object.mass, 0.3, 0.0))
        until(tasks.service_is_ready, hitting=False)
        changed = SetTask.Request(has_object_mass=True, object_mass=1.3)
        changed.yaml = "object: {friction_tool: 0.1, restitution: 0.5}"
        answer = tasks.call_async(changed)
        until(answer.done, hitting=False)
        assert answer.result().success and answer.result().field.object_mass == 1.3
        until(lambda: found[-1] == (2, 1.3, 0.1, 0.5))
        # A palm in place of the tip.
        palm = load_task("hit_and_push_palm", {"object": {"mass": 1.7}})
        answer = tasks.call_async(SetTask.Request(task="hit_and_push_palm", has_object_mass=True, object_mass=1.7))
        until(answer.done, hitting=False)
        assert answer.result().success, answer.result().message
        until(lambda: found[-1][:2] == (3, 1.7))
        assert found[-1][2] == palm.object.friction_tool
        assert predictor.predictor.object_mass == 1.7
        np.testing.assert_array_equal(predictor.predictor._palm, palm.arms[0].pad_half_sizes)
    finally:
        own.shutdown()
        other.shutdown()
        client.destroy_node()
        field.destroy_node()
        context.shutdown()
