"""Impact events on their way to the law: each one once."""

from __future__ import annotations

MOST_REMEMBERED = 1000
"""Events that are remembered; none comes again after so many others."""


class ImpactEvents:
    """Remembers which events were taken, and for which arms contact is complete.

    A detector may publish an event again, with the same number, once it knows what the event means; only the first one
    counts.

    Attributes:
        sequence: Number of the last event that was acted upon; 0 before the first.
    """

    def __init__(self, arms: int) -> None:
        """Begin with no events of this number of arms."""
        self._arms = arms
        self.sequence = 0
        self.begin()

    def begin(self) -> None:
        """A new motion: a detector that was started anew counts from 1 again."""
        # A dictionary, as it keeps the order in which they came.
        self._taken: dict[tuple[int, bool, int], None] = {}
        self._complete: set[int] = set()

    def is_new(self, arm: int, sequence: int | None, *, complete: bool) -> bool:
        """Whether an event of an arm was not taken before; one without number always is new."""
        if sequence is None:
            return True
        key = (arm, complete, sequence)
        if key in self._taken:
            return False
        self._taken[key] = None
        if len(self._taken) > MOST_REMEMBERED:
            del self._taken[next(iter(self._taken))]
        return True

    def all_complete(self, arm: int) -> bool:
        """An arm's contact is complete; whether it is for every arm."""
        self._complete.add(arm)
        return len(self._complete) == self._arms
