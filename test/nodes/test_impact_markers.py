"""The node behind RViz: it keeps the latest, draws a few times a second, leaves nothing over, and sends the TF."""

from types import SimpleNamespace

import numpy as np
import pytest
from geometry_msgs.msg import Point, PoseWithCovarianceStamped, TransformStamped, Vector3
from impact_aware_msgs.msg import ContactImpulse, ImpactEvent, ImpactPrediction
from node_harness import upright
from rclpy.duration import Duration
from rclpy.publisher import Publisher
from rclpy.qos import ReliabilityPolicy
from scipy.spatial.transform import Rotation
from visualization_msgs.msg import Marker, MarkerArray

from impact_aware.errors import InvalidInputError
from impact_aware.messages.geometry import quaternion, vector
from impact_aware.messages.reference_field import field_to_message
from impact_aware.nodes import impact_markers
from impact_aware.nodes.impact_markers import ImpactMarkersNode
from impact_aware.robot import RobotModel
from impact_aware.ros.messages import ROS
from impact_aware.task import load_task, make_field

NORMALS = [(0.0, 1.0, 0.0), (0.0, 0.0, -1.0), (0.6, -0.8, 0.0)]
JOINTS = [f"panda_joint{number}" for number in range(1, 8)]


@pytest.fixture
def broadcast(monkeypatch):
    """Transforms that were sent by what stands in for tf2_ros, which wheels do not have."""
    sent: list[TransformStamped] = []
    stand_in = SimpleNamespace(sendTransform=sent.append)
    monkeypatch.setattr(impact_markers, "TransformBroadcaster", lambda node: stand_in)
    return sent


@pytest.fixture
def markers(harness, broadcast):
    return harness(ImpactMarkersNode, namespace="/left")


def draw(markers, topic: str = "", *messages) -> list[MarkerArray]:
    """All that was drawn so far, when these came too."""
    if messages:
        markers.send(topic, *messages)
    markers.tick(0.1)
    return markers.sent("impact_markers")


def prediction(normal: tuple[float, ...] = NORMALS[0], **fields: object) -> ImpactPrediction:
    contact = ContactImpulse(
        frame="tool",
        point=Point(x=0.5, y=0.1, z=0.2),
        normal=Vector3(**dict(zip("xyz", normal, strict=True))),
        velocity_before=Vector3(y=-0.5),
        velocity_after=Vector3(x=0.1),
        impulse=Vector3(y=0.7),
        friction=0.3,
    )
    message = ImpactPrediction(valid=True, contacts=[contact], source=ImpactPrediction.SOURCE_AT_IMPACT)
    message.header.frame_id = "panda_link0"
    message.header.stamp.sec = 7
    message.joint_names = JOINTS
    message.position = [0.0, 0.2, 0.2, -2.4, -0.1, 2.6, 1.0]
    message.velocity_before = [0.1] * 7
    message.velocity_after = [0.05] * 7
    for name, value in fields.items():
        setattr(message, name, value)
    return message


def shown(arrays: list[MarkerArray]) -> dict[tuple[str, int], Marker]:
    """What a viewer has after these messages."""
    scene: dict[tuple[str, int], Marker] = {}
    for array in arrays:
        for marker in array.markers:
            if marker.action == Marker.DELETEALL:
                scene.clear()
            elif marker.action == Marker.DELETE:
                assert (marker.ns, marker.id) in scene, "only what is there can be deleted"
                del scene[marker.ns, marker.id]
            else:
                scene[marker.ns, marker.id] = marker
    return scene


