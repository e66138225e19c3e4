"""What an impact leaves besides the velocity of the object, and how the reference lets it die away.

Just after an impact a tool turns with its object, and the joint of the null-space task moves: both at rates that the
impact map predicts, while (17) and (21) of van Steen 2024 want both to stand still at once. Here the reference begins
where tool and joint are, at the predicted rates, and comes to rest from there; see docs/papers.md.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


class Settling:
    """Displacements x from what is wanted, begun by an impact: x'' = -gamma (2 lambda x' + lambda^2 x).

    With gamma = 0 they go on as the impact left them, as nothing stops the arm then; with gamma = 1 they are critically
    damped. `tracking_kernels.settle` advances them.

    Attributes:
        left: (arms, 3, 4) Of each arm x, x' and x'', rad, rad/s, rad/s^2: of the tool's rotation from its wanted
            orientation, a rotation vector in base axes, then of the null-space task's joint from where it is held.
        rows: (3 arms, 4) View of the same.
    """

    def __init__(self, arms: int) -> None:
        """Start with displacements and rates of zero."""
        self.left, self._expected = np.zeros((arms, 3, 4)), np.full((arms, 4), np.nan)
        self.rows = self.left.reshape(-1, 4)

    def copy(self) -> Settling:
        """An independent one."""
        found = Settling(len(self.left))
        found.left[:], found._expected[:] = self.left, self._expected
        return found

    def expect(self, arm: int, part: slice, velocity: ArrayLike, displacement: ArrayLike) -> None:
        """The velocity just after the impact, rad/s, and the displacement at it, rad, of a part of an arm's four.

        A later prediction for the same impact changes the velocity by what it differs from the one before.
        """
        before = self._expected[arm, part].copy()
        if np.isnan(before).any():
            self.left[arm, 0, part], self.left[arm, 1, part] = displacement, velocity
        else:
            self.left[arm, 1, part] += np.asarray(velocity, dtype=float) - before
        self._expected[arm, part] = velocity
