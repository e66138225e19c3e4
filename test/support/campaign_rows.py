"""Rows of campaigns made by hand, and what is reported of them, as kept in `test/experiments/campaign.txt`."""

import itertools
from pathlib import Path

from impact_aware.control import VARIANTS
from impact_aware.experiments.campaign_report import format_table, summarise
from impact_aware.json_text import json_text

KEPT = Path(__file__).resolve().parents[1] / "experiments" / "campaign.txt"
NAN, INF = float("nan"), float("inf")
PEAKS = {"proposed": 3.0, "no_rs": 13.0, "no_interim": 4.0, "no_impact_map": 7.0}


def rows():
    """A run of each controller with each object, start and displacement."""
    setups = itertools.product(("juice_pack", "parcel"), (0, 1), (-0.03, 0.0), VARIANTS)
    return [
        {
            "object": name,
            "start": start,
            "displacement": shift,
            "controller": controller,
            "success": controller != "no_rs" or start == 0,
            "cause": "" if controller != "no_rs" or start == 0 else "goal missed",
            "peak": PEAKS[controller] + (1.0 if name == "juice_pack" else 0.0),
            "peak_linear": 3.0 if controller == "no_interim" and shift else PEAKS[controller],
            "peak_linear_after": 0.5 * PEAKS[controller] + (0.25 if start else 0.0),
            "torque_jump": 0.01 + (0.03 if start else 0.0),
            "torque_swing": 0.15 if controller == "no_rs" and shift else 0.05,
            "time_to_track_s": INF if controller == "no_rs" and start else 0.1,
            "goal_error_m": 0.005 if shift else 0.009,
            "slip_m": 0.001 if name == "parcel" else NAN,
            "detection_delay_s": 0.002 if start else 0.005,
            "false_detections": 1 if controller == "no_rs" else 0,
            "prediction_error": 0.03 if shift else 0.05,
            "object_prediction_error": 0.02 if shift else 0.04,
            "object_prediction_share": 0.1 if shift else 0.3,
            "object_prediction_closing": 0.02 if shift else 0.05,
            "object_prediction_difference": 0.001 if start else 0.007,
        }
        for name, start, shift, controller in setups
    ]


def reports():
    """Summary and table of a campaign."""
    summary = summarise(rows())
    return json_text(summary, indent=2) + "\n" + format_table(summary) + "\n"
