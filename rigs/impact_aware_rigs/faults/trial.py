"""One fault in one mode of the controller, in process: plant, suite and an emulated forward controller in a loop."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from impact_aware.arrays import Array
from impact_aware.control import ControlSession, Mode, SafeReason
from impact_aware.control.session import IN_MOTION
from impact_aware.robot import RobotModel
from impact_aware_rigs.faults.bench import AWAY, FaultBench, draw_world
from impact_aware_rigs.faults.checks import REST_WITHIN, CommandCheck, ObjectWatch, RestWatch
from impact_aware_rigs.faults.classes import (
    FAULT_CLASSES,
    MODES,
    Extent,
    FaultClass,
    Trial,
    TrialResult,
    draw_duration,
    fault_class,
)
from impact_aware_rigs.faults.hardware import HARDWARE
from impact_aware_rigs.faults.message_faults import EventFaults, StateChannel, StateFault, StateMessage
from impact_aware_rigs.faults.suite import Suite

START = 1.0  # stamp of the first state, s
DWELL = 0.05  # at rest, s
LONGEST = 8.0  # s; with masses and friction that are not the assumed ones the object comes to its goal slowly
GOES_ON = 40  # cycles of holding and of motion that show a recovery


def run_trial(bench: FaultBench, trial: Trial) -> TrialResult:
    """Do one trial; never raises for what happens in it.

    Raises:
        UnknownNameError: No fault or mode of that name.
    """
    return _Run(bench, trial).run()


class AnyTrial:
    """Common setup of the trials of every kind of fault, and collection of their results.

    Attributes:
        generator: Source of all random numbers except those of the world.
        world: World of the trial.
        arms: Numbers of the arms that have the fault.
        severity: Severity of the fault, in its own unit.
        check: Check of the commands.
        now: Present time, s.
    """

    def __init__(self, bench: FaultBench, trial: Trial) -> None:
        """Start with the fault on all arms."""
        self.bench, self.trial, self.now = bench, trial, START
        count = len(bench.robots)
        number = tuple(FAULT_CLASSES).index(trial.fault)
        self.generator = np.random.default_rng([trial.seed, number, MODES.index(trial.mode), count])
        self.world, self.check = draw_world(trial.seed), CommandCheck(bench)
        self.arms, self.severity = tuple(range(count)), 0.0

    def draw_arms(self) -> None:
        """Draw which of several arms have the fault: one of them, or all."""
        count = len(self.bench.robots)
        choices = [self.arms, *((arm,) for arm in range(count))] if count > 1 else [self.arms]
        self.arms = choices[int(self.generator.integers(len(choices)))]

    def session(
        self, send: Callable[[Array], None], robots: Sequence[RobotModel] | None = None, **options: Any
    ) -> ControlSession:
        """A session that controls the bench's arms, or what it believes them to be, by the trial's clock."""
        return ControlSession(
            robots or self.bench.robots,
            field=self.bench.field,
            bases=self.bench.bases,
            send=send,
            present=lambda: self.now,
            clock=lambda: self.now,
            **options,
        )

    def result(self, failures: Sequence[str], **figures: Any) -> TrialResult:
        """The result with what the trial knows itself."""
        figures = {"severity": self.severity, "recovered": not failures, **figures}
        return TrialResult(
            trial=self.trial,
            world=self.world.kind,
            arms=tuple(self.bench.task.arms[arm].name for arm in self.arms),
            peak_effort_share=self.check.effort_share,
            peak_rate_share=self.check.rate_share,
            failures=tuple(failures),
            **figures,
        )


class _Run(AnyTrial):
    """A trial of faults of messages, processes, objects and commands."""

    def __init__(self, bench: FaultBench, trial: Trial) -> None:
        super().__init__(bench, trial)
        self.fault = trial.fault
        self.fault_class: FaultClass = fault_class(trial.fault)
        self.plant = bench.plant(self.world)
        self.duration = draw_duration(self.fault_class, self.generator)
        self.draw_arms()
        self.extent = Extent(len(self.arms), len(bench.robots))
        self._draw_fault()
        self.patience = {
            "ante": self.generator.uniform(0.04, 0.12),
            "interim": self.generator.uniform(0.002, 0.06),
            "post": self.generator.uniform(0.002, 0.15),
            "safe": 0.005,
        }[trial.mode]
        self.slices = list(self.plant.slices.values())
        self.failures: list[str] = []
        self.rest = RestWatch()
        self.hardware = HARDWARE[trial.interface](bench, self.check, self._is_lost, START)
        self.down_until = -math.inf
        self.fault_begin, self.mode_since = math.inf, math.nan
        self.restarted = False
        self.suite = self._new_suite()

    def _new_suite(self) -> Suite:
        return Suite(
            self.bench,
            self.events,
            lambda sent: self.hardware.take(self.suite.session, sent),
            lambda: self.hardware.follow(self.suite.session),
        )

    def _draw_fault(self) -> None:
        fault, generator = self.fault, self.generator
        self.events = EventFaults(fault, generator)
        faults: list[StateFault | None] = [None] * len(self.bench.robots)
        if self.fault_class.kind == "state":
            for arm in self.arms:
                faults[arm] = own = StateFault(fault, generator)
                # One clock, one network, one joint: what all arms have, they have alike.
                self.severity = own.severity = self.severity or own.severity
        elif fault == "command_drop":
            self.severity = float(generator.uniform(0.05, 0.5))
        elif fault == "cpu_starved":
            # Stalls in ms; what the queue holds after one is caught up with.
            self.severity = float(generator.uniform(2.0, 60.0))
        self.channels = [StateChannel(own) for own in faults]

    # The course of a trial

    def run(self) -> TrialResult:
        plant, bench = self.plant, self.bench
        plant.reset(bench.start, seed=self.trial.seed)
        self.object = ObjectWatch(plant)
        self.suite.session.start(START, bench.start)
        outcome = "neither"
        try:
            while plant.state.time < LONGEST and outcome == "neither":
                self.now = START + plant.state.time
                self._maybe_begin()
                self._cycle()
                outcome = self._look() or "neither"
        except Exception as error:  # noqa: BLE001 - an exception is what the trial looks for
            self.failures.append(f"{type(error).__name__}: {error}")
        self.object.end()
        rest_time = self.rest.rest_time if outcome == "safe" else math.nan
        command = self.suite.session.command
        reason = "" if command is None or command.reason is None else str(command.reason)
        detail = "" if command is None else command.detail
        expected = self._expected()
        self._check_outcome(outcome, reason, expected, rest_time)
        self.failures += self.check.failures
        recovered = not self.failures and self._recover()
        if not recovered and not self.failures:
            self.failures.append("could not be started again")
        return self.result(
            self.failures,
            duration=self.duration,
            reason=reason,
            detail=detail,
            expected=tuple(sorted(str(wanted or "") for wanted in expected)),
            outcome=outcome,
            rest_time=rest_time,
            recovered=recovered,
            held=self.object.held,
            fell=self.object.fell,
        )

    def _expected(self) -> frozenset[SafeReason | None]:
        if self.trial.mode == "safe":
            return frozenset({SafeReason.REQUESTED})
        expected = self.fault_class.outcomes(self.severity, self.duration, self.extent)
        if self.trial.mode == "ante" and self.fault_class.kind in ("state", "process") and self._hid_the_impact():
            # A detector can't see an impact in states that it does not get: the arm stops behind the object.
            expected |= {SafeReason.IMPACT_MISSED}
        return expected

    def _hid_the_impact(self) -> bool:
        """Whether the fault was acting when a tool hit the object, or so shortly before that it still mattered."""
        times = [START + impact.time for impact in self.plant.impacts if impact.partner == "object"]
        return any(self.fault_begin <= time <= self.fault_begin + self.duration + 0.05 for time in times)

    def _check_outcome(
        self, outcome: str, reason: str, expected: frozenset[SafeReason | None], rest_time: float
    ) -> None:
        if outcome == "neither":
            mode = self.suite.session.mode.name
            self.failures.append(f"neither at rest nor done after {LONGEST:g} s (mode {mode})")
        if outcome == "restarted":
            return
        if outcome != "neither" and reason not in {str(wanted or "") for wanted in expected}:
            self.failures.append(f"reason {reason or 'none'}, expected {sorted(str(e or 'none') for e in expected)}")
        if outcome == "safe" and not rest_time <= REST_WITHIN:
            self.failures.append(f"at rest only {rest_time:.2f} s after the safe mode began")

    def _maybe_begin(self) -> None:
        """The fault begins a while after its mode."""
        if math.isfinite(self.fault_begin):
            return
        session, wanted = self.suite.session, self.trial.mode
        if wanted == "safe" and self.now - START > 0.08 and session.mode is not Mode.SAFE:
            session.safe_stop(SafeReason.REQUESTED, "requested by the trial")
        if session.mode is Mode[wanted.upper()] and math.isnan(self.mode_since):
            self.mode_since = self.now
        if self.now - self.mode_since >= self.patience:
            self.fault_begin = self.now
            if self.fault == "object_gone":
                self.plant.place_object(AWAY)
            if self.fault == "detector_killed":
                self.events.dead_detectors, self.events.died = self.arms, self.now

    @property
    def faulty(self) -> bool:
        """Whether the fault acts now."""
        return self.fault_begin <= self.now < self.fault_begin + self.duration

    def _cycle(self) -> None:
        reading = self.plant.reading
        self.suite.now = self.hardware.now = self.now
        self.events.acting = self.faulty
        for channel, robot, part in zip(self.channels, self.bench.robots, self.slices, strict=True):
            columns = (reading.q[part].tolist(), reading.dq[part].tolist(), reading.effort[part].tolist())
            message = StateMessage(START + reading.time, robot.joint_names, *columns)
            channel.send(message, self.now, faulty=self.faulty)
        if self._controller_runs():
            while any(channel.queue for channel in self.channels):
                for arm, channel in enumerate(self.channels):
                    if channel.queue:
                        self.suite.on_state(arm, channel.queue.popleft())
            self.suite.watch()
        self._step()

    def _controller_runs(self) -> bool:
        """Whether the controller's process gets its turn in this cycle."""
        if self.fault == "controller_restarted" and math.isfinite(self.fault_begin):
            return self._controller_is_up()
        if self.fault == "cpu_starved" and self.faulty:
            if self.now >= self.down_until + 0.02:
                self.down_until = self.now + 1e-3 * self.severity
            return self.now >= self.down_until
        return True

    def _controller_is_up(self) -> bool:
        """Whether a killed controller runs again; unconfigured, the new one commands nothing until requested."""
        if not self.restarted:
            self.restarted = True
            self.down_until = self.now + self.duration
            self.suite.session.active = False
        if self.now < self.down_until:
            for channel in self.channels:
                channel.queue.clear()
            return False
        if math.isfinite(self.down_until):
            self.down_until = -math.inf
            self.suite = self._new_suite()
            self.check.forget()
        return True

    # The way to the robot

    def _is_lost(self, arm: int) -> bool:
        drops = self.fault == "command_drop" and self.faulty and arm in self.arms
        return drops and bool(self.generator.random() < self.severity)

    def _step(self) -> None:
        self.plant.step(self.hardware.torque(self.plant.state.q, self.plant.reading))

    # Judgement

    def _look(self) -> str:
        """The outcome, once it is known."""
        suite, rest = self.suite, self.rest
        session = suite.session
        mode = session.mode
        still = session.done or mode not in IN_MOTION or not session.active
        if rest.look(self.now, self.plant.state.dq, mode, still=still):
            self.object.safe_mode_begins()
        if not math.isfinite(self.fault_begin) or not self.now - rest.rest_since >= DWELL:
            return ""
        if self.now < self.fault_begin + min(self.duration, 0.5):
            return ""
        if self.restarted:
            return "restarted" if self.now > self.down_until + DWELL and math.isinf(self.down_until) else ""
        return "safe" if mode is Mode.SAFE else "done"

    def _recover(self) -> bool:
        """Without the fault: reset, hold, start, and all is as before."""
        self.fault_begin = math.inf
        self.fault = "none"
        self.events = self.suite.faults = EventFaults("none", self.generator)
        self.channels = [StateChannel() for _ in self.channels]
        session = self.suite.session
        try:
            session.reset()
            session.set_field(self.bench.field_from_here(self.plant))
            session.activate()
            if not self._goes_on((Mode.IDLE,)):
                return False
            session.start()
            return self._goes_on(IN_MOTION)
        except Exception as error:  # noqa: BLE001 - an exception is what the trial looks for
            self.failures.append(f"{type(error).__name__}: {error}")
            return False

    def _goes_on(self, modes: tuple[Mode, ...]) -> bool:
        for _ in range(GOES_ON):
            self.now = START + self.plant.state.time
            self._cycle()
            if self.suite.session.mode not in modes:
                command = self.suite.session.command
                detail = "" if command is None else command.detail
                self.failures.append(f"{self.suite.session.mode.name} after a new start: {detail}")
                return False
        return not self.failures and not self.check.failures
