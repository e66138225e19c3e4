"""A rigid arm in continuous contact with regularised Coulomb friction: the reference for impact maps with friction.

The normal force is a virtual spring, whose restitution is the energetic one by construction; friction is Coulomb's,
its corner rounded over `slip_regularisation`. As the stiffness grows, contact gets so short that the arm does not move
meanwhile, and as the rounding shrinks friction becomes Coulomb's: the limit of both is the exact impact map, whatever
path the slip takes. Nothing is shared with the maps but the robot's mass matrix and Jacobian.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.contact.geometry import Contact, contact_point, point_jacobian
from impact_aware.errors import InvalidInputError, NoSolutionError
from impact_aware.ranges import POSITIVE
from impact_aware.robot import RobotModel

# A contact may last this many times longer than without friction before it is given up as endless.
_LONGEST = 200


@dataclass(frozen=True)
class ContinuousContactSettings:
    """How closely the continuous contact comes to a rigid impact.

    Attributes:
        stiffness: Of the normal spring, N/m, > 0.
        slip_regularisation: Slip speed below which friction fades, m/s, > 0.
        steps: Integration steps per frictionless compression, >= 10.
    """

    stiffness: float = 1e9
    slip_regularisation: float = 1e-5
    steps: int = 200

    def __post_init__(self) -> None:
        """Check every field; an InvalidInputError names the wrong one."""
        POSITIVE.check("stiffness", self.stiffness)
        POSITIVE.check("slip_regularisation", self.slip_regularisation)
        if self.steps < 10:
            raise InvalidInputError("steps", self.steps, "an integer >= 10")


def continuous_impact(
    robot: RobotModel,
    q: ArrayLike,
    dq: ArrayLike,
    contact: Contact,
    settings: ContinuousContactSettings | None = None,
) -> Array:
    """Return the joint velocities (n,), rad/s, after one contact of the rigid arm (M + B_theta) with a fixed surface.

    Leapfrog in the normal direction; the stiff friction is implicit. The motors carry the arm's weight.

    Args:
        robot: The arm.
        q: (n,) Posture at first touch, rad.
        dq: (n,) Joint velocities then, rad/s.
        contact: Where and how it touches; its restitution is the energetic one.
        settings: Stiffness, rounding and step.

    Raises:
        InvalidInputError: A state of the wrong size, or a contact that is not approached.
        NoSolutionError: Contact does not end.
    """
    settings = settings or ContinuousContactSettings()
    q = robot.check_configuration(q, "q").copy()
    dq = robot.check_configuration(dq, "dq").copy()
    return _Follower(robot, q, dq, contact, settings).follow()


class _Follower:
    """State of one contact while it is followed."""

    def __init__(
        self,
        robot: RobotModel,
        q: Array,
        dq: Array,
        contact: Contact,
        settings: ContinuousContactSettings,
    ) -> None:
        self._robot, self._contact, self._settings = robot, contact, settings
        self._q, self._dq = q, dq
        start = contact_point(robot, q, contact)
        # The touching point stays the same material point: a tip rolls by far less than it is indented.
        self._offset = robot.placement(q, contact.frame).actInv(start)
        self._start = start
        jacobian, _ = self._kinematics(q)
        if not float((jacobian @ dq)[0]) < 0.0:
            raise InvalidInputError("dq", dq.tolist(), "velocities that approach the surface")
        inverse_mass = float((jacobian @ np.linalg.solve(robot.mass_matrix(q), jacobian.T))[0, 0])
        self._step = 0.5 * math.pi / math.sqrt(settings.stiffness * inverse_mass) / settings.steps
        self._largest = 0.0

    def follow(self) -> Array:
        """Step until contact ends; returns the joint velocities then."""
        compressing = True
        for _ in range(_LONGEST * self._settings.steps):
            turned, released = self._advance(self._step, compressing=compressing)
            compressing = compressing and not turned
            if released:
                break
        else:
            raise NoSolutionError("the contact does not end", problem=self._contact)
        return self._dq

    def _advance(self, step: float, *, compressing: bool) -> tuple[bool, bool]:
        """One step, shortened where compression ends: whether that happened, and whether contact has ended."""
        middle = self._q + 0.5 * step * self._dq
        jacobian, depth = self._kinematics(middle)
        bias = self._robot.gravity(middle) - self._robot.bias(middle, self._dq)
        response = np.linalg.solve(self._robot.mass_matrix(middle), np.column_stack([jacobian.T, bias]))
        delassus, drift = jacobian @ response[:, :3], response[:, 3]
        self._largest = max(self._largest, depth)
        pressure = self._pressure(max(depth, 0.0), compressing=compressing)
        if not compressing and pressure <= 0.0:
            return False, True
        before = jacobian @ self._dq
        free = before + step * jacobian @ drift
        force = self._force(delassus, free, pressure, step)
        after = free + step * delassus @ force
        turned = compressing and after[0] >= 0.0
        if turned:
            step *= float(before[0] / (before[0] - after[0]))
            free = before + step * jacobian @ drift
            force = self._force(delassus, free, pressure, step)
        self._dq = self._dq + step * (response[:, :3] @ force + drift)
        self._q = middle + 0.5 * step * self._dq
        return turned, turned and self._contact.restitution == 0.0

    def _pressure(self, depth: float, *, compressing: bool) -> float:
        """Force of the virtual spring (Wang 2021, VII-A.1), N: it gives back the share e^2 of the energy."""
        stiffness, share = self._settings.stiffness, self._contact.restitution**2
        if compressing or share == 0.0:
            return stiffness * depth if compressing else 0.0
        return stiffness / share * max(depth - (1.0 - share) * self._largest, 0.0)

    def _kinematics(self, q: Array) -> tuple[Array, float]:
        """Jacobian (3, n) of the touching point in contact axes, and its penetration."""
        placement = self._robot.placement(q, self._contact.frame)
        point = placement.act(self._offset)
        lever = point_jacobian(point - placement.translation)
        jacobian = self._contact.axes @ lever @ self._robot.frame_jacobian(q, self._contact.frame)
        return jacobian, -float(self._contact.normal @ (point - self._start))

    def _force(self, delassus: Array, free: Array, pressure: float, step: float) -> Array:
        """Normal and friction force (3,) in contact axes, friction taken at the end of the step."""
        friction = self._contact.friction
        if friction == 0.0 or pressure == 0.0:
            return np.array([pressure, 0.0, 0.0])
        values, vectors = np.linalg.eigh(delassus[1:, 1:])
        without = vectors.T @ (free[1:] + step * pressure * delassus[1:, 0])
        gain = step * friction * pressure * values
        # (1 + gain / s) v = v_without with s = sqrt(|v|^2 + eps^2): one root in s, approached from below by Newton.
        (a, b), (g, h) = without.tolist(), gain.tolist()
        eps = self._settings.slip_regularisation
        s = eps
        for _ in range(100):
            u, w, r = a / (s + g), b / (s + h), eps / s
            excess = u * u + w * w + r * r - 1.0
            slope = -2.0 * (u * u / (s + g) + w * w / (s + h) + r * r / s)
            # On 1 / sqrt(excess + 1), nearly linear in s, Newton converges in a few steps.
            root = math.sqrt(excess + 1.0)
            change = 2.0 * (excess + 1.0) * (1.0 - root) / slope
            s += change
            if abs(change) <= 1e-13 * s:
                break
        slip = vectors @ (without * s / (s + gain))
        return np.concatenate([[pressure], -friction * pressure / s * slip])
