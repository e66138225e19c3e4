"""From a robot state to an `ImpactPrediction`: one contact, one call."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.contact.geometry import Contact, FreeObject
from impact_aware.errors import NoSolutionError
from impact_aware.impact.contact_space import ContactSpaceBuilder
from impact_aware.impact.prediction import ImpactPrediction
from impact_aware.impact.registry import DEFAULT_METHOD, impact_map
from impact_aware.robot import RobotModel


class ImpactPredictor:
    """Predicts at many states for one robot and one contact: checks once, then trusts.

    It belongs to the thread that made it, whose scratch memory of the robot it works in.

    Attributes:
        robot: The arm.
        contact: Where and how it touches.
        obstacle: The free object it touches, or None for a fixed surface.
        method: Name of the impact map.
        inertia: Which inertia is used.
    """

    def __init__(
        self,
        robot: RobotModel,
        contact: Contact,
        *,
        obstacle: FreeObject | None = None,
        method: str = DEFAULT_METHOD,
        inertia: str = "M+B_theta",
    ) -> None:
        """Prepare what does not change with the state.

        Raises:
            UnknownNameError: Unknown frame, method or inertia.
            InvalidInputError: M+B_rho for a robot whose motor inertia is unknown.
        """
        self._map = impact_map(method)
        self._build = ContactSpaceBuilder(robot, contact, obstacle, inertia)
        self._friction, self._restitution = contact.friction, contact.restitution
        self._weights = np.ones(4)
        self.robot = robot
        self.contact = contact
        self.obstacle = obstacle
        self.method = method
        self.inertia = inertia

    def __call__(self, q: Array, dq: Array) -> ImpactPrediction:
        """Predict at `q` (n,) rad with `dq` (n,) rad/s, float arrays that are trusted to be finite.

        `velocity_before` of the result is `dq` itself, not a copy.

        Raises:
            NoSolutionError: Numbers so large that the contact's inertia or velocity overflows, as with an object that
                is said to be 1e300 m away.
        """
        space = self._build(q, dq)
        (w_00, w_01, w_02, v_0), (_, w_11, w_12, v_1), (_, _, w_22, v_2) = space.problem.tolist()
        if not math.isfinite(w_00 + w_01 + w_02 + w_11 + w_12 + w_22 + v_0 + v_1 + v_2):
            raise NoSolutionError(
                "the inertia or velocity at the contact is not finite: positions or velocities are too large",
                problem=(space.problem, q, dq),
            )
        delassus = (w_00, w_01, w_02), (w_01, w_11, w_12), (w_02, w_12, w_22)
        impulse = self._map(delassus, (v_0, v_1, v_2), self._friction, self._restitution)
        weights = self._weights
        weights[0], weights[1], weights[2], mode = impulse
        after = dq.copy() if mode == "separate" else weights.dot(space.answers)
        return ImpactPrediction(dq, after, impulse, space, self.contact, self.obstacle, self.method, self.inertia)


def predict(
    robot: RobotModel,
    q: ArrayLike,
    dq: ArrayLike,
    contact: Contact,
    *,
    obstacle: FreeObject | None = None,
    method: str = DEFAULT_METHOD,
    inertia: str = "M+B_theta",
) -> ImpactPrediction:
    """Predict the state just after one impact.

    Args:
        robot: The arm.
        q: (n,) Joint positions, rad.
        dq: (n,) Joint velocities just before the impact, rad/s.
        contact: Where and how it touches.
        obstacle: The free object it touches; a fixed surface when None.
        method: One of `IMPACT_MAPS`.
        inertia: One of `INERTIA_CHOICES` (Rey Arias 2024, eq. (9) and the two alternatives it names).

    Raises:
        InvalidInputError: An array of the wrong size or not finite.
        UnknownNameError: Unknown frame, method or inertia.
    """
    q = robot.check_configuration(q, "q")
    dq = robot.check_configuration(dq, "dq")
    return ImpactPredictor(robot, contact, obstacle=obstacle, method=method, inertia=inertia)(q, dq)
