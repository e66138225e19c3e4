"""First-order change of the controller's torque by an arm's state and by time, with the active bounds held.

Own derivation. A cycle's program over the joint accelerations a of an arm has the cost of tasks
`w/2 ||J a - b||^2` and the active bounds N'a = c, and gives the torque tau = M a + h. At its minimum

    H a + g = N l,   H = sum w J'J + r 1,   g = -sum w J'b,   N'a = c,

with the multipliers l. A change of the state (dq, ddq) changes a by da and l by dl, for which

    H da - N dl = d(N) l - sum w (d(J') s + J' d(J a - b)|a) - sum J' s dw,   N' da = dc - d(N') a,

with the residual s = J a - b and d(...)|a the change at constant a. The torque changes by

    dtau = d(M a + h)|a + M da.

d(M a + h)|a are the derivatives of inverse dynamics, d(J a - b)|a those of the tool's acceleration (both Pinocchio's,
analytic) less those of the target acceleration. A torque bound has N = M e_i and c = tau_i - h_i, hence dtau_i = 0:
what the torque's limits decide does not change with the state. With time, at the same state, what tasks want and
their weights change, b' and w', and so

    H da - N dl = sum w J'b' - sum J's w',   N' da = 0,   dtau = M da.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pinocchio as pin
from scipy.linalg.lapack import dposv

from impact_aware.arrays import Array
from impact_aware.control.arm import ControlledArm
from impact_aware.control.command import Mode
from impact_aware.control.parameters import ControlParameters
from impact_aware.control.qp import AccelerationTask, LimitBounds, QpSolver
from impact_aware.control.tasks import mirrored
from impact_aware.control.tracking import TrackingReference

FIRST_TORQUE_ROW = 4
"""Rows of `QuadraticProgram.limits` before it bound accelerations, s. there."""

NONE = np.zeros(0)
"""Gains of a cycle that solved a program."""


class TorqueDerivatives(NamedTuple):
    """Derivatives of an arm's torque by its state, (n, n) each, N m/rad and N m s/rad, and by time, (n,), N m/s."""

    by_position: Array
    by_velocity: Array
    by_time: Array


class TaskChange(NamedTuple):
    """A task of an arm with the derivatives of what it wants; k rows, n joints.

    Attributes:
        jacobian: (k, n) J.
        residual: (k,) s = J a - b.
        weight: w.
        by_position: (k, n) Of J a - b by q, at constant a.
        by_velocity: (k, n) Of J a - b by dq.
        by_time: (k,) Of b by time.
        weight_by_time: Of w by time, 1/s.
        weight_by_position: (n,) Of w by q, or None where it is constant.
        rows: Rows of the tool's Jacobian that J is, or None where J is constant.
    """

    jacobian: Array
    residual: Array
    weight: float
    by_position: Array
    by_velocity: Array
    by_time: Array
    weight_by_time: float = 0.0
    weight_by_position: Array | None = None
    rows: slice | None = None


