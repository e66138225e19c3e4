"""What makes a run of a task besides the task: how the world differs from it, and what senses and controls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from impact_aware.control import ControlParameters
from impact_aware.errors import check_name
from impact_aware.simulation.sensors import SensorSettings
from impact_aware.simulation.task_scene import Truth

PREDICTIONS = ("direct", "sampled")


@dataclass(frozen=True)
class Camera:
    """What sees the object during a run.

    Attributes:
        rate: Poses per second, Hz.
        delay: From the image to the controller, s.
        noise: Standard deviation of each coordinate, m.
    """

    rate: float = 30.0
    delay: float = 0.03
    noise: float = 0.001


@dataclass(frozen=True)
class EpisodeSettings:
    """Everything that makes a run, apart from its task and seed.

    Attributes:
        control: Gains, limits and variant of the controller.
        detector: Name of the detector.
        detector_parameters: What differs from its defaults.
        impact_map: Whence the object's velocity after the impact comes: `direct` from the state that was detected, or
            `sampled` beforehand over impact positions and interpolated (van Steen 2024, eqs. 40-41).
        sensors: How the joint states come about.
        camera: What sees the object after the impact; nothing when None.
        joint_stiffness: Of flexible joints with their motors and torque loop, N m/rad; None for rigid joints.
        truth: How the world differs from the task.
        start: Index of the start position, or of the arms' start positions.
        duration: Simulated time, s.
        settle_time: The run ends when the object has been at rest for so long after the impact, s; None for never.
    """

    control: ControlParameters = field(default_factory=ControlParameters)
    detector: str = "adaptive_window"
    detector_parameters: Mapping[str, Any] = field(default_factory=dict)
    impact_map: str = "direct"
    sensors: SensorSettings = field(default_factory=SensorSettings)
    camera: Camera | None = None
    joint_stiffness: float | None = None
    truth: Truth = field(default_factory=Truth)
    start: int = 0
    duration: float = 4.0
    settle_time: float | None = None

    def __post_init__(self) -> None:
        """Refuse an unknown source of the object's velocity with an UnknownNameError."""
        check_name("impact_map", self.impact_map, PREDICTIONS)
