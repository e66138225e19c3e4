"""Columns of every kind of file, and one line about what can't be read, with its column, row and line."""

import h5py
import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from impact_aware.errors import InvalidInputError
from impact_aware.recordings.whole_recording import samples_in_table
from impact_aware.tables import column_file
from impact_aware.tables.column_file import open_columns
from impact_aware.tables.joint_table import open_table
from impact_aware.tables.options import ColumnMap, read_column_map

A, B = np.array([1.5, -2.0, 3.25, 0.125]), np.array([10.0, 20.0, 30.0, 40.0])


def write(path):
    rows = np.column_stack((A, B))
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(pyarrow.table({"a": A, "b": B, "side": ["l"] * 4}), path)
    elif path.suffix == ".npz":
        np.savez(path, a=A, b=B, both=rows, cube=np.zeros((2, 2, 2)), words=np.array(["x"] * 4))
    elif path.suffix == ".npy":
        np.save(path, np.rec.fromarrays((A, B), names="a,b"))
    elif path.suffix == ".h5":
        with h5py.File(path, "w") as file:
            file["a"], file["b"], file["group/both"] = A.astype(np.float32), B.astype(int), rows
            file["words"] = ["x"]
    else:
        lines = [f"left, {a!r},{b!r}\n" for a, b in rows.tolist()]
        path.write_text("side, a ,b\n" + "".join(lines))
    return path


@pytest.mark.parametrize("name", ["t.csv", "t.txt", "t.parquet", "t.npz", "t.npy", "t.h5"])
def test_every_kind_gives_the_same(tmp_path, monkeypatch, name):
    source = open_columns(write(tmp_path / name))
    assert source.widths["a"] == source.widths["b"] == 1 and "cube" not in source.widths
    found = source.whole(["b", "a"])
    assert list(found) == ["b", "a"]
    np.testing.assert_array_equal(found["a"], A)
    np.testing.assert_array_equal(found["b"], B)
    monkeypatch.setattr(column_file, "ROWS", 3)
    pieces = list(source.pieces(["a"]))
    assert len(pieces) == 2
    np.testing.assert_array_equal(np.concatenate([piece["a"] for piece in pieces]), A)
    both = {"t.npz": "both", "t.h5": "group/both"}.get(name)
    if both:
        assert source.widths[both] == 2
        np.testing.assert_array_equal(source.whole([both])[both][:, 1], B)


def test_columns_without_names_have_numbers(tmp_path):
    np.save(tmp_path / "rows.npy", np.column_stack((A, B)))
    (tmp_path / "rows.csv").write_text("\n".join(f"{a!r},{b!r}" for a, b in zip(A.tolist(), B.tolist(), strict=True)))
    for name in ("rows.npy", "rows.csv"):
        source = open_columns(tmp_path / name)
        assert source.widths == {0: 1, 1: 1}
        np.testing.assert_array_equal(source.whole([1, 0])[1], B)


def test_a_number_that_stands_alone_holds_for_all_rows(tmp_path):
    np.savez(tmp_path / "t.npz", a=A, mass=3.5)
    found = open_columns(tmp_path / "t.npz").whole(["a", "mass"])
    assert found["mass"].tolist() == [3.5] * 4


def test_rows_of_nothing_are_no_rows(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"\xef\xbb\xbfa,b\r\n\r\n1,2\r\n,\r\n3,\r\n , \r\n")
    pieces = list(open_columns(path).pieces(["a", "b"]))
    np.testing.assert_array_equal(np.concatenate([piece["a"] for piece in pieces]), [1.0, 3.0])
    np.testing.assert_array_equal(np.concatenate([piece["b"] for piece in pieces]), [2.0, np.nan])


def sentence(path, names, *, whole=True):
    with pytest.raises(InvalidInputError) as caught:
        source = open_columns(path)
        source.whole(names) if whole else list(source.pieces(names))
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "names", "words"),
    [
        ("a,b\n1,2\n\n3,nan\n", ["a", "b"], "'nan' for b in row 2 (line 4), expected a finite number"),
        ("a,b\n1,2\nx,inf\n", ["a", "b"], "'x' for a in row 2 (line 3)"),
        ("a,b\n1,\n", ["a", "b"], "'' for b in row 1 (line 2)"),
        ("a,b\n1,2\n3\n", ["a"], "1 columns in row 2 (line 3), expected 2 as in the first line"),
        ("a,b,a\n1,2,3\n", ["a"], "2 columns a, expected one of each"),
        ("a,b\n", ["a"], "no rows"),
        ("a,b\n", ["a", "b"], "no rows"),
    ],
)
def test_faults_of_text_have_column_row_and_line(tmp_path, text, names, words):
    path = tmp_path / "t.csv"
    path.write_text(text)
    assert words in sentence(path, names)


def test_faults_of_other_files(tmp_path):
    path = tmp_path / "t.npz"
    bad = np.column_stack((A, B))
    bad[2, 1] = np.inf
    np.savez(path, a=A, short=B[:3], both=bad, words=np.array(["x"] * 4))
    assert "[3.25, inf] in row 3 of both" in sentence(path, ["a", "both"])
    assert "rows a 4, short 3, expected as many rows of each" in sentence(path, ["a", "short"])
    assert "words of type <U1, expected numbers" in sentence(path, ["words"])
    np.save(tmp_path / "cube.npy", np.zeros((2, 2, 2)))
    assert "shape (2, 2, 2)" in sentence(tmp_path / "cube.npy", [])
    assert "readable regular file" in sentence(tmp_path / "none.csv", [])
    for name in ("broken.npz", "broken.npy", "broken.h5", "broken.parquet"):
        (tmp_path / name).write_bytes(b"nothing of the kind")
        assert "a table that can be read" in sentence(tmp_path / name, [])