@pytest.mark.parametrize("normal", NORMALS)
def test_the_contact_frame_stands_at_the_contact_with_z_along_the_normal(markers, broadcast, normal):
    draw(markers, "predicted_jumps", prediction(normal))
    (transform,) = broadcast
    assert transform.header.frame_id == "panda_link0"
    assert transform.header.stamp.sec == 7
    np.testing.assert_array_equal(vector(transform.transform.translation), [0.5, 0.1, 0.2])
    rotation = Rotation.from_quat(quaternion(transform.transform.rotation)).as_matrix()
    np.testing.assert_allclose(rotation[:, 2], normal, atol=1e-12)  # a few roundings of unit vectors
    assert np.linalg.det(rotation) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("namespace", "frame", "root"), [("/", "contact", "at_impact/"), ("/left", "left/contact", "left/at_impact/")]
)
def test_an_arm_has_a_contact_frame_and_namespaces_of_its_own_and_hears_what_is_for_all_arms(
    harness, broadcast, namespace, frame, root
):
    markers = harness(ImpactMarkersNode, namespace=namespace)
    namespaces = {marker.ns for marker in shown(draw(markers, "predicted_jumps", prediction())).values()}
    assert [transform.child_frame_id for transform in broadcast] == [frame]
    assert all(name.startswith(root) or name.endswith("legend") for name in namespaces)
    above = namespace != "/"
    assert all(markers.listens(topic) for topic in ("/reference_field", "reference_field"))
    assert markers.listens("/common_jumps") == above


def test_the_object_s_pose_is_drawn_from_a_best_effort_camera_too(markers):
    (own,) = [own for own in markers.node.subscriptions if own.topic_name == "/left/object_pose"]
    assert own.qos_profile.reliability == ReliabilityPolicy.BEST_EFFORT
    pose = PoseWithCovarianceStamped()
    pose.header.frame_id, pose.pose.pose.orientation.w = "camera", 1.0
    markers.send("reference_field", field_message())
    draw(markers, "object_pose", pose)
    (box,) = [own for (name, _), own in shown(markers.sent("impact_markers")).items() if name.endswith("/object")]
    assert box.header.frame_id == "camera"


def test_callbacks_only_keep_and_the_timer_draws(markers):
    for _ in range(50):
        markers.send("predicted_jumps", prediction(source=ImpactPrediction.SOURCE_LOOK_AHEAD, has_time_to_impact=True))
    assert markers.sent("impact_markers") == []
    draw(markers)
    count = len(markers.sent("impact_markers"))
    assert count > 0
    assert sum(name.endswith("look_ahead/contact") for name, _ in shown(markers.sent("impact_markers"))) == 1
    draw(markers)
    assert len(markers.sent("impact_markers")) == count, "nothing new, nothing told"


def test_a_viewer_that_comes_late_gets_the_whole_scene(markers, monkeypatch):
    markers.send("reference_field", field_message())
    markers.send("predicted_jumps", prediction())
    draw(markers, "object_pose", upright([0.0, 0.0, 0.0], "panda_link0"))
    early = shown(markers.sent("impact_markers"))
    assert any(name.endswith("post_field") or name.endswith("ante_field") for name, _ in early)
    markers.sent("impact_markers").clear()
    monkeypatch.setattr(Publisher, "get_subscription_count", lambda publisher: 1)
    draw(markers)
    assert shown(markers.sent("impact_markers")).keys() == early.keys()


def test_every_message_can_have_the_whole_scene(harness):
    """A viewer that jumps in a recording sees the last message before that time, and no other."""
    node = harness(ImpactMarkersNode, whole_scene=True)
    drawn = node.sent("impact_markers")
    draw(node, "predicted_jumps", prediction())
    draw(node, "reference_field", field_message())
    draw(node, "predicted_jumps", prediction(contacts=[]))
    draw(node)
    assert len(drawn) == 2, "nothing is published where nothing changed"
    assert shown(drawn[-1:]).keys() == shown(drawn).keys()
    assert {"at_impact/impulse", "field/ante_field"} <= {name for name, _ in shown(drawn[-1:])}


def test_of_several_arms_the_common_impact_is_the_own_arms(markers):
    """The topic is one level above the arms and has a prediction for each of them."""
    draw(markers, "/common_jumps", prediction(arm="other"))
    assert shown(markers.sent("impact_markers")) == {}
    draw(markers, "/common_jumps", prediction(arm="left"))
    assert any(item.endswith("at_impact/impulse") for item, _ in shown(markers.sent("impact_markers")))


