"""A candidate for a jump of the velocity, what the samples around it tell, and whether it is one."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from impact_aware.arrays import Array
from impact_aware.estimation.branch_model import Branches
from impact_aware.estimation.unexplained_jump import UnexplainedJump

SURE, AGAIN = 12.0, float(np.log(30.0 * 20.0))
"""Logarithm of how much more likely a jump must make the samples than a step of the acceleration and an oscillation;
the same within `FOLLOWS` after another jump, where a second one is no surprise: one or two of some 40 candidates. One
false one in twenty that are reported is the most that is wanted."""

OVER_STEP = float(np.log(4.0 * 20.0))
"""The same over a step of the command that elastic joints pass on: where something steps, one in five is a contact."""

CERTAIN = 30.0
"""The same, from which no jump of a joint needs to be clear by itself."""

SIZE = 2.0
"""Standard errors that the jump of some joint must have."""

SMALLEST, STEEPEST = 0.02, 18.0
"""Jump of the fastest joint below which nothing is reported as one, rad/s, and what a command can do instead, rad/s^2:
within one sampling period it changes the velocity as much as a jump. Just after another jump half of it counts."""

LEAST_TIME_STD, LEAST_TIME_SHARE = 3.5e-4, 0.08
"""Of the time, s, and in periods: a contact takes some milliseconds, and how its force rises is not seen."""

SOFT = 3e-3
"""Standard error, s, of when the force of a contact that only torques show begins to rise: it is soft mostly."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A candidate and what became of it.

    Attributes:
        instant: Of the candidate, s.
        branches: What the samples around it tell.
        speed: (2, n) Mean velocities before and after it, rad/s.
        period: Time between two samples, or of the gap, s.
        sure: `gain` that a jump must have here.
        explained: What they tell as components of the momentum, less what measured torques explain; None where no arm
            is known, or nothing suggests a jump. Its likelihoods are of the same samples, and can be compared.
        driven: Whether torques explain some of `explained`, commands among it.
        unexplained: A jump of the links that torques do not explain, where the joints alone do not show it or its time.
        refuted: Whether torques explain all of what looks like a jump.
        gap: Time without samples around it, s; 0 where none is missing.
    """

    instant: float
    branches: Branches
    speed: Array
    period: float
    sure: float
    explained: Branches | None = None
    driven: bool = False
    unexplained: UnexplainedJump | None = None
    refuted: bool = False
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
        """Logarithm of how much more likely a jump makes the samples than anything smooth."""
        if self.unexplained is not None:
            return self.unexplained.gain
        return self.strongest.kink - max(max(each.step, each.smooth, each.spoilt) for each in self._views)

    @property
    def over_step(self) -> float:
        """The same than a step of the command that elastic joints pass on."""
        return self.strongest.kink - max(each.carried for each in self._views)

    @property
    def step_gain(self) -> float:
        """Logarithm of how much more likely a step of the command makes the samples than a smooth motion that swings.

        The acceleration steps at the links, or at motors that elastic joints connect to them.
        """
        views = self._commanded
        return max(max(e.step, e.carried) for e in views) - max(max(e.smooth, e.spoilt) for e in views)

    @property
    def step_time(self) -> float:
        """When the command steps if it does, s."""
        return max(self._commanded, key=lambda each: max(each.step, each.carried)).step_time

    @property
    def _commanded(self) -> tuple[Branches, ...]:
        """Views that commands are left in."""
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
        """Jump of any joint that the samples allow, two standard errors included, rad/s."""
        return float((np.abs(self.strongest.jump) + 2.0 * self.strongest.jump_std).max())

    @property
    def is_jump(self) -> bool:
        """Whether the velocity has jumped."""
        if self.refuted or self.unexplained is not None:
            return not self.refuted
        strongest = self.strongest
        size = np.abs(strongest.jump)
        share = 1.0 if self.sure == SURE else 0.5
        if self.over_step < OVER_STEP:
            return False
        if self.gain < self.sure or size.max() < max(SMALLEST, share * STEEPEST * self.period):
            return False
        # An oscillation that begins shares the jump with it, so that neither is known well while both are certain.
        return self.gain > CERTAIN or bool((size > SIZE * strongest.jump_std).any())
