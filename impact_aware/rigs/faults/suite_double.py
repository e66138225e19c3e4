"""The nodes of the suite in simulated time and one process: detectors, prediction, controller, watchdog.

Everything that decides is what the nodes run: the controller stands in the same guard, the detectors and impact maps
are the same. Played here are the callbacks of `rs_controller`, its watchdog, and what dies or lies on the way to it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from impact_aware.arrays import Array
from impact_aware.control import Command, ControlSession, Mode
from impact_aware.control.completion import TaskCompletion
from impact_aware.detection import ImpactEvent, JointSample, make_detector
from impact_aware.experiments.episode import predict_impact
from impact_aware.rigs.faults.bench import FaultBench
from impact_aware.rigs.faults.event_faults import EventFaults
from impact_aware.rigs.faults.state_faults import StateMessage
from impact_aware.task.grasp import predict_grasp

WATCHDOG_PERIOD = 0.02
"""Of rs_controller, s."""

LIVELINESS_LEASE = 2.0
"""After which the death of a detector is known, s."""


class SuiteDouble:
    """The control session of `rs_controller`, fed with what the nodes before it make of states.

    Attributes:
        session: The control session.
        now: Present time of all clocks, s.
    """

    def __init__(self, bench: FaultBench, send: Callable[[Array], None]) -> None:
        """Configure.

        Args:
            bench: Task, robots and field.
            send: Gets every command (n,) as the arms are sent it, N m.
        """
        self.bench = bench
        self.now = 0.0
        self.session = ControlSession(
            bench.robots,
            field=bench.field,
            bases=bench.bases,
            completion=TaskCompletion(goal_tolerance=0.02),
            send=send,
            present=lambda: self.now,
            clock=lambda: self.now,
        )
        self.detectors = [make_detector("adaptive_window", robot.n) for robot in bench.robots]
        self._next_watch = 0.0
        self._late: list[tuple[float, Array]] = []

    @property
    def command(self) -> Command | None:
        """The last command."""
        return self.session.command

    # States

    def on_state(self, arm: int, message: StateMessage, now: float, faults: EventFaults) -> None:
        """A state of one arm has come."""
        self.now = now
        if self.session.states.readers[arm].take(*message):
            return
        self._detect(arm, now, faults)
        self._take_late_predictions(now)
        self.session.receive(arm)

    def watch(self, now: float) -> None:
        """Let the watchdog look, at its own period."""
        self.now = now
        if now >= self._next_watch:
            self._next_watch = now + WATCHDOG_PERIOD
            self.session.watch()

    # Impacts and predictions

    def _detect(self, arm: int, now: float, faults: EventFaults) -> None:
        if arm in faults.dead_detectors:
            if now > faults.died + LIVELINESS_LEASE:
                self.session.upstream_lost("impacts")
            return
        reader = self.session.states.readers[arm]
        velocity = reader.velocity if reader.velocity_measured else None
        event = self.detectors[arm].update(JointSample(reader.time, reader.position, velocity, reader.effort))
        if faults.detects_falsely():
            self.session.events.notify_impact(reader.time - 0.003, reader.time, arm=arm)
        if event is not None and self.session.mode in (Mode.ANTE, Mode.INTERIM):
            self._on_impact(arm, event, now, faults)

    def _on_impact(self, arm: int, event: ImpactEvent, now: float, faults: EventFaults) -> None:
        reader = self.session.states.readers[arm]
        velocity = faults.spoil(self._object_velocity(arm, event))
        delay = faults.prediction_delay()
        if delay > 0.0 and velocity is not None:
            self._late.append((now + delay, velocity))
            velocity = None
        self.session.events.notify_impact(event.time, reader.time, velocity, arm=arm)

    def _object_velocity(self, arm: int, event: ImpactEvent) -> Array | None:
        """Of the object just after the impact, as the predictor (one arm) or the field's node (two) tells, m/s."""
        bench, states = self.bench, self.session.states
        reader = states.readers[arm]
        if len(bench.robots) > 1:
            if not np.isfinite(states.position).all():
                return None
            return predict_grasp(bench.task, bench.robots, bench.field, states.position)
        known = np.isfinite(event.velocity_before)
        event = dataclasses.replace(event, velocity_before=np.where(known, event.velocity_before, reader.velocity))
        twist = predict_impact(bench.task, arm, bench.robots[arm], bench.field, event).object_twist_after
        return None if twist is None else twist[:3]

    def _take_late_predictions(self, now: float) -> None:
        for due, velocity in list(self._late):
            field = self.session.field
            if now >= due and field is not None:
                self.session.set_field(field.after_impact(field.object_position_at_impact, velocity))
                self._late.remove((due, velocity))
