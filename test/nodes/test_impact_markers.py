"""The node behind RViz: it keeps the latest, draws a few times a second, leaves nothing over, and sends the TF."""

from __future__ import annotations

import numpy as np
import pytest
from geometry_msgs.msg import Point, PoseStamped, PoseWithCovarianceStamped, TransformStamped, Vector3
from impact_aware_msgs.msg import ContactImpulse, ImpactEvent, ImpactPrediction
from rclpy.qos import ReliabilityPolicy
from scipy.spatial.transform import Rotation
from visualization_msgs.msg import Marker, MarkerArray

from impact_aware.errors import InvalidInputError
from impact_aware.messages.geometry import quaternion, vector
from impact_aware.messages.reference_field import field_to_message
from impact_aware.nodes import impact_markers
from impact_aware.nodes.impact_markers import ImpactMarkersNode
from impact_aware.nodes.ros.messages import ROS
from impact_aware.robot import RobotModel
from impact_aware.task import load_task, make_field

NORMALS = [(0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.0, 0.0, -1.0), (-1.0, 0.0, 0.0), (0.6, -0.8, 0.0)]
JOINTS = [f"panda_joint{number}" for number in range(1, 8)]


class Broadcaster:
    """Stands in for tf2_ros, which wheels do not have."""

    sent: list[TransformStamped]

    def __init__(self, node) -> None:
        self.sent = []

    def sendTransform(self, transform: TransformStamped) -> None:  # noqa: N802 - the name is tf2_ros'
        self.sent.append(transform)


@pytest.fixture(params=["/", "/left"])
def markers(ros_context, monkeypatch, request):
    monkeypatch.setattr(impact_markers, "TransformBroadcaster", Broadcaster)
    monkeypatch.setattr(ImpactMarkersNode, "get_namespace", lambda self: request.param)
    node = ImpactMarkersNode()
    node.drawn = []
    monkeypatch.setattr(node._publisher, "publish", node.drawn.append)
    monkeypatch.setattr(node._publisher, "get_subscription_count", lambda: 0)
    yield node
    node.destroy_node()


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
def test_the_contact_frame_stands_at_the_contact_with_z_along_the_normal(markers, normal):
    markers._on_impact(prediction(normal))
    markers._draw()
    (transform,) = markers._broadcaster.sent
    assert transform.header.frame_id == "panda_link0"
    assert transform.header.stamp.sec == 7
    np.testing.assert_array_equal(vector(transform.transform.translation), [0.5, 0.1, 0.2])
    rotation = Rotation.from_quat(quaternion(transform.transform.rotation)).as_matrix()
    np.testing.assert_allclose(rotation[:, 2], normal, atol=1e-12)  # a few roundings of unit vectors
    assert np.linalg.det(rotation) == pytest.approx(1.0)


def test_two_arms_have_two_contact_frames_and_namespaces_of_their_own(markers):
    markers._on_impact(prediction())
    markers._draw()
    (transform,) = markers._broadcaster.sent
    expected = {"/": ("contact", "at_impact/"), "/left": ("left/contact", "left/at_impact/")}
    frame, root = expected[markers.get_namespace()]
    assert transform.child_frame_id == frame
    namespaces = {marker.ns for marker in shown(markers.drawn).values()}
    assert all(name.startswith(root) or name.endswith("legend") for name in namespaces)


def test_an_arm_also_hears_the_field_of_both(markers):
    heard = [own.topic_name for own in markers.subscriptions if own.topic_name.endswith("reference_field")]
    assert len(heard) == {"/": 1, "/left": 2}[markers.get_namespace()]


def test_the_object_s_pose_is_drawn_from_a_best_effort_camera_too(markers):
    (own,) = [own for own in markers.subscriptions if own.topic_name == "/object_pose"]
    assert own.qos_profile.reliability == ReliabilityPolicy.BEST_EFFORT
    pose = PoseWithCovarianceStamped()
    pose.header.frame_id, pose.pose.pose.position.x = "camera", 0.4
    markers._keep("object")(pose)
    markers._draw()
    frame, _, position, _ = markers._scene._object
    assert (frame, position[0]) == ("camera", 0.4)


def test_callbacks_only_keep_and_the_timer_draws(markers):
    for _ in range(50):
        markers._on_impact(prediction(source=ImpactPrediction.SOURCE_LOOK_AHEAD, has_time_to_impact=True))
    assert markers.drawn == []
    markers._draw()
    count = len(markers.drawn)
    assert count > 0
    contacts = [m for array in markers.drawn for m in array.markers if m.ns.endswith("look_ahead/contact")]
    assert len(contacts) == 1
    markers._draw()
    assert len(markers.drawn) == count, "nothing new, nothing told"


def test_no_two_markers_of_a_message_replace_each_other(markers):
    markers._on_impact(prediction(contacts=prediction().contacts * 2))
    markers._draw()
    for array in markers.drawn:
        keys = [(marker.ns, marker.id) for marker in array.markers]
        assert len(set(keys)) == len(keys)


