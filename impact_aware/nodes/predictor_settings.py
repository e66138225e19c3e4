"""Parameters of `jump_predictor`, and the predictor that they make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from impact_aware.arrays import Array
from impact_aware.contact import Contact
from impact_aware.contact.options import ContactOptions
from impact_aware.contact.shape_registry import SHAPES, shape_of
from impact_aware.errors import InvalidInputError
from impact_aware.impact import DEFAULT_METHOD, IMPACT_MAPS
from impact_aware.impact.jump_predictor import JumpPredictor
from impact_aware.impact.material import RIGID, Pads
from impact_aware.impact.uncertainty import InputCovariance
from impact_aware.parameters import described, shared
from impact_aware.robot import INERTIA_CHOICES, RobotModel


@dataclass(frozen=True)
class Settings:
    """Parameters of the node."""

    robot: str = described("panda", "robot profile, by name or file; empty: take robot_description")
    arm: str = described("", "name of the arm; empty: the node's namespace")
    base: list[float] = described(
        [],
        "pose of the base in the task's frame until a task sets it, as bases of rs_controller; empty: in its origin",
    )
    base_from_task: bool = described(False, "the base is that of the task; nothing is predicted before")
    joint_prefix: str = described("", "what stands before the names of the joints and of the base frame")
    task_frame: str = described("", "name of the task's frame; needed with base")
    contact_frame: str = described("", "robot frame that hits; empty: the tool frame")
    pad_half_sizes: list[float] = described(
        [0.0, 0.0, 0.0],
        "half edges of a flat palm along the axes of the contact frame until a task sets them, m; zeros: a tip",
    )
    table_friction: float = described(
        -1.0,
        "Coulomb coefficient between the object that is hit and its table until a task sets it; negative: none",
        -1.0,
        10.0,
    )
    tool_radius: float = described(-1.0, "radius of the spherical tip, m; negative: the robot profile's", -1.0, 1.0)
    normal: list[float] = described([0.0, 0.0, 1.0], "unit vector from the obstacle into the robot, base frame")
    friction: float = shared(ContactOptions, "friction", 0.0)
    restitution: float = shared(ContactOptions, "restitution", 0.0)
    inertia: str = described("M+B_theta", "which inertia the impact sees", choices=INERTIA_CHOICES)
    method: str = described(DEFAULT_METHOD, "impact map", choices=tuple(IMPACT_MAPS))
    material: str = shared(Pads, "material", RIGID)
    pad_stiffness_ratio: float = shared(Pads, "stiffness_ratio", Pads.stiffness_ratio)
    object_name: str = described("box", "name of the free object")
    object_mass: float = described(0.0, "mass of the free object, kg; 0: a fixed surface is hit", 0.0, 1000.0)
    object_shape: str = described("box", "shape of the object, a cylinder about its z axis", choices=tuple(SHAPES))
    object_half_extents: list[float] = described(
        [0.1, 0.1, 0.1], "half edges of the object along its axes, m; of a cylinder radius, radius, half length"
    )
    object_vertices: list[float] = described([], "of a hull: x, y, z of every corner along the object's axes, m")
    object_position: list[float] = described([0.5, 0.0, 0.1], "centre of the object until object_pose is received, m")
    object_rpy: list[float] = described(
        [0.0, 0.0, 0.0], "roll, pitch, yaw of the object's axes until object_pose is received, rad"
    )
    surface_point: list[float] = described([0.0, 0.0, 0.0], "a point of the fixed surface, base frame, m")
    follow_task: bool = described(True, "object, face, palm and base are those of the latest task")
    look_ahead_period: float = described(0.05, "time between two look-ahead predictions, s", 0.001, 10.0)
    look_ahead_horizon: float = described(0.5, "how far ahead an impact is worth predicting, s", 0.0, 10.0)
    velocity_std: float = described(0.0, "standard deviation of joint velocities, rad/s", 0.0, 10.0)
    normal_std: float = described(0.0, "standard deviation of the normal's direction, rad", 0.0, 1.0)
    point_std: float = described(0.0, "standard deviation of the contact point along each axis, m", 0.0, 1.0)
    friction_std: float = described(0.0, "standard deviation of the friction coefficient", 0.0, 10.0)
    restitution_std: float = described(0.0, "standard deviation of the coefficient of restitution", 0.0, 1.0)
    motor_inertia_std: float = described(
        -1.0,
        "standard deviation of every motor inertia, share of it; negative: the robot profile's",
        -1.0,
        1.0,
    )
    link_inertia_std: float = described(0.0, "standard deviation of every link's inertia, share of it", 0.0, 1.0)
    object_mass_std: float = described(0.0, "standard deviation of the object's mass, share of it", 0.0, 1.0)
    estimation: bool = described(True, "estimate the velocity after each impact, once there are samples enough")
    estimation_window: float = described(
        0.06, "longest time after the impact that it uses, s; 0: the estimator's own", 0.0, 10.0
    )
    state_timeout: float = described(
        0.5, "oldest joint_states from which a request without a state is answered, s of wall time", 0.01, 60.0
    )
    lockstep: bool = described(False, "answer every state with step_done")

    def predictor(self, robot: RobotModel) -> JumpPredictor:
        """The predictor of a robot with these parameters.

        Raises:
            ImpactAwareError: Parameters that make no contact or no object.
        """
        contact = Contact(
            frame=self.contact_frame or robot.tool_frame,
            normal=np.array(self.normal),
            friction=self.friction,
            restitution=self.restitution,
            radius=robot.tool_radius if self.tool_radius < 0.0 else self.tool_radius,
        )
        return JumpPredictor(
            robot,
            contact,
            object_mass=self.object_mass,
            shape=shape_of(self),
            object_position=self.object_position,
            object_rotation=rotation_of_rpy("parameter object_rpy", self.object_rpy),
            surface_point=self.surface_point,
            method=self.method,
            inertia=self.inertia,
            covariance=self._covariance(robot),
            pad_half_sizes=self.pad_half_sizes,
            table_friction=None if self.table_friction < 0.0 else self.table_friction,
            pads=Pads(material=self.material, stiffness_ratio=self.pad_stiffness_ratio),
        )

    def _covariance(self, robot: RobotModel) -> InputCovariance | None:
        """Covariance from the configured standard deviations; None when all are zero."""
        names = ("velocity", "normal", "point", "friction", "restitution", "link_inertia", "object_mass")
        variances = {name: getattr(self, f"{name}_std") ** 2 for name in names}
        if self.motor_inertia_std < 0.0:
            motor = robot.motor_inertia_std_for(self.inertia) ** 2
        else:
            motor = (self.motor_inertia_std * robot.motor_inertia_for(self.inertia)) ** 2
        if not any(variances.values()) and not motor.any():
            return None
        return InputCovariance(**variances, motor_inertia=motor)


def rotation_of_rpy(name: str, rpy: Sequence[float]) -> Array:
    """Rotation matrix (3, 3) from roll, pitch and yaw, rad; errors call them `name`.

    Raises:
        InvalidInputError: They are not three finite numbers.
    """
    if len(rpy) != 3 or not np.isfinite(rpy).all():
        raise InvalidInputError(name, list(rpy), "roll, pitch and yaw, rad")
    return np.asarray(pin.rpy.rpyToMatrix(*rpy))
