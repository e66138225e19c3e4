"""Where on the tool an arm was hit, from the jumps of its joints.

An impulse p at the point r of the tool changes the joint velocities by B^-1 J(r)' p (Rey Arias 2024, (9) and (10)); p
is free in every hit, r is common to all. Moving r along p changes nothing, so that one hit gives the line of its
impulse at best; hits from several directions give the point where their lines meet.

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
"""Standard error of the point, across the impulse, up to which the jumps determine it, m: twice that is 2 cm."""

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

FAR = 0.02
"""Distance between an assumed contact point and the fitted one up to which they are the same, m."""

REACH = 0.5
"""Standard deviation of the prior of the contact point around the tool frame, m, along what no jump determines."""


@dataclass(frozen=True, eq=False)
class JointJump:
    """What one hit did to the joints.

    Attributes:
        q: (n,) Posture, rad.
        jump: (n,) Velocity after minus before, rad/s.
        error: (n,) Standard error of the jump, rad/s, > 0.
        normal: (3,) From the surface into the arm, base frame, which gives the contact point of a round tip; or None.
    """

    q: Array
    jump: Array
    error: Array
    normal: Array | None = None

    def __post_init__(self) -> None:
        """Refuse what is not finite, and errors that are none."""
        size = np.size(self.q)
        for name in ("q", "jump", "error"):
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
        along: (3,) Unit vector of the least determined direction, which is the impulse's for one hit.
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
        """Probability of a chi-square at least as large if all hits were at one point, with true errors and inertia."""
        return float(chi2.sf(self.chi_square, self.freedom)) if self.freedom > 0 else 1.0

    @property
    def one_point(self) -> bool:
        """Whether one point may explain all hits."""
        return self.probability >= CHANCE

    @property
    def determined(self) -> bool:
        """Whether the jumps determine the line of the impulse; hits that do not agree on a point determine none."""
        return self.error_across <= TELLING and self.one_point

    @property
    def determined_along(self) -> bool:
        """Whether they determine the point itself."""
        return self.determined and self.error_along <= TELLING

    def distance(self, point: Array) -> float:
        """From a point (3,) of the frame to the fitted one, m; to the line where only that is determined."""
        apart = np.asarray(point, dtype=float) - self.point
        if not self.determined_along:
            apart = apart - float(apart @ self.along) * self.along
        return float(np.linalg.norm(apart))


@dataclass(frozen=True, eq=False)
class AssumedPoint:
    """An assumed contact point compared with the one that explains the jumps best.

    Attributes:
        verdict: `agrees`, `another_point` or `cannot_tell`.
        distance: From the assumed to the fitted point, or to the line of the impulse where only that is known, m.
        distance_error: Its largest standard error, m.
        unexplained: Share of the jumps that no impulses at the assumed point explain.
        fit: The point that explains them best.
    """

    verdict: str
    distance: float
    distance_error: float
    unexplained: float
    fit: ContactPointFit


class Hit:
    """One hit with everything that does not depend on the contact point.

    Attributes:
        jump: (n,) rad/s.
        error: (n,) Its standard error, that of the inertia included, rad/s.
        weight: (n, n) Takes the covariance of the jump to the unit matrix.
        rotation: (3, 3) Of the frame, to the base frame.
        response: (n, 6) Jump of the joints by impulse and angular impulse at the frame's origin, B^-1 J'.
    """

    def __init__(self, robot: RobotModel, hit: JointJump, frame: str, inertia: str, model_error: float) -> None:
        """Compute them at the posture of the hit."""
        self.jump = hit.jump
        self.error = np.hypot(hit.error, model_error * float(np.linalg.norm(hit.jump)))
        self.weight: Array = np.diag(1.0 / self.error)
        self.rotation: Array = np.array(robot.placement(hit.q, frame).rotation)
        jacobian = robot.frame_jacobian(hit.q, frame).reshape(6, robot.n)
        self.response = np.linalg.solve(robot.mass_matrix(hit.q, inertia), jacobian.T)

    def grant(self, spread: Array) -> None:
        """Count in a further error of the jump, whose covariance is the product of (n, m) with its transpose."""
        self.weight = np.linalg.inv(np.linalg.cholesky(np.diag(self.error**2) + spread @ spread.T))

    def impulse_at(self, place: Array) -> tuple[Array, Array]:
        """The best impulse (3,) at (3,) m off the frame's origin, and the response (n, 3) to it; base frame."""
        columns = self.response @ point_jacobian(place).T
        found = np.linalg.lstsq(self.weight @ columns, self.weight @ self.jump, rcond=1e-9)[0]
        return np.asarray(found), columns


