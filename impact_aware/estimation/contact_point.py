"""Where on the tool an arm was hit, from the jumps of its joints.

An impulse p at the point r of the tool changes the joint velocities by B^-1 J(r)' p (Rey Arias 2024, (9) and (10)); p
is free in every hit, r is common to all. Moving r along p changes nothing, so that one hit tells the line of its
impulse at best; hits from several directions tell the point where their lines meet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares

from impact_aware.arrays import Array
from impact_aware.contact.geometry import point_jacobian, vector
from impact_aware.errors import InvalidInputError
from impact_aware.robot import RobotModel

TELLING = 0.01
"""Standard error of the point, across the impulse, up to which the jumps tell it, m: twice that is 2 cm."""

MODEL = 0.02
"""Error of the inertia, as a share of the jump, beside the errors of the velocities."""

FAR_BETTER = 13.8
"""Fall of chi-square for two more parameters that chance gives once in a thousand."""

REACH = 0.5
"""Spread of where a tool may be touched around its frame, m: holds what the jumps don't tell."""


@dataclass(frozen=True, eq=False)
class JointJump:
    """What one hit did to the joints.

    Attributes:
        q: (n,) Posture, rad.
        jump: (n,) Velocity after minus before, rad/s.
        error: (n,) Standard error of the jump, rad/s, > 0.
        before: (n,) Velocity before, rad/s, which Coulomb's law wants to know and the point does not; or None.
    """

    q: Array
    jump: Array
    error: Array
    before: Array | None = None

    def __post_init__(self) -> None:
        """Refuse what is not finite, and errors that are none."""
        size = np.size(self.q)
        for name in ("q", "jump", "error", "before"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, vector(name, getattr(self, name), size))
        if not (self.error > 0.0).all():
            raise InvalidInputError("error", self.error.tolist(), "values > 0 rad/s")
        if not self.jump.any():
            raise InvalidInputError("jump", self.jump.tolist(), "a jump that is not zero")


@dataclass(frozen=True, eq=False)
class ContactPointFit:
    """A contact point in the axes of its frame.

    Attributes:
        frame: The frame.
        point: (3,) Where the frame's body was touched, m from its origin; along `along` only the place nearest to the
            origin when `told_along` is not.
        covariance: (3, 3) Of `point`, m^2.
        along: (3,) Unit vector of the direction that the jumps tell least, which is the impulse's for one hit.
        error_across: Largest standard error perpendicular to `along`, m.
        error_along: Standard error along it, m.
        impulses: (k, 3) On the robot, base frame, N s.
        impulse_errors: (k, 3) Their standard errors, the point's included, N s.
        unexplained: Root mean square of what the fit leaves over that of the jumps.
        chi_square: Sum of squares of what is left over the errors.
        freedom: Numbers in the jumps beyond those that were fitted.
    """

    frame: str
    point: Array
    covariance: Array
    along: Array
    error_across: float
    error_along: float
    impulses: Array
    impulse_errors: Array
    unexplained: float
    chi_square: float
    freedom: int

    @property
    def told(self) -> bool:
        """Whether the jumps tell where the line of the impulse is."""
        return self.error_across <= TELLING

    @property
    def told_along(self) -> bool:
        """Whether they tell the point itself."""
        return self.told and self.error_along <= TELLING

    def distance(self, point: Array) -> float:
        """From a point (3,) of the frame to the fitted one, m; to the line where the place along it is not told."""
        apart = np.asarray(point, dtype=float) - self.point
        if not self.told_along:
            apart = apart - float(apart @ self.along) * self.along
        return float(np.linalg.norm(apart))


