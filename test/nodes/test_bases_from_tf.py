"""Bases that TF knows: looked up once by `reference_field`, and then those of every node, by the task it publishes."""

import numpy as np
import pinocchio as pin
import pytest
import yaml
from impact_aware_msgs.srv import PredictPostImpact, SetTask
from node_harness import call, send, status, tick, transforms

from impact_aware.errors import InvalidInputError
from impact_aware.messages.reference_field import field_to_message
from impact_aware.messages.task import task_from_message
from impact_aware.nodes.bases import NOT_KNOWN
from impact_aware.nodes.impact_detector import ImpactDetectorNode
from impact_aware.nodes.jump_predictor import JumpPredictorNode
from impact_aware.nodes.reference_field import ReferenceFieldNode
from impact_aware.nodes.rs_controller import RsControllerNode
from impact_aware.resources import find_resource
from impact_aware.robot import RobotModel
from impact_aware.ros.messages import ROS, stamp
from impact_aware.task import base_placement

Q = np.array([0.3, -0.5, 0.2, -2.0, 0.4, 1.4, 0.6])
# The tilted task's bases as rotations about world axes, by hand: roll first, yaw last.
ROTATIONS = {
    "left": pin.utils.rotate("z", np.pi / 6) @ pin.utils.rotate("x", np.pi / 9),
    "right": pin.utils.rotate("z", -np.pi / 6) @ pin.utils.rotate("y", np.pi / 9),
}
PLACES = {"left": np.array([0.0, 0.35, 0.0]), "right": np.array([0.0, -0.35, 0.0])}
BASES = {name: pin.SE3(turn, PLACES[name]) for name, turn in ROTATIONS.items()}
# The column stands askew between world and bases: the order of both transforms, and the way round of each, matter.
COLUMN = pin.SE3(pin.utils.rotate("y", 0.3) @ pin.utils.rotate("z", 1.1), np.array([-0.2, 0.05, 0.9]))

pytestmark = pytest.mark.usefixtures("tf")


def tree(**shifts) -> list[tuple[str, str, pin.SE3]]:
    """World, column and both mounts; a mount may be shifted, m."""
    links = [("world", "column", COLUMN)]
    for name, base in BASES.items():
        moved = pin.SE3(base.rotation, base.translation + shifts.get(name, np.zeros(3)))
        links.append(("column", f"{name}_mount", COLUMN.actInv(moved)))
    return links


@pytest.fixture(scope="module")
def task_file(tmp_path_factory):
    """The tilted grab, with its bases known to TF alone."""
    content = yaml.safe_load(find_resource("config", "tasks", "dual_arm_grab_tilted.yaml").read_text())
    for own in content["arms"]:
        del own["base_position"], own["base_rpy"]
        own["base_in_tf"] = f"{own['name']}_mount"
    path = tmp_path_factory.mktemp("task") / "cell.yaml"
    path.write_text(yaml.safe_dump(content))
    return path


@pytest.fixture(scope="module")
def told_file(task_file):
    """The same with numbers beside the names; those of the left one are 15 mm off."""
    content = yaml.safe_load(task_file.read_text())
    content["arms"][0] |= {"base_position": [0.0, 0.335, 0.0], "base_rpy": [np.pi / 9, 0.0, np.pi / 6]}
    content["arms"][1] |= {"base_position": [0.0, -0.35, 0.0], "base_rpy": [0.0, np.pi / 9, -np.pi / 6]}
    path = task_file.with_name("told.yaml")
    path.write_text(yaml.safe_dump(content))
    return path


def tell(node, *links) -> None:
    """As if it came on /tf_static, and the node looked."""
    send(node, "/tf_static", transforms(*links))
    tick(node, 0.1)


def test_the_task_is_published_with_the_bases_where_tf_has_them(make, sent, task_file):
    node = make(ReferenceFieldNode, task=str(task_file))
    messages = sent(node, "task")
    tick(node, 0.1)
    assert not messages
    assert node.no_motion() == "the base of arm left is not known: TF has no frame 'world'"
    tell(node, *tree()[:2])
    assert node.no_motion() == "the base of arm right is not known: TF has no frame 'right_mount'"
    tell(node, *tree())
    (message,) = messages
    task, number = task_from_message(message)
    assert number == 1
    for arm, own in zip(node.arms, task.arms, strict=True):
        assert not own.base_in_tf
        np.testing.assert_allclose(base_placement(own).homogeneous, BASES[own.name].homogeneous, atol=1e-12)
        np.testing.assert_allclose(arm.base.homogeneous, BASES[own.name].homogeneous, atol=1e-12)
    for reference in sent(node, "reference_field")[-1].arms:
        position, turn = reference.base.position, reference.base.orientation
        np.testing.assert_allclose([position.x, position.y, position.z], BASES[reference.arm].translation, atol=1e-12)
        quaternion = pin.Quaternion(turn.w, turn.x, turn.y, turn.z)
        np.testing.assert_allclose(quaternion.toRotationMatrix(), ROTATIONS[reference.arm], atol=1e-12)
    assert node.no_motion() == ""


