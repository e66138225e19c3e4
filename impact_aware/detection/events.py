"""The joint state at one instant, as detectors read it."""

from __future__ import annotations

from dataclasses import dataclass

from impact_aware.arrays import Array


@dataclass(frozen=True, slots=True)
class JointSample:
    """Joint state at one instant, in the model's joint order; detectors judge its content, so nothing is checked here.

    Attributes:
        time: Stamp of the measurement, s.
        position: Joint positions (n,), rad.
        velocity: Joint velocities (n,), rad/s, or None where the source has none.
        effort: Joint torques (n,), N m, or None where the source has none.
        effort_reference: Joint torques that were to be expected without contact, such as the commanded ones,
            (n,) N m, or None where nobody knows.
    """

    time: float
    position: Array
    velocity: Array | None = None
    effort: Array | None = None
    effort_reference: Array | None = None
