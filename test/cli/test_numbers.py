"""Numbers that are finite and absurd: degrees for radians, exponents, masses; and JSON that every reader takes."""

import ast
import json
import math
import os
from pathlib import Path

import numpy as np
import pytest

from impact_aware.impact.sampled_map import ImpactMap
from impact_aware.json_text import finite, json_text
from impact_aware.ranges import read_number
from impact_aware.robot import RobotModel
from impact_aware.tables.text import read_cell
from impact_aware.yaml_text import read_yaml

Q, DQ = "0 -45 0 -135 0 90 45".split(), "0 5 0 10 0 -5 3".split()


def test_degrees_are_not_taken_for_radians(command):
    status, _, error = command("predict", "--q", *Q, "--dq", *["0.1"] * 7)
    assert status == 2
    assert "q: got -45 for panda_joint2, expected radians within -1.763 and 1.763; --degrees if" in error
    status, _, error = command("predict", "--dq", *["0"] * 6, "30")
    assert status == 2 and "dq: got 30 for panda_joint7, expected rad/s, of which the URDF allows 2.61" in error


def test_degrees_can_be_given(command):
    status, out, _ = command("predict", "--q", *Q, "--dq", *DQ, "--degrees", "--json")
    radians = [[repr(math.radians(float(word))) for word in words] for words in (Q, DQ)]
    same_status, same, _ = command("predict", "--q", *radians[0], "--dq", *radians[1], "--json")
    assert (status, same_status) == (0, 0)
    np.testing.assert_allclose(json.loads(out)["velocity_after"], json.loads(same)["velocity_after"], rtol=1e-12)


def test_a_table_of_states_in_degrees(command, tmp_path):
    names = RobotModel.from_profile("panda").joint_names
    table = tmp_path / "states.csv"
    header = ",".join([*(f"q_{name}" for name in names), *(f"dq_{name}" for name in names)])
    table.write_text("\n".join([header, ",".join(["0"] * 14), ",".join([*Q, *DQ]), ""]))
    status, _, error = command("predict", "--states", str(table))
    assert status == 2 and "got -45 for panda_joint2 in row 2" in error
    assert command("predict", "--states", str(table), "--degrees")[0] == 0


def test_what_the_system_refuses_is_one_line(command, tmp_path, monkeypatch):
    monkeypatch.setattr("impact_aware.cli.predict.run", lambda args: (tmp_path / "none" / "a").write_text(""))
    assert command("predict") == (2, "", f"impact-aware: error: {tmp_path}/none/a: No such file or directory\n")

    def starve(args):
        raise MemoryError

    monkeypatch.setattr("impact_aware.cli.predict.run", starve)
    status, _, error = command("predict")
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


CASES = [
    ["identify", "plan", "--seed=-1"],
    ["identify", "plan", "--velocity-error=1e-320"],
    ["sample-map", "x.npz", "--count", "12345678901234567890"],
    ["sample-map", "x.npz", "--shape=1e308"],
    ["campaign", "hit-and-push", "--repeats", "1e20"],
    ["campaign", "hit-and-push", "--seed", "\u0661"],
    ["validate", "--trials", "-5"],
    ["doctor", "--seconds", "inf"],
    ["demo", "hit-and-push", "--timeout", "nan"],
    ["demo", "hit-and-push", "--displacement", "1e12", "0", "0"],
    ["demo", "hit-and-push", "--belt", "0", "1e12"],
    ["predict", "--dq", *["0"] * 7, "--object-mass", "1e-320"],
    ["predict", "--dq", *["0"] * 7, "--object-mass", "1", "--object-inertia", "1e-320", "1", "1"],
    ["sample-map", "x.npz", "--count", "57"],
]


@pytest.mark.parametrize("words", CASES, ids=" ".join)
def test_a_number_that_cannot_be_meant_is_one_line(words, refused, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    error = refused(*words)
    option = next(word.partition("=")[0].lstrip("-") for word in reversed(words) if word.startswith("--"))
    assert option in error.replace("_", "-") and "expected" in error


@pytest.mark.parametrize("word", ["1_0", "\u0661\u0662", "\uff11", "1\u066b5"])
def test_only_ascii_digits_without_underscores_are_numbers(word):
    with pytest.raises(ValueError, match="no number"):
        read_number(word)
    with pytest.raises(ValueError, match="no number"):
        read_cell(word)
    assert read_yaml("x", "x", f"a: {word}") == {"a": word}


def test_a_pipe_or_a_bomb_is_no_map(tmp_path, refused):
    os.mkfifo(tmp_path / "pipe.npz")
    np.savez_compressed(tmp_path / "bomb.npz", states=np.zeros((4_000_000, 3)))
    for name, words in (("pipe.npz", "expected a file"), ("bomb.npz", "96000128 bytes when unpacked")):
        assert words in refused("predict", "--map", tmp_path / name, "--position", "0", "0", "0")
    with pytest.raises(ValueError, match="samples x samples x coordinates"):
        ImpactMap(np.zeros((3000, 3)), np.zeros((3000, 1)), input_names=["x", "y", "z"], output_names=["v"])
