"""Numbers that are finite and absurd: degrees for radians, exponents, masses; and JSON that every reader takes."""

import ast
import json
import math
from pathlib import Path

import numpy as np
import pytest

from impact_aware.cli.main import main
from impact_aware.json_text import finite, json_text
from impact_aware.robot import RobotModel

Q, DQ = "0 -45 0 -135 0 90 45".split(), "0 5 0 10 0 -5 3".split()


def call(capsys, *options):
    status = main(list(options))
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_degrees_are_not_taken_for_radians(capsys):
    status, _, error = call(capsys, "predict", "--q", *Q, "--dq", *["0.1"] * 7)
    assert status == 2
    assert "q: got -45 for panda_joint2, expected radians within -1.763 and 1.763; --degrees if" in error
    status, _, error = call(capsys, "predict", "--dq", *["0"] * 6, "30")
    assert status == 2 and "dq: got 30 for panda_joint7, expected rad/s, of which the URDF allows 2.61" in error


def test_degrees_can_be_given(capsys):
    status, out, _ = call(capsys, "predict", "--q", *Q, "--dq", *DQ, "--degrees", "--json")
    radians = [[repr(math.radians(float(word))) for word in words] for words in (Q, DQ)]
    same_status, same, _ = call(capsys, "predict", "--q", *radians[0], "--dq", *radians[1], "--json")
    assert (status, same_status) == (0, 0)
    np.testing.assert_allclose(json.loads(out)["velocity_after"], json.loads(same)["velocity_after"], rtol=1e-12)


def test_a_table_of_states_in_degrees(capsys, tmp_path):
    names = RobotModel.from_profile("panda").joint_names
    table = tmp_path / "states.csv"
    header = ",".join([*(f"q_{name}" for name in names), *(f"dq_{name}" for name in names)])
    table.write_text("\n".join([header, ",".join(["0"] * 14), ",".join([*Q, *DQ]), ""]))
    status, _, error = call(capsys, "predict", "--states", str(table))
    assert status == 2 and "got -45 for panda_joint2 in row 2" in error
    assert call(capsys, "predict", "--states", str(table), "--degrees")[0] == 0


def test_what_the_system_refuses_is_one_line(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("impact_aware.cli.predict.run", lambda args: (tmp_path / "none" / "a").write_text(""))
    assert call(capsys, "predict") == (2, "", f"impact-aware: error: {tmp_path}/none/a: No such file or directory\n")

    def starve(args):
        raise MemoryError

    monkeypatch.setattr("impact_aware.cli.predict.run", starve)
    status, _, error = call(capsys, "predict")
    assert status == 2 and error == "impact-aware: error: there is not enough memory for this input\n"


def test_json_has_no_number_that_json_has_not():
    text = json_text({"a": [math.nan, (1.5, -math.inf)], "b": {"c": np.float64("inf")}, "d": "NaN", "e": True})
    read = json.loads(text, parse_constant=pytest.fail)
    assert read == {"a": [None, [1.5, None]], "b": {"c": None}, "d": "NaN", "e": True}
    assert finite((math.nan, 1)) == [None, 1]


def test_everything_that_prints_json_does_it_by_the_one_function():
    package = Path(__file__).parents[2] / "impact_aware"
    for folder in ("cli", "report", "nodes"):
        for path in (package / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Attribute) and node.attr in ("dumps", "dump"):
                    assert path.name == "view.py", f"{path}:{node.lineno} writes JSON by itself"
