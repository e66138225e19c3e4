"""Pages, figures, texts and files of reports on hand-made data, as they are kept in `test/report/looked_at`,
with those of campaigns in `test/experiments/campaign.txt`, markers in `test/markers/scenes.txt`, graphs of nodes in
`test/bringup/graphs.txt` and what launch files start in `test/launch/started.txt`.

A test holds the reports against these files, so that a line which is no longer drawn, or is drawn elsewhere, does not
go unseen. `PYTHONPATH=test/support python test/support/looked_at.py` writes them anew; open what changed before it is
committed.
"""

import re
import tempfile
from dataclasses import replace
from io import StringIO
from pathlib import Path

import campaign_rows
import graph_texts
import launch_standin
import launch_started
import launch_texts
import marker_scenes
import matplotlib
import numpy as np
from hand_made import GROUP, make_analysis, make_impact
from hand_made_run import recording

from impact_aware.estimation.contact_point import ContactPointFit
from impact_aware.estimation.object_motion import ObjectMotion
from impact_aware.json_text import json_text
from impact_aware.recordings.contact_check import ContactCheck
from impact_aware.recordings.object_hit import ObjectHit
from impact_aware.recordings.results import Analysis, OtherEvent
from impact_aware.report.html import write_report
from impact_aware.report.result_files import ablation_csv, impacts_csv, to_json
from impact_aware.report.run_figure import run_figure
from impact_aware.report.run_report import summarise
from impact_aware.report.run_series import read_run

KEPT = Path(__file__).resolve().parents[1] / "report" / "looked_at"

OBJECT_HIT = ObjectHit(
    ObjectMotion(
        onset=12.504,
        onset_error=0.0015,
        position=np.array([0.3, -0.3, 0.9]),
        velocity_before=np.array([0.01, -0.02, 0.03]),
        velocity_before_error=np.array([0.001, 0.002, 0.003]),
        velocity_after=np.array([0.1, -0.75, 0.2]),
        velocity_after_error=np.array([0.011, 0.022, 0.033]),
        turn_before=np.array([0.1, 0.2, 0.3]),
        turn_after=np.array([1.4, -2.7, 3.9]),
        turn_error=np.array([0.05, 0.06, 0.07]),
        window=0.25,
        samples=26,
        scatter=0.0004,
        same_clock=False,
    ),
    clock_offset=0.004,
    restitution=0.37,
    restitution_error=0.08,
    momentum=np.array([0.2, -1.6, 0.4]),
    momentum_error=np.array([0.02, 0.05, 0.07]),
    impulse_lost=np.array([0.3, -1.9, 0.5]),
    impulse_lost_error=np.array([0.02, 0.11, 0.04]),
    mass_shown=2.6,
    mass_shown_error=0.4,
)
CONTACT_CHECK = ContactCheck(
    "another_point",
    0.083,
    0.012,
    0.34,
    ContactPointFit(
        "flange",
        np.array([0.02, -0.03, 0.17]),
        np.diag([1e-4, 2e-4, 3e-4]),
        np.array([0.6, 0.0, 0.8]),
        0.011,
        0.027,
        np.array([[0.4, 1.7, -0.6]]),
        np.array([[0.04, 0.17, 0.06]]),
        0.05,
        3.5,
        2,
    ),
    assumed=np.array([0.0, 0.0, 0.1]),
)

ARMS = {"run_of_one_arm": [""], "run_of_two_arms": ["left", "right"]}


def hand_made_analysis() -> Analysis:
    """An analysis with two impacts, one with all that is known and one with next to nothing."""
    bare = make_impact(
        index=4, estimate=None, prediction=None, prediction_std=None, ablation=(), notes=()
    )
    whole = make_impact(object_hit=OBJECT_HIT, contact_check=CONTACT_CHECK, cause="second_contact", evidence="by hand")
    analysis = make_analysis(whole, bare)
    other = OtherEvent("left", Path("runs/one.mcap"), 12.75, 0.002, "command_step", "torques jump", ("kink",))
    return replace(analysis, arms=(replace(analysis.arms[0], other_events=(other,)),))


def result_texts() -> dict[str, str]:
    """Files of the analysis, by their names."""
    analysis = hand_made_analysis()
    return {
        "impacts.csv": impacts_csv(analysis.impacts),
        "ablation.csv": ablation_csv([GROUP]),
        "analysis.json": json_text(to_json(replace(analysis, ablation_groups=(GROUP,))), indent=2) + "\n",
    }


def report_page() -> str:
    """The page of the analysis."""
    analysis = hand_made_analysis()
    with tempfile.TemporaryDirectory() as folder:
        page, *_ = write_report(analysis, Path(folder))
        text = page.read_text(encoding="utf-8")
    # The style sheet is a file of its own in the templates.
    return re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL)


def run_texts(name: str) -> dict[str, str]:
    """Table, summary and figure of a run, by the name of their files."""
    run = read_run(recording(ARMS[name]))
    report = summarise(run, Path("folder"), {"nodes": ["n"]})
    drawn = StringIO()
    with matplotlib.rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
        run_figure(run, report.arms).savefig(drawn, format="svg", metadata=dict.fromkeys(("Date", "Creator")))
    svg = re.sub(r"<metadata>.*?</metadata>", "", drawn.getvalue(), flags=re.DOTALL)
    return {
        f"{name}.txt": report.table() + "\n",
        f"{name}.json": json_text(report.summary, indent=2) + "\n",
        # Coordinates finer than any screen would differ from one processor to the next.
        f"{name}.svg": re.sub(r"(\d+\.\d\d)\d+", r"\1", svg),
    }


def texts() -> dict[str, str]:
    """All of them, by the name of their files."""
    found = {"report.html": report_page()} | result_texts()
    for name in ARMS:
        found |= run_texts(name)
    return found


if __name__ == "__main__":
    KEPT.mkdir(exist_ok=True)
    kept = {KEPT / name: text for name, text in texts().items()}
    kept |= {marker_scenes.KEPT: marker_scenes.scenes_text(), campaign_rows.KEPT: campaign_rows.reports()}
    kept[graph_texts.KEPT] = graph_texts.graphs_text()
    if not launch_started.REAL:
        launch_standin.install()
    kept[launch_texts.KEPT] = launch_texts.started_text()
    for path, text in kept.items():
        path.write_text(text, encoding="utf-8")
        print(path)
