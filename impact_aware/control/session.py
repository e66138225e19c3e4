"""Arm states in, torques out, through time: the one loop that nodes, campaigns, faults and benchmarks drive.

A session pairs the states of its arms, checks age and values, computes torques by the law, filters them and hands them
to `send`. It takes impact events and reference fields, starts and stops the motion, and watches for missing states.
"""

from __future__ import annotations

import time as wall
from collections.abc import Callable, Sequence

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.control.arm_states import ArmStates
from impact_aware.control.command import Command, Mode, SafeReason, Violation
from impact_aware.control.controller import ReferenceSpreadingController
from impact_aware.control.ending import ComingToRest, TaskCompletion
from impact_aware.control.impact_events import ImpactEvents
from impact_aware.control.parameters import ControlParameters
from impact_aware.control.qp import Regime
from impact_aware.control.safety.command_filter import CommandFilter
from impact_aware.control.safety.impact_check import check_field
from impact_aware.control.safety.state_guard import StateGuard
from impact_aware.control.safety.torque_fit import TorqueFit
from impact_aware.reference import ReferenceField
from impact_aware.robot import RobotModel
from impact_aware.robot.joint_reader import JointReader
from impact_aware.robot.safety_limits import SafetyLimits
from impact_aware.task.clearance import check_clearance

COMPARABLE_CLOCKS = 1000.0
"""Stamps further than this from the present time are of another clock, such as a simulator's, s."""

NO_FIELD = "no reference_field yet"
"""Why a motion can't begin without a reference."""

IN_MOTION = (Mode.ANTE, Mode.INTERIM, Mode.POST)