def test_a_second_impact_with_fewer_contacts_leaves_nothing_of_the_first(markers):
    markers._on_impact(prediction(contacts=prediction().contacts * 2))
    markers._draw()
    assert sum(name.endswith("at_impact/contact") for name, _ in shown(markers.drawn)) == 2
    markers._on_impact(prediction())
    markers._draw()
    assert sum(name.endswith("at_impact/contact") for name, _ in shown(markers.drawn)) == 1


def test_what_was_ahead_is_taken_away_by_the_impact(markers):
    markers._on_impact(prediction(source=ImpactPrediction.SOURCE_LOOK_AHEAD))
    markers._draw()
    markers._on_impact(prediction())
    markers._draw()
    assert not any("look_ahead" in name for name, _ in shown(markers.drawn))


def test_a_viewer_that_comes_late_gets_the_whole_scene(markers, monkeypatch):
    markers._keep("field")(field_message())
    markers._on_impact(prediction())
    pose = PoseStamped()
    pose.header.frame_id = "panda_link0"
    pose.pose.orientation.w = 1.0
    markers._keep("object")(pose)
    markers._draw()
    early = shown(markers.drawn)
    assert any(name.endswith("post_field") or name.endswith("ante_field") for name, _ in early)
    markers.drawn.clear()
    monkeypatch.setattr(markers._publisher, "get_subscription_count", lambda: 1)
    markers._draw()
    assert shown(markers.drawn).keys() == early.keys()


def test_every_message_can_have_the_whole_scene(ros_context, monkeypatch):
    """A viewer that jumps in a recording sees the last message before that time, and no other."""
    settings = impact_markers.Settings(whole_scene=True)
    monkeypatch.setattr(impact_markers, "load_settings", lambda node, kind: settings)
    node = ImpactMarkersNode()
    drawn: list[MarkerArray] = []
    monkeypatch.setattr(node._publisher, "publish", drawn.append)
    node._on_impact(prediction())
    node._draw()
    node._keep("field")(field_message())
    node._draw()
    node._on_impact(prediction(contacts=[]))
    node._draw()
    node._draw()
    assert len(drawn) == 2, "nothing is published where nothing changed"
    assert shown(drawn[-1:]).keys() == shown(drawn).keys()
    assert {"at_impact/impulse", "field/ante_field"} <= {name for name, _ in shown(drawn[-1:])}
    node.destroy_node()


def test_of_several_arms_the_common_impact_is_the_own_arms(markers):
    """The topic is one level above the arms and has a prediction for each of them."""
    name = markers.get_namespace().strip("/")
    topics = [own.topic_name for own in markers.subscriptions]
    assert ("/common_jumps" in topics) == bool(name)
    markers._on_common(prediction(arm="other"))
    markers._draw()
    assert shown(markers.drawn) == {}
    markers._on_common(prediction(arm=name))
    markers._draw()
    assert any(item.endswith("at_impact/impulse") for item, _ in shown(markers.drawn))


def test_what_goes_while_a_viewer_comes_goes_for_those_who_were_there(markers, monkeypatch):
    markers._on_impact(prediction(contacts=prediction().contacts * 2))
    markers._draw()
    markers._on_impact(prediction())
    monkeypatch.setattr(markers._publisher, "get_subscription_count", lambda: 1)
    markers._draw()
    assert sum(name.endswith("at_impact/contact") for name, _ in shown(markers.drawn)) == 1


def test_a_replay_that_begins_again_begins_with_an_empty_scene(markers):
    markers._on_impact(prediction())
    markers._draw()
    markers._time += 10.0  # as if the clock had been there
    markers._draw()
    assert shown(markers.drawn) == {}


def test_the_first_look_of_the_detector_becomes_the_velocity_as_it_turned_out(markers):
    event = ImpactEvent(kind=ImpactEvent.KIND_CONTACT_MADE, joint_names=JOINTS, velocity_after=[0.04] * 7)
    event.header.stamp.sec = 7
    markers._on_event(event)
    markers._on_event(ImpactEvent(kind=ImpactEvent.KIND_CONTACT_COMPLETE))
    markers._on_impact(prediction())
    markers._draw()
    names = {name.rpartition("/")[2] for name, _ in shown(markers.drawn)}
    assert "velocity_estimated" in names and not any(name.startswith("joint_") for name in names)


@pytest.mark.parametrize("fields", [{"valid": False}, {"contacts": []}, {"source": ImpactPrediction.SOURCE_SERVICE}])
def test_what_is_no_impact_is_not_drawn(markers, fields):
    markers._on_impact(prediction(**fields))
    markers._draw()
    assert markers.drawn == []
    assert markers._broadcaster.sent == []


def _contact(**fields: object) -> list[ContactImpulse]:
    contact = prediction().contacts[0]
    for name, value in fields.items():
        setattr(contact, name, value)
    return [contact]


