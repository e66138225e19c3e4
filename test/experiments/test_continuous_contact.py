"""Continuous contact with regularised Coulomb friction: its laws, its convergence, and the exact map as its limit."""

import numpy as np
import pytest

from impact_aware.contact.geometry import Contact, contact_jacobian
from impact_aware.errors import InvalidInputError
from impact_aware.experiments.models.continuous_contact import ContinuousContactSettings, continuous_impact
from impact_aware.impact import predict


def case(robot, seed, *, friction, restitution=0.0):
    """A seeded posture, a contact with a horizontal plane, and joint velocities that hit it askew, 45 degrees off."""
    generator = np.random.default_rng(seed)
    q = robot.home + generator.uniform(-0.4, 0.4, robot.n)
    azimuth = generator.uniform(0.0, 2.0 * np.pi)
    velocity = 0.3 * np.sqrt(0.5) * np.array([np.cos(azimuth), np.sin(azimuth), -1.0])
    contact = Contact(
        robot.tool_frame,
        np.array([0.0, 0.0, 1.0]),
        radius=robot.tool_radius,
        friction=friction,
        restitution=restitution,
    )
    return q, np.linalg.pinv(contact_jacobian(robot, q, contact)) @ velocity, contact


def test_compression_ends_where_the_normal_velocity_is_zero(robot):
    q, dq, contact = case(robot, 2, friction=0.0)
    after = continuous_impact(robot, q, dq, contact, ContinuousContactSettings(steps=10))
    before, normal = ((contact_jacobian(robot, q, contact) @ velocity)[2] for velocity in (dq, after))
    # The last step is cut where its velocity crosses zero; a whole one would leave up to a sixth of the approach.
    assert abs(normal) < 1e-4 * abs(before)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("restitution", [0.0, 0.6])
def test_exact_coulomb_map_is_the_limit(robot, seed, restitution):
    q, dq, contact = case(robot, seed, friction=0.15 * seed, restitution=restitution)
    after = continuous_impact(robot, q, dq, contact)
    exact = predict(robot, q, dq, contact, method="coulomb").velocity_after
    # The aim for a single impact is 2 % of the jump; 0.5 % leaves it a wide margin.
    assert np.linalg.norm(after - exact) < 5e-3 * np.linalg.norm(exact - dq)


def test_bad_input_is_refused(robot):
    q, dq, contact = case(robot, 0, friction=0.3)
    with pytest.raises(InvalidInputError, match="approach"):
        continuous_impact(robot, q, -dq, contact)
    with pytest.raises(InvalidInputError, match="stiffness"):
        ContinuousContactSettings(stiffness=-1.0)
    with pytest.raises(InvalidInputError, match="steps"):
        ContinuousContactSettings(steps=1)
