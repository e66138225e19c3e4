"""Rows of campaigns made by hand, and what is reported of them, as kept in `test/experiments/campaign.txt`."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

from impact_aware.control import VARIANTS
from impact_aware.experiments.campaign_report import format_random, format_table, summarise, summarise_random
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


def trial(number, cause="", **figures):
    """A random trial."""
    drawn = {"mass_kg": 0.5 + 0.1 * number, "displacement_m": [0.002 * number, -0.003 * number]}
    return {
        "key": str(number),
        "number": number,
        "controller": "proposed",
        "success": cause == "",
        "cause": cause,
        "drawn": json.dumps(drawn),
        "peak": 10.0 + number,
        **figures,
    }


def trials():
    """Trials that succeed, fail and are refused."""
    return [
        trial(0, off_centre_m=0.001, arms_apart_s=0.010),
        trial(1, off_centre_m=0.004, arms_apart_s=0.020),
        trial(2, "goal missed", off_centre_m=0.008),
        trial(3, "safe mode: QP_INFEASIBLE", off_centre_m=0.003, arms_apart_s=0.050),
        trial(4, "safe mode: EXCEPTION", off_centre_m=0.002, arms_apart_s=0.070),
        trial(5, "start refused: start: got ...", peak=NAN),
    ]


def reports():
    """Summaries and tables of both campaigns."""
    other = [{**row, "controller": "no_rs", "success": False, "cause": "start refused: no"} for row in trials()[:2]]
    planned, drawn = summarise(rows()), summarise_random([*trials(), *other])
    parts = [json_text(planned, indent=2), format_table(planned), json_text(drawn, indent=2), format_random(drawn)]
    return "\n".join(parts) + "\n"
