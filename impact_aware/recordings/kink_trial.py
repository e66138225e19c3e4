"""Test of one instant in its window of samples: by the joints alone, and by the momentum where an arm is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from impact_aware.arrays import Array
from impact_aware.estimation.branch_model import TOUCHES, Branches, BranchModel
from impact_aware.estimation.sample_noise import Noise
from impact_aware.recordings.arm_samples import ArmSamples
from impact_aware.recordings.candidate import JUMP_ODDS, SECOND_JUMP_ODDS, Candidate
from impact_aware.recordings.momentum_evidence import MomentumEvidence

LEAST_BEFORE, LEAST_AFTER, LEAST_BETWEEN = 5, 4, 2
"""Smallest numbers of samples before and after the instant, and between it and an earlier jump in the window."""

SEARCH = 0.0075
"""The instant is searched within this time and half a period of the candidate, s."""

REFINED = 3e-3
"""The time is refined within this time or 1.2 periods of the likeliest one, s."""


@dataclass(eq=False)
class KinkTrial:
    """Evidence about one instant.

    Attributes:
        by_joints: Candidate with the evidence of the joints alone.
        model: Model of that evidence.
        search: First and last time at which the jump was searched, s.
        earlier: Earlier jumps within the window, s.
        explained: Evidence of the momentum about it, and its model.
        without: Makes the test without the sample of a time, s; None where no sample may be left out.
    """

    by_joints: Candidate
    model: BranchModel
    search: tuple[float, float]
    earlier: list[float]
    explained: Callable[[MomentumEvidence], tuple[Branches, BranchModel]]
    without: Callable[[float], KinkTrial | None] | None = None
    _others: KinkTrial | None = None

    def candidate(self, threshold: float, momentum: MomentumEvidence | None, *, refine: bool = False) -> Candidate:
        """Candidate whose `threshold` is given, with the evidence of the momentum where it counts.

        Args:
            threshold: Log-odds that a jump needs here.
            momentum: Evidence of the arm's momentum, where the arm is known.
            refine: Whether the time is refined over all sizes of the model's parts.
        """
        found, model = replace(self.by_joints, threshold=threshold), self.model
        # Without torques the momentum separates weak jumps from the oscillation after an earlier jump only.
        if momentum is not None and (threshold == SECOND_JUMP_ODDS or (momentum.has_torques and found.gain > 0.0)):
            explained, freed = self.explained(momentum)
            found = replace(found, explained=explained, driven=bool(freed.pushes.any()))
            model = model if found.strongest is found.branches else freed
        if self.without is not None and (wrong := found.wrong_sample) is not None:
            # The sample is wrong, whether or not the velocity jumps: the others decide.
            self._others = self._others or self.without(wrong)
            if self._others is not None:
                return self._others.candidate(threshold, momentum, refine=refine)
        if not refine:
            return found
        low, high = self.search
        # The period of a candidate in a gap is the gap.
        reach = max(REFINED, 0.5 * found.gap if found.gap else 1.2 * found.period)
        time, std = model.instant(max(low, found.instant - reach), min(high, found.instant + reach))
        refined = replace(found.strongest, time=time, time_std=std)
        return (
            replace(found, branches=refined) if found.strongest is found.branches else replace(found, explained=refined)
        )


def try_instant(
    near: ArmSamples,
    noise: Noise,
    instant: float,
    period: float,
    gap: tuple[float, float] | None = None,
    earlier: list[float] | None = None,
    trusted: bool = False,
) -> KinkTrial | None:
    """Test an instant by the joints alone.

    Args:
        near: Samples around it, from after all earlier jumps but those of `earlier`.
        noise: Noise of the positions.
        instant: s.
        period: Time between two samples, s.
        gap: First and last time of the gap in the samples that the instant is in, s.
        earlier: Times of jumps before the instant within the window, in order, s.
        trusted: Whether no sample may be left out as wrong.

    Returns:
        The evidence, or None where samples lack.
    """
    earlier = earlier or []
    stamps, places = near.times, near.positions
    # Begin of the samples between the last earlier jump, if there is one, and the instant.
    first = int(np.searchsorted(stamps, earlier[-1] + TOUCHES[1] * period)) if earlier else 0
    before = int(np.searchsorted(stamps, instant))
    if before < LEAST_BEFORE or len(stamps) - before < LEAST_AFTER or before - first < LEAST_BETWEEN:
        return None
    search = SEARCH + 0.5 * period
    inner = stamps[first + 1] if earlier else stamps[2]
    low, high = gap or (instant - search, instant + search)
    low, high = max(low, float(inner)), min(high, float(stamps[-3]))
    if high <= low:
        return None

    def mean_speed(first: int, last: int) -> Array:
        return np.asarray((places[last] - places[first]) / (stamps[last] - stamps[first]))

    speed = np.stack((mean_speed(first, before - 1), mean_speed(before, len(stamps) - 1)))
    white = noise.at(mean_speed(0, -1))
    std = np.zeros_like(stamps) if near.time_std is None else near.time_std
    scales = 1.0 + (np.abs(speed) / white).max() ** 2 * std**2
    model = BranchModel(stamps, places, white, None, earlier, scales)
    branches = model.judge(low, high, min(max(instant, low), high))

    @cache
    def explained(momentum: MomentumEvidence) -> tuple[Branches, BranchModel]:
        return momentum.judge(near, white, (low, high, min(max(branches.time, low), high)), earlier, scales)

    def without(wrong: float) -> KinkTrial | None:
        others = near.rows(np.abs(stamps - wrong) > 1e-7)
        return try_instant(others, noise, instant, period, gap, earlier, trusted=True)

    length = 0.0 if gap is None else gap[1] - gap[0]
    found = Candidate(instant, branches, speed, max(period, length), JUMP_ODDS, gap=length)
    return KinkTrial(found, model, (low, high), earlier, explained, None if trusted else without)
