"""Was the impact meant: the jump as it develops, compared with the predicted one and its uncertainty.

What has changed by a time after the impact is the deviation from the parabola of the motion before: a ramp dv (t - t0)
per joint. In the norm of the inertia matrix M, the share of dv that the predicted jump p does not explain is

    u = 1 - (dv^T M p)^2 / (dv^T M dv  p^T M p),

the squared sine of the angle between both. The size shows later than the direction, since flexible joints take several
milliseconds to hand the impulse on, so dv^T M p / p^T M p only has to lie in a wide interval. The impact is expected
while u stays below `LIMIT`, plus the prediction's own variance. The verdict is final after `DECIDE_AFTER`, or earlier
when the same answer has come `AGREEMENT` times in a row.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from impact_aware.detection.events import Array, JointSample
from impact_aware.detection.windowed_detector import WindowParameters
from impact_aware.errors import InvalidInputError
from impact_aware.records import ImpactEvent

DECIDE_AFTER = 0.009
"""Time after the refined impact time at which the verdict is final, s."""

AGREEMENT = 4
"""Equal answers in a row that make it final before."""

EARLIEST = 0.003
"""Time after the impact before which nothing is compared, s."""

BEFORE = 12
"""Samples of the parabola before the impact."""

SHARES = 0.2, 2.0
"""Share of the predicted jump that an expected impact shows by then, lowest and highest."""

LIMIT = 0.07
"""u up to which the impact is expected: an angle of 15 degrees."""


@dataclass(frozen=True, slots=True, eq=False)
class Verdict:
    """Whether an impact was the expected one.

    Attributes:
        expected: The answer.
        time: Stamp of the sample at which it was known, s.
        unexplained: u, share of the jump that the prediction does not explain, 0..1.
        share: Share of the predicted jump that was seen.
        jump: Jump that was seen (n,), rad/s.
    """

    expected: bool
    time: float
    unexplained: float
    share: float
    jump: Array


@dataclass(frozen=True, slots=True, eq=False)
class _Comparison:
    """One predicted jump and the norm in which to compare."""

    time: float
    predicted: Array
    weight: Array
    limit: float

    def of(self, jump: Array, variance: Array) -> tuple[float, float]:
        """Return u of a jump, its noise taken off, and the share of the prediction that it is."""
        along = float(jump @ self.weight @ self.predicted)
        whole = float(jump @ self.weight @ jump)
        size = float(self.predicted @ self.weight @ self.predicted)
        noise = float(self.weight.diagonal() @ variance)
        unexplained = (whole - along * along / size - noise) / whole if whole > 0.0 else 1.0
        return min(max(unexplained, 0.0), 1.0), along / size


class ExpectationClassifier:
    """Decides within milliseconds whether an impact is the one that was predicted.

    Feed it every sample, `begin` it with an impact and its prediction, and take the verdict that `update` returns.
    """

    def __init__(self, joint_count: int, source: WindowParameters | None = None) -> None:
        """Allocate for the samples of a source."""
        source = source or WindowParameters()
        self._joint_count, self._period = joint_count, source.sampling_period
        self._variance = source.position_variance(joint_count) + 1e-18
        length = BEFORE + int(np.ceil(DECIDE_AFTER / source.sampling_period)) + 8
        self._window = source.motion_window(joint_count, length)
        # Evaluated only once there is something to compare: not between impacts.
        self._recent: deque[JointSample] = deque(maxlen=length)
        self._pending: _Comparison | None = None
        self._answers: list[bool] = []

    def begin(
        self,
        event: ImpactEvent,
        predicted_jump: ArrayLike,
        inertia: ArrayLike | None = None,
        predicted_std: ArrayLike | None = None,
    ) -> None:
        """Start to compare.

        Args:
            event: The impact, at the sample given last.
            predicted_jump: Velocity after minus velocity before (n,), rad/s.
            inertia: Inertia matrix M + B_theta at the impact (n, n), kg m^2; the identity if None, which separates
                different impacts much less well.
            predicted_std: Standard deviation of every joint's prediction (n,), rad/s, or None for a sure one.

        Raises:
            InvalidInputError: A jump, inertia or deviation that is not finite or of the wrong shape, or zero.
        """
        n = self._joint_count
        jump = np.asarray(predicted_jump, dtype=np.float64)
        if jump.shape != (n,) or not np.isfinite(jump).all() or not jump.any():
            raise InvalidInputError("predicted_jump", predicted_jump, f"{n} finite numbers, not all 0")
        weight = np.eye(n) if inertia is None else np.asarray(inertia, dtype=np.float64)
        if weight.shape != (n, n) or not np.isfinite(weight).all() or not jump @ weight @ jump > 0.0:
            raise InvalidInputError("inertia", f"shape {weight.shape}", f"a positive definite matrix ({n}, {n})")
        spread = np.zeros(n) if predicted_std is None else np.asarray(predicted_std, dtype=np.float64)
        if spread.shape != (n,) or not (np.isfinite(spread) & (spread >= 0.0)).all():
            raise InvalidInputError("predicted_std", predicted_std, f"{n} numbers >= 0")
        doubt = float((weight.diagonal() * spread**2).sum() / (jump @ weight @ jump))
        self._pending = _Comparison(event.time, jump, weight, LIMIT + doubt)
        self._answers = []
        self._window.reset()
        for sample in self._recent:
            self._window.accept(sample)

    def update(self, sample: JointSample) -> Verdict | None:
        """Take the next sample in; returns the verdict when it becomes final with this sample."""
        window, position = self._window, sample.position
        self._recent.append(JointSample(sample.time, position.copy() if isinstance(position, np.ndarray) else position))
        if self._pending is None or not window.accept(sample):
            return None
        compared = self._pending
        since = window.time - compared.time
        if since < EARLIEST:
            return None
        seen = self._jump(since)
        if seen is None:
            if since > DECIDE_AFTER or since < 0.0:
                self._pending = None
            return None
        unexplained, share = compared.of(*seen)
        low, high = SHARES
        self._answers.append(unexplained <= compared.limit and low <= share <= high)
        last = self._answers[-AGREEMENT :]
        agreed = len(last) == AGREEMENT and len(set(last)) == 1
        if not agreed and since < DECIDE_AFTER:
            return None
        self._pending = None
        return Verdict(self._answers[-1], window.time, unexplained, share, seen[0])

    def _jump(self, since: float) -> tuple[Array, Array] | None:
        """The jump seen so far and its variance, both (n,), or None when samples are missing.

        The parabola before and a ramp from t0 on are fitted together; t0 lies between two samples.
        """
        period = self._period
        count = int(since / period) + 1 + BEFORE
        rows = self._window.positions
        if count > len(rows) or int(self._window.counts.min()) < count:
            return None
        grid = np.arange(1.0 - count, 1.0) * period + since
        scaled = grid / since
        design = np.stack((np.ones(count), scaled, scaled**2, np.maximum(grid, 0.0)), axis=1)
        inverse = np.linalg.inv(design.T @ design)
        jump = (inverse @ (design.T @ rows[-count:]))[3]
        return jump, inverse[3, 3] * self._variance
