"""The arms of a task or a controller: one without a name of its own, or several, each with topics below its name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pinocchio as pin

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError
from impact_aware.reference.field import ArmAfterImpact, ArmReference
from impact_aware.robot import RobotModel
from impact_aware.task.make_field import base_placement
from impact_aware.task.task import POSITION, ArmTask, Task
from impact_aware.transform_buffer import checked_pose

BASE_NUMBERS = {4: "x, y, z and yaw", 6: "x, y, z, roll, pitch and yaw", 7: "x, y, z and a quaternion x, y, z, w"}
"""How many numbers place a base, and which."""


@dataclass(frozen=True, eq=False)
class Arm:
    """One arm.

    Attributes:
        name: As its events call it.
        prefix: What stands before its topics, such as `left`; empty for a single arm.
        robot: Its model, with gravity as its base has it.
        base: Pose of its base in the common frame, whose z axis points up.
    """

    name: str
    prefix: str
    robot: RobotModel
    base: pin.SE3

    def topic(self, name: str) -> str:
        """The arm's own topic of this name, relative to the node's namespace."""
        return f"{self.prefix}/{name}" if self.prefix else name

    def twist_in_base(self, twist: Array) -> Array:
        """A twist (6,) of the common frame, linear first, in the axes of the base, about the same point."""
        rotation = self.base.rotation.T
        return np.concatenate((rotation @ twist[:3], rotation @ twist[3:]))


def arm_on_base(name: str, prefix: str, robot: RobotModel, base: pin.SE3) -> Arm:
    """An arm whose base stands at this pose of the common frame."""
    return Arm(name, prefix, robot.tilted(base.rotation), base)


def single_arm(name: str, robot: str, base: Sequence[float] = (), prefix: str = "") -> tuple[Arm, ...]:
    """One arm.

    Args:
        name: As its events call it.
        robot: Its profile.
        base: Pose of its base in the common frame as `base_poses` has it; that frame itself when empty.
        prefix: What stands before the names of its joints and of its base frame.

    Raises:
        InvalidInputError: Another number of entries, or numbers that are no pose.
        ImpactAwareError: The profile can't be loaded.
    """
    (pose,) = base_poses(base, [name or "the arm"]) if len(base) else (pin.SE3.Identity(),)
    return (arm_on_base(name, "", RobotModel.from_profile(robot).prefixed(prefix), pose),)


def base_poses(numbers: Sequence[float], names: Sequence[str]) -> tuple[pin.SE3, ...]:
    """Poses of the bases of the named arms (m,) in the common frame.

    Args:
        numbers: Of each base, arm after arm, 4: x, y, z, m, and yaw, rad; 6: x, y, z and roll, pitch, yaw about the
            frame's axes; or 7: x, y, z and a unit quaternion x, y, z, w.
        names: Of the arms.

    Raises:
        InvalidInputError: Another number of entries, or numbers that are no pose.
    """
    each, rest = divmod(len(numbers), len(names))
    if rest or each not in BASE_NUMBERS:
        known = ", or ".join(f"{count * len(names)} numbers: {what}" for count, what in BASE_NUMBERS.items())
        raise InvalidInputError("parameter bases", list(numbers), f"{known} of each of {', '.join(names)}")
    poses = []
    for name, row in zip(names, np.reshape(np.asarray(numbers, dtype=float), (-1, each)), strict=True):
        label, position = f"parameter bases: {name}", tuple(row[:3].tolist())
        if each == max(BASE_NUMBERS):
            POSITION.check(label, position)
            poses.append(checked_pose(position, row[3:], label))
            continue
        rpy = (0.0, 0.0, float(row[3])) if each == min(BASE_NUMBERS) else tuple(row[3:].tolist())
        try:
            poses.append(base_placement(ArmTask(base_position=position, base_rpy=rpy)))
        except InvalidInputError as error:
            raise InvalidInputError(label, row.tolist(), f"{error.field.split('.')[-1]} of {error.expected}") from error
    return tuple(poses)


def robot_on_base(robot: str, rpy: Sequence[float]) -> RobotModel:
    """The model of a profile with gravity as its base has it.

    Args:
        robot: The profile.
        rpy: Roll, pitch, yaw of the base in a frame whose z axis points up, rad; it stands upright when empty.

    Raises:
        InvalidInputError: Angles that are none.
        ImpactAwareError: The profile can't be loaded.
    """
    if len(rpy) not in (0, 3):
        raise InvalidInputError("parameter base_rpy", list(rpy), "roll, pitch and yaw, rad, or nothing")
    if not len(rpy):
        return RobotModel.from_profile(robot)
    roll, pitch, yaw = rpy
    return RobotModel.from_profile(robot).tilted(base_placement(ArmTask(base_rpy=(roll, pitch, yaw))).rotation)


def placed_on(arm: ArmTask, base: pin.SE3) -> ArmTask:
    """The arm with its base at this pose of the task's frame, and nothing left to be looked up.

    Raises:
        InvalidInputError: A place too far away for a task.
    """
    place, angles = tuple(base.translation.tolist()), tuple(pin.rpy.matrixToRpy(base.rotation).tolist())
    return replace(arm, base_in_tf="", base_position=place, base_yaw=0.0, base_rpy=angles)


def without_tf(task: Task) -> Task:
    """The task with its bases where its numbers have them, and nothing left to be looked up.

    Raises:
        InvalidInputError: It has none, or two arms of one profile stand in the same place.
    """
    bases: list[tuple[ArmTask, pin.SE3]] = []
    for arm in task.arms:
        base = base_placement(arm)
        twins = [one.name for one, place in bases if one.robot == arm.robot and place.isApprox(base, 1e-6)]
        if twins:
            expected = f"another place than that of {twins[0]}"
            raise InvalidInputError(f"arms[{arm.name}].base_position", base.translation.tolist(), expected)
        bases.append((arm, base))
    return replace(task, arms=tuple(replace(arm, base_in_tf="") for arm in task.arms))


def base_numbers(arm: ArmTask) -> list[float]:
    """The base of an arm as `base_poses` reads it: x, y, z, roll, pitch and yaw."""
    return [float(number) for number in (*arm.base_position, *arm.base_angles)]


def several_arms(
    names: Sequence[str], robots: Sequence[str], bases: Sequence[float], prefixes: Sequence[str] = ()
) -> tuple[Arm, ...]:
    """Arms by name (m,), which is also the namespace of their topics.

    Args:
        names: (m,) Their names.
        robots: (m,) Profiles; one is used for every arm.
        bases: Poses of the bases in the common frame, as `base_poses` has them.
        prefixes: (m,) What stands before the names of each arm's joints and base frame; nothing when empty.

    Raises:
        InvalidInputError: Names that don't differ, numbers of entries that don't agree, or numbers that are no pose.
        ImpactAwareError: A profile can't be loaded.
    """
    if len(set(names)) < len(names) or not all(names):
        raise InvalidInputError("parameter arms", list(names), "names that differ")
    robots = list(robots) * len(names) if len(robots) == 1 else list(robots)
    if len(robots) != len(names):
        raise InvalidInputError("parameter robots", robots, f"one profile, or {len(names)}, one per arm")
    prefixes = list(prefixes) or [""] * len(names)
    if len(prefixes) != len(names):
        raise InvalidInputError("parameter joint_prefixes", prefixes, f"{len(names)}, one per arm, or none")
    poses = base_poses(bases, names)
    return tuple(
        arm_on_base(name, name, RobotModel.from_profile(robot).prefixed(prefix), pose)
        for name, robot, pose, prefix in zip(names, robots, poses, prefixes, strict=True)
    )


def arms_of_task(task: Task, robot: str, name: str = "") -> tuple[Arm, ...]:
    """The arms of a task; `robot` is the profile of a single one, several have those that the task names.

    Raises:
        ImpactAwareError: A profile can't be loaded.
    """
    single, arms = len(task.arms) == 1, []
    for own in task.arms:
        model = RobotModel.from_profile(robot if single else own.robot).prefixed(own.joint_prefix)
        label, prefix = (name, "") if single else (own.name, own.name)
        arms.append(arm_on_base(label, prefix, model, base_placement(own)))
    return tuple(arms)


def robots_of_task(task: Task) -> list[RobotModel]:
    """One model per arm of a task, each with gravity as its base has it.

    Raises:
        ImpactAwareError: A profile can't be loaded.
    """
    return [RobotModel.from_profile(arm.robot).tilted(base_placement(arm).rotation) for arm in task.arms]


def frame_names(task: Task, arms: Sequence[Arm]) -> tuple[str, ...]:
    """What the task's frame is called, in TF first: a single arm whose base stands there has its base frame there.

    Raises:
        InvalidInputError: As `check_frame`.
    """
    if len(arms) == 1 and arms[0].base.isIdentity():
        return (arms[0].robot.base_frame, task.frame)
    if len(arms) == 1:
        check_frame(task, arms[0].robot.base_frame)
    return (task.frame,)


def check_frame(task: Task, base_frame: str) -> None:
    """The frame of a task for one arm must not be called as that of its base where that stands elsewhere.

    Raises:
        InvalidInputError: It is.
    """
    own = task.arms[0]
    if (not own.base_is_told or any(base_numbers(own))) and task.frame == base_frame:
        expected = "another name than that of the base frame, as the task has the base elsewhere"
        raise InvalidInputError("frame", task.frame, expected)


BASE_TOLERANCE = 1e-3
"""By how much a field's bases may be elsewhere than the controller's, m and rad."""


def base_of(reference: ArmReference) -> pin.SE3 | None:
    """Pose of the base that a field's reference was made for; None where it does not say so.

    Raises:
        InvalidInputError: Numbers that are no pose.
    """
    if not reference.base_known:
        return None
    return checked_pose(reference.base_position, reference.base_orientation, f"field.arms[{reference.arm}].base")


def check_bases(arms: Sequence[Arm], references: Sequence[ArmReference]) -> None:
    """A field for bases that stand elsewhere would send the tools elsewhere.

    Raises:
        InvalidInputError: A base that is known and not the controller's.
    """
    for arm, reference in zip(arms, references, strict=True):
        base = base_of(reference)
        if base is None:
            continue
        apart = np.abs(pin.log6(arm.base.actInv(base)).vector).max()
        if apart > BASE_TOLERANCE:
            label = f"field.arms[{reference.arm}].base"
            shown, own = (np.round(pin.SE3ToXYZQUAT(pose), 4).tolist() for pose in (base, arm.base))
            raise InvalidInputError(label, shown, f"{own}, where this controller has it (parameter bases)")


def check_names(arms: Sequence[Arm], names: Sequence[str]) -> None:
    """Check that each of several arms follows its own reference of a field, by `names`; a single one follows any.

    Raises:
        InvalidInputError: Another number of references, other names, or another order.
    """
    expected = [arm.name for arm in arms]
    if len(names) != len(expected):
        raise InvalidInputError("field.arms", len(names), f"{len(expected)}, one per arm")
    if len(expected) > 1 and list(names) != expected:
        raise InvalidInputError("field.arms", list(names), ", ".join(expected))


def arm_after_impact(
    robot: RobotModel, base: pin.SE3, null_space_joint: int, q: Array, velocity_after: Array
) -> ArmAfterImpact:
    """The tool's angular velocity, in the common frame, and the null-space joint's velocity just after an impact.

    Nothing is known where the prediction is not finite or not plausible.

    Args:
        robot: The arm's model.
        base: Pose of its base in the common frame.
        null_space_joint: Index of the joint that the null-space task holds, -1 for none.
        q: (n,) Joint positions at the impact, rad.
        velocity_after: (n,) Predicted joint velocities, rad/s.
    """
    turning = base.rotation @ (robot.frame_jacobian(q)[3:] @ velocity_after)
    joint = float(velocity_after[null_space_joint]) if null_space_joint >= 0 else 0.0
    found = ArmAfterImpact(np.asarray(turning), joint)
    try:
        found.check()
    except InvalidInputError:
        return ArmAfterImpact()
    return found
