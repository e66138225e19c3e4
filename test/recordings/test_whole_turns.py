"""Joints without an end: drivers count their angle from -pi to pi, and beginning anew is no impact."""

import numpy as np
import pytest

from impact_aware.recordings.arm_samples import ArmSamples
from impact_aware.recordings.impact_analysis import analyze
from impact_aware.recordings.input_stage import InputStage
from impact_aware.recordings.options import AnalysisOptions


def picked(times, positions, cuts=()):
    """Positions as the input stage gives them, piece by piece, and how many turns it carried on."""
    stage = InputStage()
    pieces = [ArmSamples(*piece) for piece in zip(np.split(times, cuts), np.split(positions, cuts), strict=True)]
    found = [clean for piece in pieces for clean in stage.feed(piece)] + stage.finish()
    return np.concatenate([piece.positions for piece in found]), stage.faults.turns


def motion(count=400, period=0.005):
    times = 10.0 + period * np.arange(count)
    since = times - times[0]
    return times, np.stack([2.4 + 1.7 * since + 0.2 * np.sin(3.0 * since), 0.3 - 0.4 * since], axis=1)


def wrapped(angles):
    return (angles + np.pi) % (2.0 * np.pi) - np.pi


@pytest.mark.parametrize("cuts", [(), (87, 88, 240)])
@pytest.mark.parametrize("backwards", [False, True])
def test_angles_are_carried_on_over_pieces(cuts, backwards):
    times, angles = motion()
    angles = -angles if backwards else angles
    given = np.array([1.0, 1.0]) * wrapped(angles)
    found, turns = picked(times, given, cuts)
    np.testing.assert_allclose(found - found[0], angles - angles[0], atol=1e-12)
    assert turns == np.count_nonzero(np.abs(np.diff(given, axis=0)) > 3.0) > 0


def test_steps_that_are_no_turns_and_turns_while_nothing_was_recorded_stay():
    times, angles = motion()
    angles[200:, 1] += 3.0  # half a turn is a fault, which others have to see
    found, turns = picked(times, angles)
    np.testing.assert_array_equal(found, angles)
    late = times + np.where(np.arange(len(times)) < 100, 0.0, 1.0)
    angles[100:, 0] += 2.0 * np.pi
    found, turns = picked(late, angles)
    np.testing.assert_array_equal(found, angles)
    assert turns == 0


def test_a_turn_is_no_impact_and_an_impact_after_it_is_one(tmp_path):
    times, angles = motion(600)
    struck = 12.1234
    since = np.maximum(times - struck, 0.0)[:, None]
    angles += since * np.array([-0.6, 0.35]) + np.random.default_rng(41).normal(0.0, 3e-6, angles.shape)
    path = tmp_path / "turning.csv"
    rows = np.column_stack([times, wrapped(angles)])
    np.savetxt(path, rows, delimiter=",", header="time,q1,q2", comments="", fmt="%.9f")
    (arm,) = analyze([path], AnalysisOptions()).arms
    assert [impact.time for impact in arm.impacts] == pytest.approx([struck], abs=0.002)
    assert any("began anew after a whole turn" in note for note in arm.notes)
