"""A robot by the word that a user has for it: the name of a profile, or a file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pinocchio as pin

from impact_aware.errors import InvalidInputError, one_line
from impact_aware.resources import read_text
from impact_aware.robot.model import RobotModel
from impact_aware.robot.profile import load_profile, profile_names
from impact_aware.robot.urdf_text import build_model, urdf_tree


def load_robot(name_or_file: str | Path, apparent_motor_inertia: tuple[float, ...] | None = None) -> RobotModel:
    """A robot by profile name, profile file or URDF file, of which fingers are left out with a note.

    Args:
        name_or_file: Which one: `panda`, `my_arm.yaml` or `my_arm.urdf`.
        apparent_motor_inertia: (n,) B_theta in place of the profile's, kg m^2.

    Raises:
        InvalidInputError: No such file, or one that can't be used.
        UnknownNameError: No such profile.
    """
    path = Path(name_or_file)
    if _is_urdf(path):
        otherwise = "impact-aware new-robot --joints makes a profile with others"
        return arm_of_urdf(path, otherwise, name=path.stem, apparent_motor_inertia=apparent_motor_inertia)
    profile = load_profile(name_or_file)
    if apparent_motor_inertia is not None:
        profile = replace(profile, apparent_motor_inertia=apparent_motor_inertia, apparent_motor_inertia_std=0.0)
    return RobotModel.from_profile(profile)


def arm_of_urdf(urdf: Path | str, otherwise: str, *, joint_names: tuple[str, ...] = (), **known: Any) -> RobotModel:
    """The arm of a URDF, without the fingers that it carries, which a note names.

    Args:
        urdf: The file, or its text as on `robot_description`.
        otherwise: Remedy, for the note.
        joint_names: Joints of the arm; those that `arm_joints` finds when empty.
        **known: What else `RobotModel.from_urdf` takes by name, and whose errors are raised.
    """
    text = read_text("urdf", urdf) if isinstance(urdf, Path) else urdf
    everything = build_model(text)
    joints = joint_names or arm_joints(text, everything)
    left_out = [name for name in list(everything.names)[1:] if name not in joints]
    robot = RobotModel.from_urdf(text, joint_names=joints if left_out else (), **known)
    if left_out and not joint_names:
        source = urdf.name if isinstance(urdf, Path) else "robot_description"
        which = f"{', '.join(left_out)} of {source} were taken for fingers"
        robot.notes = (*robot.notes, one_line(f"{which}, which don't move: {otherwise}"))
    return robot


def robot_description(name_or_file: str | Path) -> str:
    """The text of the URDF that `load_robot` takes for the same name or file; raises as it does."""
    path = Path(name_or_file)
    return read_text("urdf", path if _is_urdf(path) else load_profile(name_or_file).urdf)


def _is_urdf(path: Path) -> bool:
    if path.suffix not in (".urdf", ".xml"):
        return False
    if not path.is_file():
        raise InvalidInputError("robot", str(path), "an existing URDF file, or one of " + ", ".join(profile_names()))
    return True


def arm_joints(text: str, model: pin.Model) -> tuple[str, ...]:
    """Names of the arm's joints in the order of the model.

    A joint that mimics another one is none of them, nor is a last joint that others mimic. Where a chain ends in
    branches that are all shorter than itself, these are fingers. Several arms on one base are all kept.

    Args:
        text: A URDF that `urdf_tree` accepts.
        model: Pinocchio's model of it.
    """
    mimics = {
        joint.get("name", ""): mimic.get("joint", "")
        for joint in urdf_tree(text).findall("joint")
        if (mimic := joint.find("mimic")) is not None
    }
    names = list(model.names)
    kept = [joint for joint in range(1, model.njoints) if names[joint] not in mimics]
    children = _children(model, kept)
    kept = [joint for joint in kept if children[joint] or names[joint] not in mimics.values()]
    children = _children(model, kept)
    chain: list[int] = []
    ends = children[0]
    while len(ends) == 1:
        chain += ends
        ends = children[ends[0]]
    if chain and ends and all(_size(end, children) < len(chain) for end in ends):
        kept = chain
    return tuple(names[joint] for joint in kept)


def _children(model: pin.Model, kept: list[int]) -> dict[int, list[int]]:
    """Joints of `kept` by the one of them that carries them, 0 for the base."""
    found: dict[int, list[int]] = {joint: [] for joint in (0, *kept)}
    for joint in kept:
        parent = int(model.parents[joint])
        while parent not in found:
            parent = int(model.parents[parent])
        found[parent].append(joint)
    return found


def _size(root: int, children: dict[int, list[int]]) -> int:
    return 1 + sum(_size(child, children) for child in children[root])
