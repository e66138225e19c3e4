"""Normal and friction of the surface that an arm hit, from the jumps of its joints.

A jump shows an impulse at the contact point (`contact_point`), and the impulse alone shows normal and friction only
together: under Coulomb's law it lies in the cone of friction around the normal, and on it, against the slip, where the
contact slides to the end. The motion of the point separates them: every hit has to follow from its own
velocity before by Coulomb's law (the map of `predict`) with the normal and friction that all hits share and a
restitution of its own. Counted for one hit of a known tip: three numbers of the impulse against two of the normal,
one of the friction, one of the restitution. So one sliding hit gives the normal where the friction is known and the
friction where the normal is; a hit that sticks gives only a lower bound of the friction, the ratio of its impulses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import OptimizeResult, least_squares

from impact_aware.arrays import Array
from impact_aware.contact.geometry import (
    FRICTION,
    OBJECT_MASS,
    RADIUS,
    contact_axes,
    point_jacobian,
    unit_vector,
    vector,
)
from impact_aware.errors import InvalidInputError
from impact_aware.estimation.contact_point import MODEL, REACH, ContactPointProblem, Hit, JointJump
from impact_aware.impact.registry import DEFAULT_METHOD, impact_map
from impact_aware.ranges import Range
from impact_aware.robot import RobotModel

TELLING_NORMAL = float(np.radians(5.0))
"""Standard error up to which the jumps determine the normal, rad."""

TELLING_FRICTION = 0.1
"""Standard error up to which the jumps determine the coefficient of friction."""

FIXED_LAW, FREE_LAW = 0.2, 0.45
"""How far the impulse along a fixed surface, and along a free object's, is from Coulomb's law of the rigid arm: a share
of what friction allows, root mean square of either direction. While it lasts joints give, so that the tip slips another
way or sticks, and an object that turns or stands on something yields otherwise than a point mass."""

LAW = Range(0.0, 2.0)
"""Errors of the law."""

SEVERAL = 3
"""Hits that slide of which one at least is near the friction's bound, where the law is that far off: one that stuck or
turned meanwhile shows less than the friction."""

_WIDEST = 3.0
"""Largest coefficient of friction that is looked for."""

_RIVAL = 6.0
"""Chi-square above the best up to which another answer is as good: two numbers are that far off once in twenty."""

# Where a search ends; an answer is known to a hundredth at best.
_NEAR = {"ftol": 1e-6, "xtol": 1e-6}

# Priors of normal (rad), friction and restitution, which the jumps may leave open; the last two as value and width.
_TILT, _FRICTION, _RESTITUTION = 1.0, (0.3, 1.0), (0.5, 0.5)


@dataclass(frozen=True, eq=False)
class ContactSurfaceFit:
    """Normal and friction of a surface, with the tip that touched it in the axes of its frame.

    Attributes:
        frame: The frame that touched.
        fitted: Which of `normal` and `friction` were fitted; the other was given.
        offset: (3,) Centre of the tip, which is where the frame's body was touched when its radius is 0, m from the
            frame's origin.
        offset_error: Its largest standard error, m; 0 for one that was given.
        normal: (3,) Unit vector from the surface into the arm, base frame.
        normal_error: Largest standard error of its direction, rad; 0 for one that was given.
        friction: Coulomb's coefficient.
        friction_error: Its standard error; 0 for one that was given.
        friction_at_least: Largest ratio of the impulse along the surface over that onto it.
        modes: Per hit `slide`, `stick` or `separate`, of the end of the contact.
        restitution: (k,) Of each hit.
        unexplained: Root mean square of what the fit leaves over that of the jumps.
        chi_square: Sum of squares of what is left over the errors.
        rivals: Other answers that explain the jumps as well were found, and the errors reach them.
    """

    frame: str
    fitted: tuple[str, ...]
    offset: Array
    offset_error: float
    normal: Array
    normal_error: float
    friction: float
    friction_error: float
    friction_at_least: float
    modes: tuple[str, ...]
    restitution: Array
    unexplained: float
    chi_square: float
    rivals: bool

    @property
    def normal_determined(self) -> bool:
        """Whether the normal was fitted and the jumps determine it."""
        return "normal" in self.fitted and self.normal_error <= TELLING_NORMAL

    @property
    def friction_determined(self) -> bool:
        """Whether the friction was fitted and the jumps determine it; else they give `friction_at_least`."""
        return "friction" in self.fitted and self.friction_error <= TELLING_FRICTION


def fit_contact_surface(
    robot: RobotModel,
    hits: Sequence[JointJump],
    frame: str | None = None,
    *,
    normal: Array | None = None,
    friction: float | None = None,
    offset: Array | None = None,
    radius: float = 0.0,
    object_mass: float | None = None,
    inertia: str = "M+B_theta",
    model_error: float = MODEL,
    law_error: float | None = None,
) -> ContactSurfaceFit:
    """Normal, friction or both of the one surface that all hits were on, and the point with them where it is not known.

    Args:
        robot: The arm.
        hits: With their velocities before; all at the same point of the tool and on the same surface.
        frame: Whose body was touched; the tool frame when None.
        normal: (3,) From the surface into the arm, base frame; fitted when None.
        friction: Coulomb's coefficient; fitted when None.
        offset: (3,) Centre of the tip, m from the frame's origin in its axes; fitted when None.
        radius: Of the tip, m; 0 for one and the same point in all hits.
        object_mass: Of a free object that rested and was hit centrally, kg; a fixed surface when None.
        inertia: One of `INERTIA_CHOICES`.
        model_error: Error of the inertia, as a share of each jump's norm.
        law_error: As `FIXED_LAW` and `FREE_LAW`, which are taken when None; 0 for joints that don't give.

    Raises:
        InvalidInputError: No hit, one without its velocity before, an error of the law that is none, or nothing that is
            to be fitted.
        UnknownNameError: No such frame or inertia.
    """
    if normal is not None and friction is not None:
        raise InvalidInputError("normal and friction", "both", "one of them at most, the other is fitted")
    frame = frame or robot.tool_frame
    free = ContactPointProblem(robot, hits, frame, inertia=inertia, model_error=model_error).fit()
    known = None if normal is None else unit_vector("normal", normal)
    if friction is not None:
        FRICTION.check("friction", friction)
    if object_mass is not None:
        OBJECT_MASS.check("object mass", object_mass)
    RADIUS.check("radius", radius)
    place = None if offset is None else vector("offset", offset, 3)
    held = [_Hit(robot, hit, frame, inertia, model_error, object_mass, radius) for hit in hits]
    problem = _Problem(held, known, friction, place)
    # The tip's centre is a radius behind what was touched, and nearly on the line of the impulse.
    started = [hit.free_impulse(free.point if place is None else place) for hit in held]
    directions = [impulse / max(float(np.linalg.norm(impulse)), 1e-12) for impulse in started]
    pushed = np.sum(directions, axis=0)
    if not np.linalg.norm(pushed) > 1e-9:
        pushed = directions[0]
    centre = free.point + radius * held[0].rotation.T @ directions[0]
    axis = unit_vector("impulse", pushed)
    share = (FIXED_LAW if object_mass is None else FREE_LAW) if law_error is None else law_error
    LAW.check("law error", share)
    if share > 0.0:
        bound = friction
        if bound is None:
            # A friction that is fitted goes along with hits that show less than it.
            fit, around = problem.solved(centre, axis)[0]
            bound = 2.0 * problem.parts(fit.x, around)[1]
        for hit in held:
            hit.doubt_law(free.point if place is None else place, share * bound)
    fits = problem.solved(centre, axis)
    return problem.judged(fits, frame, sum(np.size(hit.jump) for hit in hits), law_holds=share == 0.0)


class _Hit(Hit):
    """A hit with everything that depends neither on point nor on surface."""

    def __init__(
        self,
        robot: RobotModel,
        hit: JointJump,
        frame: str,
        inertia: str,
        model_error: float,
        mass: float | None,
        radius: float,
    ) -> None:
        if hit.before is None:
            raise InvalidInputError("hits", "a jump alone", "the velocity before as well, for Coulomb's law")
        super().__init__(robot, hit, frame, inertia, model_error)
        self.mobility, self.twist = self.jacobian @ self.response, self.jacobian @ hit.before
        self.yielding = 0.0 if mass is None else 1.0 / mass
        self.radius = radius

    def free_impulse(self, point: Array) -> Array:
        """The impulse (3,) at a point of the frame that explains the jump best, whatever the surface."""
        return self.impulse_at(self.rotation @ point)[0]

    def doubt_law(self, point: Array, share: float) -> None:
        """Count in that the impulse along the surface may be another by this share of the whole."""
        impulse, columns = self.impulse_at(self.rotation @ point)
        size = float(np.linalg.norm(impulse))
        along = impulse / max(size, 1e-12)
        self.grant(share * size * columns @ (np.eye(3) - np.outer(along, along)))

    def motion_after(self, point: Array) -> Array:
        """Velocity (3,) of a point of the frame after the hit, m/s."""
        after = self.twist + self.jacobian @ self.jump
        found: Array = point_jacobian(self.rotation @ point) @ after
        return found

    def impulse_by(self, offset: Array, normal: Array, friction: float, restitution: float) -> tuple[Array, Array, str]:
        """What Coulomb's law makes of the velocity before: impulse (3,) in contact axes, jump (n,), mode."""
        reach, axes = point_jacobian(self.rotation @ offset - self.radius * normal), contact_axes(normal)
        lever = axes @ reach
        delassus = lever @ self.mobility @ lever.T + self.yielding * np.eye(3)
        a, b, c = (lever @ self.twist).tolist()
        found = impact_map(DEFAULT_METHOD)(delassus.tolist(), (a, b, c), friction, restitution)
        impulse = np.array([found.normal, found.tangent_1, found.tangent_2])
        return impulse, self.response @ (lever.T @ impulse), found.mode


