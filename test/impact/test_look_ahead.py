import numpy as np
import pytest

from impact_aware.contact.geometry import Contact, contact_jacobian, contact_point
from impact_aware.impact.look_ahead import look_ahead


def approach_velocity(robot, contact, speed):
    """Smallest joint velocity with which the contact point moves against the normal."""
    jacobian = contact_jacobian(robot, robot.home, contact)
    return np.linalg.lstsq(jacobian, -speed * contact.normal, rcond=None)[0]


@pytest.fixture
def contact(robot):
    return Contact(robot.tool_frame, np.array([0.2, 0.9, 0.1]), radius=robot.tool_radius)


def test_the_extrapolated_posture_touches_the_plane(robot, contact):
    dq = approach_velocity(robot, contact, 0.5)
    plane = contact_point(robot, robot.home, contact) - 0.02 * contact.normal
    found = look_ahead(robot, robot.home, dq, contact, plane, horizon=1.0)
    left = contact.normal @ (contact_point(robot, found.position, contact) - plane)
    # Joint velocities are constant, not the point's: the error grows with the square of the 20 mm.
    assert abs(left) < 1e-3


def test_a_receding_contact_is_none(robot, contact):
    dq = -approach_velocity(robot, contact, 0.5)
    assert look_ahead(robot, robot.home, dq, contact, np.zeros(3), horizon=10.0) is None


def test_numbers_of_an_approach(robot, contact):
    dq = approach_velocity(robot, contact, 0.5)
    plane = contact_point(robot, robot.home, contact) - 0.1 * contact.normal
    # Any point of the plane will do.
    across = np.cross(contact.normal, [0.3, 0.1, -0.9])
    found = look_ahead(robot, robot.home, dq, contact, plane + 0.7 * across, horizon=0.21)
    assert (found.speed, found.distance, found.time_to_impact) == pytest.approx((0.5, 0.1, 0.2), abs=1e-12)
    assert look_ahead(robot, robot.home, dq, contact, plane, horizon=0.19) is None
    np.testing.assert_allclose(found.position, robot.home + 0.2 * dq, atol=1e-12)
    past = look_ahead(robot, robot.home, dq, contact, plane + 0.3 * contact.normal, horizon=0.0)
    assert past.time_to_impact == 0.0 and past.distance == pytest.approx(-0.2, abs=1e-12)
    np.testing.assert_array_equal(past.position, robot.home)
