"""Texts of the report's page, beyond those that `test_looked_at.py` holds."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from impact_aware.recordings.results import CommonImpact, OtherEvent
from impact_aware.records import ContactImpulse, Impact
from impact_aware.report.hit_facts import number_text
from impact_aware.report.html import write_report
from impact_aware.report.view import MOST_EVENTS, UNKNOWN, arm_view, event_rows, headline, impact_view, settings_rows
from test.support.hand_made import TIME, make_analysis, make_impact

NAMES = {Path("runs/one.mcap"): "one"}
BARE = {"estimate": None, "prediction": None, "prediction_std": None, "ablation": (), "contact_frame": ""}


def test_what_is_not_known_has_no_fact_and_a_dash_in_the_line():
    view = impact_view(1, make_impact(expected=None, **BARE), NAMES)
    unknown = ["prediction within the uncertainty of the estimate", "assumed"]
    assert [fact.name for fact in view.facts] == [*unknown, "recording", "time", "found by", "first joint"]
    assert view.facts[0].value == "can't tell: nothing was predicted"
    dashes = (view.approach, view.error, view.relative, view.mass, view.impulse, view.mode, view.expected)
    assert set(dashes) == {UNKNOWN}
    assert [(row.before, row.predicted, row.estimated, row.error) for row in view.joints] == [
        ("0.1500", UNKNOWN, UNKNOWN, UNKNOWN),
        ("\u22120.7500", UNKNOWN, UNKNOWN, UNKNOWN),
    ]
    unsettled = replace(make_impact().estimate, settled=False)
    facts = {fact.name: fact.value for fact in impact_view(1, make_impact(estimate=unsettled), NAMES).facts}
    assert facts["estimated with"].endswith("; the fit ended on a bound")


def test_the_best_inertia_is_marked_where_the_data_decide():
    sharp = impact_view(1, make_impact(prediction_std=np.zeros(2)), NAMES)
    assert [row.best for row in sharp.variants] == [False, True]
    assert not any(row.best for row in impact_view(1, make_impact(), NAMES).variants)
    # Of its rows by friction, the closest one.
    worse = replace(make_impact().ablation[1], friction=0.3, error=0.06)
    several = make_impact(prediction_std=np.zeros(2), ablation=(*make_impact().ablation, worse))
    assert [row.best for row in impact_view(1, several, NAMES).variants] == [False, True, False]


def test_ticks_stay_within_the_bar_and_lead_to_what_is_there():
    impacts = [make_impact(event=replace(make_impact().event, time=time)) for time in (9.0, 12.5, 21.0)]
    arm = replace(make_analysis(*impacts).arms[0], quality="too slow", notes=("too slow", "more"))
    view = arm_view(arm, {id(impact): number for number, impact in enumerate(impacts, 1)}, 2, NAMES)
    assert [tick.place for tick in view.ticks] == ["0.00", "25.00", "100.00"]
    assert [tick.anchor for tick in view.ticks] == ["impact-1", "impact-2", "impacts"]
    assert (view.quality, view.poor, view.notes, view.impacts) == ("too slow", True, ("more",), 3)


def test_the_headline_counts_the_verdicts():
    analysis = make_analysis(make_impact(), make_impact(prediction_std=np.full(2, 1.0)), make_impact(**BARE))
    facts = {fact.name: fact.value for fact in headline(analysis)}
    # A share of the jump would hide that one of the predictions has none.
    assert facts == {
        "impacts": "3",
        "recording": "1",
        "joint-state messages": "12\u202f345",
        "predictions within the uncertainty of the estimate": "1 yes, 1 no, 1 can't tell",
    }


def test_the_headline_of_one_impact_is_its_verdict():
    facts = {fact.name: fact.value for fact in headline(make_analysis(make_impact()))}
    assert facts["prediction within the uncertainty of the estimate"] == "no"
    assert facts["rad/s off the estimate"] == "0.500 (0.180 to 0.820)"
    assert facts["of the jump, prediction error"] == "64.5 %"
    assumed = {fact.name for fact in headline(make_analysis(make_impact(assumed=("friction 0",))))}
    assert "of the jump, prediction error" not in assumed


def test_the_headline_of_several_impacts_has_the_median_share():
    estimates = [replace(make_impact().estimate, velocity_after=np.array([0.5, after])) for after in (-0.05, 0.3, 0.34)]
    analysis = make_analysis(*(make_impact(estimate=estimate) for estimate in estimates))
    shares = [impact.verdict.share for impact in analysis.impacts]
    facts = {fact.name: fact.value for fact in headline(analysis)}
    assert facts["of the jump, median prediction error"] == f"{100 * shares[1]:.1f} %"
    assert np.mean(shares) > 1.2 * shares[1]


@pytest.mark.parametrize(
    ("value", "text"), [(-0.001, "0.00"), (0.004, "0.00"), (-0.01, "\u22120.01"), (None, UNKNOWN), (np.inf, UNKNOWN)]
)
def test_a_number_has_its_digits_and_zero_no_sign(value, text):
    assert number_text(value, 2) == text


def test_the_plants_truth_is_the_reference():
    plant = Impact(source="plant", time=TIME, joint_names=("b", "a"), velocity_before=np.array([-0.7, 0.1]),
                   velocity_after=np.array([0.36, 0.18]))  # fmt: skip
    view = impact_view(1, make_impact(truth=plant, prediction_std=np.zeros(2)), NAMES)
    facts = {fact.name: fact.value for fact in view.facts}
    # Predicted (0.2, 0.35) of (0.18, 0.36), whose jump is (0.08, 1.06): by joint names, not by order.
    assert facts["prediction off by"] == "0.022 (0.022 to 0.022) rad/s, 2.1 % of the jump, from the simulator's truth"
    assert [row.truth for row in view.joints] == ["0.1800", "0.3600"]


def test_several_contacts_at_once_have_one_impulse_everywhere():
    contact = ContactImpulse(point=np.array([0.1, 0.2, 0.3]), normal=np.array([1.0, 0.0, 0.0]),
                            impulse=np.array([3.0, 0.0, 0.1]), mode="stick")  # fmt: skip
    impact = make_impact(common=CommonImpact("push", (), np.array([0.4, 0.6]), contact, np.zeros(3)))
    view = impact_view(1, impact, NAMES)
    facts = {fact.name: fact.value for fact in view.facts}
    assert view.impulse == "3.002" and facts["impulse, predicted"].startswith("3.002 N s")
    assert "impulse, from the jump" not in facts and impact.impulse_estimated is None
    assert facts["contact point"] == "(0.1000, 0.2000, 0.3000) m"


@pytest.mark.slow
def test_impacts_of_all_arms_come_in_order_of_time_each_with_its_own_figures(tmp_path):
    early = make_impact(event=replace(make_impact().event, time=TIME - 1.0))
    analysis = make_analysis(make_impact())
    other = replace(analysis.arms[0], arm="right", impacts=(replace(early, arm="right"),))
    text = write_report(replace(analysis, arms=(*analysis.arms, other)), tmp_path)[0].read_text()
    assert re.findall(r"<h2[^>]*>(Impact \d.*?)<", text)[:2] == [
        "Impact 1 of right at 11.5000 s ", "Impact 2 of left at 12.5000 s ",
    ]  # fmt: skip
    sections = re.findall(r'<section[^>]* id="impact-\d".*?</section>', text, re.DOTALL)
    drawn = ["".join(re.findall(r"<svg.*?</svg>", section, re.DOTALL)) for section in sections]
    assert [figures.count("<svg") for figures in drawn] == [3, 3]


def test_settings_are_told_in_words():
    rows = settings_rows({"a": True, "b": False, "c": None, "d": "text", "e": [1, 2.5]})
    assert [(row.name, row.value) for row in rows] == [
        ("a", "yes"), ("b", "no"), ("c", UNKNOWN), ("d", "text"), ("e", "[1, 2.5]"),
    ]  # fmt: skip


def test_other_events_are_listed_up_to_a_number():
    analysis = make_analysis()
    event = OtherEvent("left", Path("runs/one.mcap"), 12.75, 0.0021, "contact_lost", "the tool recedes")
    arm = replace(analysis.arms[0], file=event.file, other_events=(event,) * (MOST_EVENTS + 2))
    rows = event_rows(replace(analysis, arms=(arm,), files=(event.file,)))
    assert (rows[0].name, rows[0].value) == ("12.7500 s ± 2.1 ms, contact lost (left)", "the tool recedes")
    assert len(rows) == MOST_EVENTS + 1 and rows[-1].name == "2 more"
    two = event_rows(replace(analysis, arms=(replace(arm, other_events=(event,)),), files=(event.file, Path("b"))))
    assert [row.name for row in two] == ["12.7500 s ± 2.1 ms, contact lost (one.mcap, left)"]
