import csv
import json

import numpy as np
import pytest

from impact_aware.contact import Contact
from impact_aware.contact.geometry import FreeObject
from impact_aware.impact import predict

COUNT = 12
OPTIONS = ["--normal", "0.1", "-1e-2", "1", "--friction", "0.3", "--restitution", "0.2"]


@pytest.fixture(scope="module")
def states(robot):
    rng = np.random.default_rng(8)
    return robot.home + rng.uniform(-0.3, 0.3, (COUNT, 7)), rng.uniform(-0.5, 0.5, (COUNT, 7))


@pytest.fixture(scope="module")
def names(robot):
    return [f"{kind}_{joint}" for kind in ("q", "dq") for joint in robot.joint_names]


def write(path, header, rows):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerows([header] if header else [])
        writer.writerows(rows)
    return path


def test_agrees_with_one_state_at_a_time(command, tmp_path, robot, states, names):
    path = write(tmp_path / "states.csv", names, np.hstack(states).tolist())
    box = ["--object-mass", 2.2, "--object-position", 0.5, 0, 0.3]
    status, out, err = command("predict", "--states", path, *OPTIONS, *box, "--inertia", "M", "--json")
    assert (status, err) == (0, "")
    result = json.loads(out)
    contact = Contact("tool", (0.1, -1e-2, 1.0), friction=0.3, restitution=0.2, radius=robot.tool_radius)
    body = FreeObject(2.2, np.eye(3) * 2.2 * 0.2**2 / 6, (0.5, 0, 0.3))
    expected = [predict(robot, q, dq, contact, obstacle=body, inertia="M") for q, dq in zip(*states, strict=True)]
    # Two orders of summation: rounding.
    np.testing.assert_allclose(result["velocity_after"], [one.velocity_after for one in expected], atol=1e-9)
    np.testing.assert_allclose(result["impulse"], [one.impulse for one in expected], atol=1e-9)
    assert result["mode"] == [one.mode for one in expected]
    assert result["states"] == COUNT == sum(result["modes"].values())
    assert result["modes"]["separate"] == result["mode"].count("separate")
    assert set(result) == {"states", "modes", "velocity_after", "impulse", "mode", "notes"} and result["notes"] == []


def test_every_layout_says_the_same(command, tmp_path, states, names):
    table = np.hstack(states)
    order = np.random.default_rng(1).permutation(14)
    np.savez(tmp_path / "arrays.npz", q=states[0], dq=states[1])
    extra = [["left", *row] for row in table[:, order].tolist()]
    bare = write(tmp_path / "bare.csv", None, table.tolist())
    (tmp_path / "marked.csv").write_bytes(b"\xef\xbb\xbf" + bare.read_bytes().replace(b"\r\n", b"\n\n"))
    paths = [
        write(tmp_path / "named.csv", names, table.tolist()),
        write(tmp_path / "shuffled.csv", ["side", *np.array(names)[order]], extra),
        bare,
        tmp_path / "marked.csv",
        tmp_path / "arrays.npz",
    ]
    answers = [command("predict", "--states", path, *OPTIONS, "--json")[1] for path in paths]
    assert json.loads(answers[0])["states"] == COUNT
    assert len(set(answers)) == 1


def test_people_get_a_summary_and_a_table(command, refused, tmp_path, robot, states):
    path = tmp_path / "states.npz"
    np.savez(path, q=states[0], dq=states[1])
    result = json.loads(command("predict", "--states", path, *OPTIONS, "--json")[1])
    status, out, _ = command("predict", "--states", path, *OPTIONS, "--out", tmp_path / "new" / "results")
    assert status == 0
    sizes = np.linalg.norm(
        [j for j, mode in zip(result["impulse"], result["mode"], strict=True) if mode != "separate"], axis=1
    )
    assert f"states          {COUNT}" in out and "time per state" in out
    assert f"median {np.median(sizes):.4f}  max {sizes.max():.4f}" in out
    assert all(f"{number} {mode}" in out for mode, number in result["modes"].items() if number)
    written = tmp_path / "new" / "results" / "predictions.csv"
    with open(written, newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["mode"] for row in rows] == result["mode"]
    velocities = [[float(row[f"velocity_after_{joint}"]) for joint in robot.joint_names] for row in rows]
    assert velocities == result["velocity_after"]
    assert [[float(row[f"impulse_{axis}"]) for axis in "xyz"] for row in rows] == result["impulse"]
    before = written.read_bytes()
    assert "predictions.csv" in refused("predict", "--states", path, *OPTIONS, "--out", tmp_path / "new" / "results")
    assert written.read_bytes() == before
    assert "a place that can be written" in refused("predict", "--states", path, "--out", path / "below a file")