class ArmDerivatives:
    """Derivatives of an arm's kinematics and dynamics at one state and joint acceleration.

    Attributes:
        torque_by_position: (n, n) Of M a + h by q at constant a, N m/rad.
        torque_by_velocity: (n, n) By dq, N m s/rad.
        acceleration_by_position: (6, n) Of the tool's acceleration J a + J' dq by q at constant a.
        acceleration_by_velocity: (6, n) By dq.
        twist_by_position: (6, n) Of the tool's twist by q.
        jacobian: (6, n) Of the tool, base axes, linear rows first.
        mass_matrix: (n, n) M + B_theta, kg m^2.
    """

    def __init__(self, arm: ControlledArm, q: Array, dq: Array, acceleration: Array) -> None:
        """Evaluate at the state that the arm was refreshed with last.

        Args:
            arm: The arm.
            q: (n,) rad.
            dq: (n,) rad/s.
            acceleration: (n,) a, rad/s^2.
        """
        self.jacobian, self.mass_matrix = arm.jacobian, arm.mass_matrix
        self._model, self._q = arm.model, q
        # The arm's own data are views that the cycle still reads.
        self._data = data = arm.model.createData()
        by_position, by_velocity, _ = pin.computeRNEADerivatives(arm.model, data, q, dq, acceleration)
        self.torque_by_position, self.torque_by_velocity = by_position.copy(), by_velocity.copy()
        self._frame = frame = arm.robot.tool_frame_id
        axes = pin.LOCAL_WORLD_ALIGNED
        pin.computeForwardKinematicsDerivatives(arm.model, data, q, dq, acceleration)
        pin.updateFramePlacement(arm.model, data, frame)
        twist_by_position, by_position, by_velocity, jacobian = pin.getFrameAccelerationDerivatives(
            arm.model, data, frame, axes
        )
        linear, angular = arm.twist[:3], arm.twist[3:]
        rotation = pin.getFrameAcceleration(arm.model, data, frame, axes).angular
        # Pinocchio's are those at a fixed point; the tool's centre, at which twist and acceleration are, moves with q.
        twist_by_position[:3] += pin.skew(angular) @ jacobian[:3]
        by_position[:3] += pin.skew(rotation) @ jacobian[:3]
        # The classical acceleration has w x v beside the spatial one.
        by_position[:3] += pin.skew(angular) @ twist_by_position[:3] - pin.skew(linear) @ twist_by_position[3:]
        by_velocity[:3] += pin.skew(angular) @ jacobian[:3] - pin.skew(linear) @ jacobian[3:]
        self.twist_by_position = twist_by_position
        self.acceleration_by_position, self.acceleration_by_velocity = by_position, by_velocity

    def inertia_torque(self, acceleration: Array) -> Array:
        """Derivative (n, n) of M x by q for a constant x (n,)."""
        still = np.zeros(self._q.size)
        with_inertia = pin.computeRNEADerivatives(self._model, self._data, self._q, still, acceleration)[0].copy()
        return np.asarray(with_inertia - pin.computeRNEADerivatives(self._model, self._data, self._q, still, still)[0])

    def force_torque(self, wrench: Array) -> Array:
        """Derivative (n, n) of J'f by q for a constant wrench f (6,) at the tool."""
        linear, angular = self.jacobian[:3], self.jacobian[3:]
        by_force = linear.T @ (pin.skew(wrench[:3]) @ angular)
        by_moment = angular.T @ (pin.skew(wrench[3:]) @ angular)
        # Joint j rotates all columns from its own on; for those before it the point moves in which the force acts.
        return np.asarray(np.tril(by_force + by_moment) + np.triu(by_force.T, 1))

    def force_acceleration(self, wrench: Array) -> Array:
        """Derivative (6, n) of J M^-1 J'f by q for a constant wrench f (6,) at the tool."""
        joint: Array = dposv(self.mass_matrix, self.jacobian.T @ wrench)[1]
        change = np.linalg.solve(self.mass_matrix, self.force_torque(wrench) - self.inertia_torque(joint))
        return np.asarray(self._twist_change(joint) + self.jacobian @ change)

    def _twist_change(self, velocity: Array) -> Array:
        """Derivative (6, n) of J x by q for a constant x (n,)."""
        model, data, still = self._model, self._data, np.zeros(self._q.size)
        pin.computeForwardKinematicsDerivatives(model, data, self._q, velocity, still)
        pin.updateFramePlacement(model, data, self._frame)
        change = pin.getFrameVelocityDerivatives(model, data, self._frame, pin.LOCAL_WORLD_ALIGNED)[0]
        change[:3] += pin.skew(self.jacobian[3:] @ velocity) @ self.jacobian[:3]
        return np.asarray(change)


class ActiveBound(NamedTuple):
    """A bound that decides: on the acceleration of a joint, with its change by that joint's state, or on its torque."""

    joint: int
    is_torque: bool
    by_position: float = 0.0
    by_velocity: float = 0.0


