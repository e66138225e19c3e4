"""Every class of faults in every mode of the controller, over many seeds, and what came of it as one table."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from impact_aware.errors import InvalidInputError, UnknownNameError
from impact_aware.worker_pool import finished
from impact_aware_rigs.faults.bench import FaultBench
from impact_aware_rigs.faults.classes import FAULT_CLASSES, MODES, Trial, TrialResult, fault_class
from impact_aware_rigs.faults.hardware import HARDWARE
from impact_aware_rigs.faults.held_trial import HeldTrial
from impact_aware_rigs.faults.model_trial import ModelTrial
from impact_aware_rigs.faults.trial import run_trial
from impact_aware_rigs.figures import markdown_table

DROPPED = 0.005
"""An object that came down further than this from between two palms was dropped, m."""

_bench: FaultBench | None = None


def plan(
    runs: int, seed: int = 0, faults: Sequence[str] = (), modes: Sequence[str] = (), interface: str = "effort"
) -> list[Trial]:
    """At least `runs` trials, as many of every fault in every mode.

    Args:
        runs: Least number of trials.
        seed: Base of all seeds.
        faults: Names of classes; all when empty.
        modes: Of `MODES`; all when empty.
        interface: What the controller commands the arms by.

    Raises:
        UnknownNameError: No class or interface of that name.
        InvalidInputError: No run, or no mode of that name.
    """
    if runs < 1:
        raise InvalidInputError("runs", runs, "at least 1")
    for mode in modes:
        if mode not in MODES:
            raise InvalidInputError("mode", mode, "one of " + ", ".join(MODES))
    if interface not in HARDWARE:
        raise UnknownNameError("command_interface", interface, tuple(HARDWARE))
    names = [fault_class(name).name for name in faults] or list(FAULT_CLASSES)
    modes = list(modes) or list(MODES)
    repeats = math.ceil(runs / (len(names) * len(modes)))
    return [
        Trial(name, mode, 1000 * seed + repeat, interface)
        for repeat in range(repeats)
        for name in names
        for mode in modes
    ]


def execute(
    trials: Sequence[Trial],
    workers: int = 1,
    on_result: Callable[[TrialResult], None] | None = None,
    *,
    arms: int = 1,
) -> list[TrialResult]:
    """Do all trials with one arm or two; the results do not depend on the number of workers.

    Raises:
        InvalidInputError: No worker, or a number of arms that there is no task for.
        WorkersDiedError: Workers die again and again.
    """
    if workers < 1:
        raise InvalidInputError("workers", workers, "at least 1")
    results: dict[int, TrialResult] = {}
    for number, result in finished(dict(enumerate(trials)), _run, workers, _prepare, arms):
        results[number] = result
        if on_result is not None:
            on_result(result)
    return [results[number] for number in range(len(trials))]


def _prepare(arms: int) -> None:
    global _bench
    _bench = FaultBench(arms)


def _run(trial: Trial) -> TrialResult:
    assert _bench is not None
    kind = fault_class(trial.fault).kind
    if kind == "model":
        return ModelTrial(_bench, trial).run()
    if kind == "held":
        return HeldTrial(_bench, trial).run()
    return run_trial(_bench, trial)


def summarise(results: Sequence[TrialResult]) -> dict[str, Any]:
    """Figures of all trials together, and of each class."""
    classes = {}
    for name in dict.fromkeys(result.trial.fault for result in results):
        own = [result for result in results if result.trial.fault == name]
        classes[name] = {"text": FAULT_CLASSES[name].text, **_figures(own)}
    failures = [
        {
            "fault": r.trial.fault,
            "mode": r.trial.mode,
            "seed": r.trial.seed,
            "world": r.world,
            "arms": list(r.arms),
            "failures": list(r.failures),
        }
        for r in results
        if r.failures
    ]
    worlds = {
        kind: _figures([result for result in results if result.world == kind])
        for kind in dict.fromkeys(result.world for result in results)
    }
    held = [result.fell for result in results if result.held]
    objects = {"held": len(held), "dropped": sum(fell > DROPPED for fell in held)}
    return {**_figures(results), "classes": classes, "worlds": worlds, "objects": objects, "failed_trials": failures}


def _figures(results: Sequence[TrialResult]) -> dict[str, Any]:
    rests = [result.rest_time for result in results if math.isfinite(result.rest_time)]
    outcomes = Counter(result.reason or result.outcome for result in results)
    return {
        "runs": len(results),
        "failed": sum(bool(result.failures) for result in results),
        "outcomes": dict(outcomes.most_common()),
        "longest_rest_s": round(max(rests), 3) if rests else None,
        "peak_effort_share": round(max(result.peak_effort_share for result in results), 6),
        "peak_rate_share": round(max(result.peak_rate_share for result in results), 6),
        "recovered": sum(result.recovered for result in results),
    }


def format_table(summary: dict[str, Any]) -> str:
    """The summary as a Markdown table, a row per class."""
    rows = []
    for name, own in summary["classes"].items():
        outcomes = ", ".join(f"{reason} {count}" for reason, count in own["outcomes"].items())
        rest = "" if own["longest_rest_s"] is None else f"{own['longest_rest_s']:.2f} s"
        counts = str(own["recovered"]), str(own["failed"])
        rows.append((f"`{name}`", own["text"], str(own["runs"]), outcomes, rest, *counts))
    return markdown_table(("fault", "what happens", "runs", "outcomes", "rest within", "recovered", "failed"), rows)
