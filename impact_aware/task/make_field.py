"""From a task to its reference field, refused before anything moves when the task can't be done."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError
from impact_aware.reference.field import ArmReference, ReferenceField
from impact_aware.reference.rotation import quaternion_from_rotation, rotation_from_quaternion, rotation_from_rpy
from impact_aware.robot import RobotModel
from impact_aware.robot.inverse_kinematics import solve_inverse_kinematics
from impact_aware.task.clearance import check_clearance, check_postures
from impact_aware.task.hit import hit_of, middle_of_hit
from impact_aware.task.task import STANDARD_GRAVITY, ArmTask, Task

ON_SURFACE = 1e-9
"""A place that is no farther from the object's surface is on it, m."""

OUTSIDE = 1.05
"""The least ante_radius_min that is taken over the distance of the impact position from the object's centre."""

FLUSH = np.cos(np.radians(20.0))
"""Cosine of the largest angle between a palm and the face that it hits: further out only an edge of it would."""


def make_field(
    task: Task,
    robots: Sequence[RobotModel],
    *,
    revision: int = 0,
    whole_motion: bool = True,
) -> ReferenceField:
    """Reference field of a task (van Steen 2024, section III), all numbers checked.

    Args:
        task: What shall be done.
        robots: One model per arm, in the order of `task.arms`.
        revision: Number of the field's version.
        whole_motion: Whether the motion from the first start is checked for collisions, or its three postures alone.

    Raises:
        InvalidInputError: A number of the task that makes it impossible, by name, or bodies that are not meant to touch
            and would, as `check_clearance`.
    """
    if len(robots) != len(task.arms):
        raise InvalidInputError("robots", len(robots), f"{len(task.arms)}, one per arm of task {task.name}")
    fields = task.fields
    solid = task.object.solid
    for arm, robot in zip(task.arms, robots, strict=True):
        _check_entries(task, arm, robot)
    arms = tuple(arm_reference(task, arm, robot) for arm, robot in zip(task.arms, robots, strict=True))
    away = max(float(np.linalg.norm(own.impact_position - task.object.position)) for own in arms)
    # The tool's own size may put the impact position outside a small object's corners.
    r_min = fields.ante_radius_min if fields.ante_radius_min > 0.0 else max(solid.reach, OUTSIDE * away)
    field = ReferenceField(
        task=task.name,
        arms=arms,
        alpha=fields.alpha,
        ante_radius_min=r_min,
        ante_radius_max=fields.ante_radius_ratio * r_min,
        ante_rotation_gain=fields.ante_rotation_gain,
        ante_rotation_deceleration=fields.ante_rotation_deceleration,
        start_ramp=fields.start_ramp,
        object_position=np.array(task.object.position),
        object_position_at_impact=np.array(task.object.position),
        object_shape=solid.name,
        object_half_extents=np.array(solid.half_extents),
        object_vertices=np.array(solid.vertices),
        object_orientation=quaternion_from_rotation(task.object.rotation),
        object_velocity_after=np.zeros(3),
        object_velocity_predicted=False,
        goal=np.array(task.destination),
        post_gain=fields.post_gain,
        post_radius_min=fields.post_radius_min,
        post_radius_max=fields.post_radius_max,
        post_rotation_gain=fields.post_rotation_gain,
        post_sideways_radius=fields.post_sideways_radius,
        push_lever=_push_lever(task),
        object_mass=task.object.mass,
        object_friction=task.object.friction_table,
        revision=revision,
        frame=task.frame,
    )
    bases, postures = [base_placement(arm) for arm in task.arms], []
    for index, (arm, robot) in enumerate(zip(task.arms, robots, strict=True)):
        field.ante_impact(index)
        field.post_impact(index)
        postures.append(_check_arm(task, arm, arms[index], robot))
    if whole_motion:
        starts = [start_posture(arm, robot) for arm, robot in zip(task.arms, robots, strict=True)]
        check_clearance(field, robots, bases, starts)
    else:
        check_postures(field, robots, bases, postures)
    return field


