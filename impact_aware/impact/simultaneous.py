"""Several contacts at once among arms, free objects and fixed surfaces: one impact, one answer.

Two palms on a box, a box on a table, the corners of a pad: impulses that arise together act through all bodies
together. Two contacts act on each other where their block of the Delassus matrix is not zero. Contacts that no chain of
such blocks connects are independent and solved apart: one alone gets the single-contact map (`registry`), whatever
else is given beside it. A contact that is given several times is one, whose impulse its copies share.

Contacts that act on each other have no path to follow one by one: their Coulomb cones are solved together at the
velocities after the impact (`cone_complementarity`), with Poisson's restitution contact by contact, which makes no
energy (`poisson_restitution`); 0 is the sustained contact of van Steen 2024. Several velocities can obey these laws:
the answer is then the limit of contacts that yield alike, which does not depend on frames. Between soft pads contacts
meet one after another (`successive`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from impact_aware.arrays import Array
from impact_aware.contact.geometry import FreeObject, contact_axes
from impact_aware.errors import InvalidInputError
from impact_aware.impact.bodies import ArmState, BodyContact, JointProblem, joint_problem
from impact_aware.impact.contact_impulse import Mode
from impact_aware.impact.poisson_restitution import solve_poisson
from impact_aware.impact.registry import DEFAULT_METHOD, FRICTIONLESS, impact_map
from impact_aware.impact.successive import LONGEST, checked_gaps, first_touch, solve_successive

# Points of contacts that are one, m; directions and motions relative to their size.
_ALIKE = 1e-9
# Coupling of two contacts that is rounding, relative to their own mobilities.
_UNCOUPLED = 1e-12
# A contact slower than this after the impact, relative to the fastest before it, sticks or stays.
_STILL = 1e-6


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
        degenerate: Whether redundant or singular contacts leave the impulses undetermined; they are those of contacts
            that yield alike.
        rank: Of the Delassus matrix, at most 3 m.
        residual: Of the contact laws, relative to the speed and impulse of the problem: 1e-9 and more where the solver
            found no solution and what it came to, in the cones and without gain of energy, stands for it.
        unique: Whether no other velocities obey the same laws, as far as a search finds. False also where velocities
            next to these do, as of turning corners that can share their push, or restitution, in many ways, and
            without a solution.
        other_energy_losses: Of all bodies together, with each of the other velocities that were found, J.
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
    unique: bool
    other_energy_losses: tuple[float, ...]


def predict_simultaneous(
    contacts: Sequence[BodyContact],
    *,
    arms: Mapping[str, ArmState] | None = None,
    objects: Mapping[str, FreeObject] | None = None,
    inertia: str = "M+B_theta",
    method: str = DEFAULT_METHOD,
    gaps: Array | None = None,
    time_constant: float = 0.0,
    search: bool = True,
) -> SimultaneousPrediction:
    """Predict the state just after contacts that arise, or persist, at the same moment.

    Args:
        contacts: At least one.
        arms: Arms by name.
        objects: Free objects by name, in the common frame.
        inertia: One of `INERTIA_CHOICES`, for every arm.
        method: The single-contact map, one of `IMPACT_MAPS`, of contacts that nothing else acts on. Contacts that act
            on each other have one law, without friction where this is `frictionless`.
        gaps: (m,) What contacts still have to close when the first one touches, m, see `solve_successive`: those of
            pads without restitution; None when all touch at once.
        time_constant: With which pads take the speed out of their contacts, s; matters with `gaps` only.
        search: Whether to search for other velocities that obey the laws, which takes tens of times as long.

    Raises:
        InvalidInputError: No contact, or gaps with restitution.
        UnknownNameError: A contact names an unknown body or frame; an unknown method.
        NoSolutionError: An arm whose inertia is singular.
    """
    problem = joint_problem(contacts, arms=arms, objects=objects, inertia=inertia)
    before = problem.jacobian @ problem.velocity
    pads = None if gaps is None else _Pads(checked_gaps(gaps, len(contacts), time_constant), time_constant)
    bouncing = [contact.restitution for contact in contacts if contact.restitution > 0.0]
    if pads is not None and bouncing:
        raise InvalidInputError("restitution", bouncing[0], "0 for contacts that meet one after another")
    impact_map(method)  # or its name is refused
    slippery = [replace(contact, friction=0.0) for contact in contacts]
    answer = _solve(slippery if method == FRICTIONLESS else contacts, problem, before, method, pads, search)
    return outcome(contacts, problem, answer)


class _Pads(NamedTuple):
    """What is left to close (m,), m, between soft pads, and their time constant, s."""

    gaps: Array
    time_constant: float


class Answer(NamedTuple):
    """Impulses (3 m,) of contacts that act on each other, their modes, and what `SimultaneousPrediction` adds."""

    impulse: Array
    modes: tuple[Mode, ...]
    rank: int
    degenerate: bool
    residual: float
    unique: bool = True
    other_losses: tuple[float, ...] = ()


def outcome(contacts: Sequence[BodyContact], problem: JointProblem, answer: Answer) -> SimultaneousPrediction:
    """The state just after contacts with these impulses, whether a law gives them or not."""
    velocity, columns, impulse = problem.velocity, problem.columns, answer.impulse
    before = problem.jacobian @ velocity
    after = velocity + problem.response @ impulse
    contact_after = before + problem.delassus @ impulse
    axes_of_all = [contact_axes(contact.normal) for contact in contacts]

    def in_common_frame(stacked: Array) -> Array:
        return np.array([stacked[3 * k : 3 * k + 3] @ axes for k, axes in enumerate(axes_of_all)])

    return SimultaneousPrediction(
        contacts=tuple(contacts),
        velocity_before={name: velocity[columns[name]] for name in columns},
        velocity_after={name: after[columns[name]] for name in columns},
        impulse=in_common_frame(impulse),
        modes=answer.modes,
        contact_velocity_before=in_common_frame(before),
        contact_velocity_after=in_common_frame(contact_after),
        energy_loss=_loss(problem.delassus, before, impulse),
        degenerate=answer.degenerate,
        rank=answer.rank,
        residual=answer.residual,
        unique=answer.unique,
        other_energy_losses=answer.other_losses,
    )


def _loss(delassus: Array, before: Array, impulse: Array) -> float:
    """Kinetic energy that an impulse takes, J."""
    return 0.0 - float(impulse @ (before + 0.5 * delassus @ impulse))


def _solve(
    contacts: Sequence[BodyContact],
    problem: JointProblem,
    before: Array,
    method: str,
    pads: _Pads | None,
    search: bool,
) -> Answer:
    """Solve contact by contact what is independent, and together what is not."""
    gaps = np.zeros(len(contacts)) if pads is None else pads.gaps
    first = _first_of_each(contacts, problem.jacobian, gaps)
    kept, copies = np.unique(first, return_inverse=True)
    impulse, rank, residual = np.zeros((len(contacts), 3)), 0, 0.0
    modes: list[Mode] = ["separate"] * len(contacts)
    degenerate, unique = len(kept) < len(contacts), True
    loss, changes = 0.0, list[float]()
    for group in _groups(problem.delassus, kept):
        rows = (3 * group[:, None] + np.arange(3)).ravel()
        own = [contacts[k] for k in group]
        matrix, velocity = problem.delassus[np.ix_(rows, rows)], before[rows]
        found = _solve_group(own, matrix, velocity, method, pads and pads._replace(gaps=pads.gaps[group]), search)
        impulse[group] = found.impulse.reshape(-1, 3)
        rank, residual, degenerate = rank + found.rank, max(residual, found.residual), degenerate or found.degenerate
        unique, own_loss = unique and found.unique, _loss(matrix, velocity, found.impulse)
        loss += own_loss
        changes += [other - own_loss for other in found.other_losses]
        for k, mode in zip(group.tolist(), found.modes, strict=True):
            modes[k] = mode
    if len(kept) < len(contacts):
        shares = 1.0 / np.bincount(copies)
        for k, (one, share) in enumerate(zip(kept[copies].tolist(), shares[copies].tolist(), strict=True)):
            axes, modes[k] = contact_axes(contacts[one].normal), modes[one]
            if k != one:
                sign = math.copysign(1.0, contacts[k].normal @ contacts[one].normal)
                impulse[k] = contact_axes(contacts[k].normal) @ (sign * share * impulse[one] @ axes)
        impulse[kept] *= shares[:, None]
    other_losses = tuple(loss + change for change in changes)
    return Answer(impulse.ravel(), tuple(modes), rank, degenerate, residual, unique, other_losses)


def _first_of_each(contacts: Sequence[BodyContact], jacobian: Array, gaps: Array) -> NDArray[np.intp]:
    """Index (m,) of the first contact that is one with each: same point, motion, coefficients and gap."""
    points = np.array([contact.point for contact in contacts])
    alike = np.abs(points[:, None] - points).max(axis=2) <= _ALIKE
    for i, k in np.argwhere(np.triu(alike, 1)).tolist():
        one, other = contacts[i], contacts[k]
        sign = math.copysign(1.0, one.normal @ other.normal)
        same = (one.friction, one.restitution, gaps[i]) == (other.friction, other.restitution, gaps[k])
        same = same and bool(np.abs(one.normal - sign * other.normal).max() <= _ALIKE)
        if same:
            rows = [contact_axes(c.normal).T @ jacobian[3 * n : 3 * n + 3] for n, c in ((i, one), (k, other))]
            same = bool(np.abs(rows[0] - sign * rows[1]).max() <= _ALIKE * np.abs(rows[0]).max())
        alike[i, k] = alike[k, i] = same
    return np.asarray(alike.argmax(axis=1))


def _groups(delassus: Array, kept: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Return the groups of contacts that act on each other, directly or through others: connected blocks."""
    count = len(delassus) // 3
    blocks = np.abs(delassus).reshape(count, 3, count, 3).max(axis=(1, 3))[np.ix_(kept, kept)]
    own = np.sqrt(np.diag(blocks))
    reach = blocks > _UNCOUPLED * np.outer(own, own)
    reach |= np.eye(len(kept), dtype=bool)
    while not reach.all():
        further = reach @ reach
        if (further == reach).all():
            break
        reach = further
    starts = reach.argmax(axis=1)
    return [kept[starts == start] for start in np.unique(starts)]


