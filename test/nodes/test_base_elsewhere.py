"""Nodes of a single arm whose base stands elsewhere than the task's frame: turned and moved, without TF."""

import dataclasses

import numpy as np
import pytest
import yaml
from node_harness import send, upright

from impact_aware.errors import InvalidInputError
from impact_aware.messages.reference_field import field_to_message
from impact_aware.messages.task import task_to_message
from impact_aware.nodes.impact_detector import ImpactDetectorNode
from impact_aware.nodes.jump_predictor import JumpPredictorNode
from impact_aware.nodes.reference_field import ReferenceFieldNode
from impact_aware.nodes.rs_controller import RsControllerNode
from impact_aware.records import Impact
from impact_aware.resources import find_resource
from impact_aware.robot import RobotModel
from impact_aware.ros.messages import ROS
from impact_aware.task import base_placement, load_task, make_field
from impact_aware.task.arms import base_numbers, check_bases

RPY, POSITION = (0.1, -0.1, 0.2), (0.02, 0.03, -0.05)


@pytest.fixture(scope="module")
def task_file(tmp_path_factory):
    content = yaml.safe_load(find_resource("config", "tasks", "hit_and_push.yaml").read_text())
    own = content["arms"][0]
    own |= {"base_rpy": list(RPY), "base_position": list(POSITION), "null_space_joint": -1, "starts": own["starts"][:1]}
    path = tmp_path_factory.mktemp("task") / "tilted.yaml"
    path.write_text(yaml.safe_dump(content | {"frame": "cell"}))
    return path


def test_the_predictor_has_object_and_face_in_the_axes_of_its_base(make, task_file):
    task = load_task(task_file)
    base = base_placement(task.arms[0])
    node = make(JumpPredictorNode, base=base_numbers(task.arms[0]), task_frame="cell", object_mass=2.0)
    send(node, "object_pose", upright([0.5, 0.1, 0.2], "cell", 3.0))
    np.testing.assert_allclose(node.predictor.object_position, base.actInv(np.array([0.5, 0.1, 0.2])), atol=1e-12)
    send(node, "task", task_to_message(task, 1, 0.0, ROS))
    np.testing.assert_allclose(node.predictor.contact.normal, base.rotation.T @ [0.0, 1.0, 0.0], atol=1e-12)
    assert node.predictor.object_mass == task.object.mass


def test_the_field_is_in_the_frame_of_the_task(make, task_file):
    node = make(ReferenceFieldNode, task=str(task_file))
    base = node.arms[0].base
    there = np.array([0.51, 0.01, 0.1])
    send(node, "object_pose", upright(there, "cell", 3.0))
    np.testing.assert_allclose(node.live.field.object_position, there, atol=1e-12)
    further = np.array([0.48, 0.02, 0.1])
    send(node, "object_pose", upright(base.actInv(further), "panda_link0", 4.0))
    np.testing.assert_allclose(node.live.field.object_position, further, atol=1e-12)
    assert node._message().header.frame_id == "cell"


def test_a_prediction_comes_in_the_axes_of_the_base_and_goes_into_the_field_in_those_of_the_task(
    make, task_file
):
    node = make(ReferenceFieldNode, task=str(task_file))
    arm, before = node.arms[0], np.array([0.1, -0.2, 0.05])
    impact = Impact(
        source="look_ahead",
        time=3.0,
        frame=arm.robot.base_frame,
        joint_names=arm.robot.joint_names,
        position=arm.robot.home,
        object="box",
        object_twist_after=np.concatenate([before, np.zeros(3)]),
    )
    assert node.live.take_prediction(0, impact)
    np.testing.assert_allclose(node.live.field.object_velocity_after, arm.base.rotation @ before, atol=1e-12)


def test_controller_and_detector_know_where_up_is(make, task_file):
    own = load_task(task_file).arms[0]
    expected = RobotModel.from_profile("panda").tilted(base_placement(own).rotation).gravity(np.full(7, 0.3))
    detector = make(ImpactDetectorNode, robot="panda", base_rpy=list(RPY))
    np.testing.assert_allclose(detector._robot.gravity(np.full(7, 0.3)), expected, atol=1e-12)
    controller = make(RsControllerNode, bases=base_numbers(own))
    controller.trigger_configure()
    np.testing.assert_allclose(controller.session.robots[0].gravity(np.full(7, 0.3)), expected, atol=1e-12)
    assert controller.session.bases[0].isApprox(base_placement(own))


