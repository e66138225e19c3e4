"""When a jump was, of joints whose samples share the errors of their stamps."""

import numpy as np
import pytest

from impact_aware.estimation.branch_model import BranchModel
from impact_aware.estimation.motion_parts import ramp
from impact_aware.estimation.sample_noise import Noise
from impact_aware.recordings.candidate import LEAST_TIME_STD


@pytest.mark.parametrize("period", [0.005, 0.002])
def test_stamps_that_are_off_are_not_believed_once_for_every_joint(period):
    """Half a sine of up to 4 ms changes the velocity of six joints; stamps are off by 0.1 ms, for all joints alike."""
    speed = np.array([1.2, -0.9, 0.7, 1.5, -1.1, 0.8])
    jump = np.array([-2.0, 1.4, -0.3, -1.8, 1.9, -0.5])
    ratios = []
    for seed in range(40):
        rng = np.random.default_rng((7, seed))
        true = (np.arange(-10, 9) + rng.uniform(-0.5, 0.5)) * period
        bent = ramp(np.maximum(true, 0.0), rng.uniform(0.0, 0.004))
        positions = np.outer(true, speed) + np.outer(bent, jump)
        positions += 1e-5 * rng.standard_normal(positions.shape)
        stamps = true + 1e-4 * rng.standard_normal(len(true))
        model = BranchModel(stamps, positions, Noise(np.full(6, 1e-5), 1e-4).at(speed))
        time, std = model.instant(-0.006, 0.006)
        ratios.append(time / np.hypot(std, LEAST_TIME_STD))
    # Where each joint's samples count whole, 1.18 and 1.26.
    assert 0.8 < np.sqrt(np.mean(np.square(ratios))) < 1.1
