"""Contact points from several recorded hits of one tip, in other postures each: told or not, and how far off.

Each case is an arm whose tip is up to 15 cm from where its profile has it. It hits boxes and tables, each hit is a
recording, `analyze` finds its first contact, and the jumps are combined as `identify contact-point` does it.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from tqdm import tqdm

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError
from impact_aware.estimation.assumed_point import AssumedPoint, hold_against_point
from impact_aware.estimation.contact_point import JointJump
from impact_aware.recordings.arm_notes import NEAR as NEAR_FIND
from impact_aware.recordings.contact_check import joint_jump
from impact_aware.recordings.options import AnalysisOptions
from impact_aware_rigs.bench.lab_draw import CONTROLS, ToolDraw, draw_tool
from impact_aware_rigs.bench.lab_hit import hit_of_seed
from impact_aware_rigs.bench.lab_object import NEAR
from impact_aware_rigs.bench.lab_recording import record
from impact_aware_rigs.bench.recordings import analysis_of

JOINTS = ("rigid", "flexible")

AFTER = 0.2
"""Length of the recordings after the planned touch, s: what comes later tells nothing of the contact point."""

WRONG = 0.05
"""Distance of the true tip from the profile's from which the profile's counts as a wrong point, m."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare how many cases are made, and of which hits."""
    parser.add_argument("--cases", type=int, default=100, help="tips per kind of joints (default: 100)")
    parser.add_argument("--hits", type=int, nargs="+", default=[1, 2, 4], help="of each tip (default: 1 2 4)")
    parser.add_argument("--joints", nargs="+", choices=JOINTS, default=list(JOINTS), help="default: both")
    parser.add_argument("--rate", type=int, default=200, metavar="HZ", help="of the recorder (default: 200)")
    parser.add_argument("--seed", type=int, default=1, help="of the first case; the others follow (default: 1)")


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Run the benchmark; the result's layout is `{JOINTS: {NORMAL: {HITS: {...}}}}`.

    Raises:
        InvalidInputError: No case, or a case without a hit.
    """
    if options.cases < 1:
        raise InvalidInputError("--cases", options.cases, "at least 1")
    if min(options.hits) < 1:
        raise InvalidInputError("--hits", options.hits, "at least 1 each")
    result: dict[str, Any] = {}
    for joints in options.joints:
        scores = {known: {count: PointScore() for count in options.hits} for known in (False, True)}
        seeds = range(options.seed, options.seed + options.cases)
        for seed in tqdm(seeds, desc=joints, disable=not sys.stderr.isatty()):
            tool, hits = hits_of_case(seed, max(options.hits), float(options.rate), elastic=joints == "flexible")
            for known, by_count in scores.items():
                for count, score in by_count.items():
                    score.take(tool, hits[:count], known)
        result[joints] = {
            "normals_known" if known else "normals_unknown": {str(k): score.as_dict() for k, score in by_count.items()}
            for known, by_count in scores.items()
        }
    trials = {"cases": options.cases, "hits": options.hits, "rate": options.rate, "seed": options.seed}
    return result | {"trials": trials, "aims": {"within_2_cm": 0.9, "within_two_se": [0.90, 0.98]}}


def hits_of_case(seed: int, count: int, rate: float, *, elastic: bool) -> tuple[ToolDraw, list[JointJump | None]]:
    """Tip of a case, and the jumps of its hits with their true normals; None where the contact was not found."""
    tool = draw_tool(np.random.default_rng((seed, 0)))
    options = AnalysisOptions(robot=tool.robot.name, ablation=False)
    jumps: list[JointJump | None] = []
    for place in range(count):
        control = CONTROLS[(seed + place) % len(CONTROLS)]
        hit = hit_of_seed((seed, 1 + place), control, tool=tool, elastic=elastic, after=AFTER)
        recorder = int(np.random.default_rng((seed, 1 + place, 1)).integers(2**31))
        found = analysis_of(record(hit, rate, recorder), options).impacts
        contact = hit.contacts[0]
        best = min(found, key=lambda impact: abs(impact.time - contact.time), default=None)
        if best is None or best.estimate is None or abs(best.time - contact.time) > NEAR_FIND:
            jumps.append(None)
        else:
            jumps.append(replace(joint_jump(best.position, best.estimate), normal=contact.normal))
    return tool, jumps


@dataclass
class PointScore:
    """What was said of the tips' centres; lengths in m.

    Attributes:
        hits: Recorded.
        found: Of those.
        cases: With a hit that was found.
        disagree: Of those, whose hits were said to be of more than one point.
        lines: Distances from the true centre to the line, where only that was told.
        points: The same to the point, where that was told.
        whole: Of both, distances to the fitted point itself, along the direction that is told least as well.
        ratios: Of both, components along the principal axes that were told, in standard errors.
        right_accused: Cases whose true centre was said to be another point.
        wrong: Cases whose profile has the tip `WRONG` from the true one or more.
        wrong_accused: Of those, whose profile's tip was said to be another point.
    """

    hits: int = 0
    found: int = 0
    cases: int = 0
    disagree: int = 0
    lines: list[float] = field(default_factory=list)
    points: list[float] = field(default_factory=list)
    whole: list[float] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)
    right_accused: int = 0
    wrong: int = 0
    wrong_accused: int = 0

    def take(self, tool: ToolDraw, recorded: list[JointJump | None], normals_known: bool) -> None:
        """Combine the hits of one case."""
        hits = [hit if normals_known else replace(hit, normal=None) for hit in recorded if hit is not None]
        self.hits += len(recorded)
        self.found += len(hits)
        if not hits:
            return
        self.cases += 1

        def held(place: Array) -> AssumedPoint:
            return hold_against_point(tool.robot, hits, place, radius=tool.robot.tool_radius)

        right = held(tool.offset)
        self.right_accused += right.verdict == "another_point"
        self.disagree += not right.fit.one_point
        if np.linalg.norm(tool.offset) >= WRONG:
            self.wrong += 1
            self.wrong_accused += held(np.zeros(3)).verdict == "another_point"
        if not right.fit.told:
            return
        (self.points if right.fit.told_along else self.lines).append(right.fit.distance(tool.offset))
        self.whole.append(float(np.linalg.norm(tool.offset - right.fit.point)))
        spread, axes = np.linalg.eigh(right.fit.covariance)
        components = np.abs(axes.T @ (tool.offset - right.fit.point)) / np.sqrt(spread)
        self.ratios += components[: 3 if right.fit.told_along else 2].tolist()

    def as_dict(self) -> dict[str, Any]:
        """The figures for the benchmark's JSON; None where nothing was told."""
        told = np.array(self.lines + self.points)
        return {
            "hits": self.hits,
            "found": self.found,
            "cases": self.cases,
            "cannot_tell": self.cases - len(told),
            "of_more_than_one_point": self.disagree,
            "told_line": len(self.lines),
            "told_point": len(self.points),
            "error_cm": _centimetres(told),
            "error_in_all_directions_cm": _centimetres(np.array(self.whole)),
            "within_2_cm": float(np.mean(told <= NEAR)) if len(told) else None,
            "within_two_se": float(np.mean(np.array(self.ratios) <= 2.0)) if self.ratios else None,
            "right_point_accused": self.right_accused,
            "wrong_points": self.wrong,
            "wrong_point_accused": self.wrong_accused,
        }


def _centimetres(distances: Array) -> dict[str, float] | None:
    if not len(distances):
        return None
    return {"p50": 100.0 * float(np.percentile(distances, 50)), "p90": 100.0 * float(np.percentile(distances, 90))}
