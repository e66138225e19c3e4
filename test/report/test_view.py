"""Every text of the report's page, from numbers written by hand; tables are read by their headers."""

import re
from dataclasses import replace
from html import unescape
from pathlib import Path

import numpy as np
import pytest

from impact_aware.recordings.results import CommonImpact, OtherEvent
from impact_aware.records import ContactImpulse, Impact
from impact_aware.report.html import write_report
from impact_aware.report.view import MOST_EVENTS, UNKNOWN, arm_view, event_rows, headline, impact_view, settings_rows
from test.support.hand_made import TIME, make_analysis, make_impact

NAMES = {Path("runs/one.mcap"): "one"}
BARE = {"estimate": None, "prediction": None, "prediction_std": None, "ablation": (), "contact_frame": ""}


def tables(text):
    """Rows of every table of a page by its headers; a cell's tags and swatches are left out."""
    found = []
    for table in re.findall(r"<table.*?</table>", text, re.DOTALL):
        lines = [
            [unescape(re.sub(r"<[^>]*>", "", cell)).strip() for cell in re.findall(r"<t[hd].*?</t[hd]>", line)]
            for line in re.findall(r"<tr.*?</tr>", table, re.DOTALL)
        ]
        found.append([dict(zip(lines[0], line, strict=True)) for line in lines[1:]])
    return found


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    analysis = make_analysis(make_impact())
    return write_report(analysis, tmp_path_factory.mktemp("page"))[0].read_text()


def test_the_line_of_an_impact():
    view = impact_view(9, make_impact(), NAMES)
    assert (view.number, view.anchor, view.heading) == (9, "impact-9", "Impact 9 of left at 12.5000 s")
    assert (view.arm, view.file, view.time, view.joint, view.label) == ("left", "one", "12.5000 ± 0.0004", "b", "hard")
    # Against the normal at 1.44 m/s, twice the 0.72 +- 0.004 rad/s of b; 0.5 of a jump of 0.775 rad/s;
    # the norm of (0.4, 1.7, -0.6).
    assert (view.approach, view.within, view.relative) == ("1.440 ± 0.008", "no", "64.5 %")
    # 1.96 norms of the errors of estimate and prediction, hypot(0.01, 0.15, 0.02, 0.06) rad/s.
    assert view.error == "0.500 (0.180 to 0.820)"
    assert (view.mass, view.impulse, view.mode, view.expected) == ("1.25", "1.847", "slide", "no")
    assert view.notes == ("first note", "second note")


def test_the_facts_of_an_impact():
    facts = {fact.name: fact.value.replace("\u2212", "-") for fact in impact_view(1, make_impact(), NAMES).facts}
    assert facts == {
        "prediction within the uncertainty of the estimate": "no, 4.7 standard errors off per joint",
        "prediction off by": "0.500 (0.180 to 0.820) rad/s, 64.5 % of the jump, from the estimate",
        "assumed": "nothing",
        "recording": "one",
        "time": "12.50000 s ± 0.40 ms",
        "found by": "kink, other; known 3.0 ms after it; confidence 0.75",
        "first joint": "b",
        "contact frame": "flange",
        "contact point": "(0.3000, -0.2000, 0.9000) m",
        "normal": "(0.000, 1.000, 0.000) from the TF frame",
        "approach speed": "1.440 ± 0.008 m/s along the normal",
        "effective mass": "1.25 kg along the normal",
        "object hit": "2.25 kg, free",
        "impulse, predicted": "1.847 N s, (0.400, 1.700, -0.600)",
        "impulse, from the jump": "1.693 N s, (0.078, 1.675, 0.234) ± (0.002, 0.051, 0.006)",
        "predicted with": "M+B_rho, friction 0.3, restitution 0.25: slide",
        "estimated with": "by hand, 101 samples from 2 to 102 ms",
        "expected": "no",
    }


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


def test_the_joints_of_an_impact(page):
    joints = next(rows for rows in tables(page) if rows and "residual" in rows[0])
    assert joints == [
        {"joint": "a", "before": "0.1100 ± 0.0030", "predicted": "0.2000 ± 0.1500", "estimated": "0.5000",
         "± s.e.": "0.0100", "error": "0.3000", "residual": "1.50"},
        {"joint": "b", "before": "\u22120.7200 ± 0.0040", "predicted": "0.3500 ± 0.0600", "estimated": "\u22120.0500",
         "± s.e.": "0.0200", "error": "0.4000", "residual": "4.50"},
    ]  # fmt: skip
    assert re.search(r'<tr class="largest"><th scope="row">b</th>', page)


def test_the_other_predictions_of_an_impact(page):
    rows = next(rows for rows in tables(page) if rows and "deg/s" in rows[0])
    assert rows == [
        {"inertia": "M", "friction": "0.3", "error, rad/s": "0.1800", "deg/s": "10.31", "of the jump": "23.0 %"},
        {"inertia": "M+B_rho", "friction": "0", "error, rad/s": "0.0500", "deg/s": "2.86", "of the jump": "6.5 %"},
    ]
    # Misfits of (0.1, 0.15) and (0.03, 0.04) rad/s in errors of (0.15, 0.063) differ by 5.6: too little to decide.
    assert "n better" not in page


def test_the_best_inertia_is_marked_where_the_data_decide():
    sharp = impact_view(1, make_impact(prediction_std=np.zeros(2)), NAMES)
    assert [row.best for row in sharp.variants] == [False, True]
    assert not any(row.best for row in impact_view(1, make_impact(), NAMES).variants)


def test_the_tables_of_recordings_and_impacts(page):
    recordings, impacts = tables(page)[:2]
    (recording,), (impact,) = recordings, impacts
    assert recording == {
        "recording": "one.mcap", "arm": "left", "robot": "two", "topic": "/left/joint_states",
        "messages": "12\u202f345", "usable": "12\u202f001", "rate, Hz": "988", "length, s": "10.00", "impacts": "1",
        "where": "", "quality": "good",
    }  # fmt: skip
    assert impact == {
        "no.": "1", "label": "hard", "time, s": "12.5000 ± 0.0004", "first joint": "b",
        "approach, m/s": "1.440 ± 0.008", "within": "no", "error, rad/s": "0.500 (0.180 to 0.820)",
        "of the jump": "64.5 %",
        "mass, kg": "1.25", "impulse, N s": "1.847", "mode": "slide", "expected": "no",
    }  # fmt: skip
    # A quarter of the way from 10 s to 20 s.
    assert 'style="left:25.00%" href="#impact-1" title="impact 1, 12.5000 s"' in page
    for note in ("a note of all", "a note of the arm", "first note"):
        assert f'<p class="note">{note}</p>' in page


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
    assert [row["arm"] for row in tables(text)[1]] == ["right", "left"]
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
