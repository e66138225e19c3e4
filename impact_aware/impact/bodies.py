"""Arms, free objects and fixed surfaces that touch each other, joined into one contact problem.

Their inverse inertias, one body after the other, and the contacts' Jacobian J give the Delassus matrix J M^-1 J^T, in
which an impulse at one contact changes the velocity of every other one that shares a body with it.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.contact.geometry import (
    FRICTION,
    RESTITUTION,
    FreeObject,
    contact_axes,
    frozen,
    point_jacobian,
    unit_vector,
    vector,
)
from impact_aware.errors import InvalidInputError, NoSolutionError, UnknownNameError
from impact_aware.ranges import check_scalar
from impact_aware.robot import RobotModel


@dataclass(frozen=True, eq=False)
class ArmState:
    """One arm at the moment of the impact.

    Attributes:
        robot: The arm.
        q: (n,) rad.
        dq: (n,) Just before, rad/s.
        rotation: (3, 3) Of the arm's base in the common frame.
        position: (3,) Of the arm's base in the common frame, m.
        added_inertia: (n, n) What the arm's inertia matrix has beyond the model's, kg m^2; None for nothing.
    """

    robot: RobotModel
    q: Array
    dq: Array
    rotation: Array = field(default_factory=lambda: np.eye(3))
    position: Array = field(default_factory=lambda: np.zeros(3))
    added_inertia: Array | None = None

    def __post_init__(self) -> None:
        """Check the arrays.

        Raises:
            InvalidInputError: Wrong size, not finite, or no rotation.
        """
        rotation = np.array(self.rotation, dtype=float)
        proper = rotation.shape == (3, 3) and np.abs(rotation @ rotation.T - np.eye(3)).max() < 1e-9
        if not proper or np.linalg.det(rotation) < 0.0:
            raise InvalidInputError("base rotation", rotation.tolist(), "a (3, 3) rotation matrix")
        object.__setattr__(self, "q", frozen(self.robot.check_configuration(self.q, "q").copy()))
        object.__setattr__(self, "dq", frozen(self.robot.check_configuration(self.dq, "dq").copy()))
        object.__setattr__(self, "rotation", frozen(rotation))
        object.__setattr__(self, "position", frozen(vector("base position", self.position, 3)))


@dataclass(frozen=True, eq=False)
class BodyContact:
    """A point where one body touches another, all vectors in the common frame.

    Attributes:
        body: Name of the arm or object that the normal points into.
        normal: (3,) Unit vector from `other` into `body`.
        point: (3,) Where they touch, m.
        other: Name of the other arm or object; None for a fixed surface.
        friction: Coulomb's coefficient, >= 0.
        restitution: Coefficient, 0..1: Poisson's among contacts that act on each other.
        frame: The frame of `body` that touches, when it is an arm; its tool frame when None.
        other_frame: The frame of `other` that touches, when it is an arm; its tool frame when None.
    """

    body: str
    normal: Array
    point: Array
    other: str | None = None
    friction: float = 0.0
    restitution: float = 0.0
    frame: str | None = None
    other_frame: str | None = None

    def __post_init__(self) -> None:
        """Check and normalise.

        Raises:
            InvalidInputError: Naming the field.
        """
        FRICTION.check("friction", self.friction)
        RESTITUTION.check("restitution", self.restitution)
        if self.other == self.body:
            raise InvalidInputError("other", repr(self.other), f"another body than {self.body!r}")
        object.__setattr__(self, "normal", frozen(unit_vector("normal", self.normal)))
        object.__setattr__(self, "point", frozen(vector("point", self.point, 3)))

    def at(self, point: ArrayLike) -> BodyContact:
        """This contact, moved to another point (3,), m."""
        moved = copy.copy(self)
        object.__setattr__(moved, "point", frozen(vector("point", point, 3)))
        return moved

    def patch(self, along: ArrayLike, half_length: float, half_width: float) -> list[BodyContact]:
        """The four corners of a rectangular patch around this contact.

        Args:
            along: (3,) Direction of the patch's length; its part in the contact plane counts.
            half_length: m, >= 0.
            half_width: m, >= 0.

        Raises:
            InvalidInputError: `along` is parallel to the normal, or a negative length.
        """
        check_scalar("half_length", half_length, 0.0, np.inf)
        check_scalar("half_width", half_width, 0.0, np.inf)
        direction = vector("along", along, 3)
        direction = direction - self.normal * (self.normal @ direction)
        if not np.linalg.norm(direction) > 1e-9:
            raise InvalidInputError("along", list(np.asarray(along)), "a direction across the normal")
        direction /= np.linalg.norm(direction)
        across = np.cross(self.normal, direction)
        corners = ((1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0))
        return [self.at(self.point + s * half_length * direction + t * half_width * across) for s, t in corners]


class JointProblem(NamedTuple):
    """The contact problem of m contacts between bodies, velocities stacked one body after the other (k entries).

    Attributes:
        columns: The entries of each body, by name.
        velocity: (k,) Before, rad/s of arms, m/s and rad/s of objects.
        jacobian: (3 m, k) To the contacts' relative velocities in their axes (normal, tangent, tangent).
        response: (k, 3 m) Velocities that impulses in these axes give, M^-1 J^T.
        delassus: (3 m, 3 m) J M^-1 J^T, 1/kg.
    """

    columns: dict[str, slice]
    velocity: Array
    jacobian: Array
    response: Array
    delassus: Array


def joint_problem(
    contacts: Sequence[BodyContact],
    *,
    arms: Mapping[str, ArmState] | None = None,
    objects: Mapping[str, FreeObject] | None = None,
    inertia: str = "M+B_theta",
) -> JointProblem:
    """Join bodies by their contacts; arguments and errors are those of `predict_simultaneous`."""
    if not contacts:
        raise InvalidInputError("contacts", "an empty list", "at least one contact")
    arms, objects = dict(arms or {}), dict(objects or {})
    both = sorted(set(arms) & set(objects))
    if both:
        raise InvalidInputError("objects", both, "names that no arm has")
    bodies = {name: _arm_body(arm, inertia) for name, arm in arms.items()}
    bodies |= {name: _Body(thing.twist, thing.inverse_inertia) for name, thing in objects.items()}
    ends = np.cumsum([len(body.velocity) for body in bodies.values()]).tolist()
    columns = {name: slice(start, end) for name, start, end in zip(bodies, [0, *ends], ends, strict=False)}
    total = ends[-1] if ends else 0
    jacobian = np.zeros((3 * len(contacts), total))
    frames: dict[tuple[str, str | None], tuple[Array, Array]] = {}
    for index, contact in enumerate(contacts):
        rows = slice(3 * index, 3 * index + 3)
        axes = contact_axes(contact.normal)
        for name, frame, sign in ((contact.body, contact.frame, 1.0), (contact.other, contact.other_frame, -1.0)):
            if name is None:
                continue
            if name in arms:
                arm = arms[name]
                if (name, frame) not in frames:
                    placed = np.asarray(arm.robot.placement(arm.q, frame).translation).copy()
                    frames[name, frame] = placed, arm.robot.frame_jacobian(arm.q, frame).reshape(6, arm.robot.n).copy()
                # Of the arm's material point at the contact, in the common frame.
                position, own = frames[name, frame]
                in_base = arm.rotation.T @ (contact.point - arm.position)
                at_point = arm.rotation @ point_jacobian(in_base - position) @ own
            elif name in objects:
                at_point = objects[name].jacobian(contact.point)
            else:
                raise UnknownNameError("contact body", name, tuple(bodies))
            jacobian[rows, columns[name]] = sign * (axes @ at_point)
    inverse_inertia = np.zeros((total, total))
    for name, body in bodies.items():
        inverse_inertia[columns[name], columns[name]] = body.inverse_inertia
    response = inverse_inertia @ jacobian.T
    velocity = np.concatenate([body.velocity for body in bodies.values()])
    return JointProblem(columns, velocity, jacobian, response, jacobian @ response)


class _Body(NamedTuple):
    """What the joint problem needs of a body: velocities (k,) and their inverse inertia (k, k)."""

    velocity: Array
    inverse_inertia: Array


def _arm_body(arm: ArmState, inertia: str) -> _Body:
    matrix = arm.robot.mass_matrix(arm.q, inertia)
    if arm.added_inertia is not None:
        matrix = matrix + arm.added_inertia
    try:
        return _Body(arm.dq, np.asarray(np.linalg.inv(matrix), dtype=float))
    except np.linalg.LinAlgError as error:
        raise NoSolutionError(f"a joint moves nothing: the inertia {inertia} is singular", matrix) from error

