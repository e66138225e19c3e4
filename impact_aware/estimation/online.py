"""The velocity after an impact while the robot runs: remember the samples, and `estimate` when the caller has time."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError
from impact_aware.estimation.estimate import estimate
from impact_aware.estimation.registry import DEFAULT_ESTIMATOR, find_estimator
from impact_aware.records import VelocityEstimate

CAPACITY = 2048
"""Number of samples that are remembered."""

PATIENCE = 1.0
"""Time after an impact, beyond its window, at which an estimate comes too late, s."""


@dataclass(frozen=True, slots=True)
class _Job:
    key: int
    impact_time: float
    impact_time_error: float
    until: float = np.inf


@dataclass(frozen=True, eq=False)
class LateEstimate:
    """What could be estimated of one impact.

    Attributes:
        key: The number that the impact was begun with.
        estimate: The velocities; None when there were too few samples.
        reason: Why there is no estimate; empty with one.
    """

    key: int
    estimate: VelocityEstimate | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class PredictionError:
    """How far a predicted velocity after an impact is from the estimated one.

    Attributes:
        error: Norm of their difference over all joints, rad/s.
        jump: Norm of the estimated jump, rad/s.
        standard_error: Norm of the estimate's standard error, rad/s: a smaller `error` means nothing.
    """

    error: float
    jump: float
    standard_error: float

    @property
    def relative(self) -> float:
        """Error over jump; infinite where there was none."""
        return self.error / self.jump if self.jump > 0.0 else float("inf")


def prediction_error(predicted_after: ArrayLike, found: VelocityEstimate) -> PredictionError:
    """Compare a prediction (n,), rad/s, with an estimate of the same joints."""
    norms = (np.asarray(predicted_after, dtype=np.float64) - found.velocity_after, found.jump, found.standard_error)
    return PredictionError(*(float(np.linalg.norm(each)) for each in norms))


class OnlineEstimation:
    """A memory of joint samples, and the impacts in it that wait for their estimate by the default estimator.

    Attributes:
        window: Time after an impact that is waited for, s.
    """

    def __init__(self, joint_count: int, *, window: float | None = None) -> None:
        """Allocate.

        Args:
            joint_count: Number of joints n.
            window: Longest time after an impact that is used, s; as long as the estimator looks at if None. A robot
                whose controller answers the impact needs a shorter one than one that is left alone.

        Raises:
            InvalidInputError: No joints.
        """
        if joint_count < 1:
            raise InvalidInputError("joint_count", joint_count, "at least 1")
        longest = find_estimator(DEFAULT_ESTIMATOR).window
        self.window = longest if window is None else min(window, longest)
        self._times = np.zeros(CAPACITY)
        self._positions = np.zeros((CAPACITY, joint_count))
        self._end = self._count = 0
        self._newest = -np.inf
        self._jobs: list[_Job] = []

    @property
    def due(self) -> bool:
        """Whether `finish` has something to do."""
        return any(self._newest >= self._time_due(job) for job in self._jobs)

    def add(self, time: float, position: Array) -> None:
        """Remember a sample: position (n,), rad. One that is not newer than the last is left out.

        Time that runs backwards by more than a second is a new run, which forgets the old one.
        """
        if not time > self._newest:
            if time >= self._newest - 1.0:
                return
            self._count = 0
            self._jobs.clear()
        self._times[self._end] = time
        self._positions[self._end] = position
        self._end = (self._end + 1) % CAPACITY
        self._count = min(self._count + 1, CAPACITY)
        self._newest = time

    def begin(self, key: int, impact_time: float, impact_time_error: float = 0.0) -> None:
        """Ask for an estimate of the impact `key` at a time with a standard deviation, s.

        An earlier impact that still waits ends where this one begins.
        """
        self._jobs = [replace(job, until=min(job.until, impact_time)) for job in self._jobs]
        self._jobs.append(_Job(key, float(impact_time), max(float(impact_time_error), 0.0)))

    def finish(self) -> list[LateEstimate]:
        """Estimate every impact whose window is filled or cut off, in the order of the impacts."""
        ready = [job for job in self._jobs if self._newest >= self._time_due(job)]
        self._jobs = [job for job in self._jobs if job not in ready]
        return [self._estimate(job) for job in ready]

    def _time_due(self, job: _Job) -> float:
        return min(job.until, job.impact_time + self.window)

    def _estimate(self, job: _Job) -> LateEstimate:
        order = (np.arange(self._count) + self._end - self._count) % CAPACITY
        end = job.impact_time + self.window
        if not len(order) or self._newest > end + PATIENCE:
            return LateEstimate(job.key, None, "the samples around the impact are gone")
        try:
            found = estimate(
                self._times[order],
                self._positions[order],
                job.impact_time,
                impact_time_error=job.impact_time_error,
                until=min(end + 1e-6, job.until),
            )
        except InvalidInputError as error:
            return LateEstimate(job.key, None, str(error))
        return LateEstimate(job.key, found)
