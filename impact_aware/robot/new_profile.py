"""A minimal profile for an arm with only a URDF; comments mark what is not known."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pinocchio as pin

from impact_aware.robot.model import RobotModel

_TEXT = """\
# {name}: a minimal profile, written from its URDF. Entries that are commented out show their defaults.
name: {name}
# A path, absolute or beside this file.
urdf: {urdf}
# In the order of the URDF; leave out fingers and whatever else does not move in an impact.
joints: {joints}
base_frame: {base}
# B_theta, kg m^2 per joint, link side: the inertia that the motors show behind gears and torque loop in an impact.
# A URDF lacks it, and most manufacturers do not publish it. Zeros stand for "not known": predictions then use M, the
# links alone, and their jumps are too large, often by half. Better:
#   impact-aware identify inertia RECORDINGS --robot THIS_FILE, from recorded impacts (identify plan proposes them)
#   the rotors' inertia times the gear ratio squared, for an arm without a torque loop
#   a fifth of that for an arm with one (Rey Arias 2024, section II-A: a fourth to a sixth)
apparent_motor_inertia: {zeros}
# How far it may be off, as a share of it: 0.12 for a fifth where a fourth to a sixth is as likely, 0 where it is known.
# apparent_motor_inertia_std: 0.0
# Rotors' inertia times gear ratio squared, B_rho, kg m^2, where the manufacturer publishes it:
# motor_inertia: {zeros}
# What touches: a spherical tip on one of the frames {frames}.
# Without it the origin of {last} touches, which is hardly ever right; --contact-frame and --offset set it too.
# tool:
#   mount_frame: {last}
#   frame: tool
#   position: [0.0, 0.0, 0.1]
#   radius: 0.03
#   mass: 0.2
# home: {home}
# joint_states_topic: joint_states
# What the efforts of its joint_states are: link_torque (behind the gear, with gravity), motor_torque (motor currents as
# torques, with gravity), without_gravity (link torques less gravity), or current:
# effort_kind: current
notes:
  urdf: Where it comes from, which version, whose masses and inertias.
  apparent_motor_inertia: Not known.
"""


def minimal_profile(robot: RobotModel, name: str, urdf: str) -> str:
    """The YAML text of a profile.

    Args:
        robot: Made from the URDF, with the joints of the arm.
        name: Of the profile.
        urdf: Path of the URDF as the profile shall have it.
    """
    bodies = [frame.name for frame in robot.model.frames if frame.type == pin.FrameType.BODY]
    carried = [f.name for f in robot.model.frames if f.type == pin.FrameType.BODY and f.parentJoint == robot.n]
    # Strings of JSON are strings of YAML.
    text = _TEXT.format(
        name=json.dumps(name),
        urdf=json.dumps(urdf),
        joints=_listed(json.dumps(joint) for joint in robot.joint_names),
        base=json.dumps(bodies[0]),
        zeros=_listed(["0.0"] * robot.n),
        home=_listed(f"{angle:.4g}" for angle in robot.home),
        frames=", ".join(carried or bodies[-3:]),
        last=robot.tool_frame,
    )
    return text + "".join(f"  # {note}\n" for note in robot.notes)


def _listed(words: Iterable[str]) -> str:
    return "[" + ", ".join(words) + "]"