def _push_lever(task: Task) -> float:
    """Distance of the object's centre ahead of the point where the only arm's tip pushes it, m; 0 for none."""
    only = task.arms[0]
    if task.lifts or task.fields.release or len(task.arms) > 1 or any(only.pad_half_sizes):
        return 0.0
    hit = hit_of(task.object, only)
    return max(float(hit.normal @ (hit.point - np.array(task.object.position))), 0.0)


def hit_normal(task: Task, arm: ArmTask) -> Array:
    """Unit normal (3,) of the object where an arm hits it, from the object into the robot."""
    return hit_of(task.object, arm).normal


def base_placement(arm: ArmTask) -> pin.SE3:
    """Pose of an arm's base in the task's frame."""
    return pin.SE3(rotation_from_rpy(arm.base_angles), np.array(arm.base_position))


def tool_placement(arm: ArmTask, position: ArrayLike, *, start: bool = False) -> pin.SE3:
    """Pose of the tool at `position` (3,) of the task's frame, in the frame of the arm's base.

    Its orientation is that of the impact, or at a `start` the one from which it turns into that.
    """
    orientation = arm.start_orientation if start else arm.orientation
    wanted = pin.SE3(rotation_from_quaternion(orientation), np.array(position, dtype=float))
    return base_placement(arm).actInv(wanted)


def usual_posture(arm: ArmTask, robot: RobotModel) -> Array:
    """The posture (n,) near which an arm works: that of the task, or the robot's home, rad."""
    return robot.check_configuration(arm.posture, "posture") if arm.posture else robot.home


def start_posture(arm: ArmTask, robot: RobotModel, start: int | ArrayLike = 0) -> Array:
    """Joint posture (n,) with the tool at a start, rad.

    Args:
        arm: The arm's part of the task.
        robot: Its model.
        start: Index into `arm.starts`, or the tool's position (3,) in the task's frame, m.

    Raises:
        InvalidInputError: The position is out of reach.
    """
    position = arm.starts[start] if isinstance(start, int) else np.asarray(start, dtype=float)
    return posture_with_tool_at(arm, robot, position, usual_posture(arm, robot), "starts", start=True)


def posture_with_tool_at(
    arm: ArmTask, robot: RobotModel, position: ArrayLike, seed: Array, name: str = "position", *, start: bool = False
) -> Array:
    """Joint posture (n,) with the tool at `position` (3,) of the task's frame and the null-space joint held, rad.

    The tool is oriented as at the impact, or as at a `start`.

    Raises:
        InvalidInputError: The position, which goes by `name`, is out of reach from the posture `seed` (n,).
    """
    fixed = {arm.null_space_joint: arm.null_space_position} if arm.null_space_joint >= 0 else None
    try:
        return solve_inverse_kinematics(robot, tool_placement(arm, position, start=start), seed, fixed=fixed)
    except InvalidInputError as error:
        label = f"arms[{arm.name}].{name}" if arm.name else name
        shown = np.round(np.asarray(position, dtype=float), 4).tolist()
        raise InvalidInputError(label, f"tool at {shown} m", error.expected) from error


def joint_velocity_of_tool(arm: ArmTask, robot: RobotModel, q: Array, velocity: ArrayLike) -> Array:
    """Joint velocities (n,) that move the tool with `velocity` (3,) of the task's frame without rotating it, rad/s.

    The null-space joint rests.
    """
    jacobian = robot.frame_jacobian(q)
    wanted = np.concatenate([base_placement(arm).rotation.T @ np.asarray(velocity, dtype=float), np.zeros(3)])
    if arm.null_space_joint >= 0:
        jacobian = np.vstack([jacobian, np.eye(robot.n)[arm.null_space_joint]])
        wanted = np.append(wanted, 0.0)
    return np.asarray(np.linalg.lstsq(jacobian, wanted, rcond=None)[0])