class ControlSession:
    """Controls one arm or several; what is wrong leads to the safe mode, which lasts until `reset`.

    A session watches until it is activated, and commands until it is stopped. What can't be true of a state is not used
    at all; a state that is not newer than the last one is answered with the last command.

    Attributes:
        robots: One model per arm, with gravity as its base has it.
        bases: Pose of each arm's base in the common frame.
        states: The arms' states.
        filter: The last word on torque.
        fit: The measured torques against the models.
        command: The last command, or None.
        active: Whether the session commands.
        done: Whether the task is done.
        rest: Whether a stop or a shutdown is complete.
        events: Takes impact events.
        age: Of the last state, s; negative when its clock does not compare.
        cycle_time: From the last state received to its torques sent, s.
        ignored: States that were repeated or came out of order.
        violations: How many states and commands were outside their limits, by reason.
    """

    def __init__(
        self,
        robots: Sequence[RobotModel] | RobotModel,
        parameters: ControlParameters | None = None,
        field: ReferenceField | None = None,
        bases: Sequence[pin.SE3] | None = None,
        *,
        limits: Sequence[SafetyLimits] | None = None,
        readers: Sequence[JointReader] | None = None,
        topics: Sequence[str] | None = None,
        state_timeout: float = 0.1,
        completion: TaskCompletion | None = None,
        send: Callable[[Array], None] | None = None,
        present: Callable[[], float] = wall.time,
        clock: Callable[[], float] = wall.monotonic,
        paced: bool = False,
        declared: bool = True,
    ) -> None:
        """Prepare the arms; nothing is commanded yet.

        Args:
            robots: One model per arm; gravity becomes that of its base.
            parameters: Defaults are Table I of van Steen 2024.
            field: The reference, which `set_field` can give later.
            bases: Pose of each arm's base in the common frame, whose z axis points up; identity when None.
            limits: Of each arm; those of the profiles when None.
            readers: What each arm's messages are read with; new ones when None.
            topics: Names of the arms' topics, for sentences.
            state_timeout: Time without states after which an arm is braked, s of `clock`.
            completion: Detects the end of the task; None where it never ends.
            send: Gets every command (n,) in the arms' own convention, N m.
            present: Present time of the clock that stamps the states, s.
            clock: Present time of a steady clock, s.
            paced: Whether the arms move, and the torque rate holds, in the time of `clock`; else in that of the stamps.
            declared: Whether the driver declares the profiles' convention of gravity; else the first states decide.

        Raises:
            InvalidInputError: No arm, or numbers of robots, bases, limits or arms of the field that don't agree.
        """
        robots = [robots] if isinstance(robots, RobotModel) else list(robots)
        self.bases = [pin.SE3.Identity() for _ in robots] if bases is None else list(bases)
        self._law = ReferenceSpreadingController(robots, parameters, field, self.bases)
        self.robots = [arm.robot for arm in self._law.arms]
        self.torque_derivatives, self.tune = self._law.torque_derivatives, self._law.tune
        self.hold, self.safe_stop, self.see_object = self._law.hold, self._law.safe_stop, self._law.see_object
        self.joint_reference_velocity = self._law.joint_reference_velocity
        limits = SafetyLimits.each(self.robots, limits)
        period, state_age = self.parameters.period, self.parameters.state_age_limit
        self._guard = StateGuard(self._law.arms, limits, self.bases, period, state_age)
        self._arm_time = -np.inf
        self.filter = CommandFilter(self.robots, period, limits, clock if paced else lambda: self._arm_time)
        self.fit = TorqueFit(self._law.arms, self.filter, self.parameters, declared=declared)
        readers = readers or [JointReader(robot.joint_names) for robot in self.robots]
        self.states = ArmStates(readers, topics, period=period, clock=clock)
        self.events = ImpactEvents(self._law, [own.impact_lead for own in limits])
        self._timeout, self._completion = state_timeout, completion
        self._send = send or (lambda command: None)
        self._present, self._clock = present, clock
        effort_limit = np.concatenate([robot.limits.effort for robot in self.robots])
        self.rest = ComingToRest(effort_limit, self.parameters.rest_velocity)
        self.command: Command | None = None
        self.active = self.done = False
        self.age, self.cycle_time, self.ignored = -1.0, 0.0, 0
        self.violations: dict[SafeReason, int] = {}

    @property
    def mode(self) -> Mode:
        """Mode of the next cycle."""
        return self._law.mode

    @property
    def parameters(self) -> ControlParameters:
        """Gains, weights, limits of the law."""
        return self._law.parameters

    @property
    def safe_reason(self) -> tuple[SafeReason | None, str]:
        """Why it is in the safe mode, and in words, known before the first command of that mode."""
        return self._law.safe_reason

    @property
    def regime(self) -> Regime:
        """What the last cycle had to solve."""
        return self._law.regime

    @property
    def field(self) -> ReferenceField | None:
        """The reference in use."""
        return self._law.field

    @property
    def position(self) -> Array:
        """Joint positions (n,) of the last accepted state, rad."""
        return self._guard.position

    def refusal(self) -> str:
        """Why the motion can't begin now, in one sentence; empty when it can."""
        if self.rest.stopping:
            return "the arm is still coming to rest"
        return self.states.refusal(self._timeout) or ("" if self.field is not None else NO_FIELD)

    def start(
        self,
        time: float | None = None,
        q: ArrayLike | None = None,
        dq: ArrayLike | None = None,
        *,
        check: bool = True,
    ) -> None:
        """Begin the motion and, with it, to command.

        Args:
            time: Stamp of the state to begin from, s; the last received state when None.
            q: (n,) Its joint positions, rad.
            dq: (n,) Its joint velocities, rad/s; zeros when None.
            check: Whether an impact that exceeds a limit, and a motion in which links collide, is refused.

        Raises:
            InvalidInputError: No field, the safe mode, no finite state, an impact over a limit, or a collision.
            UnfitArmError: Measured torques that are not those of the models.
        """
        states, field = self.states, self.field
        self.fit.check(None if self.active else states)
        if time is None or q is None:
            time, position, velocity = states.time, states.position, states.velocity
        else:
            position = np.asarray(q, dtype=float)
            velocity = np.zeros_like(position) if dq is None else np.asarray(dq, dtype=float)
        if check and field is not None and position.shape == (self._law.n,) and np.isfinite(position).all():
            postures = [position[arm.joints] for arm in self._law.arms]
            check_field(field, self.robots, bases=self.bases, limits=self._guard.limits, postures=postures)
            check_clearance(field, self.robots, self.bases, postures)
        self._law.start(time, position, velocity)
        self.done = False
        if self._completion is not None:
            self._completion.reset()
        self.events.begin()
        if not self.active:
            self.activate()

    def activate(self) -> None:
        """Command from now on; before `start` that is to hold the posture found. Refused as `start` is."""
        if not self.active:
            self.fit.check(self.states)
            if self.states.complete:
                self._law.refresh(self.states.position, self.states.velocity)
        self._guard.begin()
        self._law.hold_here()
        if not self.filter.begun:
            self.filter.begin(self._law.gravity)
        self.active = True

    def stop(self) -> None:
        """Take the motion away and command until it is gone: a forward controller keeps the last effort."""
        if self.active:
            self._law.hold()
            self.rest.stop(self.states.time)

    def shut_down(self) -> None:
        """Bring the arms to rest for good; `rest.finished` becomes true then."""
        self.rest.shutting_down = True
        if not self.active:
            self.rest.finished = True
            return
        self._law.safe_stop(SafeReason.REQUESTED, "the process received a signal to end")

    def reset(self) -> None:
        """Leave the safe mode, holding the present posture, and accept whatever state comes next."""
        self._law.reset()
        self.accept_any_state()

    def accept_any_state(self) -> None:
        """Forget earlier states: the next one may be anywhere and at any time."""
        self._guard.begin()
        self.command = None

    def fail(self, error: Exception) -> None:
        """Something raised outside the loop: no arm must be left with its last torque."""
        self._law.safe_stop(SafeReason.EXCEPTION, f"{type(error).__name__}: {error}")
        self.send_without_state()

    def set_field(self, field: ReferenceField) -> None:
        """Follow this field from now on; after the impact only its prediction is taken over.

        Raises:
            InvalidInputError: A field for other arms, one whose numbers make no field, or a predicted object velocity
                that no impact can lead to.
        """
        self.events.check(field)
        self._law.set_field(field)

    def upstream_lost(self, topic: str) -> None:
        """Handle the loss of all publishers of a topic that the motion depends on."""
        if self.active and self.mode in IN_MOTION:
            # The next state is answered with it: another command before would be one torque step too many.
            self._law.safe_stop(SafeReason.UPSTREAM_LOST, f"the node that publishes {topic} is gone")

    # The cycle

    def receive(self, arm: int = 0, applied: Array | None = None) -> bool:
        """Answer the state of all arms that a usable one, read by an arm's reader, completes; return whether it does.

        `applied` (n,) is of all arms, NaN where unknown, as `CommandFilter.count_from` takes it.
        """
        if not self.states.receive(arm):
            return False
        if self.active:
            begin, states = self._clock(), self.states
            age = self._present() - states.oldest
            self.age = age if abs(age) < COMPARABLE_CLOCKS else -1.0
            self._answer(states.time, states.position, states.velocity, max(self.age, 0.0), applied)
            self.cycle_time = self._clock() - begin
            self._conclude(states.velocity, states.effort)
        return True

    def cycle(
        self,
        time: float,
        q: Array,
        dq: Array,
        *,
        effort: Array | None = None,
        age: float = 0.0,
        applied: Array | None = None,
    ) -> Command:
        """Answer one state of all arms that does not come through the readers. Never raises.

        Args:
            time: Stamp of the state, s.
            q: (n,) Joint positions of all arms, arm after arm, rad.
            dq: (n,) Joint velocities, rad/s.
            effort: (n,) Measured torques, N m, or None.
            age: How old the state is, s.
            applied: (n,) As `CommandFilter.count_from` takes it.

        Returns:
            The command, as it was sent.
        """
        self._answer(time, q, dq, age, applied)
        return self._conclude(dq, effort)

    def _answer(self, time: float, q: Array, dq: Array, age: float, applied: Array | None) -> None:
        """Send the torque for a state: the state can be true, the torque is within its limits.

        The limits of the state are checked afterwards: their result changes the next command, so this one does not wait
        for it.
        """
        self._open = False
        if self.command is not None and self._guard.repeats(time):
            self.ignored += 1
            self._send(self.filter.previous)
            return
        self._arm_time = time
        self.filter.count_from(applied)
        law = self._law
        violation, usable = self._guard.refusal(time, q, dq, age)
        if violation is not None:
            self._violated(violation)
        if self.fit.astray:
            law.safe_stop(SafeReason.TORQUES_UNFIT, self.fit.found)
        if usable and not self.fit.astray:
            wanted = law.update(time, q, dq, self.filter.range)
        else:
            wanted = law.command_without_state(time)
        self._deliver(wanted)
        self._open = usable

    def _deliver(self, wanted: Command) -> None:
        gravity = self._law.gravity
        if not self.filter.begun:
            self.filter.begin(gravity)
        # Damping an arm to rest may want any torque; the quadratic program's are within the limits.
        violation = self.filter.apply(wanted.effort, gravity, report=wanted.mode in IN_MOTION)
        self._send(self.filter.previous)
        self.command = Command(wanted.time, wanted.mode, self.filter.effort, *wanted[3:])
        self._mark(violation)

    def _conclude(self, dq: Array, effort: Array | None) -> Command:
        """Hold the state that was answered against its limits, and see whether the task or a stop is done."""
        assert self.command is not None
        if self._open:
            self._open = False
            found = self._guard.left(dq, effort, self._law.mode, self.field)
            if self.command.mode is not Mode.SAFE:
                self._mark(self.fit.answered(self.command.time, dq, effort, self._law.mode) or found)
            elif found is not None and self._guard.is_new(found, self._law.safe_reason[0]):
                self._violated(found)
                self._law.hold_here()
        command, field, watch = self.command, self.field, self._completion
        if watch is not None and not self.done and field is not None and watch.done(command, field.goal):
            self.done = True
            if len(self.robots) == 1:
                self._law.hold()
            # Holding postures would release what several arms clamp between them: the motion carries on.
        if self.rest.shutting_down or self.rest.stopping:
            speed = self.states.largest_speed if self.states.complete else float(np.abs(dq).max())
            if self.rest.update(command.time, command.effort, self._law.gravity, speed):
                self.active = False
        return command

    def _mark(self, violation: Violation | None) -> None:
        """Go to the safe mode for a violation, if there is one, and have the last command show it."""
        if violation is not None and self.command is not None:
            self._violated(violation)
            self.command = self.command._replace(mode=Mode.SAFE, reason=violation.reason, detail=violation.detail)

    def _violated(self, violation: Violation) -> None:
        self.violations[violation.reason] = self.violations.get(violation.reason, 0) + 1
        self._law.safe_stop(violation.reason, violation.detail)

    def watch(self) -> None:
        """Brake all arms when one is silent; those that are alive are braked by their own states."""
        overdue = self.states.overdue(self._timeout) if self.active else []
        if not overdue:
            return
        for arm, reason, detail in overdue:
            self._law.safe_stop(reason, detail)
            if arm is not None:
                self.states.exclude(arm)
        if not self.states.alive or any(entry.arm is None for entry in overdue):
            self.send_without_state()
        if not self.states.alive:
            self.rest.finished = self.rest.shutting_down
            if self.rest.end():
                self.active = False

    def send_without_state(self) -> None:
        """Send the gravity torque at the last posture, as near as the torque rate allows."""
        if self.active and self.states.complete:
            self._arm_time = self.states.time + self.states.silence()[0]
            self._deliver(self._law.command_without_state(self.states.time))
