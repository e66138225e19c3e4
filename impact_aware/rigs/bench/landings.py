"""Impact detectors on recorded jump landings of Cassie (DAIRLab's cassie_impact_dataset): found, and how spread."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from impact_aware.rigs.bench.cassie_landings import judge_landings, read_landings


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
