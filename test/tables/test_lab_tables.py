"""Tables as laboratories write them: what separates cells, where rows begin, what the time counts, what is refused."""

import numpy as np
import pytest

from impact_aware.errors import InvalidInputError, UnknownNameError
from impact_aware.recordings.whole_recording import samples_in_table
from impact_aware.tables.column_file import open_columns
from impact_aware.tables.joint_table import joint_columns, open_table
from impact_aware.tables.names import angle_unit
from impact_aware.tables.options import ColumnMap, TableOptions, read_column_map
from impact_aware.tables.text import read_cell

# Two joints at five times; every number occurs once.
ROWS = np.array([[0.005 * k, 0.5 + 0.25 * k, -1.75 - 0.125 * k] for k in range(5)])
NAMES = ("time", "q_a", "q_b")


def text_of(cells, delimiter):
    return "\n".join(delimiter.join(row) for row in cells) + "\n"


@pytest.mark.parametrize(
    ("name", "unit"),
    [("q1 (deg)", "deg"), ("q1_deg", "deg"), ("position_rad_3", "rad"), ("q1 [rad]", "rad"), ("q1", "")],
)
def test_a_unit_of_angles_stands_in_brackets_or_between_words(name, unit):
    assert angle_unit(name) == unit


def test_a_date_counts_from_its_own_zone():
    noon = read_cell("2024-05-01T12:00:00Z")
    assert noon == read_cell("2024-05-01 14:30:00.0+02:30") == read_cell("2024-05-01T07:00:00-0500") == [1714564800.0]


def cells_of(header=NAMES, decimal="."):
    rows = [[repr(float(number)).replace(".", decimal) for number in row] for row in ROWS]
    return [list(header), *rows] if header else rows


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def check(path):
    table = open_table(path, None, ())
    (batch,) = table.pieces()
    np.testing.assert_array_equal(batch.times, ROWS[:, 0])
    np.testing.assert_array_equal(batch.positions, ROWS[:, 1:])
    return table


@pytest.mark.parametrize("delimiter", [",", ";", "\t", " ", "   ", " , "])
@pytest.mark.parametrize(
    "above",
    [
        "",
        "# lab: north wing\n# rate: 200\n",
        "lab;north wing\nrate;200\nday;2026-01-03\n\n",
        "Recording of the north wing\n\n\n",
        "% written by a script, at 200 Hz, for two joints\n",
        "operator, A. B.\nrate, 200\nnote, one, two, three, four\n",
    ],
)
def test_cells_are_told_apart_and_lines_above_the_header_passed_over(tmp_path, delimiter, above):
    table = check(write(tmp_path / "t.csv", above + text_of(cells_of(), delimiter)))
    assert table.joint_names == ("a", "b")


@pytest.mark.parametrize("delimiter", [";", "\t", " "])
def test_decimal_commas_are_read_where_something_else_separates(tmp_path, delimiter):
    check(write(tmp_path / "t.txt", text_of(cells_of(decimal=","), delimiter)))


def test_a_commented_header_and_a_line_of_units(tmp_path):
    check(write(tmp_path / "a.txt", "# " + text_of(cells_of(), " ")))
    cells = cells_of()
    check(write(tmp_path / "b.csv", text_of([cells[0], ["s", "[rad]", "rad"], *cells[1:]], ";")))
    # Words below the header that are no units are told, not passed over.
    path = write(tmp_path / "c.csv", text_of([cells[0], ["never", "seen", "before"], *cells[1:]], ","))
    with pytest.raises(InvalidInputError, match=r"'never' for time in row 1 \(line 2\)"):
        open_columns(path).whole(["time", "q_a"])


@pytest.mark.parametrize("shape", ["{} {}", "[{} {}]", "[{}, {}]", "({};{})", "{}   {} "])
def test_vectors_in_one_cell(tmp_path, shape):
    lines = [f'{t!r},"{shape.format(repr(a), repr(b))}",9.5' for t, a, b in ROWS.tolist()]
    path = write(tmp_path / "t.csv", "t,q,temperature\n" + "\n".join(lines) + "\n")
    table = check(path)
    assert table.joint_names == ("q1", "q2") and open_columns(path).widths == {"t": 1, "q": 2, "temperature": 1}
    path = write(tmp_path / "u.csv", "t,q\n" + "\n".join(line.rsplit(",", 1)[0] for line in lines) + '\n0.1,"1 2 3"\n')
    with pytest.raises(InvalidInputError, match=r"'1 2 3' for q in row 6 \(line 7\), expected 2 numbers"):
        list(open_table(path).pieces())


def test_faults_below_lines_of_metadata_have_the_line_of_the_file(tmp_path):
    path = write(tmp_path / "t.csv", "# lab: x\n\nkey;value;more\n" + text_of(cells_of(), ",") + "0.025,oops,1\n")
    with pytest.raises(InvalidInputError, match=r"'oops' for q_a in row 6 \(line 10\), expected a number"):
        list(open_columns(path).pieces(["q_a"]))
    path = write(tmp_path / "b.txt", text_of(cells_of(), " ") + "0.025 1\n")
    with pytest.raises(InvalidInputError, match=r"2 columns in row 6 \(line 7\), expected 3"):
        list(open_columns(path).pieces(["q_a"]))


