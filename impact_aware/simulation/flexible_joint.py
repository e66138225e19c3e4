"""Torque-controlled flexible-joint arm in continuous contact, from any robot model (Rey Arias 2024, eqs. 1-7)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.contact.force_model import check_not_negative
from impact_aware.errors import InvalidInputError, NoSolutionError
from impact_aware.robot import RobotModel
from impact_aware.simulation.flexible_joint_run import FlexibleJointRun, RunRecorder
from impact_aware.simulation.joint_elasticity import CONTROL_PERIOD, JointElasticity
from impact_aware.simulation.surface_contact import SurfaceContact

Controller = Callable[[float, Array, Array], Array]
"""Desired link-side torque u (n,), N m, from time, link positions and link velocities; asked once per millisecond."""


class FlexibleJointArm:
    """The plant: link side (2), motor side (3), torque loop (4) in discrete time, contact (7) at the tool tip.

    Integrated with the classical fourth-order Runge-Kutta method at a fixed step that divides the torque loop's period,
    so that every held torque is constant within a step. The tests show the convergence.

    Attributes:
        robot: The arm; its own armature is not used.
        elasticity: The joints.
    """

    def __init__(self, robot: RobotModel, elasticity: JointElasticity, *, substeps: int = 5) -> None:
        """Prepare.

        Args:
            robot: The arm.
            elasticity: One value per joint of `robot`.
            substeps: Integration steps per period of the torque loop; 5 make 50 us at 4 kHz.

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
        self._ratio = elasticity.motor_inertia / elasticity.apparent_motor_inertia

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
            controller: Gives the desired link-side torques.
            contact: The surface, or None for free motion.
            duration: s.

        Raises:
            InvalidInputError: A state of the wrong size or not finite.
            NoSolutionError: The state is no longer finite: the step is too long for the stiffness.
        """
        q = self.robot.check_configuration(q, "q")
        dq = self.robot.check_configuration(dq, "dq")
        check_not_negative("duration", duration, "s")
        n, elasticity = self.robot.n, self.elasticity
        torque = self._rigid_torque(q, dq, np.asarray(controller(0.0, q, dq), dtype=float))
        state = np.concatenate([q, dq, q + torque / elasticity.stiffness, dq, torque, np.zeros(12), np.zeros(1)])
        if contact is not None and contact.obstacle is not None:
            state[5 * n + 6 : 5 * n + 12] = contact.obstacle.twist
        loops = round(elasticity.torque_rate * CONTROL_PERIOD)
        periods = int(np.floor(duration / CONTROL_PERIOD + 1e-9))
        record = RunRecorder(n)
        time = 0.0
        for period in range(periods + 1):
            force = self.contact_force(state, contact)
            record.coarse(time, state, self._joint_torque(state), force)
            if period == periods:
                break
            desired = np.asarray(controller(time, state[:n].copy(), state[n : 2 * n].copy()), dtype=float)
            for _ in range(loops):
                measured = state[4 * n : 5 * n] if np.isfinite(elasticity.torque_cutoff) else self._joint_torque(state)
                # Equation (4): B_rho B_theta^-1 u + (I - B_rho B_theta^-1) (tau + D K^-1 dtau).
                actuation = self._ratio * desired + (1.0 - self._ratio) * measured
                for _ in range(self._substeps):
                    before = state
                    state = self._runge_kutta(state, actuation, contact)
                    if contact is not None and state[-1] != 0.0 and self.touch_depth(state, contact) < 0.0:
                        # A contact model's memory ends with the contact.
                        state[-1] = 0.0
                    time += self.step
                    if contact is not None:
                        record.fine(time, before, state, self, contact)
            if not np.all(np.isfinite(state)):
                raise NoSolutionError(
                    f"the plant diverged at {time:.4f} s with steps of {self.step:g} s", problem=elasticity
                )
        return record.run()

    def tip(self, q: Array) -> Array:
        """Centre of the tool tip (3,), base frame, m."""
        return np.array(self.robot.placement(q).translation)

    def touch_depth(self, state: Array, contact: SurfaceContact) -> float:
        """Penetration of the tip, m, negative apart."""
        n = self.robot.n
        pin.forwardKinematics(self._model, self._data, state[:n])
        centre = pin.updateFramePlacement(self._model, self._data, self.robot.tool_frame_id).translation
        return contact.depth(centre - self.robot.tool_radius * contact.normal, state[5 * n : 5 * n + 6])

    def _rigid_torque(self, q: Array, dq: Array, desired: Array) -> Array:
        """Joint torques (n,) of the rigid arm (9) in free motion: u - B_theta ddq."""
        inertia = self.elasticity.apparent_motor_inertia
        matrix = self.robot.mass_matrix(q, "M") + np.diag(inertia)
        return desired - inertia * np.linalg.solve(matrix, desired - self.robot.bias(q, dq))

    def _joint_torque(self, state: Array) -> Array:
        n, elasticity = self.robot.n, self.elasticity
        return elasticity.stiffness * (state[2 * n : 3 * n] - state[:n]) + elasticity.damping * (
            state[3 * n : 4 * n] - state[n : 2 * n]
        )

    def contact_force(self, state: Array, contact: SurfaceContact | None) -> Array:
        """Contact force (3,) on the robot, N, base frame."""
        if contact is None:
            return np.zeros(3)
        return self._contact(state, contact)[0]

    def _contact(self, state: Array, contact: SurfaceContact) -> tuple[Array, Array, Array | None, float]:
        """Force on the robot (3,), point (3,), joint torque of that force (n,) or None apart, internal rate."""
        n = self.robot.n
        q, dq = state[:n], state[n : 2 * n]
        jacobian = pin.computeFrameJacobian(
            self._model, self._data, q, self.robot.tool_frame_id, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        )
        centre = pin.updateFramePlacement(self._model, self._data, self.robot.tool_frame_id).translation
        lever = -self.robot.tool_radius * contact.normal
        point = centre + lever
        depth = contact.depth(point, state[5 * n : 5 * n + 6])
        if depth < 0.0:
            return np.zeros(3), point, None, 0.0
        twist = jacobian @ dq
        slip = contact.slip(twist[:3] + _cross(twist[3:], lever), point, state[5 * n + 6 : 5 * n + 12])
        internal = float(state[-1])
        rate = 0.0
        if contact.force_model.has_memory:
            rate = float(contact.force_model.internal_rate(depth, -float(contact.normal @ slip), internal))
        force = contact.force(depth, slip, internal)
        return force, point, np.concatenate([force, _cross(lever, force)]) @ jacobian, rate

    def _derivative(self, state: Array, actuation: Array, contact: SurfaceContact | None) -> Array:
        n, elasticity = self.robot.n, self.elasticity
        torque = self._joint_torque(state)
        link_torque = torque
        derivative = np.empty_like(state)
        derivative[5 * n :] = 0.0
        if contact is not None:
            force, point, contact_torque, rate = self._contact(state, contact)
            if contact_torque is not None:
                link_torque = torque + contact_torque
                derivative[-1] = rate
                if contact.obstacle is not None:
                    derivative[5 * n + 6 : 5 * n + 12] = contact.object_acceleration(point, force)
            if contact.obstacle is not None:
                derivative[5 * n : 5 * n + 6] = state[5 * n + 6 : 5 * n + 12]
        derivative[:n] = state[n : 2 * n]
        derivative[n : 2 * n] = pin.aba(self._model, self._data, state[:n], state[n : 2 * n], link_torque)
        derivative[2 * n : 3 * n] = state[3 * n : 4 * n]
        derivative[3 * n : 4 * n] = (actuation - torque) / elasticity.motor_inertia
        if np.isfinite(elasticity.torque_cutoff):
            derivative[4 * n : 5 * n] = 2.0 * np.pi * elasticity.torque_cutoff * (torque - state[4 * n : 5 * n])
        else:
            derivative[4 * n : 5 * n] = 0.0
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
