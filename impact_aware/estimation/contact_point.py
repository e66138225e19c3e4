"""Where on the tool an arm was hit, from the jumps of its joints.

An impulse p at the point r of the tool changes the joint velocities by B^-1 J(r)' p (Rey Arias 2024, (9) and (10)); p
is free in every hit, r is common to all. Moving r along p changes nothing, so that one hit tells the line of its
impulse at best; hits from several directions tell the point where their lines meet.

A round tip of radius R touches at c - R n, which is another point of the tool in every hit: its centre c is fitted
with the normals n that are known. Where they are not, c is where the lines would meet without friction, and friction
makes them miss it by R sin(lean), which counts among the errors of the jump: a lever d across p adds
B^-1 J_w' (d x p).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from scipy.optimize import OptimizeResult, least_squares
from scipy.stats import chi2

from impact_aware.arrays import Array
from impact_aware.contact.geometry import RADIUS, point_jacobian, unit_vector, vector
from impact_aware.errors import InvalidInputError
from impact_aware.robot import RobotModel

TELLING = 0.01
"""Standard error of the point, across the impulse, up to which the jumps tell it, m: twice that is 2 cm."""

MODEL = 0.02
"""Error of the inertia, as a share of the jump, beside the errors of the velocities."""

MOST_LINES = 4
"""Hits whose line of impulse is a start of the search: of one point, a few find it, and many take long."""

UNTOLD = 0.1
"""Standard error along the impulse from which the place along it is nothing but what holds it, m."""

CHANCE = 1e-3
"""Probability up to which what is left, or what another point would leave, is no chance."""

LEAN = 0.3
"""Sine of the angle between impulse and normal that friction makes, root mean square, where the normal is not known."""

FAR_BETTER = 13.8
"""Fall of chi-square for two more parameters that chance gives once in a thousand."""

REACH = 0.5
"""Standard deviation of the prior of the contact point around the tool frame, m, along what no jump determines."""


@dataclass(frozen=True, eq=False)
class JointJump:
    """What one hit did to the joints.

    Attributes:
        q: (n,) Posture, rad.
        jump: (n,) Velocity after minus before, rad/s.
        error: (n,) Standard error of the jump, rad/s, > 0.
        before: (n,) Velocity before, rad/s, which Coulomb's law wants to know and the point does not; or None.
        normal: (3,) From the surface into the arm, base frame, which says where a round tip touches; or None.
    """

    q: Array
    jump: Array
    error: Array
    before: Array | None = None
    normal: Array | None = None

    def __post_init__(self) -> None:
        """Refuse what is not finite, and errors that are none."""
        size = np.size(self.q)
        for name in ("q", "jump", "error", "before"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, vector(name, getattr(self, name), size))
        if self.normal is not None:
            object.__setattr__(self, "normal", unit_vector("normal", self.normal))
        if not (self.error > 0.0).all():
            raise InvalidInputError("error", self.error.tolist(), "values > 0 rad/s")
        if not self.jump.any():
            raise InvalidInputError("jump", self.jump.tolist(), "a jump that is not zero")


@dataclass(frozen=True, eq=False)
class ContactPointFit:
    """A contact point in the axes of its frame.

    Attributes:
        frame: The frame.
        point: (3,) Where the frame's body was touched, or the centre of its round tip, m from its origin; along `along`
            only the place nearest to the origin where `error_along` is above `UNTOLD`.
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
    def probability(self) -> float:
        """Of a chi-square as large or larger where all hits were at one point, and errors and inertia are right."""
        return float(chi2.sf(self.chi_square, self.freedom)) if self.freedom > 0 else 1.0

    @property
    def one_point(self) -> bool:
        """Whether one point may explain all hits."""
        return self.probability >= CHANCE

    @property
    def told(self) -> bool:
        """Whether the jumps tell where the line of the impulse is; hits that do not agree on a point tell none."""
        return self.error_across <= TELLING and self.one_point

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
    radius: float = 0.0,
) -> ContactPointFit:
    """The point of a frame at which impulses explain the jumps best.

    Args:
        robot: The arm.
        hits: At the same point of the tool, from any directions.
        frame: Whose body was touched; the tool frame when None.
        inertia: One of `INERTIA_CHOICES`.
        model_error: Error of the inertia, as a share of each jump's norm.
        radius: Of a round tip, m, whose centre is fitted; 0 for one and the same point in all hits.

    Raises:
        InvalidInputError: No hit, one of another robot, or fewer numbers than unknowns.
        UnknownNameError: No such frame or inertia.
    """
    problem = _problem(robot, hits, frame, inertia, model_error, radius)
    # From several places: the sum of squares has valleys where impulse and lever change their signs together.
    best = _best(problem, [np.zeros(3), *problem.lines()[:MOST_LINES]])
    if problem.weigh_levers(best.x):
        best = _best(problem, [best.x, np.zeros(3)])
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
    if np.sqrt(spread[2]) > UNTOLD:
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
    radius: float = 0.0,
) -> tuple[float, float]:
    """Chi-square, and the unexplained share of the jumps, of the best impulses at a given point (3,) of a frame, m.

    Arguments and errors, beside the point, are those of `fit_contact_point`.
    """
    problem = _problem(robot, hits, frame, inertia, model_error, radius)
    place = vector("point", point, 3)
    problem.weigh_levers(place)
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
    return _problem(robot, [hit], frame, inertia, model_error, 0.0).impulse_of_first(vector("point", point, 3))


