"""Arms whose every number is known by hand: one slider, and two at right angles, without gravity."""

import dataclasses

import numpy as np
import pinocchio as pin

from impact_aware.robot import RobotModel, load_profile

TOOL = (0.1, 0.7, 0.2)
"""Of the tool beside the last slider, m."""


def slider():
    """2 kg along z with a motor of 3 kg."""
    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelPZ(), pin.SE3.Identity(), "slider")
    model.appendBodyToJoint(joint, pin.Inertia(2.0, np.zeros(3), np.eye(3)), pin.SE3.Identity())
    model.addFrame(pin.Frame("tool", joint, 0, pin.SE3.Identity(), pin.FrameType.OP_FRAME))
    return RobotModel(model, name="slider", tool_frame="tool", apparent_motor_inertia=[3.0], home=[0.0])


def two_sliders(effort_kind=""):
    """The first carries 3 and 5 kg along x, the second 5 kg along y; their motors have 2 and 1 kg.

    A profile, of which only the kind of efforts is theirs, comes with `effort_kind`.
    """
    model, joint = pin.Model(), 0
    for number, (kind, mass) in enumerate(((pin.JointModelPX, 3.0), (pin.JointModelPY, 5.0))):
        joint = model.addJoint(joint, kind(), pin.SE3.Identity(), f"slider{number}")
        model.appendBodyToJoint(joint, pin.Inertia(mass, np.zeros(3), np.eye(3)), pin.SE3.Identity())
    model.addFrame(pin.Frame("tool", joint, 0, pin.SE3(np.eye(3), np.array(TOOL)), pin.FrameType.OP_FRAME))
    profile = dataclasses.replace(load_profile("panda"), effort_kind=effort_kind) if effort_kind else None
    numbers = {"apparent_motor_inertia": [2.0, 1.0], "home": [0.0, 0.0]}
    return RobotModel(model, name="sliders", tool_frame="tool", profile=profile, **numbers)