class ContactPointProblem:
    """Hits at one point of a frame's body, at which impulses from any direction explain their jumps.

    Attributes:
        frame: The frame.
    """

    def __init__(
        self,
        robot: RobotModel,
        hits: Sequence[JointJump],
        frame: str | None = None,
        *,
        inertia: str = "M+B_theta",
        model_error: float = MODEL,
        radius: float = 0.0,
    ) -> None:
        """Prepare what does not depend on the point.

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
        self.frame = frame or robot.tool_frame
        self._hits = [Hit(robot, hit, self.frame, inertia, model_error) for hit in hits]
        # From the fitted point to where each hit touched, base frame.
        self._tips = [np.zeros(3) if hit.normal is None else -radius * hit.normal for hit in hits]
        # Radius of the round tip of hits whose normal is not known.
        self._levers = [radius if hit.normal is None else 0.0 for hit in hits]

    def fit(self) -> ContactPointFit:
        """The point at which impulses explain the jumps best."""
        # From several places: the sum of squares has valleys where impulse and lever change their signs together.
        best = self._best([np.zeros(3), *self._lines()[:MOST_LINES]])
        if self._weigh_levers(best.x):
            best = self._best([best.x, np.zeros(3)])
        # Where the jumps fit worse than their errors say, the errors grow; they never shrink.
        left, hits = self._residuals(best.x), len(self._hits)
        freedom, chi_square = left.size - 3 * hits - (2 if hits == 1 else 3), float(left @ left)
        excess = max(1.0, chi_square / freedom) if freedom > 0 else 1.0
        covariance = excess * np.linalg.inv(best.jac.T @ best.jac)
        spread, axes = np.linalg.eigh(covariance)
        along, point = axes[:, 2], best.x
        impulses, errors = self._impulses(best.x, covariance, excess)
        if np.sqrt(spread[2]) > UNTOLD:
            point = point - float(point @ along) * along
        return ContactPointFit(
            frame=self.frame,
            point=point,
            covariance=covariance,
            along=along,
            error_across=float(np.sqrt(spread[1])),
            error_along=float(np.sqrt(spread[2])),
            impulses=impulses,
            impulse_errors=errors,
            unexplained=self._unexplained(best.x),
            chi_square=chi_square,
            freedom=freedom,
        )

    def explained_at(self, point: Array) -> tuple[float, float]:
        """Chi-square, and the unexplained share of the jumps, of the best impulses at a point (3,) of the frame, m."""
        place = vector("point", point, 3)
        self._weigh_levers(place)
        left = self._residuals(place)
        return float(left @ left), self._unexplained(place)

    def compare(self, assumed: Array) -> AssumedPoint:
        """Compare an assumed point (3,), m in the frame's axes, with the fitted one."""
        fit, (chi_square, unexplained) = self.fit(), self.explained_at(assumed)
        distance = fit.distance(assumed)
        excess = max(1.0, fit.chi_square / fit.freedom) if fit.freedom > 0 else 1.0
        # A point moved along the one impulse of a single hit changes nothing.
        numbers = 2 if len(self._hits) == 1 else 3
        better = (chi_square - fit.chi_square) / excess > float(chi2.isf(CHANCE, numbers))
        if better and distance > max(FAR, 2.0 * fit.error_across):
            verdict = "another_point"
        else:
            verdict = "agrees" if fit.determined else "cannot_tell"
        error = max(fit.error_across, fit.error_along) if fit.determined_along else fit.error_across
        return AssumedPoint(verdict, distance, error, unexplained, fit)

    def _weigh_levers(self, point: Array) -> bool:
        """Count in where a round tip of unknown normal may have been touched; whether there is anything to count in."""
        for lever, hit, (impulse, _) in zip(self._levers, self._hits, self._parts(point), strict=True):
            if lever > 0.0:
                # Of the two directions across the impulse each has half of the mean square.
                hit.grant(lever * LEAN / np.sqrt(2.0) * hit.response[:, 3:] @ pin.skew(impulse))
        return any(self._levers)

    def _parts(self, point: Array) -> list[tuple[Array, Array]]:
        """Per hit the impulse (3,) and the response (n, 3) to it."""
        return [hit.impulse_at(hit.rotation @ point + tip) for hit, tip in zip(self._hits, self._tips, strict=True)]

    def _left(self, point: Array) -> list[Array]:
        """Per hit the jump (n,) that its best impulse leaves, rad/s."""
        parts = zip(self._hits, self._parts(point), strict=True)
        return [hit.jump - columns @ impulse for hit, (impulse, columns) in parts]

    def _residuals(self, point: Array) -> Array:
        """What the best impulses leave, over its errors."""
        return np.concatenate([hit.weight @ left for hit, left in zip(self._hits, self._left(point), strict=True)])

    def _unexplained(self, point: Array) -> float:
        """Norm of what they leave over that of the jumps."""
        jumps = np.concatenate([hit.jump for hit in self._hits])
        return float(np.linalg.norm(np.concatenate(self._left(point))) / np.linalg.norm(jumps))

    def _best(self, starts: Sequence[Array]) -> OptimizeResult:
        def held(point: Array) -> Array:
            return np.concatenate([self._residuals(point), point / REACH])

        fits = [least_squares(held, start, method="lm", x_scale=0.1) for start in starts]
        return min(fits, key=lambda fit: float(fit.cost))

    def _lines(self) -> list[Array]:
        """The point nearest to the frame on each hit's line of impulse, from its impulse and angular impulse."""
        found = []
        for hit in self._hits:
            wrench = np.linalg.lstsq(hit.weight @ hit.response, hit.weight @ hit.jump, rcond=1e-6)[0]
            power = float(wrench[:3] @ wrench[:3])
            if power > 0.0:
                place = hit.rotation.T @ np.cross(wrench[:3], wrench[3:]) / power
                found.append(place * min(1.0, REACH / max(float(np.linalg.norm(place)), 1e-9)))
        return found

    def _impulses(self, point: Array, covariance: Array, excess: float) -> tuple[Array, Array]:
        """Impulses (k, 3) at the point and their standard errors, those that come with the point's included."""
        parts, step = self._parts(point), 1e-5
        found = np.array([impulse for impulse, _ in parts])
        ahead = [[impulse for impulse, _ in self._parts(point + step * axis)] for axis in np.eye(3)]
        slopes = np.moveaxis((np.array(ahead) - found) / step, 0, -1)
        errors = []
        for hit, (_, columns), slope in zip(self._hits, parts, slopes, strict=True):
            weighed = hit.weight @ columns
            own = excess * np.linalg.pinv(weighed.T @ weighed)
            errors.append(np.sqrt(np.diag(own + slope @ covariance @ slope.T)))
        return found, np.array(errors)


