"""Where an arm's base is in its URDF: the links above it, such as a cell's `world`, are left out of the arm."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from impact_aware.errors import InvalidInputError


def model_on_base(model: pin.Model, base_frame: str) -> tuple[pin.Model, pin.SE3]:
    """The model with its base frame as Pinocchio's world, and the pose of the base in the URDF's root link.

    Gravity keeps its direction in the world of the root link, whose z axis points up. A frame that the URDF does not
    have is its root link.

    Raises:
        InvalidInputError: The base frame moves with a joint.
    """
    if not model.existFrame(base_frame):
        return model, pin.SE3.Identity()
    frame = model.frames[model.getFrameId(base_frame)]
    if frame.parentJoint != 0:
        raise InvalidInputError("base_frame", base_frame, "a link that no joint moves")
    base = pin.SE3(frame.placement)
    if base.isIdentity():
        return model, pin.SE3.Identity()
    moved, back = pin.Model(model), base.inverse()
    for joint in range(1, moved.njoints):
        if moved.parents[joint] == 0:
            moved.jointPlacements[joint] = back * model.jointPlacements[joint]
    for index in range(1, moved.nframes):
        if moved.frames[index].parentJoint == 0:
            moved.frames[index].placement = back * model.frames[index].placement
    moved.gravity = pin.Motion(back.rotation @ model.gravity.linear, np.zeros(3))
    return moved, base