@pytest.mark.parametrize(
    "fields",
    [
        {"contacts": _contact(normal=Vector3())},
        {"contacts": _contact(point=Point(x=float("nan")))},
        {"contacts": _contact(friction=-1.0)},
        {"velocity_after": [float("inf")] * 7},
        {"velocity_before": [0.1] * 3},
    ],
    ids=["normal", "point", "friction", "infinite", "short"],
)
def test_nonsense_is_neither_drawn_nor_the_end_of_the_node(markers, fields):
    field = field_message()
    field.alpha = float("nan")
    pose = PoseStamped()
    pose.pose.orientation.w = 0.0
    markers._keep("field")(field)
    markers._keep("object")(pose)
    markers._on_impact(prediction(**fields))
    markers._draw()
    assert not any("at_impact" in name or name.endswith("object") for name, _ in shown(markers.drawn))


def test_a_prediction_without_joints_is_drawn_by_what_its_contact_says(markers):
    markers._on_impact(prediction(joint_names=[], position=[], velocity_before=[], velocity_after=[]))
    markers._draw()
    names = {name.rpartition("/")[2] for name, _ in shown(markers.drawn)}
    assert {"velocity_before", "impulse"} <= names and "joint_before" not in names


def test_without_tf2_ros_it_draws_all_the_same(ros_context, monkeypatch):
    monkeypatch.setattr(impact_markers, "TransformBroadcaster", None)
    node = ImpactMarkersNode()
    drawn: list[MarkerArray] = []
    monkeypatch.setattr(node._publisher, "publish", drawn.append)
    monkeypatch.setattr(node._publisher, "get_subscription_count", lambda: 0)
    node._on_impact(prediction())
    node._draw()
    node.destroy_node()
    assert shown(drawn)


def test_a_message_carries_what_its_description_says(markers):
    markers._on_impact(prediction())
    markers._draw()
    found = {name.rpartition("/")[2]: marker for (name, _), marker in shown(markers.drawn).items()}
    assert found["impulse"].type == Marker.ARROW
    assert len(found["friction_cone"].points) % 3 == 0
    assert found["mode"].type == Marker.TEXT_VIEW_FACING and "0.70 N s" in found["mode"].text
    assert found["impulse"].header.frame_id == "panda_link0"
    assert found["impulse"].header.stamp.sec == 7
    assert found["surface"].color.a == pytest.approx(0.25)
    for marker in found.values():
        assert marker.lifetime.sec == 0 and marker.lifetime.nanosec == 0


def field_message():
    field = make_field(load_task("hit_and_push"), [RobotModel.from_profile("panda")])
    return field_to_message(field, 1.0, ROS)


def test_frames_of_an_arm_get_its_prefix_in_markers_and_tf(ros_context, monkeypatch):
    settings = impact_markers.Settings(arm="left", frame_prefix="left/")
    monkeypatch.setattr(impact_markers, "TransformBroadcaster", Broadcaster)
    monkeypatch.setattr(impact_markers, "load_settings", lambda node, kind: settings)
    node = ImpactMarkersNode()
    drawn: list[MarkerArray] = []
    monkeypatch.setattr(node._publisher, "publish", drawn.append)
    node._on_impact(prediction())
    pose = PoseStamped()
    pose.header.frame_id, pose.header.stamp.sec = "world", 5
    pose.pose.position.x, pose.pose.orientation.w = 0.25, 1.0
    node._keep("object")(pose)
    node._keep("field")(field_message())
    node._draw()
    scene = shown(drawn)
    frames = {name.partition("/")[2]: marker.header.frame_id for (name, _), marker in scene.items()}
    assert frames["at_impact/impulse"] == "left/panda_link0"
    box = next(marker for (name, _), marker in scene.items() if name.endswith("/object"))
    assert (box.header.frame_id, box.header.stamp.sec) == ("world", 5)
    assert np.mean([corner.x for corner in box.points]) == pytest.approx(0.25)
    (transform,) = node._broadcaster.sent
    assert transform.header.frame_id == "left/panda_link0"
    node.destroy_node()


def test_a_plants_truth_is_no_contact_frame_and_an_impact_comes_after_what_was_ahead(markers):
    markers._on_impact(prediction(source=ImpactPrediction.SOURCE_PLANT))
    markers._draw()
    assert markers._broadcaster.sent == []
    markers._on_impact(prediction())
    markers._on_impact(prediction(source=ImpactPrediction.SOURCE_LOOK_AHEAD))
    markers._draw()
    assert not any("look_ahead" in name for name, _ in shown(markers.drawn)), "what was ahead has happened"


def test_settings_reach_the_style_and_a_position_needs_three_numbers():
    changed = impact_markers.Settings(
        velocity_scale=0.7,
        ghost_time=0.9,
        legend_position=[4.0, 5.0, 6.0],
        joint_chart=True,
        legend=False,
    )
    style = changed.style()
    assert (style.velocity_scale, style.ghost_time) == (0.7, 0.9)
    assert style.legend_position == (4.0, 5.0, 6.0)
    assert (style.joint_chart, style.legend) == (True, False)
    assert style.impulse_scale == impact_markers.MarkerStyle().impulse_scale
    with pytest.raises(InvalidInputError, match="parameter legend_position"):
        impact_markers.Settings(legend_position=[1.0, 2.0]).style()
