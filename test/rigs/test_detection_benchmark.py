"""The benchmark's trials hold what they say, and its result has the stated layout."""

import argparse
import json

import numpy as np
import pytest

from impact_aware.detection import DETECTORS
from impact_aware.robot import RobotModel
from impact_aware_rigs.bench import ringing
from impact_aware_rigs.bench.detection import BenchOptions, run
from impact_aware_rigs.bench.detection_trials import PLANTS, MeasurementNoise, free_motion, simulate_trial
from impact_aware_rigs.bench.ringing import score_ringing

ROBOT = RobotModel.from_profile("panda")


@pytest.mark.parametrize("plant", PLANTS)
def test_trial_has_the_impact_that_it_states(plant):
    trial = simulate_trial(ROBOT, plant, 7)
    first = trial.impact_times[0]
    # Ramp and cruise lead to the surface, tracking is not perfect.
    assert first == pytest.approx(0.18, abs=0.03)
    before = int(np.searchsorted(trial.times, first)) - 1
    velocity = ROBOT.frame_jacobian(trial.positions[before])[:3] @ trial.velocities[before]
    assert np.linalg.norm(velocity) == pytest.approx(trial.speed, rel=0.1)
    angle = np.arccos(-trial.normal @ velocity / np.linalg.norm(velocity))
    assert angle == pytest.approx(trial.angle, abs=0.1)
    # Before the impact the torque sensors show what was expected, but for what the joints' elasticity hides.
    quiet = np.abs(trial.efforts - trial.effort_references)[:before].max()
    assert quiet < (3.0 if plant == "flexible" else 0.5)


def test_free_motion_is_one_recording_whatever_the_chunks():
    whole = next(iter(free_motion(ROBOT, 6.0, 3, chunk=6.0)))
    parts = list(free_motion(ROBOT, 6.0, 3, chunk=2.0))
    assert len(parts) == 3
    # The random moves are drawn in another order, but the motion goes on where it stopped.
    for earlier, later in zip(parts[:-1], parts[1:], strict=True):
        step = later.positions[0] - earlier.positions[-1]
        np.testing.assert_allclose(step, 1e-3 * earlier.velocities[-1], atol=5e-5)
        assert later.times[0] - earlier.times[-1] == pytest.approx(1e-3)
    accelerations = np.abs(np.diff(whole.velocities, axis=0)) / 1e-3
    assert 10.0 < accelerations.max() < 30.0


def test_measurement_is_repeatable_and_quantised():
    trial = next(iter(free_motion(ROBOT, 1.0, 3)))
    noise = MeasurementNoise()
    first, again = trial.measured(noise, 1), trial.measured(noise, 1)
    np.testing.assert_array_equal(first.positions, again.positions)
    steps = first.positions / noise.encoder_resolution
    np.testing.assert_allclose(steps, np.round(steps), atol=1e-6)


@pytest.mark.slow
def test_result_has_the_stated_layout():
    result = run(argparse.Namespace(**vars(BenchOptions(trials=2, hours=4.0 / 3600.0, seed=5, ringing=0))))
    json.dumps(result)
    assert set(DETECTORS) <= set(result["detectors"])
    for figures in result["detectors"].values():
        assert set(figures["delay_ms"]) == {"p50", "p99"}
        for key in ("missed", "false_positives_per_hour", "us_per_sample", "time_error_ms"):
            assert np.isfinite(figures[key])
    assert sum(result["trials"]["impacts"].values()) == 2
    fusion = result["detectors"]["fusion"]
    assert fusion["missed"] == 0 and fusion["false_positives_before_impacts"] == 0
    assert fusion["delay_ms"]["p99"] < 4.0


@pytest.mark.slow
def test_the_watch_finds_the_hits_of_arms_that_ring():
    figures = score_ringing(5, 3, rates=(1000,))["1000"]
    assert figures["impacts"] == 5 and figures["first_found"] >= 0.8
    assert figures["false_contacts"] <= 1
    assert 0.0 < figures["sample_us"]["before"]["p50"] and np.isfinite(figures["sample_us"]["after"]["p50"])


def test_a_report_beside_no_touch_is_a_false_contact(monkeypatch):
    monkeypatch.setattr(ringing, "watch_events", lambda times, *_: [(times[0], times[0])])
    figures = score_ringing(1, 3, rates=(200,))["200"]
    assert (figures["first_found"], figures["false_contacts"]) == (0.0, 1)
