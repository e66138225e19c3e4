"""The nodes of the suite in simulated time and one process: detectors, prediction, control session, watchdog.

Everything that decides is what the nodes run. Emulated here are the callbacks of the nodes around the control session,
the period of its watchdog, and who dies or reports what is not so before it.
"""

from __future__ import annotations

import dataclasses
import heapq
from collections.abc import Callable

import numpy as np

from impact_aware.arrays import Array
from impact_aware.control import ControlSession, Mode
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

FALSE_EVENT_AGE = 0.003
"""How long before its detection an impact is said to have been that was not, s."""


class Suite:
    """The control session of `rs_controller`, and what the nodes before it make of states.

    Attributes:
        session: The control session.
        now: Present time of all clocks, s.
        faults: What goes wrong with detectors and predictions.
    """

    def __init__(self, bench: FaultBench, faults: EventFaults, send: Callable[[Array], None]) -> None:
        """Configure.

        Args:
            bench: Task, robots and field.
            faults: What goes wrong with detectors and predictions.
            send: Gets every command (n,) as the arms are sent it, N m.
        """
        self._bench, self.faults = bench, faults
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
        self._detectors = [make_detector("adaptive_window", robot.n) for robot in bench.robots]
        self._next_watch = 0.0
        self._late: list[tuple[float, Array]] = []

    def on_state(self, arm: int, message: StateMessage) -> None:
        """A state of one arm has come: its detector gets it first, then the session."""
        if self.session.states.readers[arm].take(*message):
            return
        self._detect(arm)
        self._take_late_predictions()
        self.session.receive(arm)

    def watch(self) -> None:
        """Let the watchdog look, at its own period."""
        if self.now >= self._next_watch:
            self._next_watch = self.now + WATCHDOG_PERIOD
            self.session.watch()

    def _detect(self, arm: int) -> None:
        session, faults = self.session, self.faults
        if arm in faults.dead_detectors:
            if self.now > faults.died + LIVELINESS_LEASE:
                session.upstream_lost("impacts")
            return
        reader = session.states.readers[arm]
        velocity = reader.velocity if reader.velocity_measured else None
        event = self._detectors[arm].update(JointSample(reader.time, reader.position, velocity, reader.effort))
        if faults.detects_falsely():
            session.events.notify_impact(reader.time - FALSE_EVENT_AGE, reader.time, arm=arm)
        if event is not None and session.mode in (Mode.ANTE, Mode.INTERIM):
            predicted = faults.spoil(self._object_velocity(arm, event))
            delay = faults.prediction_delay()
            if delay > 0.0 and predicted is not None:
                heapq.heappush(self._late, (self.now + delay, predicted))
                predicted = None
            session.events.notify_impact(event.time, reader.time, predicted, arm=arm)

    def _object_velocity(self, arm: int, event: ImpactEvent) -> Array | None:
        """Of the object just after the impact, as the predictor (one arm) or the field's node (two) publishes, m/s."""
        bench, states = self._bench, self.session.states
        if len(bench.robots) > 1:
            if not np.isfinite(states.position).all():
                return None
            return predict_grasp(bench.task, bench.robots, bench.field, states.position)
        known = np.isfinite(event.velocity_before)
        before = np.where(known, event.velocity_before, states.readers[arm].velocity)
        event = dataclasses.replace(event, velocity_before=before)
        twist = predict_impact(bench.task, arm, bench.robots[arm], bench.field, event).object_twist_after
        return None if twist is None else bench.bases[arm].rotation @ twist[:3]

    def _take_late_predictions(self) -> None:
        while self._late and self._late[0][0] <= self.now:
            field, (_, velocity) = self.session.field, heapq.heappop(self._late)
            assert field is not None
            self.session.set_field(field.after_impact(field.object_position_at_impact, velocity))
