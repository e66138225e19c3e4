"""The push of van Steen 2024: 0.5 m/s against 2.20 kg gives about 0.34 m/s; what posture and motor inertia it takes."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from impact_aware.contact.box import homogeneous_box
from impact_aware.contact.geometry import Contact, contact_jacobian, contact_point
from impact_aware.experiments.validation.check import Check, Source
from impact_aware.experiments.validation.context import ValidationContext
from impact_aware.impact import predict
from impact_aware.robot import RobotModel
from impact_aware.robot.inverse_kinematics import solve_inverse_kinematics

_MASS, _SPEED, _AFTER = 2.20, 0.5, 0.34
_HALF_SIZES = (0.10, 0.065, 0.10)
# Tool pointing down in front of the base, pushing sideways; found by moving the tool until the mass fits.
_POSITION = np.array([0.39, 0.0, 0.10])
_PUSH = Source(
    "van Steen 2024 V-A, Fig. 6",
    "posture and motor inertia are withheld: Panda, tool pointing down at (0.39, 0, 0.10) m, pushing sideways at the "
    "box's centre height, B_theta = B_rho / 5 with B_rho of the FR3; inelastic, frictionless, central",
)


def push(context: ValidationContext) -> list[Check]:
    """Object velocity after the impact and the arm's effective mass along the push (van Steen 2024, V-A)."""
    robot = RobotModel.from_profile("panda")
    q = solve_inverse_kinematics(robot, pin.SE3(np.diag([1.0, -1.0, -1.0]), _POSITION))
    contact = Contact(robot.tool_frame, np.array([0.0, -1.0, 0.0]), radius=robot.tool_radius)
    centre = contact_point(robot, q, contact) + np.array([0.0, _HALF_SIZES[1], 0.0])
    obstacle = homogeneous_box(_MASS, _HALF_SIZES, centre)
    dq = np.linalg.pinv(contact_jacobian(robot, q, contact)) @ np.array([0.0, _SPEED, 0.0])
    after, masses = {}, {}
    for inertia in ("M", "M+B_theta", "M+B_rho"):
        prediction = predict(robot, q, dq, contact, obstacle=obstacle, inertia=inertia)
        assert prediction.object_twist_after is not None
        after[inertia] = float(prediction.object_twist_after[1])
        masses[inertia] = prediction.effective_mass
    return [
        _PUSH.equal("object velocity after, m/s", _AFTER, after["M+B_theta"], 0.01),
        _PUSH.equal(
            "effective mass that follows from the velocities, and the arm's, kg",
            _MASS * _AFTER / (_SPEED - _AFTER),
            masses["M+B_theta"],
            0.25,
        ),
        _PUSH.at_most("object velocity with M alone, m/s: falls short", _AFTER, after["M"], -0.01),
        _PUSH.at_least("object velocity with M + B_rho, m/s: too high", _AFTER, after["M+B_rho"], -0.005),
    ]
