"""ImpactPrediction to and from ROS' classes and a recording's, with numbers that no two fields share."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
from impact_aware_msgs.msg import ContactImpulse as ContactMessage
from impact_aware_msgs.msg import ImpactPrediction
from impact_aware_msgs.srv import PredictPostImpact
from rclpy.serialization import deserialize_message, serialize_message

from impact_aware.bags.message_types import RECORDED, annotation_types
from impact_aware.contact import Contact
from impact_aware.contact.box import homogeneous_box
from impact_aware.impact import predict
from impact_aware.impact.uncertainty import InputCovariance, predict_with_covariance
from impact_aware.messages.impact_prediction import (
    INERTIAS,
    MODES,
    SOURCES,
    TYPE,
    drawable_impact,
    expected_jump,
    impact_from_message,
    impact_to_message,
    predicted_impact,
)
from impact_aware.records import ContactImpulse, Impact
from impact_aware.robot import JointOrder, RobotModel
from impact_aware.robot.model import INERTIA_CHOICES
from impact_aware.ros.messages import ROS

ROBOT = RobotModel.from_profile("panda")

CONTACT = ContactImpulse(
    frame="tool",
    obstacle="box",
    point=np.array([0.1, 0.2, 0.3]),
    normal=np.array([0.6, -0.8, 0.0]),
    impulse=np.array([1.1, 1.2, 1.3]),
    impulse_covariance=np.arange(9.0).reshape(3, 3),
    velocity_before=np.array([2.1, 2.2, 2.3]),
    velocity_after=np.array([3.1, 3.2, 3.3]),
    friction=0.31,
    restitution=0.42,
    effective_mass=4.7,
    mode="slide",
)
IMPACT = Impact(
    source="estimate",
    time=1_750_000_001.25,
    arm="left",
    frame="left_link0",
    event_sequence=7,
    method="coulomb",
    inertia="M+B_theta",
    joint_names=("a", "b"),
    position=np.array([0.11, 0.12]),
    velocity_before=np.array([0.21, 0.22]),
    velocity_after=np.array([0.31, 0.32]),
    covariance=np.array([[1.0, 0.2], [0.3, 4.0]]),
    mode_may_change=True,
    estimated=np.array([0.41, 0.42]),
    estimated_error=np.array([0.51, 0.52]),
    contacts=(CONTACT, dataclasses.replace(CONTACT, mode="stick", frame="pad", impulse_covariance=None)),
    object="parcel",
    predicted_mass=1.7,
    object_position=np.array([0.61, 0.62, 0.63]),
    object_twist_before=np.arange(6.0) + 0.1,
    object_twist_after=np.arange(6.0) - 0.2,
    energy_loss=0.9,
    unique=False,
    other_energy_losses=(0.8, 1.1),
    time_to_impact=0.125,
    valid=True,
    reason="because",
)


def through_ros(impact: Impact) -> ImpactPrediction:
    return deserialize_message(serialize_message(impact_to_message(impact, ROS)), ImpactPrediction)


def through_recording(impact: Impact):
    store = annotation_types()
    return store.deserialize_cdr(RECORDED.serialize(impact_to_message(impact, RECORDED), TYPE), TYPE)


def check_equal(mine, theirs) -> None:
    for field in dataclasses.fields(mine):
        one, other = getattr(mine, field.name), getattr(theirs, field.name)
        if field.name == "contacts":
            assert len(one) == len(other)
            for left, right in zip(one, other, strict=True):
                check_equal(left, right)
        else:
            np.testing.assert_array_equal(one, other, err_msg=field.name)


@pytest.mark.parametrize("through", [through_ros, through_recording])
def test_every_field_comes_back(through):
    check_equal(impact_from_message(through(IMPACT)), IMPACT)


@pytest.mark.parametrize("through", [through_ros, through_recording])
def test_what_is_not_known_stays_so(through):
    bare = Impact(source="service", time=2.0, valid=False, reason="no robot", time_to_impact=-1.0)
    check_equal(impact_from_message(through(bare)), bare)


def test_what_recordings_of_earlier_versions_lack_has_its_default():
    fields = vars(through_recording(IMPACT))
    for name in ("task_number", "object_mass", "unique", "other_energy_losses"):
        del fields[name]
    found = impact_from_message(SimpleNamespace(**fields))
    assert (found.task_number, found.predicted_mass, found.unique, found.other_energy_losses) == (0, 0.0, True, ())


def test_fields_are_those_of_the_message():
    message = through_ros(IMPACT)
    assert (message.source, message.event_sequence, message.arm) == (ImpactPrediction.SOURCE_ESTIMATE, 7, "left")
    assert (message.header.stamp.sec, message.header.stamp.nanosec) == (1_750_000_001, 250_000_000)
    assert message.header.frame_id == "left_link0"
    assert list(message.velocity_after_covariance) == [1.0, 0.2, 0.3, 4.0]
    assert list(message.velocity_estimated) == [0.41, 0.42] and list(message.velocity_estimated_error) == [0.51, 0.52]
    assert (message.contacts[0].mode, message.contacts[1].mode) == (1 + 1, 1)
    twist = message.object_twist_after
    assert [twist.linear.x, twist.linear.y, twist.linear.z] == pytest.approx([-0.2, 0.8, 1.8])
    assert [twist.angular.x, twist.angular.y, twist.angular.z] == pytest.approx([2.8, 3.8, 4.8])
    assert message.has_time_to_impact and message.has_object
    assert (message.energy_loss, message.time_to_impact.nanosec) == (0.9, 125_000_000)
    assert message.inertia == ImpactPrediction.INERTIA_M_B_THETA


def test_numbers_are_those_of_the_definitions():
    assert {name: getattr(ImpactPrediction, f"SOURCE_{name.upper()}") for name in SOURCES} == SOURCES
    named = {name: getattr(ContactMessage, f"MODE_{name.upper()}") for name in MODES if name}
    assert named | {"": ContactMessage.MODE_UNKNOWN} == MODES
    constant = {name: f"INERTIA_{name.upper().replace('+', '_') or 'UNKNOWN'}" for name in INERTIAS}
    assert {name: getattr(ImpactPrediction, constant[name]) for name in INERTIAS} == INERTIAS
    assert INERTIAS.keys() == {"", *INERTIA_CHOICES}
    assert all(getattr(PredictPostImpact.Request, constant[name]) == INERTIAS[name] for name in INERTIA_CHOICES)


def test_a_covariance_or_estimate_of_another_size_is_left_out():
    message = through_ros(IMPACT)
    message.velocity_after_covariance, message.velocity_estimated = [1.0, 2.0, 3.0], [1.0]
    message.contacts[0].impulse_covariance = [1.0]
    read = impact_from_message(message)
    assert read.covariance is None and read.estimated is None and read.contacts[0].impulse_covariance is None


def plausible(**changes) -> bool:
    return dataclasses.replace(IMPACT, **changes).plausible


def contact(**changes) -> dict[str, object]:
    return {"contacts": (dataclasses.replace(CONTACT, **changes),)}


@pytest.mark.parametrize(
    "changes",
    [
        {"position": np.zeros(3)},
        {"velocity_before": np.array([0.0, np.nan])},
        {"velocity_after": np.array([np.inf, 0.0])},
        {"covariance": np.full((2, 2), np.nan)},
        {"estimated": np.full(2, np.nan)},
        {"object_position": np.array([0.0, np.nan, 0.0])},
        {"object_twist_before": np.full(6, np.inf)},
        {"object_twist_after": np.full(6, np.nan)},
        contact(normal=np.array([0.6, -0.8, 0.05])),
        contact(normal=np.zeros(3)),
        contact(point=np.array([0.0, 0.0, np.nan])),
        contact(impulse=np.array([np.inf, 0.0, 0.0])),
        contact(velocity_before=np.full(3, np.nan)),
        contact(velocity_after=np.full(3, np.nan)),
        contact(friction=-0.1),
        contact(friction=np.nan),
        contact(effective_mass=np.inf),
        contact(impulse_covariance=np.full((3, 3), np.nan)),
    ],
)
def test_nonsense_is_not_plausible(changes):
    assert IMPACT.plausible
    assert not plausible(**changes)
    assert drawable_impact(through_ros(dataclasses.replace(IMPACT, **changes))) is None


def test_joint_arrays_may_be_empty():
    assert plausible(position=np.zeros(0), velocity_before=np.zeros(0), velocity_after=np.zeros(0))


@pytest.mark.parametrize(
    ("changes", "drawn"),
    [
        ({"source": "look_ahead"}, True),
        ({"source": "at_impact"}, True),
        ({"source": "plant"}, True),
        ({"source": "service"}, False),
        ({"valid": False}, False),
        ({"contacts": ()}, False),
    ],
)
def test_what_concerns_everybody_and_touches_something_is_drawn(changes, drawn):
    assert (drawable_impact(through_ros(dataclasses.replace(IMPACT, **changes))) is not None) == drawn


def test_the_mass_of_the_object_is_the_momentum_over_the_velocity_it_takes_up():
    before, after = np.zeros(6), np.array([0.3, -0.4, 0.0, 9.0, 9.0, 9.0])
    pushed = [np.array([-0.2, 0.5, 0.1]), np.array([-0.4, 0.3, -0.1])]
    impact = dataclasses.replace(
        IMPACT,
        predicted_mass=0.0,
        object_twist_before=before,
        object_twist_after=after,
        contacts=tuple(dataclasses.replace(CONTACT, impulse=impulse) for impulse in pushed),
    )
    assert impact.object_mass == pytest.approx(2.0)
    assert dataclasses.replace(impact, object="").object_mass is None
    assert dataclasses.replace(impact, object_twist_after=before).object_mass is None
    assert dataclasses.replace(impact, object_twist_after=-after).object_mass is None, "pushed away, it can't come"


# What the library predicts


def made(obstacle=None, uncertain=None, **more) -> Impact:
    normal = np.array([0.0, 0.6, 0.8])
    touching = Contact("tool", normal, friction=0.25, restitution=0.35, radius=0.03)
    down = np.linalg.pinv(ROBOT.frame_jacobian(ROBOT.home)) @ np.array([0.1, -0.2, -0.5, 0.0, 0.0, 0.0])
    if uncertain is not None:
        uncertain = predict_with_covariance(ROBOT, ROBOT.home, down, touching, uncertain)
        outcome = uncertain.prediction
    else:
        outcome = predict(ROBOT, ROBOT.home, down, touching, obstacle=obstacle, inertia="M", method="coulomb")
    impact = predicted_impact(
        outcome,
        source="look_ahead",
        time=3.5,
        position=ROBOT.home + 0.01,
        arm="right",
        frame="base",
        joint_names=ROBOT.joint_names,
        time_to_impact=0.2,
        event_sequence=4,
        object_name="parcel",
        uncertain=uncertain,
        **more,
    )
    made.outcome = outcome
    return impact


def test_a_prediction_on_a_fixed_surface_is_copied_field_by_field():
    impact = made()
    outcome, (touch,) = made.outcome, impact.contacts
    assert (impact.source, impact.time, impact.arm, impact.frame) == ("look_ahead", 3.5, "right", "base")
    assert (impact.method, impact.inertia, impact.event_sequence) == ("coulomb", "M", 4)
    assert impact.joint_names == ROBOT.joint_names and impact.time_to_impact == 0.2
    np.testing.assert_array_equal(impact.position, ROBOT.home + 0.01)
    np.testing.assert_array_equal(impact.velocity_before, outcome.velocity_before)
    np.testing.assert_array_equal(impact.velocity_after, outcome.velocity_after)
    assert np.abs(outcome.velocity_after - outcome.velocity_before).max() > 0.1
    for name in ("point", "impulse"):
        np.testing.assert_array_equal(getattr(touch, name), getattr(outcome, name))
    np.testing.assert_array_equal(touch.velocity_before, outcome.contact_velocity_before)
    np.testing.assert_array_equal(touch.velocity_after, outcome.contact_velocity_after)
    np.testing.assert_allclose(touch.normal, [0.0, 0.6, 0.8])
    assert (touch.frame, touch.friction, touch.restitution) == ("tool", 0.25, 0.35)
    assert (touch.effective_mass, touch.mode) == (outcome.effective_mass, str(outcome.mode))
    assert impact.energy_loss == outcome.energy_loss > 0.0
    assert (impact.object, touch.obstacle, impact.covariance, impact.mode_may_change) == ("", "", None, False)


def test_a_free_object_goes_with_its_twists():
    box = homogeneous_box(1.3, [0.1, 0.2, 0.3], [0.5, -0.3, 0.2], twist=np.arange(6.0) * 1e-3)
    impact = made(box)
    assert (impact.object, impact.contacts[0].obstacle) == ("parcel", "parcel")
    np.testing.assert_array_equal(impact.object_position, box.position)
    np.testing.assert_array_equal(impact.object_twist_before, box.twist)
    np.testing.assert_array_equal(impact.object_twist_after, made.outcome.object_twist_after)
    assert impact.object_mass == 1.3


def test_the_spread_goes_with_a_prediction_that_has_one():
    impact = made(uncertain=InputCovariance(velocity=0.01**2, friction=0.05**2))
    assert impact.covariance.shape == (7, 7) and impact.contacts[0].impulse_covariance.shape == (3, 3)
    assert impact.covariance[0, 0] > 0.0


# What a detector compares with


JUMP = Impact(
    source="look_ahead",
    time=2.0,
    time_to_impact=0.25,
    event_sequence=3,
    joint_names=("c", "x", "a", "b"),
    velocity_before=np.array([0.3, 9.0, 0.1, 0.2]),
    velocity_after=np.array([0.0, 9.5, 0.5, 0.9]),
    covariance=np.diag([9.0, 1.0, 4.0, 16.0]),
    contacts=(CONTACT,),
)


def test_the_expected_jump_is_in_the_detectors_order():
    expected = expected_jump(JUMP, JointOrder(("a", "b", "c")))
    np.testing.assert_allclose(expected.jump, [0.4, 0.7, -0.3])
    np.testing.assert_allclose(expected.std, [2.0, 4.0, 3.0])
    np.testing.assert_array_equal(expected.normal, CONTACT.normal)
    assert (expected.time, expected.sequence) == (2.25, 3)


@pytest.mark.parametrize(
    "changes",
    [
        {"valid": False},
        {"joint_names": ("c", "x", "a", "y")},
        {"velocity_before": np.zeros(0)},
        {"velocity_after": np.array([0.0, 9.5, np.nan, 0.9])},
        {"velocity_after": JUMP.velocity_before},
    ],
)
def test_what_says_nothing_of_a_jump_is_not_expected(changes):
    assert expected_jump(dataclasses.replace(JUMP, **changes), JointOrder(("a", "b", "c"))) is None


def test_an_unknown_time_spread_or_normal_is_no_obstacle():
    bare = dataclasses.replace(JUMP, time_to_impact=-1.0, covariance=None, contacts=())
    expected = expected_jump(bare, JointOrder(("a", "b", "c")))
    assert (expected.time, expected.std, expected.normal) == (2.0, None, None)
    odd = dataclasses.replace(JUMP, covariance=np.diag([np.nan] * 4))
    assert expected_jump(odd, JointOrder(("a", "b", "c"))).std is None
    odd = dataclasses.replace(JUMP, contacts=(dataclasses.replace(CONTACT, normal=np.array([np.nan, 1.0, 0.0])),))
    assert expected_jump(odd, JointOrder(("a", "b", "c"))).normal is None
