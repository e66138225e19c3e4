"""What RViz gets: arrows that start at the contact, and a contact frame whose z axis is the normal."""

from __future__ import annotations

import numpy as np
import pytest
from geometry_msgs.msg import Point, TransformStamped, Vector3
from impact_aware_msgs.msg import ContactImpulse, ImpactPrediction
from scipy.spatial.transform import Rotation
from visualization_msgs.msg import Marker, MarkerArray

from impact_aware.nodes import impact_markers
from impact_aware.nodes.geometry import array3, array4
from impact_aware.nodes.impact_markers import ImpactMarkersNode

NORMALS = [(0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.0, 0.0, -1.0), (-1.0, 0.0, 0.0), (0.6, -0.8, 0.0)]


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
    yield node
    node.destroy_node()


def prediction(normal: tuple[float, ...] = NORMALS[0], **fields: object) -> ImpactPrediction:
    contact = ContactImpulse(
        point=Point(x=0.5, y=0.1, z=0.2),
        normal=Vector3(**dict(zip("xyz", normal, strict=True))),
        velocity_before=Vector3(y=-0.5),
        velocity_after=Vector3(x=0.1),
        impulse=Vector3(y=0.7),
    )
    message = ImpactPrediction(valid=True, contacts=[contact], source=ImpactPrediction.SOURCE_AT_IMPACT)
    message.header.frame_id = "panda_link0"
    message.header.stamp.sec = 7
    for name, value in fields.items():
        setattr(message, name, value)
    return message


@pytest.mark.parametrize("normal", NORMALS)
def test_the_contact_frame_stands_at_the_contact_with_z_along_the_normal(markers, normal):
    markers._on_prediction(prediction(normal))
    (transform,) = markers._broadcaster.sent
    assert transform.header.frame_id == "panda_link0"
    assert transform.header.stamp.sec == 7
    np.testing.assert_array_equal(array3(transform.transform.translation), [0.5, 0.1, 0.2])
    rotation = Rotation.from_quat(array4(transform.transform.rotation)).as_matrix()
    np.testing.assert_allclose(rotation[:, 2], normal, atol=1e-12)  # a few roundings of unit vectors
    assert np.linalg.det(rotation) == pytest.approx(1.0)


def test_two_arms_have_two_contact_frames(markers):
    markers._on_prediction(prediction())
    (transform,) = markers._broadcaster.sent
    expected = {"/": "contact", "/left": "left/contact"}
    assert transform.child_frame_id == expected[markers.get_namespace()]


def test_every_arrow_starts_at_the_contact_and_has_the_length_its_scale_says(markers):
    markers._on_prediction(prediction())
    (array,) = markers.drawn
    assert isinstance(array, MarkerArray)
    arrows = {marker.ns.rpartition("/")[2]: marker for marker in array.markers if marker.type == Marker.ARROW}
    assert set(arrows) == {"normal", "velocity_before", "velocity_after", "impulse"}
    lengths = {"velocity_before": [0.0, -0.5, 0.0], "velocity_after": [0.1, 0.0, 0.0], "impulse": [0.0, 0.7, 0.0]}
    scales = {"impulse": markers._settings.impulse_scale}
    for name, vector in lengths.items():
        start, end = (array3(point) for point in arrows[name].points)
        np.testing.assert_array_equal(start, [0.5, 0.1, 0.2])
        scale = scales.get(name, markers._settings.velocity_scale)
        np.testing.assert_allclose(end - start, scale * np.array(vector), atol=1e-15)  # one rounding


def test_no_two_markers_of_a_message_replace_each_other(markers):
    markers._on_prediction(prediction(contacts=prediction().contacts * 2))
    (array,) = markers.drawn
    keys = [(marker.ns, marker.id) for marker in array.markers]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("fields", [{"valid": False}, {"contacts": []}, {"source": ImpactPrediction.SOURCE_SERVICE}])
def test_what_is_no_impact_is_not_drawn(markers, fields):
    markers._on_prediction(prediction(**fields))
    assert markers.drawn == []
    assert markers._broadcaster.sent == []


def test_without_tf2_ros_it_draws_all_the_same(ros_context, monkeypatch):
    monkeypatch.setattr(impact_markers, "TransformBroadcaster", None)
    node = ImpactMarkersNode()
    drawn: list[MarkerArray] = []
    monkeypatch.setattr(node._publisher, "publish", drawn.append)
    node._on_prediction(prediction())
    node.destroy_node()
    assert len(drawn) == 1
