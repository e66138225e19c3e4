"""Prepare an arm for a task: load of the tool, collision thresholds, joint impedance, and what can be read back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin

from impact_aware.control.safety.impact_check import ExpectedImpact, expected_impact
from impact_aware.control.safety.reflexes import PAD_STIFFNESS, HitLoad, allowed_speed, hit_load
from impact_aware.errors import InvalidInputError
from impact_aware.franka.connection import connect, library, sentence
from impact_aware.robot import RobotModel
from impact_aware.robot.safety_limits import SafetyLimits
from impact_aware.task import load_task, make_field
from impact_aware.task.arms import arms_of_task

JOINT_IMPEDANCE = (3000.0, 3000.0, 3000.0, 2500.0, 2500.0, 2000.0, 2000.0)
"""With which the arm's own controllers hold it between motions, N m/rad: those of libfranka's examples."""

FLANGE = "link8"
"""End of the name of the frame in which a load is given."""


@dataclass(frozen=True, eq=False)
class Preparation:
    """What an arm is prepared with for a task.

    Attributes:
        impact: That the task leads to.
        load: What it does to the arm, and which reflexes come how near.
        speed: Impact speed at which none of them trips, m/s.
        mass: Of the tool, kg.
        center: (3,) Of its mass in the flange frame, m.
        inertia: (9,) About that centre, flange axes, column by column, kg m^2.
    """

    impact: ExpectedImpact
    load: HitLoad
    speed: float
    mass: float
    center: list[float]
    inertia: list[float]


def preparation(task_name: str, robot_name: str, arm: str = "", stiffness: float = PAD_STIFFNESS) -> Preparation:
    """Predict a task's impact, and what the arm needs for it.

    Args:
        task_name: Task, by name or file.
        robot_name: Profile of the arm, for a task of a single one.
        arm: Which of several arms.
        stiffness: Of tool and object in series, N/m.

    Raises:
        InvalidInputError: A task that can't be done or has no such arm, or a robot without `safety.sensor_torque`.
    """
    task = load_task(task_name)
    arms = arms_of_task(task, robot_name)
    names = [own.name for own in task.arms]
    if arm not in names and len(names) > 1:
        raise InvalidInputError("arm", arm or "nothing", f"one of {', '.join(names)}")
    index = names.index(arm) if len(names) > 1 else 0
    robot, base = arms[index].robot, arms[index].base
    bound = SafetyLimits.of(robot).sensor_torque
    if robot.n != 7 or not np.isfinite(bound).all():
        raise InvalidInputError("robot", robot.name, "a Franka's profile, with safety.sensor_torque")
    field = make_field(task, [own.robot for own in arms])
    impact = expected_impact(field, robot, index, base=base, task=task)
    load = hit_load(impact, robot, bound, stiffness)
    return Preparation(impact, load, allowed_speed(impact, robot, load, bound), *tool_load(robot))


def tool_load(robot: RobotModel) -> tuple[float, list[float], list[float]]:
    """Mass, centre and inertia of the profile's tool, as `Preparation` has them; a hand is the end effector of Desk."""
    tool = None if robot.profile is None else robot.profile.tool
    flange = next((own.name for own in robot.model.frames if own.name.endswith(FLANGE)), "")
    if tool is None or not flange:
        return 0.0, [0.0] * 3, [0.0] * 9
    mount = robot.placement(robot.home, flange).actInv(robot.placement(robot.home, tool.mount_frame))
    turned = mount.rotation @ np.diag(tool.inertia_diagonal) @ mount.rotation.T
    center = mount.act(np.array(tool.center_of_mass)) if isinstance(mount, pin.SE3) else np.zeros(3)
    return tool.mass, center.tolist(), turned.ravel(order="F").tolist()


def prepare(made: Preparation, address: str, realtime: str = "enforce") -> dict[str, Any]:
    """Set it on the arm at an address; returns what the arm reports of it.

    Raises:
        InvalidInputError: No arm there, or one that refuses.
    """
    arm = connect(address, realtime)
    torque, force = made.load.thresholds
    try:
        arm.set_load(made.mass, made.center, made.inertia)
        arm.set_collision_behavior(torque, torque, force, force)
        arm.set_joint_impedance(list(JOINT_IMPEDANCE))
        state = arm.read_once()
    except (library().FrankaException, RuntimeError) as error:
        raise InvalidInputError("arm", f"{address}: {sentence(error)}", "an arm that is idle, without errors") from None
    return {
        "load_mass": state.m_load,
        "load_center": list(state.F_x_Cload),
        "load_inertia": list(state.I_load),
        "robot_mode": state.robot_mode.name,
        "errors": str(state.current_errors),
    }