def torque_derivatives(
    arm: ArmDerivatives,
    acceleration: Array,
    tasks: Sequence[TaskChange],
    bounds: Sequence[ActiveBound],
    regularisation: float,
) -> TorqueDerivatives:
    """Derivatives of the torque that a program gives an arm; see this module.

    Args:
        arm: At the state and at the program's acceleration.
        acceleration: (n,) The program's, rad/s^2.
        tasks: Those about this arm.
        bounds: Those that are active.
        regularisation: r.
    """
    n = acceleration.size
    hessian, force = regularisation * np.eye(n), regularisation * acceleration
    by_position, by_velocity, by_time = np.zeros((n, n)), np.zeros((n, n)), np.zeros(n)
    wrench = np.zeros(6)
    for task in tasks:
        hessian += task.weight * task.jacobian.T @ task.jacobian
        own = task.jacobian.T @ task.residual
        force = force + task.weight * own
        by_position -= task.weight * task.jacobian.T @ task.by_position
        by_velocity -= task.weight * task.jacobian.T @ task.by_velocity
        by_time += task.weight * task.jacobian.T @ task.by_time - task.weight_by_time * own
        if task.weight_by_position is not None:
            by_position -= np.outer(own, task.weight_by_position)
        if task.rows is not None:
            wrench[task.rows] += task.weight * task.residual
    by_position -= arm.force_torque(wrench)
    if bounds:
        identity = np.eye(n)
        normals = np.array([arm.mass_matrix[b.joint] if b.is_torque else identity[b.joint] for b in bounds]).T
        multipliers = np.linalg.lstsq(normals, force, rcond=None)[0]
        inertia = np.zeros(n)
        change_q, change_v = np.zeros((len(bounds), n)), np.zeros((len(bounds), n))
        for row, bound in enumerate(bounds):
            if bound.is_torque:
                inertia[bound.joint] += multipliers[row]
                change_q[row] = -arm.torque_by_position[bound.joint]
                change_v[row] = -arm.torque_by_velocity[bound.joint]
            else:
                change_q[row, bound.joint], change_v[row, bound.joint] = bound.by_position, bound.by_velocity
        by_position += arm.inertia_torque(inertia)
        zeros = np.zeros((len(bounds), len(bounds)))
        system = np.block([[hessian, -normals], [normals.T, zeros]])
        right = np.block([[by_position, by_velocity, by_time[:, np.newaxis]], [change_q, change_v, zeros[:, :1]]])
        change = np.linalg.lstsq(system, right, rcond=None)[0][:n]
    else:
        change = np.linalg.solve(hessian, np.column_stack([by_position, by_velocity, by_time]))
    by_position, by_velocity, by_time = np.split(arm.mass_matrix @ change, [n, 2 * n], axis=1)
    return TorqueDerivatives(arm.torque_by_position + by_position, arm.torque_by_velocity + by_velocity, by_time[:, 0])


class Answer(NamedTuple):
    """What the last torques of all arms were made of.

    Attributes:
        mode: Mode of the cycle.
        q: (n,) Joint positions that were answered, rad.
        dq: (n,) rad/s.
        acceleration: (n,) Joint accelerations that the torques are to give, rad/s^2.
        time: Of the state, s.
        elapsed: Time since the start, s.
        tasks: Of the quadratic program; none where there was none.
        later: The same tasks a period later, at the same state.
        stiffness: (n,) Derivative of -`acceleration` by q where there was no program, 1/s^2.
        damping: (n,) Derivative of -`acceleration` by dq there, 1/s.
    """

    mode: Mode
    q: Array
    dq: Array
    acceleration: Array
    time: float
    elapsed: float = 0.0
    tasks: Sequence[AccelerationTask] = ()
    later: Sequence[AccelerationTask] = ()
    stiffness: Array = NONE
    damping: Array = NONE


