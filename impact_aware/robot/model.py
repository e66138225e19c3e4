"""A torque-controlled arm: Pinocchio model with apparent motor inertia, tool frame, limits and joint-name order."""

from __future__ import annotations

import copy
import math
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError, UnknownNameError, check_name
from impact_aware.resources import read_text
from impact_aware.robot.plausible import implausible_inertias, inertia_fault
from impact_aware.robot.profile import MOST_JOINTS, RobotProfile, Tool, load_profile
from impact_aware.robot.urdf_text import build_model, frame_index, model_on_base

_NO_INERTIA = 1e-12
"""Inertia about a joint that makes the mass matrix singular, kg m^2."""

INERTIA_CHOICES = ("M", "M+B_theta", "M+B_rho")


@dataclass(frozen=True)
class JointLimits:
    """Limits in joint order.

    Attributes:
        position_lower: (n,) rad.
        position_upper: (n,) rad.
        velocity: (n,) Largest magnitude, rad/s.
        effort: (n,) Largest magnitude, N m.
        effort_rate: (n,) Largest magnitude of the change of commanded torque, N m/s.
    """

    position_lower: Array
    position_upper: Array
    velocity: Array
    effort: Array
    effort_rate: Array


class RobotModel:
    """Rigid-body model of one arm, with B_theta in `model.armature` so that Pinocchio works with M + B_theta.

    Jacobians and points are expressed in the base frame (Pinocchio's world), Jacobians of a frame are taken with
    `LOCAL_WORLD_ALIGNED`: linear rows first, angular rows last. Threads may share it: each has its own `pin.Data`.

    Attributes:
        name: Robot name.
        model: The Pinocchio model, reduced to the controlled joints; a copy of the one that was given.
        joint_names: (n,) Names in the model's order, which every (n,) array of this package follows.
        n: Number of joints.
        limits: Joint limits.
        home: (n,) A comfortable posture, rad.
        tool_frame: Name of the frame at the centre of the tool tip.
        tool_radius: Radius of the spherical tip, m.
        apparent_motor_inertia: (n,) B_theta, kg m^2.
        motor_inertia: (n,) B_rho, kg m^2, or None when unknown.
        base_frame: Name of the frame everything is expressed in.
        profile: The profile it was made from, or None.
        base_in_urdf: Pose of the base frame in the root link of the URDF.
        description: Text of the URDF that it was made from, or empty.
        notes: What a reader of its predictions has to know, one sentence each, such as a link that no body can be.
    """

    notes: tuple[str, ...] = ()
    description: str = ""
    base_in_urdf: pin.SE3 = pin.SE3.Identity()

    def __init__(
        self,
        model: pin.Model,
        *,
        name: str,
        tool_frame: str,
        tool_radius: float = 0.0,
        apparent_motor_inertia: ArrayLike | None = None,
        motor_inertia: ArrayLike | None = None,
        effort_rate: ArrayLike | None = None,
        position_margin: float = 0.0,
        home: ArrayLike | None = None,
        base_frame: str = "base",
        profile: RobotProfile | None = None,
    ) -> None:
        """Check the model, whose joints have one coordinate each, and attach what a URDF does not carry.

        When None, `apparent_motor_inertia` is zero, `effort_rate` 1000 N m/s per joint, the figure published for the
        Franka arms, and `home` the middle of the position range, which ends `position_margin`, rad, before the URDF's.

        Raises:
            InvalidInputError: A joint with several coordinates or that moves no inertia, or an array of the wrong shape
                or sign.
            UnknownNameError: `tool_frame` is not in the model.
        """
        if model.nq != model.nv:
            raise InvalidInputError("model", f"nq={model.nq}, nv={model.nv}", "joints with one coordinate each")
        if model.nv == 0:
            raise InvalidInputError("model", "no movable joint", "at least one")
        if model.nv > MOST_JOINTS:
            raise InvalidInputError("model", f"{model.nv} movable joints", f"{MOST_JOINTS} at most, or a profile's")
        self.name = name
        self.model = model = model.copy()
        self.n: int = model.nv
        self.joint_names: tuple[str, ...] = tuple(model.names)[1:]
        self.base_frame = base_frame
        self.profile = profile
        b_theta = self._per_joint("apparent_motor_inertia", apparent_motor_inertia, np.zeros(self.n))
        if np.any(b_theta < 0.0):
            raise InvalidInputError("apparent_motor_inertia", b_theta.tolist(), "values >= 0 kg m^2")
        self.model.armature = b_theta
        self.apparent_motor_inertia = b_theta
        moved = np.diag(pin.crba(model, model.createData(), pin.neutral(model))) < _NO_INERTIA
        if moved.any():
            joint = int(np.argmax(moved)) + 1
            links = [f.name for f in model.frames if f.parentJoint == joint and f.type == pin.FrameType.BODY]
            given = f"no mass or inertia that {model.names[joint]} moves"
            raise InvalidInputError(f"link {', '.join(links[:3])}", given, "an inertial, or an apparent_motor_inertia")
        self.motor_inertia = None if motor_inertia is None else self._per_joint("motor_inertia", motor_inertia, b_theta)
        if self.motor_inertia is not None and np.any(self.motor_inertia < 0.0):
            raise InvalidInputError("motor_inertia", self.motor_inertia.tolist(), "values >= 0 kg m^2")
        # One model per motor inertia, and per thread the scratch memory of each; making either costs more than its use.
        self._variants: dict[str, pin.Model] = {"M+B_theta": model}
        self._local = threading.local()
        self.tool_frame = tool_frame
        self.tool_frame_id = self.frame_id(tool_frame)
        self.tool_radius = float(tool_radius)
        if not self.tool_radius >= 0.0:
            raise InvalidInputError("tool_radius", tool_radius, "a length >= 0 m")
        low, high = np.array(model.lowerPositionLimit), np.array(model.upperPositionLimit)
        if not np.all(low < high):
            joint = int(np.argmin(low < high))
            given = f"{low[joint]:g} to {high[joint]:g} rad for {self.joint_names[joint]}"
            raise InvalidInputError("position limits", given, "a range; a joint without one is of type continuous")
        lower, upper = low + position_margin, high - position_margin
        if not np.all(lower < upper):
            raise InvalidInputError("position_margin", position_margin, "less than half of every position range")
        rate = self._per_joint("effort_rate", effort_rate, np.full(self.n, 1000.0))
        if not np.all(rate > 0.0):
            raise InvalidInputError("effort_rate", rate.tolist(), "values > 0 N m/s")
        velocity, effort = np.array(model.upperVelocityLimit), np.array(model.upperEffortLimit)
        self.limits = JointLimits(*(_frozen(each) for each in (lower, upper, velocity, effort, rate)))
        bounded = np.isfinite(lower) & np.isfinite(upper)
        middle = 0.5 * (np.where(bounded, lower, 0.0) + np.where(bounded, upper, 0.0))
        self.home = self._per_joint("home", home, middle)

    @classmethod
    def from_profile(cls, profile: str | Path | RobotProfile) -> RobotModel:
        """Make the model from a profile: its name, its YAML file, or the profile itself."""
        if not isinstance(profile, RobotProfile):
            profile = load_profile(profile)
        return cls.from_description(profile.urdf, profile, tool=profile.tool)

    @classmethod
    def from_description(
        cls,
        urdf: str | Path,
        profile: RobotProfile,
        *,
        tool: Tool | None = None,
        tool_frame: str | None = None,
        tool_radius: float = 0.0,
    ) -> RobotModel:
        """Make the model from a description, as `from_urdf`, with all that the profile adds to it but the tool."""
        return cls.from_urdf(
            urdf,
            name=profile.name,
            joint_names=profile.joint_names,
            tool=tool,
            tool_frame=tool_frame,
            tool_radius=tool_radius,
            apparent_motor_inertia=profile.apparent_motor_inertia,
            motor_inertia=profile.motor_inertia or None,
            effort_rate=profile.effort_rate or None,
            position_margin=profile.position_margin,
            home=profile.home or None,
            base_frame=profile.base_frame,
            profile=profile,
        )

    @classmethod
    def from_urdf(
        cls,
        urdf: str | Path,
        *,
        name: str = "robot",
        joint_names: tuple[str, ...] = (),
        tool: Tool | None = None,
        tool_frame: str | None = None,
        tool_radius: float = 0.0,
        **known: Any,
    ) -> RobotModel:
        """Make the model from a URDF file or a URDF string (`robot_description`).

        Args:
            urdf: Path of a file, or the XML itself: a text is never taken for a path.
            name: Robot name.
            joint_names: Controlled joints; all others are locked at neutral. Every movable joint when empty.
            tool: Tool to attach; its frame becomes the tool frame.
            tool_frame: Frame at the tool tip when no tool is given; the last body frame when None.
            tool_radius: Radius of its spherical tip when no tool is given, m.
            **known: What else the constructor takes by name; arrays in the order of `joint_names`.

        Raises:
            InvalidInputError: The URDF can't be read or its joint order differs from `joint_names`.
            UnknownNameError: A joint or frame is not in the URDF.
        """
        text = read_text("urdf", urdf) if isinstance(urdf, Path) else urdf
        model = build_model(text)
        if joint_names:
            available = tuple(model.names)[1:]
            for joint in joint_names:
                check_name("joint", joint, available)
            locked = [model.getJointId(joint) for joint in available if joint not in joint_names]
            model = pin.buildReducedModel(model, locked, pin.neutral(model))
            if tuple(model.names)[1:] != tuple(joint_names):
                raise InvalidInputError("joints", list(joint_names), f"the URDF's order {list(model.names)[1:]}")
        model, in_urdf = model_on_base(model, str(known.get("base_frame", "")))
        # What does not move has no part in an impact.
        carried = {frame.name for frame in model.frames if frame.type == pin.FrameType.BODY and frame.parentJoint != 0}
        if tool is not None:
            _attach_tool(model, tool)
        # The last one that the last joint carries: a URDF may go on with what stands beside the arm.
        bodies = [frame.name for frame in model.frames if frame.type == pin.FrameType.BODY]
        bodies += [f.name for f in model.frames if f.type == pin.FrameType.BODY and f.parentJoint == model.njoints - 1]
        robot = cls(
            model,
            name=name,
            tool_frame=tool.frame if tool is not None else tool_frame or bodies[-1],
            tool_radius=tool.radius if tool is not None else tool_radius,
            **known,
        )
        robot.notes = implausible_inertias(text, carried)
        reach = 0.0 if tool is None else math.hypot(*tool.position) + math.hypot(*tool.center_of_mass)
        if tool is not None and (fault := inertia_fault(tool.mass, np.diag(tool.inertia_diagonal), reach)):
            robot.notes += (f"tool: {fault}; predictions are as wrong as its inertia is",)
        robot.base_in_urdf = in_urdf
        robot.description = text
        return robot

    def tilted(self, rotation: ArrayLike) -> RobotModel:
        """Return the arm on a base of this rotation (3, 3) in a frame whose z axis points up: gravity in base axes.

        Returns this object where gravity is unchanged, as on a base that is rotated about the vertical.
        """
        pull = float(np.linalg.norm(self.model.gravity.linear))
        gravity = np.asarray(rotation, dtype=float).T @ np.array([0.0, 0.0, -pull])
        if np.allclose(gravity, self.model.gravity.linear, rtol=0.0, atol=1e-12):
            return self
        arm = copy.copy(self)
        arm.model = self.model.copy()
        arm.model.gravity = pin.Motion(gravity, np.zeros(3))
        arm._variants, arm._local = {"M+B_theta": arm.model}, threading.local()
        return arm

    def prefixed(self, prefix: str) -> RobotModel:
        """Return the arm with this prefix, such as `left_`, before the names of its joints and its base frame."""
        if not prefix:
            return self
        arm = copy.copy(self)
        arm.joint_names = tuple(prefix + name for name in self.joint_names)
        arm.base_frame = prefix + self.base_frame
        return arm

    @property
    def adds_gravity(self) -> bool:
        """Whether the arm adds the gravity torque to effort commands itself, so that they are torques without it."""
        return self.profile is not None and not self.profile.command_includes_gravity

    def frame_id(self, frame: str) -> int:
        """Index of a frame.

        Raises:
            UnknownNameError: No such frame.
        """
        if not self.model.existFrame(frame):
            bodies = tuple(f.name for f in self.model.frames if f.type != pin.FrameType.JOINT)
            raise UnknownNameError("frame", frame, bodies)
        return frame_index(self.model, frame)

    def check_configuration(self, q: ArrayLike, field: str = "q") -> Array:
        """Return `q` as a finite (n,) array; also used for velocities, efforts.

        Raises:
            InvalidInputError: Wrong number of values, or one that is not finite.
        """
        try:
            array = np.asarray(q, dtype=float)
        except (TypeError, ValueError) as error:
            raise InvalidInputError(field, q, f"{self.n} numbers") from error
        if array.shape != (self.n,):
            raise InvalidInputError(field, f"{array.size} values", f"{self.n} ({', '.join(self.joint_names)})")
        # The square of what is not finite is not finite either; that of large numbers may not be.
        if not math.isfinite(array.dot(array)) and not np.isfinite(array).all():
            raise InvalidInputError(field, array.tolist(), "finite values")
        return array

    @property
    def data(self) -> pin.Data:
        """This thread's scratch memory for `model`."""
        return self.variant("M+B_theta")[1]

    def variant(self, inertia: str) -> tuple[pin.Model, pin.Data]:
        """The model with the chosen motor inertia as armature, not to be changed, and this thread's memory for it.

        Raises:
            UnknownNameError: Not one of `INERTIA_CHOICES`.
            InvalidInputError: M+B_rho of a robot whose B_rho is unknown.
        """
        memory = self._local.__dict__
        data = memory.get(inertia)
        if data is None:
            if inertia not in self._variants:
                model = self.model.copy()
                model.armature = self.motor_inertia_for(inertia)
                self._variants[inertia] = model
            data = memory[inertia] = self._variants[inertia].createData()
        return self._variants[inertia], data

    def known_inertia(self, inertia: str) -> str:
        """Return the name of the inertia in use: M + B_theta with an unknown B_theta, all zeros, is M."""
        return "M" if inertia == "M+B_theta" and not any(self.apparent_motor_inertia.tolist()) else inertia

    def mass_matrix(self, q: Array, inertia: str = "M+B_theta") -> Array:
        """Joint-space inertia (n, n), kg m^2, with the chosen motor inertia (Rey Arias 2024, (9)); raises as `variant`.

        Args:
            q: (n,) rad.
            inertia: One of `INERTIA_CHOICES`.
        """
        matrix = pin.crba(*self.variant(inertia), q)
        return np.asarray(np.triu(matrix) + np.triu(matrix, 1).T)

    def motor_inertia_for(self, inertia: str) -> Array:
        """The (n,) diagonal that `inertia` adds to M, kg m^2; raises as `variant` does."""
        check_name("inertia", inertia, INERTIA_CHOICES)
        if inertia == "M":
            return np.zeros(self.n)
        if inertia == "M+B_theta":
            return self.apparent_motor_inertia
        if self.motor_inertia is None:
            raise InvalidInputError("inertia", "M+B_rho", f"a robot whose motor inertia is known; {self.name}'s is not")
        return self.motor_inertia

    def motor_inertia_std_for(self, inertia: str) -> Array:
        """How far what `inertia` adds to M may be off (n,), kg m^2: the profile's standard deviation of B_theta."""
        if inertia != "M+B_theta" or self.profile is None:
            return np.zeros(self.n)
        return self.profile.apparent_motor_inertia_std * self.apparent_motor_inertia

    def bias(self, q: Array, dq: Array) -> Array:
        """Gravity, centrifugal and Coriolis torques h(q, dq) (n,), N m (van Steen 2024, eq. 3)."""
        return np.array(pin.nonLinearEffects(self.model, self.data, q, dq))

    def gravity(self, q: Array) -> Array:
        """Gravity torques (n,), N m."""
        return np.array(pin.computeGeneralizedGravity(self.model, self.data, q))

    def placement(self, q: Array, frame: str | None = None) -> pin.SE3:
        """Pose of a frame (the tool when None) in the base frame."""
        pin.forwardKinematics(self.model, self.data, q)
        frame_id = self.tool_frame_id if frame is None else self.frame_id(frame)
        return pin.updateFramePlacement(self.model, self.data, frame_id).copy()

    def frame_jacobian(self, q: Array, frame: str | None = None) -> Array:
        """Geometric Jacobian (6, n) of a frame (the tool when None), base-frame axes, linear rows first."""
        frame_id = self.tool_frame_id if frame is None else self.frame_id(frame)
        jacobian = pin.computeFrameJacobian(self.model, self.data, q, frame_id, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)
        # Pinocchio drops the second axis where there is one joint only.
        return np.array(jacobian).reshape(6, self.n)

    def _per_joint(self, field: str, values: ArrayLike | None, default: Array) -> Array:
        if values is None:
            return _frozen(default.copy())
        return _frozen(self.check_configuration(values, field).copy())


def _frozen(array: Array) -> Array:
    array.setflags(write=False)
    return array


def _attach_tool(model: pin.Model, tool: Tool) -> None:
    if not model.existFrame(tool.mount_frame):
        raise UnknownNameError("tool mount_frame", tool.mount_frame, tuple(frame.name for frame in model.frames))
    mount_id = frame_index(model, tool.mount_frame)
    mount = model.frames[mount_id]
    if tool.mass > 0.0:
        inertia = pin.Inertia(tool.mass, np.array(tool.center_of_mass), np.diag(tool.inertia_diagonal))
        model.appendBodyToJoint(mount.parentJoint, inertia, mount.placement)
    tip = pin.SE3(pin.rpy.rpyToMatrix(*tool.rotation_rpy), np.array(tool.position))
    model.addFrame(pin.Frame(tool.frame, mount.parentJoint, mount_id, mount.placement * tip, pin.FrameType.OP_FRAME))
