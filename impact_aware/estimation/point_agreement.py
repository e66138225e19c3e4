"""Whether groups of hits, such as those of one recording each, were at the same point of the tool."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import chi2

from impact_aware.estimation.contact_point import JointJump, fit_contact_point
from impact_aware.robot import RobotModel


def agreement(
    robot: RobotModel,
    groups: Sequence[Sequence[JointJump]],
    frame: str | None = None,
    *,
    inertia: str = "M+B_theta",
    radius: float = 0.0,
) -> list[float]:
    """Probability, per group, that its hits want a point as far from that of all the others' by chance.

    Two points in place of one leave a smaller chi-square. The fall is that of the three numbers of a second point, of
    two for a single hit, whose point along its impulse is free; the smallest of k probabilities counts k times. It
    tells more than what one point leaves of all hits, in which the errors of the inertia are granted generously.

    Args:
        robot: The arm.
        groups: Each of one hit or more; two groups or more.
        frame: Whose body was touched; the tool frame when None.
        inertia: One of `INERTIA_CHOICES`.
        radius: Of a round tip, m.

    Raises:
        InvalidInputError: As `fit_contact_point`.
    """

    def left(hits: Sequence[JointJump]) -> float:
        return fit_contact_point(robot, hits, frame, inertia=inertia, radius=radius).chi_square

    whole = left([hit for group in groups for hit in group])
    found = []
    for place, group in enumerate(groups):
        others = [hit for other, hits in enumerate(groups) if other != place for hit in hits]
        fall = max(whole - left(others) - left(group), 0.0)
        numbers = 2 if min(len(group), len(others)) == 1 else 3
        found.append(min(1.0, len(groups) * float(chi2.sf(fall, numbers))))
    return found


def odd_one(probabilities: Sequence[float], chance: float) -> int | None:
    """The group that agrees least with the others; None where all probabilities are `chance` or more."""
    place = int(np.argmin(probabilities))
    return place if probabilities[place] < chance else None
