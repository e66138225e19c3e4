"""Flags of the commands, made from declared options (`impact_aware.parameters`); every mistake is one line.

Numbers are ASCII, finite and in range. The message names the flag, the value and what was expected.
"""

from __future__ import annotations

import argparse
import dataclasses
import difflib
import math
import re
import typing
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NoReturn

from impact_aware.errors import ImpactAwareError, InvalidInputError, one_line
from impact_aware.parameters import field_types
from impact_aware.ranges import Range, read_number

LARGEST = 1e12
"""Magnitude of any number; stamps, s since 1970, have 1.8e9."""

MOST = 2**31 - 1
"""Largest count, or seed of a random generator."""


def _number(kind: type, given: Range) -> tuple[Callable[[str], Any], str]:
    """Return the `type` of an argument that is a number of this kind within a range, and that range in words."""
    allowed = given._replace(low=max(given.low, -LARGEST), high=min(given.high, LARGEST))
    span = f"{'above ' if allowed.open_below else ''}{allowed.low:g} to {allowed.high:g}"
    expected = f"a {'whole ' if kind is int else ''}number, {span} {allowed.unit}".rstrip()

    def read(word: str) -> Any:
        try:
            read_number(word)
            value = kind(word)
        except (ValueError, OverflowError):
            value = math.nan
        if not allowed.low <= value <= allowed.high or (allowed.open_below and value == allowed.low):
            raise argparse.ArgumentTypeError(f"got {word[:80]!r}, expected {expected}")
        return value

    return read, span


def _path(word: str) -> Path:
    """Return the path, with the name of the current folder where a word such as `.` has none."""
    if not word:
        raise argparse.ArgumentTypeError("got '', expected a path")
    return Path(word) if Path(word).name else Path(word).absolute()


def _name(known: tuple[str, ...]) -> Callable[[str], str]:
    """Return the `type` of an argument that is one of these names."""

    def read(word: str) -> str:
        if word not in known:
            expected = f"one of {', '.join(known)}{_nearest(word, known)}"
            raise argparse.ArgumentTypeError(f"got {word[:80]!r}, expected {expected}")
        return word

    return read


def _nearest(word: str, known: Iterable[str]) -> str:
    """Suggestion of a known name for one that is not; empty where none is near."""
    return "".join(f"; {name} is the nearest" for name in difflib.get_close_matches(word, list(known), 1))


class NumberParser(argparse.ArgumentParser):
    """A parser whose arguments of type `float`, `int` and `Path` are checked; a bad value is one line."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        """Take what `ArgumentParser` takes."""
        super().__init__(*args, **settings)
        self.register("type", float, _number(float, Range(-LARGEST, LARGEST))[0])
        self.register("type", int, _number(int, Range(0, MOST))[0])
        self.register("type", Path, _path)
        # argparse takes -1e-3, -inf and -nan for flags.
        self._negative_number_matcher = re.compile(r"^-(\d|\.\d|inf|nan)", re.IGNORECASE)

    def error(self, message: str) -> NoReturn:
        """Raise what an argument's value is refused with, which the command prints; end with the usage otherwise."""
        if re.match(r"argument \S", message) and "invalid choice" not in message:
            raise ImpactAwareError(message.removeprefix("argument "))
        wrong, *known = re.findall(r"'([^']*)'", message) if "invalid choice" in message else [""]
        super().error(one_line(message + _nearest(wrong, known)))


def add_common(parser: argparse.ArgumentParser, *, default: bool = True) -> None:
    """Declare `--json` and `--out`; without `default` for a part of a command that has them already."""
    kept: dict[str, Any] = {} if default else {"default": argparse.SUPPRESS}
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else", **kept)
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder for results", **kept)


def add_options(
    parser: argparse._ActionsContainer, settings: type, *names: str, absent: Mapping[str, str] | None = None
) -> None:
    """Declare the fields of a settings class as flags.

    Args:
        parser: Parser, or group of it.
        settings: Dataclass of `described` fields.
        *names: Fields to declare; all when there are none.
        absent: Meaning of fields that are not given, where this command has one of its own.
    """
    kinds = field_types(settings)
    for field in dataclasses.fields(settings):
        if field.metadata.get("text") and (not names or field.name in names):
            kind = kinds[field.name]
            flags, how = _argument(field, kind, (absent or {}).get(field.name, field.metadata["absent"]))
            parser.add_argument(*flags, **how)


def chosen(args: argparse.Namespace, settings: type) -> dict[str, Any]:
    """Values of the declared fields of a settings class that the command line has, by field."""
    names = [field.name for field in dataclasses.fields(settings) if field.metadata.get("text") and field.name in args]
    values = ((name, getattr(args, name)) for name in names)
    return {name: tuple(value) if isinstance(value, list) else value for name, value in values}


def refuse_given(args: argparse.Namespace, names: Iterable[str], expected: str) -> None:
    """Refuse options that would have no effect; `expected` describes when they have one.

    Raises:
        InvalidInputError: With the first such option.
    """
    for name in names:
        value = getattr(args, name, None)
        if value not in (None, False, (), []):
            raise InvalidInputError(f"--{name.replace('_', '-')}", "given" if value is True else value, expected)


def _argument(field: dataclasses.Field[Any], kind: Any, absent: str) -> tuple[list[str], dict[str, Any]]:
    """Names and settings of the argument that a field is."""
    about, default = field.metadata, field.default
    flag = about["flag"] or "--" + field.name.replace("_", "-")
    if kind is bool:
        how = {"dest": field.name, "action": "store_false" if default else "store_true", "help": about["text"]}
        return [flag.replace("--", "--no-") if default else flag], how
    parts = typing.get_args(kind) or (kind,)
    read, unit, span = _reader(parts[0], about)
    names = "|".join(about["choices"]) or (unit or {Path: "FILE", str: "NAME"}.get(parts[0], "N")).upper()
    how = {"default": default, "type": read, "metavar": about["metavar"] or names}
    if about["repeated"]:
        how |= {"action": "append", "default": []}
    elif Ellipsis in parts:
        how |= {"nargs": "*" if about["positional"] and default == () else "+"}
    elif len(parts) > 1:
        how |= {"nargs": len(parts), "metavar": about["metavar"] or ("X", "Y", "Z")[: len(parts)]}
    shown = absent or ("" if default in (None, "", (), ...) else _shown(default))
    text = [about["text"] + (f", {unit}" if unit else ""), span, f"default: {shown}" if shown else ""]
    how["help"] = "; ".join(filter(None, text)).replace("%", "%%")
    if not about["positional"]:
        return [flag], how | {"dest": field.name}
    if default is ... or "nargs" in how:
        del how["default"]
    return [field.name], how


def _reader(kind: Any, about: Mapping[str, Any]) -> tuple[Callable[[str], Any], str, str]:
    """Return what reads one value, its unit, and its range in words."""
    if about["choices"]:
        return _name(about["choices"]), "", ""
    if kind not in (float, int):
        return kind, "", ""
    low, high = (bound if about[end] is None else about[end] for end, bound in (("low", -LARGEST), ("high", LARGEST)))
    given = about["within"] or Range(low, high)
    read, span = _number(kind, given)
    return read, given.unit, "" if span == f"{-LARGEST:g} to {LARGEST:g}" else span


def _shown(default: Any) -> str:
    return " ".join(f"{value:g}" for value in default) if isinstance(default, tuple) else str(default)
