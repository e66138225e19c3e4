"""Velocity estimators on classes of impacts whose velocities are known: controls, joints, rates, demos."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from impact_aware.arrays import Array
from impact_aware.bags.bag import Bag
from impact_aware.bags.recorded_predictions import TRUTH
from impact_aware.cli.options import MOST
from impact_aware.errors import InvalidInputError, NoSolutionError
from impact_aware.estimation import estimate
from impact_aware.estimation.motion_parts import ramp
from impact_aware.estimation.registry import BOTH_SIDES, OFFLINE_ESTIMATORS
from impact_aware.messages.stamps import stamp_seconds
from impact_aware.parameters import Options, described
from impact_aware.recordings.impact_fit import BEFORE
from impact_aware.records import VelocityEstimate
from impact_aware.worker_pool import finished
from impact_aware_rigs.bench.demo import run_demo
from impact_aware_rigs.bench.lab_draw import CONTROLS
from impact_aware_rigs.bench.lab_hit import hit_of_seed
from impact_aware_rigs.bench.lab_recording import RATES, record

TIME_ERROR = 4e-4
"""Standard error of the impact times that the estimators are given, s."""

EXACT = 0.01
"""Share of the jump below which errors count as equal."""

JOINTS = 7
NEAR = 0.5
"""Part of a demo's recording before and after the impact that is used, s."""


@dataclass(frozen=True, kw_only=True)
class BenchOptions(Options):
    """Impacts of each class."""

    impacts: int = described(10, "impacts per class", 1, MOST)
    demos: int = described(0, "demos that are run, as a class", 0, 1000)
    workers: int = described(2, "processes", 1, 1000)
    seed: int = described(0, "seed of the impacts", 0, MOST)


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Measure; see `bench_estimators` for the figures."""
    classes = impact_classes(args.impacts, args.seed, args.workers)
    if args.demos:
        with TemporaryDirectory() as folder:
            classes["demo"] = [demo_impact(seed, Path(folder) / str(seed)) for seed in range(args.demos)]
    return {"estimators": bench_estimators(classes, args.seed)}


@dataclass(frozen=True, eq=False)
class KnownImpact:
    """One impact whose velocities are known.

    Attributes:
        times: (k,) s.
        positions: (k, n) rad.
        time: Of the impact, s.
        before: (n,) Velocity before, rad/s.
        after: (n,) Velocity after, rad/s.
        until: Time of the next impact, s, or None.
    """

    times: Array
    positions: Array
    time: float
    before: Array
    after: Array
    until: float | None = None


def impact_classes(count: int, seed: int, workers: int = 2) -> dict[str, list[KnownImpact]]:
    """`count` impacts per class; the same seed gives the same ones.

    Classes: one per control of a laboratory's arm at 1 kHz (`CONTROLS`), all of them together at each lower rate, the
    same with stiff joints (`stiff`), contacts of 6 to 16 ms (`soft`), and strongly decaying oscillations (`decaying`).
    """
    classes: dict[str, list[KnownImpact]] = {}
    jobs = {
        (control, elastic, index): (seed + index, control, elastic)
        for index in range(count)
        for control in CONTROLS
        for elastic in (True, False)
    }
    found = dict(finished(jobs, lab_impacts, workers))
    for control, elastic, index in jobs:
        for rate, impact in found[control, elastic, index].items():
            name = "stiff" if not elastic else control if rate == max(RATES) else f"{rate} Hz"
            classes.setdefault(name, []).append(impact)
    classes["soft"] = list(_drawn(count, seed, soft_swing))
    classes["decaying"] = list(_drawn(count, seed, decaying_swing))
    return classes


def lab_impacts(job: tuple[int, str, bool]) -> dict[int, KnownImpact]:
    """First contact of a laboratory's hit, recorded at each of `RATES`; empty where the drawn hits miss."""
    seed, control, elastic = job
    try:
        hit = hit_of_seed((seed, CONTROLS.index(control)), control, elastic=elastic)
    except NoSolutionError:
        return {}
    first, until = hit.contacts[0], hit.contacts[1].time if len(hit.contacts) > 1 else None
    recordings = {rate: record(hit, rate, seed) for rate in RATES}
    return {
        rate: KnownImpact(
            own.times, own.positions, first.time, first.velocity_before, first.velocity_before + first.jump, until
        )
        for rate, own in recordings.items()
    }


def demo_impact(seed: int, folder: Path) -> KnownImpact:
    """Impact of a demo that is run into a folder, with the plant's true velocities."""
    run_demo(seed, folder)
    with Bag(folder / "bag") as bag:
        truth = next(message for _, message in bag.messages(TRUTH))
        states = [message for _, message in bag.messages("joint_states")]
    time, times = stamp_seconds(truth), np.array([stamp_seconds(state) for state in states])
    near = np.abs(times - time) < NEAR
    positions = np.array([state.position for state in states])
    return KnownImpact(
        times[near], positions[near], time, np.array(truth.velocity_before), np.array(truth.velocity_after)
    )