def odd_group(
    robot: RobotModel,
    groups: Sequence[Sequence[JointJump]],
    frame: str | None = None,
    *,
    inertia: str = "M+B_theta",
    radius: float = 0.0,
) -> tuple[int, float]:
    """The group, such as the hits of one recording, whose point is farthest from that of all the others'.

    Two points in place of one leave a smaller chi-square. The fall is that of the three numbers of a second point, of
    two for a single hit, whose point along its impulse is free; the smallest of k probabilities counts k times. It is
    sharper than what one point leaves of all hits, in which the errors of the inertia are granted generously.

    Args:
        robot: The arm.
        groups: Each of one hit or more; two groups or more.
        frame: Whose body was touched; the tool frame when None.
        inertia: One of `INERTIA_CHOICES`.
        radius: Of a round tip, m.

    Returns:
        Its place, and the probability that its hits are that far off by chance.

    Raises:
        InvalidInputError: As `ContactPointProblem`.
    """

    def left(hits: Sequence[JointJump]) -> float:
        return ContactPointProblem(robot, hits, frame, inertia=inertia, radius=radius).fit().chi_square

    whole, found = left([hit for group in groups for hit in group]), []
    for place, group in enumerate(groups):
        others = [hit for other, hits in enumerate(groups) if other != place for hit in hits]
        fall = max(whole - left(others) - left(group), 0.0)
        numbers = 2 if min(len(group), len(others)) == 1 else 3
        found.append(min(1.0, len(groups) * float(chi2.sf(fall, numbers))))
    place = int(np.argmin(found))
    return place, found[place]
