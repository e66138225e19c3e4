"""The derivatives of a controller's last torques by the state of each arm and by time, in every mode."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from impact_aware.arrays import Array
from impact_aware.control.arm import ControlledArm
from impact_aware.control.command import Mode
from impact_aware.control.linearisation import (
    ActiveBound,
    ArmDerivatives,
    TaskChange,
    TorqueDerivatives,
    torque_derivatives,
)
from impact_aware.control.parameters import ControlParameters
from impact_aware.control.qp import LimitBounds, QpSolver
from impact_aware.control.tasks import AccelerationTask, mirrored
from impact_aware.control.tracking import TrackingReference

FIRST_TORQUE_ROW = 4
"""Rows of `QuadraticProgram.limits` before it bound accelerations, s. there."""


NONE = np.zeros(0)
"""Gains of a cycle that solved a program."""


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
