"""`impact-aware bench`: measure speed and accuracy, each figure beside a baseline of the same run."""

from __future__ import annotations

import argparse
import importlib
from types import ModuleType

from impact_aware.cli.options import NumberParser, add_common, add_options
from impact_aware.cli.output import keep_json, show
from impact_aware.errors import UnknownNameError

BENCHMARKS = (
    "bag",
    "control",
    "dds",
    "demo",
    "detection",
    "estimation",
    "franka",
    "franka_faults",
    "plan",
    "predict",
    "recordings",
    "service",
    "startup",
)
"""Modules of this folder with `BenchOptions` and `run(args)`, which returns the figures."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the benchmark's name; its own options are parsed when it is known."""
    parser.add_argument("name", metavar="NAME", help="one of " + ", ".join(BENCHMARKS))
    parser.add_argument("options", nargs=argparse.REMAINDER, help="options of that benchmark")


def run(args: argparse.Namespace) -> int:
    """Run one benchmark and print what it measured."""
    parser, module = benchmark(args.name)
    options = parser.parse_args(args.options)
    options.json = options.json or args.json
    options.out = options.out or args.out
    result = module.run(options)
    keep_json(options.out, f"bench_{args.name}.json", result)
    show(options, result, lambda: format_result(result))
    return 0


def benchmark(name: str) -> tuple[argparse.ArgumentParser, ModuleType]:
    """The parser of one benchmark's options, and its module.

    Raises:
        UnknownNameError: None of that name.
    """
    if name not in BENCHMARKS:
        raise UnknownNameError("benchmark", name, BENCHMARKS)
    module = importlib.import_module(f"impact_aware_rigs.bench.{name}")
    parser = NumberParser(prog=f"impact-aware bench {name}", description=module.__doc__)
    add_common(parser)
    add_options(parser, module.BenchOptions)
    return parser, module


def format_result(result: dict[str, object], indent: int = 0) -> str:
    """Nested figures as indented lines, numbers with four significant digits."""
    lines = []
    for key, value in result.items():
        if isinstance(value, dict):
            lines += [" " * indent + f"{key}:", format_result(value, indent + 2)]
        else:
            shown = f"{value:.4g}" if isinstance(value, float) else str(value)
            lines.append(" " * indent + f"{key:<28} {shown}")
    return "\n".join(lines)