@pytest.mark.parametrize(
    ("name", "values", "scale", "told"),
    [
        ("time", 1.7e9 + 0.005 * np.arange(30), 1.0, False),
        ("time", 0.001 * np.arange(30), 1.0, False),
        ("time", 0.15 * np.arange(30), 1.0, False),
        ("t", 5.0 * np.arange(30), 1e-3, True),
        ("stamp", 1.7e12 + 1.0 * np.arange(30), 1e-3, True),
        ("timestamp", 1.7e15 + 5000.0 * np.arange(30), 1e-6, True),
        ("timestamp", 1.7e18 + 1e6 * np.arange(30), 1e-9, True),
        ("time_s", 5.0 * np.arange(30), 1.0, True),
        ("time_ms", 0.005 * np.arange(30), 1e-3, False),
        ("Time [ns]", 0.005 * np.arange(30), 1e-9, False),
        ("stamp_sec", 5.0 * np.arange(30), 1.0, True),
        # Too few to judge by.
        ("time", 100.0 * np.arange(5), 1.0, False),
    ],
)
def test_the_unit_of_time_is_that_of_its_name_else_of_its_steps(tmp_path, name, values, scale, told):
    path = tmp_path / "t.npz"
    np.savez(path, **{name: values, "q": np.zeros((len(values), 2))})
    table = open_table(path)
    assert table.clock.scale == scale
    assert bool(table.notes) is told
    (batch,) = table.pieces()
    # A double holds seconds since 1970 to a quarter of a microsecond.
    np.testing.assert_allclose(np.diff(batch.times), scale * np.diff(values), rtol=1e-9, atol=5e-7)
    stated = open_table(path, TableOptions(time_unit="us").column_map())
    assert stated.clock.scale == 1e-6 and not stated.notes
    assert open_table(path, ColumnMap(time_scale=0.25)).clock == (name, 0.25, "")
    with pytest.raises(UnknownNameError, match="'min', expected one of s, ms, us, ns"):
        TableOptions(time_unit="min")


@pytest.mark.parametrize(
    ("header", "words", "joints", "names", "order"),
    [
        ("time,joint_10_pos,joint_2_pos,joint_1_pos", "q=joint_*_pos", (), ("q1", "q2", "q3"), [3, 2, 1]),
        ("time,joint_3_pos,joint_2_pos,joint_1_pos", "", (), ("q1", "q2", "q3"), [3, 2, 1]),
        ("time,m_b_pos,m_c_pos,m_a_pos", "q=m_*", ("a", "b", "c"), ("a", "b", "c"), [3, 1, 2]),
        ("time,b,c,a", "q=?", (), ("q1", "q2", "q3"), [1, 2, 3]),
        ("time,x1,y1,x2", "q=[xy]? joints=u,v,w", (), ("u", "v", "w"), [1, 2, 3]),
        ("when,Q1,Q2,Q3", "time=when", (), ("q1", "q2", "q3"), [1, 2, 3]),
        ("TIME,q_1,q_2,q_3", "", ("a", "b", "c"), ("a", "b", "c"), [1, 2, 3]),
    ],
)
def test_patterns_fill_the_map(tmp_path, header, words, joints, names, order):
    path = write(tmp_path / "t.csv", f"{header}\n0,1,2,3\n")
    table = open_table(path, read_column_map(words) if words else None, joints)
    assert table.joint_names == names
    (batch,) = table.pieces()
    assert batch.positions.tolist() == [order]


def test_patterns_that_fit_nothing_or_are_none_are_refused(tmp_path):
    path = write(tmp_path / "t.csv", "time,a,b\n0,1,2\n")
    with pytest.raises(InvalidInputError, match=r"columns: q of .*'joint_\*', expected one of its columns time, a, b"):
        open_table(path, read_column_map("q=joint_*"))
    # An expression that backtracks would never end: there are none.
    with pytest.raises(InvalidInputError, match="columns: q"):
        open_table(write(tmp_path / "a.csv", f"time,{'a' * 60}b\n0,1\n"), read_column_map("q=re:(a+)+$"))
    assert joint_columns(open_columns(path), "q", (), ("b", "?")) == ("b", "a")
    assert joint_columns(open_columns(path), "dq") == ()


def test_degrees_and_columns_reach_whoever_reads_all_samples(tmp_path):
    path = write(tmp_path / "t.csv", "ms,x,y\n" + "".join(f"{5 * k},{90 + k},{-45 - k}\n" for k in range(12)))
    chosen = ColumnMap(time="ms", q=("y", "x"), joints=("b", "a"))
    names, samples = samples_in_table(path, ["a", "b"], chosen, degrees=True)
    assert names == ("a", "b")
    np.testing.assert_allclose(samples.positions[2], np.radians([92.0, -47.0]))
    np.testing.assert_allclose(np.diff(samples.times), 0.005)
