"""Pinocchio model, apparent motor inertia, limits and joint-name ordering."""

from impact_aware.robot.joint_reader import JointOrder
from impact_aware.robot.load import load_robot, robot_description
from impact_aware.robot.model import INERTIA_CHOICES, JointLimits, RobotModel
from impact_aware.robot.profile import RobotProfile, Tool, load_profile, profile_names

__all__ = [
    "INERTIA_CHOICES",
    "JointLimits",
    "JointOrder",
    "RobotModel",
    "RobotProfile",
    "Tool",
    "load_profile",
    "load_robot",
    "profile_names",
    "robot_description",
]
