"""From messages to arrays: joints are picked by name, once, whatever the message's order and company."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from impact_aware.arrays import Array


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
        self.missing = tuple(name for name in self.joint_names if names.count(name) != 1)
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