def _solve_group(
    contacts: Sequence[BodyContact], delassus: Array, before: Array, method: str, pads: _Pads | None, search: bool
) -> Answer:
    """Solve contacts that act on each other; one alone gets the single-contact map, whenever it touches."""
    friction = np.array([contact.friction for contact in contacts])
    if pads is not None:
        before_touch = first_touch(pads.gaps, before[::3])
        if before_touch > LONGEST * pads.time_constant:
            separate: Mode = "separate"
            return Answer(np.zeros(len(before)), (separate,) * len(contacts), _rank(delassus), False, 0.0)
    if len(contacts) == 1:
        one = impact_map(method)(delassus.tolist(), before.tolist(), contacts[0].friction, contacts[0].restitution)
        rank = _rank(delassus)
        return Answer(np.array(one[:3]), (one.mode,), rank, rank < 3, 0.0)
    if pads is None:
        restitution = np.array([contact.restitution for contact in contacts])
        found = solve_poisson(delassus, before, friction, restitution, search=search)
    else:
        left = np.maximum(pads.gaps + before_touch * before[::3], 0.0)
        left[left <= left.min()] = 0.0
        found = solve_successive(delassus, before, friction, left, pads.time_constant, search=search)
    modes = contact_modes(contacts, found.impulse, before + delassus @ found.impulse, float(np.abs(before).max()))
    losses = tuple(_loss(delassus, before, other) for other in found.others)
    return Answer(found.impulse, modes, found.rank, found.degenerate, found.residual, found.unique, losses)


def _rank(delassus: Array) -> int:
    return int(np.linalg.matrix_rank(delassus, hermitian=True))


def contact_modes(contacts: Sequence[BodyContact], impulse: Array, after: Array, speed: float) -> tuple[Mode, ...]:
    """Modes (m,) by impulses (3 m,), N s, and velocities after (3 m,), m/s, where the fastest was `speed` before."""
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
