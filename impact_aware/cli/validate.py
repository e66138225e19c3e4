"""`impact-aware validate [NAME ...]`: the papers' numbers, recomputed, side by side with what is expected and why."""

from __future__ import annotations

import argparse
import sys
import textwrap
import time
from dataclasses import asdict
from functools import partial

from impact_aware.errors import UnknownNameError
from impact_aware.experiments.validation.check import KINDS, Check
from impact_aware.experiments.validation.context import ValidationContext
from impact_aware.experiments.validation.registry import VALIDATIONS, run_validation
from impact_aware.json_text import json_text
from impact_aware.output_folder import write_whole

_BAR = 30


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the names and the size of the statistical validations."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="validations to run; all when none is named")
    parser.add_argument("--list", action="store_true", help="list the validations and end")
    parser.add_argument("--trials", type=int, default=200, metavar="N", help="random impacts, where there are any; 200")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="seed of every random draw; 0")


def run(args: argparse.Namespace) -> int:
    """Run the validations; the exit status is 1 when a check fails.

    Raises:
        UnknownNameError: A name that is not registered.
    """
    if args.list:
        print(json_text({name: asdict(each) for name, each in VALIDATIONS.items()}) if args.json else format_list())
        return 0
    names = args.names or list(VALIDATIONS)
    for name in names:
        if name not in VALIDATIONS:
            raise UnknownNameError("validation", name, tuple(VALIDATIONS))
    context = ValidationContext(out=args.out, trials=args.trials, seed=args.seed)
    checks: list[Check] = []
    for number, name in enumerate(names, start=1):
        context.report = partial(_show_bar, f"[{number}/{len(names)}] {name}")
        context.report(0.0)
        start = time.monotonic()
        found = run_validation(name, context)
        checks += found
        _clear_bar()
        if not args.json:
            print(f"{name}: {VALIDATIONS[name].summary} ({time.monotonic() - start:.1f} s)")
            print(format_checks(found))
    failed = [check for check in checks if not check.ok]
    result = {
        "ok": not failed,
        "checks": [check.as_dict() for check in checks],
        "figures": [str(path) for path in context.figures],
    }
    if args.out is not None:
        args.out.mkdir(parents=True, exist_ok=True)
        write_whole(args.out / "validate.json", json_text(result, indent=2) + "\n")
    if args.json:
        print(json_text(result))
    else:
        print(f"{len(checks) - len(failed)} of {len(checks)} checks hold")
        for path in context.figures:
            print(f"figure: {path}")
    return 1 if failed else 0


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
            f"  {'ok' if check.ok else 'FAIL':<4} {check.paper:<20} {check.kind:<11} {expected:>12} "
            f"{check.computed:>12.5g} {tolerance:>10}  {check.quantity}{mark}"
        )
    for number, assumption in enumerate(assumptions, start=1):
        lines.append(textwrap.fill(assumption, 112, initial_indent=f"    [{number}] ", subsequent_indent="        "))
    return "\n".join(lines)


def _show_bar(label: str, share: float) -> None:
    if sys.stderr.isatty():
        done = round(_BAR * share)
        bar = "#" * done + "." * (_BAR - done)
        print(f"\r\033[K{label:<28} {bar} {100.0 * share:3.0f} %", end="", file=sys.stderr, flush=True)


def _clear_bar() -> None:
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)
