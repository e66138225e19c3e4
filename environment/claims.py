"""The measured figures that the pages of docs/ show: the command of each, what it measures, and its table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Rows = list[list[Any]]


@dataclass(frozen=True)
class Claim:
    """One file of docs/figures and one block of a page.

    Attributes:
        page: Name of the page in docs/, without its ending.
        command: Words after `impact-aware`; its JSON output is measured.
        rooms: Paths whose changes make the figures old.
        columns: Head of the table.
        rows: Function from the command's JSON to the rows of the table.
    """

    page: str
    command: str
    rooms: tuple[str, ...]
    columns: tuple[str, ...]
    rows: Callable[[Mapping[str, Any]], Rows]


def at(result: Mapping[str, Any], path: str) -> Any:
    """The entry of nested mappings along a dotted path; None where it is missing."""
    found: Any = result
    for key in path.split("."):
        if not isinstance(found, Mapping) or key not in found:
            return None
        found = found[key]
    return found


RATIOS = ("figure", "measured", "baseline", "baseline measured", "ratio", "aim")
"""Head of a table of figures beside a baseline of the same run."""


def ratios(*lines: tuple[str, str, str, str, str, str]) -> Callable[[Mapping[str, Any]], Rows]:
    """Rows under `RATIOS`, from (figure, path, baseline, its path, path of the ratio, aim); no path, no value."""

    def rows(result: Mapping[str, Any]) -> Rows:
        return [
            [name, at(result, path), baseline, at(result, base), at(result, ratio), aim]
            for name, path, baseline, base, ratio, aim in lines
        ]

    return rows


def values(*lines: tuple[str, str, str]) -> Callable[[Mapping[str, Any]], Rows]:
    """Rows of (figure, value, aim), from (figure, path, aim)."""
    return lambda result: [[name, at(result, path), aim] for name, path, aim in lines]


def each(path: str, columns: Sequence[str | Callable[[Mapping[str, Any]], Any]]) -> Callable[[Mapping[str, Any]], Rows]:
    """One row per entry of the mapping at `path`: its key, then a path below it or a function of it per column."""

    def rows(result: Mapping[str, Any]) -> Rows:
        return [
            [key, *(column(entry) if callable(column) else at(entry, column) for column in columns)]
            for key, entry in (at(result, path) or {}).items()
        ]

    return rows


_FRANKA_FAULT = (
    "text", "torque_share", "torque_rate", "speed_before", "speed_after", "stopped_ms", "reason", "recovered",
    lambda entry: ", ".join(entry["unsafe"]) or "no",
)  # fmt: skip


_SHOWN = ("median", "p90", "within_two_errors")
_ERRORS = ("median", "p90", "within 2 s.e.")


def _error(method: str, name: str) -> Callable[[Mapping[str, Any]], Any]:
    """Figure of one estimator in a class of `bench estimation`; of its best single one without a name."""
    return lambda entry: entry["estimators"][method or entry["best"]][name]


def _counts(entry: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {count}" for name, count in entry["outcomes"].items())


def _groups(result: Mapping[str, Any]) -> Rows:
    """Mean peaks of a campaign by group, and the figures of all runs, one column per controller."""
    names = list(result["success_rate"])
    rows: Rows = [
        [f"{factor} {value}".replace("_", " "), *(means[name] for name in names)]
        for factor, groups in result["groups"].items()
        for value, means in groups.items()
    ]
    rows.append(["all", *(result["peak"][name] for name in names)])
    rows.append(["success, share of runs", *(result["success_rate"][name] for name in names)])
    rows.append(
        ["largest torque jump at a switch, one cycle", *(result["torque_jump"][name]["largest"] for name in names)]
    )
    rows.append(["largest within ten cycles", *(result["torque_swing"][name]["largest"] for name in names)])
    rows.append(["time to track, s", *(result["time_to_track_s"][name] for name in names)])
    rows.append(["distance from the goal, m", *(result["goal_error_m"][name] for name in names)])
    return rows


def _checks(result: Mapping[str, Any]) -> Rows:
    """Numbers that a paper prints one by one, up to `_FEW` of a validation; of the other checks count and success."""
    signs = {"equal": "=", "at most": "<=", "at least": ">="}
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for check in result["checks"]:
        groups.setdefault((check["name"], check["kind"]), []).append(check)
    rows: Rows = []
    for (name, kind), checks in groups.items():
        if kind == "printed" and len(checks) <= _FEW:
            for check in checks:
                bound = f"{signs[check['relation']]} {check['expected']:.4g}"
                rows.append([name, kind, f"{check['paper']}: {check['quantity']}", bound, check["computed"]])
        else:
            papers = ", ".join(dict.fromkeys(check["paper"] for check in checks))
            bound = [check["ok"] for check in checks if check["expected"] is not None]
            if bound:
                rows.append([name, kind, papers, len(bound), f"{sum(bound)} hold"])
    return rows


def _engines(result: Mapping[str, Any]) -> Rows:
    """Kinds of scenes, and what is reported of each, in the order of the checks."""
    rows: dict[str, list[Any]] = {}
    for check in result["checks"]:
        if check["expected"] is None:
            kind = check["quantity"].split(":")[0]
            rows.setdefault(kind, [kind, check["paper"]]).append(f"{check['computed']:.3g}")
    return list(rows.values())


def _planned(result: Mapping[str, Any]) -> Rows:
    """Figures of planned hits: all, each kind of result, and each shipped task."""
    rows: Rows = [
        ["results inside the interval, share", result["inside"], ">= 0.9"],
        ["length of a slide, median error, share", result["slide_error"], "<= 0.1"],
        ["runs that passed a limit", result["limits_passed"], "0"],
        ["refused results", result["refused"], ""],
        ["refused, though a dense search has a hit", result["wrongly_refused"], "0"],
        ["processor time of a plan, median, s", result["cpu_s"], "<= 2"],
        ["the longest, s", result["cpu_s_largest"], "<= 2"],
        ["the longest of a refusal, s", result["cpu_s_refused"], ""],
    ]
    for kind, own in result["kinds"].items():
        rows.append([f"{kind}: inside the interval, of {own['runs']}", own["inside"], ""])
        rows.append([f"{kind}: half width of the interval over the result", own["half_width"], ""])
        rows.append([f"{kind}: within its tolerance of 10 %", own["within_tolerance"], ""])
    for name, own in result["shipped"].items():
        for figure in ("peak", "jump"):
            ratio = own["planned"][figure] / own["shipped"][figure]
            rows.append([f"`{name}`: {figure}, planned over shipped", ratio, "<= 1"])
    return rows


_FEW = 6
_PIN = ("`pin.impulseDynamics` with its kinematics", "microseconds.pin_impulse_dynamics")
_RAW = ("`rosbags`, raw", "raw_messages_per_second")
_CYCLE = ("control", "reference", "robot")
_FAULTS = ("control", "nodes", "ros", "detection", "reference", "simulation")
_DELAYS = ("delay_ms.p50", "delay_ms.p99")
_CONTROLLERS = ("group", "proposed", "no RS", "no interim mode", "no impact map")


def _prediction(name: str, key: str, aim: str) -> tuple[str, str, str, str, str, str]:
    return (f"{name}, us", f"microseconds.{key}", *_PIN, f"ratio_to_baseline.{key}", aim)


def _rooms(*names: str) -> tuple[str, ...]:
    return tuple(f"impact_aware/{name}" for name in names)


CLAIMS: dict[str, Claim] = {
    "predict": Claim(
        "performance",
        "bench predict",
        _rooms("impact", "robot"),
        RATIOS,
        ratios(
            _prediction("prepared, fixed slip direction", "fixed_direction", "<= 1.0"),
            _prediction("prepared, exact Coulomb", "exact_coulomb", "<= 1.5"),
            _prediction("`ia.predict`", "predict_function", "<= 3"),
            ("batch, us each", "batch.coulomb.wall_microseconds", *_PIN, "batch.coulomb.ratio_to_baseline", "<= 0.15"),
        ),
    ),
    "service": Claim(
        "performance",
        "bench service",
        _rooms("nodes", "ros", "impact", "messages"),
        RATIOS,
        ratios(("p50, us", "predict.p50_us", "an empty service", "empty.p50_us", "ratio_p50", "<= 1.6")),
    ),
    "dds": Claim(
        "performance",
        "bench dds --seconds 60",
        _rooms("nodes", "ros", "messages", *_CYCLE),
        RATIOS,
        ratios(
            ("state to torque, p50, us", "control.p50_us", "a bare echo", "echo.p50_us", "ratio_p50", ""),
            ("state to torque, p99, us", "control.p99_us", "a bare echo", "echo.p99_us", "ratio_p99", "<= 1.3"),
        ),
    ),
    "bag": Claim(
        "performance",
        "bench bag",
        _rooms("bags", "recordings", "detection", "estimation"),
        RATIOS,
        ratios(
            ("reading, messages/s", "read_messages_per_second", *_RAW, "ratio_read_to_raw", ""),
            ("whole analysis, messages/s", "analyze_messages_per_second", *_RAW, "ratio_analyze_to_raw", ">= 0.25"),
        ),
    ),
    "knocks": Claim(
        "performance",
        "bench bag --messages 1000",
        _rooms("bags", "recordings", "detection", "estimation"),
        ("figure", "measured", "aim"),
        values(
            ("analysis of 25 s at 200 Hz with 58 knocks, s of processor time", "knocks_processor_seconds", "<= 3"),
            ("knocks found", "knocks_found", ""),
        ),
    ),
    "startup": Claim(
        "performance",
        "bench startup",
        _rooms("cli", "robot", "impact"),
        ("figure", "measured", "aim"),
        values(
            ("`impact-aware --help`, s of processor time", "seconds.help", "<= 0.3"),
            ("`impact-aware predict`, s of processor time", "seconds.predict", "<= 0.6"),
            ("importing NumPy and Pinocchio alone, s", "seconds.numpy_pinocchio", ""),
        ),
    ),
    "control": Claim(
        "performance",
        "bench control --random-states 0",
        _rooms(*_CYCLE),
        ("cycle", "calm p50, us", "calm p99, us", "largest p99 at any limits, us", "aim"),
        lambda result: [
            [
                f"{arms.replace('_', ' ')}, {mode}",
                at(regimes, "no limit active.p50_us"),
                at(regimes, "no limit active.p99_us"),
                max(entry["p99_us"] for entry in regimes.values() if isinstance(entry, Mapping) and entry["cycles"]),
                aim,
            ]
            for arms, aim in (("one_arm", "<= 300"), ("two_arms", "<= 500"))
            for mode, regimes in result[arms].items()
        ]
        + [
            [
                "a relay applies a law, processor time",
                *(at(result, f"law.processor_{place}_us") for place in ("p50", "p99", "p99")),
                "<= 100",
            ]
        ],
    ),
    "franka": Claim(
        "validation",
        "bench franka",
        (
            *_rooms("control", "reference", "detection", "nodes", "ros", "impact", "franka"),
            "rigs/impact_aware_rigs/franka",
        ),
        ("figure", "measured", "aim"),
        values(
            ("runs", "count", ""),
            ("runs with hit and push and no stop", "done", "all"),
            ("of these with the goal within 20 mm", "within_20_mm", "all"),
            ("distance from the goal, median, mm", "goal_error_mm.median", ""),
            ("largest, mm", "goal_error_mm.largest", "<= 20"),
            ("states", "states", ""),
            ("states without a command", "lost", "0"),
            ("detected impact from the first contact, largest, ms", "detected_impact_error_ms.largest", "<= 2"),
            ("by `analyze`, largest, ms", "analyzed_impact_error_ms.largest", "<= 2"),
            ("error of the prediction by the profile, share of the jump, median", "prediction_error.median", ""),
            ("with the simulated joints' motor inertia", "prediction_error_known_armature.median", ""),
            ("the driver applies a law, processor time, p50, us", "law.applied_us.p50", ""),
            ("p99", "law.applied_us.p99", "<= 100"),
            ("and sends its torque, p99", "law.sent_us.p99", ""),
        ),
    ),
    "franka-faults": Claim(
        "franka",
        "bench franka_faults",
        (*_rooms("control", "franka", "nodes", "ros"), "rigs/impact_aware_rigs/franka"),
        (
            "what happens", "torque, of its limit", "torque rate, N m/s", "speed at that time, rad/s",
            "largest afterwards", "at rest after, ms", "the controller reports", "recovery", "unsafe",
        ),
        lambda result: [row[1:] for row in each("faults", _FRANKA_FAULT)(result)],
    ),
    "detection": Claim(
        "detection",
        "bench detection",
        _rooms("detection",),
        ("detector", "delay p50, ms", "p99, ms", "missed", "false per hour", "time error p95, ms", "us a sample"),
        each("detectors", (*_DELAYS, "missed", "false_positives_per_hour", "time_error_p95_ms", "us_per_sample")),
    ),
    "recordings": Claim(
        "detection",
        "bench recordings",
        _rooms("bags", "detection", "estimation", "recordings"),
        ("rate, Hz", "contacts", "found", "false contacts", "time error p95, ms", "jump within 2 s.e.", "cause right"),
        each(
            "rates",
            ("contacts", "found", "false_contacts", "time_error_ms.p95", "jump_error_over_se.within_2", "cause_right"),
        ),
    ),
    "recordings-streamed": Claim(
        "detection",
        "bench recordings --streamed --hits 100 --seed 91000",
        _rooms("bags", "detection", "estimation", "recordings"),
        ("rate, Hz", "contacts", "found", "false contacts", "time within 2 s.e.", "jump within 2 s.e."),
        each(
            "rates",
            ("contacts", "found", "false_contacts", "time_error_over_se.within_2", "jump_error_over_se.within_2"),
        ),
    ),
    **{
        name: Claim(
            "detection",
            f"bench recordings --streamed --hits 1 --seed 91000{free}",
            _rooms("bags", "detection", "estimation", "recordings"),
            (f"{motion}, free motion", "hours", "false contacts"),
            each("free", ("hours", "false_contacts")),
        )
        for name, free, motion in (("free-motion", " --free 120", "recorder"), ("real-motion", "", "real arm"))
    },
    "estimation": Claim(
        "analysis",
        "bench estimation --impacts 20 --demos 5",
        _rooms("estimation"),
        ("class", "impacts", *(f"default, {figure}" for figure in _ERRORS), "best single", *_ERRORS),
        each(
            "estimators",
            (
                "impacts",
                *(_error("both_sides", name) for name in _SHOWN),
                "best",
                *(_error("", name) for name in _SHOWN),
            ),
        ),
    ),
    "headlines": Claim(
        "analysis",
        "bench demo",
        _rooms("bags", "detection", "estimation", "recordings", "impact"),
        ("demos", "bags that agree", "CSV that agree"),
        lambda result: [[result["demos"], result["agreeing"]["bag"], result["agreeing"]["csv"]]],
    ),
    **{
        f"faults{suffix}": Claim(
            "reliability",
            f"faults --runs 500{words}",
            _rooms(*_FAULTS),
            ("fault", *(("what happens",) if text else ()), "outcomes", "at rest within, s", "failed"),
            each("classes", (*text, _counts, "longest_rest_s", "failed")),
        )
        for suffix, words, text in (("", "", ("text",)), ("-two-arms", " --arms 2", ()))
    },
    **{
        f"campaign-{task}": Claim(
            "campaign",
            f"campaign {task} --repeats 5 --workers 2 --out results/campaign-{task}",
            _rooms("control", "reference", "task", "experiments", "impact", "simulation"),
            _CONTROLLERS,
            _groups,
        )
        for task in ("hit-and-push", "dual-arm-grab")
    },
    "plan": Claim(
        "planning",
        "bench plan",
        _rooms("planning", "task", "control", "impact", "simulation"),
        ("figure", "measured", "aim"),
        _planned,
    ),
    "engines": Claim(
        "validation",
        "validate engines --trials 100",
        _rooms("impact", "contact", "experiments"),
        (
            "scenes", "engine", "map, energy", "joints", "pads alike, energy", "joints",
            "another law, energy", "joints", "half width, energy", "joints", "known pads, energy", "joints", "inside",
        ),
        _engines,
    ),
    "validate": Claim(
        "validation",
        "validate",
        _rooms("impact", "contact", "estimation", "experiments", "simulation"),
        ("validation", "kind", "of", "expected, or bounds", "computed"),
        _checks,
    ),
}  # fmt: skip
"""Every block of measured figures by name."""
