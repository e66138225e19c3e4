"""The nodes of the suite in simulated time and one process: detectors, prediction, control session, watchdog.

Everything that decides is what the nodes run. Emulated here are the callbacks of the nodes around the control session,
the period of its watchdog, and who dies or reports what is not so before it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from impact_aware.arrays import Array
from impact_aware.control import ControlSession, Mode
from impact_aware.control.ending import TaskCompletion
from impact_aware.detection import JointSample, make_detector
from impact_aware.experiments.episode import ObjectVelocity
from impact_aware.experiments.episode_settings import EpisodeSettings
from impact_aware.records import ImpactEvent
from impact_aware.reference import ArmAfterImpact
from impact_aware_rigs.faults.bench import FaultBench
from impact_aware_rigs.faults.message_faults import DelayLine, EventFaults, StateMessage

WATCHDOG_PERIOD = 0.02
"""Period of rs_controller's watchdog, s."""

LIVELINESS_LEASE = 2.0
"""Time after which the death of a detector is detected, s."""

FALSE_EVENT_AGE = 0.003
"""Time from a false impact to its detection, s."""


class Suite:
    """The control session of `rs_controller`, and what the nodes before it make of states.

    Attributes:
        session: The control session.
        now: Present time of all clocks, s.
        faults: What goes wrong with detectors and predictions.
    """

    def __init__(
        self,
        bench: FaultBench,
        faults: EventFaults,
        send: Callable[[Array], None],
        answered: Callable[[], None] = lambda: None,
    ) -> None:
        """Configure.

        Args:
            bench: Task, robots and field.
            faults: What goes wrong with detectors and predictions.
            send: Gets every command (n,) as the arms are sent it, N m.
            answered: Called after each state, and each look of the watchdog.
        """
        self.faults = faults
        self.now = 0.0
        self._answered = answered
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
        self._predict = ObjectVelocity(bench.task, EpisodeSettings(), bench.robots, bench.field)
        self._next_watch = 0.0
        self._late: DelayLine[tuple[Array, dict[int, ArmAfterImpact]]] = DelayLine()

    def on_state(self, arm: int, message: StateMessage) -> None:
        """A state of one arm has come: its detector gets it first, then the session."""
        if self.session.states.readers[arm].take(*message):
            return
        self._detect(arm)
        self._take_late_predictions()
        self.session.receive(arm)
        self._answered()

    def watch(self) -> None:
        """Let the watchdog look, at its own period."""
        if self.now >= self._next_watch:
            self._next_watch = self.now + WATCHDOG_PERIOD
            self.session.watch()
            self._answered()

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
            velocity, after = self._prediction(arm, event)
            predicted, delay = faults.spoil(velocity), faults.prediction_delay()
            if delay > 0.0 and predicted is not None:
                self._late.send((predicted, after), self.now + delay)
                predicted = None
            known = None if predicted is None else after
            session.events.notify_impact(event.time, reader.time, predicted, arm=arm, arms_after=known)

    def _prediction(self, arm: int, event: ImpactEvent) -> tuple[Array | None, dict[int, ArmAfterImpact]]:
        """The object's velocity (3,) after, as predictor or field publish it, m/s, and what is left to arms."""
        states = self.session.states
        if not np.isfinite(states.position).all():
            return None, {}
        known = np.isfinite(event.velocity_before)
        before = np.where(known, event.velocity_before, states.readers[arm].velocity)
        return self._predict(arm, dataclasses.replace(event, velocity_before=before), states.position)

    def _take_late_predictions(self) -> None:
        for velocity, after in self._late.arrived(self.now):
            field = self.session.field
            assert field is not None
            self.session.set_field(field.after_impact(field.object_position_at_impact, velocity, arms_after=after))
