"""One declaration per option: the flag, the YAML key and the row of the docs come from one dataclass field."""

import argparse
from dataclasses import dataclass
from pathlib import Path

import pytest

from impact_aware.cli.options import NumberParser, add_options, chosen
from impact_aware.errors import ImpactAwareError, InvalidInputError, UnknownNameError
from impact_aware.parameters import Options, described, from_mapping, shared
from impact_aware.ranges import Range


@dataclass(frozen=True, kw_only=True)
class Tool(Options):
    """One option of each kind."""

    bags: tuple[Path, ...] = described(..., "recordings", metavar="BAG", positional=True)
    tool_mass: float | None = described(None, "mass", within=Range(0.0, 5.0, "kg", open_below=True), absent="1 kg")
    tool_place: tuple[float, float, float] = described((0.0, 0.0, 1.0), "place", within=Range(-2.0, 2.0, "m"))
    tool_count: int = described(3, "count", 1, 9)
    tool_kind: str = described("tip", "kind", choices=("tip", "palm"))
    tool_names: tuple[str, ...] = described((), "name, several times", flag="--tool-name", repeated=True)
    tool_heavy: bool = described(False, "heavy")
    tool_light: bool = described(True, "leave out what is light")


def parser() -> argparse.ArgumentParser:
    made = NumberParser(prog="tool")
    add_options(made, Tool, absent={"tool_mass": "2 kg"})
    return made


def test_each_kind_of_field_is_a_flag():
    words = "a b --tool-mass 2.5 --tool-place 1 -1e-1 -.5 --tool-count 4 --tool-kind palm --tool-name x --tool-name y"
    args = parser().parse_args([*words.split(), "--tool-heavy", "--no-tool-light"])
    made = Tool(**chosen(args, Tool))
    assert (made.bags, made.tool_mass, made.tool_place) == ((Path("a"), Path("b")), 2.5, (1.0, -0.1, -0.5))
    assert (made.tool_count, made.tool_kind, made.tool_names) == (4, "palm", ("x", "y"))
    assert made.tool_heavy and not made.tool_light
    bare = Tool(**chosen(parser().parse_args(["a"]), Tool))
    assert bare == Tool(bags=(Path("a"),)) and (bare.tool_mass, bare.tool_place) == (None, (0.0, 0.0, 1.0))


def test_help_has_unit_range_and_default():
    text = " ".join(parser().format_help().split())
    assert "--tool-mass KG mass, kg; above 0 to 5; default: 2 kg" in text
    assert "--tool-place X Y Z place, m; -2 to 2; default: 0 0 1" in text
    assert "--tool-count N count; 1 to 9; default: 3" in text
    assert "--tool-kind tip|palm kind; default: tip" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--tool-mass 0", "--tool-mass: got '0', expected a number, above 0 to 5 kg"),
        ("--tool-mass 1_0", "--tool-mass: got '1_0', expected a number"),
        ("--tool-mass nan", "--tool-mass: got 'nan', expected a number"),
        ("--tool-place 0 0 3", "--tool-place: got '3', expected a number, -2 to 2 m"),
        ("--tool-place 0 0", "--tool-place: expected 3 arguments"),
        ("--tool-count 2.5", "--tool-count: got '2.5', expected a whole number, 1 to 9"),
        ("--tool-kind pulm", "--tool-kind: got 'pulm', expected one of tip, palm; palm is the nearest"),
    ],
)
def test_a_flag_that_is_out_of_range_is_one_line(words, message):
    with pytest.raises(ImpactAwareError) as raised:
        parser().parse_args(["a", *words.split()])
    assert str(raised.value).startswith(message)


def test_a_key_of_a_file_is_checked_as_the_flag_is():
    found = from_mapping(Tool, "t.yaml: tool", {"mass": 2, "place": [1, 0, 0], "kind": "palm"}, "tool_")
    assert (found.tool_mass, found.tool_place, found.tool_kind) == (2.0, (1.0, 0.0, 0.0), "palm")
    for content, message in (
        ({"mass": 9}, "t.yaml: tool: mass: got 9.0, expected a number > 0 and <= 5 kg"),
        ({"mass": True}, "t.yaml: tool: mass: got True, expected a number"),
        ({"place": [1, 0]}, r"t.yaml: tool: place: got \[1, 0\], expected 3 numbers"),
        ({"kind": "pulm"}, "t.yaml: tool: kind: got 'pulm', expected one of tip, palm"),
        ({"heavy": 1}, "t.yaml: tool: heavy: got 1, expected true or false"),
        ({"mas": 1}, "t.yaml: tool: got 'mas', expected one of bags, mass"),
        ([], r"t.yaml: tool: got \[\], expected a mapping"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            from_mapping(Tool, "t.yaml: tool", content, "tool_")


def test_a_shared_declaration_has_a_default_of_its_own():
    @dataclass(frozen=True)
    class Node(Options):
        mass: float = shared(Tool, "tool_mass", 1.5)
        kind: str = shared(Tool, "tool_kind", "palm")

    assert Node().mass == 1.5
    with pytest.raises(InvalidInputError, match="mass: got 6.0, expected a number > 0 and <= 5 kg"):
        Node(mass=6.0)
    with pytest.raises(UnknownNameError, match="kind: got 'pulm', expected one of tip, palm"):
        Node(kind="pulm")
