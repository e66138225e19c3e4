"""The YAML beside a recording: every entry arrives, the command line goes before it, slips are told by name."""

from pathlib import Path

import numpy as np
import pytest

from impact_aware.errors import InvalidInputError
from impact_aware.recordings.file_options import file_options, with_file_options
from impact_aware.recordings.impact_analysis import analyze
from impact_aware.recordings.options import AnalysisOptions

TEXT = """
robot: panda
columns: {time: t, q: "joint_*_pos"}
time_unit: ms
degrees: true
impact_times: [2.5, 1.25]
contact: {frame: panda_hand, offset: [0.01, -0.02, 0.05], normal: [0, 0.6, 0.8], friction: 0.3, restitution: 0.5,
          tool_radius: 0.04}
object: {mass: 1.9, topic: /box/pose, frame: box}
"""


def written(folder: Path, text: str, name: str = "trial.impact.yaml") -> Path:
    (folder / name).write_text(text)
    return folder / "trial.csv"


@pytest.mark.parametrize("name", ["trial.impact.yaml", "trial.csv.impact.yaml"])
def test_every_entry_arrives_and_options_go_before_it(tmp_path, name):
    found = file_options(written(tmp_path, TEXT, name))
    assert found.impact_times == (1.25, 2.5) and found.columns.time_scale == 1e-3 and found.columns.time == "t"
    options = with_file_options(AnalysisOptions(), found)
    assert (options.robot, options.contact_frame, options.offset) == ("panda", "panda_hand", (0.01, -0.02, 0.05))
    assert (options.normal, options.friction, options.restitution) == ((0.0, 0.6, 0.8), 0.3, 0.5)
    assert (options.tool_radius, options.object_mass, options.object_topic) == (0.04, 1.9, "/box/pose")
    assert (options.object_frame, options.columns.q, options.degrees) == ("box", ("joint_*_pos",), True)
    given = AnalysisOptions(robot="fr3", friction=0.0, offset=(0.1, 0.0, 0.0), surface=Path("s.yaml"))
    options = with_file_options(given, found)
    assert (options.robot, options.friction, options.offset, options.normal) == ("fr3", 0.0, (0.1, 0.0, 0.0), None)
    assert with_file_options(given, None) is given


def test_a_recording_without_one_has_none(tmp_path):
    assert file_options(tmp_path / "trial.csv") is None


def test_a_robot_beside_it_is_found(tmp_path):
    (tmp_path / "mine.yaml").write_text("")
    assert file_options(written(tmp_path, "robot: mine.yaml")).robot == str(tmp_path / "mine.yaml")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("frction: 0.3", r"trial.impact.yaml: got 'frction', expected one of robot, time_unit"),
        ("contact: {frction: 0.3}", "contact: got 'frction', expected one of frame"),
        ("contact: {friction: -0.3}", "friction: got -0.3, expected a number >= 0"),
        ("contact: {friction: yes}", "friction: got True, expected a number"),
        ("contact: {offset: [0, 3, 0]}", "offset: got 3.0, expected a number >= -2 and <= 2 m"),
        ("contact: {normal: [0, 0, 0]}", "normal: .*zero length"),
        ("contact: {normal: [0, 1]}", "normal: .*3 numbers"),
        ("contact: tool", "contact: got 'tool', expected a mapping"),
        ("object: {mass: 0}", "mass: got 0.0, expected a number >= 1e-09"),
        ("impact_times: 1.2", "impact_times: got 1.2, expected a list"),
        ("impact_times: [a]", "impact_times: got 'a', expected a number"),
        ("degrees: 1", "degrees: got 1, expected true or false"),
        ("time_unit: min", "time_unit: got 'min', expected one of s, ms, us, ns"),
        ("columns: t", "columns: got 't', expected a mapping"),
        ("columns: {speed: t}", "columns: got 'speed'"),
        ("robot: 3", "robot: got 3, expected a text"),
    ],
)
def test_slips_are_told_by_name(tmp_path, text, words):
    with pytest.raises(InvalidInputError, match=words):
        file_options(written(tmp_path, text))


def test_an_analysis_reads_it_and_says_where_nothing_was_found(tmp_path):
    times = np.arange(0.0, 1.0, 0.002)
    rows = np.column_stack([1e3 * times, *(90.0 + 5.0 * k + 0.0 * times for k in range(2))])
    np.savetxt(tmp_path / "trial.csv", rows, delimiter=",", header="t,joint_1_pos,joint_2_pos", comments="")
    text = 'columns: {time: t, q: "joint_*_pos"}\ntime_unit: ms\ndegrees: true\nimpact_times: [0.5]\n'
    analysis = analyze([written(tmp_path, text)], AnalysisOptions())
    assert analysis.arms[0].rate_hz == pytest.approx(500.0)
    assert analysis.settings["degrees (trial.impact.yaml)"] is True and "degrees" not in analysis.settings
    assert analysis.settings["detector"]
    assert any("no contact was found within 20 ms of 0.5000 s" in note for note in analysis.notes)