def fit_contact_point(
    robot: RobotModel,
    hits: Sequence[JointJump],
    frame: str | None = None,
    *,
    inertia: str = "M+B_theta",
    model_error: float = MODEL,
) -> ContactPointFit:
    """The point of a frame at which impulses explain the jumps best.

    Args:
        robot: The arm.
        hits: At the same point of the tool, from any directions.
        frame: Whose body was touched; the tool frame when None.
        inertia: One of `INERTIA_CHOICES`.
        model_error: Error of the inertia, as a share of each jump's norm.

    Raises:
        InvalidInputError: No hit, one of another robot, or fewer numbers than unknowns.
        UnknownNameError: No such frame or inertia.
    """
    problem = _problem(robot, hits, frame, inertia, model_error)
    # From several places: the sum of squares has valleys where impulse and lever change their signs together.
    starts = [np.zeros(3), *problem.lines()]
    fits = [least_squares(problem.held, start, method="lm", x_scale=0.1) for start in starts]
    best = min(fits, key=lambda fit: float(fit.cost))
    information = best.jac.T @ best.jac
    # Where the jumps fit worse than their errors say, the errors grow; they never shrink.
    left = problem.residuals(best.x)
    freedom = left.size - 3 * len(hits) - (2 if len(hits) == 1 else 3)
    chi_square = float(left @ left)
    excess = max(1.0, chi_square / freedom) if freedom > 0 else 1.0
    covariance = excess * np.linalg.inv(information)
    spread, axes = np.linalg.eigh(covariance)
    along = axes[:, 2]
    impulses, errors = problem.impulses(best.x, covariance, excess)
    point = best.x
    if np.sqrt(spread[2]) > TELLING:
        point = point - float(point @ along) * along
    jumps = np.concatenate([hit.jump for hit in hits])
    return ContactPointFit(
        frame=problem.frame,
        point=point,
        covariance=covariance,
        along=along,
        error_across=float(np.sqrt(spread[1])),
        error_along=float(np.sqrt(spread[2])),
        impulses=impulses,
        impulse_errors=errors,
        unexplained=float(np.linalg.norm(problem.unexplained(best.x)) / np.linalg.norm(jumps)),
        chi_square=chi_square,
        freedom=freedom,
    )


def explained_at(
    robot: RobotModel,
    hits: Sequence[JointJump],
    point: Array,
    frame: str | None = None,
    *,
    inertia: str = "M+B_theta",
    model_error: float = MODEL,
) -> tuple[float, float]:
    """Chi-square, and the unexplained share of the jumps, of the best impulses at a given point (3,) of a frame, m.

    Arguments and errors, beside the point, are those of `fit_contact_point`.
    """
    problem = _problem(robot, hits, frame, inertia, model_error)
    place = vector("point", point, 3)
    left = problem.residuals(place)
    jumps = np.concatenate([hit.jump for hit in hits])
    return float(left @ left), float(np.linalg.norm(problem.unexplained(place)) / np.linalg.norm(jumps))


def impulse_at(
    robot: RobotModel,
    hit: JointJump,
    point: Array,
    frame: str | None = None,
    *,
    inertia: str = "M+B_theta",
    model_error: float = MODEL,
) -> tuple[Array, Array]:
    """The impulse (3,), base frame, N s, best for a jump at a point (3,) of a frame, and its covariance (3, 3).

    Arguments and errors, beside the point, are those of `fit_contact_point`.
    """
    return _problem(robot, [hit], frame, inertia, model_error).impulse_of_first(vector("point", point, 3))


