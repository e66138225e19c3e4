"""What a run of the flexible-joint arm leaves behind, and how it is collected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from impact_aware.arrays import Array
from impact_aware.simulation.surface_contact import SurfaceContact


@dataclass(frozen=True, eq=False)
class FlexibleJointRun:
    """One simulated run, sampled with the high-level controller's period.

    Attributes:
        time: (k,) s.
        q: (k, n) Link positions, rad.
        dq: (k, n) Link velocities, rad/s.
        theta: (k, n) Motor positions behind the gear, rad.
        torque: (k, n) What the link-side torque sensors read, tau + D K^-1 dtau, N m.
        force: (k, 3) Contact force on the robot, N, base frame.
        object_twist: (k, 6) Of the object; zero for a fixed surface.
        impact_time: First touch, s; NaN when there was none.
        q_impact: (n,) Link positions at first touch, rad.
        velocity_before: (n,) Link velocities at first touch, rad/s.
        fine_time: Sampling instants of every integration step between 2 ms before and 10 ms after first touch, s.
        fine_dq: Link velocities there, rad/s.
        fine_force: Normal contact force there, N.
    """

    time: Array
    q: Array
    dq: Array
    theta: Array
    torque: Array
    force: Array
    object_twist: Array
    impact_time: float
    q_impact: Array
    velocity_before: Array
    fine_time: Array
    fine_dq: Array
    fine_force: Array


class Watched(Protocol):
    """What the recorder asks of the plant."""

    step: float

    def touch_depth(self, state: Array, contact: SurfaceContact) -> float:
        """Penetration of the tip, m."""
        ...

    def contact_force(self, state: Array, contact: SurfaceContact | None) -> Array:
        """Contact force (3,) on the robot, N."""
        ...


class RunRecorder:
    """Collects the samples of one run."""

    _BEFORE, _AFTER = 2e-3, 10e-3

    def __init__(self, n: int) -> None:
        """Start empty, for `n` joints."""
        self._n = n
        self._samples: list[tuple[float, Array, Array, Array]] = []
        self._fine: list[tuple[float, Array, float]] = []
        self.impact_time = float("nan")
        self.q_impact = np.full(n, np.nan)
        self.velocity_before = np.full(n, np.nan)

    def coarse(self, time: float, state: Array, torque: Array, force: Array) -> None:
        """Keep one sample per control period."""
        self._samples.append((time, state.copy(), torque, force))

    def fine(self, time: float, before: Array, after: Array, arm: Watched, contact: SurfaceContact) -> None:
        """Look for the first touch in the step that ended at `time`, and keep what surrounds it."""
        n = self._n
        if np.isnan(self.impact_time):
            depth = arm.touch_depth(after, contact)
            if depth >= 0.0:
                start = arm.touch_depth(before, contact)
                part = start / (start - depth) if start < 0.0 else 0.0
                self.impact_time = time - arm.step * (1.0 - part)
                touched = before + part * (after - before)
                self.q_impact, self.velocity_before = touched[:n].copy(), touched[n : 2 * n].copy()
        if np.isnan(self.impact_time) or time < self.impact_time + self._AFTER:
            force = 0.0
            if not np.isnan(self.impact_time):
                force = float(contact.normal @ arm.contact_force(after, contact))
            self._fine.append((time, after[n : 2 * n].copy(), force))
            if np.isnan(self.impact_time) and self._fine[0][0] < time - self._BEFORE:
                self._fine.pop(0)

    def run(self) -> FlexibleJointRun:
        """Everything collected."""
        n = self._n
        states = np.array([sample[1] for sample in self._samples])
        return FlexibleJointRun(
            time=np.array([sample[0] for sample in self._samples]),
            q=states[:, :n],
            dq=states[:, n : 2 * n],
            theta=states[:, 2 * n : 3 * n],
            torque=np.array([sample[2] for sample in self._samples]),
            force=np.array([sample[3] for sample in self._samples]),
            object_twist=states[:, 5 * n + 6 : 5 * n + 12],
            impact_time=self.impact_time,
            q_impact=self.q_impact,
            velocity_before=self.velocity_before,
            fine_time=np.array([sample[0] for sample in self._fine]),
            fine_dq=np.array([sample[1] for sample in self._fine]).reshape(-1, n),
            fine_force=np.array([sample[2] for sample in self._fine]),
        )
