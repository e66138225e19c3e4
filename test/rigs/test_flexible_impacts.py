"""Impacts of the flexible-joint arm settle on the rigid arm's answer."""

import numpy as np
import pytest

from impact_aware.robot import RobotModel
from impact_aware_rigs.bench.flexible_impacts import FlexibleImpactSettings, simulate_flexible_impacts


@pytest.mark.slow
def test_the_flexible_arm_settles_on_the_rigid_answer_and_the_seed_fixes_it():
    robot = RobotModel.from_profile("panda")
    settings = FlexibleImpactSettings(approach=0.05, after=0.2, noise=0.0)
    first, again = (simulate_flexible_impacts(robot, 1, 3, settings)[0] for _ in range(2))
    np.testing.assert_array_equal(first.positions, again.positions)
    assert 0.045 < first.impact_time < 0.055
    late = first.time > first.impact_time + 0.1
    mean = np.polyfit(first.time[late] - first.impact_time, first.positions[late], 1)[0]
    jump = np.linalg.norm(first.velocity_after - first.velocity_before)
    # Oscillation that is left after 100 ms, and a tenth of a second of drift of the posture.
    assert np.linalg.norm(mean - first.velocity_after) < 0.15 * jump
    assert abs(robot.frame_jacobian(first.q)[2] @ first.velocity_after) < 1e-3
