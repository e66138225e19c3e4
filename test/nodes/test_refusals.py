"""What a node can't use is counted on its diagnostics, by reason, and leaves what it had."""

import math

import numpy as np
import pytest
from geometry_msgs.msg import Point, Vector3
from impact_aware_msgs.msg import ContactImpulse, ImpactEvent, ImpactPrediction, ReferenceField
from impact_aware_msgs.srv import PredictPostImpact, SetTask
from node_harness import OK, WARN, upright

from impact_aware.messages.reference_field import field_from_message
from impact_aware.nodes.impact_detector import ImpactDetectorNode
from impact_aware.nodes.impact_markers import ImpactMarkersNode
from impact_aware.nodes.jump_predictor import JumpPredictorNode
from impact_aware.nodes.reference_field import ReferenceFieldNode
from impact_aware.robot import RobotModel
from impact_aware.task import load_task, start_posture

JOINTS = [f"panda_joint{number}" for number in range(1, 8)]


@pytest.mark.parametrize("kind", [JumpPredictorNode, ImpactMarkersNode, ReferenceFieldNode, ImpactDetectorNode])
def test_a_new_node_has_refused_nothing_and_warns_of_missing_states_only(harness, kind):
    node = harness(kind)
    level, sentence, _ = node.status()
    if kind in (JumpPredictorNode, ImpactDetectorNode):
        assert level == WARN and "no joint_states yet" in sentence
    else:
        assert level == OK
    assert node.refused() == {}


def test_the_predictor_keeps_the_place_of_the_object_when_another_is_not_finite(harness):
    node = harness(JumpPredictorNode, object_mass=1.0)
    node.send("object_pose", upright([0.6, 0.0, 0.1]), upright([math.nan, 0.0, 0.1]))
    request = PredictPostImpact.Request(position=[0.0, -0.8, 0.0, -2.3, 0.0, 1.5, 0.8], velocity=[0.1] * 7)
    request.details = request.DETAILS_WHOLE
    (prediction,) = node.call("predict_post_impact", request).prediction
    assert prediction.object_position == Point(x=0.6, y=0.0, z=0.1)
    assert node.refused() == {"object_pose not usable": 1} and node.status()[0] == WARN


def test_a_detection_far_from_the_object_is_left_out_and_counted_without_a_warning(harness):
    node, task, robot = harness(ReferenceFieldNode), load_task("hit_and_push"), RobotModel.from_profile("panda")
    fields = node.sent("reference_field")
    own = field_from_message(fields[-1]).arms[0]
    for number, (distance, left_out) in enumerate(((0.25, 1), (0.11, 2), (0.02, 2)), 1):
        posture = start_posture(task.arms[0], robot, tuple(own.impact_position + distance * own.normal))
        event = ImpactEvent(sequence=number, joint_names=robot.joint_names, position=posture)
        event.velocity_before = [0.1] * robot.n
        revision = fields[-1].revision
        node.send("impacts", event)
        level, _, values = node.status()
        assert (level, values["impacts_elsewhere"], values["refused"]) == (OK, str(left_out), "0")
        assert fields[-1].revision == revision + (left_out < number)


def test_the_field_counts_what_can_not_be_true_by_reason_and_altogether(harness):
    node = harness(ReferenceFieldNode)
    node.send("object_pose", upright([math.inf, 0.0, 0.1]), upright([30.0, 0.0, 0.1]))
    node.send("impacts", ImpactEvent(joint_names=["elbow"], position=[0.0]))
    fast = ImpactPrediction(valid=True, source=ImpactPrediction.SOURCE_LOOK_AHEAD)
    fast.has_object, fast.object = True, "juice_pack"
    fast.object_twist_after.linear.y = -1000.0
    node.send("predicted_jumps", fast)
    # A request that can't be met is no reason for a warning: its client knows.
    level = node.status()[0]
    for fields in ({"task": "dance"}, {"yaml": "{"}):
        assert not node.call("set_task", SetTask.Request(**fields)).success
    assert node.refused() == {
        "object_pose not usable": 1,
        "object_pose makes the task impossible": 1,
        "impact not usable": 1,
        "prediction implausible": 1,
        "request": 2,
    }
    assert (node.status()[0], node.status()[2]["refused"]) == (WARN, "6") and level == WARN


def drawn_prediction(**contact):
    touch = ContactImpulse(**{"normal": Vector3(y=1.0), "friction": 0.3, **contact})
    return ImpactPrediction(valid=True, contacts=[touch], source=ImpactPrediction.SOURCE_AT_IMPACT)


def test_the_markers_count_what_they_leave_out(harness):
    node = harness(ImpactMarkersNode)
    node.send("predicted_jumps", drawn_prediction(normal=Vector3(x=math.nan)))
    node.send("object_pose", upright([math.nan, 0.0, 0.1]))
    node.send("reference_field", ReferenceField())
    node.send("impacts", ImpactEvent(joint_names=JOINTS, velocity_after=[0.0, math.inf]))
    node.tick(0.1)
    assert node.refused() == {
        "prediction not usable": 1,
        "object_pose not usable": 1,
        "reference_field not usable": 1,
        "impact not usable": 1,
    }
    assert node.status()[:2] == (WARN, "left out what can't be drawn")


def test_the_markers_don_t_count_what_is_only_not_drawn(harness):
    """A prediction that says that there is none, an answer to a client, an event without a look at the velocity."""
    node, answer = harness(ImpactMarkersNode), drawn_prediction()
    answer.source = ImpactPrediction.SOURCE_SERVICE
    node.send("predicted_jumps", ImpactPrediction(valid=False), answer, drawn_prediction())
    node.send("object_pose", upright([0.5, 0.0, 0.1]))
    node.send("impacts", ImpactEvent(joint_names=JOINTS))
    node.tick(0.1)
    assert node.status()[:2] == (OK, "drawing") and node.refused() == {}


def test_the_detector_counts_valid_predictions_without_a_usable_jump(harness):
    node, source = harness(ImpactDetectorNode, joints=JOINTS), ImpactPrediction.SOURCE_LOOK_AHEAD
    node.send("predicted_jumps", ImpactPrediction(source=source, valid=False))
    assert node.refused() == {}
    elbow = ImpactPrediction(source=source, valid=True, joint_names=["elbow"], velocity_after=np.ones(1))
    node.send("predicted_jumps", elbow)
    assert node.refused() == {"prediction not usable": 1}
