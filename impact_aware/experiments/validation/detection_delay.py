"""Delay of the jump-aware detector with the parameters of Aouaj thesis, 4.3, on a simulated impact of its arm."""

from __future__ import annotations

import numpy as np

from impact_aware.detection import AdaptiveWindowDetector, AdaptiveWindowParameters, JointSample
from impact_aware.experiments.models.flexible_joint import (
    FlexibleJointArm,
    FlexibleJointRun,
    PressingForce,
)
from impact_aware.experiments.validation.check import Check, Source
from impact_aware.experiments.validation.context import ValidationContext
from impact_aware.experiments.validation.flexible_arms import table_impact
from impact_aware.robot import RobotModel
from impact_aware.simulation.joint_elasticity import JointElasticity

_SPEED = 0.2
RESOLUTION = 1e-5
# One window of W = 12, one period ahead, one sample enough, and the fixed bound: what the thesis describes.
THESIS_DETECTOR = AdaptiveWindowParameters(
    window=12,
    smallest_window=12,
    horizon=1,
    confirmation_samples=1,
    acceleration_variation=20.0,
    jerk_bound=30000.0,
    fixed_bound=0.7e-3,
)
_DELAY = Source(
    "Aouaj thesis 4.3.1",
    "printed",
    "flexible-joint plant of the KUKA LWR IV+ hitting a table at 0.2 m/s along its normal, stiffness 10 kN m/rad, "
    "encoder step 1e-5 rad, 1 kHz; three phases of the impact between two samples, the longest delay from first touch "
    "(the thesis counts from what the eye sees in a recording)",
)


def detection_delay(context: ValidationContext) -> list[Check]:
    """Longest delay with the thesis's detector and with this package's default (Aouaj thesis, 4.3: 4 ms)."""
    robot = RobotModel.from_profile("kuka_lwr4")
    arm = FlexibleJointArm(robot, JointElasticity.of(robot))
    runs = [_impact(arm, approach) for approach in (0.0402, 0.0406, 0.0410)]
    delays = {
        "thesis's W = 12, bound 0.7e-3 rad": [_delay(run, THESIS_DETECTOR) for run in runs],
        "default detector": [_delay(run, AdaptiveWindowParameters()) for run in runs],
    }
    return [_DELAY.at_most(f"{label}: longest delay, ms", 4.0, 1e3 * np.max(found)) for label, found in delays.items()]


def _impact(arm: FlexibleJointArm, approach: float) -> FlexibleJointRun:
    robot = arm.robot
    dq = np.linalg.pinv(robot.frame_jacobian(robot.home)) @ np.array([0.0, 0.0, -_SPEED, 0.0, 0.0, 0.0])
    press = PressingForce(robot, (0.0, 0.0, -10.0))
    return table_impact(arm, robot.home, dq, press, _SPEED * approach, approach + 0.02)


def _delay(run: FlexibleJointRun, parameters: AdaptiveWindowParameters) -> float:
    """Time from first touch to the first event, s; NaN without one or with one before the touch."""
    detector = AdaptiveWindowDetector(run.q.shape[1], parameters)
    for time, q in zip(run.time, run.q, strict=True):
        event = detector.update(JointSample(float(time), np.round(q / RESOLUTION) * RESOLUTION))
        if event is not None:
            delay = event.time_detected - run.impact_time
            return delay if delay > 0.0 else float("nan")
    return float("nan")
