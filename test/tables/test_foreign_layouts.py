"""Tables as other programs lay them out: each is understood without an option, or refused in one clear sentence."""

import datetime
import json
import string

import h5py
import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import scipy.io

from impact_aware.errors import InvalidInputError
from impact_aware.recordings.object_track import track_of_table
from impact_aware.tables.column_file import open_columns
from impact_aware.tables.joint_table import Clock, open_table
from impact_aware.tables.options import ColumnMap, read_column_map

# Six joints at twelve times, every number once; no two joints alike.
COUNT, JOINTS = 12, 6
RANDOM = np.random.default_rng(11)
TIMES = 1740416404.0625 + np.cumsum(np.round(RANDOM.uniform(0.004, 0.006, COUNT), 6))
POSITIONS, VELOCITIES, EFFORTS = np.round(RANDOM.uniform(-2.0, 2.0, (3, COUNT, JOINTS)), 6)
NAMES = tuple(f"{word}_joint" for word in ("shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3"))
BLOCKS = {"position": POSITIONS, "velocity": VELOCITIES, "effort": EFFORTS}


def numbered(pattern, first=0):
    return [pattern.format(first + place) for place in range(JOINTS)]


def table(header, columns, delimiter=","):
    """A text of a header and of columns, arrays or lists of words."""
    rows = [[w if isinstance(w, str) else repr(float(w)) for w in row] for row in zip(*columns, strict=True)]
    return "\n".join(delimiter.join(row) for row in [header, *rows]) + "\n"


def split(*blocks):
    return [column for block in blocks for column in block.T]


def stamps():
    return [str(round(1e9 * time)) for time in TIMES]


def dates(suffix=""):
    zone = datetime.UTC
    return [datetime.datetime.fromtimestamp(t, zone).replace(tzinfo=None).isoformat() + suffix for t in TIMES.tolist()]


def rostopic():
    """`rostopic echo -p`: a header that begins as a comment does, nanoseconds, words in between."""
    header = ["%time", "field.header.seq", "field.header.stamp", "field.header.frame_id", *numbered("field.name{}")]
    header += [name for word in BLOCKS for name in numbered(f"field.{word}{{}}")]
    words = [[name] * COUNT for name in NAMES]
    return table(header, [stamps(), ["7"] * COUNT, stamps(), ["base"] * COUNT, *words, *split(*BLOCKS.values())])


def plotjuggler(form):
    paths = [form.format(word=word, place=place, name=name) for place, name in enumerate(NAMES) for word in BLOCKS]
    columns = [BLOCKS[word][:, place] for place in range(JOINTS) for word in BLOCKS]
    return table(["__time", *paths], [TIMES, *columns])


def libfranka():
    """Wanted and external ones beside those that were measured, and a clock in ms."""
    blocks = {"q": POSITIONS, "dq": VELOCITIES, "tau_J": EFFORTS, "tau_ext_hat_filtered": 0.1 * EFFORTS}
    blocks |= {"q_d": POSITIONS + 1.0, "dq_d": VELOCITIES + 1.0, "tau_J_d": EFFORTS + 1.0}
    header = ["time", *(name for word in blocks for name in numbered(f"{word}[{{}}]"))]
    return table(header, [1e3 * (TIMES - TIMES[0]), *split(*blocks.values())], ", ")


def libfranka_log():
    """`franka::logToCSV`: the time is a duration, wanted values come twice, a column of nothing is between both."""
    state = {"q": POSITIONS, "q_d": POSITIONS + 1.0, "dq": VELOCITIES, "dq_d": VELOCITIES + 1.0, "tau_J": EFFORTS}
    sent = {"q_d": POSITIONS + 1.0, "dq_d": VELOCITIES + 1.0, "tau_J_d": EFFORTS + 1.0}
    named = [[name for word in blocks for name in numbered(f"{word}[{{}}]")] for blocks in (state, sent)]
    header = ["duration", "success rate", *named[0], "sent commands", *named[1]]
    columns = [1e3 * (TIMES - TIMES[0]), ["0.99"] * COUNT, *split(*state.values()), [""] * COUNT]
    return table(header, [*columns, *split(*sent.values())], ",")


def rtde():
    words = ("target_q", "actual_q", "actual_qd", "actual_current", "target_moment")
    header = ["timestamp", *(name for word in words for name in numbered(f"{word}_{{}}"))]
    return table(header, [TIMES, *split(POSITIONS + 1.0, POSITIONS, VELOCITIES, EFFORTS, EFFORTS)], " ")


