"""Flexible-joint arm in continuous contact with a surface (Rey Arias 2024, (1)-(7)), and what moves it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.contact.force_models import ContactForceModel
from impact_aware.contact.geometry import frozen, vector
from impact_aware.errors import InvalidInputError, NoSolutionError
from impact_aware.ranges import NOT_NEGATIVE
from impact_aware.robot import RobotModel
from impact_aware.simulation.joint_elasticity import CONTROL_PERIOD, JointElasticity

Controller = Callable[[float, Array, Array], Array]
"""Desired link-side torque u (n,), N m, from time, link positions and link velocities; called once per millisecond."""

SLIP_ROUNDING = 1e-3
"""Slip speed below which friction fades, m/s."""

_PARALLEL = 1e-6
"""Length of the cross product of two axes from which on they are not parallel."""


@dataclass(frozen=True, eq=False)
class SurfaceContact:
    """A fixed plane that a spherical tool tip touches, and the law of the contact.

    Friction is Coulomb's with its corner rounded: -mu f_n v_t / sqrt(|v_t|^2 + SLIP_ROUNDING^2).

    Attributes:
        normal: (3,) Unit normal from the surface into the robot, base frame; normalised at construction.
        point: (3,) A point of the plane, base frame, m.
        force_model: Normal force; one without memory.
        friction: Coulomb's coefficient, >= 0.
    """

    normal: Array
    point: Array
    force_model: ContactForceModel
    friction: float = 0.0

    def __post_init__(self) -> None:
        """Check every field; an InvalidInputError names the wrong one."""
        normal = vector("normal", self.normal, 3)
        length = float(np.linalg.norm(normal))
        if not length > 1e-12:
            raise InvalidInputError("normal", normal.tolist(), "a vector that is not of zero length")
        object.__setattr__(self, "normal", frozen(normal / length))
        object.__setattr__(self, "point", frozen(vector("point", self.point, 3)))
        NOT_NEGATIVE.check("friction", self.friction)

    def depth(self, point: Array) -> float:
        """Penetration of the robot's lowest point `point` (3,), base frame, m; negative apart."""
        return -float(self.normal @ (point - self.point))

    def force(self, depth: float, slip: Array) -> Array:
        """Force (3,) on the robot at a penetration, m, and a velocity `slip` (3,) of the tip, m/s; N, base frame."""
        pressure = float(self.force_model.force(depth, -float(self.normal @ slip)))
        return pressure * (self.direction(slip) if pressure > 0.0 else self.normal)

    def direction(self, slip: Array) -> Array:
        """Force (3,) on the robot per unit of the normal force, at a velocity `slip` (3,) of the tip, m/s."""
        if self.friction == 0.0:
            return self.normal
        tangential = slip - float(self.normal @ slip) * self.normal
        speed = math.sqrt(float(tangential @ tangential) + SLIP_ROUNDING**2)
        return self.normal - self.friction / speed * tangential


def surface_at(
    tip_centre: Array,
    radius: float,
    normal: ArrayLike,
    gap: float,
    force_model: ContactForceModel,
    friction: float = 0.0,
) -> SurfaceContact:
    """A surface `gap` metres away from a spherical tip along `normal`."""
    direction = vector("normal", normal, 3)
    direction = direction / np.linalg.norm(direction)
    return SurfaceContact(direction, tip_centre - (radius + gap) * direction, force_model, friction)


@dataclass(frozen=True, eq=False)
class PressingForce:
    """Compensation of gravity and Coriolis torques, and a constant force at the tool.

    The force leaves the jump of a rigid arm as it is, but keeps the tool of a flexible one, which bounces, in contact.

    Attributes:
        robot: The arm.
        force: (3,) At the tool, base frame, N.
    """

    robot: RobotModel
    force: ArrayLike = (0.0, 0.0, 0.0)

    def __call__(self, time: float, q: Array, dq: Array) -> Array:
        """Torques (n,), N m."""
        force = vector("force", self.force, 3)
        return self.robot.bias(q, dq) + np.append(force, np.zeros(3)) @ self.robot.frame_jacobian(q)


@dataclass(frozen=True, eq=False)
class StraightLine:
    """Impedance along a straight line at constant velocity through the surface (Rey Arias 2024, III; Aouaj 2021, III).

    Attributes:
        robot: The arm.
        start: (3,) Where the tool is at time zero, base frame, m.
        velocity: (3,) m/s.
        stiffness: N/m.
        damping: N s/m.
    """

    robot: RobotModel
    start: Array
    velocity: Array
    stiffness: float = 1000.0
    damping: float = 60.0

    def __call__(self, time: float, q: Array, dq: Array) -> Array:
        """Torques (n,), N m."""
        jacobian = self.robot.frame_jacobian(q)[:3]
        position = self.robot.placement(q).translation
        force = self.stiffness * (self.start + self.velocity * time - position)
        force = force + self.damping * (self.velocity - jacobian @ dq)
        return self.robot.bias(q, dq) + force @ jacobian