class _Problem:
    """Unknowns to residuals: two tilts of the normal, friction, offset, and a restitution for each hit."""

    def __init__(self, hits: list[_Hit], normal: Array | None, friction: float | None, offset: Array | None) -> None:
        self._hits, self._normal, self._friction, self._offset = hits, normal, friction, offset
        self._tilts = 2 if normal is None else 0
        self._rubs = 1 if friction is None else 0
        self._places = 3 if offset is None else 0

    def parts(self, unknowns: Array, around: Array) -> tuple[Array, float, Array, Array]:
        """Normal (3,), friction, offset (3,) and restitutions (k,)."""
        first, second = self._tilts, self._tilts + self._rubs
        normal = around if self._normal is None else self._normal
        if self._normal is None:
            normal = around + unknowns[:2] @ contact_axes(around)[1:]
            normal = normal / np.linalg.norm(normal)
        friction = float(unknowns[first]) if self._friction is None else self._friction
        offset = unknowns[second : second + 3] if self._offset is None else self._offset
        return normal, friction, offset, unknowns[second + self._places :]

    def left(self, unknowns: Array, around: Array) -> Array:
        """What the hits leave over, over its error."""
        normal, friction, offset, bounces = self.parts(unknowns, around)
        return np.concatenate(
            [
                hit.weight @ (hit.jump - hit.impulse_by(offset, normal, friction, bounce)[1])
                for hit, bounce in zip(self._hits, bounces.tolist(), strict=True)
            ]
        )

    def residuals(self, unknowns: Array, around: Array) -> Array:
        """Residuals of the jumps, and those of the priors of unknowns that the jumps leave open."""
        _, friction, offset, bounces = self.parts(unknowns, around)
        held = [unknowns[: self._tilts] / _TILT, (bounces - _RESTITUTION[0]) / _RESTITUTION[1]]
        if self._friction is None:
            held.append(np.array([(friction - _FRICTION[0]) / _FRICTION[1]]))
        if self._offset is None:
            held.append(offset / REACH)
        return np.concatenate([self.left(unknowns, around), *held])

    def solved(self, offset: Array, impulse: Array) -> list[tuple[OptimizeResult, Array]]:
        """Solutions from several normals around the impulses' direction, and frictions; each with its first normal."""
        # With friction the normal is off the impulse towards where the contact moves afterwards.
        place = offset if self._offset is None else self._offset
        motion = self._hits[0].motion_after(place)
        motion = motion - float(motion @ impulse) * impulse
        motion = motion / max(float(np.linalg.norm(motion)), 1e-12)
        found = []
        for lean in (0.0, 0.3, 0.7) if self._normal is None else (0.0,):
            around = unit_vector("normal", impulse + lean * motion)
            for friction in (0.1, 0.6, 1.5) if self._friction is None else (0.0,):
                start = np.concatenate(
                    [
                        np.zeros(self._tilts),
                        [friction] * self._rubs,
                        offset if self._offset is None else [],
                        [0.5] * len(self._hits),
                    ]
                )
                low, high = np.full(start.size, -np.inf), np.full(start.size, np.inf)
                low[: self._tilts], high[: self._tilts] = -1.5, 1.5
                low[self._tilts : self._tilts + self._rubs], high[self._tilts : self._tilts + self._rubs] = 0.0, _WIDEST
                low[-len(self._hits) :], high[-len(self._hits) :] = 0.0, 1.0
                fit = least_squares(self.residuals, start, bounds=(low, high), args=(around,), max_nfev=60, **_NEAR)
                found.append((fit, around))
        return sorted(found, key=lambda one: float(one[0].cost))

    def judged(
        self, fits: list[tuple[OptimizeResult, Array]], frame: str, numbers: int, *, law_holds: bool
    ) -> ContactSurfaceFit:
        """The best of the solutions, with errors that reach those which are as good."""
        best, around = fits[0]
        normal, friction, offset, bounces = self.parts(best.x, around)
        left = self.left(best.x, around)
        chi_square, freedom = float(left @ left), numbers - best.x.size
        # Where the jumps fit worse than their errors say, the errors grow; they never shrink.
        excess = max(1.0, chi_square / freedom) if freedom > 0 else 1.0
        covariance = excess * np.linalg.inv(best.jac.T @ best.jac)
        tilt = float(np.sqrt(np.linalg.eigvalsh(covariance[:2, :2])[-1])) if self._tilts else 0.0
        rub = float(np.sqrt(covariance[self._tilts, self._tilts])) if self._rubs else 0.0
        block = slice(self._tilts + self._rubs, self._tilts + self._rubs + self._places)
        place = float(np.sqrt(np.linalg.eigvalsh(covariance[block, block])[-1])) if self._places else 0.0
        rivals = False
        for fit, where in fits[1:]:
            if 2.0 * float(fit.cost - best.cost) > _RIVAL * excess:
                continue
            other, rubbing = self.parts(fit.x, where)[:2]
            apart = float(np.arccos(np.clip(other @ normal, -1.0, 1.0)))
            rivals |= apart > 2.0 * tilt + 1e-3 or abs(rubbing - friction) > 2.0 * rub + 1e-3
            tilt = max(tilt, apart / 2.0) if self._tilts else tilt
            rub = max(rub, abs(rubbing - friction) / 2.0) if self._rubs else rub
        ends = [
            hit.impulse_by(offset, normal, friction, bounce)
            for hit, bounce in zip(self._hits, bounces.tolist(), strict=True)
        ]
        slides = sum(mode == "slide" for _, _, mode in ends)
        if self._rubs and slides < (1 if law_holds else SEVERAL):
            # A hit that sticks would do so at any larger friction.
            rub = max(rub, _FRICTION[1])
        ratios = [float(np.hypot(p[1], p[2])) / float(p[0]) for p, _, _ in ends if p[0] > 0.0]
        jumps = np.concatenate([hit.jump for hit in self._hits])
        missed = jumps - np.concatenate([jump for _, jump, _ in ends])
        return ContactSurfaceFit(
            frame=frame,
            fitted=("normal",) * (self._normal is None) + ("friction",) * (self._friction is None),
            offset=offset,
            offset_error=place,
            normal=normal,
            normal_error=tilt,
            friction=friction,
            friction_error=rub,
            friction_at_least=max(ratios, default=0.0),
            modes=tuple(mode for _, _, mode in ends),
            restitution=bounces,
            unexplained=float(np.linalg.norm(missed) / np.linalg.norm(jumps)),
            chi_square=chi_square,
            rivals=rivals,
        )
