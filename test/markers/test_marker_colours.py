"""Colours of the scene, computed: told apart with every kind of sight, and words that can be read on RViz's ground."""

from itertools import combinations
from pathlib import Path

import pytest
import yaml
from colour import DISTINCT, GRAPHICS, TEXT, contrast, distance

from impact_aware.markers import style

ROOT = Path(__file__).resolve().parents[2]
ROLES = {
    "before": style.BEFORE, "predicted": style.PREDICTED, "measured": style.ESTIMATED, "impulse": style.IMPULSE,
    "reference": style.REFERENCE,
}  # fmt: skip


def hexadecimal(color: tuple[float, ...]) -> str:
    return "#" + "".join(f"{round(255 * value):02x}" for value in color[:3])


@pytest.mark.parametrize(("one", "other"), list(combinations(ROLES, 2)))
def test_arrows_are_told_apart_with_every_kind_of_sight(one: str, other: str) -> None:
    assert distance(hexadecimal(ROLES[one]), hexadecimal(ROLES[other])) >= DISTINCT
    words = [hexadecimal(style.readable(ROLES[name])) for name in (one, other)]
    assert distance(*words) >= DISTINCT


def test_a_colour_has_one_meaning() -> None:
    words = {
        style.PREDICTED: ("predicted", "prediction"), style.ESTIMATED: ("measured",), style.IMPULSE: ("impulse",),
        style.REFERENCE: ("reference", "goal"),
    }  # fmt: skip
    for _, color, meaning in style.LEGEND:
        shown = [texts for known, texts in words.items() if known[:3] == color[:3]]
        assert all(any(text in meaning for text in texts) for texts in shown), meaning
        assert shown or not any(text in meaning for texts in words.values() for text in texts), meaning


@pytest.mark.parametrize("view", ["single_arm", "dual_arm"])
def test_the_background_is_that_of_the_views(view: str) -> None:
    loaded = yaml.safe_load((ROOT / "rviz" / f"{view}.rviz").read_text())
    words = loaded["Visualization Manager"]["Global Options"]["Background Color"]
    assert [int(value) / 255 for value in words.split(";")] == list(style.BACKGROUND)


def test_words_and_arrows_have_contrast() -> None:
    background = hexadecimal(style.BACKGROUND)
    for _, color, meaning in style.LEGEND:
        assert contrast(hexadecimal(style.readable(color)), background) >= TEXT, meaning
    assert contrast(hexadecimal(style.TEXT), background) >= TEXT
    for color in (*ROLES.values(), style.NORMAL, style.CONTACT, style.OBJECT):
        assert contrast(hexadecimal(color), background) >= GRAPHICS
    # A dark colour stays as it is.
    assert style.readable((0.1, 0.2, 0.05, 0.3)) == pytest.approx((0.1, 0.2, 0.05, 1.0))