class _Problem:
    """The hits with everything that does not depend on the point.

    Attributes:
        frame: The frame that touches.
    """

    def __init__(
        self, robot: RobotModel, hits: Sequence[JointJump], frame: str, inertia: str, model_error: float
    ) -> None:
        self.frame = frame
        self._jumps = [hit.jump for hit in hits]
        self._errors = [np.hypot(hit.error, model_error * np.linalg.norm(hit.jump)) for hit in hits]
        self._rotations = [np.array(robot.placement(hit.q, frame).rotation) for hit in hits]
        # Impulse and angular impulse at the frame's origin to the jump of the joints, B^-1 J' (n, 6).
        self._responses = [
            np.linalg.solve(robot.mass_matrix(hit.q, inertia), robot.frame_jacobian(hit.q, frame).T) for hit in hits
        ]

    def _parts(self, point: Array) -> list[tuple[Array, Array, Array]]:
        """Per hit the response (n, 3) to an impulse at the point, the impulse (3,) and what it leaves (n,)."""
        found = []
        for jump, error, rotation, response in zip(
            self._jumps, self._errors, self._rotations, self._responses, strict=True
        ):
            columns = response @ point_jacobian(rotation @ point).T
            impulse: Array = np.asarray(np.linalg.lstsq(columns / error[:, None], jump / error, rcond=1e-9)[0])
            found.append((columns, impulse, jump - columns @ impulse))
        return found

    def impulse_of_first(self, point: Array) -> tuple[Array, Array]:
        """The first hit's impulse (3,) at the point and its covariance (3, 3)."""
        columns, impulse, _ = self._parts(point)[0]
        weighed = columns / self._errors[0][:, None]
        return impulse, np.asarray(np.linalg.pinv(weighed.T @ weighed), dtype=float)

    def residuals(self, point: Array) -> Array:
        """What the best impulses leave, over its errors."""
        return np.concatenate(
            [left / error for (_, _, left), error in zip(self._parts(point), self._errors, strict=True)]
        )

    def unexplained(self, point: Array) -> Array:
        """The same in rad/s."""
        return np.concatenate([left for _, _, left in self._parts(point)])

    def held(self, point: Array) -> Array:
        """The residuals, and the distance from the frame over `REACH`."""
        return np.concatenate([self.residuals(point), point / REACH])

    def lines(self) -> list[Array]:
        """The point nearest to the frame on each hit's line of impulse, from its impulse and angular impulse."""
        found = []
        for jump, error, rotation, response in zip(
            self._jumps, self._errors, self._rotations, self._responses, strict=True
        ):
            wrench = np.linalg.lstsq(response / error[:, None], jump / error, rcond=1e-6)[0]
            power = float(wrench[:3] @ wrench[:3])
            if power > 0.0:
                place = rotation.T @ np.cross(wrench[:3], wrench[3:]) / power
                found.append(place * min(1.0, REACH / max(float(np.linalg.norm(place)), 1e-9)))
        return found

    def impulses(self, point: Array, covariance: Array, excess: float) -> tuple[Array, Array]:
        """Impulses (k, 3) at the point and their standard errors, those that come with the point's included."""
        parts = self._parts(point)
        found = np.array([impulse for _, impulse, _ in parts])
        slopes = np.empty((len(parts), 3, 3))
        for axis in range(3):
            step = np.zeros(3)
            step[axis] = 1e-5
            ahead = np.array([impulse for _, impulse, _ in self._parts(point + step)])
            slopes[:, :, axis] = (ahead - found) / 1e-5
        errors = []
        for (columns, _, _), error, slope in zip(parts, self._errors, slopes, strict=True):
            own = excess * np.linalg.pinv((columns / error[:, None]).T @ (columns / error[:, None]))
            errors.append(np.sqrt(np.diag(own + slope @ covariance @ slope.T)))
        return found, np.array(errors)


def _problem(
    robot: RobotModel, hits: Sequence[JointJump], frame: str | None, inertia: str, model_error: float
) -> _Problem:
    if not hits:
        raise InvalidInputError("hits", "none", "at least one jump of the joints")
    for index, hit in enumerate(hits):
        if np.size(hit.q) != robot.n:
            raise InvalidInputError(f"hits[{index}]", f"{np.size(hit.q)} joints", f"{robot.n} as {robot.name} has")
    unknowns = 5 if len(hits) == 1 else 3 + 3 * len(hits)
    if robot.n * len(hits) <= unknowns:
        given = f"{len(hits)} hits of {robot.n} joints"
        raise InvalidInputError("hits", given, f"more than the {unknowns} numbers that point and impulses have")
    return _Problem(robot, hits, frame or robot.tool_frame, inertia, model_error)
