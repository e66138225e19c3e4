import numpy as np
import pinocchio as pin
import pytest

from impact_aware.contact import Contact, contact_jacobian, contact_point
from impact_aware.errors import InvalidInputError
from impact_aware.experiments.models.inverse_inertia import (
    approximate_to_exact_ratio,
    composite_body,
    composite_inverse_inertia,
    end_of_compression_impulse,
    equivalent_mass_matrix,
    flexibility_inverse_inertia,
    generalized_momentum_inverse_inertia,
)
from impact_aware.impact import predict
from impact_aware.robot import RobotModel

SEED = 17


def cases(robot, count=10):
    generator = np.random.default_rng(SEED)
    for _ in range(count):
        q = generator.uniform(robot.limits.position_lower, robot.limits.position_upper)
        yield q, generator.uniform(-1.0, 1.0, robot.n), Contact("tool", generator.normal(size=3), radius=0.03)


def test_generalized_momentum_predicts_the_frictionless_impulse(robot):
    for q, dq, contact in cases(robot):
        speed = contact.normal @ contact_jacobian(robot, q, contact) @ dq
        impulse = end_of_compression_impulse(
            generalized_momentum_inverse_inertia(robot, q, contact), contact.normal, -abs(speed)
        )
        assert impulse == pytest.approx(
            np.linalg.norm(predict(robot, q, -np.sign(speed) * dq, contact, method="frictionless").impulse), rel=1e-9
        )


def test_equivalent_mass_overestimates(robot):
    # Holding the rotation as well can only add to what the contact feels, so the paper's option 1 is an upper bound.
    for q, _, contact in cases(robot):
        mass = equivalent_mass_matrix(robot, q, contact)
        free = np.linalg.inv(generalized_momentum_inverse_inertia(robot, q, contact))
        assert np.linalg.eigvalsh(mass - free).min() > -1e-8


def test_composite_body_is_the_sum_of_its_links(robot):
    for q, dq, contact in cases(robot, 3):
        body, point = composite_body(robot, q), contact_point(robot, q, contact)
        links = range(1, robot.model.njoints)
        inertias, data = robot.model.inertias, robot.data
        pin.forwardKinematics(robot.model, data, q, dq)
        at_base = sum((data.oMi[i].act(inertias[i]).matrix() for i in links), np.zeros((6, 6)))
        assert body.mass == pytest.approx(at_base[0, 0], rel=1e-12)
        # Eq. (18): the block of the inverse spatial inertia at the contact point is W of (17).
        action = pin.SE3(np.eye(3), -point).toActionMatrix()
        inverse = action @ np.linalg.inv(at_base) @ action.T
        np.testing.assert_allclose(composite_inverse_inertia(robot, q, contact), inverse[:3, :3], atol=1e-9)
        # The average velocity carries all of the momentum, eq. (13).
        momentum = sum((data.oMi[i].act(inertias[i] * data.v[i]).vector for i in links), np.zeros(6))
        to_centre = np.eye(6)
        to_centre[3:, :3] = -pin.skew(body.centre)
        twist = body.velocity_jacobian @ dq
        carried = np.concatenate([body.mass * twist[:3], body.inertia @ twist[3:]])
        np.testing.assert_allclose(carried, to_centre @ momentum, atol=1e-9)


def test_flexibility_is_what_is_missing(robot):
    for q, _, contact in cases(robot):
        body, point = composite_body(robot, q), contact_point(robot, q, contact)
        flexible = flexibility_inverse_inertia(robot, q, contact)
        jacobian = contact_jacobian(robot, q, contact)
        jumps = np.linalg.solve(robot.mass_matrix(q), jacobian.T)
        rigid = np.array(
            [
                (body.velocity_jacobian @ jump)[:3] + np.cross((body.velocity_jacobian @ jump)[3:], point - body.centre)
                for jump in jumps.T
            ]
        ).T
        # Eq. (21): contact velocity is rigid part plus relative part, for the jump of every unit impulse.
        np.testing.assert_allclose(rigid + flexible, generalized_momentum_inverse_inertia(robot, q, contact), atol=1e-9)


def test_ratio_of_a_frozen_arm_is_one():
    # One link turning about the base moves as the composite body exactly.
    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelRZ(), pin.SE3.Identity(), "turn")
    model.appendBodyToJoint(joint, pin.Inertia(2.0, np.array([0.3, 0.0, 0.1]), np.eye(3) * 0.1), pin.SE3.Identity())
    model.addFrame(pin.Frame("tool", joint, 0, pin.SE3(np.eye(3), np.array([0.8, 0.0, 0.0])), pin.FrameType.OP_FRAME))
    robot = RobotModel(model, name="one", tool_frame="tool")
    contact = Contact("tool", (0, -1, 0))
    assert approximate_to_exact_ratio(robot, np.zeros(1), np.ones(1), contact) == pytest.approx(1.0, abs=1e-12)
    with pytest.raises(InvalidInputError, match="normal velocity"):
        approximate_to_exact_ratio(robot, np.zeros(1), np.zeros(1), contact)


def test_no_mobility_is_refused():
    with pytest.raises(InvalidInputError, match="along the normal"):
        end_of_compression_impulse(np.zeros((3, 3)), np.array([0.0, 0.0, 1.0]), -1.0)
