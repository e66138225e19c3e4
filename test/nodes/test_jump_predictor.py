"""What the predictor answers to a client."""

import numpy as np
import pytest
from impact_aware_msgs.msg import ContactImpulse, ImpactPrediction
from impact_aware_msgs.srv import PredictPostImpact
from predictor_arm import CONFIGURED, CONTACT, DOWN, HOME, NAMES, ROBOT, state

from impact_aware.contact.geometry import contact_point
from impact_aware.impact import predict
from impact_aware.messages.impact_prediction import MODES, impact_from_message
from impact_aware.nodes.jump_predictor import JumpPredictorNode
from impact_aware.ros.messages import stamp


@pytest.fixture
def ask(harness):
    """The answer to a request of the configured contact at HOME with DOWN, except for `fields`."""
    node = harness(JumpPredictorNode, **CONFIGURED | {"object_mass": 0.0})

    def ask(**fields):
        flags = {f"has_{name}": True for name in fields if name in ("friction", "restitution")}
        if "object_mass" in fields:
            flags["object"] = PredictPostImpact.Request.OBJECT_FREE
        request = PredictPostImpact.Request(**{"position": HOME, "velocity": DOWN} | fields | flags)
        return node.call("predict_post_impact", request)

    ask.node = node
    return ask


def whole(answer):
    assert answer.success, answer.message
    (prediction,) = answer.prediction
    return prediction


def test_the_answer_is_that_of_the_library(ask):
    answer = ask()
    expected = predict(ROBOT, HOME, DOWN, CONTACT, inertia="M")
    assert (answer.success, answer.message, answer.mode) == (True, "", MODES[expected.mode])
    np.testing.assert_array_equal(answer.velocity_after, expected.velocity_after)
    np.testing.assert_array_equal(answer.impulse, expected.impulse)
    assert answer.effective_mass == expected.effective_mass
    assert answer.joint_names == NAMES and not answer.prediction


def test_details_are_the_whole_prediction(ask):
    ask.node.send("joint_states", state(2.0))
    answer = ask(details=1)
    prediction = whole(answer)
    assert prediction.source == ImpactPrediction.SOURCE_SERVICE and prediction.header.stamp == stamp(2.0)
    np.testing.assert_array_equal(prediction.velocity_after, answer.velocity_after)
    np.testing.assert_array_equal(prediction.position, HOME)
    assert prediction.contacts[0].effective_mass == answer.effective_mass
    assert prediction.contacts[0].mode == ContactImpulse.MODE_SLIDE == answer.mode
    assert not len(prediction.velocity_after_covariance)


def test_a_request_replaces_only_what_it_gives(ask):
    request = PredictPostImpact.Request

    def contact(**fields):
        return whole(ask(details=1, **fields)).contacts[0]

    def point(**fields):
        place = contact(**fields).point
        return np.array([place.x, place.y, place.z])

    for given in ({}, {"friction": 0.1}, {"friction": 0.0}, {"restitution": 0.0}):
        expected = {"friction": 0.35, "restitution": 0.45} | given
        made = contact(**given)
        assert {"friction": made.friction, "restitution": made.restitution} == expected
    tip = contact_point(ROBOT, HOME, CONTACT)
    np.testing.assert_allclose(point(friction=0.1), tip, atol=1e-12)
    np.testing.assert_allclose(point(normal=[0.0, 0.0, 2.0]), tip + 0.02 * (CONTACT.normal - [0, 0, 1]), atol=1e-12)
    bare, moved = point(offset=[0.0] * 3), point(offset=[0.05, 0.0, 0.0])
    np.testing.assert_allclose(bare, tip + 0.02 * CONTACT.normal, atol=1e-12)
    np.testing.assert_allclose(moved - bare, 0.05 * ROBOT.placement(HOME).rotation[:, 0], atol=1e-12)
    assert contact(contact_frame="panda_link7").frame == "panda_link7" and contact().frame == "tool"
    assert whole(ask(details=1, inertia=request.INERTIA_M_B_THETA)).inertia == request.INERTIA_M_B_THETA
    assert whole(ask(details=1, method="frictionless")).method == "frictionless"


def test_only_a_free_object_is_named_as_the_obstacle(ask):
    fixed, free = whole(ask(details=1)), whole(ask(details=1, object_mass=1.0))
    assert (fixed.object, fixed.contacts[0].obstacle) == ("", "")
    assert (free.object, free.contacts[0].obstacle) == ("parcel", "parcel")


def test_a_request_chooses_between_the_configured_object_a_fixed_surface_and_a_free_object(harness):
    node, request = harness(JumpPredictorNode, **CONFIGURED | {"object_mass": 2.0}), PredictPostImpact.Request

    def object_of(**fields):
        made = whole(node.call("predict_post_impact", request(position=HOME, velocity=DOWN, details=1, **fields)))
        return impact_from_message(made).object_mass if made.has_object else None

    assert object_of() == object_of(object_mass=5.0) == pytest.approx(2.0)
    assert object_of(object=request.OBJECT_FIXED_SURFACE, object_mass=5.0) is None
    assert object_of(object=request.OBJECT_FREE, object_mass=5.0) == pytest.approx(5.0)


def test_joints_may_come_in_any_order_with_others_between_them(ask):
    names = [*reversed(NAMES), "panda_finger_joint1"]
    shuffled = ask(joint_names=names, position=[*HOME[::-1], 0.04], velocity=[*DOWN[::-1], 0.0])
    np.testing.assert_array_equal(shuffled.velocity_after, ask().velocity_after)
    assert shuffled.joint_names == NAMES


