"""Robot of a recording: the requested profile, the recorded description, or the profile that has its joints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from impact_aware.bags.bag import Bag
from impact_aware.bags.recorded_description import descriptions_in
from impact_aware.errors import ImpactAwareError, InvalidInputError
from impact_aware.render.robot_shape import RobotShape, robot_shape
from impact_aware.resources import read_text
from impact_aware.robot import RobotModel, RobotProfile, load_profile
from impact_aware.robot.profile import profile_names

Robots = Mapping[str, tuple[RobotModel | None, RobotShape]]
"""Model and links of each arm, by its namespace."""


def recorded_robot(
    bag: Bag, arm: str, joint_names: Sequence[str], profile: str | Robots | None = None
) -> tuple[RobotModel | None, RobotShape]:
    """The model and the links of an arm.

    A profile goes before the description, as it knows the tool that hits.

    Args:
        bag: An open recording.
        arm: Namespace of the arm.
        joint_names: Joints that the recording has.
        profile: Requested profile, or what is known of the arms.

    Raises:
        ImpactAwareError: `profile` can't be loaded, or its joints are not those of the recording.
    """
    if isinstance(profile, Mapping):
        if arm in profile:
            return profile[arm]
        profile = None
    if profile is not None:
        chosen = load_profile(profile)
        missing = [name for name in chosen.joint_names if name not in joint_names]
        if missing:
            lacking = f"{profile} with joints such as {missing[0]}"
            raise InvalidInputError("--robot", lacking, f"a robot with the recorded joints {', '.join(joint_names)}")
        return _of_profile(chosen)
    for name in profile_names():
        try:
            candidate = load_profile(name)
            if set(candidate.joint_names) <= set(joint_names):
                return _of_profile(candidate)
        except ImpactAwareError:
            # Its URDF is not installed here: then it is of no use.
            continue
    found = {own.topic: own.text for own in descriptions_in(bag)}
    text = found.get(f"/{arm}/robot_description".replace("//", "/"), found.get("/robot_description"))
    if not text:
        return None, RobotShape(())
    try:
        full = RobotModel.from_urdf(text)
        known = tuple(name for name in full.joint_names if name in set(joint_names))
        robot = full if known == full.joint_names else RobotModel.from_urdf(text, joint_names=known)
    except ImpactAwareError:
        return None, RobotShape(())
    return robot, robot_shape(text)


def _of_profile(profile: RobotProfile) -> tuple[RobotModel, RobotShape]:
    return RobotModel.from_profile(profile), robot_shape(read_text("urdf", profile.urdf))
