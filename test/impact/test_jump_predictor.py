"""What is configured reaches the prediction; what a call replaces, replaces it for that call only."""

import dataclasses

import numpy as np
import pinocchio as pin
import pytest

from impact_aware.contact import Contact
from impact_aware.contact.box import Box, homogeneous_box
from impact_aware.contact.geometry import contact_point
from impact_aware.contact.shape import PlacedShape
from impact_aware.errors import UnknownNameError
from impact_aware.impact import predict
from impact_aware.impact.hit import predict_hit
from impact_aware.impact.jump_predictor import JumpPredictor
from impact_aware.impact.uncertainty import InputCovariance, predict_with_covariance
from impact_aware.robot import RobotModel

ROBOT = RobotModel.from_profile("panda")
NORMAL = np.array([0.0, 0.6, 0.8])
CONTACT = Contact("tool", NORMAL, friction=0.2, restitution=0.4, radius=0.03)
HALF, CENTRE = (0.1, 0.07, 0.05), (0.4, -0.1, 0.2)
APPROACH = np.linalg.pinv(ROBOT.frame_jacobian(ROBOT.home)) @ np.array([0.05, -0.2, -0.4, 0.0, 0.0, 0.0])


def after(contact=CONTACT, mass=1.7, method="coulomb", inertia="M+B_theta", position=CENTRE) -> np.ndarray:
    box = None if mass == 0.0 else homogeneous_box(mass, HALF, position)
    return predict(ROBOT, ROBOT.home, APPROACH, contact, obstacle=box, method=method, inertia=inertia).velocity_after


def make(**more) -> JumpPredictor:
    settings = {"object_mass": 1.7, "shape": Box(HALF), "object_position": CENTRE}
    return JumpPredictor(ROBOT, CONTACT, **(settings | more))


def outcome(predictor: JumpPredictor, **replaced) -> np.ndarray:
    return predictor.predict(ROBOT.home, APPROACH, **replaced).outcome.velocity_after


def test_what_is_configured_reaches_the_prediction():
    np.testing.assert_array_equal(outcome(make()), after())
    np.testing.assert_array_equal(outcome(make(object_mass=0.0)), after(mass=0.0))
    np.testing.assert_array_equal(outcome(make(inertia="M")), after(inertia="M"))
    np.testing.assert_array_equal(outcome(make(method="frictionless")), after(method="frictionless"))
    # And each of them matters.
    others = [after(mass=0.0), after(inertia="M"), after(method="frictionless")]
    others += [after(dataclasses.replace(CONTACT, **{name: 0.0})) for name in ("friction", "restitution", "radius")]
    assert all(np.abs(other - after()).max() > 1e-4 for other in others)


@pytest.mark.parametrize(
    ("replaced", "expected"),
    [
        ({"object_mass": 0.5}, {"mass": 0.5}),
        ({"object_mass": 0.0}, {"mass": 0.0}),
        ({"method": "frictionless"}, {"method": "frictionless"}),
        ({"inertia": "M"}, {"inertia": "M"}),
        ({"contact": (other := dataclasses.replace(CONTACT, restitution=0.9))}, {"contact": other}),
    ],
)
def test_a_call_replaces_for_itself_only(replaced, expected):
    predictor = make()
    np.testing.assert_array_equal(outcome(predictor, **replaced), after(**expected))
    np.testing.assert_array_equal(outcome(predictor), after())


def test_the_object_is_hit_where_it_was_seen_last():
    predictor = make()
    outcome(predictor)
    predictor.object_position = moved = np.array([0.45, -0.2, 0.15])
    np.testing.assert_array_equal(outcome(predictor), after(position=moved))
    assert np.abs(after(position=moved) - after()).max() > 1e-6


def test_the_spread_comes_where_it_is_asked_for_and_configured():
    covariance = InputCovariance(velocity=1e-4, restitution=0.01)
    predictor = make(object_mass=0.0, covariance=covariance)
    found = predictor.predict(ROBOT.home, APPROACH).uncertain
    expected = predict_with_covariance(ROBOT, ROBOT.home, APPROACH, CONTACT, covariance)
    np.testing.assert_array_equal(found.velocity_after_covariance, expected.velocity_after_covariance)
    assert predictor.predict(ROBOT.home, APPROACH, spread=False).uncertain is None
    assert make().predict(ROBOT.home, APPROACH).uncertain is None


@pytest.mark.parametrize("half", [(0.0, 0.0, 0.0), (0.04, 0.03, 0.02)])
def test_a_search_is_that_of_all_contacts(half):
    """Of a tip too, whose compiled map of tip and table does not search."""
    generator, several = np.random.default_rng(2), 0
    for _ in range(12):
        dq = APPROACH + np.linalg.pinv(ROBOT.frame_jacobian(ROBOT.home)) @ generator.normal(0.0, 0.5, 6)
        predictor = make(pad_half_sizes=half, table_friction=0.2, covariance=InputCovariance(velocity=1e-4))
        body = PlacedShape(Box(HALF), np.array(CENTRE))
        where = {"obstacle": body.free_object(1.7), "shape": body, "table_friction": 0.2, "search": True}
        for spread in (False, True):
            quick = predictor.predict(ROBOT.home, dq, spread=spread)
            own = predictor.predict(ROBOT.home, dq, spread=spread, search=True)
            found = own.outcome
            expected = predict_hit(ROBOT, ROBOT.home, dq, found.contact, half, **where)
            np.testing.assert_allclose(found.velocity_after, quick.outcome.velocity_after, atol=1e-7)
            assert (found.unique, found.other_energy_losses) == (expected.unique, expected.other_energy_losses)
            assert (own.uncertain is not None) == spread
        several += bool(found.other_energy_losses)
    assert 0 < several < 12