def soft_swing(rng: np.random.Generator) -> KnownImpact:
    """Contact of 6 to 16 ms at 500 Hz, after which joints swing at 15 to 40 Hz with 3 to 10 % of critical damping."""
    lasting = rng.uniform(0.006, 0.016)
    frequency = 2.0 * np.pi * rng.uniform(15.0, 40.0, JOINTS)
    decay = rng.uniform(0.03, 0.1) * frequency
    return _swing(rng, 500.0, (0.1, 0.6), frequency, decay, lasting)


def decaying_swing(rng: np.random.Generator) -> KnownImpact:
    """Short contact at 1 kHz, after which joints swing at 28 to 46 Hz and decay at 22 1/s."""
    frequency = 2.0 * np.pi * rng.uniform(28.0, 46.0, JOINTS)
    return _swing(rng, 1000.0, (0.3, 1.0), frequency, np.full(JOINTS, 22.0), 0.0)


def _swing(
    rng: np.random.Generator, rate: float, share: tuple[float, float], frequency: Array, decay: Array, lasting: float
) -> KnownImpact:
    """Constant acceleration, a jump over a contact of `lasting` s, and oscillations of a share of the jump."""
    times = np.arange(-0.3, 0.35, 1.0 / rate) + rng.uniform(0.0, 1.0) / rate
    before, jump = rng.uniform(-0.6, 0.6, JOINTS), rng.uniform(-0.8, 0.8, JOINTS)
    since = np.maximum(times - 0.5 * lasting, 0.0)[:, None]
    swing = rng.uniform(*share, JOINTS) * jump / frequency * np.exp(-decay * since) * np.sin(frequency * since)
    smooth = before * times[:, None] + 0.5 * rng.uniform(-1.5, 1.5, JOINTS) * times[:, None] ** 2
    kink = jump * ramp(np.maximum(times, 0.0), lasting)[:, None]
    noise = 1e-5 * rng.standard_normal((len(times), JOINTS))
    return KnownImpact(times, smooth + kink + swing + noise, 0.0, before, before + jump)


def _drawn(count: int, seed: int, draw: Callable[[np.random.Generator], KnownImpact]) -> Iterable[KnownImpact]:
    rng = np.random.default_rng(seed)
    return (draw(rng) for _ in range(count))


def bench_estimators(classes: dict[str, list[KnownImpact]], seed: int) -> dict[str, Any]:
    """Error of each estimator per class: norm of the error of the velocity after over the norm of the jump.

    Per class and estimator the median and 90th percentile, the share of joints within two standard errors and the
    impacts that it could not estimate; `best` is the single estimator of the smallest median, `default_over_best` the
    median of the analysis's default over that one's, or over `EXACT` where that is more. The time of each impact is
    late or early by a normal error of `TIME_ERROR` s or a tenth of a period, whichever is longer.
    """
    table: dict[str, Any] = {}
    for name, impacts in classes.items():
        figures = {method: _figures(method, impacts, seed) for method in OFFLINE_ESTIMATORS}
        singles = {method: own["median"] for method, own in figures.items() if method != BOTH_SIDES}
        best = min(singles, key=lambda method: singles[method])
        ratio = max(figures[BOTH_SIDES]["median"], EXACT) / max(singles[best], EXACT)
        table[name] = {"impacts": len(impacts), "best": best, "default_over_best": ratio, "estimators": figures}
    return table


def _figures(method: str, impacts: Sequence[KnownImpact], seed: int) -> dict[str, float]:
    rng = np.random.default_rng(seed)
    errors, within, started = [], [], time.process_time()
    for impact in impacts:
        error = max(TIME_ERROR, 0.1 * float(np.median(np.diff(impact.times))))
        found = _estimated(method, impact, impact.time + error * rng.standard_normal(), error)
        if found is None:
            continue
        off = found.velocity_after - impact.after
        errors.append(float(np.linalg.norm(off) / np.linalg.norm(impact.after - impact.before)))
        within.append(float(np.mean(np.abs(off) <= 2.0 * found.standard_error)))
    known = bool(errors)
    return {
        "median": float(np.median(errors)) if known else np.inf,
        "p90": float(np.quantile(errors, 0.9)) if known else np.inf,
        "within_two_errors": float(np.mean(within)) if known else np.nan,
        "without": len(impacts) - len(errors),
        "ms_per_call": 1e3 * (time.process_time() - started) / max(len(impacts), 1),
    }


def _estimated(method: str, impact: KnownImpact, when: float, error: float) -> VelocityEstimate | None:
    """The estimate as the analysis makes it, or None where samples lack."""
    for before in BEFORE:
        try:
            return estimate(
                impact.times,
                impact.positions,
                when,
                method=method,
                impact_time_error=error,
                until=impact.until,
                before=before,
            )
        except InvalidInputError:
            continue
    return None
