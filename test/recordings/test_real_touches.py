"""A real arm that a hand pushes softly: three touches and no impact, and a jump put into its signals is found."""

import re
from pathlib import Path

import numpy as np
import pytest

from impact_aware.detection import JointSample
from impact_aware.detection.impact_watch import WatchEventKind
from impact_aware.detection.watch_settings import NOISE_SAMPLES, WatchSettings, make_watch, noise_of
from impact_aware.recordings.impact_analysis import analyze
from impact_aware.recordings.limitations import limitations
from impact_aware.recordings.options import AnalysisOptions

FOLDER = Path(__file__).parents[1] / "data" / "panda_touch"
JUMP = np.array([0.25, -0.4, 0.1, 0.3, -0.2, 0.15, 0.05])


@pytest.fixture(scope="module")
def table():
    return np.genfromtxt(FOLDER / "touch.csv", delimiter=",", names=True)


def columns(table, name):
    return np.stack([table[f"{name}{joint}"] for joint in range(7)], axis=1)


def impacts(times, positions):
    noise = noise_of(list(positions[:NOISE_SAMPLES]), 1e-6)
    watch = make_watch(7, WatchSettings(sampling_period=5e-3, encoder_resolution=1e-6, position_noise=noise))
    rows = zip(times, positions, strict=True)
    found = [each for time, q in rows for each in watch.update(JointSample(float(time), q))]
    return [each.event for each in found if each.kind is WatchEventKind.MADE]


def test_the_hand_pushes_as_the_page_says(table):
    begins = table["time"][1:][np.diff(table["label"]) > 0]
    assert begins == pytest.approx([2.54, 3.34, 4.19], abs=0.01)
    assert np.ptp(columns(table, "tau_ext"), axis=0).max() > 10.0
    assert np.abs(columns(table, "dq")).max() < 0.05


def test_a_soft_push_is_no_impact(table):
    assert impacts(table["time"], columns(table, "q")) == []


def test_a_jump_in_the_signals_of_a_real_arm_is_found_once(table):
    times, positions = table["time"], columns(table, "q")
    fresh = np.r_[True, (np.diff(positions, axis=0) != 0.0).any(axis=1)]
    # Values that are repeated are those of an earlier time.
    measured = np.maximum.accumulate(np.where(fresh, times, 0.0))
    (event,) = impacts(times, positions + 2.0 * JUMP * np.maximum(measured - 3.1, 0.0)[:, None])
    assert event.time == pytest.approx(3.1, abs=0.015)


@pytest.fixture(scope="module")
def analysis():
    return analyze([FOLDER / "touch.csv"], AnalysisOptions(robot="panda"))


@pytest.mark.slow
def test_each_push_is_a_touch_with_force_and_duration_and_nothing_else(analysis, table):
    assert not analysis.impacts
    events = analysis.other_events
    assert [event.cause for event in events] == ["touch"] * 3
    begins = table["time"][1:][np.diff(table["label"]) > 0]
    assert [event.time for event in events] == pytest.approx(begins, abs=0.15)
    # The torques that the driver calls external are within a third of what gravity leaves.
    largest = [np.abs(columns(table, "tau_ext")[(table["time"] - begin) ** 2 < 0.25]).max() for begin in begins]
    found = [re.search(r"torque of (.+) N m at (\w+) for (.+) s, as by (.+) N at the tool", e.evidence) for e in events]
    assert [float(each[1]) for each in found] == pytest.approx(largest, rel=0.33)
    assert {each[2] for each in found} == {"panda_joint2"}
    assert all(0.25 < float(each[3]) < 0.55 and 10.0 < float(each[4]) < 30.0 for each in found)


@pytest.mark.slow
def test_the_analysis_says_that_every_other_sample_is_a_repetition(analysis):
    assert "change at 100 Hz only" in " ".join(each.reason for each in limitations(analysis))
