"""One recorded impact as the identification sees it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.contact.geometry import Contact, FreeObject, vector
from impact_aware.errors import InvalidInputError
from impact_aware.estimation.estimate import estimate, position_at
from impact_aware.estimation.registry import BOTH_SIDES
from impact_aware.robot import RobotModel


@dataclass(frozen=True, eq=False)
class ImpactTrial:
    """One impact: where, how fast, and what came of it.

    Attributes:
        q: (n,) Posture at the impact, rad.
        velocity_before: (n,) rad/s.
        velocity_after: (n,) Estimated virtual rigid-body velocity, rad/s.
        standard_error: (n,) Of `velocity_after`, rad/s; only the relative sizes of these errors matter, the fit scales
            them all by what it leaves over.
        contact: Where the robot touched; its friction and restitution are the known or assumed values of what is not
            identified.
        obstacle: The free object it touched; a fixed surface when None.
        before_error: (n,) Standard error of `velocity_before`, rad/s, which the impact map turns into an error of the
            prediction; that of `velocity_after` when None.
        object_gain: (3,) By how much the velocity of the object's centre changed, base frame, m/s, where it was
            tracked; the recording then gives the impulse without the arm's inertia.
        object_gain_error: (3,) Its standard error, m/s.
    """

    q: Array
    velocity_before: Array
    velocity_after: Array
    standard_error: Array
    contact: Contact
    obstacle: FreeObject | None = None
    before_error: Array | None = None
    object_gain: Array | None = None
    object_gain_error: Array | None = None

    def __post_init__(self) -> None:
        """Check every field; raises `InvalidInputError` with the name of one that is out of range."""
        size = np.size(self.q)
        if self.before_error is None:
            object.__setattr__(self, "before_error", self.standard_error)
        for name in ("q", "velocity_before", "velocity_after", "standard_error", "before_error"):
            values = vector(name, getattr(self, name), size)
            values.setflags(write=False)
            object.__setattr__(self, name, values)
        if np.any(self.standard_error <= 0.0):
            raise InvalidInputError("standard_error", self.standard_error.tolist(), "values > 0 rad/s")
        if self.before_error is not None and np.any(self.before_error < 0.0):
            raise InvalidInputError("before_error", self.before_error.tolist(), "values >= 0 rad/s")
        if self.object_gain is None:
            return
        if self.obstacle is None or self.object_gain_error is None:
            raise InvalidInputError(
                "object_gain", self.object_gain, "the free object and a standard error along with it"
            )
        for name in ("object_gain", "object_gain_error"):
            object.__setattr__(self, name, vector(name, getattr(self, name), 3))
        if np.any(self.object_gain_error <= 0.0):
            raise InvalidInputError("object_gain_error", self.object_gain_error.tolist(), "values > 0 m/s")


def trial_from_recording(
    times: ArrayLike,
    positions: ArrayLike,
    impact_time: float,
    contact: Contact,
    *,
    obstacle: FreeObject | None = None,
    until: float | None = None,
    least_error: float = 1e-3,
    gain: tuple[Array, Array] | None = None,
) -> ImpactTrial:
    """Make a trial of one recorded impact.

    Args, beside those of `estimate` and fields of `ImpactTrial`:
        least_error: Standard error below which no joint's velocity is accepted, rad/s: the impact map itself is not
            better than that.
        gain: `object_gain` and `object_gain_error`.

    Raises:
        InvalidInputError: As `estimate` does.
    """
    gained, gained_error = (None, None) if gain is None else gain
    found = estimate(times, positions, impact_time, method=BOTH_SIDES, until=until)
    return ImpactTrial(
        q=position_at(times, positions, impact_time),
        velocity_before=found.velocity_before,
        velocity_after=found.velocity_after,
        standard_error=np.maximum(found.standard_error, least_error),
        contact=contact,
        obstacle=obstacle,
        before_error=found.velocity_before_error,
        object_gain=gained,
        object_gain_error=gained_error,
    )


def check_trials(robot: RobotModel, trials: list[ImpactTrial]) -> None:
    """Refuse an empty list, and trials of another robot.

    Raises:
        InvalidInputError: Naming the trial.
    """
    if not trials:
        raise InvalidInputError("trials", "none", "at least one recorded impact")
    for index, trial in enumerate(trials):
        if trial.q.size != robot.n:
            raise InvalidInputError(f"trials[{index}]", f"{trial.q.size} joints", f"{robot.n} as {robot.name} has")