def test_states_that_all_separate_have_no_impulse(command, tmp_path, states):
    np.savez(tmp_path / "states.npz", q=states[0], dq=np.zeros_like(states[1]))
    status, out, _ = command("predict", "--states", tmp_path / "states.npz")
    assert status == 0
    assert f"{COUNT} separate" in out and "max 0.0000  N s, of 0 impacts" in out


def test_bad_tables_are_answered_in_one_line(refused, tmp_path, states, names):
    rows = np.hstack(states).tolist()
    for table, expected in (
        (tmp_path / "none.csv", "readable"),
        (tmp_path / "none.npz", "readable"),
        (tmp_path, "readable"),
        (write(tmp_path / "a.csv", names[:-1], []), "no column dq_panda_joint7"),
        (write(tmp_path / "b.csv", [*names, names[0]], []), "2 columns q_panda_joint1"),
        (write(tmp_path / "c.csv", None, [row[1:] for row in rows]), "13 columns without names"),
        (write(tmp_path / "d.csv", names, []), "no rows"),
        (write(tmp_path / "e.csv", None, []), "at least one state"),
        (write(tmp_path / "g.csv", names, [[1, 2, 3]]), "3 columns in row 1"),
    ):
        assert expected in refused("predict", "--states", table)
    for word in ("nan", "inf", "", "abc"):
        broken = [*rows[:2], [*rows[2][:9], word, *rows[2][10:]], *rows[3:]]
        line = refused("predict", "--states", write(tmp_path / "f.csv", names, broken))
        assert "row 3 (line 4)" in line and "dq_panda_joint3" in line and repr(word) in line
    (tmp_path / "h.csv").write_bytes(b"\xff\x00\x01")
    assert "table that can be read" in refused("predict", "--states", tmp_path / "h.csv")


def test_bad_arrays_are_answered_in_one_line(refused, tmp_path, states):
    q, dq = states
    hole = dq.copy()
    hole[4, 2] = np.nan
    for arrays, expected in (
        ({"q": q}, "arrays q and dq"),
        ({"q": q, "dq": hole}, "row 5 of dq"),
        ({"q": q[:, :6], "dq": dq}, "q of width 6 and dq of width 7"),
        ({"q": q, "dq": dq[0]}, "(m, 7)"),
        ({"q": q, "dq": dq.astype(str)}, "numbers"),
        ({"q": q, "dq": dq[1:]}, "as many rows of each"),
        ({"q": q[:0], "dq": dq[:0]}, "at least one"),
    ):
        np.savez(tmp_path / "states.npz", **arrays)
        assert expected in refused("predict", "--states", tmp_path / "states.npz")
    for content in (b"PK\x03\x04 cut off", b"text", b""):
        (tmp_path / "broken.npz").write_bytes(content)
        refused("predict", "--states", tmp_path / "broken.npz")


def test_one_place_for_everything(refused, tmp_path, states):
    np.savez(tmp_path / "states.npz", q=states[0], dq=states[1])
    path = tmp_path / "states.npz"
    assert "--states or --dq, not both" in refused("predict", "--states", path, "--dq", 1)
    assert "covariance" in refused("predict", "--states", path, "--covariance", "some.json")
    assert "object-position" in refused("predict", "--states", path, "--object-mass", 2.0)
    assert "friction" in refused("predict", "--states", path, "--friction", -1)
    assert "method" in refused("predict", "--states", path, "--method", "magic")


def test_states_outside_the_joint_limits_are_counted_in_a_note(command, tmp_path, states):
    q = states[0].copy()
    q[2, 3] = 0.1
    np.savez(tmp_path / "states.npz", q=q, dq=states[1])
    status, out, err = command("predict", "--states", tmp_path / "states.npz", *OPTIONS, "--json")
    (note,) = json.loads(out)["notes"]
    assert status == 0 and err == f"note: {note}\n"
    assert note.startswith(
        f"1 of {COUNT} postures are outside the URDF's joint limits, farthest in row 3: panda_joint4"
    )