def tuples():
    """bagpy: one cell for all joints."""
    cells = [[f'"{tuple(row)}"' for row in block.tolist()] for block in BLOCKS.values()]
    header, words = ["Time", "header.frame_id", "name", *BLOCKS], [["base"] * COUNT, [f'"{NAMES}"'] * COUNT]
    return table(header, [TIMES, *words, *cells])


def shuffled():
    order = [3, 0, 5, 1, 4, 2]
    return table(["stamp", *(f"{NAMES[place]}.pos" for place in order)], [TIMES, *POSITIONS[:, order].T])


def long_form(names, melted=False):
    """A row per joint and time, or per value of these: `joint` cycles."""
    quantities = dict(zip(("q", "dq", "tau_J"), BLOCKS.values(), strict=True))
    header = ["time", "name", "value"] if melted else ["time", "joint", *quantities]
    times = [repr(float(time)) for time in np.repeat(TIMES, JOINTS * (len(BLOCKS) if melted else 1))]
    if not melted:
        return table(header, [times, list(names) * COUNT, *(block.ravel() for block in quantities.values())])
    labels = [f"{quantity}[{name}]" for quantity in quantities for name in names]
    return table(header, [times, labels * COUNT, np.hstack(list(quantities.values())).ravel()])


TEXTS = {
    "a row per joint": (long_form(NAMES), "qdt"),
    "a row per number": (long_form(numbered("{}", 1)), "qdt"),
    "a row per value": (long_form(numbered("{}"), melted=True), "qdt"),
    "rostopic": (rostopic(), "qdt"),
    "paths": (plotjuggler("/joint_states/{name}/{word}"), "qdt"),
    "indices": (plotjuggler("/joint_states/{word}[{place}]"), "qdt"),
    "dots": (plotjuggler("/arm/joint_states/{word}.{place}"), "qdt"),
    "libfranka": (libfranka(), "qdtc"),
    "libfranka's log": (libfranka_log(), "qdtc"),
    "rtde": (rtde(), "qdc"),
    "tuples": (tuples(), "qdt"),
    "shuffled": (shuffled(), "q"),
    "axes": (table(["Time", *numbered("A{}", 1)], [TIMES, *POSITIONS.T], ";"), "q"),
    "joints": (table(["time", *numbered("joint_{}"), *"xyz"], [TIMES, *split(POSITIONS, VELOCITIES[:, :3])]), "q"),
    "kuka": (table(["Zeit [s]", *numbered("AxisQMsr_{}", 1)], [TIMES, *POSITIONS.T], "\t"), "q"),
    "units": (table(["Time (s)", *numbered("Joint {} position (rad)", 1)], [TIMES, *POSITIONS.T]), "q"),
    "index": (table(["", "time", *numbered("q_{}")], [numbered("{}") * 2, TIMES, *POSITIONS.T]), "q"),
    "dates": (table(["time", *numbered("q{}")], [dates("Z"), *POSITIONS.T]), "q"),
    "zone": (table(["time", *numbered("q{}")], [[d.replace("T", " ") for d in dates("+00:00")], *POSITIONS.T]), "q"),
    "wanted": (
        table(["t", *numbered("pos_cmd_{}"), *numbered("joint_pos_{}")], [TIMES, *split(VELOCITIES, POSITIONS)]), "q",
    ),
    "motors": (
        table(["t", *numbered("state.theta[{}]"), *numbered("state.q[{}]")], [TIMES, *split(VELOCITIES, POSITIONS)]),
        "q",
    ),
    "arm": (table(["time", *numbered("iiwa_joint_{}", 1)], [TIMES, *POSITIONS.T]), "q"),
    "names": (table(["time", *(f"{name} [rad]" for name in NAMES)], [TIMES, *POSITIONS.T]), "q"),
    "last": (table(["time", *numbered("q{}"), ""], [TIMES, *POSITIONS.T, [""] * COUNT]), "q"),
}  # fmt: skip