class LocalGains:
    """Evaluates them; the parts are the controller's own, as its last cycle left them.

    Attributes:
        parameters: The controller's gains.
    """

    def __init__(
        self, arms: Sequence[ControlledArm], parameters: ControlParameters, bounds: LimitBounds, solver: QpSolver
    ) -> None:
        """Keep them."""
        self._arms, self.parameters, self._bounds, self._solver = arms, parameters, bounds, solver

    def at(self, answer: Answer, reference: TrackingReference | None) -> list[TorqueDerivatives]:
        """Derivatives of each arm's torque by its own state, the other arms' held.

        Args:
            answer: Of the last cycle.
            reference: As the last cycle left it.
        """
        slopes = self._bounds.slopes(answer.q, answer.dq) if answer.tasks else None
        found = []
        for index, arm in enumerate(self._arms):
            part = arm.joints
            own = ArmDerivatives(arm, answer.q[part], answer.dq[part], answer.acceleration[part])
            if slopes is None or reference is None:
                mass = own.mass_matrix
                found.append(
                    TorqueDerivatives(
                        own.torque_by_position - mass * answer.stiffness[part],
                        own.torque_by_velocity - mass * answer.damping[part],
                        np.zeros(len(mass)),
                    )
                )
                continue
            tasks = [
                self._change(index, own, task, later, answer, reference)
                for task, later in zip(answer.tasks, answer.later, strict=True)
                if task.joints == part
            ]
            active = self._active(index, slopes)
            acceleration = answer.acceleration[part]
            found.append(torque_derivatives(own, acceleration, tasks, active, self.parameters.regularisation))
        return found

    def _active(self, block: int, slopes: tuple[Array, Array]) -> list[ActiveBound]:
        first, found = self._arms[block].joints.start, []
        for row, joint in self._solver.active_rows(block):
            if row >= FIRST_TORQUE_ROW:
                found.append(ActiveBound(joint, True))
            else:
                by_position, by_velocity = (float(slope[row, first + joint]) for slope in slopes)
                found.append(ActiveBound(joint, False, by_position, by_velocity))
        return found

    def _change(
        self,
        index: int,
        own: ArmDerivatives,
        task: AccelerationTask,
        later: AccelerationTask,
        answer: Answer,
        reference: TrackingReference,
    ) -> TaskChange:
        period = self.parameters.period
        with_time = (later.target - task.target) / period, (later.weight - task.weight) / period
        acceleration = answer.acceleration[task.joints]
        residual = task.jacobian @ acceleration - task.target
        rows = len(task.target)
        if rows == 1:
            # The null-space task (21), (36).
            damping = reference.blend if answer.mode is Mode.INTERIM else 1.0
            stiffness = self.parameters.null_space_stiffness
            by_velocity = 2.0 * damping * math.sqrt(stiffness) * task.jacobian
            return TaskChange(task.jacobian, residual, task.weight, stiffness * task.jacobian, by_velocity, *with_time)
        weight_change = None
        if rows == 6:
            by_pose, by_twist = reference.derivatives(answer.mode, answer.elapsed, index, self._arms[index])
        else:
            # Synchronisation (22)-(27): both tasks want this tool where its mirrored partner is.
            stiffness = self.parameters.sync_stiffness
            by_pose, by_twist = -stiffness * np.eye(3), -2.0 * math.sqrt(stiffness) * np.eye(3)
            weight_change = self._weight_change(index, own, task, reference)
        part = slice(0, rows)
        twist = own.twist_by_position[part]
        by_position = own.acceleration_by_position[part] - by_pose @ own.jacobian[part] - by_twist @ twist
        by_velocity = own.acceleration_by_velocity[part] - by_twist @ own.jacobian[part]
        if rows == 6 and reference.pushes(index):
            wrench = np.asarray(reference.field.arms[index].feedforward_wrench)
            by_position = by_position - reference.push * own.force_acceleration(wrench)
        changes = by_position, by_velocity, *with_time
        return TaskChange(task.jacobian, residual, task.weight, *changes, weight_change, part)

    def _weight_change(
        self, index: int, own: ArmDerivatives, task: AccelerationTask, reference: TrackingReference
    ) -> Array:
        """Derivative (n,) of the weight, which is the gap's length times a constant."""
        normal, centre = reference.field.arms[0].normal, reference.object_position
        first, second = self._arms
        gap = centre + mirrored(second.position - centre, normal) - first.position
        square = float(gap @ gap)
        if square == 0.0:
            return np.zeros(own.jacobian.shape[1])
        along = -gap if index == 0 else mirrored(gap, normal)
        return np.asarray(task.weight / square * (along @ own.jacobian[:3]))
