"""Whether the jumps of hits agree with an assumed contact point, or another one explains them far better."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scipy.stats import chi2

from impact_aware.arrays import Array
from impact_aware.estimation.contact_point import CHANCE, ContactPointFit, JointJump, explained_at, fit_contact_point
from impact_aware.robot import RobotModel

FAR = 0.02
"""Between the assumed point and the fitted one, m: nearer ones are the same."""


@dataclass(frozen=True, eq=False)
class AssumedPoint:
    """An assumed contact point beside the one that explains the jumps best.

    Attributes:
        verdict: `agrees`, `another_point` or `cannot_tell`.
        distance: From the assumed to the fitted point, or to the line of the impulse where only that is told, m.
        distance_error: Its largest standard error, m.
        unexplained: Share of the jumps that no impulses at the assumed point explain.
        excess: By which what is left of the fit is larger than its errors, chi-square over its freedom, 1 at least.
        fit: The point that explains them best.
    """

    verdict: str
    distance: float
    distance_error: float
    unexplained: float
    excess: float
    fit: ContactPointFit


def hold_against_point(
    robot: RobotModel,
    hits: Sequence[JointJump],
    assumed: Array,
    frame: str | None = None,
    *,
    inertia: str = "M+B_theta",
    radius: float = 0.0,
) -> AssumedPoint:
    """Hold an assumed point (3,), m in the frame's axes, against the jumps.

    The other arguments, and the errors, are those of `fit_contact_point`.
    """
    fit = fit_contact_point(robot, hits, frame, inertia=inertia, radius=radius)
    chi_square, unexplained = explained_at(robot, hits, assumed, frame, inertia=inertia, radius=radius)
    distance = fit.distance(assumed)
    excess = max(1.0, fit.chi_square / fit.freedom) if fit.freedom > 0 else 1.0
    # A point moved along the one impulse of a single hit changes nothing.
    better = (chi_square - fit.chi_square) / excess > float(chi2.isf(CHANCE, 2 if len(hits) == 1 else 3))
    if better and distance > max(FAR, 2.0 * fit.error_across):
        verdict = "another_point"
    else:
        verdict = "agrees" if fit.told else "cannot_tell"
    error = max(fit.error_across, fit.error_along) if fit.told_along else fit.error_across
    return AssumedPoint(verdict, distance, error, unexplained, excess, fit)