def check(found, quantities, joints=()):
    """The whole of a table against the truth; times up to what a float of nanoseconds has."""
    batches = list(found.pieces())
    times = np.concatenate([batch.times for batch in batches])
    places = [found.joint_names.index(name) for name in joints] if set(found.joint_names) == set(joints) else ...
    begin = TIMES[0] if times[0] < 1e9 else 0.0
    np.testing.assert_allclose(times, TIMES - begin, rtol=0.0, atol=1e-6)
    for letter, attribute, truth in (
        ("q", "positions", POSITIONS), ("d", "velocities", VELOCITIES), ("t", "efforts", EFFORTS),
    ):  # fmt: skip
        if letter in quantities:
            values = np.concatenate([getattr(batch, attribute) for batch in batches])[:, places]
            np.testing.assert_allclose(values, truth, rtol=0.0, atol=1e-6)
        else:
            assert getattr(batches[0], attribute) is None
    assert len(found.columns["command"]) == (JOINTS if "c" in quantities else 0)


@pytest.mark.parametrize("joints", [(), NAMES], ids=["unknown", "known"])
@pytest.mark.parametrize("name", TEXTS)
def test_texts_of_other_programs_are_understood(tmp_path, name, joints):
    text, quantities = TEXTS[name]
    path = tmp_path / "t.csv"
    path.write_text(text)
    if name in ("shuffled", "names") and not joints:
        return  # Nobody says in which order the joints are, or that these are joints at all.
    check(open_table(path, None, joints), quantities, joints)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (9, r"got '3' for joint in line 9, expected joint = 1 ... 6 in turn at each time, or a column per joint"),
        (8, r"got '2' for joint in line 8, expected joint = 1 ... 6 in turn"),
    ],
)
def test_joints_out_of_turn_are_refused_by_column_and_line(tmp_path, line, words):
    lines = long_form(numbered("{}", 1)).splitlines()
    del lines[line - 1]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    with pytest.raises(InvalidInputError, match=words):
        list(open_table(tmp_path / "t.csv").pieces())


def test_one_turn_of_joints_has_one_time_and_one_that_is_cut_is_left_out(tmp_path):
    path, text = tmp_path / "t.csv", long_form(numbered("{}", 1))
    path.write_text(text.rsplit("\n", 2)[0])
    assert [len(piece.times) for piece in open_table(path).pieces()] == [COUNT - 1]
    path.write_text(text.replace(repr(float(TIMES[1])), "7.5", 1))
    with pytest.raises(InvalidInputError, match="another time in line 9 than in the line above"):
        list(open_table(path).pieces())
    path.write_text(text + "7.5,1,2\n")
    with pytest.raises(InvalidInputError, match=f"3 columns in line {COUNT * JOINTS + 2}, expected 5 as in the first"):
        list(open_table(path).pieces())


def test_states_as_json_lines(tmp_path):
    """As libfranka prints a state, beside what is no number."""
    path, rows = tmp_path / "t.jsonl", zip(TIMES.tolist(), POSITIONS.tolist(), VELOCITIES.tolist(), strict=True)
    other = {"O_T_EE": [1.0] * 16, "current_errors": [], "robot_mode": "Move", "q_d": [9.0] * JOINTS}
    lines = [json.dumps({**other, "q": q, "dq": dq, "time": round(1e6 * (t - TIMES[0]))}) for t, q, dq in rows]
    path.write_text("\n".join(lines))
    check(open_table(path), "qd")
    assert "robot_mode" not in open_columns(path).widths
    for line, words in (
        (lines[4][:30], "got line 5, expected a JSON object in each line"),
        ("[1]", "got line 5, expected a JSON object in each line"),
        ("[" * 100_000, "got line 5, expected a JSON object in each line"),
        ('{"time": 1, "q": [1], "dq": [1]}', "expected numbers in every row"),
        ('{"time": 1, "q": [1]}', "expected numbers in every row"),
    ):
        path.write_text("\n".join([*lines[:4], line, *lines[5:]]))
        with pytest.raises(InvalidInputError, match=words):
            list(open_table(path).pieces())
    path.write_text(json.dumps({"q": POSITIONS.tolist()}, indent=1))
    with pytest.raises(InvalidInputError, match="got line 1, expected a JSON object in each line"):
        open_table(path)


