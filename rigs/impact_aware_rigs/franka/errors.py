"""The arm's errors, in the order of libfranka's wire format, and what makes the arm stop by itself."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from impact_aware.arrays import Array
from impact_aware_rigs.franka.options import PERIOD, ArmOptions

ERRORS = (
    "joint_position_limits_violation",
    "cartesian_position_limits_violation",
    "self_collision_avoidance_violation",
    "joint_velocity_violation",
    "cartesian_velocity_violation",
    "force_control_safety_violation",
    "joint_reflex",
    "cartesian_reflex",
    "max_goal_pose_deviation_violation",
    "max_path_pose_deviation_violation",
    "cartesian_velocity_profile_safety_violation",
    "joint_position_motion_generator_start_pose_invalid",
    "joint_motion_generator_position_limits_violation",
    "joint_motion_generator_velocity_limits_violation",
    "joint_motion_generator_velocity_discontinuity",
    "joint_motion_generator_acceleration_discontinuity",
    "cartesian_position_motion_generator_start_pose_invalid",
    "cartesian_motion_generator_elbow_limit_violation",
    "cartesian_motion_generator_velocity_limits_violation",
    "cartesian_motion_generator_velocity_discontinuity",
    "cartesian_motion_generator_acceleration_discontinuity",
    "cartesian_motion_generator_elbow_sign_inconsistent",
    "cartesian_motion_generator_start_elbow_invalid",
    "force_controller_desired_force_tolerance_violation",
    "start_elbow_sign_inconsistent",
    "communication_constraints_violation",
    "power_limit_violation",
    "cartesian_motion_generator_joint_position_limits_violation",
    "cartesian_motion_generator_joint_velocity_limits_violation",
    "cartesian_motion_generator_joint_velocity_discontinuity",
    "cartesian_motion_generator_joint_acceleration_discontinuity",
    "cartesian_position_motion_generator_invalid_frame",
    "controller_torque_discontinuity",
    "joint_p2p_insufficient_torque_for_planning",
    "tau_j_range_violation",
    "instability_detected",
    "joint_move_in_wrong_direction",
    "cartesian_spline_motion_generator_violation",
    "joint_via_motion_generator_planning_joint_limit_violation",
    "base_acceleration_initialization_timeout",
    "base_acceleration_invalid_reading",
)
"""libfranka 0.21, `research_interface::robot::Error`."""

TORQUE_RATE = 1000.0
"""Largest change of the desired torque, N m/s, counted from the last one that acted (`tau_J_d`)."""

ROUNDING = 1e-4
"""Rounding error of torques, which states carry with 32 bits, N m."""

LOST_IN_A_ROW = 20
"""Commands in a row whose loss ends a motion."""


@dataclass
class Thresholds:
    """Collision thresholds, as `set_collision_behavior` sets them; libfranka's examples are a first guess of defaults.

    Attributes:
        torque: (7,) External joint torques above which the arm stops, N m.
        force: (6,) External force, N, and moment, N m, at the tool, above which it does.
        contact_torque: (7,) Torques above which a joint counts as touched, N m.
        contact_force: (6,) Forces and moments above which the tool does.
    """

    torque: Array = field(default_factory=lambda: np.array([20.0, 20.0, 18.0, 18.0, 16.0, 14.0, 12.0]))
    force: Array = field(default_factory=lambda: np.array([20.0, 20.0, 20.0, 25.0, 25.0, 25.0]))
    contact_torque: Array = field(default_factory=lambda: np.array([20.0, 20.0, 18.0, 18.0, 16.0, 14.0, 12.0]))
    contact_force: Array = field(default_factory=lambda: np.array([20.0, 20.0, 20.0, 25.0, 25.0, 25.0]))


@dataclass(frozen=True)
class Measured:
    """Measurements that the arm's reflexes use, in one cycle.

    Attributes:
        q: (7,) rad.
        dq: (7,) rad/s.
        torque: (7,) Joint torque sensors, with gravity, N m.
        external: (7,) Estimate of external torques, N m.
        force: (6,) Estimate of the external force and moment at the tool, base frame, N and N m.
    """

    q: Array
    dq: Array
    torque: Array
    external: Array
    force: Array


def reflex(measured: Measured, thresholds: Thresholds, options: ArmOptions, limits: tuple[Array, Array]) -> str:
    """Name of the first error that a cycle of a motion raises; empty when there is none.

    Args:
        measured: What the arm measures.
        thresholds: Of collisions.
        options: Ranges and limits.
        limits: (7,) Lower and upper joint positions, rad.
    """
    found = {
        "joint_position_limits_violation": np.any((measured.q < limits[0]) | (measured.q > limits[1])),
        "joint_velocity_violation": np.any(np.abs(measured.dq) > options.velocity_limits),
        "tau_j_range_violation": np.any(np.abs(measured.torque) > options.torque_limits),
        "joint_reflex": np.any(np.abs(measured.external) > thresholds.torque),
        "cartesian_reflex": np.any(np.abs(measured.force) > thresholds.force),
        "power_limit_violation": float(np.sum(np.abs(measured.torque * measured.dq))) > options.power_limit,
    }
    return next((name for name, violated in found.items() if violated), "")


def refusal(command: Array, desired: Array) -> str:
    """Name of the error that a torque command (7,) raises after the desired torque (7,), N m; empty when none."""
    if np.isfinite(command).all() and np.all(np.abs(command - desired) <= TORQUE_RATE * PERIOD + ROUNDING):
        return ""
    return "controller_torque_discontinuity"