def test_a_field_for_a_base_elsewhere_is_refused(make, task_file):
    task = load_task(task_file)
    own = task.arms[0]
    field = make_field(task, [RobotModel.from_profile("panda")])
    controller = make(RsControllerNode, bases=base_numbers(own))
    controller.trigger_configure()
    arms = controller.arms
    aside = dataclasses.replace(own, base_rpy=(0.1, -0.102, 0.2))
    for changed in (aside, dataclasses.replace(own, base_position=(0.0, 0.032, -0.1))):
        other = make_field(dataclasses.replace(task, arms=(changed,)), [RobotModel.from_profile("panda")])
        with pytest.raises(InvalidInputError, match=r"field.arms\[\].base: got .*, where this controller has it"):
            check_bases(arms, other.arms)
        send(controller, "reference_field", field_to_message(other, 0.0, ROS))
        assert controller.session.field is None
        assert controller.connections.refused_field.startswith("refused a reference_field: field.arms[].base: got [")
    unknown = dataclasses.replace(field.arms[0], base_orientation=np.zeros(4))
    check_bases(arms, (unknown,))
    send(controller, "reference_field", field_to_message(field, 0.0, ROS))
    assert controller.session.field is not None
    assert not controller.connections.refused_field


def test_no_motion_begins_by_the_field_before_one_that_was_refused(make, task_file, monkeypatch):
    """The task was changed for everybody: what the controller still has is no longer what shall be done."""
    task = load_task(task_file)
    own, robots = task.arms[0], [RobotModel.from_profile("panda")]
    controller = make(RsControllerNode, bases=base_numbers(own))
    controller.trigger_configure()
    send(controller, "reference_field", field_to_message(make_field(task, robots), 0.0, ROS))
    session, connections = controller.session, controller.connections
    # As if states came: nothing else speaks against the motion before that.
    monkeypatch.setattr(session.states, "silence", lambda: (0.0, 0))
    monkeypatch.setattr(session.states, "refusal", lambda timeout: "")
    before = connections.refusal()
    assert "reference_field" not in before
    moved = dataclasses.replace(task, arms=(dataclasses.replace(own, base_position=(0.0, 0.1, 0.0)),))
    send(controller, "reference_field", field_to_message(make_field(moved, robots), 0.0, ROS))
    assert session.field is not None
    assert connections.refusal().startswith("refused a reference_field: field.arms[].base: got [0.0, 0.1, 0.0")
    send(controller, "reference_field", field_to_message(make_field(task, robots), 0.0, ROS))
    assert connections.refusal() == before


@pytest.mark.parametrize("given", [False, True], ids=["no base given", "another base given"])
def test_the_predictor_stands_where_the_task_has_it(make, task_file, given):
    """Whatever its parameters said: gravity, where the object is and a pose in the task's frame follow."""
    task = load_task(task_file)
    base = base_placement(task.arms[0])
    other = {"base": [0.4, -0.2, 0.1, 0.0, 0.3, 0.7], "task_frame": "cell"} if given else {}
    node = make(JumpPredictorNode, object_mass=2.0, **other)
    send(node, "object_pose", upright([0.5, 0.1, 0.2], "panda_link0", 3.0))
    send(node, "task", task_to_message(task, 1, 0.0, ROS))
    expected = RobotModel.from_profile("panda").tilted(base.rotation).gravity(np.full(7, 0.3))
    np.testing.assert_allclose(node.predictor.robot.gravity(np.full(7, 0.3)), expected, atol=1e-12)
    place = base.actInv(np.array(task.object.position))
    np.testing.assert_allclose(node.predictor.object_position, place, atol=1e-11)
    np.testing.assert_allclose(node.object_poses.watch.turn._up, base.rotation[2], atol=1e-12)
    send(node, "object_pose", upright([0.5, 0.1, 0.2], "cell", 5.0))
    np.testing.assert_allclose(node.predictor.object_position, base.actInv(np.array([0.5, 0.1, 0.2])), atol=1e-11)
    # The same base once more, such as with another mass: where the object was seen is known still.
    send(node, "task", task_to_message(task, 2, 0.0, ROS))
    np.testing.assert_allclose(node.predictor.object_position, base.actInv(np.array([0.5, 0.1, 0.2])), atol=1e-11)


def test_joints_with_a_prefix_are_known_by_it(make):
    predictor = make(JumpPredictorNode, joint_prefix="left_")
    controller = make(RsControllerNode, joint_prefixes=["left_"])
    controller.trigger_configure()
    for robot in (predictor._robot, controller.session.robots[0]):
        assert (robot.joint_names[0], robot.base_frame) == ("left_panda_joint1", "left_panda_link0")
    assert (
        predictor._source.joint_names[0] == controller.session.states.readers[0].joint_names[0] == "left_panda_joint1"
    )
