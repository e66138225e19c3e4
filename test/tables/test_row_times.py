"""Tables without a column of times, whose rows come one like the other: the rate says when."""

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from impact_aware.cli.main import main
from impact_aware.contact.geometry import Contact
from impact_aware.errors import InvalidInputError
from impact_aware.estimation.trial_tables import ContactDefaults, read_trials
from impact_aware.recordings.command_track import commands_of_table
from impact_aware.recordings.file_options import file_options, with_file_options
from impact_aware.recordings.impact_analysis import analyze
from impact_aware.recordings.object_track import track_of_table
from impact_aware.recordings.options import AnalysisOptions
from impact_aware.robot import RobotModel
from impact_aware.tables.joint_table import open_table
from impact_aware.tables.options import ColumnMap, completed, read_column_map

RATE = 125.0


def written(path, names, rows):
    lines = [",".join("" if np.isnan(value) else repr(float(value)) for value in row) for row in rows]
    path.write_text("\n".join([*([",".join(names)] if names else []), *lines]) + "\n", encoding="utf-8")
    return path


def two_joints(count=30):
    return np.array([[0.5 + 0.25 * k, -1.75 - 0.125 * k**1.5] for k in range(count)])


def times_of(table):
    return np.concatenate([batch.times for batch in table.pieces()])


def test_rows_come_one_like_the_other_and_those_of_nothing_count(tmp_path):
    rows = two_joints(6)
    rows[2] = np.nan
    table = open_table(written(tmp_path / "t.csv", ("q_a", "q_b"), rows), ColumnMap(rate=RATE))
    np.testing.assert_allclose(times_of(table), np.array([0, 1, 3, 4, 5]) / RATE, rtol=1e-15)
    assert table.joint_names == ("a", "b") and table.notes == ()


@pytest.mark.parametrize("name", ["t.npz", "t.parquet", "t.txt"])
def test_every_kind_of_file_counts_its_rows(tmp_path, name, monkeypatch):
    monkeypatch.setattr("impact_aware.tables.column_file.ROWS", 7)
    rows, path = two_joints(), tmp_path / name
    if name.endswith("npz"):
        np.savez(path, q=rows)
    elif name.endswith("txt"):
        path.write_text("\n".join(["q1  q2", *(f"{a!r}  {b!r}" for a, b in rows.tolist())]), encoding="utf-8")
    else:
        pyarrow.parquet.write_table(pyarrow.table({"q1": rows[:, 0], "q2": rows[:, 1]}), path)
    table = open_table(path, read_column_map("rate=125"))
    np.testing.assert_allclose(times_of(table), np.arange(30) / RATE, rtol=1e-15)


def test_a_table_without_names_is_joints_from_its_first_column_on(tmp_path):
    path = written(tmp_path / "t.csv", (), two_joints())
    table = open_table(path, read_column_map("q=0:2 rate=125"))
    (batch,) = table.pieces()
    np.testing.assert_array_equal(batch.positions, two_joints())
    with pytest.raises(InvalidInputError, match="q=0:2"):
        open_table(path, ColumnMap(rate=RATE))
    with pytest.raises(InvalidInputError, match="--rate HZ for rows that come one like the other"):
        open_table(written(tmp_path / "u.csv", ("q1", "q2"), two_joints()))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("time=clock rate=125", "a column of times, clock, and a rate of 125 Hz, expected one of them"),
        ("time_scale=0.001 rate=125", "a unit of the times and a rate of 125 Hz, expected one of them"),
        ("rate=fast", "rate: got fast, expected a number >= 1 and <= 100000 Hz"),
        ("rate=0.5", "rate: got 0.5"),
        ("rate=nan", "rate: got nan"),
    ],
)
def test_times_and_a_rate_or_a_rate_that_is_none_are_refused(tmp_path, words, told):
    path = written(tmp_path / "t.csv", ("clock", "q1", "q2"), np.column_stack((np.arange(30), two_joints())))
    with pytest.raises(InvalidInputError, match=told):
        open_table(path, read_column_map(words))


def test_a_column_of_times_that_is_passed_over_is_told(tmp_path):
    path = written(tmp_path / "t.csv", ("time", "q1", "q2"), np.column_stack((0.02 * np.arange(30), two_joints())))
    table = open_table(path, ColumnMap(rate=RATE))
    np.testing.assert_allclose(times_of(table)[-1], 29 / RATE)
    assert table.notes == (
        "time is not read: a rate of 125 Hz was given; without it the times of time are taken",
    )


def test_commands_and_the_objects_track_have_the_times_of_the_rows(tmp_path):
    names = ("q1", "q2", "command1", "command2", "object_position_x", "object_position_y", "object_position_z")
    rows = np.column_stack((two_joints(), 3.0 * two_joints(), two_joints(), 0.1 * np.arange(30)))
    table = open_table(written(tmp_path / "t.csv", names, rows), ColumnMap(rate=RATE))
    np.testing.assert_allclose(commands_of_table(table).times, np.arange(30) / RATE)
    track = track_of_table(table.source, table.clock, ColumnMap(rate=RATE))
    np.testing.assert_allclose(track.times, np.arange(30) / RATE)
    np.testing.assert_allclose(track.positions[:, 2], 0.1 * np.arange(30))


