"""An arm that approaches what it hits, as the predictor's tests have it: nothing along an axis."""

import numpy as np
from node_harness import joint_state
from sensor_msgs.msg import JointState

from impact_aware.contact import Contact
from impact_aware.robot import RobotModel

ROBOT = RobotModel.from_profile("panda")
HOME = np.array(ROBOT.profile.home)
NAMES = list(ROBOT.joint_names)
NORMAL = np.array([0.0, 0.6, 0.8])
DOWN = np.linalg.pinv(ROBOT.frame_jacobian(HOME)) @ np.array([0.1, -0.2, -0.5, 0.0, 0.0, 0.0])
HALF = [0.1, 0.07, 0.05]
CONFIGURED = {
    "arm": "left", "normal": NORMAL.tolist(), "friction": 0.35, "restitution": 0.45, "object_name": "parcel",
    "object_mass": 1.3, "object_half_extents": HALF, "tool_radius": 0.02, "inertia": "M", "look_ahead_horizon": 0.4,
}  # fmt: skip
CONTACT = Contact("tool", NORMAL, friction=0.35, restitution=0.45, radius=0.02)


def state(time: float, position=HOME, velocity=DOWN) -> JointState:
    return joint_state(time, NAMES, position, velocity)
