"""The safe mode brings an arm to rest and keeps it there, whatever its model does not know."""

import dataclasses

import numpy as np
import pytest
from law_loop import LawLoop

from impact_aware.control import SafeReason
from impact_aware.robot import RobotModel, load_profile

ROBOT = RobotModel.from_profile("panda")
CYCLE = 0.001


def with_load(mass: float) -> RobotModel:
    """The same arm with so much more at its tool, kg."""
    profile = load_profile("panda")
    return RobotModel.from_profile(
        dataclasses.replace(profile, tool=dataclasses.replace(profile.tool, mass=profile.tool.mass + mass))
    )


def brake(arm: RobotModel, seconds: float, stamp=lambda time: time):
    """Joint speeds (k,) of the fastest joint while the safe mode brakes `arm`, and its last posture."""
    controller = LawLoop(ROBOT)
    q, dq = ROBOT.home.copy(), np.array([0.5, -0.4, 0.3, 0.5, -0.6, 0.4, 0.7])
    controller.safe_stop(SafeReason.REQUESTED)
    speeds = []
    for k in range(round(seconds / CYCLE)):
        command = controller.cycle(stamp(1.0 + k * CYCLE), q, dq)
        # Semi-implicit Euler at 1 kHz: its error over a second is far below the motion looked for.
        dq = dq + CYCLE * np.linalg.solve(arm.mass_matrix(q), command.effort - arm.bias(q, dq))
        q = q + CYCLE * dq
        speeds.append(np.abs(dq).max())
    return np.array(speeds), q


@pytest.mark.parametrize("load", [0.0, 0.5, 1.0])
def test_a_load_that_the_model_does_not_have_does_not_keep_the_arm_sinking(load):
    speeds, _ = brake(with_load(load), 2.0)
    # At rest within the second that the reliability page promises, and for good.
    assert speeds[1000:].max() < 0.02


def test_the_arm_stops_sooner_than_by_damping_alone_and_stays():
    speeds, q = brake(ROBOT, 1.0)
    # A speed that fades with 10 / s goes on for a tenth of itself.
    share = (q - ROBOT.home) / (0.1 * np.array([0.5, -0.4, 0.3, 0.5, -0.6, 0.4, 0.7]))
    assert np.all(share > 0.02) and np.all(share < 0.8)
    assert speeds[-1] < 0.001
