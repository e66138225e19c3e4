"""From a robot state to an `ImpactPrediction`: one contact, one call."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.contact.geometry import Contact, FreeObject
from impact_aware.errors import InvalidInputError
from impact_aware.impact import compiled_maps
from impact_aware.impact.contact_impulse import MODES, ImpactMapFunction, LocalImpulse, beyond_numbers, not_finite
from impact_aware.impact.contact_space import ContactSpace, ContactSpaceBuilder
from impact_aware.impact.prediction import ImpactPrediction
from impact_aware.impact.registry import DEFAULT_METHOD, impact_map
from impact_aware.impact.serial_arm import arm_constants, contact_entries
from impact_aware.impact.table_support import TableSupport
from impact_aware.records.impact import HIT
from impact_aware.robot import RobotModel

# (q, dq) -> velocities after (n,), impulse, and the problem that was solved.
_Way: TypeAlias = Callable[[Array, Array], tuple[Array, LocalImpulse, ContactSpace]]


class ImpactPredictor:
    """Predicts at many states for one robot and one contact: checks once, then trusts.

    For a serial arm it is one compiled function. It belongs to the thread that made it, as does its scratch memory.

    Attributes:
        robot: The arm.
        contact: Where and how it touches.
        obstacle: The free object it touches, or None for a fixed surface.
        method: Name of the impact map.
        inertia: Which inertia is used.
        table: What holds the object from below, or None.
    """

    def __init__(
        self,
        robot: RobotModel,
        contact: Contact,
        *,
        obstacle: FreeObject | None = None,
        method: str = DEFAULT_METHOD,
        inertia: str = "M+B_theta",
        table: TableSupport | None = None,
    ) -> None:
        """Prepare what does not change with the state.

        Args:
            robot: The arm.
            contact: Where and how it touches.
            obstacle: The free object it touches; a fixed surface when None.
            method: One of `IMPACT_MAPS`.
            inertia: One of `INERTIA_CHOICES`.
            table: What holds the object from below; the law is then that of simultaneous contacts, whatever `method`.

        Raises:
            UnknownNameError: Unknown frame, method or inertia.
            InvalidInputError: M+B_rho for a robot whose motor inertia is unknown.
        """
        solve = impact_map(method)
        way = _compiled_way(robot, contact, obstacle, method, inertia)
        self._way: _Way = way or _general_way(robot, contact, obstacle, solve, inertia)
        self.robot = robot
        self.contact = contact
        self.obstacle = obstacle
        self.method = method if table is None else HIT
        self.inertia = robot.known_inertia(inertia)
        self.table = table

    def __call__(self, q: Array, dq: Array) -> ImpactPrediction:
        """Predict at `q` (n,) rad with `dq` (n,) rad/s, float arrays that are trusted to be finite.

        `velocity_before` of the result is `dq` itself, not a copy.

        Raises:
            NoSolutionError: Numbers so large that the contact's inertia or velocity overflows, as with an object
                1e300 m away.
        """
        after, impulse, space = self._way(q, dq)
        if self.table is not None and impulse.mode != "separate":
            contact = self.contact
            how = contact.axes, space.point, space.delassus, space.velocity, contact.friction, contact.restitution
            impulse, table, *_ = self.table.solve(*how)
            after = dq + np.array(impulse[:3]) @ space.answers[:3]
            return ImpactPrediction(dq, after, impulse, space, contact, self.obstacle, self.method, self.inertia, table)
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
    table: TableSupport | None = None,
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
        table: What holds the object from below; see `ImpactPredictor`.

    Raises:
        InvalidInputError: An array of the wrong size or not finite.
        UnknownNameError: Unknown frame, method or inertia.
    """
    q = robot.check_configuration(q, "q")
    dq = robot.check_configuration(dq, "dq")
    return ImpactPredictor(robot, contact, obstacle=obstacle, method=method, inertia=inertia, table=table)(q, dq)


def _compiled_way(
    robot: RobotModel, contact: Contact, obstacle: FreeObject | None, method: str, inertia: str
) -> _Way | None:
    """The compiled way; None where there is none for this robot or map."""
    try:
        arm = arm_constants(robot, inertia)
    except InvalidInputError:
        return None
    index, predict_one = compiled_maps.METHODS.get(method), compiled_maps.predict_one
    if index is None:
        return None
    entries, n = contact_entries(robot, contact, obstacle), robot.n
    scratch, empty = np.empty(compiled_maps.scratch_length(n)), np.empty

    def way(q: Array, dq: Array) -> tuple[Array, LocalImpulse, ContactSpace]:
        after, jacobian, answers, problem, point = empty(n), empty((3, n)), empty((4, n)), empty((3, 4)), empty(3)
        filled = after, jacobian, answers, problem, point
        try:
            p_n, p_1, p_2, mode = predict_one(index, arm, entries, q, dq, scratch, *filled)
        except ZeroDivisionError as error:
            raise beyond_numbers((problem, q, dq)) from error
        if mode < 0.0:
            raise compiled_maps.no_solution(int(mode), (problem, q, dq))
        impulse = LocalImpulse(p_n, p_1, p_2, MODES[int(mode)])
        return after, impulse, ContactSpace(jacobian, answers, problem, point)

    return way


def _general_way(
    robot: RobotModel, contact: Contact, obstacle: FreeObject | None, solve: ImpactMapFunction, inertia: str
) -> _Way:
    """Pinocchio's kinematics and dynamics, and the map alone: for arms that are no chain of simple joints."""
    build, weights = ContactSpaceBuilder(robot, contact, obstacle, inertia), np.ones(4)

    def way(q: Array, dq: Array) -> tuple[Array, LocalImpulse, ContactSpace]:
        space = build(q, dq)
        (w_00, w_01, w_02, v_0), (_, w_11, w_12, v_1), (_, _, w_22, v_2) = space.problem.tolist()
        if not math.isfinite(w_00 + w_01 + w_02 + w_11 + w_12 + w_22 + v_0 + v_1 + v_2):
            raise not_finite((space.problem, q, dq))
        delassus = (w_00, w_01, w_02), (w_01, w_11, w_12), (w_02, w_12, w_22)
        try:
            impulse = solve(delassus, (v_0, v_1, v_2), contact.friction, contact.restitution)
        except ZeroDivisionError as error:
            raise beyond_numbers((space.problem, q, dq)) from error
        weights[0], weights[1], weights[2], mode = impulse
        return dq.copy() if mode == "separate" else weights.dot(space.answers), impulse, space

    return way