def test_the_plane_is_the_near_face_of_the_object_or_the_configured_surface():
    face = CENTRE + (0.6 * HALF[1] + 0.8 * HALF[2]) * NORMAL
    np.testing.assert_allclose(make().plane_point, face, atol=1e-15)
    point = (0.1, 0.2, -0.3)
    np.testing.assert_array_equal(make(object_mass=0.0, surface_point=point).plane_point, point)


def test_looking_ahead_gives_the_posture_at_the_contact_and_the_time_until_then():
    gap = 0.02
    tip = contact_point(ROBOT, ROBOT.home, CONTACT)
    predictor = make(object_mass=0.0, surface_point=tip - gap * NORMAL)
    speed = -float(NORMAL @ (ROBOT.frame_jacobian(ROBOT.home)[:3] @ APPROACH))
    approach = predictor.look_ahead(ROBOT.home, APPROACH, 0.5)
    # The spherical tip is beside the frame, so that its speed is that of the frame but for the frame's rotation.
    assert approach.time_to_impact == pytest.approx(gap / speed, rel=1e-6)
    np.testing.assert_allclose(approach.position, ROBOT.home + APPROACH * approach.time_to_impact, atol=1e-12)
    assert predictor.look_ahead(ROBOT.home, APPROACH, 0.9 * approach.time_to_impact) is None
    assert predictor.look_ahead(ROBOT.home, -APPROACH, 0.5) is None
    touching = make(object_mass=0.0, surface_point=tip + 0.001 * NORMAL)
    assert touching.look_ahead(ROBOT.home, APPROACH, 0.5) is None


def test_a_frame_that_the_robot_lacks_is_refused():
    with pytest.raises(UnknownNameError):
        JumpPredictor(ROBOT, dataclasses.replace(CONTACT, frame="nose"))


def test_an_impact_that_is_told_late_meets_the_object_as_it_was_seen_until_then():
    turn, spread = pin.utils.rotate("x", 0.3), np.diag([1e-5, 2e-5, 3e-5, 4e-5, 5e-5, 6e-5])
    first = {"velocity": np.array([0.01, -0.02, 0.03]), "time": 7.0, "covariance": spread, "rotation": np.eye(3)}
    second = {"velocity": np.array([0.05, -0.3, 0.1]), "time": 7.05, "rotation": turn, "covariance": 2.0 * spread}
    third = second | {"time": 7.06}
    early, late, last = make(), make(), make()
    early.see_object(np.array(CENTRE), **first)
    last.see_object(np.array([0.41, -0.12, 0.21]), **third)
    for place, seen in ((CENTRE, first), ((0.4, -0.11, 0.2), second), ((0.41, -0.12, 0.21), third)):
        late.see_object(np.array(place), **seen)
    for time in (7.0, 7.049):
        expected, found = (own.predict(ROBOT.home, APPROACH, time=time) for own in (early, late))
        np.testing.assert_array_equal(found.outcome.velocity_after, expected.outcome.velocity_after)
        spreads = [own.uncertain.velocity_after_covariance for own in (found, expected)]
        np.testing.assert_array_equal(*spreads)
        ahead = [own.look_ahead(ROBOT.home, 0.1 * APPROACH, 5.0, time) for own in (early, late)]
        assert ahead[0] is not None and ahead[0].time_to_impact == ahead[1].time_to_impact
    # A pose of the very time counts.
    middle = make()
    middle.see_object(np.array([0.4, -0.11, 0.2]), **second)
    np.testing.assert_allclose(outcome(late, time=7.05), outcome(middle, time=7.05), atol=1e-12)
    # Before anything was seen, what was seen first counts; now, what was seen last.
    np.testing.assert_array_equal(outcome(late, time=6.9), outcome(early, time=6.9))
    np.testing.assert_allclose(outcome(late, time=7.1), outcome(last, time=7.1), atol=1e-12)
    np.testing.assert_allclose(outcome(late), outcome(last), atol=1e-12)
    assert np.abs(outcome(late, time=7.1) - outcome(early, time=7.1)).max() > 1e-3
    np.testing.assert_allclose(late.contact.normal, last.contact.normal, atol=1e-15)
    # Of another base, nothing that was seen from the one before is known.
    late.stand(ROBOT)
    np.testing.assert_allclose(outcome(late, time=7.0), outcome(last, time=7.0), atol=1e-12)
    # Of stamps that begin anew, nothing before is known.
    late.see_object(np.array([0.5, -0.1, 0.2]), time=1.0)
    alone = make()
    alone.see_object(np.array([0.5, -0.1, 0.2]), time=1.0, rotation=turn)
    np.testing.assert_allclose(outcome(late, time=0.9), outcome(alone, time=0.9), atol=1e-12)