def test_the_frame_of_the_task_may_have_another_name_in_tf(make, task_file):
    node = make(ReferenceFieldNode, task=str(task_file), tf_base_frame="lab")
    renamed = [(parent.replace("world", "lab"), child, pose) for parent, child, pose in tree()]
    tell(node, *renamed)
    assert node.arms[1].base.isApprox(BASES["right"], 1e-12)


def test_a_base_elsewhere_than_the_task_s_numbers_is_refused(make, told_file):
    node = make(ReferenceFieldNode, task=str(told_file))
    tell(node, *tree())
    assert node.no_motion().startswith("the base of arm left stands 15.0 mm and 0.00 deg from where the task has it")
    level, said, _ = status(node)
    assert said.startswith("no motion may begin: the base of arm left stands 15.0 mm")
    response = call(node, "set_task", SetTask.Request())
    assert not response.success
    assert "base_in_tf: got" in response.message and "stands 15.0 mm" in response.message
    loose = make(ReferenceFieldNode, task=str(told_file), base_tolerance=0.02)
    tell(loose, *tree())
    assert loose.arms[0].base.isApprox(BASES["left"], 1e-12)


def test_numbers_hold_where_nothing_shall_be_looked_up(make, told_file, task_file):
    node = make(ReferenceFieldNode, task=str(told_file), bases_from_tf=False)
    assert "/tf" not in [own.topic_name for own in node.subscriptions]
    np.testing.assert_allclose(node.arms[0].base.translation, [0.0, 0.335, 0.0])
    with pytest.raises(InvalidInputError, match=r"arms\[left\].base_in_tf: got left_mount, expected base_position"):
        make(ReferenceFieldNode, task=str(task_file), bases_from_tf=False)


def test_a_base_with_which_the_task_is_impossible_is_said_and_not_tried_again(make, task_file):
    node = make(ReferenceFieldNode, task=str(task_file))
    far = [*tree()[:2], ("column", "right_mount", COLUMN.actInv(pin.SE3(np.eye(3), np.array([0.0, -3.0, 0.0]))))]
    tell(node, *far)
    assert node.no_motion().startswith("with the bases where TF has them: arms[right]")
    tell(node, *tree())
    assert node.no_motion().startswith("with the bases where TF has them: ")


def test_a_base_that_is_moved_lets_no_motion_begin(make, task_file):
    node = make(ReferenceFieldNode, task=str(task_file))
    tell(node, *tree())
    tell(node, tree(left=np.array([0.003, 0.0, -0.004]))[1])
    assert node.no_motion() == "the base of arm left stands 5.0 mm and 0.00 deg from where it was when the task began"
    response = call(node, "set_task", SetTask.Request())
    assert not response.success and "5.0 mm" in response.message
    assert node.live.task_number == 1
    tell(node, tree()[1])
    assert node.no_motion() == ""


def test_a_base_of_its_own_name_is_still_looked_at_through_what_carries_it(make, tmp_path):
    content = yaml.safe_load(find_resource("config", "tasks", "hit_and_push.yaml").read_text())
    content["arms"][0]["base_in_tf"] = "panda_link0"
    path = tmp_path / "cell.yaml"
    path.write_text(yaml.safe_dump(content | {"frame": "cell"}))
    node = make(ReferenceFieldNode, task=str(path))
    base = pin.SE3(pin.utils.rotate("z", 0.1), np.array([0.0, 0.03, -0.02]))
    links = [("cell", "column", COLUMN), ("column", "panda_link0", COLUMN.actInv(base))]
    tell(node, *links)
    assert node.arms[0].base.isApprox(base, 1e-12)
    assert node.no_motion() == ""
    tell(node, ("cell", "column", pin.SE3(COLUMN.rotation, COLUMN.translation + [0.0, 0.0, 0.004])))
    assert node.no_motion() == "the base stands 4.0 mm and 0.00 deg from where it was when the task began"


