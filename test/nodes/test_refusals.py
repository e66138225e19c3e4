"""What a node can't use is counted on its diagnostics, by reason, and leaves what it had."""

from __future__ import annotations

import math

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import Point, PoseStamped, Vector3
from impact_aware_msgs.msg import ContactImpulse, ImpactEvent, ImpactPrediction, ReferenceField
from impact_aware_msgs.srv import SetTask

from impact_aware.nodes.impact_detector import ImpactDetectorNode
from impact_aware.nodes.impact_markers import ImpactMarkersNode
from impact_aware.nodes.jump_predictor import JumpPredictorNode
from impact_aware.nodes.reference_field import ReferenceFieldNode
from impact_aware.nodes.ros.diagnostics import refusals
from impact_aware.robot import JointOrder
from impact_aware.task import load_task, start_posture

JOINTS = [f"panda_joint{number}" for number in range(1, 8)]


def pose(x: float) -> PoseStamped:
    message = PoseStamped()
    message.pose.position = Point(x=x, y=0.0, z=0.1)
    message.pose.orientation.w = 1.0
    return message


def refused(node) -> dict[str, object]:
    """What the node's status says that it refused."""
    return {key.removeprefix("refused: "): n for key, n in node._status()[2].items() if key.startswith("refused: ")}


@pytest.fixture(params=[JumpPredictorNode, ImpactMarkersNode, ReferenceFieldNode, ImpactDetectorNode])
def any_node(ros_context, request):
    node = request.param()
    yield node
    node.destroy_node()


def make(kind):
    @pytest.fixture
    def fixture(ros_context):
        node = kind()
        yield node
        node.destroy_node()

    return fixture


predictor, markers, field_node, detector = map(
    make, (JumpPredictorNode, ImpactMarkersNode, ReferenceFieldNode, ImpactDetectorNode)
)


def test_reasons_become_names_of_values():
    assert refusals({"late": 2, "of another robot": 1}) == {"refused: late": 2, "refused: of another robot": 1}


def test_a_new_node_has_refused_nothing_and_warns_of_missing_states_only(any_node):
    level, sentence, _ = any_node._status()
    if isinstance(any_node, (JumpPredictorNode, ImpactDetectorNode)):
        assert level == DiagnosticStatus.WARN and "no joint_states yet" in sentence
    else:
        assert level == DiagnosticStatus.OK
    assert refused(any_node) == {}


def test_the_predictor_keeps_the_place_of_the_object_when_another_is_not_finite(predictor):
    predictor._object.receive(pose(0.6))
    predictor._object.receive(pose(math.nan))
    np.testing.assert_array_equal(predictor._predictor.object_position, [0.6, 0.0, 0.1])
    assert refused(predictor) == {"object_pose not usable": 1}
    assert predictor._status()[0] == DiagnosticStatus.WARN


def test_the_predictor_waits_for_a_robot_in_so_many_words(ros_context, monkeypatch):
    monkeypatch.setattr("impact_aware.nodes.jump_predictor.provide_robot", lambda *arguments: None)
    node = JumpPredictorNode()
    assert node._status() == (DiagnosticStatus.WARN, "waiting for robot_description", {})
    node.destroy_node()


def test_a_detection_far_from_the_object_is_left_out_and_counted_without_a_warning(field_node):
    robot, own = field_node._arms[0].robot, field_node._live.field.arms[0]
    task = load_task("hit_and_push")
    for number, (distance, left_out) in enumerate(((0.25, 1), (0.11, 2), (0.02, 2)), 1):
        posture = start_posture(task.arms[0], robot, tuple(own.impact_position + distance * own.normal))
        event = ImpactEvent(sequence=number, joint_names=robot.joint_names, position=posture)
        event.velocity_before = [0.1] * robot.n
        revision = field_node._live.field.revision
        field_node._on_impact(0, event)
        level, _, values = field_node._status()
        assert (level, values["impacts_elsewhere"], values["refused"]) == (DiagnosticStatus.OK, left_out, 0)
        assert field_node._live.field.revision == revision + (left_out < number)


def test_the_field_counts_what_can_not_be_true_by_reason_and_altogether(field_node):
    field_node._object.receive(pose(math.inf))
    field_node._object.receive(pose(30.0))
    field_node._on_impact(0, ImpactEvent(joint_names=["elbow"], position=[0.0]))
    fast = ImpactPrediction(valid=True, object="juice_pack", source=ImpactPrediction.SOURCE_LOOK_AHEAD)
    fast.object_twist_after.linear.y = -1000.0
    field_node._on_prediction(0, fast)
    field_node._on_set_task(SetTask.Request(task="dance"), SetTask.Response())
    assert refused(field_node) == {
        "object_pose not usable": 1,
        "object_pose makes the task impossible": 1,
        "impact not usable": 1,
        "prediction implausible": 1,
        "request": 1,
    }
    level, _, values = field_node._status()
    assert (level, values["refused"]) == (DiagnosticStatus.WARN, 5)


def test_a_request_that_can_not_be_met_is_counted_without_a_warning(field_node):
    field_node._on_set_task(SetTask.Request(yaml="{"), SetTask.Response())
    assert refused(field_node) == {"request": 1}
    assert field_node._status()[0] == DiagnosticStatus.OK


def drawn_prediction(**contact: object) -> ImpactPrediction:
    touch = ContactImpulse(**{"normal": Vector3(y=1.0), "friction": 0.3, **contact})
    return ImpactPrediction(valid=True, contacts=[touch], source=ImpactPrediction.SOURCE_AT_IMPACT)


def test_the_markers_count_what_they_leave_out(markers):
    markers._on_impact(drawn_prediction(normal=Vector3(x=math.nan)))
    markers._keep("object")(pose(math.nan))
    markers._keep("field")(ReferenceField())
    markers._on_event(ImpactEvent(joint_names=JOINTS, velocity_after=[0.0, math.inf]))
    markers._draw()
    assert refused(markers) == {
        "prediction not usable": 1,
        "object_pose not usable": 1,
        "reference_field not usable": 1,
        "impact not usable": 1,
    }
    assert markers._status()[:2] == (DiagnosticStatus.WARN, "left out what can't be drawn")


def test_the_markers_don_t_count_what_is_only_not_drawn(markers):
    """A prediction that says that there is none, an answer to a client, an event without a look at the velocity."""
    markers._on_impact(ImpactPrediction(valid=False))
    answer = drawn_prediction()
    answer.source = ImpactPrediction.SOURCE_SERVICE
    markers._on_impact(answer)
    markers._on_impact(drawn_prediction())
    markers._keep("object")(pose(0.5))
    markers._on_event(ImpactEvent(joint_names=JOINTS))
    markers._draw()
    assert markers._status() == (DiagnosticStatus.OK, "drawing", {})


def test_the_detector_counts_valid_predictions_without_a_usable_jump(detector):
    detector._order = JointOrder(JOINTS)
    detector._watch = detector._make_watch(len(JOINTS))
    source = ImpactPrediction.SOURCE_LOOK_AHEAD
    detector._on_prediction(ImpactPrediction(source=source, valid=False))
    detector._on_prediction(ImpactPrediction(source=source, valid=True, joint_names=["elbow"]))
    assert refused(detector) == {"prediction not usable": 1}
