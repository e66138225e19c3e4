"""Options about tables of joint states, alike in every subcommand that reads them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable

from impact_aware.errors import InvalidInputError, one_line
from impact_aware.joint_columns import ColumnMap, read_column_map, with_rate, with_time_unit
from impact_aware.time_columns import TIME_UNITS


def add_table_arguments(parser: argparse._ActionsContainer, *, times: bool = True, degrees: bool = True) -> None:
    """Declare which columns are what, the unit of the times or the rate, and whether angles are in degrees."""
    parser.add_argument(
        "--columns", metavar="NAME=COLUMN", action="append",
        help="of tables: a YAML file or 'time=t q=q1,q2 dq=joint_*_vel tau=... joints=...', also several times; usual "
        "names are found anyway",
    )  # fmt: skip
    if times:
        parser.add_argument("--time-unit", metavar="|".join(TIME_UNITS), help="of a table's times; else judged")
        parser.add_argument("--rate", metavar="HZ", help="of a table without times, whose rows come one like the other")
    if degrees:
        parser.add_argument(
            "--degrees", action="store_true", help="positions and velocities are in degrees, not radians"
        )


def column_map(args: argparse.Namespace) -> ColumnMap | None:
    """What the options say about columns; None when they say nothing.

    Raises:
        InvalidInputError: An entry that is not known, no such file, or a rate that is none.
        UnknownNameError: A unit that is not known.
    """
    chosen = None if not args.columns else read_column_map(" ".join(args.columns))
    return with_rate(with_time_unit(chosen, getattr(args, "time_unit", None)), getattr(args, "rate", None))


def remember_defaults(parser: argparse.ArgumentParser) -> None:
    """Keep the defaults of the options declared so far, for `refuse_unused`."""
    defaults = {action.dest: action.default for action in parser._actions if action.option_strings}
    parser.set_defaults(option_defaults=defaults)


def refuse_unused(args: argparse.Namespace, unused: Iterable[str], reason: str) -> None:
    """Refuse the options among `unused` that were given.

    Args:
        args: Of a parser with `remember_defaults`.
        unused: Names of options that nothing would read.
        reason: When they are read, for the error.

    Raises:
        InvalidInputError: With the first such option.
    """
    for name in unused:
        if getattr(args, name) != args.option_defaults[name]:
            given = getattr(args, name)
            raise InvalidInputError("--" + name.replace("_", "-"), "given" if given is True else given, reason)


def tell(notes: Iterable[str]) -> None:
    """Print what was judged about tables, each note once, where it does not get into a result."""
    for note in dict.fromkeys(notes):
        print(one_line(f"note: {note}"), file=sys.stderr)
