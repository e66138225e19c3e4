"""A robot by the word that a user has for it: the name of a profile, or a file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from impact_aware.errors import InvalidInputError
from impact_aware.resources import read_text
from impact_aware.robot.model import RobotModel
from impact_aware.robot.profile import load_profile, profile_names


def load_robot(name_or_file: str | Path, apparent_motor_inertia: tuple[float, ...] | None = None) -> RobotModel:
    """A robot by profile name, profile file or URDF file.

    Args:
        name_or_file: Which one: `panda`, `my_arm.yaml` or `my_arm.urdf`.
        apparent_motor_inertia: (n,) B_theta in place of the profile's, kg m^2.

    Raises:
        InvalidInputError: No such file, or one that can't be used.
        UnknownNameError: No such profile.
    """
    path = Path(name_or_file)
    if _is_urdf(path):
        return RobotModel.from_urdf(path, name=path.stem, apparent_motor_inertia=apparent_motor_inertia)
    profile = load_profile(name_or_file)
    if apparent_motor_inertia is not None:
        profile = replace(profile, apparent_motor_inertia=apparent_motor_inertia, apparent_motor_inertia_std=0.0)
    return RobotModel.from_profile(profile)


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