def arm_reference(task: Task, arm: ArmTask, robot: RobotModel) -> ArmReference:
    """What a field states of one arm; nothing is checked."""
    hit = hit_of(task.object, arm)
    wrench = np.zeros(6)
    push = np.subtract(task.destination, task.object.position)
    if arm.load_share > 0.0:
        load = arm.load_share * task.object.mass * STANDARD_GRAVITY
        clamp = max(arm.clamping_margin * load / task.object.friction_tool, arm.clamping_floor)
        wrench[:3] = -clamp * hit.outward
        wrench[2] += load
    elif np.linalg.norm(push) > 0.0:
        weight, up = task.object.mass * STANDARD_GRAVITY, task.object.up
        wrench[:3] = task.object.friction_table * weight * up[2] * push / np.linalg.norm(push)
        # What a table that leans does not carry.
        wrench[:3] += weight * (np.array([0.0, 0.0, 1.0]) - up[2] * up)
    return ArmReference(
        arm=arm.name,
        tool_frame=robot.tool_frame,
        impact_position=hit.point + robot.tool_radius * hit.normal,
        impact_velocity=hit.velocity,
        normal=hit.normal,
        orientation_before=arm.orientation,
        orientation_after=arm.orientation,
        null_space_joint=arm.null_space_joint,
        null_space_position=arm.null_space_position,
        feedforward_wrench=wrench,
        base_position=np.array(arm.base_position),
        base_orientation=quaternion_from_rotation(base_placement(arm).rotation),
    )


def _check_entries(task: Task, arm: ArmTask, robot: RobotModel) -> None:
    """Refuse what can be seen without moving the arm in thought."""
    label = f"arms[{arm.name}]" if arm.name else "arm"
    thing = task.object
    if not -1 <= arm.null_space_joint < robot.n:
        raise InvalidInputError(f"{label}.null_space_joint", arm.null_space_joint, f"-1..{robot.n - 1}")
    if arm.load_share > 0.0 and not task.object.friction_tool > 0.0:
        raise InvalidInputError("object.friction_tool", task.object.friction_tool, "a coefficient > 0 to lift it by")
    try:
        place = middle_of_hit(thing, arm)
    except InvalidInputError as error:
        raise InvalidInputError(f"{label}.impact_offset", list(arm.impact_offset), error.expected) from error
    if thing.solid.distance(place.point) > ON_SURFACE:
        raise InvalidInputError(f"{label}.impact_offset", list(arm.impact_offset), "a position on the object's face")
    own = thing.rotation.T @ thing.turn @ arm.outward
    if any(arm.pad_half_sizes) and not own @ place.normal > FLUSH:
        angle = np.degrees(np.arccos(np.clip(own @ place.normal, -1.0, 1.0)))
        expected = f"a palm that lies flat on the object, not {angle:.0f} deg out of its face"
        raise InvalidInputError(f"{label}.orientation_rpy", list(arm.orientation_rpy), expected)
    if thing.standing.distance(np.array(arm.base_position)) < 0.0:
        raise InvalidInputError("object.position", list(thing.position), f"a {thing.shape} without the base inside")


def _check_arm(task: Task, arm: ArmTask, reference: ArmReference, robot: RobotModel) -> tuple[Array, Array, Array]:
    """Postures (n,) at the start, the impact and the goal, rad; refuses what is out of reach or too fast."""
    label = f"arms[{arm.name}]" if arm.name else "arm"
    travel = np.subtract(task.destination, task.object.position)
    contact = reference.impact_position
    positions = {"impact_position": contact, "starts": np.array(arm.starts[0]), "goal": contact + travel}
    seed, found = usual_posture(arm, robot), {}
    for name in positions:
        found[name] = posture_with_tool_at(arm, robot, positions[name], seed, name, start=name == "starts")
        if name == "impact_position":
            seed = found[name]
            _check_speed(arm, robot, seed, reference.impact_velocity, label)
    for index, start in enumerate(arm.starts[1:], start=1):
        posture_with_tool_at(arm, robot, start, seed, f"starts[{index}]", start=True)
    return found["starts"], seed, found["goal"]


def _check_speed(arm: ArmTask, robot: RobotModel, posture: Array, wanted: Array, label: str) -> None:
    velocity = joint_velocity_of_tool(arm, robot, posture, wanted)
    share = np.abs(velocity) / robot.limits.velocity
    worst = int(np.argmax(share))
    if share[worst] > 1.0:
        speed = float(np.linalg.norm(arm.impact_velocity))
        limit = f"where {robot.joint_names[worst]} reaches its {robot.limits.velocity[worst]:.4g} rad/s"
        expected = f"at most {speed / share[worst]:.4g} m/s, {limit}"
        raise InvalidInputError(f"{label}.impact_velocity", f"{speed:.4g} m/s", expected)
