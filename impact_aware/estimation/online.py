"""The velocity after an impact while the robot runs: remember the samples, and `estimate` when the caller has time."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError
from impact_aware.estimation.estimate import AnteImpactSettings, estimate
from impact_aware.estimation.registry import DEFAULT_ESTIMATOR, Estimator, find_estimator
from impact_aware.records import VelocityEstimate


@dataclass(frozen=True, slots=True)
class _Job:
    key: int
    impact_time: float
    impact_time_error: float
    until: float | None = None


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
    """Hold a prediction (n,), rad/s, against an estimate of the same joints."""
    difference = np.asarray(predicted_after, dtype=np.float64) - found.velocity_after
    return PredictionError(
        float(np.linalg.norm(difference)),
        float(np.linalg.norm(found.jump)),
        float(np.linalg.norm(found.standard_error)),
    )


def window_of(estimator: Estimator) -> float:
    """Time after an impact that an estimator looks at, at most, s."""
    return float(getattr(estimator, "window", 0.2))


class OnlineEstimation:
    """A memory of joint samples, and the impacts in it that wait for their estimate.

    Attributes:
        window: Time after an impact that is waited for, s.
    """

    def __init__(
        self,
        joint_count: int,
        method: str | Estimator = DEFAULT_ESTIMATOR,
        *,
        window: float | None = None,
        before: AnteImpactSettings | None = None,
        capacity: int = 2048,
        patience: float = 1.0,
    ) -> None:
        """Allocate.

        Args:
            joint_count: Number of joints n.
            method: Name of an estimator, or one of your own.
            window: Longest time after an impact that is used, s; as long as the estimator looks at if None. A robot
                whose controller answers the impact needs a shorter one than one that is left alone.
            before: How the velocity before is read.
            capacity: Samples that are remembered.
            patience: Time after which an impact whose window never fills is given up, s beyond the window.

        Raises:
            InvalidInputError: No joints, or no capacity.
            UnknownNameError: No estimator of that name.
        """
        if joint_count < 1:
            raise InvalidInputError("joint_count", joint_count, "at least 1")
        if capacity < 20:
            raise InvalidInputError("capacity", capacity, "at least 20")
        self._method = method
        self._before = before
        self._patience = patience
        longest = window_of(find_estimator(method) if isinstance(method, str) else method)
        self.window = longest if window is None else min(window, longest)
        self._times = np.zeros(capacity)
        self._positions = np.zeros((capacity, joint_count))
        self._end = 0
        self._count = 0
        self._newest = -np.inf
        self._jobs: list[_Job] = []
        self._due_at = np.inf

    @property
    def due(self) -> bool:
        """Whether `finish` has something to do."""
        return self._newest >= self._due_at

    @property
    def waiting(self) -> int:
        """Impacts without an estimate."""
        return len(self._jobs)

    def add(self, time: float, position: Array) -> None:
        """Remember a sample: position (n,), rad. One that is not newer than the last is left out.

        Time that runs backwards by more than a second is a new run, which forgets the old one.
        """
        if not time > self._newest:
            if time < self._newest - 1.0:
                self._count = 0
                self._jobs.clear()
                self._due_at = np.inf
            else:
                return
        self._times[self._end] = time
        self._positions[self._end] = position
        self._end = (self._end + 1) % len(self._times)
        self._count = min(self._count + 1, len(self._times))
        self._newest = time

    def begin(self, key: int, impact_time: float, impact_time_error: float = 0.0) -> None:
        """Ask for an estimate of the impact `key` at a time with a standard deviation, s.

        An earlier impact that still waits ends where this one begins.
        """
        self._jobs = [job if job.until is not None else replace(job, until=impact_time) for job in self._jobs]
        self._jobs.append(_Job(key, float(impact_time), max(float(impact_time_error), 0.0)))
        self._due_at = min(self._time_due(job) for job in self._jobs)

    def finish(self) -> list[LateEstimate]:
        """Estimate every impact whose window is filled or cut off, in the order of the impacts."""
        ready = [job for job in self._jobs if self._newest >= self._time_due(job)]
        self._jobs = [job for job in self._jobs if job not in ready]
        self._due_at = min((self._time_due(job) for job in self._jobs), default=np.inf)
        return [self._estimate(job) for job in ready]

    def samples(self) -> tuple[Array, Array]:
        """What is remembered, oldest first: times (k,), s, and positions (k, n), rad."""
        order = (np.arange(self._count) + self._end - self._count) % len(self._times)
        return self._times[order], self._positions[order]

    def _time_due(self, job: _Job) -> float:
        return min(job.until if job.until is not None else np.inf, job.impact_time + self.window)

    def _estimate(self, job: _Job) -> LateEstimate:
        times, positions = self.samples()
        if not len(times) or self._newest > job.impact_time + self.window + self._patience:
            return LateEstimate(job.key, None, "the samples around the impact are gone")
        try:
            found = estimate(
                times,
                positions,
                job.impact_time,
                method=self._method,
                impact_time_error=job.impact_time_error,
                until=min(job.impact_time + self.window + 1e-6, np.inf if job.until is None else job.until),
                before=self._before,
            )
        except InvalidInputError as error:
            return LateEstimate(job.key, None, str(error))
        return LateEstimate(job.key, found)
