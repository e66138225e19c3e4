"""Whether a node grows: memory of the process, and entries of every container that it holds."""

from __future__ import annotations

import gc
import os
from collections import Counter, deque
from typing import Any

import numpy as np

from impact_aware_rigs.figures import resident_bytes

LOOKED_AT = 1000
"""Entries of a container whose own entries are counted too."""

FEW = 20
"""Entries by which a container may grow steadily without being named."""


class Growth:
    """Measures the size of a node's data repeatedly, and reports what has grown since the first time."""

    def __init__(self, node: Any) -> None:
        """Keep the node; `look` measures it."""
        self._node = node
        self._memory: list[int] = []
        self._sizes: list[Counter[str]] = []

    def look(self) -> None:
        """Measure the present sizes."""
        gc.collect()
        self._memory.append(int(resident_bytes(os.getpid()) or 0) // 1024)
        self._sizes.append(entries(self._node))

    def values(self) -> dict[str, Any]:
        """What came of it; `growing` are containers that were larger at every look, and by how much in the end."""
        first, last = self._sizes[0], self._sizes[-1]
        return {
            "grown_kib": self._memory[-1] - self._memory[0],
            "grown_late_kib": self._memory[-1] - self._memory[len(self._memory) // 2],
            "memory_kib": self._memory,
            "growing": {name: last[name] - first[name] for name in last if self._grows(name)},
        }

    def _grows(self, name: str) -> bool:
        sizes = [own[name] for own in self._sizes]
        steadily = all(later > earlier for earlier, later in zip(sizes, sizes[1:], strict=False))
        return len(sizes) > 2 and steadily and sizes[-1] - sizes[0] > FEW


def entries(start: Any) -> Counter[str]:
    """Entries of all containers that are reachable through attributes of objects of this package.

    They are named by the attributes that lead there; those of the entries of one container count together.
    """
    seen: set[int] = set()
    waiting: list[tuple[str, Any]] = [("node", start)]
    sizes: Counter[str] = Counter()
    while waiting:
        name, thing = waiting.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if isinstance(thing, dict):
            sizes[name] += len(thing)
            waiting += [(f"{name}[]", value) for value in list(thing.values())[:LOOKED_AT]]
        elif isinstance(thing, (list, tuple, set, frozenset, deque)):
            sizes[name] += len(thing)
            waiting += [(f"{name}[]", value) for value in list(thing)[:LOOKED_AT]]
        elif isinstance(thing, np.ndarray):
            sizes[name] += thing.size
        elif type(thing).__module__.startswith("impact_aware.") and hasattr(thing, "__dict__"):
            waiting += [(f"{name}.{key}", value) for key, value in vars(thing).items()]
    return sizes
