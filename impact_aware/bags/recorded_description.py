"""The `robot_description` of a recording, and the model of an arm that it and a profile of the same arm make together.

The URDF of a recording is of the arm that moved: its masses, frames and limits count. A profile adds what a URDF does
not say: tool, motor inertia, torque rates, safety limits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pinocchio as pin

from impact_aware.bags.bag import Bag, BagError
from impact_aware.errors import ImpactAwareError
from impact_aware.robot import RobotModel, RobotProfile, load_profile, profile_names
from impact_aware.robot.urdf_text import build_model, try_foreign_urdf

_TOPIC = "robot_description"

SAME = 1e-3
"""Relative difference of masses, inertias and limits that is none: URDFs round to some digits."""


class Description(NamedTuple):
    """A URDF of a recording.

    Attributes:
        topic: Where it was published.
        text: The URDF; empty where it can't be used.
        model: Of all its joints, or None.
        problem: Why there is no model; empty where there is one.
    """

    topic: str
    text: str
    model: pin.Model | None
    problem: str


def descriptions_in(bag: Bag) -> list[Description]:
    """The first description on each topic of that name."""
    found = []
    for topic, kind in sorted(bag.topics.items()):
        if topic.rsplit("/", 1)[-1] != _TOPIC or kind not in ("std_msgs/msg/String", "std_msgs/String"):
            continue
        first = next(iter(bag.serialized(topic)), None)
        if first is None:
            continue
        try:
            text = str(bag.deserialize(topic, first[1]).data)
            try_foreign_urdf(text)
            found.append(Description(topic, text, build_model(text), ""))
        except (BagError, ImpactAwareError) as error:
            found.append(Description(topic, "", None, str(error)))
    return found


def robot_of(description: Description, joints: tuple[str, ...]) -> tuple[RobotModel, tuple[str, ...]]:
    """The model of one arm of a description, and what a reader has to know about it.

    Args:
        description: One with a model.
        joints: Those of the arm.

    Raises:
        ImpactAwareError: The description can't be used.
    """
    model = description.model
    assert model is not None
    for name in profile_names():
        try:
            profile = load_profile(name)
            known = RobotModel.from_urdf(profile.urdf, joint_names=profile.joint_names)
        except ImpactAwareError:
            # Its URDF is not installed here.
            continue
        if _same_arm(known.model, model):
            return _with_profile(description, profile, known)
    members = {model.getJointId(joint) for joint in joints}
    carried = [
        frame.name
        for frame in model.frames
        if frame.type == pin.FrameType.BODY and members & set(model.supports[frame.parentJoint].tolist())
    ]
    bodies = [frame.name for frame in model.frames if frame.type == pin.FrameType.BODY]
    robot = RobotModel.from_urdf(
        description.text,
        name=model.name or "robot",
        joint_names=joints,
        tool_frame=carried[-1],
        base_frame=bodies[0],
    )
    return robot, (f"{description.topic} has no motor inertia; --robot takes a profile",)


def _with_profile(
    description: Description, profile: RobotProfile, known: RobotModel
) -> tuple[RobotModel, tuple[str, ...]]:
    """The described arm with what its profile adds; `known` is the profile's URDF without its tool."""
    model, topic, tool = description.model, description.topic, profile.tool
    assert model is not None
    notes = [f"{topic} is the arm of profile {profile.name}, whose tool and motor inertia were taken"]
    radius, frame = 0.0, None
    if tool is not None and model.existFrame(tool.frame):
        notes = [f"{topic} is the arm of profile {profile.name}, whose motor inertia was taken; it has a tool itself"]
        radius, frame, tool = tool.radius, tool.frame, None
    elif tool is not None and not model.existFrame(tool.mount_frame):
        lacking = f"its tool was left out, as there is no frame {tool.mount_frame} to mount it on"
        notes = [f"{topic} is the arm of profile {profile.name}, whose motor inertia was taken; {lacking}"]
        tool = None
    robot = RobotModel.from_description(description.text, profile, tool=tool, tool_frame=frame, tool_radius=radius)
    bare = RobotModel.from_urdf(description.text, joint_names=profile.joint_names)
    notes += [f"{topic} differs from profile {profile.name} and counts: {what}" for what in _differences(bare, known)]
    return robot, tuple(notes)


def _differences(described: RobotModel, known: RobotModel) -> list[str]:
    """Masses and limits of a description that are not those of a profile's URDF, one phrase for each kind."""
    found = []
    pairs = list(zip(list(described.model.inertias)[1:], list(known.model.inertias)[1:], strict=True))
    masses = np.array([(a.mass, b.mass) for a, b in pairs])
    whole = [not np.allclose(a.toDynamicParameters(), b.toDynamicParameters(), rtol=SAME, atol=1e-6) for a, b in pairs]
    if any(whole):
        ratio = np.abs(np.log(np.maximum(masses[:, 0], 1e-9) / np.maximum(masses[:, 1], 1e-9)))
        joint = int(np.argmax(ratio)) if ratio.max() > SAME else whole.index(True)
        moved = f"{masses[joint, 0]:.4g} kg at {known.joint_names[joint]}, the profile has {masses[joint, 1]:.4g} kg"
        found.append(f"masses or inertias, such as {moved}")
    for name, what in (
        ("lowerPositionLimit", "lower position limit"),
        ("upperPositionLimit", "upper position limit"),
        ("upperVelocityLimit", "velocity limit"),
        ("upperEffortLimit", "effort limit"),
    ):
        one, other = np.array(getattr(described.model, name)), np.array(getattr(known.model, name))
        apart = ~np.isclose(one, other, rtol=SAME, atol=1e-9)
        if apart.any():
            joint = int(np.argmax(apart))
            found.append(f"{what}, {one[joint]:.4g} at {known.joint_names[joint]}, the profile has {other[joint]:.4g}")
    return found


def _same_arm(profile: pin.Model, described: pin.Model) -> bool:
    """Whether a description has the joints of a profile, each at the same position on the one before."""
    for joint in range(1, profile.njoints):
        name = profile.names[joint]
        if not described.existJointName(name):
            return False
        other = described.getJointId(name)
        if profile.names[profile.parents[joint]] != described.names[described.parents[other]]:
            return False
        if not described.jointPlacements[other].isApprox(profile.jointPlacements[joint], 1e-6):
            return False
    return True
