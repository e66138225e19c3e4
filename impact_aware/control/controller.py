"""The law of time-invariant reference spreading for one arm or several (van Steen 2024, section IV)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.control import qp
from impact_aware.control.arm import ControlledArm
from impact_aware.control.braking import Braking
from impact_aware.control.command import Command, Mode, SafeReason
from impact_aware.control.linearisation import Answer, LocalGains, TorqueDerivatives
from impact_aware.control.parameters import ControlParameters
from impact_aware.control.qp import LimitBounds, Regime
from impact_aware.control.tasks import AccelerationTask, field_tasks
from impact_aware.control.tracking import TrackingReference
from impact_aware.errors import InvalidInputError
from impact_aware.reference import ArmAfterImpact, ReferenceField
from impact_aware.robot import RobotModel


class ReferenceSpreadingController:
    """One quadratic program over all arms, with a mode before, during and after the impact.

    IDLE holds the posture it finds. `start` begins ANTE; `notify_impact` leads to INTERIM or POST. Whatever goes wrong
    leads to SAFE, which takes the motion away, then holds, until `reset`. The torques are wanted ones: what is sent is
    decided by the `ControlSession`, which alone holds this class.

    Attributes:
        arms: The arms at the last state.
        parameters: Gains, weights, limits.
        field: The reference in use, or None.
        mode: The mode of the next cycle.
        gravity: (n,) Gravity torque at the last state, N m.
        regime: Of the last cycle's program.
        n: Number of joints of all arms.
    """

    def __init__(
        self,
        robots: Sequence[RobotModel],
        parameters: ControlParameters | None = None,
        field: ReferenceField | None = None,
        bases: Sequence[pin.SE3] | None = None,
    ) -> None:
        """Prepare the arms; arguments and errors as those of `ControlSession`, which makes it."""
        if not robots:
            raise InvalidInputError("robots", 0, "one arm or more")
        bases = [pin.SE3.Identity() for _ in robots] if bases is None else bases
        if len(bases) != len(robots):
            raise InvalidInputError("bases", len(bases), f"{len(robots)}, one per arm")
        self.parameters = parameters or ControlParameters()
        self.arms: list[ControlledArm] = []
        self.n = 0
        for robot, base in zip(robots, bases, strict=True):
            self.arms.append(ControlledArm(robot.tilted(base.rotation), base, self.n))
            self.n += robot.n
        limits = [robot.limits for robot in robots]
        settings = self.parameters
        self._bounds = LimitBounds(limits, settings.period, settings.braking_acceleration, settings.velocity_horizon)
        self._builder = qp.ProgramBuilder(self.n, settings.regularisation)
        self._solver = qp.QpSolver([robot.n for robot in robots])
        self._gains = LocalGains(self.arms, settings, self._bounds, self._solver)
        self._answer: Answer | None = None
        if len(self.arms) == 1:
            only = self.arms[0]
            self._mass_matrix, self._bias, self.gravity = only.mass_matrix, only.bias, only.gravity
        else:
            self._mass_matrix, self._bias = np.zeros((self.n, self.n)), np.zeros(self.n)
            self.gravity = np.concatenate([arm.gravity for arm in self.arms])
        self.regime = Regime.NO_PROGRAM
        self._none, self._unknown = np.zeros((len(self.arms), 6)), np.full(3, np.nan)
        self.field: ReferenceField | None = None
        self._reference: TrackingReference | None = None
        self._braking = [Braking(robot, self.parameters) for robot in robots]
        self.reset()
        if field is not None:
            self.set_field(field)

    def reset(self) -> None:
        """Back to IDLE, holding wherever the arms are; leaves the safe mode."""
        self.mode = Mode.IDLE
        self._reason: SafeReason | None = None
        self._detail = ""
        self.hold_here()
        self._start_time, self._start_posture = 0.0, np.zeros(self.n)
        if self._reference is not None:
            self._reference.reset()

    def set_field(self, field: ReferenceField) -> None:
        """Follow this field from now on; after the impact only its prediction is taken over.

        Raises:
            InvalidInputError: A field for another number of arms, one whose numbers make no field, or one for another
                task than that of the field along which the arms move.
        """
        if self.mode.follows_field and self.field is not None and field.task_number != self.field.task_number:
            expected = f"{self.field.task_number}, the task for which the arms move"
            raise InvalidInputError("field.task_number", field.task_number, expected)
        if len(field.arms) != len(self.arms):
            raise InvalidInputError("field.arms", len(field.arms), f"{len(self.arms)}, one per arm")
        for arm, own in zip(self.arms, field.arms, strict=True):
            if not -1 <= own.null_space_joint < arm.robot.n:
                raise InvalidInputError("null_space_joint", own.null_space_joint, f"-1..{arm.robot.n - 1}")
        if self._reference is not None and self.mode in (Mode.INTERIM, Mode.POST):
            self._reference.take_prediction(field, self.arms)
        else:
            self._reference = TrackingReference(field, self.parameters)
        self.field = self._reference.field

    def start(self, time: float, q: ArrayLike, dq: ArrayLike) -> None:
        """Begin the motion from rest: ANTE, with the field's start ramp.

        Args:
            time: Stamp of the state, s.
            q: (n,) Joint positions of all arms, rad.
            dq: (n,) Joint velocities, rad/s.

        Raises:
            InvalidInputError: No field, the safe mode, or a state that is not finite.
        """
        if self._reference is None:
            raise InvalidInputError("field", None, "a reference field before the start")
        if self.mode is Mode.SAFE:
            raise InvalidInputError("mode", self.mode.name, "a reset before the start")
        q, dq = np.asarray(q, dtype=float), np.asarray(dq, dtype=float)
        if q.shape != (self.n,) or dq.shape != (self.n,) or not np.isfinite(q + dq).all():
            raise InvalidInputError("state", q.tolist(), f"{self.n} finite positions and velocities")
        self.refresh(q, dq)
        self._reference.reset()
        self.field = self._reference.field
        self._start_time, self._start_posture = float(time), q.copy()
        self.mode = Mode.ANTE

    def tune(self, parameters: ControlParameters) -> None:
        """Follow the field with these from the next `start` on; what is not `tunable` stays as it is.

        Raises:
            InvalidInputError: The arms follow the field now.
        """
        if self.mode.follows_field:
            raise InvalidInputError("mode", self.mode.name, "arms that hold, for other gains")
        self.parameters = self._gains.parameters = self.parameters.tuned_as(parameters)
        if self._reference is not None:
            self._reference.parameters = self.parameters

    def hold(self) -> None:
        """Task done: take the motion away and hold the posture."""
        if self.mode is not Mode.SAFE:
            self.mode = Mode.HOLD
            self.hold_here()

    def hold_here(self) -> None:
        """Hold the next posture in place of the one that was held, where no field is followed."""
        for braking in self._braking:
            braking.begin()

    def safe_stop(self, reason: SafeReason, detail: str = "") -> None:
        """Take the motion away and hold until `reset`; the first reason is kept."""
        if self.mode is not Mode.SAFE:
            self.mode = Mode.SAFE
            self._reason, self._detail = reason, detail
            self.hold_here()

    @property
    def safe_reason(self) -> tuple[SafeReason | None, str]:
        """Reason of the last change to the safe mode, and its description; set before the first safe command."""
        return self._reason, self._detail

    def notify_impact(
        self,
        time_impact: float,
        time_detected: float,
        object_velocity: ArrayLike | None = None,
        *,
        arm: int = 0,
        event_sequence: int | None = None,
        arms_after: Mapping[int, ArmAfterImpact] | None = None,
    ) -> bool:
        """An arm has hit the object: arguments and result as `ImpactEvents.notify_impact`, which calls this.

        The proposed controller enters INTERIM at the first arm's impact. The baselines without it enter POST when
        every arm has hit. Impacts outside ANTE and INTERIM are not acted upon.
        """
        reference = self._reference
        if reference is None or self.mode not in (Mode.ANTE, Mode.INTERIM):
            return False
        reference.hit[arm] = True
        reference.expect_arms(arms_after or {})
        if self.mode is Mode.ANTE:
            if not (self.parameters.uses_interim or reference.hit.all()):
                reference.remember_prediction(object_velocity)
                return True
            reference.enter_contact(self.arms, time_detected, object_velocity, event_sequence)
            self.mode = Mode.INTERIM if self.parameters.uses_interim else Mode.POST
        else:
            reference.join_contact(self.arms, object_velocity, event_sequence)
        if reference.hit.all() and reference.complete_at is None:
            reference.complete_at = float(time_detected)
        self.field = reference.field
        return True

    def see_object(self, time: float, position: ArrayLike) -> bool:
        """The object's centre was seen at (3,), m, at a time, s; returns whether a push is steered by it."""
        reference = self._reference if self.mode in (Mode.INTERIM, Mode.POST) else None
        return reference is not None and reference.steering.see(time, position)

    def notify_contact_complete(self, time: float) -> bool:
        """Take contact as complete, even if not every arm has hit: gamma grows from now, if `interim_end` allows it."""
        if self._reference is None or self.mode is not Mode.INTERIM or self._reference.complete_at is not None:
            return False
        self._reference.complete_at = float(time)
        return True

    def update(
        self,
        time: float,
        q: Array,
        dq: Array,
        torque_range: Callable[[Array], tuple[Array, Array]] | None = None,
    ) -> Command:
        """One control cycle: state in, wanted torque out. Never raises: what goes wrong leads to the safe mode.

        Args:
            time: Stamp of the state, s.
            q: (n,) Joint positions of all arms, arm after arm, rad.
            dq: (n,) Joint velocities, rad/s.
            torque_range: Gives the lowest and highest torque (n,) that can be sent now for a gravity torque (n,), N m;
                the torque limits when None.

        Returns:
            The command, with wanted torques.
        """
        try:
            if q.shape != (self.n,) or dq.shape != (self.n,):
                raise InvalidInputError("state", f"{q.shape}, {dq.shape}", f"{self.n} positions and velocities")
            # One sum checks all of them: the square of a value that is not finite is not finite.
            if not math.isfinite(float(q @ q + dq @ dq)):
                self.safe_stop(SafeReason.NON_FINITE, "joint state with a value that is not finite")
                return self.command_without_state(time)
            return self._cycle(time, q, dq, torque_range)
        except Exception as error:  # noqa: BLE001 - whatever it is, the arm must get a safe command
            self.safe_stop(SafeReason.EXCEPTION, f"{type(error).__name__}: {error}")
            return self.command_without_state(time)

    def command_without_state(self, time: float) -> Command:
        """Command when no state can be had: the gravity torque at the last posture."""
        self.regime, self._answer = Regime.NO_PROGRAM, None
        return self._command(time, self.gravity.copy(), self._none, self._none, qp.QpStatus.FAILED)

    def torque_derivatives(self) -> tuple[Answer, list[TorqueDerivatives]] | None:
        """What the last torques answered, and their derivatives by each arm's own state and time, active bounds held.

        None when no state or no program's minimum is behind them.
        """
        answer, reference = self._answer, self._reference
        if answer is None:
            return None
        if answer.tasks and reference is not None:
            later = reference.later(answer.mode, answer.time, answer.elapsed, self.arms)
            # In the answer's mode: the checks since then may have ended it.
            tasks = self._tasks(later, answer.mode, answer.q, answer.dq, answer.elapsed + self.parameters.period)
            answer = answer._replace(later=tasks)
        return answer, self._gains.at(answer, reference)

    def joint_reference_velocity(self, command: Command) -> Array:
        """Joint velocity (n,) of all arms that gives the command's reference twist, for display, rad/s.

        The joint of the null-space task stands still in it, but for what an impact left it.
        """
        reference, count = self._reference, len(self.arms)
        held = [-1] * count if reference is None else [own.null_space_joint for own in reference.field.arms]
        rates = [0.0] * count if reference is None else reference.settling.left[:, 1, 3].tolist()
        arms = zip(self.arms, command.reference_twist, held, rates, strict=True)
        return np.concatenate([arm.joint_velocity_for(*wanted) for arm, *wanted in arms])

    def _cycle(
        self, time: float, q: Array, dq: Array, torque_range: Callable[[Array], tuple[Array, Array]] | None
    ) -> Command:
        self.refresh(q, dq)
        reference = self._reference
        if not self.mode.follows_field or reference is None:
            self.regime = Regime.NO_PROGRAM
            return self._rest(time, q, dq)
        if self.mode is Mode.INTERIM and reference.interim_over(time):
            self.mode = Mode.POST
        reference.advance(self.mode, time, time - self._start_time, self.arms)
        torques = None if torque_range is None else torque_range(self.gravity)
        limits = self._bounds.limits(q, dq, self._bias, torques)
        tasks = self._tasks(reference, self.mode, q, dq, time - self._start_time)
        solution = self._solver.solve(self._builder.build(tasks, limits, self._mass_matrix))
        self.regime = Regime.of(solution.status, self._solver.active)
        if solution.status is qp.QpStatus.FAILED:
            self.safe_stop(SafeReason.QP_INFEASIBLE, "the quadratic program has numbers that are not finite")
        whole = solution.status in (qp.QpStatus.SOLVED, qp.QpStatus.SOFTENED)
        elapsed = time - self._start_time
        self._answer = Answer(self.mode, q, dq, solution.acceleration, time, elapsed, tasks) if whole else None
        effort = solution.inertia_torque + self._bias
        return self._command(time, effort, reference.twist, reference.target_acceleration, solution.status)

    def _tasks(
        self, reference: TrackingReference, mode: Mode, q: Array, dq: Array, elapsed: float
    ) -> list[AccelerationTask]:
        return field_tasks(reference, self.arms, self.parameters, mode, (q, dq), elapsed, self._start_posture)

    def _rest(self, time: float, q: Array, dq: Array) -> Command:
        """IDLE, HOLD and SAFE: brake, and hold the posture reached."""
        wanted, stiffness, damping = np.empty(self.n), np.empty(self.n), np.empty(self.n)
        for arm, braking in zip(self.arms, self._braking, strict=True):
            part = arm.joints
            wanted[part] = braking.acceleration(time, q[part], dq[part], arm.mass_matrix)
            stiffness[part], damping[part] = braking.stiffness, braking.damping
        self._answer = Answer(self.mode, q, dq, wanted, time, stiffness=stiffness, damping=damping)
        effort = self._mass_matrix @ wanted + self._bias
        return self._command(time, effort, self._none, self._none, qp.QpStatus.SOLVED)

    def refresh(self, q: Array, dq: Array) -> None:
        """Take in the positions and velocities (n,) of all arms, rad and rad/s: poses, inertia, gravity are theirs."""
        if len(self.arms) == 1:
            self.arms[0].update(q, dq)
        else:
            for arm in self.arms:
                joints = arm.joints
                arm.update(q[joints], dq[joints])
                self._mass_matrix[joints, joints] = arm.mass_matrix
                self._bias[joints] = arm.bias
                self.gravity[joints] = arm.gravity

    def _command(self, time: float, effort: Array, twist: Array, target: Array, status: qp.QpStatus) -> Command:
        reference, arms = self._reference, self.arms
        if len(arms) == 1:
            position, tool_twist = arms[0].position.reshape(1, 3).copy(), arms[0].twist.reshape(1, 6)
        else:
            position, tool_twist = np.array([arm.position for arm in arms]), np.array([arm.twist for arm in arms])
        where, blend = (self._unknown, 0.0) if reference is None else (reference.object_position, reference.blend)
        why = self._reason, self._detail
        return Command(time, self.mode, effort, position, tool_twist, twist, target, where, blend, status, *why)
