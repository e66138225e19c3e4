"""The spread of a palm's prediction: draws of every input, and one input at a time."""

import numpy as np
import pinocchio as pin
import pytest
from palm_hits import HALF, ROBOT, predicted, scene

from impact_aware.impact.bodies import ArmState, BodyContact
from impact_aware.impact.hit_uncertainty import predict_hit_with_covariance
from impact_aware.impact.jump_predictor import JumpPredictor
from impact_aware.impact.material import RIGID_PADS
from impact_aware.impact.palm import palm_contacts, table_contacts
from impact_aware.impact.simultaneous import predict_simultaneous
from impact_aware.impact.uncertainty import InputCovariance
from impact_aware.robot import RobotModel

STD = {
    "position": 0.002,
    "velocity": 0.003,
    "normal": 0.002,
    "point": 0.001,
    "friction": 0.003,
    "restitution": 0.005,
    "motor_inertia": 0.005,
    "link_inertia": 0.05,
    "object_mass": 0.05,
}


def with_errors(case, x, table=None):
    """Velocity after and impulse with errors by name, from contacts and an arm that are made anew."""
    q, dq, contact, body, mass = case
    model = ROBOT.model.copy()
    for joint, share in enumerate(1.0 + x["link_inertia"] * np.ones(7), 1):
        own = ROBOT.model.inertias[joint]
        model.inertias[joint] = pin.Inertia(share * own.mass, own.lever, share * own.inertia)
    motors = np.maximum(ROBOT.apparent_motor_inertia + x["motor_inertia"], 0.0)
    arm = RobotModel(model, name="drawn", tool_frame="tool", apparent_motor_inertia=motors)
    state = ArmState(arm, q + x["position"], dq + x["velocity"])
    tool = ROBOT.placement(state.q)
    tilted = contact.normal + x["normal"]
    tilted = tilted / np.linalg.norm(tilted)
    friction, restitution = contact.friction + x["friction"], contact.restitution + x["restitution"]
    tip = BodyContact("arm", tilted, np.zeros(3), "box", max(friction, 0.0), float(np.clip(restitution, 0.0, 1.0)))
    # Its middle does not move with the normal.
    shift = x["point"] + HALF[2] * (tilted - contact.normal)
    own = [each.at(each.point + shift) for each in palm_contacts(tip, tool, HALF)]
    contacts = own + ([] if table is None else table_contacts("box", body, table))
    box = body.free_object((1.0 + x["object_mass"]) * mass)
    found = predict_simultaneous(contacts, arms={"arm": state}, objects={"box": box}, search=False)
    return np.concatenate((found.velocity_after["arm"], found.impulse[: len(own)].sum(axis=0)))


def drawn(generator):
    sizes = {"normal": 3, "point": 3, "friction": None, "restitution": None, "object_mass": None}
    return {name: std * generator.normal(size=sizes.get(name, 7)) for name, std in STD.items()}


def spread(case, std, table=None):
    known = InputCovariance(**{name: value**2 for name, value in std.items()})
    return predicted(case, table=table, pads=RIGID_PADS, covariance=known)


@pytest.mark.slow
@pytest.mark.parametrize("table", [None, 0.3])
def test_the_spread_covers_drawn_inputs(table):
    generator, kept, changed = np.random.default_rng(3), [], []
    for _ in range(32):
        case = scene(generator, generator.choice([0.0, 0.2]))
        found = spread(case, STD, table)
        centre, std = found.prediction.velocity_after, np.sqrt(np.diag(found.velocity_after_covariance))
        errors = [np.abs(with_errors(case, drawn(generator), table)[:7] - centre) / std for _ in range(30)]
        (changed if found.mode_may_change else kept).extend(errors)
    assert len(kept) >= 250
    assert len(kept) + len(changed) >= 500
    held = [(np.array(kept) < limit).mean() for limit in (1.0, 2.0)]
    assert held == pytest.approx([0.683, 0.954], abs=0.03)
    assert np.max(kept + changed) < 6.0


@pytest.mark.parametrize("name", STD)
def test_each_input_alone_spreads_as_contacts_and_an_arm_made_anew(name):
    """In one direction of the input the spread is the outer product of half the difference of both its ends."""
    generator = np.random.default_rng(7)
    for _ in range(3):
        case, zero = scene(generator), dict.fromkeys(STD, 0.0)
        size = {"normal": 3, "point": 3, "friction": 1, "restitution": 1, "object_mass": 1}.get(name, 7)
        std = 0.1 * STD[name] * generator.normal(size=size)
        error = float(std[0]) if name in ("friction", "restitution", "object_mass") else std
        ahead, behind = (with_errors(case, zero | {name: side * error}, 0.3) for side in (1.0, -1.0))
        found = predicted(case, pads=RIGID_PADS, covariance=InputCovariance(**{name: np.outer(std, std)}))
        half = 0.5 * (ahead - behind)
        for spread_, own in ((found.velocity_after_covariance, half[:7]), (found.impulse_covariance, half[7:])):
            # Second order of a tenth of the usual errors, and the solver's error.
            np.testing.assert_allclose(spread_, np.outer(own, own), atol=0.03 * own @ own + 1e-14, err_msg=name)


def test_nothing_uncertain_is_no_spread_and_the_predictor_has_that_of_its_palm():
    case = scene(np.random.default_rng(5))
    q, dq, contact, body, mass = case
    none = predict_hit_with_covariance(ROBOT, q, dq, contact, HALF, InputCovariance())
    assert not none.velocity_after_covariance.any() and not none.mode_may_change
    # Two inputs, eight directions: to first order their spreads add up.
    both, *alone = (
        spread(case, std).velocity_after_covariance
        for std in ({"velocity": 1e-4, "friction": 1e-4}, {"velocity": 1e-4}, {"friction": 1e-4})
    )
    np.testing.assert_allclose(both, sum(alone), atol=0.01 * both.max())
    known = {"object_mass": mass, "shape": body.shape, "object_position": body.position}
    known |= {"object_rotation": body.rotation, "pad_half_sizes": HALF, "covariance": InputCovariance(friction=1e-4)}
    found = JumpPredictor(ROBOT, contact, **known).predict(q, dq)
    expected = spread(case, {"friction": 0.01}).velocity_after_covariance
    np.testing.assert_allclose(found.uncertain.velocity_after_covariance, expected, atol=1e-9)
    assert expected.max() > 1e-8 and found.outcome is found.uncertain.prediction


def test_added_inertia_is_that_of_larger_motors():
    q, dq, contact, body, mass = scene(np.random.default_rng(6))
    contacts = palm_contacts(BodyContact("arm", contact.normal, np.zeros(3)), ROBOT.placement(q), HALF)
    larger = np.linspace(0.05, 0.02, 7)
    motors = ROBOT.apparent_motor_inertia + larger
    arm = RobotModel(ROBOT.model.copy(), name="larger", tool_frame="tool", apparent_motor_inertia=motors)
    arms = [ArmState(arm, q, dq), ArmState(ROBOT, q, dq, added_inertia=np.diag(larger)), ArmState(ROBOT, q, dq)]
    after = [predict_simultaneous(contacts, arms={"arm": each}).velocity_after["arm"] for each in arms]
    np.testing.assert_allclose(after[0], after[1], atol=1e-9)
    assert np.abs(after[0] - after[2]).max() > 1e-2