def test_what_goes_while_a_viewer_comes_goes_for_those_who_were_there(markers, monkeypatch):
    draw(markers, "predicted_jumps", prediction(contacts=prediction().contacts * 2))
    markers.send("predicted_jumps", prediction())
    monkeypatch.setattr(Publisher, "get_subscription_count", lambda publisher: 1)
    draw(markers)
    assert sum(name.endswith("at_impact/contact") for name, _ in shown(markers.sent("impact_markers"))) == 1


def test_a_replay_that_begins_again_begins_with_an_empty_scene(markers):
    draw(markers, "predicted_jumps", prediction())
    now = markers.node.get_clock().now()
    markers.node.get_clock = lambda: SimpleNamespace(now=lambda: now - Duration(seconds=10.0))
    assert shown(draw(markers)) == {}


def test_the_first_look_of_the_detector_becomes_the_velocity_as_it_turned_out(markers):
    event = ImpactEvent(kind=ImpactEvent.KIND_CONTACT_MADE, joint_names=JOINTS, velocity_after=[0.04] * 7)
    event.header.stamp.sec = 7
    markers.send("impacts", event)
    markers.send("impacts", ImpactEvent(kind=ImpactEvent.KIND_CONTACT_COMPLETE))
    draw(markers, "predicted_jumps", prediction())
    names = {name.rpartition("/")[2] for name, _ in shown(markers.sent("impact_markers"))}
    assert "velocity_estimated" in names and not any(name.startswith("joint_") for name in names)


def test_a_prediction_without_joints_is_drawn_by_what_its_contact_says(markers):
    draw(markers, "predicted_jumps", prediction(joint_names=[], position=[], velocity_before=[], velocity_after=[]))
    names = {name.rpartition("/")[2] for name, _ in shown(markers.sent("impact_markers"))}
    assert {"velocity_before", "impulse"} <= names


def test_without_tf2_ros_it_draws_all_the_same(harness, monkeypatch):
    monkeypatch.setattr(impact_markers, "TransformBroadcaster", None)
    node = harness(ImpactMarkersNode)
    assert shown(draw(node, "predicted_jumps", prediction()))


def field_message():
    field = make_field(load_task("hit_and_push"), [RobotModel.from_profile("panda")])
    return field_to_message(field, 1.0, ROS)


def test_frames_of_an_arm_get_its_prefix_in_markers_and_tf(harness, broadcast):
    node = harness(ImpactMarkersNode, arm="left", frame_prefix="left/")
    node.send("predicted_jumps", prediction())
    node.send("object_pose", upright([0.25, 0.0, 0.0], "world", 5.0))
    draw(node, "reference_field", field_message())
    scene = shown(node.sent("impact_markers"))
    frames = {name.partition("/")[2]: marker.header.frame_id for (name, _), marker in scene.items()}
    assert frames["at_impact/impulse"] == "left/panda_link0"
    box = next(marker for (name, _), marker in scene.items() if name.endswith("/object"))
    assert (box.header.frame_id, box.header.stamp.sec) == ("world", 5)
    assert np.mean([corner.x for corner in box.points]) == pytest.approx(0.25)
    (transform,) = broadcast
    assert transform.header.frame_id == "left/panda_link0"


def test_a_plants_truth_is_no_contact_frame(markers, broadcast):
    draw(markers, "predicted_jumps", prediction(source=ImpactPrediction.SOURCE_PLANT))
    assert broadcast == []


def test_settings_reach_the_style_and_a_position_needs_three_numbers():
    changed = impact_markers.Settings(
        ghost_time=0.9,
        legend_position=[4.0, 5.0, 6.0],
        legend=False,
    )
    style = changed.style()
    assert style.ghost_time == 0.9
    assert style.legend_position == (4.0, 5.0, 6.0)
    assert not style.legend
    assert style.impulse_scale == impact_markers.MarkerStyle().impulse_scale
    with pytest.raises(InvalidInputError, match="parameter legend_position"):
        impact_markers.Settings(legend_position=[1.0, 2.0]).style()
