"""Faults of detectors and of predictions: events that were not, and velocities that come late or can't be true."""

from __future__ import annotations

import math

import numpy as np

from impact_aware.arrays import Array

EVENT_FAULTS = ("false_detections", "prediction_late", "prediction_absurd")
"""Their names."""

FALSE_DETECTION = 0.02
"""Probability of a false detection with a state."""


class EventFaults:
    """What goes wrong with detectors and predictions; as it is, nothing does.

    Attributes:
        dead_detectors: Arms whose detector is dead.
        died: When it died, s.
        acting: Whether the fault acts now.
    """

    def __init__(self, name: str, generator: np.random.Generator) -> None:
        """Take the fault's name; a name that is none of these faults changes nothing."""
        self._name, self._generator = name, generator
        self.dead_detectors: tuple[int, ...] = ()
        self.died = math.inf
        self.acting = False

    def detects_falsely(self) -> bool:
        """Whether there is a false detection with this state."""
        return self._name == "false_detections" and self.acting and bool(self._generator.random() < FALSE_DETECTION)

    def prediction_delay(self) -> float:
        """How late a prediction comes, s."""
        return float(self._generator.uniform(0.05, 0.2)) if self._name == "prediction_late" else 0.0

    def spoil(self, velocity: Array | None) -> Array | None:
        """What becomes of a predicted velocity (3,), m/s."""
        if self._name != "prediction_absurd":
            return velocity
        direction = self._generator.standard_normal(3)
        size = 10.0 ** self._generator.uniform(0.5, 6.0)
        kinds = (direction * np.nan, direction * np.inf, direction / np.linalg.norm(direction) * size)
        return np.asarray(kinds[int(self._generator.integers(3))])