@dataclass(frozen=True, eq=False)
class FlexibleJointRun:
    """One simulated run, sampled with the high-level controller's period.

    Attributes:
        time: (k,) s.
        q: (k, n) Link positions, rad.
        dq: (k, n) Link velocities, rad/s.
        theta: (k, n) Motor positions behind the gear, rad.
        torque: (k, n) What the link-side torque sensors read, tau + D K^-1 dtau, N m.
        depth: (k,) Penetration of the tip, m, negative apart; zeros without a surface.
        impact_time: First touch, s; NaN when there was none.
        q_impact: (n,) Link positions at first touch, rad.
        velocity_before: (n,) Link velocities at first touch, rad/s.
    """

    time: Array
    q: Array
    dq: Array
    theta: Array
    torque: Array
    depth: Array
    impact_time: float
    q_impact: Array
    velocity_before: Array


class FlexibleJointArm:
    """The plant: link side (2), motor side (3), torque loop (4) in discrete time, contact (7) at the tool tip.

    Integrated with the classical fourth-order Runge-Kutta method at a fixed step that divides the torque loop's period,
    so that every held torque is constant within a step. The state (5, n) holds link positions and velocities, motor
    positions and velocities, and the filtered torques.

    Attributes:
        robot: The arm; its own armature is not used.
        elasticity: The joints.
        step: Integration step, s.
    """

    def __init__(self, robot: RobotModel, elasticity: JointElasticity, *, substeps: int = 5) -> None:
        """Prepare for `substeps` integration steps per period of the torque loop; 5 make 50 us at 4 kHz.

        Raises:
            InvalidInputError: Another number of joints, or no step.
        """
        if elasticity.stiffness.size != robot.n:
            raise InvalidInputError("elasticity", f"{elasticity.stiffness.size} joints", f"{robot.n}")
        if substeps < 1:
            raise InvalidInputError("substeps", substeps, "an integer >= 1")
        self.robot = robot
        self.elasticity = elasticity
        self.step = 1.0 / (elasticity.torque_rate * substeps)
        self._substeps = substeps
        self._model = robot.model.copy()
        self._model.armature = np.zeros(robot.n)
        self._data = self._model.createData()
        self._filters = bool(np.isfinite(elasticity.torque_cutoff))

    def simulate(
        self,
        q: ArrayLike,
        dq: ArrayLike,
        controller: Controller,
        contact: SurfaceContact | None,
        duration: float,
    ) -> FlexibleJointRun:
        """Run from a state in which links and motors accelerate together, without oscillation.

        Args:
            q: (n,) Link positions, rad.
            dq: (n,) Link and motor velocities, rad/s.
            controller: See `Controller`.
            contact: The surface, or None for free motion.
            duration: s.

        Raises:
            InvalidInputError: A state of the wrong size or not finite.
            NoSolutionError: The state is no longer finite: the step is too long for the stiffness.
        """
        q = self.robot.check_configuration(q, "q")
        dq = self.robot.check_configuration(dq, "dq")
        NOT_NEGATIVE.check("duration", duration)
        state = self._start(q, dq, np.asarray(controller(0.0, q, dq), dtype=float))
        loops = round(self.elasticity.torque_rate * CONTROL_PERIOD)
        periods = int(np.floor(duration / CONTROL_PERIOD + 1e-9))
        samples: list[tuple[float, Array, Array, float]] = []
        impact_time, touched = float("nan"), np.full_like(state, np.nan)
        time = 0.0
        for period in range(periods + 1):
            samples.append((time, state, self._joint_torque(state), self._depth(state, contact)))
            if period == periods:
                break
            desired = np.asarray(controller(time, state[0].copy(), state[1].copy()), dtype=float)
            for _ in range(loops):
                measured = state[4] if self._filters else self._joint_torque(state)
                actuation = self.elasticity.actuation(desired, measured)
                for _ in range(self._substeps):
                    before, state = state, self._runge_kutta(state, actuation, contact)
                    time += self.step
                    if contact is None or not math.isnan(impact_time):
                        continue
                    depth = self._depth(state, contact)
                    if depth >= 0.0:
                        start = self._depth(before, contact)
                        part = start / (start - depth) if start < 0.0 else 0.0
                        impact_time = time - self.step * (1.0 - part)
                        touched = before + part * (state - before)
            if not np.all(np.isfinite(state)):
                raise NoSolutionError(
                    f"the plant diverged at {time:.4f} s with steps of {self.step:g} s", problem=self.elasticity
                )
        times, states, torques, depths = (np.array(column) for column in zip(*samples, strict=True))
        links, velocities, motors = states[:, 0], states[:, 1], states[:, 2]
        return FlexibleJointRun(times, links, velocities, motors, torques, depths, impact_time, *touched[:2])

    def _start(self, q: Array, dq: Array, desired: Array) -> Array:
        """The state in which the joints carry the torques of the rigid arm (9) in free motion: u - B_theta ddq."""
        inertia = self.elasticity.apparent_motor_inertia
        matrix = self.robot.mass_matrix(q, "M") + np.diag(inertia)
        torque = desired - inertia * np.linalg.solve(matrix, desired - self.robot.bias(q, dq))
        return np.array([q, dq, q + torque / self.elasticity.stiffness, dq, torque])

    def _joint_torque(self, state: Array) -> Array:
        """Reading of the torque sensors (n,), N m."""
        return self.elasticity.torque(state[2], state[3], state[0], state[1])

    def _depth(self, state: Array, contact: SurfaceContact | None) -> float:
        """Penetration of the tip, m, negative apart; 0 without a surface."""
        if contact is None:
            return 0.0
        pin.forwardKinematics(self._model, self._data, state[0])
        centre = pin.updateFramePlacement(self._model, self._data, self.robot.tool_frame_id).translation
        return contact.depth(centre - self.robot.tool_radius * contact.normal)

    def _contact_torque(self, state: Array, contact: SurfaceContact) -> Array | None:
        """Joint torque (n,) of the contact force, N m, or None apart."""
        jacobian = pin.computeFrameJacobian(
            self._model, self._data, state[0], self.robot.tool_frame_id, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        )
        centre = pin.updateFramePlacement(self._model, self._data, self.robot.tool_frame_id).translation
        lever = -self.robot.tool_radius * contact.normal
        depth = contact.depth(centre + lever)
        if depth < 0.0:
            return None
        twist = jacobian @ state[1]
        force = contact.force(depth, twist[:3] + _cross(twist[3:], lever))
        return np.asarray(np.concatenate([force, _cross(lever, force)]) @ jacobian)

    def _derivative(self, state: Array, actuation: Array, contact: SurfaceContact | None) -> Array:
        torque = self._joint_torque(state)
        added = None if contact is None else self._contact_torque(state, contact)
        link_torque = torque if added is None else torque + added
        derivative = np.zeros_like(state)
        derivative[0], derivative[2] = state[1], state[3]
        derivative[1] = pin.aba(self._model, self._data, state[0], state[1], link_torque)
        derivative[3] = self.elasticity.motor_acceleration(actuation, torque, state[3])
        if self._filters:
            derivative[4] = 2.0 * np.pi * self.elasticity.torque_cutoff * (torque - state[4])
        return derivative

    def _runge_kutta(self, state: Array, actuation: Array, contact: SurfaceContact | None) -> Array:
        h = self.step
        k1 = self._derivative(state, actuation, contact)
        k2 = self._derivative(state + 0.5 * h * k1, actuation, contact)
        k3 = self._derivative(state + 0.5 * h * k2, actuation, contact)
        k4 = self._derivative(state + h * k3, actuation, contact)
        return state + h / 6.0 * (k1 + 2.0 * (k2 + k3) + k4)