def rows_of(table):
    (batch,) = table.pieces()
    return batch


def test_the_map_says_which_column_is_what(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("ms,x,y,vx,vy,fx,fy\n100,1,2,3,4,5,6\n200,7,8,9,10,11,12\n")
    chosen = read_column_map("time=ms q=y,x dq=vy,vx tau=fy,fx joints=b,a time_scale=0.001")
    table = open_table(path, chosen)
    assert table.joint_names == ("b", "a")
    batch = rows_of(table)
    np.testing.assert_allclose(batch.times, [0.1, 0.2])
    assert batch.positions.tolist() == [[2, 1], [8, 7]]
    assert batch.velocities.tolist() == [[4, 3], [10, 9]]
    assert batch.efforts.tolist() == [[6, 5], [12, 11]]
    # A name within another one is not that joint's, and what is commanded is not measured too.
    path.write_text("t,q_j1,q_j10,tau1,tau2\n0,1,2,3,4\n")
    table = open_table(path, read_column_map("q=q_* command=tau1,tau2"), ("j10", "j1"))
    assert rows_of(table).positions.tolist() == [[2, 1]] and rows_of(table).efforts is None


@pytest.mark.parametrize(
    ("header", "robot", "names"),
    [
        ("time,q2,q1,q10", (), ("q1", "q2", "q3")),
        ("t,q_b,q_a,q_c", (), ("b", "a", "c")),
        ("t,q_b,q_a,q_c", ("a", "b", "c"), ("a", "b", "c")),
        ("stamp,b,a,c", ("a", "b", "c"), ("a", "b", "c")),
        ("t,position_b,position_a,position_c", (), ("b", "a", "c")),
        ("time,q2,q1,q10", ("x", "y", "z"), ("x", "y", "z")),
    ],
)
def test_usual_names_are_found_in_their_order(tmp_path, header, robot, names):
    path = tmp_path / "t.csv"
    path.write_text(f"{header}\n0,2,1,3\n")
    table = open_table(path, None, robot)
    assert table.joint_names == names
    expected = [2, 1, 3] if names == ("b", "a", "c") else [1, 2, 3]
    assert rows_of(table).positions.tolist() == [expected]


def test_maps_that_do_not_fit_are_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("t,q1,q2,dq1\n0,1,2,3\n")
    assert rows_of(open_table(path)).velocities is None
    for text, word in (
        ("time=x", "columns: time"),
        ("q=q1,q3", "'q3'"),
        ("dq=dq1", "1 columns, expected 2"),
        ("joints=a", "1 names, expected 2"),
        ("speed=x", "'speed'"),
        ("time_scale=fast", "seconds per unit"),
        ("q=q1 dq", "'q1 dq', expected one of its columns"),
        ("q1 dq=dq1", "words like"),
        (str(tmp_path / "none.yaml"), "readable YAML"),
    ):
        with pytest.raises(InvalidInputError, match=word):
            open_table(path, read_column_map(text))
    (tmp_path / "map.yaml").write_text("time: t\nq: [q2, q1]\n")
    assert read_column_map(str(tmp_path / "map.yaml")) == ColumnMap(time="t", q=("q2", "q1"))
    assert read_column_map("q=3:6,9").q == (3, 4, 5, 9)
    # Numbers that no table has are names, which it does not have either.
    with pytest.raises(InvalidInputError, match="'0:999999999999'"):
        open_table(path, read_column_map("q=0:999999999999"))


def test_all_samples_of_a_table_by_joint(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("time,q_b,q_a,dq_b,dq_a\n1,2,3,4,5\n2,,7,8,9\n3,10,11,12,\n")
    names, samples = samples_in_table(path, ["a", "b"])
    assert names == ("a", "b")
    # The row without a position is left out; a velocity may be missing.
    assert samples.times.tolist() == [1, 3]
    assert samples.positions.tolist() == [[3, 2], [11, 10]]
    np.testing.assert_array_equal(samples.velocities, [[5, 4], [np.nan, 12]])
    assert samples.efforts is None
    with pytest.raises(InvalidInputError, match="elbow"):
        samples_in_table(path, ["elbow"])


@pytest.mark.parametrize("word", ["١", "1_0"])
@pytest.mark.parametrize("vectors", [False, True])
def test_texts_of_a_parquet_file_are_numbers_as_everywhere(tmp_path, word, vectors):
    path = tmp_path / "t.parquet"
    for last, readable in (("2.5", True), (word, False)):
        column = [["1", last]] if vectors else ["1", last]
        pyarrow.parquet.write_table(pyarrow.table({"a": column}), path)
        columns = open_columns(path)
        if readable:
            assert columns.whole(["a"])["a"].ravel().tolist() == [1.0, 2.5]
        else:
            with pytest.raises(InvalidInputError, match="no number"):
                columns.whole(["a"])
