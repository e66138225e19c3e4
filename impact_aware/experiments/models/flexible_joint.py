"""Torque-controlled flexible-joint arm in continuous contact, from any robot model (Rey Arias 2024, (1)-(7))."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError, NoSolutionError
from impact_aware.experiments.models.surface_contact import SurfaceContact
from impact_aware.ranges import NOT_NEGATIVE
from impact_aware.robot import RobotModel
from impact_aware.simulation.joint_elasticity import CONTROL_PERIOD, JointElasticity

Controller = Callable[[float, Array, Array], Array]
"""Desired link-side torque u (n,), N m, from time, link positions and link velocities; called once per millisecond."""

_FINE = (-2e-3, 10e-3)
"""Around the first touch, s, where every integration step is kept."""


@dataclass(frozen=True, eq=False)
class FlexibleJointRun:
    """One simulated run, sampled with the high-level controller's period.

    Attributes:
        time: (k,) s.
        q: (k, n) Link positions, rad.
        dq: (k, n) Link velocities, rad/s.
        theta: (k, n) Motor positions behind the gear, rad.
        torque: (k, n) What the link-side torque sensors read, tau + D K^-1 dtau, N m.
        force: (k, 3) Contact force on the robot, N, base frame.
        object_twist: (k, 6) Of the object; zero for a fixed surface.
        impact_time: First touch, s; NaN when there was none.
        q_impact: (n,) Link positions at first touch, rad.
        velocity_before: (n,) Link velocities at first touch, rad/s.
        fine_time: (f,) Sampling instants of every integration step from 2 ms before to 10 ms after first touch, s.
        fine_force: (f,) Normal contact force there, N.
    """

    time: Array
    q: Array
    dq: Array
    theta: Array
    torque: Array
    force: Array
    object_twist: Array
    impact_time: float
    q_impact: Array
    velocity_before: Array
    fine_time: Array
    fine_force: Array


class _State:
    """Where each quantity is in the integrated state (5 n + 13,)."""

    def __init__(self, n: int) -> None:
        self.q, self.dq, self.theta, self.dtheta, self.filtered = (slice(k * n, (k + 1) * n) for k in range(5))
        self.displacement = slice(5 * n, 5 * n + 6)  # of the object: translation and small rotation
        self.twist = slice(5 * n + 6, 5 * n + 12)  # of the object
        self.size = 5 * n + 13  # the last is the contact model's memory


class FlexibleJointArm:
    """The plant: link side (2), motor side (3), torque loop (4) in discrete time, contact (7) at the tool tip.

    Integrated with the classical fourth-order Runge-Kutta method at a fixed step that divides the torque loop's period,
    so that every held torque is constant within a step.

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
        self._at = _State(robot.n)
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
        state = self._start(q, dq, np.asarray(controller(0.0, q, dq), dtype=float), contact)
        loops = round(self.elasticity.torque_rate * CONTROL_PERIOD)
        periods = int(np.floor(duration / CONTROL_PERIOD + 1e-9))
        record = _Recorder(self, contact)
        time = 0.0
        for period in range(periods + 1):
            record.sample(time, state)
            if period == periods:
                break
            desired = np.asarray(controller(time, state[self._at.q].copy(), state[self._at.dq].copy()), dtype=float)
            for _ in range(loops):
                measured = state[self._at.filtered] if self._filters else self.joint_torque(state)
                actuation = self.elasticity.actuation(desired, measured)
                for _ in range(self._substeps):
                    before = state
                    state = self._runge_kutta(state, actuation, contact)
                    if contact is not None and state[-1] != 0.0 and self.touch_depth(state, contact) < 0.0:
                        # A contact model's memory ends with the contact.
                        state[-1] = 0.0
                    time += self.step
                    record.step(time, before, state)
            if not np.all(np.isfinite(state)):
                raise NoSolutionError(
                    f"the plant diverged at {time:.4f} s with steps of {self.step:g} s", problem=self.elasticity
                )
        return record.run()

    def touch_depth(self, state: Array, contact: SurfaceContact) -> float:
        """Penetration of the tip, m, negative apart."""
        pin.forwardKinematics(self._model, self._data, state[self._at.q])
        centre = pin.updateFramePlacement(self._model, self._data, self.robot.tool_frame_id).translation
        return contact.depth(centre - self.robot.tool_radius * contact.normal, state[self._at.displacement])

    def joint_torque(self, state: Array) -> Array:
        """Reading of the torque sensors (n,), N m."""
        at = self._at
        return self.elasticity.torque(state[at.theta], state[at.dtheta], state[at.q], state[at.dq])

    def contact_force(self, state: Array, contact: SurfaceContact | None) -> Array:
        """Contact force (3,) on the robot, N, base frame."""
        return np.zeros(3) if contact is None else self._contact(state, contact)[0]

    def _start(self, q: Array, dq: Array, desired: Array, contact: SurfaceContact | None) -> Array:
        """The state in which the joints carry the torques of the rigid arm (9) in free motion: u - B_theta ddq."""
        inertia, at = self.elasticity.apparent_motor_inertia, self._at
        matrix = self.robot.mass_matrix(q, "M") + np.diag(inertia)
        torque = desired - inertia * np.linalg.solve(matrix, desired - self.robot.bias(q, dq))
        state = np.zeros(at.size)
        state[at.q], state[at.dq], state[at.dtheta], state[at.filtered] = q, dq, dq, torque
        state[at.theta] = q + torque / self.elasticity.stiffness
        if contact is not None and contact.obstacle is not None:
            state[at.twist] = contact.obstacle.twist
        return state

    def _contact(self, state: Array, contact: SurfaceContact) -> tuple[Array, Array, Array | None, float]:
        """Force on the robot (3,), point (3,), joint torque of that force (n,) or None apart, internal rate."""
        at = self._at
        jacobian = pin.computeFrameJacobian(
            self._model, self._data, state[at.q], self.robot.tool_frame_id, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        )
        centre = pin.updateFramePlacement(self._model, self._data, self.robot.tool_frame_id).translation
        lever = -self.robot.tool_radius * contact.normal
        point = centre + lever
        depth = contact.depth(point, state[at.displacement])
        if depth < 0.0:
            return np.zeros(3), point, None, 0.0
        twist = jacobian @ state[at.dq]
        slip = contact.slip(twist[:3] + _cross(twist[3:], lever), point, state[at.twist])
        internal = float(state[-1])
        rate = 0.0
        if contact.force_model.has_memory:
            rate = float(contact.force_model.internal_rate(depth, -float(contact.normal @ slip), internal))
        force = contact.force(depth, slip, internal)
        return force, point, np.concatenate([force, _cross(lever, force)]) @ jacobian, rate

    def _derivative(self, state: Array, actuation: Array, contact: SurfaceContact | None) -> Array:
        at, elasticity = self._at, self.elasticity
        torque = self.joint_torque(state)
        link_torque = torque
        derivative = np.zeros(at.size)
        if contact is not None:
            force, point, contact_torque, rate = self._contact(state, contact)
            if contact_torque is not None:
                link_torque = torque + contact_torque
                derivative[-1] = rate
                derivative[at.twist] = contact.object_acceleration(point, force)
            if contact.obstacle is not None:
                derivative[at.displacement] = state[at.twist]
        derivative[at.q], derivative[at.theta] = state[at.dq], state[at.dtheta]
        derivative[at.dq] = pin.aba(self._model, self._data, state[at.q], state[at.dq], link_torque)
        derivative[at.dtheta] = elasticity.motor_acceleration(actuation, torque, state[at.dtheta])
        if self._filters:
            derivative[at.filtered] = 2.0 * np.pi * elasticity.torque_cutoff * (torque - state[at.filtered])
        return derivative

    def _runge_kutta(self, state: Array, actuation: Array, contact: SurfaceContact | None) -> Array:
        h = self.step
        k1 = self._derivative(state, actuation, contact)
        k2 = self._derivative(state + 0.5 * h * k1, actuation, contact)
        k3 = self._derivative(state + 0.5 * h * k2, actuation, contact)
        k4 = self._derivative(state + h * k3, actuation, contact)
        return state + h / 6.0 * (k1 + 2.0 * (k2 + k3) + k4)