def test_another_task_has_the_same_bases(make, sent, task_file):
    node = make(ReferenceFieldNode, task=str(task_file))
    tell(node, *tree())
    messages = sent(node, "task")
    response = call(node, "set_task", SetTask.Request(has_object_mass=True, object_mass=1.7))
    assert response.success, response.message
    task, number = task_from_message(messages[-1])
    assert (number, task.object.mass) == (2, 1.7)
    assert base_placement(task.arms[1]).isApprox(BASES["right"], 1e-12)
    elsewhere = yaml.safe_load(task_file.read_text())["arms"]
    elsewhere[0]["base_in_tf"] = "column"
    response = call(node, "set_task", SetTask.Request(yaml=yaml.safe_dump({"arms": elsewhere})))
    expected = "expected 'left_mount' in 'world', as when this node started"
    assert response.message == f"base_in_tf: got 'column' in 'world', {expected}"
    # Numbers in the place of the name do, if they are the same.
    own = messages[-1].arms
    assert call(node, "set_task", SetTask.Request(arms=own)).success
    own[1].base.position.y = -0.36
    response = call(node, "set_task", SetTask.Request(arms=own))
    assert response.message.startswith("base_position: got ")


def tilted_gravity(name: str) -> np.ndarray:
    """Joint torques (n,) against gravity on the base of this name, from the model and by hand."""
    model = RobotModel.from_profile("panda").model.copy()
    model.gravity = pin.Motion(ROTATIONS[name].T @ [0.0, 0.0, -9.81], np.zeros(3))
    return pin.computeGeneralizedGravity(model, model.createData(), Q)


def test_all_nodes_have_the_base_of_the_task_and_nothing_before_it(make, sent, task_file):
    field = make(ReferenceFieldNode, task=str(task_file))
    named = {"base_from_task": True, "arm": "right"}
    contact = {"object_mass": 2.0, "normal": [0.0, 1.0, 0.0]}
    predictor = make(JumpPredictorNode, **named, **contact)
    detector = make(ImpactDetectorNode, robot="panda", normal=[0.0, 1.0, 0.0], joints=list("abcdefg"), **named)
    controller = make(RsControllerNode, bases_from_task=True, arms=["left", "right"])
    assert status(predictor)[1] == status(detector)[1] == NOT_KNOWN
    answer = call(predictor, "predict_post_impact", PredictPostImpact.Request())
    assert answer.message.startswith("base: got nothing, expected that of a task: no task with")
    controller.trigger_configure()
    assert controller.session is None
    messages = sent(field, "task")
    tell(field, *tree())
    (message,) = messages
    send(predictor, "task", message)
    send(detector, "task", message)
    send(controller, "task", message)
    controller.trigger_configure()
    for robot in (predictor.predictor.robot, detector._robot, controller.session.robots[1]):
        np.testing.assert_allclose(robot.gravity(Q), tilted_gravity("right"), atol=1e-10)
    np.testing.assert_allclose(controller.session.robots[0].gravity(Q), tilted_gravity("left"), atol=1e-10)
    assert predictor._base.isApprox(BASES["right"], 1e-12)
    for own, name in zip(controller.session.bases, BASES, strict=True):
        assert own.isApprox(BASES[name], 1e-12)
    outward = ROTATIONS["right"].T @ [0.0, -1.0, 0.0]
    np.testing.assert_allclose(predictor.predictor.contact.normal, outward, atol=1e-11)
    np.testing.assert_allclose(detector.watch.normal, outward, atol=1e-11)
    send(controller, "reference_field", field_to_message(field.live.field, 0.0, ROS))
    assert controller.session.field is not None and not controller.connections.refused_field
    answer = call(predictor, "predict_post_impact", PredictPostImpact.Request(position=Q, velocity=np.zeros(7)))
    assert answer.success, answer.message


def test_the_detector_goes_on_counting_on_another_base(make, sent, task_file):
    """As when `reference_field` was started anew, with the arm mounted elsewhere."""
    field = make(ReferenceFieldNode, task=str(task_file))
    messages = sent(field, "task")
    tell(field, *tree())
    detector = make(ImpactDetectorNode, robot="panda", arm="left", joints=list("abcdefg"), base_from_task=True)
    detector.watch.sequence = 5
    send(detector, "task", messages[0])
    assert detector.watch.sequence == 5
    assert detector.watch._robot is detector._robot
    before = detector.watch
    send(detector, "task", messages[0])
    assert detector.watch is before


def test_no_states_are_watched_on_an_unknown_base(make, task_file):
    detector = make(ImpactDetectorNode, robot="panda", joints=list("abcdefg"), base_from_task=True, lockstep=True)
    answered = []
    detector._lockstep = type("Answers", (), {"report": lambda self, stamp: answered.append(stamp)})()
    detector.watch = None
    detector._on_state(stamp(1.0))
    assert len(answered) == 1 and detector.watch is None
