"""The spread that the material of pads gives to a prediction of several contacts."""

import itertools

import numpy as np
import pytest
from palm_hits import BOX, HALF, ROBOT, predicted, scene

from impact_aware.errors import InvalidInputError, UnknownNameError
from impact_aware.impact.bodies import ArmState, joint_problem
from impact_aware.impact.hit import ARM, hit_contacts
from impact_aware.impact.hit_uncertainty import predict_hit_with_covariance
from impact_aware.impact.jump_predictor import JumpPredictor
from impact_aware.impact.material import ANY_PADS, RIGID_PADS, Pads, material_interval
from impact_aware.impact.uncertainty import InputCovariance
from impact_aware.impact.yielding_pads import LAWS, pads_impulse

TIP = np.zeros(3)


def test_pads_that_are_drawn_anew_are_inside_two_deviations():
    """The share of an interval of 60; impulses of the tool alone, as the object's table takes its own."""
    generator, inside, changes = np.random.default_rng(11), [], []
    for restitution, table in ((0.0, None), (0.2, 0.3), (0.0, 0.3)):
        case = scene(generator, restitution)
        q, dq, contact, body, mass = case
        found = predicted(case, table=table)
        bodies = {"arms": {ARM: ArmState(ROBOT, q, dq)}}
        own, others, bodies["objects"] = hit_contacts(
            bodies["arms"][ARM], contact, HALF, body.free_object(mass), body, table
        )
        contacts = own + others
        problem = joint_problem(contacts, **bodies)
        before = problem.jacobian @ problem.velocity
        friction = np.array([each.friction for each in contacts])
        kept = np.array([each.restitution for each in contacts])
        centre, half = found.prediction.velocity_after, 2.0 * np.sqrt(np.diag(found.velocity_after_covariance))
        drawn = []
        for number in range(60):
            pads = 4.0 ** generator.uniform(-0.5, 0.5, len(contacts))
            impulse = pads_impulse(problem.delassus, before, friction, kept, pads, LAWS[number % 3])
            after = dq + (problem.response @ impulse)[problem.columns[ARM]]
            inside.append((np.abs(after - centre) <= half + 1e-9).all())
            drawn.append(after)
        # Both means are of 60: two standard errors of their difference.
        assert (np.abs(np.mean(drawn, axis=0) - centre) <= 0.37 * half).all()
        changes.append(found.mode_may_change)
        assert 1e-3 < half.max() < 2.0
    assert np.mean(inside) > 0.85 and any(changes)


@pytest.mark.parametrize("half", [HALF, TIP])
def test_the_mean_is_an_impact_of_its_own(half):
    """Momentum of the object, energy of both, and the velocities of the contact, as of any impulses."""
    q, dq, _, body, mass = case = scene(np.random.default_rng(5))
    table = None if half is HALF else 0.3
    found, law = (predicted(case, half, table, each).prediction for each in (ANY_PADS, RIGID_PADS))
    box, twist = body.free_object(mass), found.object_twist_after
    inertia = ROBOT.mass_matrix(q)
    if half is HALF:  # no table takes a part
        np.testing.assert_allclose(mass * twist[:3], -found.impulse, atol=1e-9)
        after = found.velocity_after
        lost = 0.5 * (dq @ inertia @ dq - after @ inertia @ after)
        lost -= 0.5 * (mass * twist[:3] @ twist[:3] + twist[3:] @ box.inertia @ twist[3:])
        assert found.energy_loss == pytest.approx(lost, abs=1e-9)
    torque = inertia @ found.jump
    assert np.linalg.norm(torque) == pytest.approx(np.linalg.norm(inertia @ law.jump), rel=0.5)
    assert np.abs(found.velocity_after - law.velocity_after).max() > 1e-3


def test_pads_have_no_friction_where_the_method_has_none():
    q, dq, contact, body, mass = scene(np.random.default_rng(4), 0.0)
    how = {"obstacle": body.free_object(mass), "shape": body, "pads": ANY_PADS}
    for method, least, most in (("coulomb", 0.02, np.inf), ("frictionless", 0.0, 1e-9)):
        found = predict_hit_with_covariance(ROBOT, q, dq, contact, HALF, InputCovariance(), method=method, **how)
        impulse, normal = found.prediction.impulse, found.prediction.contact.normal
        along = np.linalg.norm(impulse - normal * (normal @ impulse)) / np.linalg.norm(impulse)
        assert least <= along <= most


def test_one_contact_has_no_material():
    case = scene(np.random.default_rng(6))
    found, law = (predicted(case, TIP, None, each) for each in (ANY_PADS, RIGID_PADS))
    np.testing.assert_allclose(found.prediction.velocity_after, law.prediction.velocity_after, atol=1e-12)
    assert not found.velocity_after_covariance.any() and not found.impulse_covariance.any()
    assert not found.mode_may_change
    q, dq, *rest = case
    apart = predicted((q, -dq, *rest))
    np.testing.assert_allclose(apart.prediction.velocity_after, -dq, atol=1e-12)
    assert not apart.velocity_after_covariance.any()


