"""Tables that can be read and yet are doubtful: each doubt is a sentence, in place of figures that mean nothing."""

import numpy as np
import pytest

from impact_aware.errors import InvalidInputError
from impact_aware.recordings.arm_selection import arm_of_table
from impact_aware.recordings.impact_analysis import analyze
from impact_aware.recordings.kink_finder import KinkFinder
from impact_aware.recordings.limitations import limitations
from impact_aware.recordings.options import AnalysisOptions


def written(path, times, step=0.003, begin=0.5):
    """Two joints that move slowly and not alike."""
    rows = np.arange(len(times))
    columns = [times, begin + step * rows, -0.3 * begin + step * np.sin(0.1 * rows)]
    np.savetxt(path, np.column_stack(columns), delimiter=",", header="time,q1,q2", comments="")
    return path


def test_columns_that_are_no_times_are_refused(tmp_path):
    times = np.arange(0.0, 1.0, 0.004)
    path = written(tmp_path / "t.csv", times[::-1])
    with pytest.raises(InvalidInputError, match="times of t.csv: got 249 of 250 that run backwards, expected times"):
        analyze([path], AnalysisOptions())
    with pytest.raises(InvalidInputError, match="got 63 of 250 that run backwards"):
        analyze([written(path, times + 0.006 * (np.arange(250) % 4 == 0))], AnalysisOptions())
    with pytest.raises(InvalidInputError, match=r"times of t.csv: got 5 s in every row, expected times that increase"):
        analyze([written(path, np.full(250, 5.0))], AnalysisOptions())
    # A clock that is set back once is a note.
    (arm,) = analyze([written(path, np.concatenate((times + 9.0, times)))], AnalysisOptions()).arms
    assert any("the clock stepped by -10 s" in note for note in arm.notes)


def test_radians_that_are_read_as_degrees_are_doubted(tmp_path):
    times = np.arange(0.0, 1.0, 0.004)
    path = written(tmp_path / "t.csv", times)

    def notes(path, degrees):
        (arm,) = analyze([path], AnalysisOptions(degrees=degrees)).arms
        return [note for note in arm.notes if "degrees" in note]

    assert notes(path, True) == [
        "read as degrees, no joint is ever further than 1.2 deg from zero: radians need no --degrees"
    ]
    assert notes(written(tmp_path / "small.csv", times, step=1e-4, begin=0.02), False) == []
    assert notes(written(path, times, step=0.2), True) == []


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"object_frame": "box"}, "--object-frame: got box, expected a bag"),
        ({"command_topic": "/commands"}, "--command-topic: got /commands, expected a bag"),
        ({"topics": ("/joint_states",)}, "--topic: got"),
        ({"surface_frame": "table"}, "--surface-frame: got table, expected a bag"),
        ({"normal": (0.0, 0.0, 1.0)}, "expected --robot along with it"),
        ({"friction": 0.3}, "--friction: got 0.3, expected --robot along with it"),
        ({"inertia": "M"}, "--inertia: got M, expected --robot along with it"),
        ({"labels": {"other": "soft"}}, "--labels: got names of other files"),
        ({"task": "hit_and_push_palm", "normal": (0.0, 0.0, 1.0)}, "--normal: got .*, expected no --task"),
        ({"task": "hit_and_push_palm", "method": "frictionless"}, "--method: got frictionless, expected no --task"),
    ],
)
def test_options_without_effect_on_a_table_are_refused(tmp_path, given, words):
    path = written(tmp_path / "t.csv", np.arange(0.0, 1.0, 0.004))
    with pytest.raises(InvalidInputError, match=words):
        analyze([path], AnalysisOptions(**given))


def test_options_that_contradict_each_other_are_refused():
    with pytest.raises(InvalidInputError, match="friction: got 0.3, expected another method than frictionless"):
        AnalysisOptions(friction=0.3, method="frictionless")


@pytest.mark.parametrize(
    ("period", "words"), [(0.008, "125 Hz, too slowly to see weak"), (0.02, "50 Hz, too slowly to see an")]
)
def test_slow_recordings_say_what_they_miss(tmp_path, period, words):
    (arm,) = analyze([written(tmp_path / "t.csv", np.arange(0.0, 2.0, period))], AnalysisOptions()).arms
    assert words in arm.quality and np.isfinite(arm.smallest_jump) == (period < 0.01)


def test_a_rate_that_shows_no_impact_ends_the_search_and_what_it_would_report(tmp_path, monkeypatch):
    """Motion at 30 Hz looks like jumps everywhere: once 9 s of search, and 200 instants left out."""
    times, searched = np.arange(0.0, 40.0, 1.0 / 30.0), []
    monkeypatch.setattr(KinkFinder, "_test", lambda self, *given: searched.append(given))
    columns = [times, 0.1 * np.abs(np.sin(4.0 * times)), 0.2 * np.cos(3.0 * times)]
    np.savetxt(tmp_path / "t.csv", np.column_stack(columns), delimiter=",", header="time,q1,q2", comments="")
    analysis = analyze([tmp_path / "t.csv"], AnalysisOptions())
    assert not searched and "too slowly to see an impact" in analysis.arms[0].quality
    assert not any("not tested" in note for note in analysis.arms[0].notes)
    assert [entry.what.split(" in which")[0] for entry in limitations(analysis)] == [
        "whether there was an impact", "oscillations of the joints, and contacts within a few samples of each other"
    ]  # fmt: skip


def test_a_recording_that_is_over_at_once_says_so(tmp_path):
    def told(length):
        analysis = analyze([written(tmp_path / "t.csv", np.arange(0.0, length, 0.004))], AnalysisOptions())
        return [entry.reason for entry in limitations(analysis) if entry.what == "whether there was an impact"]

    assert told(0.1) == ["the recording is 0.10 s long: both sides of one are looked at"]
    assert told(0.6) == []


def test_columns_of_two_arms_are_refused_with_the_way_to_choose_one():
    names = tuple(f"{side}_{joint}" for side in ("left", "right") for joint in range(1, 8))
    with pytest.raises(InvalidInputError, match="panda_joint7 are missing: --columns 'q=COLUMNS joints=JOINTS'"):
        arm_of_table(names, "panda")
