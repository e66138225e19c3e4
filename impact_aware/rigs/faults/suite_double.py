"""The nodes of the suite in simulated time and one process: detectors, prediction, controller, watchdog.

Everything that decides is what the nodes run: the controller stands in the same guard, the detectors and impact maps
are the same. Played here are the callbacks of `rs_controller`, its watchdog, and what dies or lies on the way to it.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import numpy as np

from impact_aware.arrays import Array
from impact_aware.control import Command, Mode, ReferenceSpreadingController, SafeReason
from impact_aware.control.completion import TaskCompletion
from impact_aware.control.safety.guard import GuardedController
from impact_aware.detection import ImpactEvent, JointSample, make_detector
from impact_aware.experiments.episode import predict_impact
from impact_aware.rigs.faults.arm_states import ArmStates
from impact_aware.rigs.faults.bench import FaultBench
from impact_aware.rigs.faults.event_faults import EventFaults
from impact_aware.rigs.faults.state_faults import StateMessage
from impact_aware.task.grasp import predict_grasp

STATE_TIMEOUT = 0.1
"""Of rs_controller, s."""

WATCHDOG_PERIOD = 0.02
"""Of rs_controller, s."""

LIVELINESS_LEASE = 2.0
"""After which the death of a detector is known, s."""

COMPARABLE_CLOCKS = 1000.0
"""Stamps that are further off than this are of another clock, says rs_controller, s."""

IN_MOTION = (Mode.ANTE, Mode.INTERIM, Mode.POST)


class SuiteDouble:
    """What `rs_controller` and the nodes before it make of states.

    Attributes:
        controller: The controller.
        guard: Around it.
        states: What it has heard.
        active: Whether it commands.
        command: The last command, or None.
        done: Whether the task is done.
    """

    def __init__(self, bench: FaultBench, send: Callable[[Command, Array], None]) -> None:
        """Configure and activate.

        Args:
            bench: Task, robots and field.
            send: Gets every command with the positions (n,) that it belongs to.
        """
        self.bench, self._send = bench, send
        self.controller = ReferenceSpreadingController(bench.robots, field=bench.field, bases=bench.bases)
        self.guard = GuardedController(self.controller, bases=bench.bases)
        self.states = ArmStates(bench.robots)
        several = len(bench.robots) > 1
        self.completion = TaskCompletion(goal_tolerance=0.02)
        self.detectors = [make_detector("adaptive_window", robot.n) for robot in bench.robots]
        self.command: Command | None = None
        self.active, self.done = True, False
        self._carries_on = several
        self._next_watch = 0.0
        self._called = math.inf
        self._late: list[tuple[float, Array]] = []

    # States

    def on_state(self, arm: int, message: StateMessage, now: float, faults: EventFaults) -> None:
        """A state of one arm has come."""
        if not self.states.take(arm, message, now):
            return
        self._detect(arm, now, faults)
        self._take_late_predictions(now)
        if not self.active or not self.states.complete():
            return
        states, self._called = self.states, now
        age = now - states.oldest
        # Clocks that differ by more than this don't compare, says the node.
        age = max(age, 0.0) if abs(age) < COMPARABLE_CLOCKS else 0.0
        command = self.guard.update(states.time, states.position, states.velocity, effort=states.effort, age=age)
        self._give(command)
        if not self.done and self.completion.done(command, self.bench.field.goal):
            self.done = True
            # Holding postures would let go of what several arms clamp between them.
            if not self._carries_on:
                self.controller.hold()

    def watch(self, now: float) -> None:
        """The watchdog: an arm that is not heard stops all of them."""
        if now < self._next_watch or not self.active:
            return
        self._next_watch = now + WATCHDOG_PERIOD
        states, silent = self.states, False
        for arm, (reader, last) in enumerate(zip(states.readers, states.receipts, strict=True)):
            if math.isinf(last) or now - last <= STATE_TIMEOUT:
                continue
            silent = True
            if reader.missing:
                self.controller.safe_stop(SafeReason.JOINT_MISSING, f"joint_states lack {', '.join(reader.missing)}")
            else:
                self.controller.safe_stop(SafeReason.STATE_STALE, f"no usable joint_states for {STATE_TIMEOUT:g} s")
            states.set_aside(arm)
        apart = not silent and now - self._called > STATE_TIMEOUT
        if apart:
            self.controller.safe_stop(SafeReason.STATE_STALE, f"no pairs of states for {STATE_TIMEOUT:g} s")
        if apart or (silent and not states.heard):
            self._give(self.guard.command_without_state(now))

    def _give(self, command: Command) -> None:
        self.command = command
        self._send(command, self.guard.position)

    # Impacts and predictions

    def _detect(self, arm: int, now: float, faults: EventFaults) -> None:
        if arm in faults.dead_detectors:
            moving = self.controller.mode in IN_MOTION
            if moving and now > faults.died + LIVELINESS_LEASE:
                self.controller.safe_stop(SafeReason.UPSTREAM_LOST, "the node that publishes impacts is gone")
            return
        reader = self.states.readers[arm]
        velocity = reader.velocity if reader.velocity_measured else None
        event = self.detectors[arm].update(JointSample(reader.time, reader.position, velocity, reader.effort))
        if faults.detects_falsely():
            self.guard.notify_impact(reader.time - 0.003, reader.time, arm=arm)
        if event is not None and self.controller.mode in (Mode.ANTE, Mode.INTERIM):
            self._on_impact(arm, event, now, faults)

    def _on_impact(self, arm: int, event: ImpactEvent, now: float, faults: EventFaults) -> None:
        reader = self.states.readers[arm]
        velocity = faults.spoil(self._object_velocity(arm, event))
        delay = faults.prediction_delay()
        if delay > 0.0 and velocity is not None:
            self._late.append((now + delay, velocity))
            velocity = None
        self.guard.notify_impact(event.time, reader.time, velocity, arm=arm)

    def _object_velocity(self, arm: int, event: ImpactEvent) -> Array | None:
        """Of the object just after the impact, as the predictor (one arm) or the field's node (two) tells, m/s."""
        bench, reader = self.bench, self.states.readers[arm]
        if len(bench.robots) > 1:
            known = np.isfinite(self.states.position).all()
            return predict_grasp(bench.task, bench.robots, bench.field, self.states.position) if known else None
        known = np.isfinite(event.velocity_before)
        event = dataclasses.replace(event, velocity_before=np.where(known, event.velocity_before, reader.velocity))
        twist = predict_impact(bench.task, arm, bench.robots[arm], bench.field, event).object_twist_after
        return None if twist is None else twist[:3]

    def _take_late_predictions(self, now: float) -> None:
        for due, velocity in list(self._late):
            field = self.controller.field
            if now >= due and field is not None:
                self.guard.set_field(field.after_impact(field.object_position_at_impact, velocity))
                self._late.remove((due, velocity))
