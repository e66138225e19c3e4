"""The joint that an impact at a known position moves most: Aouaj thesis, (4.10)-(4.12).

A frictionless impact with normal impulse Lambda_N changes the joint velocities by gamma(q) Lambda_N with

    gamma = (M + B_theta)^-1 J_N^T,

so the joint with the largest |gamma_i| shows it first. Watching only the few most sensitive joints keeps the others'
vibrations from raising alarms; it needs the position and direction of the contact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from impact_aware.contact.geometry import unit_vector
from impact_aware.detection.adaptive_window import AdaptiveWindowDetector, AdaptiveWindowParameters
from impact_aware.detection.events import Array
from impact_aware.detection.windowed_detector import ranged
from impact_aware.errors import InvalidInputError
from impact_aware.robot import RobotModel


@dataclass(frozen=True)
class SensitiveJointParameters(AdaptiveWindowParameters):
    """Parameters of the detector on the most sensitive joints.

    Attributes:
        watched_joints: How many joints, most sensitive first; 1 in the thesis.
    """

    watched_joints: int = ranged(1, "at least 1", lambda value: value >= 1)


def impact_sensitivity(robot: RobotModel, position: Array, normal: ArrayLike, frame: str | None = None) -> Array:
    """Change of joint velocity per normal impulse, gamma of Aouaj thesis, (4.11), with M + B_theta.

    Args:
        robot: The arm.
        position: Joint positions (n,), rad.
        normal: Contact normal from the obstacle into the robot (3,), base frame.
        frame: Frame whose origin touches; the tool if None.

    Returns:
        gamma (n,), rad/s per N s.
    """
    jacobian = robot.frame_jacobian(position, frame)[:3]
    return np.asarray(np.linalg.solve(robot.mass_matrix(position), jacobian.T @ unit_vector("normal", normal)))


class SensitiveJointDetector(AdaptiveWindowDetector):
    """The adaptive window on the joints that the expected contact moves most.

    Attributes:
        normal: Expected contact normal from the obstacle into the robot, unit vector (3,), base frame.
    """

    name: ClassVar[str] = "sensitive_joint"

    def __init__(
        self,
        joint_count: int,
        parameters: SensitiveJointParameters | None = None,
        *,
        robot: RobotModel,
        normal: ArrayLike,
        frame: str | None = None,
    ) -> None:
        """Prepare.

        Args:
            joint_count: Number of joints n.
            parameters: Parameters; defaults if None.
            robot: The arm, which can't be shared with another thread.
            normal: Expected contact normal from the obstacle into the robot (3,), base frame.
            frame: Frame whose origin touches; the tool if None.

        Raises:
            InvalidInputError: The robot has another number of joints, or the normal has no direction.
        """
        if robot.n != joint_count:
            raise InvalidInputError("robot", f"{robot.n} joints", f"{joint_count} joints")
        chosen = parameters or SensitiveJointParameters()
        self._robot, self.normal, self._frame = robot, unit_vector("normal", normal), frame
        self._watch_count = min(chosen.watched_joints, joint_count)
        super().__init__(joint_count, chosen)

    def _largest_excess(self, steps: int) -> float:
        largest = super()._largest_excess(steps)
        if largest <= 1.0:
            return largest
        # The posture matters only once something is out of bounds, so the model stays out of the quiet cycles.
        sensitivity = np.abs(impact_sensitivity(self._robot, self._window.positions[-1], self.normal, self._frame))
        ignored = np.argsort(sensitivity)[: self.joint_count - self._watch_count]
        self._excess[:, ignored] = 0.0
        return float(self._excess.max())