class _Recorder:
    """Collects the samples of one run, and every step around the first touch."""

    def __init__(self, arm: FlexibleJointArm, contact: SurfaceContact | None) -> None:
        self._arm, self._contact, self._at = arm, contact, _State(arm.robot.n)
        self._samples: list[tuple[float, Array, Array, Array]] = []
        self._fine: list[tuple[float, float]] = []
        self._impact_time = float("nan")
        self._touched = np.full(self._at.size, np.nan)

    def sample(self, time: float, state: Array) -> None:
        """Keep one sample per control period."""
        force = self._arm.contact_force(state, self._contact)
        self._samples.append((time, state.copy(), self._arm.joint_torque(state), force))

    def step(self, time: float, before: Array, after: Array) -> None:
        """Look for the first touch in the step that ended at `time`, and keep what surrounds it."""
        contact = self._contact
        if contact is None:
            return
        force = 0.0
        if np.isnan(self._impact_time):
            depth = self._arm.touch_depth(after, contact)
            if depth >= 0.0:
                start = self._arm.touch_depth(before, contact)
                part = start / (start - depth) if start < 0.0 else 0.0
                self._impact_time = time - self._arm.step * (1.0 - part)
                self._touched = before + part * (after - before)
            elif self._fine and self._fine[0][0] < time + _FINE[0]:
                self._fine.pop(0)
        elif time >= self._impact_time + _FINE[1]:
            return
        if not np.isnan(self._impact_time):
            force = float(contact.normal @ self._arm.contact_force(after, contact))
        self._fine.append((time, force))

    def run(self) -> FlexibleJointRun:
        """Everything collected."""
        at = self._at
        time, states, torque, force = (np.array(column) for column in zip(*self._samples, strict=True))
        fine = np.array(self._fine).reshape(-1, 2)
        return FlexibleJointRun(
            time=time,
            q=states[:, at.q],
            dq=states[:, at.dq],
            theta=states[:, at.theta],
            torque=torque,
            force=force,
            object_twist=states[:, at.twist],
            impact_time=self._impact_time,
            q_impact=self._touched[at.q],
            velocity_before=self._touched[at.dq],
            fine_time=fine[:, 0],
            fine_force=fine[:, 1],
        )


def _cross(first: Array, second: Array) -> Array:
    # np.cross takes ten times as long for a single pair of vectors.
    (a, b, c), (x, y, z) = first.tolist(), second.tolist()
    return np.array([b * z - c * y, c * x - a * z, a * y - b * x])
