"""A candidate for a velocity jump, the evidence of the samples around it, and the decision."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from impact_aware.arrays import Array
from impact_aware.estimation.branch_model import Branches
from impact_aware.estimation.unexplained_jump import UnexplainedJump

JUMP_ODDS, SECOND_JUMP_ODDS = 12.0, float(np.log(30.0 * 20.0))
"""Least log-odds of a velocity jump against an acceleration step with an oscillation. The second holds within `FOLLOWS`
after another jump: prior odds of 1 to 30 (one or two of some 40 candidates), and at most one in twenty is false."""

STEP_ODDS = float(np.log(4.0 * 20.0))
"""Least log-odds of a jump against a command step through elastic joints; prior odds of 1 to 4, one in twenty false."""

CERTAIN_ODDS = 30.0
"""Log-odds as `JUMP_ODDS`, above which no single joint's jump has to be significant."""

SIGNIFICANT_SIZE = 2.0
"""Standard errors that the jump of some joint must exceed."""

SMALLEST, STEEPEST = 0.02, 18.0
"""Smallest jump of the fastest joint, rad/s, and largest acceleration by a command, rad/s^2: a jump must exceed the
change of velocity by that acceleration within one sampling period, or half of it just after another jump."""

LEAST_TIME_STD, LEAST_TIME_SHARE = 3.5e-4, 0.08
"""Least standard error of the time, s, and in periods: a contact takes milliseconds, and its rise is not observed."""

SOFT = 3e-3
"""Standard error of the start of a contact that only torques show, s: such contacts are mostly soft."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A candidate with its evidence.

    Attributes:
        instant: Time of the candidate, s.
        branches: Evidence of the joint positions around it.
        speed: (2, n) Mean velocities before and after it, rad/s.
        period: Time between two samples, or of the gap, s.
        threshold: Least `gain` of a jump here.
        explained: Evidence of the momentum's components, less the motion that measured torques explain; None without a
            robot model or a sign of a jump. Its likelihoods are comparable with those of `branches`.
        driven: Whether measured torques, commands included, explain part of the motion in `explained`.
        unexplained: A jump of the links that torques do not explain, where the joints alone do not show it or its time.
        gap: Time without samples around it, s; 0 where none is missing.
    """

    instant: float
    branches: Branches
    speed: Array
    period: float
    threshold: float
    explained: Branches | None = None
    driven: bool = False
    unexplained: UnexplainedJump | None = None
    gap: float = 0.0

    @property
    def strongest(self) -> Branches:
        """Source of the strongest evidence for a jump: joints one by one, the momentum, or the torques."""
        left, explained = self.unexplained, self.explained
        if left is not None:
            std = float(np.hypot(left.time_std, SOFT))
            return replace(self.branches, time=left.time, time_std=std, jump=left.jump, jump_std=left.jump_std)
        return self.branches if explained is None or explained.kink < self.branches.kink else explained

    @property
    def gain(self) -> float:
        """Log-odds of a jump against all hypotheses without one."""
        if self.unexplained is not None:
            return self.unexplained.gain
        return self.strongest.kink - max(max(each.step, each.smooth, each.spoilt) for each in self._views)

    @property
    def wrong_sample(self) -> float | None:
        """Time of the sample, s, that is wrong where only a wrong sample explains the others as well as a jump does."""
        against = max(max(each.step, each.smooth) for each in self._views)
        if self.gain >= self.threshold or self.strongest.kink - against < self.threshold:
            return None
        return max(self._views, key=lambda each: each.spoilt).wrong

    @property
    def over_step(self) -> float:
        """Log-odds of a velocity jump against a motor-side command step through elastic joints."""
        return self.strongest.kink - max(each.carried for each in self._views)

    @property
    def step_gain(self) -> float:
        """Log-odds of a command step against a smooth motion with an oscillation.

        The acceleration steps at the links, or at motors that elastic joints connect to them.
        """
        views = self._commanded
        return max(max(e.step, e.carried) for e in views) - max(max(e.smooth, e.spoilt) for e in views)

    @property
    def step_time(self) -> float:
        """Likeliest time of a command step, s."""
        return max(self._commanded, key=lambda each: max(each.step, each.carried)).step_time

    @property
    def _commanded(self) -> tuple[Branches, ...]:
        """Evidence from which no torques, and so no commands, were subtracted."""
        return (self.branches,) if self.driven or self.explained is None else (self.branches, self.explained)

    @property
    def _views(self) -> tuple[Branches, ...]:
        return (self.branches,) if self.explained is None else (self.branches, self.explained)

    @property
    def time_std(self) -> float:
        """Standard error of the time of a jump, s."""
        least = np.hypot(LEAST_TIME_STD, LEAST_TIME_SHARE * self.period)
        return float(np.hypot(self.strongest.time_std, least))

    @property
    def largest_jump(self) -> float:
        """Largest jump of a joint that the samples allow, two standard errors included, rad/s."""
        return float((np.abs(self.strongest.jump) + 2.0 * self.strongest.jump_std).max())

    @property
    def is_jump(self) -> bool:
        """Whether the evidence suffices for a velocity jump."""
        if self.unexplained is not None:
            return True
        strongest = self.strongest
        size = np.abs(strongest.jump)
        share = 1.0 if self.threshold == JUMP_ODDS else 0.5
        if self.over_step < STEP_ODDS:
            return False
        if self.gain < self.threshold or size.max() < max(SMALLEST, share * STEEPEST * self.period):
            return False
        # A jump and the oscillation that it starts are correlated: the sizes are uncertain though the jump is not.
        if self.gain > CERTAIN_ODDS:
            return True
        sure = [each for each in self._views if each.kink - max(each.step, each.smooth, each.spoilt) >= self.threshold]
        return any((np.abs(each.jump) > SIGNIFICANT_SIZE * each.jump_std).any() for each in [strongest, *sure])