def _cross(first: Array, second: Array) -> Array:
    # np.cross takes ten times as long for a single pair of vectors.
    (a, b, c), (x, y, z) = first.tolist(), second.tolist()
    return np.array([b * z - c * y, c * x - a * z, a * y - b * x])


def planar_arm(robot: RobotModel, joints: tuple[int, int, int] = (1, 3, 5)) -> RobotModel:
    """The arm that moves only `joints`, the others locked at zero (Rey Arias 2024, section III).

    For the Panda, joints 2, 4 and 6 turn about parallel axes when joints 1, 3 and 5 are at zero, and links 2-3, 4-5 and
    6-7, with everything that the hand carries, are lumped as in the paper.

    Args:
        robot: The larger arm, its motor inertias included.
        joints: Indices of the joints that stay, in order.

    Raises:
        InvalidInputError: Joint axes that are not parallel, so that the arm would not be planar.
    """
    kept = list(joints)
    reference = np.zeros(robot.n)
    reference[kept] = robot.home[kept]
    arm = RobotModel(
        pin.buildReducedModel(robot.model, [index + 1 for index in range(robot.n) if index not in joints], reference),
        name=f"{robot.name}_planar",
        tool_frame=robot.tool_frame,
        tool_radius=robot.tool_radius,
        apparent_motor_inertia=robot.apparent_motor_inertia[kept],
        motor_inertia=None if robot.motor_inertia is None else robot.motor_inertia[kept],
        effort_rate=robot.limits.effort_rate[kept],
        home=robot.home[kept],
        base_frame=robot.base_frame,
    )
    axes = arm.frame_jacobian(arm.home)[3:].T
    if np.linalg.norm(np.cross(axes[0], axes[1:]), axis=1).max() > _PARALLEL:
        raise InvalidInputError("joints", kept, "three joints with parallel axes when the others are at zero")
    return arm
