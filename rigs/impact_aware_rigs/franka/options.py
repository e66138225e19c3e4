"""What the simulated arm is, what stands before it, and how its time goes on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from impact_aware.simulation.task_scene import Truth

PERIOD = 0.001
"""Period of the arm's states and commands, s."""

HOME = (0.0, -0.785398, 0.0, -2.356194, 0.0, 1.570796, 0.785398)
"""Posture of the arm when nothing else is wanted, rad."""


@dataclass(frozen=True, kw_only=True)
class ArmOptions:
    """Options of the simulated arm. A task's object stands on the ground plane of the arm's base.

    Attributes:
        lockstep: Whether the arm waits in every cycle of a motion for its client's command. Else its time goes on with
            wall time, and a command that does not come within the cycle is lost.
        rate: Simulated seconds per second of wall time at most; 0 for as fast as the client answers (lockstep only).
        patience: Time without a command after which a client in lockstep counts as ended, s of wall time.
        posture: (7,) At the start, rad.
        robot: Profile whose tool the hand carries.
        task: Task whose object stands before the arm, by name; empty for none.
        changes: Entries that replace those of the task file.
        truth: How the world differs from the task.
        joint_friction: Share of the dry friction and damping of franky-sim's joints.
        torque_limits: (7,) Range of the joint torque sensors, N m.
        velocity_limits: (7,) Joint velocities, rad/s.
        power_limit: Mechanical power of all joints together, W.
        sensor_bandwidth: Of the joint torque sensors, Hz. The simulated joints are rigid: the bandwidth stands for the
            elasticity that keeps a real sensor from an impact's full force.
        external_bandwidth: Of the estimate of external torques, Hz.
    """

    lockstep: bool = True
    rate: float = 0.0
    patience: float = 120.0
    posture: tuple[float, ...] = HOME
    robot: str = "fr3"
    task: str = "hit_and_push"
    changes: dict[str, Any] = field(default_factory=dict)
    truth: Truth = field(default_factory=Truth)
    joint_friction: float = 1.0
    torque_limits: tuple[float, ...] = (87.0, 87.0, 87.0, 87.0, 12.0, 12.0, 12.0)
    velocity_limits: tuple[float, ...] = (2.62, 2.62, 2.62, 2.62, 5.26, 4.18, 5.26)
    power_limit: float = 200.0
    sensor_bandwidth: float = 60.0
    external_bandwidth: float = 30.0