def test_the_material_adds_to_what_inputs_spread():
    case, inputs = scene(np.random.default_rng(7)), InputCovariance(velocity=1e-4)
    both, alone = predicted(case, covariance=inputs), predicted(case)
    law = predicted(case, pads=RIGID_PADS, covariance=inputs)
    for name in ("velocity_after_covariance", "impulse_covariance"):
        total = getattr(alone, name) + getattr(law, name)
        np.testing.assert_allclose(getattr(both, name), total, rtol=1e-9, atol=1e-15)
        assert np.trace(getattr(alone, name)) > 0.0 < np.trace(getattr(law, name))
    with pytest.raises(UnknownNameError, match="material"):
        Pads(material="rubber")
    with pytest.raises(InvalidInputError, match="stiffness_ratio.*0.5"):
        Pads(stiffness_ratio=0.5)


def test_the_spread_of_the_impulse_is_that_of_the_jump():
    """M times a jump is J^T (F, moment); the interval of three numbers is narrower than that of seven."""
    q, *_ = case = scene(np.random.default_rng(12), 0.3)
    found = predicted(case)
    force = np.linalg.pinv(ROBOT.frame_jacobian(q).T)[:3] @ ROBOT.mass_matrix(q)
    ratio = np.trace(found.impulse_covariance) / np.trace(force @ found.velocity_after_covariance @ force.T)
    assert 0.3 < ratio < 0.7


def test_what_is_known_of_pads_narrows_their_spread():
    """Equally hard pads of one law have none: the mean is their impulse; others lie within that of any pads."""
    case = scene(np.random.default_rng(12), 0.3)
    widths, means = {}, {}
    for law, ratio in itertools.product((*LAWS, "any"), (1.0, 1.5, 4.0)):
        found = predicted(case, pads=Pads(material=law, stiffness_ratio=ratio))
        widths[law, ratio] = np.sqrt(np.trace(found.velocity_after_covariance))
        means[law, ratio] = found.prediction.velocity_after
    for law in LAWS:
        assert widths[law, 1.0] == 0.0 < widths[law, 1.5] < 0.7 * widths[law, 4.0] < widths["any", 4.0]
    alike = np.array([means[law, 1.0] for law in LAWS])
    np.testing.assert_allclose(means["any", 1.0], alike.mean(axis=0), atol=1e-9)
    assert np.ptp(alike, axis=0).max() > 1e-3 and widths["any", 1.0] > 1e-3


def test_an_interval_holds_most_draws_whole_and_not_more():
    drawn = np.random.default_rng(2).normal(size=(60, 5)) * [1.0, 2.0, 3.0, 4.0, 5.0]
    centre, half, covariance = material_interval(drawn)
    held = (np.abs(drawn - centre) <= half * (1.0 + 1e-9)).all(axis=1)
    # 58 of 60, and a further one with a chance of 95 %.
    assert held.sum() == 58
    np.testing.assert_allclose(np.diag(covariance), half**2, rtol=1e-9)


def test_pads_beside_each_other_have_a_restitution_each():
    before, kept = np.array([-0.3, 0.0, 0.0, -0.3, 0.0, 0.0]), np.array([0.2, 0.6])
    for law in LAWS:
        after = before + pads_impulse(np.eye(6), before, np.zeros(2), kept, np.array([1.0, 4.0]), law)
        assert after[::3] == pytest.approx(0.3 * kept, abs=0.005), law


@pytest.mark.parametrize(("half", "table"), [(HALF, None), (HALF, 0.3), (TIP, 0.3), (TIP, None)])
def test_a_predictor_takes_the_material_where_a_spread_is_asked_for(half, table):
    q, dq, contact, body, mass = case = scene(np.random.default_rng(8), 0.0)
    where = {"object_mass": mass, "object_position": body.position, "object_rotation": body.rotation, "shape": BOX}
    predictor = JumpPredictor(ROBOT, contact, pad_half_sizes=half, table_friction=table, pads=ANY_PADS, **where)
    found, quick = predictor.predict(q, dq), predictor.predict(q, dq, spread=False)
    law = predicted((q, dq, quick.outcome.contact, *case[3:]), half, table, RIGID_PADS).prediction
    np.testing.assert_allclose(quick.outcome.velocity_after, law.velocity_after, atol=1e-7)
    assert predictor.spread_is_quick == (half is TIP and table is None) and quick.uncertain is None
    if predictor.spread_is_quick:
        assert found.uncertain is None
        return
    expected = predicted((q, dq, found.outcome.contact, *case[3:]), half, table)
    np.testing.assert_allclose(found.outcome.velocity_after, expected.prediction.velocity_after, atol=1e-12)
    spread = found.uncertain.velocity_after_covariance
    np.testing.assert_allclose(spread, expected.velocity_after_covariance, rtol=1e-9, atol=1e-15)
    assert np.trace(spread) > 0.0