def test_without_a_state_the_latest_joint_states_are_taken(ask):
    nothing = {"position": [], "velocity": []}
    assert "joint_states" in ask(**nothing).message
    ask.node.send("joint_states", state(2.0, HOME + 0.1))
    taken = whole(ask(details=1, **nothing))
    np.testing.assert_array_equal(taken.position, HOME + 0.1)
    assert taken.header.stamp == stamp(2.0)


def test_an_arm_that_goes_away_keeps_its_velocity(ask):
    answer = ask(velocity=-DOWN)
    assert answer.success and answer.mode == PredictPostImpact.Response.MODE_SEPARATE and not np.any(answer.impulse)
    np.testing.assert_array_equal(answer.velocity_after, -DOWN)


def test_a_covariance_is_computed_where_it_is_asked_for_and_there_are_deviations(harness):
    asked = {"position": HOME, "velocity": DOWN}
    lengths = []
    for deviation in (0.0, 0.01):
        node = harness(JumpPredictorNode, velocity_std=deviation, motor_inertia_std=0.0)
        assert not node.call("predict_post_impact", PredictPostImpact.Request(**asked)).prediction
        prediction = whole(node.call("predict_post_impact", PredictPostImpact.Request(details=2, **asked)))
        lengths.append((len(prediction.velocity_after_covariance), len(prediction.contacts[0].impulse_covariance)))
    assert lengths == [(0, 0), (49, 9)]
    covariance = np.array(prediction.velocity_after_covariance).reshape(7, 7)
    np.testing.assert_allclose(covariance, covariance.T, atol=1e-15)  # rounding of a product and its transpose
    assert np.linalg.eigvalsh(covariance)[0] > -1e-12  # of a positive semidefinite matrix, but for rounding


def test_a_palm_has_a_covariance_in_the_service(harness):
    node = harness(JumpPredictorNode, pad_half_sizes=[0.04, 0.03, 0.02], object_mass=2.0)
    assert not node.node.predictor.spread_is_quick
    answer = node.call("predict_post_impact", PredictPostImpact.Request(position=HOME, velocity=DOWN, details=2))
    assert whole(answer).method == "palm" and len(whole(answer).velocity_after_covariance) == 49


def test_pads_of_any_material_have_a_covariance_without_other_deviations(harness):
    palm = {"pad_half_sizes": [0.04, 0.03, 0.02], "object_mass": 2.0, "motor_inertia_std": 0.0}
    palm["object_position"] = (ROBOT.placement(HOME).translation - [0.0, 0.0, 0.12]).tolist()
    answers = []
    for known in ({}, {"material": "any"}, {"material": "set"}, {"material": "set", "pad_stiffness_ratio": 1.0}):
        node = harness(JumpPredictorNode, **known, **palm)
        asked = PredictPostImpact.Request(position=HOME, velocity=DOWN, details=2)
        answers.append(whole(node.call("predict_post_impact", asked)))
    assert [len(each.velocity_after_covariance) for each in answers] == [0, 49, 49, 49]
    assert min(max(each.velocity_after_covariance) for each in answers[1:3]) > 0.0
    assert max(answers[1].velocity_after_covariance) != max(answers[2].velocity_after_covariance)
    assert not any(answers[3].velocity_after_covariance)
    assert np.abs(np.subtract(answers[0].velocity_after, answers[1].velocity_after)).max() > 1e-3


def test_details_search_for_other_velocities(harness):
    """Found by drawing palms; a contact of the request's own is one point, whose answer is unique."""
    palm = {"pad_half_sizes": [0.04, 0.03, 0.02], "object_mass": 1.2, "table_friction": 0.1, "friction": 0.2}
    place = ROBOT.placement(HOME).translation - [0.0, 0.0, 0.12]
    node = harness(JumpPredictorNode, object_position=place.tolist(), **palm)
    turning = {"position": HOME, "velocity": [-0.5, -0.2, 0.1, -1.2, -0.2, 1.3, 0.7]}
    prediction = whole(node.call("predict_post_impact", PredictPostImpact.Request(details=1, **turning)))
    assert not prediction.unique and len(prediction.other_energy_losses) > 0
    point = PredictPostImpact.Request(details=1, contact_frame="tool", **turning)
    assert whole(node.call("predict_post_impact", point)).unique


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"position": [0.0, 1.0]}, "position"),
        ({"velocity": []}, "velocity"),
        ({"position": []}, "position"),
        ({"velocity": [float("nan"), *DOWN[1:]]}, "velocity"),
        ({"joint_names": ["a"]}, "joint_names"),
        ({"joint_names": NAMES[1:]}, "joint_names"),
        ({"friction": float("nan")}, "friction"),
        ({"restitution": 1.5}, "restitution"),
        ({"normal": [float("nan"), 0.0, 1.0]}, "normal"),
        ({"normal": [0.0, 1.0]}, "normal"),
        ({"normal": [0.0, 0.0, 0.0]}, "normal"),
        ({"offset": [0.0, 1.0]}, "offset"),
        ({"object_mass": float("inf")}, "object_mass"),
        ({"object_mass": 0.0}, "object_mass"),
        ({"object": 3}, "object"),
        ({"contact_frame": "nose"}, "frame"),
        ({"inertia": 7}, "inertia"),
        ({"method": "guess"}, "method"),
    ],
)
def test_a_wrong_request_is_refused_in_one_line_that_names_the_field(ask, wrong, field):
    answer = ask(details=1, **wrong)
    assert not answer.success and field in answer.message.partition(":")[0] and "\n" not in answer.message
    assert not len(answer.velocity_after) and not answer.prediction
    # Who asked knows: no warning.
    assert ask.node.refused() == {"request": 1}
    assert "no joint_states yet" in ask.node.status()[1]