class _Problem:
    """The hits with everything that does not depend on the point.

    Attributes:
        frame: The frame that touches.
    """

    def __init__(
        self,
        robot: RobotModel,
        hits: Sequence[JointJump],
        frame: str,
        inertia: str,
        model_error: float,
        radius: float,
    ) -> None:
        self.frame = frame
        self._radius = radius
        self._hits = hits
        self._jumps = [hit.jump for hit in hits]
        self._errors = [np.hypot(hit.error, model_error * np.linalg.norm(hit.jump)) for hit in hits]
        # Takes a jump's covariance to the unit matrix, (n, n).
        self._weights = [np.diag(1.0 / error) for error in self._errors]
        self._rotations = [np.array(robot.placement(hit.q, frame).rotation) for hit in hits]
        # From the fitted point to where the hit touched, base frame.
        self._tips = [np.zeros(3) if hit.normal is None else -radius * hit.normal for hit in hits]
        # Impulse and angular impulse at the frame's origin to the jump of the joints, B^-1 J' (n, 6).
        self._responses = [
            np.linalg.solve(robot.mass_matrix(hit.q, inertia), robot.frame_jacobian(hit.q, frame).T) for hit in hits
        ]

    def weigh_levers(self, point: Array) -> bool:
        """Count in where a round tip of unknown normal may have been touched; whether there is anything to count in."""
        loose = [row for row, hit in enumerate(self._hits) if self._radius > 0.0 and hit.normal is None]
        parts = self._parts(point)
        for row in loose:
            _, impulse, _ = parts[row]
            # Of the two directions across the impulse each has half of the mean square.
            by_lever = self._radius * LEAN / np.sqrt(2.0) * self._responses[row][:, 3:] @ pin.skew(impulse)
            covariance = np.diag(self._errors[row] ** 2) + by_lever @ by_lever.T
            self._weights[row] = np.linalg.inv(np.linalg.cholesky(covariance))
        return bool(loose)

    def _parts(self, point: Array) -> list[tuple[Array, Array, Array]]:
        """Per hit the response (n, 3) to an impulse at the point, the impulse (3,) and what it leaves (n,)."""
        found = []
        for jump, weight, rotation, response, tip in zip(
            self._jumps, self._weights, self._rotations, self._responses, self._tips, strict=True
        ):
            columns = response @ point_jacobian(rotation @ point + tip).T
            impulse: Array = np.asarray(np.linalg.lstsq(weight @ columns, weight @ jump, rcond=1e-9)[0])
            found.append((columns, impulse, jump - columns @ impulse))
        return found

    def impulse_of_first(self, point: Array) -> tuple[Array, Array]:
        """The first hit's impulse (3,) at the point and its covariance (3, 3)."""
        columns, impulse, _ = self._parts(point)[0]
        weighed = self._weights[0] @ columns
        return impulse, np.asarray(np.linalg.pinv(weighed.T @ weighed), dtype=float)

    def residuals(self, point: Array) -> Array:
        """What the best impulses leave, over its errors."""
        return np.concatenate(
            [weight @ left for (_, _, left), weight in zip(self._parts(point), self._weights, strict=True)]
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
        for jump, weight, rotation, response in zip(
            self._jumps, self._weights, self._rotations, self._responses, strict=True
        ):
            wrench = np.linalg.lstsq(weight @ response, weight @ jump, rcond=1e-6)[0]
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
        for (columns, _, _), weight, slope in zip(parts, self._weights, slopes, strict=True):
            own = excess * np.linalg.pinv((weight @ columns).T @ (weight @ columns))
            errors.append(np.sqrt(np.diag(own + slope @ covariance @ slope.T)))
        return found, np.array(errors)


def _best(problem: _Problem, starts: Sequence[Array]) -> OptimizeResult:
    fits = [least_squares(problem.held, start, method="lm", x_scale=0.1) for start in starts]
    return min(fits, key=lambda fit: float(fit.cost))


def _problem(
    robot: RobotModel,
    hits: Sequence[JointJump],
    frame: str | None,
    inertia: str,
    model_error: float,
    radius: float,
) -> _Problem:
    RADIUS.check("radius", radius)
    if not hits:
        raise InvalidInputError("hits", "none", "at least one jump of the joints")
    for index, hit in enumerate(hits):
        if np.size(hit.q) != robot.n:
            raise InvalidInputError(f"hits[{index}]", f"{np.size(hit.q)} joints", f"{robot.n} as {robot.name} has")
    unknowns = 5 if len(hits) == 1 else 3 + 3 * len(hits)
    if robot.n * len(hits) <= unknowns:
        given = f"{len(hits)} hits of {robot.n} joints"
        raise InvalidInputError("hits", given, f"more than the {unknowns} numbers that point and impulses have")
    return _Problem(robot, hits, frame or robot.tool_frame, inertia, model_error, radius)
