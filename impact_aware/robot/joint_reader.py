"""Joint states of one arm, picked by name, whatever the message's order and company; what can't be used is refused."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from impact_aware.arrays import Array

OUT_OF_ORDER = 0.05
"""A message older than the last by up to this was overtaken on its way, s; by more, the clock was set back."""


class JointOrder:
    """Maps the name list of a message to the model's joint order and remembers the mapping while it stays the same.

    Attributes:
        joint_names: (n,) The model's order.
        missing: Names that the last message did not have, or had more than once.
        indices: (n,) Where each joint is in the last message; None when some are missing.
    """

    def __init__(self, joint_names: Sequence[str]) -> None:
        """Keep the model's joint order."""
        self.joint_names = tuple(joint_names)
        self.missing: tuple[str, ...] = self.joint_names
        self._seen: list[str] | None = None
        self.indices: NDArray[np.intp] | None = None
        self._largest = -1

    def locate(self, names: Sequence[str]) -> bool:
        """Learn where the joints are in `names`; False when one is missing or ambiguous (then `missing` names it)."""
        names = names if isinstance(names, list) else list(names)
        if names == self._seen:
            return self.indices is not None
        self._seen = names.copy()
        where = {name: index for index, name in enumerate(names)}
        counts = Counter(names)
        self.missing = tuple(name for name in self.joint_names if counts[name] != 1)
        if self.missing:
            self.indices = None
            return False
        self.indices = np.array([where[name] for name in self.joint_names], dtype=np.intp)
        self._largest = int(self.indices.max(initial=-1))
        return True

    def pick(self, values: Sequence[float] | Array, out: Array) -> bool:
        """Copy the joints' entries of `values` into `out` (n,).

        False when the field is empty or too short (then `out` is untouched) or an entry is not finite.
        """
        if self.indices is None or len(values) <= self._largest:
            return False
        out[:] = np.asarray(values, dtype=float)[self.indices]
        return bool(np.isfinite(out).all())


class JointReader:
    """Reads one message after the other.

    Attributes:
        time: Stamp of the last usable message, s; NaN before.
        position: (n,) rad.
        velocity: (n,) rad/s; differenced from the positions where the message has none.
        effort: (n,) N m, NaN where the message has none.
        velocity_measured: Whether `velocity` came from the message.
        rejected: How many messages were not usable, by reason.
    """

    def __init__(self, joint_names: Sequence[str], *, gaps: bool = False) -> None:
        """Allocate for these joints; when there are none, they are learnt from the first message that is in order.

        With `gaps`, a message is usable when only some of its positions are not finite; those are NaN then.
        """
        self._gaps = gaps
        self.time = float("nan")
        self.velocity_measured = True
        self.rejected: dict[str, int] = {}
        self._allocate(joint_names)

    @property
    def missing(self) -> tuple[str, ...]:
        """Joints that the last message did not have; all of them before the first."""
        return self._order.missing

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The joint order of the arrays; empty until it is known."""
        return self._order.joint_names

    def _allocate(self, joint_names: Sequence[str]) -> None:
        self._order = JointOrder(joint_names)
        count = len(joint_names)
        # Positions and velocities in one row, which is checked and copied at once.
        self._motion = np.full(2 * count, np.nan)
        self.position, self.velocity = self._motion[:count], self._motion[count:]
        self.effort = np.full(count, np.nan)
        self._previous_position = np.full(count, np.nan)

    def take(
        self,
        time: float,
        names: Sequence[str],
        position: Sequence[float],
        velocity: Sequence[float],
        effort: Sequence[float],
    ) -> str:
        """Read one message into the arrays.

        Args:
            time: Its stamp, s.
            names: (m,) In any order, with others among them.
            position: (m,) rad.
            velocity: (m,) rad/s, or empty.
            effort: (m,) N m, or empty.

        Returns:
            Why it can't be used, in one sentence; empty when it was. The arrays then keep what they had.
        """
        order = self._order
        if not order.joint_names:
            unambiguous = 0 < len(names) == len(set(names)) == len(position)
            if not unambiguous or not np.isfinite(np.asarray(position, dtype=float)).all():
                return self._reject("no joints to learn", "joint_states does not name each joint once with a position")
            self._allocate(names)
            order = self._order
        if 0.0 < self.time - time <= OUT_OF_ORDER:
            return self._reject("out of order", "joint_states came out of order")
        if not order.locate(names):
            twice = [name for name in order.missing if name in names]
            lack = f"names {twice[0]} more than once" if twice else f"lacks {', '.join(order.missing[:3])}"
            return self._reject("joint missing", f"joint_states {lack}")
        self._previous_position[:] = self.position
        complete = order.pick(position, self.position)
        if not complete and not (self._gaps and len(position) == len(names) and np.isfinite(self.position).any()):
            self.position[:] = self._previous_position
            return self._reject("position not usable", "joint_states has positions that are missing or not finite")
        interval = time - self.time
        self.time = time
        self.velocity_measured = order.pick(velocity, self.velocity)
        if not self.velocity_measured:
            self.velocity[:] = 0.0
            if interval > 0.0 and np.isfinite(self._previous_position).all():
                np.subtract(self.position, self._previous_position, out=self.velocity)
                self.velocity /= interval
        if not order.pick(effort, self.effort):
            self.effort[:] = np.nan
        return ""

    @property
    def indices(self) -> NDArray[np.intp] | None:
        """Where the joints are in the last message's names; None when it did not have them all."""
        return self._order.indices

    def take_row(self, time: float, values: Array, places: NDArray[np.intp]) -> bool:
        """Read a message whose joints are known to be where they were, and that has nothing unusual.

        Args:
            time: Its stamp, s.
            values: Its numbers.
            places: (k n,) Which of them are positions, velocities and, with k = 3, efforts, in the model's order.

        Returns:
            Whether it was read. A message that is not newer than the last one, or has a position or velocity that is
            not finite, was not: nothing is changed then, and `take` knows what to do with it.
        """
        picked, motion = values[places], self._motion
        moving = picked[: motion.size]
        # Squares of anything that is not finite are not finite either, and quickly summed up.
        if not time > self.time or not math.isfinite(float(moving @ moving)):
            return False
        self._previous_position[:] = self.position
        motion[:] = moving
        effort = picked[motion.size :]
        self.effort[:] = effort if effort.size and math.isfinite(float(effort @ effort)) else np.nan
        self.time = time
        self.velocity_measured = True
        return True

    def _reject(self, reason: str, sentence: str) -> str:
        self.rejected[reason] = self.rejected.get(reason, 0) + 1
        return sentence
