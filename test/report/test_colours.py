"""Text can be read and colours told apart, with every kind of sight: computed, as WCAG 2.1 AA and CIELAB have it."""

import itertools
import re
from pathlib import Path

import pytest
from colour import DISTINCT, GRAPHICS, TEXT, blended, contrast, distance

from impact_aware.experiments.campaign_plots import COLOURS
from impact_aware.experiments.validation import flexible_arms
from impact_aware.report.figures import COLORS
from impact_aware.report.run_figure import JOINT_COLORS, MODE_COLORS

SHEET = Path(__file__).resolve().parents[2] / "impact_aware" / "report" / "templates" / "report.css"
CURVES = ("before", "predicted", "estimated", "impulse")
# What is written on what, as the style sheet has it.
WRITTEN = [
    *itertools.product(("ink", "muted", "accent"), ("page", "card", "band")),
    *((curve, "card") for curve in CURVES),  # the words of a legend
    ("ink", "line"),
    ("warn-ink", "warn"),
]


def themes() -> list[dict[str, str]]:
    """Colours by name: of the light page, and of the dark one."""
    blocks = re.findall(r":root \{(.*?)\}", SHEET.read_text(encoding="utf-8"), flags=re.DOTALL)
    return [dict(re.findall(r"--([\w-]+): (#\w{6})", block)) for block in blocks]


def assert_distinct(colours: list[str]) -> None:
    for first, second in itertools.combinations(colours, 2):
        assert distance(first, second) >= DISTINCT, (first, second)


def test_the_computation_knows_what_is_known() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)  # the grey that just fails, W3C's example
    assert distance("#ffffff", "#000000") == pytest.approx(100.0, abs=0.1)
    assert distance("#ff0000", "#00a000") < 60.0 < distance("#0000a0", "#ffff00")
    assert distance("#ff7f0e", "#2ca02c") < DISTINCT  # the usual orange and green, to a protanope
    assert blended("#000000", "#ffffff", 0.25) == "#bfbfbf"


@pytest.mark.parametrize("theme", (0, 1), ids=("light", "dark"))
def test_every_text_of_the_report_can_be_read(theme: int) -> None:
    colours = themes()[theme]
    for text, ground in WRITTEN:
        assert contrast(colours[text], colours[ground]) >= TEXT, (text, ground)


@pytest.mark.parametrize("theme", (0, 1), ids=("light", "dark"))
def test_every_curve_of_the_report_is_seen_and_told_apart(theme: int) -> None:
    colours = themes()[theme]
    assert all(contrast(colours[curve], colours["card"]) >= GRAPHICS for curve in CURVES)
    assert_distinct([colours[curve] for curve in CURVES])


def test_the_figures_as_files_are_no_worse_than_on_the_page() -> None:
    assert all(contrast(COLORS[name], "#ffffff") >= TEXT for name in ("ink", "muted", "predicted"))
    assert all(contrast(COLORS[name], "#ffffff") >= GRAPHICS for name in CURVES)
    assert_distinct([COLORS[name] for name in CURVES])


def test_the_joints_of_a_run_are_told_apart_on_every_mode_s_shade() -> None:
    assert_distinct(list(JOINT_COLORS))
    for shade in ("#ffffff", *MODE_COLORS.values()):
        assert all(contrast(colour, shade) >= GRAPHICS for colour in JOINT_COLORS), shade
        assert contrast("#000000", shade) >= TEXT


def test_controllers_of_a_campaign_are_told_apart() -> None:
    for colours in (list(COLOURS.values()), list(flexible_arms.COLOURS.values())):
        assert_distinct(colours)
        assert all(contrast(colour, "#ffffff") >= GRAPHICS for colour in colours)
