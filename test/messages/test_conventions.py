"""The conventions of msg/README.md against the definitions."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2] / "msg"
FILES = sorted([*ROOT.glob("msg/*.msg"), *ROOT.glob("srv/*.srv")])
INTERNAL = {"Heartbeat", "StepDone"}
FIELD = re.compile(
    r"^(?P<type>[\w/]+)(?P<array>\[[^\]]*\])? +(?P<name>[a-z]\w*)(?: +\w+)? *(?:# *(?P<comment>.*))?$", re.M
)
COUNTED = re.compile(r"\((?:[nm0-9]|n ?[x*] ?n)\)|n joints|one or two|every|all of them|positions|\b(?:none|empty)\b")
"""How many entries a comment gives to an array, in the last place by the sentence of its file."""


def fields(path: Path) -> list[re.Match[str]]:
    return list(FIELD.finditer(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_array_states_how_many_entries_it_has(path):
    for field in fields(path):
        if field["array"]:
            assert COUNTED.search(field["comment"] or ""), f"{path.name}: {field['name']}"
            if field["array"].startswith("[<="):
                assert "empty" in field["comment"], f"{path.name}: {field['name']} may be empty: what does that mean?"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_flag_stands_before_its_field(path):
    names = [field["name"] for field in fields(path)]
    # What hits, what is held and what is hit have several fields, and velocities after an impact come in a pair.
    several = {"pad": "pad_half_sizes", "after": "angular_velocity_after"}
    for flag, name in zip(names, names[1:], strict=False):
        if flag.startswith("has_"):
            own = flag.removeprefix("has_")
            assert name == several.get(own, own), f"{path.name}: {flag} stands before {name}"


def test_only_the_service_in_the_approach_has_arrays_of_one_or_none():
    bounded = {(path.stem, field["name"]) for path in FILES for field in fields(path) if "<=" in (field["array"] or "")}
    assert bounded == {("PredictPostImpact", name) for name in ("offset", "normal", "prediction")}


def test_internal_messages_say_so_and_the_page_names_every_type():
    assert {path.stem for path in FILES if path.read_text().startswith("# Internal:")} == INTERNAL
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    for path in FILES:
        (line,) = [line for line in page.splitlines() if line.startswith("|") and re.search(rf"`{path.stem}`", line)]
        assert ("internal" in line) is (path.stem in INTERNAL)