def test_the_file_beside_a_recording_gives_it_and_options_go_before(tmp_path):
    text = 'rate: 125\ncolumns: {q: "joint_*"}\n'
    (tmp_path / "t.impact.yaml").write_text(text, encoding="utf-8")
    beside = file_options(tmp_path / "t.csv")
    assert beside.columns == ColumnMap(rate=RATE, q=("joint_*",))
    options = with_file_options(AnalysisOptions(columns=ColumnMap(rate=250.0)), beside)
    assert options.columns == ColumnMap(rate=250.0, q=("joint_*",))
    # Times and a rate stand in for each other: what the command line says of one leaves out the other.
    assert completed(ColumnMap(time="clock"), beside.columns) == ColumnMap(time="clock", q=("joint_*",))
    timed = ColumnMap(time="clock", time_scale=1e-3, q=("joint_*",))
    assert completed(ColumnMap(rate=250.0), timed) == ColumnMap(rate=250.0, q=("joint_*",))
    assert completed(None, timed) is timed


@pytest.fixture(scope="module")
def kinked(tmp_path_factory):
    """A Panda whose joints turn another way at 0.5 s, at 500 Hz: with times, and without."""
    folder, robot = tmp_path_factory.mktemp("kinked"), RobotModel.from_profile("panda")
    times = np.arange(0.0, 1.0, 0.002)
    jump = np.array([0.1, -0.35, 0.05, 0.4, -0.2, 0.3, 0.15])
    positions = robot.home + np.outer(times, 0.3 * jump) + np.outer(np.maximum(times - 0.5, 0.0), jump)
    rows = np.round(positions, 5)
    names = tuple(f"q_{name}" for name in robot.joint_names)
    written(folder / "timed.csv", ("time", *names), np.column_stack((times, rows)))
    written(folder / "bare.csv", names, rows)
    return folder


def test_an_analysis_is_that_of_the_same_table_with_times(kinked):
    options = AnalysisOptions(robot="panda", ablation=False)
    timed = analyze([kinked / "timed.csv"], options).impacts
    bare = analyze([kinked / "bare.csv"], AnalysisOptions(robot="panda", ablation=False, columns=ColumnMap(rate=500.0)))
    assert [impact.time for impact in bare.impacts] == pytest.approx([impact.time for impact in timed], abs=1e-9)
    assert len(timed) == 1 and timed[0].time == pytest.approx(0.5, abs=1e-3)


def test_impacts_of_a_recording_are_read_by_its_rate(kinked):
    robot = RobotModel.from_profile("panda")
    contact = ContactDefaults(robot.tool_frame, np.array([0.0, 0.6, 0.8]))
    (timed,) = read_trials(kinked / "timed.csv", robot, contact, [0.5])
    (bare,) = read_trials(kinked / "bare.csv", robot, contact, [0.5], columns=ColumnMap(rate=500.0))
    np.testing.assert_allclose(bare.velocity_after, timed.velocity_after, atol=1e-9)
    assert isinstance(bare.contact, Contact)
    # Angles in degrees.
    names, *rows = (kinked / "timed.csv").read_text().splitlines()
    table = np.array([row.split(",") for row in rows], dtype=np.float64) * [1.0, *[180.0 / np.pi] * 7]
    written(kinked / "degrees.csv", names.split(","), table)
    (turned,) = read_trials(kinked / "degrees.csv", robot, contact, [0.5], degrees=True)
    np.testing.assert_allclose(turned.velocity_after, timed.velocity_after, atol=1e-6)
    np.testing.assert_allclose(turned.q, timed.q, atol=1e-6)
    # Of two episodes the chosen one.
    rows = [f"{row},1" for row in rows] + [f"{row.split(',')[0]}{',0' * 7},0" for row in rows]
    (kinked / "two.csv").write_text("\n".join([f"{names},episode_index", *rows]))
    (one,) = read_trials(kinked / "two.csv", robot, contact, [0.5], columns=ColumnMap(episode=1))
    np.testing.assert_array_equal(one.velocity_after, timed.velocity_after)


def test_the_command_line_takes_it(kinked, capsys):
    assert main(["analyze", str(kinked / "bare.csv"), "--robot", "panda", "--rate", "500", "--no-ablation"]) == 0
    assert "impact 1 at 0.500" in capsys.readouterr().out
    assert main(["analyze", str(kinked / "bare.csv"), "--robot", "panda", "--rate", "often"]) != 0
    assert "rate: got" in capsys.readouterr().err


def test_a_column_of_times_may_be_called_so(tmp_path):
    path = tmp_path / "run.csv"
    path.write_text("times,q1,q2\n" + "\n".join(f"{0.01 * row:.2f},{row},{2 * row}" for row in range(5)) + "\n")
    (batch,) = open_table(path).pieces()
    np.testing.assert_allclose(batch.times, 0.01 * np.arange(5))
