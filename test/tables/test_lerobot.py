"""Parquet files of LeRobot data sets, with what `meta/info.json` says about them."""

import json

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from impact_aware.errors import InvalidInputError
from impact_aware.recordings.command_track import commands_of_table
from impact_aware.recordings.impact_analysis import analyze
from impact_aware.recordings.options import AnalysisOptions
from impact_aware.tables.joint_table import open_table
from impact_aware.tables.options import ColumnMap, read_column_map

ROWS, RATE = 12, 50.0
STATE = np.round(np.random.default_rng(4).uniform(-1.0, 1.0, (2 * ROWS, 3)), 4)
TIMES = np.tile(np.arange(ROWS) / RATE, 2)
JOINTS = ("elbow", "wrist", "gripper")


def dataset(folder, names=JOINTS, chunk="chunk-000", info=None, **columns):
    """Two episodes in one file; the path of it."""
    file = folder / "data" / chunk / "file-000.parquet"
    for parent in (file.parent, folder / "meta"):
        parent.mkdir(parents=True, exist_ok=True)
    columns = {"timestamp": TIMES, "action": list(STATE + 0.5), "episode_index": np.repeat([4, 7], ROWS), **columns}
    columns = {name: values for name, values in columns.items() if values is not None}
    pyarrow.parquet.write_table(pyarrow.table({"observation.state": list(STATE), **columns}), file)
    features = {"observation.state": {"dtype": "float32", "shape": [3], "names": names}}
    text = json.dumps({"fps": RATE, "features": features}) if info is None else info
    (folder / "meta" / "info.json").write_text(text)
    return file


@pytest.mark.parametrize(
    "names",
    [[*JOINTS], {"motors": [*JOINTS]}, {"axes": [*JOINTS]}, [[*JOINTS]], [f"{joint}.pos" for joint in JOINTS]],
    ids=["list", "motors", "axes", "nested", "positions"],
)
def test_joints_have_the_names_of_the_data_set_and_actions_are_commands(tmp_path, names):
    table = open_table(dataset(tmp_path, names, episode_index=np.zeros(2 * ROWS, int)))
    assert table.joint_names == JOINTS
    track = commands_of_table(table, ("gripper", "elbow"))
    np.testing.assert_allclose(sorted(track.values.tolist()), sorted((STATE[:, [2, 0]] + 0.5).tolist()))
    assert track.unit == "rad" and not track.tells_torques(0.1)


@pytest.mark.parametrize("names", [None, ["a", "a", "b"], ["a", "b"], 3], ids=["null", "twice", "too few", "number"])
def test_names_that_do_not_fit_are_left_out(tmp_path, names):
    assert open_table(dataset(tmp_path, names, chunk="")).joint_names == ("q1", "q2", "q3")


def test_one_episode_of_several_is_read(tmp_path):
    path = dataset(tmp_path)
    table = open_table(path)
    note = "file-000.parquet has 2 episodes, 4 to 7; 4 is read, --columns 'episode=7' reads another one"
    assert table.notes == (note,)
    np.testing.assert_allclose(next(table.pieces()).positions, STATE[:ROWS])
    np.testing.assert_allclose(commands_of_table(table).times, TIMES[:ROWS])
    other = open_table(path, read_column_map("episode=7"))
    np.testing.assert_allclose(next(other.pieces()).positions, STATE[ROWS:])
    assert other.joint_names == JOINTS
    with pytest.raises(InvalidInputError, match="episode: got 5, expected one of the 2 episodes, 4 to 7 of .*parquet"):
        open_table(path, read_column_map("episode=5"))
    with pytest.raises(InvalidInputError, match="got '-1', expected a number such as 0"):
        read_column_map("episode=-1")
    np.savez(tmp_path / "t.npz", time=TIMES[:ROWS], q=STATE[:ROWS])
    with pytest.raises(InvalidInputError, match="a table with the column episode_index"):
        open_table(tmp_path / "t.npz", read_column_map("episode=0"))


def test_rows_without_times_come_at_the_rate_of_the_data_set(tmp_path):
    table = open_table(dataset(tmp_path, timestamp=None))
    np.testing.assert_allclose(next(table.pieces()).times, np.arange(ROWS) / RATE)


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"features": {"observation.state": 1}}', "[" * 100_000])
def test_an_info_that_cannot_be_read_is_one_line(tmp_path, text):
    with pytest.raises(InvalidInputError, match=r"LeRobot data set: got .*info.json, expected JSON with features"):
        open_table(dataset(tmp_path, info=text))


def test_a_folder_in_place_of_the_info_is_refused(tmp_path):
    path = dataset(tmp_path)
    (tmp_path / "meta" / "info.json").unlink()
    (tmp_path / "meta" / "info.json").mkdir()
    with pytest.raises(InvalidInputError, match="a readable JSON file"):
        open_table(path)


def test_a_data_set_is_analyzed_with_the_joints_of_its_robot(tmp_path):
    """By their names, beside the gripper's."""
    names = [*(f"panda_joint{i + 1}" for i in range(7)), "gripper"]
    state = np.column_stack([np.zeros((400, 7)) + 0.01 * np.arange(7) - [0, 0, 0, 2, 0, -2, 0], np.zeros(400)])
    state += 1e-4 * np.sin(np.arange(400))[:, None]
    columns = {"timestamp": np.arange(400) / 200.0, "action": list(state), "episode_index": np.zeros(400, int)}
    path = dataset(tmp_path, **columns, **{"observation.state": list(state)})
    (tmp_path / "meta" / "info.json").write_text(json.dumps({"features": {"observation.state": {"names": names}}}))
    arm = analyze([path], AnalysisOptions(robot="panda")).arms[0]
    assert arm.samples == 400


@pytest.mark.parametrize(
    "names", [["x", "y", "z", "ee_rx.pos", "gripper_position"], {"axes": ["cart_pos_x", "pose.qw"]}]
)
def test_states_that_are_poses_of_the_tool_are_no_joints(tmp_path, names):
    with pytest.raises(InvalidInputError, match=r"observation.state of .*, expected joint positions, or --columns"):
        open_table(dataset(tmp_path, names=names))
    assert open_table(dataset(tmp_path / "joints", names=["shoulder_pan", "wrist_roll", "gripper"])).joint_names


def test_states_that_a_user_calls_joints_are_joints(tmp_path):
    path = dataset(tmp_path, names=["x", "y", "z"])
    assert open_table(path, ColumnMap(q=("observation.state",))).joint_names == ("x", "y", "z")
