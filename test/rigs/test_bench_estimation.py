"""The estimation benchmark's own arithmetic, on small sets."""

import argparse

import numpy as np
import pytest

from impact_aware.contact.geometry import Contact
from impact_aware.estimation import OFFLINE_ESTIMATORS
from impact_aware.robot import RobotModel
from impact_aware_rigs.bench import estimation as bench_estimation
from impact_aware_rigs.bench.flexible_impacts import FlexibleImpact


def test_errors_are_those_of_the_estimators():
    times = np.arange(0.0, 0.5, 1e-3)
    before, after = np.full(2, 0.3), np.array([0.1, -0.1])
    since = (times - 0.2)[:, None]
    positions = np.where(since < 0, before * since, after * since)
    positions += 1e-6 * np.random.default_rng(0).standard_normal(positions.shape)
    # The reference is a degree per second off, so every estimator must show that error.
    impact = FlexibleImpact(
        times, positions, 0.2, np.zeros(2), before, after + np.radians(1.0), Contact("tool", [0.0, 0.0, 1.0])
    )
    table = bench_estimation.bench_estimators({"arm": [impact]})
    assert set(table) == set(OFFLINE_ESTIMATORS)
    for figures in table.values():
        # Micro-radian noise is worth about 0.01 deg/s.
        np.testing.assert_allclose(figures["arm"]["0_ms"]["rms_deg_s"], 1.0, atol=0.05)
        assert figures["arm"]["0_ms"]["jump_percent"] > 0.0
        assert set(figures["arm"]) == {"0_ms", "1_ms", "2_ms", "5_ms", "10_ms"}


@pytest.mark.slow
def test_identification_recovers_what_was_put_in():
    robot = RobotModel.from_profile("panda")
    table = bench_estimation.bench_identification(robot, 1, 1e-3, 0)
    for case in ("friction", "restitution", "inertia_ratio"):
        for figures in table[case].values():
            assert figures["median_error"] < 0.1
    assert set(table["inertia"]) == set(robot.joint_names)


def test_the_same_seed_gives_the_same_trials():
    robot = RobotModel.from_profile("panda")
    first, again = (
        bench_estimation.simulate_rigid_trials(robot, np.random.default_rng(5), 3, 1e-3, 0.3, 0.0) for _ in range(2)
    )
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(one.q, other.q)
        np.testing.assert_array_equal(one.velocity_after, other.velocity_after)


def test_options_have_defaults_that_cover_both_halves():
    parser = argparse.ArgumentParser()
    bench_estimation.add_arguments(parser)
    args = parser.parse_args([])
    assert args.only is None
    assert args.robots == ["panda", "kuka_lwr4"]
