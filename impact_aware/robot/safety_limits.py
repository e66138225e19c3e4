"""Limits on an arm's commands and measured motion: figures of the safety envelope and of the impact check."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError
from impact_aware.robot.model import RobotModel

VELOCITY_MARGIN = 1.1
"""Default velocity limit over that of the URDF: the controller keeps to the URDF's, the envelope stands around it."""


DEFAULTS = {
    "tool_speed": 1.7, "contact_force": 140.0, "impact_energy": 2.5, "impact_overrun": 0.1, "impact_lead": 0.1,
}  # fmt: skip
"""Limits that no URDF has: m/s, N, J, m."""

DECELERATION = 15.0
"""Default `braking_deceleration`, rad/s^2."""

USUAL_DECELERATION = 20.0
"""Largest one that the manufacturers of the profiles' arms publish for any joint, rad/s^2."""


@dataclass(frozen=True)
class SafetyLimits:
    """Limits of one arm, per joint in the order of the model.

    Attributes:
        position_lower: (n,) rad.
        position_upper: (n,) rad.
        braking_deceleration: (n,) With which a joint can surely be stopped before a position limit, rad/s^2.
        velocity: (n,) rad/s.
        effort: (n,) Commanded torque, N m.
        effort_rate: (n,) Change of commanded torque, N m/s.
        workspace_lower: (3,) Corner of the box that the tool's centre stays in, arm's base frame, m.
        workspace_upper: (3,) m.
        tool_speed: Of the tool's centre, m/s.
        contact_force: Estimated force at the tool, without its first milliseconds, N.
        impact_energy: Of the arm along the normal at an intended impact, J.
        velocity_jump: (n,) Predicted jump of a joint's velocity at an intended impact, rad/s.
        impact_overrun: How far a tool may go past the position of an impact that does not come, m.
        impact_lead: How far before that position a detected impact may be the one that is to come, m; one that is
            farther away is not acted upon.
        sensor_torque: (n,) Measured torque at which the arm stops itself, whatever thresholds are set, N m; infinite
            where it does not, or that is not known.
    """

    position_lower: Array
    position_upper: Array
    braking_deceleration: Array
    velocity: Array
    effort: Array
    effort_rate: Array
    workspace_lower: Array
    workspace_upper: Array
    tool_speed: float
    contact_force: float
    impact_energy: float
    velocity_jump: Array
    impact_overrun: float = 0.1
    impact_lead: float = 0.1
    sensor_torque: Array = field(default_factory=lambda: np.full(1, math.inf))

    def __post_init__(self) -> None:
        """Check every limit.

        Raises:
            InvalidInputError: One that is not positive, a box or range that is empty, or arrays of different sizes.
        """
        n = np.size(self.position_lower)
        for name in ("position_upper", "braking_deceleration", "velocity", "effort", "effort_rate", "velocity_jump"):
            value = getattr(self, name)
            if np.shape(value) != (n,):
                raise InvalidInputError(f"safety.{name}", f"{np.size(value)} values", f"{n}, one per joint")
            if name != "position_upper" and not np.all(value > 0.0):
                raise InvalidInputError(f"safety.{name}", np.asarray(value).tolist(), "values > 0")
        if not np.all(self.sensor_torque > 0.0):
            raise InvalidInputError("safety.sensor_torque", self.sensor_torque.tolist(), "values > 0")
        for name in DEFAULTS:
            value = getattr(self, name)
            if not value > 0.0:
                raise InvalidInputError(f"safety.{name}", value, "a value > 0")
        for low, high in (("position_lower", "position_upper"), ("workspace_lower", "workspace_upper")):
            if not np.all(np.asarray(getattr(self, low)) < np.asarray(getattr(self, high))):
                raise InvalidInputError(f"safety.{low}", np.asarray(getattr(self, low)).tolist(), f"less than {high}")
        for name in ("workspace_lower", "workspace_upper"):
            if np.shape(getattr(self, name)) != (3,):
                raise InvalidInputError(f"safety.{name}", np.asarray(getattr(self, name)).tolist(), "three lengths, m")

    @classmethod
    def of(cls, robot: RobotModel, **changes: Any) -> SafetyLimits:
        """Limits of a robot: from `safety` in its profile, and otherwise from the URDF or by default.

        Args:
            robot: The arm.
            changes: Limits that replace those of the profile, by name.

        Raises:
            InvalidInputError: As the class itself.
        """
        n, own = robot.n, robot.limits
        values: dict[str, Any] = {
            "position_lower": np.array(robot.model.lowerPositionLimit),
            "position_upper": np.array(robot.model.upperPositionLimit),
            "braking_deceleration": np.full(n, DECELERATION),
            "velocity": VELOCITY_MARGIN * own.velocity,
            "effort": own.effort,
            "effort_rate": own.effort_rate,
            "workspace_lower": np.full(3, -math.inf),
            "workspace_upper": np.full(3, math.inf),
            "velocity_jump": own.velocity,
            "sensor_torque": np.full(n, math.inf),
            **DEFAULTS,
        }
        said = {} if robot.profile is None else dict(robot.profile.safety)
        for name, value in {**said, **changes}.items():
            if name not in values:
                raise InvalidInputError(f"safety.{name}", value, "one of " + ", ".join(values))
            scalar = isinstance(values[name], float)
            array = np.asarray(value, dtype=float)
            if not scalar and array.ndim == 0:
                array = np.full(np.shape(values[name]), float(array))
            values[name] = float(array) if scalar else array
        return cls(**values)

    @classmethod
    def each(cls, robots: Sequence[RobotModel], limits: Sequence[SafetyLimits] | None) -> list[SafetyLimits]:
        """Limits of several robots, one each; those of the robots when None.

        Raises:
            InvalidInputError: Another number of limits.
        """
        if limits is not None and len(limits) != len(robots):
            raise InvalidInputError("limits", len(limits), f"{len(robots)}, one per arm")
        return [cls.of(robot) for robot in robots] if limits is None else list(limits)

    def loosened(self, robot: RobotModel) -> tuple[str, ...]:
        """Which limits are looser than those of the robot's URDF, or than the defaults, one phrase each."""
        own, model = robot.limits, robot.model
        bounds = {
            "position_upper": (self.position_upper, np.array(model.upperPositionLimit), "the URDF's"),
            "position_lower": (-self.position_lower, -np.array(model.lowerPositionLimit), "the URDF's"),
            "velocity": (self.velocity, VELOCITY_MARGIN * own.velocity, f"{VELOCITY_MARGIN:g} times the URDF's"),
            "effort": (self.effort, own.effort, "the URDF's"),
            "effort_rate": (self.effort_rate, own.effort_rate, "the profile's"),
            "velocity_jump": (self.velocity_jump, own.velocity, "the URDF's velocity"),
            "braking_deceleration": (
                self.braking_deceleration, np.full(robot.n, USUAL_DECELERATION), "what manufacturers publish",
            ),
        }  # fmt: skip
        found = []
        for name, (value, usual, whose) in bounds.items():
            over = value > usual * (1.0 + np.sign(usual) * 1e-9)
            if over.any():
                joint = int(np.argmax(over))
                sign = -1.0 if name == "position_lower" else 1.0
                figures = f"{sign * value[joint]:g}, {whose} is {sign * usual[joint]:g}"
                found.append(f"safety.{name} of {robot.joint_names[joint]}: {figures}")
        for name, default in DEFAULTS.items():
            if getattr(self, name) > default:
                found.append(f"safety.{name}: {getattr(self, name):g}, the default is {default:g}")
        return tuple(found)
