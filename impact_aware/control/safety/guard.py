"""The controller inside its safety envelope: states are judged before they are used, commands before they leave."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.control.command import Command, Mode
from impact_aware.control.controller import ReferenceSpreadingController
from impact_aware.control.safety.contact_force import ContactForceObserver
from impact_aware.control.safety.envelope import SafetyEnvelope, Violation
from impact_aware.control.safety.impact_check import check_prediction
from impact_aware.control.safety.limiter import SafeReason
from impact_aware.errors import InvalidInputError
from impact_aware.reference import ReferenceField
from impact_aware.robot.safety_limits import SafetyLimits

CLOCK_JUMP = 1.0
"""Stamps that go on by more than this at once are a clock that was set, not states that were lost, s."""

GRASP_SHARE = 0.5
"""Two palms may come closer than the object allows by this share of what one may go past its place: they must stop
before they meet."""


LET_GO = 0.02
"""Share of the torque limits by which the last command may differ from gravity compensation."""


class GuardedController:
    """Passes states to a controller and its commands on, as long as both are within the envelope.

    What is outside leads to the controller's safe mode, with the limit that was violated as reason. A state that can't
    be true is not used at all; one that is not newer than the last is answered with the last command.

    Attributes:
        controller: The controller.
        envelope: The limits.
        ignored: States that were repeated or came out of order.
        violations: How many states and commands were outside, by reason.
        refused_predictions: Predicted object velocities that can't be true.
    """

    def __init__(
        self,
        controller: ReferenceSpreadingController,
        limits: Sequence[SafetyLimits] | None = None,
        bases: Sequence[pin.SE3] | None = None,
    ) -> None:
        """Surround a controller.

        Args:
            controller: Its arms, period and safe mode are used.
            limits: Of each arm; those of the robots' profiles when None.
            bases: Pose of each arm's base in the common frame, as the controller got them; identity when None.

        Raises:
            InvalidInputError: Limits or bases that are not one per arm.
        """
        self.controller = controller
        self._robots = [arm.robot for arm in controller.arms]
        period = controller.parameters.period
        self.envelope = SafetyEnvelope(controller.arms, limits, period, bases)
        self._observers = [ContactForceObserver(arm, period) for arm in controller.arms]
        self._forces = [0.0] * len(controller.arms)
        self.ignored = 0
        self.refused_predictions = 0
        self.violations: dict[SafeReason, int] = {}
        self._believed = np.concatenate([arm.robot.home for arm in controller.arms])
        self._measured = [r.profile is not None and r.profile.effort_is_link_torque for r in self._robots]
        self.begin()

    @property
    def position(self) -> Array:
        """Joint positions (n,) of the last state that was believed, rad."""
        return self._believed

    @property
    def gravity(self) -> Array:
        """Gravity torque (n,) at `position`, N m."""
        arms = self.controller.arms
        return arms[0].gravity if len(arms) == 1 else np.concatenate([arm.gravity for arm in arms])

    def lets_go(self, command: Command) -> bool:
        """Whether an arm may be left with a command for good: its gravity torque, but for `LET_GO` of the limits.

        An arm at rest need not be there yet: it may press against something, or have only begun to move.
        """
        limit = np.concatenate([robot.limits.effort for robot in self._robots])
        return bool(np.all(np.abs(command.effort - self.gravity) <= LET_GO * limit))

    def counts(self) -> dict[str, object]:
        """What was not as it should be, for diagnostics."""
        return {
            "ignored_states": self.ignored,
            "refused_predictions": self.refused_predictions,
            "violations": ", ".join(f"{reason} {count}" for reason, count in self.violations.items()),
        }

    def begin(self) -> None:
        """Forget earlier states and commands: what comes next may be anywhere and at any time."""
        self._time = np.nan
        self._position: Array | None = None
        self._position_time = np.nan
        self._effort: Array | None = None
        self._last: Command | None = None
        self._open: tuple[Array, float] | None = None
        for observer in self._observers:
            observer.reset()

    def reset(self) -> None:
        """Leave the safe mode, believing whatever state comes next."""
        self.controller.reset()
        effort = self._effort
        self.begin()
        # What the arm was told last does not change by a reset.
        self._effort = effort

    def update(
        self,
        time: float,
        q: Array,
        dq: Array,
        *,
        effort: Array | None = None,
        age: float = 0.0,
        object_position: ArrayLike | None = None,
    ) -> Command:
        """One control cycle: state in, torque out, everything judged. Never raises.

        Args:
            time: Stamp of the state, s.
            q: (n,) Joint positions of all arms, arm after arm, rad.
            dq: (n,) Joint velocities, rad/s.
            effort: (n,) Measured torques, N m. No contact force is judged without them, nor of an arm whose profile
                does not say that they are link-side ones.
            age: How old the state is, s.
            object_position: (3,) Measured object centre, m; inferred from the tools when None.

        Returns:
            The command.
        """
        self.answer(time, q, dq, age=age, object_position=object_position)
        return self.conclude(effort)

    def answer(
        self, time: float, q: Array, dq: Array, *, age: float = 0.0, object_position: ArrayLike | None = None
    ) -> Command:
        """First part of `update`, with the command that may be sent: the state is possible, the command within limits.

        Whether the state is within its limits is the question of the second part, `conclude`: its answer changes
        the next command, so this one need not wait for it.
        """
        controller = self.controller
        interval = time - self._time
        self._open = None
        if interval <= 0.0 and -interval <= self.envelope.state_age and self._last is not None:
            self.ignored += 1
            return self._last
        violation = self._judge_time(interval, age)
        try:
            waited = 0.0 if self._position is None else abs(time - self._position_time)
            doubt = self.envelope.implausible(q, dq, self._position, waited)
        except Exception as error:  # noqa: BLE001 - a state of any shape must end in a safe command
            doubt = Violation(SafeReason.EXCEPTION, f"{type(error).__name__}: {error}", False)
        violation = violation or doubt
        if violation is not None:
            self._stop(violation)
        if doubt is not None:
            return self._pass(controller.command_without_state(time), time)
        command = controller.update(time, q, dq, age=0.0, object_position=_array(object_position))
        self._position, self._position_time = q.copy(), time
        self._believed = self._position
        command = self._pass(command, time)
        if controller.mode is not Mode.SAFE:
            self._open = dq, interval
        return command

    def conclude(self, effort: Array | None = None) -> Command:
        """Second part of `update`: hold the state that was answered against its limits.

        Args:
            effort: (n,) Torques measured with it, N m.

        Returns:
            The command that was sent, with the reason of the safe mode that begins with the next one.
        """
        assert self._last is not None
        if self._open is None or self._position is None:
            return self._last
        controller, (dq, interval) = self.controller, self._open
        self._open = None
        # The controller has refreshed the arms with this state, so that tool places cost nothing here.
        found = self.envelope.judge_state(
            self._position, dq, self._contact_forces(self._position, dq, effort, interval)
        )
        if found is None and controller.mode is Mode.ANTE:
            found = self._judge_overrun() or self._judge_grasp()
        elif found is None and controller.mode in (Mode.INTERIM, Mode.POST):
            found = self._judge_grasp()
        if found is not None:
            self._stop(found)
            self._last = self._last._replace(mode=Mode.SAFE, reason=found.reason, detail=found.detail)
        return self._last

    def set_field(self, field: ReferenceField) -> None:
        """Follow this field from now on, unless its prediction can't be true.

        Raises:
            InvalidInputError: As the controller's own; or an object faster than any impact can make it.
        """
        if field.object_velocity_predicted:
            check_prediction(field, field.object_velocity_after)
        self.controller.set_field(field)

    def notify_impact(
        self,
        time_impact: float,
        time_detected: float,
        object_velocity: ArrayLike | None = None,
        *,
        arm: int = 0,
        event_sequence: int | None = None,
    ) -> bool:
        """As the controller's own; a prediction that can't be true is left out and counted."""
        field = self.controller.field
        if object_velocity is not None and field is not None:
            try:
                check_prediction(field, object_velocity)
            except InvalidInputError:
                self.refused_predictions += 1
                object_velocity = None
        return self.controller.notify_impact(
            time_impact, time_detected, object_velocity, arm=arm, event_sequence=event_sequence
        )

    def command_without_state(self, time: float) -> Command:
        """Command when no state can be had: towards gravity compensation at the last known posture."""
        return self._pass(self.controller.command_without_state(time), self._time)

    def _judge_time(self, interval: float, age: float) -> Violation | None:
        oldest = self.envelope.state_age
        if interval > CLOCK_JUMP or interval < -oldest:
            return Violation(SafeReason.CLOCK_JUMP, f"the stamps of joint_states jumped by {interval:+.3f} s")
        if interval > oldest:
            return Violation(SafeReason.STATE_STALE, f"no joint state for {1e3 * interval:.0f} ms")
        if age > oldest:
            return Violation(SafeReason.STATE_STALE, f"joint state {1e3 * age:.0f} ms old")
        return None

    def _judge_overrun(self) -> Violation | None:
        """Whether a tool has gone through the place where it should have hit: the object is not there."""
        field = self.controller.field
        if field is None:
            return None
        for arm, own, limits in zip(self.controller.arms, field.arms, self.envelope.limits, strict=True):
            past = -float(own.normal @ (arm.position - own.impact_position))
            if past > limits.impact_overrun:
                sentence = f"{arm.robot.tool_frame} is {past:.3g} m past the place where it should have hit"
                return Violation(SafeReason.IMPACT_MISSED, sentence)
        return None

    def _judge_grasp(self) -> Violation | None:
        """Whether two palms are closer than the object between them is wide: it is not there, and they would meet."""
        field = self.controller.field
        if field is None or len(field.arms) != 2:
            return None
        (first, second), (own, other) = self.controller.arms, field.arms
        closer = float(own.normal @ (own.impact_position - other.impact_position - first.position + second.position))
        if closer > GRASP_SHARE * min(limits.impact_overrun for limits in self.envelope.limits):
            sentence = f"the tools are {closer:.3g} m closer to each other than on both sides of the object"
            return Violation(SafeReason.OBJECT_LOST, sentence)
        return None

    def _contact_forces(self, q: Array, dq: Array, effort: Array | None, interval: float) -> list[float] | None:
        if effort is None:
            return None
        for index, (arm, observer) in enumerate(zip(self.controller.arms, self._observers, strict=True)):
            if not self._measured[index]:
                continue
            joints = arm.joints
            self._forces[index] = observer.update(q[joints], dq[joints], effort[joints], interval)
        return self._forces

    def _pass(self, command: Command, time: float) -> Command:
        violation = self.envelope.judge_command(command.effort, self._effort)
        if violation is not None:
            self._stop(violation)
            previous = np.zeros_like(command.effort) if self._effort is None else self._effort
            effort = self.envelope.nearest(command.effort, previous)
            command = command._replace(mode=Mode.SAFE, effort=effort, reason=violation.reason, detail=violation.detail)
        self._effort, self._last, self._time = command.effort, command, time
        return command

    def _stop(self, violation: Violation) -> None:
        self.violations[violation.reason] = self.violations.get(violation.reason, 0) + 1
        self.controller.safe_stop(violation.reason, violation.detail)


def _array(values: ArrayLike | None) -> Array | None:
    return None if values is None else np.asarray(values, dtype=float)
