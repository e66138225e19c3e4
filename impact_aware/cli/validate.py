"""`impact-aware validate [NAME ...]`: the papers' numbers, recomputed, side by side with what is expected and why."""

from __future__ import annotations

import argparse
import textwrap
import time
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from impact_aware.cli.options import MOST
from impact_aware.cli.output import keep_json, progress, show
from impact_aware.errors import UnknownNameError
from impact_aware.experiments.validation.check import KINDS, Check, ValidationContext
from impact_aware.experiments.validation.registry import VALIDATIONS, run_validation
from impact_aware.parameters import Options, described

if TYPE_CHECKING:
    from tqdm import tqdm


@dataclass(frozen=True, kw_only=True)
class ValidationOptions(Options):
    """The validations, and the size of the statistical ones."""

    names: tuple[str, ...] = described((), "validations to run, or none for all", metavar="NAME", positional=True)
    list: bool = described(False, "list the validations and end")
    trials: int = described(200, "random impacts, where there are any", 0, MOST)
    seed: int = described(0, "seed of every random draw", 0, MOST)


OPTIONS = (ValidationOptions,)


def run(args: argparse.Namespace) -> int:
    """Run the validations; the exit status is 1 when a check fails, unless it is an aim that is known as missed.

    Raises:
        UnknownNameError: A name that is not registered.
    """
    if args.list:
        show(args, {name: asdict(each) for name, each in VALIDATIONS.items()}, format_list)
        return 0
    names = args.names or list(VALIDATIONS)
    for name in names:
        if name not in VALIDATIONS:
            raise UnknownNameError("validation", name, tuple(VALIDATIONS))
    context = ValidationContext(out=args.out, trials=args.trials, seed=args.seed)
    checks: list[Check] = []
    with progress(total=len(names), bar_format="{desc:<28} |{bar}| {percentage:3.0f} %", leave=False) as bar:
        for number, name in enumerate(names, start=1):
            context.report = partial(_advance, bar, number - 1)
            bar.set_description(f"[{number}/{len(names)}] {name}")
            start = time.monotonic()
            found = run_validation(name, context)
            checks += found
            if not args.json:
                bar.clear()
                print(f"{name}: {VALIDATIONS[name].summary} ({time.monotonic() - start:.1f} s)")
                print(format_checks(found))
    marks = [check.mark for check in checks]
    result = {
        "ok": "FAIL" not in marks,
        "checks": [check.as_dict() for check in checks],
        "figures": [str(path) for path in context.figures],
    }
    keep_json(args.out, "validate.json", result)
    missed = f", {marks.count('miss')} aims are known as missed" if "miss" in marks else ""
    lines = [f"{marks.count('ok')} of {len(checks)} checks hold{missed}"]
    show(args, result, "\n".join([*lines, *(f"figure: {path}" for path in context.figures)]))
    return 1 if "FAIL" in marks else 0


def _advance(bar: tqdm[Any], begin: int, share: float) -> None:
    bar.update(begin + share - bar.n)


def format_list() -> str:
    """The validations with the kinds of their checks, and what the kinds say."""
    lines = [f"{name:<20} {', '.join(each.kinds):<28} {each.summary}" for name, each in VALIDATIONS.items()]
    return "\n".join([*lines, "", *(f"{kind:<12} {meaning}" for kind, meaning in KINDS.items())])


def format_checks(checks: list[Check]) -> str:
    """A table with one line per check, and every assumption once below it."""
    signs = {"equal": "=", "at most": "<=", "at least": ">="}
    lines = [f"  {'':<4} {'paper':<20} {'kind':<11} {'expected':>12} {'computed':>12} {'tolerance':>10}  quantity"]
    assumptions: list[str] = []
    for check in checks:
        mark = ""
        if check.assumption:
            if check.assumption not in assumptions:
                assumptions.append(check.assumption)
            mark = f" [{assumptions.index(check.assumption) + 1}]"
        expected = "-" if check.expected is None else f"{signs[check.relation]} {check.expected:.5g}"
        tolerance = "-" if check.expected is None else f"{check.tolerance:.2g}"
        lines.append(
            f"  {check.mark:<4} {check.paper:<20} {check.kind:<11} {expected:>12} "
            f"{check.computed:>12.5g} {tolerance:>10}  {check.quantity}{mark}"
        )
    for number, assumption in enumerate(assumptions, start=1):
        lines.append(textwrap.fill(assumption, 112, initial_indent=f"    [{number}] ", subsequent_indent="        "))
    return "\n".join(lines)
