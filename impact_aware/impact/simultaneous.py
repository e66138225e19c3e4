"""Several contacts at once among arms, free objects and fixed surfaces: one impact, one answer.

Two palms on a box, a box on a table, the corners of a pad: impulses that arise together act through all bodies
together, so no contact can be predicted alone. Bodies are joined by their inverse inertias into one Delassus matrix,
on which the contacts' Coulomb cones are solved (`cone_complementarity`). Restitution is Poisson's, contact by contact,
so that no energy is made (`poisson_restitution`); 0 is the sustained contact of van Steen 2024. One contact alone has a
path to follow, and follows it: it gets the single-contact map.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

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
from impact_aware.errors import InvalidInputError, UnknownNameError
from impact_aware.impact.contact_impulse import Mode
from impact_aware.impact.poisson_restitution import solve_poisson
from impact_aware.impact.registry import DEFAULT_METHOD, impact_map
from impact_aware.impact.successive import solve_successive
from impact_aware.ranges import check_scalar
from impact_aware.robot import RobotModel

# A contact slower than this after the impact, relative to the fastest before it, sticks or stays.
_STILL = 1e-6


@dataclass(frozen=True, eq=False)
class ArmState:
    """One arm at the moment of the impact.

    Attributes:
        robot: The arm.
        q: (n,) rad.
        dq: (n,) Just before, rad/s.
        rotation: (3, 3) Of the arm's base in the common frame.
        position: (3,) Of the arm's base in the common frame, m.
    """

    robot: RobotModel
    q: Array
    dq: Array
    rotation: Array = field(default_factory=lambda: np.eye(3))
    position: Array = field(default_factory=lambda: np.zeros(3))

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
        restitution: Poisson's coefficient, 0..1.
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

    def at(self, point: Array) -> BodyContact:
        """This contact, moved to another point (3,), m."""
        moved = copy.copy(self)
        object.__setattr__(moved, "point", frozen(vector("point", point, 3)))
        return moved


class SimultaneousPrediction(NamedTuple):
    """State just after a simultaneous impact of m contacts; vectors of three in the common frame.

    Attributes:
        contacts: (m,) The contacts, as they were given.
        velocity_before: Joint velocities (n,) of each arm, rad/s, and twist (6,) of each object, by name.
        velocity_after: Joint velocities and twists just after, by name.
        impulse: (m, 3) On each contact's `body`, N s.
        modes: (m,) `stick`, `slide`, or `separate` where a contact got no impulse.
        contact_velocity_before: (m, 3) Of `body` relative to `other`, m/s.
        contact_velocity_after: (m, 3).
        energy_loss: Of all bodies together, J.
        degenerate: Whether redundant or singular contacts left the impulses undetermined, so that they are the ones of
            least norm; the velocities are determined all the same.
        rank: Of the Delassus matrix, at most 3 m.
        residual: Of the contact laws, relative to the speed and impulse of the problem: 1e-9 and more where the solver
            found no solution and what it came to, in the cones and without gain of energy, stands for it.
    """

    contacts: tuple[BodyContact, ...]
    velocity_before: dict[str, Array]
    velocity_after: dict[str, Array]
    impulse: Array
    modes: tuple[Mode, ...]
    contact_velocity_before: Array
    contact_velocity_after: Array
    energy_loss: float
    degenerate: bool
    rank: int
    residual: float


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
    columns = _columns(bodies)
    total = sum(len(body.velocity) for body in bodies.values())
    jacobian = np.zeros((3 * len(contacts), total))
    frames: dict[tuple[str, str | None], _Frame] = {}
    for index, contact in enumerate(contacts):
        rows = slice(3 * index, 3 * index + 3)
        axes = contact_axes(contact.normal)
        for name, frame, sign in ((contact.body, contact.frame, 1.0), (contact.other, contact.other_frame, -1.0)):
            if name is None:
                continue
            if name in arms:
                if (name, frame) not in frames:
                    frames[(name, frame)] = _frame_of(arms[name], frame)
                at_point = _arm_jacobian(arms[name], frames[(name, frame)], contact.point)
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


def predict_simultaneous(
    contacts: Sequence[BodyContact],
    *,
    arms: Mapping[str, ArmState] | None = None,
    objects: Mapping[str, FreeObject] | None = None,
    inertia: str = "M+B_theta",
    method: str = DEFAULT_METHOD,
    gaps: Array | None = None,
    time_constant: float = 0.0,
) -> SimultaneousPrediction:
    """Predict the state just after contacts that arise, or persist, at the same moment.

    Args:
        contacts: At least one.
        arms: Arms by name.
        objects: Free objects by name, in the common frame.
        inertia: One of `INERTIA_CHOICES`, for every arm.
        method: The single-contact map for the case of one contact.
        gaps: (m,) What contacts still have to close when the first one touches, m, see `solve_successive`: those of
            pads without restitution; None when all touch at once.
        time_constant: With which pads take the speed out of their contacts, s; matters with `gaps` only.

    Raises:
        InvalidInputError: No contact, or gaps with restitution.
        UnknownNameError: A contact names an unknown body or frame.
    """
    problem = joint_problem(contacts, arms=arms, objects=objects, inertia=inertia)
    delassus, velocity, columns = problem.delassus, problem.velocity, problem.columns
    before = problem.jacobian @ velocity
    if gaps is None:
        impulse, rank, degenerate, residual = _solve(contacts, delassus, before, method)
    else:
        impulse, rank, degenerate, residual = _solve_successive(contacts, delassus, before, gaps, time_constant)
    after = velocity + problem.response @ impulse
    contact_after = before + delassus @ impulse
    axes_of_all = [contact_axes(contact.normal) for contact in contacts]

    def in_common_frame(stacked: Array) -> Array:
        return np.array([stacked[3 * k : 3 * k + 3] @ axes for k, axes in enumerate(axes_of_all)])

    return SimultaneousPrediction(
        contacts=tuple(contacts),
        velocity_before={name: velocity[columns[name]] for name in columns},
        velocity_after={name: after[columns[name]] for name in columns},
        impulse=in_common_frame(impulse),
        modes=_modes(contacts, impulse, contact_after, float(np.abs(before).max())),
        contact_velocity_before=in_common_frame(before),
        contact_velocity_after=in_common_frame(contact_after),
        energy_loss=0.0 - float(impulse @ (before + 0.5 * delassus @ impulse)),
        degenerate=degenerate,
        rank=rank,
        residual=residual,
    )


def contact_patch(contact: BodyContact, along: Array, half_length: float, half_width: float) -> list[BodyContact]:
    """Four corner contacts that stand for a rectangular patch around `contact`.

    Args:
        contact: The patch's centre, normal and coefficients.
        along: (3,) Direction of the patch's length; its part in the contact plane counts.
        half_length: m, >= 0.
        half_width: m, >= 0.

    Raises:
        InvalidInputError: `along` is parallel to the normal, or a negative length.
    """
    check_scalar("half_length", half_length, 0.0, np.inf)
    check_scalar("half_width", half_width, 0.0, np.inf)
    direction = vector("along", along, 3)
    direction = direction - contact.normal * (contact.normal @ direction)
    if not np.linalg.norm(direction) > 1e-9:
        raise InvalidInputError("along", list(along), "a direction across the normal")
    direction /= np.linalg.norm(direction)
    across = np.cross(contact.normal, direction)
    corners = ((1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0))
    return [
        contact.at(contact.point + s * half_length * direction + t * half_width * across)
        for s, t in corners
    ]


class _Body(NamedTuple):
    """What the joint problem needs of a body: velocities (k,) and their inverse inertia (k, k)."""

    velocity: Array
    inverse_inertia: Array


def _arm_body(arm: ArmState, inertia: str) -> _Body:
    return _Body(arm.dq, np.asarray(np.linalg.inv(arm.robot.mass_matrix(arm.q, inertia)), dtype=float))


class _Frame(NamedTuple):
    """Where a frame of an arm is in its base (3,), m, and its Jacobian (6, n), in the base's axes."""

    position: Array
    jacobian: Array


