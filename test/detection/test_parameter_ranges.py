"""Parameters mean what is written of them: ranges what their words say, defaults what the page on detection states."""

import dataclasses
import re
from pathlib import Path

import pytest

from impact_aware.detection.registry import PARAMETERS
from impact_aware.detection.watch_settings import WatchSettings, make_watch
from impact_aware.detection.windowed_detector import WindowParameters
from impact_aware.errors import InvalidInputError
from impact_aware.robot import RobotModel

PAGE = Path(__file__).parents[2] / "docs" / "detection.md"
CLASSES = {"all": WindowParameters, **{name: kind for name, kind in PARAMETERS.items() if kind is not WindowParameters}}
LITTLE = 1e-9
WINDOW = PARAMETERS["adaptive_window"]


def edges(words):
    """Values at the ends of a range in words: those still within it, and those just outside."""
    if found := re.match(r"at least (\d+)", words):
        least = int(found[1])
        return [least, least + 1], [least - 1]
    return {
        "more than 0 s": ([LITTLE], [0.0, -1.0]),
        "more than 0 s, or None": ([None, LITTLE], [0.0, -1.0]),
        "more than 0 N m": ([LITTLE], [0.0, -1.0]),
        "more than 0 rad, or None": ([None, LITTLE], [0.0, -1.0]),
        "0 s or more": ([0.0, 1.0], [-LITTLE]),
        "finite and > 0": ([LITTLE, (LITTLE, 1.0)], [0.0, float("inf"), float("nan"), (1.0, 0.0), ((1.0,), (1.0,))]),
        "finite and > 0, or None": ([None, LITTLE, (LITTLE, 1.0)], [0.0, float("inf"), (1.0, 0.0)]),
        "finite and >= 0": ([0.0, (0.0, 1.0)], [-LITTLE, float("inf"), float("nan"), (1.0, -1.0), ((1.0,), (1.0,))]),
        "1 or -1": ([1.0, -1.0], [0.0, 2.0, -2.0]),
    }[words]


RANGED = [
    pytest.param(kind, entry.name, entry.metadata["expected"], id=f"{name}-{entry.name}")
    for name, kind in CLASSES.items()
    for entry in dataclasses.fields(kind)
    if entry.metadata
    and (name == "all" or entry.name not in {own.name for own in dataclasses.fields(WindowParameters)})
]


@pytest.mark.parametrize(("kind", "name", "words"), RANGED)
def test_a_range_is_what_its_words_say(kind, name, words):
    # With one confirming sample every horizon from 1 on is possible.
    others = {"confirmation_samples": 1} if name == "horizon" else {}
    within, outside = edges(words)
    for value in within:
        assert getattr(kind(**{name: value, **others}), name) == value
    for value in outside:
        with pytest.raises(InvalidInputError, match="expected " + re.escape(words)) as refusal:
            kind(**{name: value, **others})
        assert refusal.value.field == name


@pytest.mark.parametrize(
    ("kind", "name", "within", "outside"),
    [
        (WINDOW, "window", {"window": 2}, {"window": 3, "smallest_window": 4}),
        (
            WINDOW,
            "confirmation_samples",
            {"confirmation_samples": 3, "horizon": 3},
            {"confirmation_samples": 4, "horizon": 3},
        ),
        (WINDOW, "confirmation_samples", {"confirmation_samples": 1}, {"confirmation_samples": 0}),
    ],
)
def test_parameters_that_must_fit_together(kind, name, within, outside):
    kind(**within)
    with pytest.raises(InvalidInputError, match=name):
        kind(**outside)


def written(value):
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def test_the_defaults_are_those_of_the_page():
    text = PAGE.read_text(encoding="utf-8").partition("## Parameters")[2].partition("\n## ")[0]
    stated = {}
    for owner, name, default in re.findall(r"^\| `?(\w+)`? \| `(\w+)` \| (.*?) \|", text, re.MULTILINE):
        stated.setdefault(owner, {})[name] = default
    common = {entry.name: entry.default for entry in dataclasses.fields(WindowParameters)}
    expected = {}
    for owner, kind in CLASSES.items():
        # Of its relatives a class states only what it has more, and a member's own stand with the member.
        own = [entry for entry in dataclasses.fields(kind) if entry.default is not dataclasses.MISSING]
        if owner != "all":
            own = [entry for entry in own if entry.name not in common]
        # The sensitive joint has those of the adaptive window.
        if owner == "sensitive_joint":
            continue
        expected[owner] = {entry.name: written(entry.default) for entry in own}
    assert stated == expected


def test_a_watch_of_no_settings_has_the_defaults_of_its_parts():
    detector = make_watch(7, WatchSettings(), robot=RobotModel.from_profile("panda")).detector
    assert detector.name == "adaptive_window" and detector.parameters == WINDOW()
