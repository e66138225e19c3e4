"""Touchdowns in recorded jump landings of the robot Cassie: the detectors on impacts that nobody here made.

The data set is DAIRLab's `cassie_impact_dataset` (BSD-3-Clause): one landing per trio of files `t_NN.npy` (s),
`x_NN.npy` (23 positions, then 22 velocities) and `u_NN.npy` (motor torques), 100 samples at 2 kHz that begin about 5 ms
before touchdown. There are too few samples before touchdown to learn an impact-free motion from, so one setting is
chosen for all landings at once: on every second landing, from a short list, and judged on the others; then the other
way round. No landing is judged by a setting that was chosen with it.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from impact_aware.arrays import Array
from impact_aware.detection import make_detector
from impact_aware.errors import InvalidInputError

PERIOD = 5e-4
"""Nominal sampling period of the data set, s; its stamps scatter by 5 %."""

NOMINAL_TOUCHDOWN = 10
"""Sample near which every landing touches down."""

FOUND_WITHIN = 10.0
"""An event this many samples from the nominal touchdown counts as found (5 ms, as far as a landing reaches back)."""

CLOSE = 5.0
"""An event this many samples from it counts as close (2.5 ms)."""

DISTAL_COLUMNS = (15, 16, 17, 18, 20, 22)
"""Knee springs, ankles and toes, left and right: the joints next to the ground, among those with an encoder."""

ENCODER_STEP = 3.07e-5
"""Smallest step of most encoders in the data, rad."""

ACCELERATION_SETTINGS: tuple[dict[str, Any], ...] = tuple(
    {"threshold": threshold, "half_width": half_width}
    for threshold in (1000.0, 1500.0, 2000.0, 2500.0)
    for half_width in (2, 3)
)
WINDOW_SETTINGS: tuple[dict[str, Any], ...] = tuple(
    {"window": 6, "smallest_window": 3, **bound}
    for bound in (
        {"acceleration_variation": 2000.0, "jerk_bound": 1e6},
        {"acceleration_variation": 4000.0, "jerk_bound": 3e6},
        {"fixed_bound": 3e-3, "horizon": 3},
        {"fixed_bound": 3e-3, "horizon": 4},
        {"fixed_bound": 5e-3, "horizon": 4},
    )
)
SETTINGS = {"acceleration": ACCELERATION_SETTINGS, "adaptive_window": WINDOW_SETTINGS}
"""What each detector may choose from; a jump landing is far more violent than an arm's impact."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare where the recordings are; they are not part of this package."""
    parser.add_argument("folder", type=Path, help="folder with t_NN.npy, x_NN.npy and u_NN.npy of the data set")


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Judge the detectors; times are in samples of 0.5 ms about the nominal touchdown at sample 10.

    Raises:
        InvalidInputError: No landings there, or files of another shape.
    """
    landings = read_landings(options.folder)
    return {"detectors": judge_landings(landings), "landings": len(landings), "nominal_touchdown_sample": 10}


@dataclass(frozen=True, eq=False)
class Landing:
    """One landing: positions (k, 6) of the distal joints, rad, on a uniform grid of `PERIOD`."""

    name: str
    positions: Array


def read_landings(folder: Path) -> list[Landing]:
    """Read every landing of a folder.

    Raises:
        InvalidInputError: No such folder, no landing in it, or a file of another shape.
    """
    files = sorted(Path(folder).glob("x_*.npy"))
    if not files:
        raise InvalidInputError("landings", str(folder), "a folder with x_NN.npy of the Cassie data set")
    landings = []
    for file in files:
        try:
            states = np.load(file, allow_pickle=False)
        except (OSError, ValueError) as error:
            raise InvalidInputError(str(file), "not readable", f"a NumPy file ({error})") from error
        if states.ndim != 2 or states.shape[1] != 45 or not len(states):
            raise InvalidInputError(str(file), f"shape {states.shape}", "shape (k, 45)")
        landings.append(Landing(file.stem[2:], np.ascontiguousarray(states[:, DISTAL_COLUMNS], dtype=np.float64)))
    return landings


def touchdowns(landings: Sequence[Landing], detector: str, settings: dict[str, Any]) -> Array:
    """Refined time of the first event of each landing, in samples, (len(landings),); NaN where there is none."""
    found = np.full(len(landings), np.nan)
    for index, landing in enumerate(landings):
        positions = landing.positions
        # One event per landing: whatever comes after touchdown is its aftermath.
        finder = make_detector(
            detector,
            positions.shape[1],
            sampling_period=PERIOD,
            encoder_resolution=ENCODER_STEP,
            refractory_time=1.0,
            **settings,
        )
        events = finder.detect(PERIOD * np.arange(len(positions)), positions)
        if events:
            found[index] = events[0].time / PERIOD
    return found


def score(found: Array) -> dict[str, Any]:
    """How many touchdowns were found, and their spread about the nominal one, in samples."""
    off = found - NOMINAL_TOUCHDOWN
    near = off[np.abs(off) <= FOUND_WITHIN]
    quartiles = np.percentile(near, [25, 50, 75]) if len(near) else np.full(3, np.nan)
    return {
        "landings": len(found),
        "found": len(near),
        "close": int(np.count_nonzero(np.abs(off) <= CLOSE)),
        "elsewhere": int(np.count_nonzero(np.abs(off) > FOUND_WITHIN)),
        "without_event": int(np.isnan(off).sum()),
        "median_samples": float(quartiles[1]),
        "quartiles_samples": [float(quartiles[0]), float(quartiles[2])],
        "std_samples": float(near.std()) if len(near) else float("nan"),
        "spread_ms": float(1e3 * PERIOD * (quartiles[2] - quartiles[0])),
    }


def judge_landings(landings: Sequence[Landing]) -> dict[str, Any]:
    """Score every detector, each half of the landings with the setting that was best on the other half.

    Returns:
        `{detector: {...score..., "settings": [two settings]}}`.

    Raises:
        InvalidInputError: Fewer than four landings.
    """
    if len(landings) < 4:
        raise InvalidInputError("landings", len(landings), "at least 4, two for each half")
    halves = (np.arange(0, len(landings), 2), np.arange(1, len(landings), 2))
    results: dict[str, Any] = {}
    for detector, settings in SETTINGS.items():
        table = np.array([touchdowns(landings, detector, setting) for setting in settings])
        judged = np.full(len(landings), np.nan)
        chosen = []
        for own, other in (halves, halves[::-1]):
            best = min(range(len(settings)), key=lambda row: _loss(table[row, own]))
            chosen.append(settings[best])
            judged[other] = table[best, other]
        results[detector] = score(judged) | {"settings": chosen}
    return results


def _loss(found: Array) -> float:
    """Mean distance from the nominal touchdown, samples, no landing counting more than a missed one."""
    off = np.abs(found - NOMINAL_TOUCHDOWN)
    return float(np.minimum(np.nan_to_num(off, nan=FOUND_WITHIN), FOUND_WITHIN).mean())
