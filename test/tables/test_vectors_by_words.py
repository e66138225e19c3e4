"""Tables of a laboratory as they are: a line about the trial, vectors in cells, the object in a table of its own."""

import re
from pathlib import Path

import numpy as np
import pytest

from impact_aware.errors import InvalidInputError
from impact_aware.recordings.impact_analysis import analyze
from impact_aware.recordings.object_track import track_of_table
from impact_aware.recordings.options import AnalysisOptions
from impact_aware.tables.joint_table import open_table
from impact_aware.tables.options import ColumnMap, read_column_map

# Numbers are our own; the layout is that of a public recorder of two arms and a box.
TRIAL = "Wanted,1,HitTime,1714476540.23,Place,0.56304389238357544 0.29261419177055359 0.21975857019424438\n"
NAMES = ("RobotName", "RosTime", "JointPosition", "JointVelocity", "JointEffort", "TorqueCmd")
TOOL = ("EEF_Position", "EEF_Velocity")
JOINTS, ROWS = 3, 6


def value(kind, row, joint=0):
    """A number that occurs once."""
    return round(0.1 * kind + 0.01 * row + 0.001 * joint - 0.35, 6)


def cell(kind, row, width=JOINTS):
    return "   ".join(f"{value(kind, row, joint):.6f}" for joint in range(width))


def time_of(row):
    return 1714476540.1448 + 0.005 * row


def robot_table(path, names=(*NAMES, *TOOL), above=TRIAL):
    rows = [
        f"ARM_7,{time_of(row):.7f}," + ", ".join(cell(kind, row) for kind in range(len(names) - 2))
        for row in range(ROWS)
    ]
    path.write_text(above + "\n".join([",".join(names), *rows]) + "\n")
    return path


# With six names the line about the trial has as many cells as the table.
@pytest.mark.parametrize("names", [NAMES, (*NAMES, *TOOL)])
@pytest.mark.parametrize("above", ["", TRIAL, "north wing\n" + TRIAL])
def test_vectors_are_found_by_their_words_below_a_line_about_the_trial(tmp_path, names, above):
    table = open_table(robot_table(tmp_path / "hit.csv", names, above))
    (batch,) = table.pieces()
    np.testing.assert_allclose(batch.times, [time_of(row) for row in range(ROWS)], atol=1e-6)
    for kind, found in enumerate((batch.positions, batch.velocities, batch.efforts)):
        wanted = [[value(kind, row, joint) for joint in range(JOINTS)] for row in range(ROWS)]
        np.testing.assert_array_equal(found, wanted)
    assert table.columns["command"] == ("TorqueCmd",)


def test_rows_that_are_no_metadata_stay(tmp_path):
    # Words in the third row are a fault in the table and no header below metadata.
    path = tmp_path / "t.csv"
    path.write_text("time,q1,q2\n0.0,0.5,0.7\n0.1,0.6,0.9\na,b,c\n0.3,0.8,1.3\n")
    with pytest.raises(InvalidInputError, match=r"'a' for time in row 3 \(line 4\)"):
        list(open_table(path).pieces())


def test_two_vectors_that_could_be_the_positions_are_asked_for(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("time,robot_position,arm_position\n0.0,1 2 3,4 5 6\n0.1,2 3 4,5 6 8\n")
    with pytest.raises(InvalidInputError, match="robot_position and arm_position, expected one of them"):
        open_table(path)


def object_table(path, first="RosTime"):
    rows = [
        f"{time_of(row) + 0.0021:.7f},{cell(5, row)},0 0  0.6 {0.8}, {cell(6, row)}" for row in range(ROWS)
    ]  # fmt: skip
    path.write_text("\n".join([f"{first},PlaceForArm7,TurnForArm7,PlaceForArm14", *rows]) + "\n")
    return path


def track(tmp_path, words):
    table = open_table(robot_table(tmp_path / "hit.csv"), read_column_map(words))
    return track_of_table(table.source, table.clock, read_column_map(words))


def test_the_object_may_be_in_a_table_of_its_own_with_its_own_clock(tmp_path):
    object_table(tmp_path / "box.csv")
    words = "object_table=box.csv object_position=PlaceForArm7 object_quaternion=TurnForArm7"
    found = track(tmp_path, words)
    np.testing.assert_allclose(found.times, [time_of(row) + 0.0021 for row in range(ROWS)], atol=1e-6)
    np.testing.assert_array_equal(found.positions, [[value(5, row, axis) for axis in range(3)] for row in range(ROWS)])
    assert found.rotations[0][0, 0] == pytest.approx(1.0 - 2.0 * 0.6**2)
    assert read_column_map("object_table=box.csv") == ColumnMap(object_table="box.csv")


def test_the_objects_table_may_be_named_from_the_working_folder(tmp_path, monkeypatch):
    (tmp_path / "tracks").mkdir()
    object_table(tmp_path / "tracks" / "box.csv")
    (tmp_path / "joints").mkdir()
    monkeypatch.chdir(tmp_path)
    table = open_table(robot_table(tmp_path / "joints" / "hit.csv"))
    chosen = read_column_map("object_table=tracks/box.csv object_position=PlaceForArm7")
    assert len(track_of_table(table.source, table.clock, chosen).times) == ROWS


def test_of_two_tables_of_the_object_that_beside_the_joints_is_read_and_named(tmp_path, monkeypatch):
    for folder in ("joints", "here"):
        (tmp_path / folder).mkdir()
    object_table(tmp_path / "joints" / "box.csv")
    (tmp_path / "here" / "box.csv").write_text("no track\n")
    monkeypatch.chdir(tmp_path / "here")
    chosen = read_column_map("object_table=box.csv object_position=PlaceForArm7")
    robot_table(tmp_path / "joints" / "hit.csv")
    (arm,) = analyze([tmp_path / "joints" / "hit.csv"], AnalysisOptions(columns=chosen)).arms
    note = f"{tmp_path / 'joints' / 'box.csv'} has the track of the object; {tmp_path / 'here' / 'box.csv'} is not read"
    assert note in arm.notes
    monkeypatch.chdir(tmp_path / "joints")
    (arm,) = analyze([Path("hit.csv")], AnalysisOptions(columns=chosen)).arms
    assert not any("is not read" in note for note in arm.notes)


def test_what_a_table_of_the_object_lacks_is_said(tmp_path):
    object_table(tmp_path / "box.csv")
    with pytest.raises(InvalidInputError, match="object_table box.csv: got no track, expected object_position=COLUMNS"):
        track(tmp_path, "object_table=box.csv")
    places = f"{tmp_path / 'none.csv'} or {Path.cwd() / 'none.csv'}"
    with pytest.raises(InvalidInputError, match=re.escape(f"beside hit.csv or in the working folder: {places}")):
        track(tmp_path, "object_table=none.csv object_position=PlaceForArm7")
    object_table(tmp_path / "box.csv", first="sample")
    with pytest.raises(InvalidInputError, match="object_time of box.csv: got nothing by the usual names"):
        track(tmp_path, "object_table=box.csv object_position=PlaceForArm7")
    found = track(tmp_path, "object_table=box.csv object_position=PlaceForArm7 object_time=sample")
    assert found.times[0] == pytest.approx(time_of(0) + 0.0021, abs=1e-6)
