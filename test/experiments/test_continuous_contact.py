"""Continuous contact with regularised Coulomb friction: its laws, its convergence, and the exact map as its limit."""

import numpy as np
import pytest

from impact_aware.contact.geometry import Contact, contact_jacobian
from impact_aware.errors import InvalidInputError
from impact_aware.experiments.models.continuous_contact import ContinuousContactSettings, continuous_impact
from impact_aware.impact import predict
from impact_aware.robot import RobotModel


@pytest.fixture(scope="module")
def panda():
    return RobotModel.from_profile("panda")


def case(robot, seed, *, friction, restitution=0.0, angle=45.0):
    """A seeded posture, a contact with a horizontal plane, and joint velocities that hit it `angle` off the normal."""
    generator = np.random.default_rng(seed)
    q = robot.home + generator.uniform(-0.4, 0.4, robot.n)
    azimuth = generator.uniform(0.0, 2.0 * np.pi)
    tilt = np.radians(angle)
    velocity = 0.3 * np.array([np.sin(tilt) * np.cos(azimuth), np.sin(tilt) * np.sin(azimuth), -np.cos(tilt)])
    contact = Contact(
        robot.tool_frame,
        np.array([0.0, 0.0, 1.0]),
        radius=robot.tool_radius,
        friction=friction,
        restitution=restitution,
    )
    return q, np.linalg.pinv(contact_jacobian(robot, q, contact)) @ velocity, contact


def relative(value, reference, before):
    return np.linalg.norm(value - reference) / np.linalg.norm(reference - before)


def test_without_friction_it_is_the_frictionless_map(panda):
    q, dq, contact = case(panda, 1, friction=0.0, restitution=0.5)
    after = continuous_impact(panda, q, dq, contact)
    exact = predict(panda, q, dq, contact, method="frictionless").velocity_after
    # 200 steps per compression; the restitution's end is found to one step.
    assert relative(after, exact, dq) < 1e-3


def test_compression_ends_where_the_normal_velocity_is_zero(panda):
    q, dq, contact = case(panda, 2, friction=0.0)
    after = continuous_impact(panda, q, dq, contact, ContinuousContactSettings(steps=10))
    before, normal = ((contact_jacobian(panda, q, contact) @ velocity)[2] for velocity in (dq, after))
    # The last step is cut where its velocity crosses zero; a whole one would leave up to a sixth of the approach.
    assert abs(normal) < 1e-4 * abs(before)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("restitution", [0.0, 0.6])
def test_exact_coulomb_map_is_the_limit(panda, seed, restitution):
    friction = 0.1 + 0.13 * seed
    q, dq, contact = case(panda, seed, friction=friction, restitution=restitution)
    after = continuous_impact(panda, q, dq, contact)
    exact = predict(panda, q, dq, contact, method="coulomb").velocity_after
    # The aim for a single impact is 2 % of the jump; 0.5 % leaves it a wide margin.
    assert relative(after, exact, dq) < 5e-3


def test_bad_input_is_refused(panda):
    q, dq, contact = case(panda, 0, friction=0.3)
    with pytest.raises(InvalidInputError, match="approach"):
        continuous_impact(panda, q, -dq, contact)
    with pytest.raises(InvalidInputError, match="stiffness"):
        ContinuousContactSettings(stiffness=-1.0)
    with pytest.raises(InvalidInputError, match="steps"):
        ContinuousContactSettings(steps=1)
