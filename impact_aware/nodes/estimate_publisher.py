"""After each impact, what it really did: the estimated velocity as an ImpactPrediction with SOURCE_ESTIMATE."""

from __future__ import annotations

import dataclasses
import math

from rclpy.node import Node
from rclpy.publisher import Publisher

from impact_aware.arrays import Array
from impact_aware.estimation.online import LateEstimate, OnlineEstimation, prediction_error
from impact_aware.messages.impact_prediction import impact_to_message
from impact_aware.records import Impact
from impact_aware.ros.messages import ROS
from impact_aware.ros.timers import steady_timer

PAUSE = 0.001
"""Wall time by which a fit is put off, s, so that it does not run within the callback of a state."""

MOST_WAITING = 20
"""Predictions that wait for their estimate; one whose samples never come is forgotten behind so many others."""


class EstimatePublisher:
    """Waits until the samples after an impact suffice, and publishes what they say beside what was predicted."""

    def __init__(self, node: Node, publisher: Publisher, joint_count: int, window: float | None = None) -> None:
        """Prepare the default estimator, which looks at most at `window` after an impact, s; at its own if None."""
        self._log = node.get_logger()
        self._publisher = publisher
        self._estimation = OnlineEstimation(joint_count, window=window)
        self._predictions: dict[int, Impact] = {}
        self._timer = steady_timer(node, PAUSE, self.finish)
        self._timer.cancel()

    def add(self, time: float, position: Array) -> None:
        """Take a state in: position (n,), rad."""
        self._estimation.add(time, position)
        if self._estimation.due and self._timer.is_canceled():
            self._timer.reset()

    def begin(self, impact: Impact, time_error: float) -> None:
        """An impact happened at the time of its prediction, which is known within `time_error`, s (NaN: unknown)."""
        self._predictions[impact.event_sequence] = impact
        if len(self._predictions) > MOST_WAITING:
            del self._predictions[next(iter(self._predictions))]
        self._estimation.begin(impact.event_sequence, impact.time, 0.0 if math.isnan(time_error) else time_error)

    def finish(self) -> None:
        """Estimate and publish what is due."""
        self._timer.cancel()
        for late in self._estimation.finish():
            prediction = self._predictions.pop(late.key, None)
            if prediction is not None:
                self._publish(prediction, late)

    def _publish(self, prediction: Impact, late: LateEstimate) -> None:
        found = late.estimate
        if found is None:
            self._log.info(f"impact {late.key}: the velocity after can't be estimated: {late.reason}")
            return
        estimated = dataclasses.replace(
            prediction, source="estimate", estimated=found.velocity_after, estimated_error=found.standard_error
        )
        self._publisher.publish(impact_to_message(estimated, ROS))
        if not prediction.valid:
            return
        error = prediction_error(prediction.velocity_after, found)
        self._log.info(
            f"impact {late.key}: the predicted jump is off by {100 * error.relative:.0f} % of the estimated one "
            f"({error.error:.3f} of {error.jump:.3f} rad/s, standard error {error.standard_error:.3f})"
        )