def _frame_of(arm: ArmState, frame: str | None) -> _Frame:
    placed = np.asarray(arm.robot.placement(arm.q, frame).translation).copy()
    return _Frame(placed, arm.robot.frame_jacobian(arm.q, frame).reshape(6, arm.robot.n).copy())


def _arm_jacobian(arm: ArmState, frame: _Frame, point: Array) -> Array:
    """Velocity in the common frame of the arm's material point at `point`, (3, n)."""
    in_base = arm.rotation.T @ (point - arm.position)
    return arm.rotation @ point_jacobian(in_base - frame.position) @ frame.jacobian


def _columns(bodies: Mapping[str, _Body]) -> dict[str, slice]:
    ends = np.cumsum([len(body.velocity) for body in bodies.values()])
    return {
        name: slice(int(end) - len(body.velocity), int(end))
        for (name, body), end in zip(bodies.items(), ends, strict=True)
    }


def _solve(
    contacts: Sequence[BodyContact], delassus: Array, before: Array, method: str
) -> tuple[Array, int, bool, float]:
    """Impulses (3 m,), the matrix's rank, whether they were undetermined, and the residual."""
    if len(contacts) == 1:
        one = impact_map(method)(delassus.tolist(), before.tolist(), contacts[0].friction, contacts[0].restitution)
        rank = int(np.linalg.matrix_rank(delassus, hermitian=True))
        return np.array(one[:3]), rank, rank < 3, 0.0
    friction = np.array([contact.friction for contact in contacts])
    restitution = np.array([contact.restitution for contact in contacts])
    solution = solve_poisson(delassus, before, friction, restitution)
    return solution.impulse, solution.rank, solution.degenerate, solution.residual


def _solve_successive(
    contacts: Sequence[BodyContact], delassus: Array, before: Array, gaps: Array, time_constant: float
) -> tuple[Array, int, bool, float]:
    bouncing = [contact.restitution for contact in contacts if contact.restitution > 0.0]
    if bouncing:
        raise InvalidInputError("restitution", bouncing[0], "0 for contacts that meet one after another")
    friction = np.array([contact.friction for contact in contacts])
    solution = solve_successive(delassus, before, friction, gaps, time_constant)
    return solution.impulse, solution.rank, solution.degenerate, solution.residual


def _modes(contacts: Sequence[BodyContact], impulse: Array, after: Array, speed: float) -> tuple[Mode, ...]:
    modes: list[Mode] = []
    largest = float(np.abs(impulse).max())
    for index, contact in enumerate(contacts):
        if impulse[3 * index] <= _STILL * largest:
            modes.append("separate")
        elif contact.friction > 0.0 and np.hypot(after[3 * index + 1], after[3 * index + 2]) <= _STILL * speed:
            modes.append("stick")
        else:
            modes.append("slide")
    return tuple(modes)
