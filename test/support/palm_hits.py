"""Palms that come onto a box, the palm of the shipped task and ones at random, and predictions of their hits."""

import numpy as np

from impact_aware.contact import Contact
from impact_aware.contact.box import Box
from impact_aware.contact.shape import PlacedShape
from impact_aware.impact.hit_uncertainty import predict_hit_with_covariance
from impact_aware.impact.material import ANY_PADS
from impact_aware.impact.uncertainty import InputCovariance
from impact_aware.robot import RobotModel
from impact_aware.task import load_task, start_posture

ROBOT = RobotModel.from_profile("panda")
HALF = np.array([0.04, 0.035, 0.03])
BOX = Box((0.10, 0.065, 0.12))
# Into the robot: the palm comes along -y.
NORMAL = np.array([0.0, 1.0, 0.0])
Q = start_posture(load_task("hit_and_push_palm").arms[0], ROBOT)
ROWS = np.vstack([ROBOT.frame_jacobian(Q), np.eye(7)[:1]])
# 0.5 m/s onto the face, and some along it; the tool does not turn.
DQ = np.linalg.solve(ROWS, [0.06, -0.5, 0.04, 0.0, 0.0, 0.0, 0.0])
TOOL = ROBOT.placement(Q)
CONTACT = Contact(ROBOT.tool_frame, NORMAL, friction=0.6, radius=0.03)


def scene(generator, restitution=0.2):
    """A palm that comes at random onto the face of a box, which is larger than the palm."""
    q = ROBOT.home + generator.uniform(-0.2, 0.2, 7)
    tool = ROBOT.placement(q)
    # A face along the palm's, which looks back at it.
    facing = tool.rotation[:, 2]
    normal = -facing
    contact = Contact("tool", normal, friction=generator.uniform(0.1, 0.9), restitution=restitution)
    rotation = np.column_stack((tool.rotation[:, 0], -facing, np.cross(tool.rotation[:, 0], -facing)))
    aside = rotation @ [generator.uniform(-0.03, 0.03), 0.0, generator.uniform(-0.03, 0.03)]
    body = PlacedShape(BOX, tool.translation + (HALF[2] + BOX.half_extents[1]) * facing + aside, rotation)
    twist = [*(generator.uniform(0.1, 0.5) * facing + generator.normal(0.0, 0.1, 3)), 0.0, 0.0, 0.0]
    return q, np.linalg.pinv(ROBOT.frame_jacobian(q)) @ twist, contact, body, generator.uniform(0.5, 3.0)


def predicted(case, half=HALF, table=0.3, pads=ANY_PADS, covariance=None):
    q, dq, contact, body, mass = case
    how = {"obstacle": body.free_object(mass), "shape": body, "table_friction": table, "pads": pads}
    return predict_hit_with_covariance(ROBOT, q, dq, contact, half, covariance or InputCovariance(), **how)