def test_a_column_of_names_beside_a_column_per_joint_is_passed_over(tmp_path):
    words = [["arm", "hand"] * (COUNT // 2)]
    (tmp_path / "t.csv").write_text(table(["time", "name", *numbered("q{}")], [TIMES, *words, *POSITIONS.T]))
    check(open_table(tmp_path / "t.csv"), "q")


def test_nothing_but_the_measured_joints_is_taken(tmp_path):
    """A path for each joint and quantity: once the last one alone was taken for an arm of one joint."""
    path = tmp_path / "t.csv"
    path.write_text(plotjuggler("/joint_states/{name}/{word}"))
    assert open_table(path).source.widths["/joint_states/wrist_3_joint/position"] == 1
    assert next(open_table(path).pieces()).positions.shape == (COUNT, JOINTS)


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-8-sig", "utf-16-le"])
def test_encodings_of_spreadsheets(tmp_path, encoding):
    text = "Prüfstand Süd\r\n" + table(["Zeit [s]", *numbered("q{} [rad]")], [TIMES, *POSITIONS.T], ";")
    path = tmp_path / "t.csv"
    path.write_bytes(text.replace(".", ",").replace("\n", "\r\n").encode(encoding))
    if encoding == "utf-16-le":
        # Without its mark it may be anything.
        with pytest.raises(InvalidInputError, match="a table that can be read|usual names"):
            open_table(path)
        return
    check(open_table(path), "q")


@pytest.mark.parametrize("across", [False, True])
def test_matlab_files_of_both_formats(tmp_path, across):
    turned = (lambda values: values.T) if across else (lambda values: values)
    log = {"time": turned(TIMES[:, None]), "q": turned(POSITIONS), "qd": turned(VELOCITIES), "tau": turned(EFFORTS)}
    content = {"log": {**log, "note": "north wing"}, "rate": 200.0}
    scipy.io.savemat(tmp_path / "five.mat", content, do_compression=across)
    with h5py.File(tmp_path / "seven.mat", "w", userblock_size=512) as file:
        for name, values in log.items():
            file[f"log/{name}"] = values
        file["rate"] = np.array([[200.0]])
    for name in ("five.mat", "seven.mat"):
        check(open_table(tmp_path / name), "qdt")
    (tmp_path / "broken.mat").write_bytes((tmp_path / "five.mat").read_bytes()[:300])
    with pytest.raises(InvalidInputError, match="a MATLAB file that can be read"):
        open_table(tmp_path / "broken.mat")


def test_joints_in_rows_and_vectors_in_cells_of_a_frame(tmp_path):
    np.savez(tmp_path / "t.npz", time=TIMES, q=POSITIONS.T, dq=VELOCITIES, limits=np.arange(JOINTS))
    check(open_table(tmp_path / "t.npz"), "qd")
    columns = {"timestamp": TIMES, "observation.state": pyarrow.array(POSITIONS.tolist())}
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "t.parquet")
    check(open_table(tmp_path / "t.parquet"), "q")
    check(open_table(tmp_path / "t.parquet", read_column_map("q=observation.state")), "q")
    ragged = pyarrow.array([row[: 5 + place % 2] for place, row in enumerate(POSITIONS.tolist())])
    pyarrow.parquet.write_table(pyarrow.table({"timestamp": TIMES, "q": ragged}), tmp_path / "u.parquet")
    with pytest.raises(InvalidInputError, match="q of different lengths, expected 5 numbers per row"):
        list(open_table(tmp_path / "u.parquet").pieces())
    # Fewer impacts than joints: a matrix without a vector beside it stays as it is.
    np.savez(tmp_path / "v.npz", q=POSITIONS[:2], before=VELOCITIES[:2])
    assert open_columns(tmp_path / "v.npz").widths == {"q": JOINTS, "before": JOINTS}


@pytest.mark.parametrize(
    ("header", "columns", "words"),
    [
        (["time", *numbered("q{} (deg)")], [TIMES, *POSITIONS.T], r"got q0 \(deg\), expected --degrees, as its name"),
        (
            ["time", *numbered("q{}"), *numbered("dq{} (deg/s)")],
            [TIMES, *split(POSITIONS, VELOCITIES)],
            r"got dq0 \(deg/s\), expected --degrees",
        ),
        (["sec", "nanosec", *numbered("q{}")], [TIMES, TIMES, *POSITIONS.T], r"one column: sec \+ 1e-9 nanosec"),
        (
            ["time", *numbered("left_arm_joint_{}"), *numbered("right_arm_joint_{}")],
            [TIMES, *split(POSITIONS, VELOCITIES)],
            r"got left_arm_joint_0 ... left_arm_joint_5 and right_arm_joint_0 ... right_arm_joint_5, expected one of",
        ),
        (
            ["time", *numbered("field.position{}"), *numbered("robot.position{}")],
            [TIMES, *split(POSITIONS, VELOCITIES)],
            r"field.position0 ... field.position5 and robot.position0 ... robot.position5, expected one of them",
        ),
        (
            ["time", *numbered("robot1.q_{}"), *numbered("robot2.q_{}")],
            [TIMES, *split(POSITIONS, VELOCITIES)],
            r"nothing by the usual names.* robot1.q_0 ... robot2.q_5",
        ),
        (numbered("q{}"), POSITIONS.T, r"time of .* nothing by the usual names, expected --columns 'time=COLUMN'"),
        (["ms", *numbered("tcp_pose_{}")], [TIMES, *POSITIONS.T], r"columns: time of .*tcp_pose_0 ... tcp_pose_5"),
    ],
)  # fmt: skip
def test_what_names_do_not_tell_is_asked_for(tmp_path, header, columns, words):
    path = tmp_path / "t.csv"
    path.write_text(table(header, columns))
    with pytest.raises(InvalidInputError, match=words):
        open_table(path)


@pytest.mark.parametrize("pattern", ["{}_d[{}]", "{}_cmd_{}", "target_{}_{}", "{}_ref{}"])
def test_wanted_values_are_not_taken_for_measured_ones(tmp_path, pattern):
    path = tmp_path / "t.csv"
    wanted = [pattern.format(word, place) for word in ("dq", "tau") for place in range(JOINTS)]
    path.write_text(table(["t", *numbered("q{}"), *wanted], [TIMES, *split(POSITIONS, VELOCITIES, EFFORTS)]))
    check(open_table(path), "qc")
    path.write_text(table(["t", *(pattern.format("pos", place) for place in range(JOINTS))], [TIMES, *POSITIONS.T]))
    with pytest.raises(InvalidInputError, match="q of .* nothing by the usual names"):
        open_table(path)


def test_columns_without_a_header_are_asked_for_by_their_numbers(tmp_path):
    path = tmp_path / "t.csv"
    columns = [TIMES, *POSITIONS.T]
    path.write_text(table([repr(float(column[0] - 0.5)) for column in columns], columns))
    with pytest.raises(InvalidInputError, match=r"--columns 'time=0 q=1:7' with some of its columns 0 ... 6, which no"):
        open_table(path)
    assert open_table(path, read_column_map("time=0 q=1:7")).joint_names == tuple(numbered("q{}", 1))


def test_names_with_blanks_can_be_given(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(table(["clock of PC", *string.ascii_lowercase[:JOINTS]], [TIMES, *POSITIONS.T]))
    check(open_table(path, read_column_map("time=clock of PC q=[a-f]")), "q")
    assert read_column_map("q=Joint 1 (x),Joint 2 (x) dq=v a,v b") == ColumnMap(
        q=("Joint 1 (x)", "Joint 2 (x)"), dq=("v a", "v b")
    )


def test_radians_by_name_are_not_read_as_degrees(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(table(["time", *numbered("q{}_rad")], [TIMES, *POSITIONS.T]))
    with pytest.raises(InvalidInputError, match="radians by their names: leave out --degrees"):
        open_table(path, degrees=True)
    check(open_table(path), "q")


def test_the_object_of_a_table_can_have_any_names(tmp_path):
    path = tmp_path / "t.csv"
    turns = np.array([[0.1, -0.2, 0.3, 0.927]] * COUNT)
    header = ["time", *numbered("q{}"), "mocap ms", "box w", "box x", "box y", "box z", "px", "py", "pz"]
    columns = [TIMES, *POSITIONS.T, 1e3 * (TIMES - TIMES[2]), *turns[:, [3, 0, 1, 2]].T, *VELOCITIES[:, :3].T]
    path.write_text(table(header, columns))
    chosen = read_column_map("object_position=p[xyz] object_quaternion=box x,box y,box z,box w object_time=mocap ms")
    source = open_table(path, chosen).source
    track = track_of_table(source, Clock("time", 1.0), chosen)
    np.testing.assert_allclose(track.positions, VELOCITIES[:, :3])
    np.testing.assert_allclose(track.times, TIMES - TIMES[2], rtol=0.0, atol=1e-9)
    assert track.rotations[0][0, 1] == pytest.approx(2.0 * (0.1 * -0.2 - 0.3 * 0.927), abs=1e-3)
    assert track_of_table(source, Clock("time", 1.0)) is None
    with pytest.raises(InvalidInputError, match=r"object_position of .*: got px, py, expected 3 numbers per row"):
        track_of_table(source, Clock("time", 1.0), read_column_map("object_position=px,py"))
