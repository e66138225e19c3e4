"""Options declared once: dataclass fields that carry description, unit and range.

A field makes the parameter of a node (`impact_aware.ros.ros_parameters`), the flag of a command
(`impact_aware.cli.options`), the key of a YAML file (`from_mapping`) and the row of docs/parameters.md.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from impact_aware.errors import InvalidInputError, UnknownNameError
from impact_aware.ranges import Range

Settings = TypeVar("Settings")


def described(
    default: Any,
    text: str,
    low: float | None = None,
    high: float | None = None,
    *,
    within: Range | None = None,
    choices: tuple[str, ...] = (),
    tunable: bool = False,
    absent: str = "",
    metavar: str = "",
    flag: str = "",
    positional: bool = False,
    repeated: bool = False,
) -> Any:
    """A dataclass field that is an option.

    Args:
        default: Value when nothing is given.
        text: What the option is, without its range.
        low: Least value of a number.
        high: Largest value of a number.
        within: Range of a number or of each entry of a vector, in place of `low` and `high`.
        choices: The values of a text.
        tunable: Whether a running node may change it.
        absent: Meaning of a default that is None, for `--help` and the docs.
        metavar: Placeholder of the value in `--help`.
        flag: Name of the flag where it is not that of the field.
        positional: Whether the command takes it without a flag.
        repeated: Whether the flag may be given several times, with one value each.
    """
    if within is not None:
        low, high = within.low, within.high
    metadata = {
        "text": text, "low": low, "high": high, "choices": choices, "tunable": tunable, "within": within,
        "absent": absent, "metavar": metavar, "flag": flag, "positional": positional,
        "repeated": repeated,
    }  # fmt: skip
    if isinstance(default, list):
        factory: Callable[[], list[Any]] = lambda: list(default)  # noqa: E731
        return dataclasses.field(default_factory=factory, metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def shared(settings: type, name: str, default: Any, **changes: Any) -> Any:
    """A field with the declaration that another class has under this name, and a default of its own."""
    (found,) = (field for field in dataclasses.fields(settings) if field.name == name)
    return dataclasses.field(default=default, metadata={**found.metadata, **changes})


class ParameterRow(NamedTuple):
    """One declared option."""

    name: str
    type: str
    default: Any
    low: float | None
    high: float | None
    choices: tuple[str, ...]
    text: str
    tunable: bool = False


def field_types(settings: type) -> dict[str, Any]:
    """Map each field of a settings class to its type; that of `float | None` is `float`."""
    found = typing.get_type_hints(settings)
    for name, kind in found.items():
        if isinstance(kind, types.UnionType) and type(None) in typing.get_args(kind):
            (found[name],) = (part for part in typing.get_args(kind) if part is not type(None))
    return found


def parameter_rows(settings: type) -> list[ParameterRow]:
    """Every field of a settings dataclass, in order of declaration."""
    defaults = settings()
    kinds = field_types(settings)
    return [
        ParameterRow(
            name=field.name,
            type=kinds[field.name].__name__ if isinstance(kinds[field.name], type) else str(kinds[field.name]),
            default=getattr(defaults, field.name),
            low=field.metadata.get("low"),
            high=field.metadata.get("high"),
            choices=field.metadata.get("choices", ()),
            text=field.metadata.get("text", ""),
            tunable=field.metadata.get("tunable", False),
        )
        for field in dataclasses.fields(settings)
    ]


class Options:
    """Base of settings classes whose values are checked where they are made."""

    def __post_init__(self) -> None:
        """Refuse values outside their ranges and choices; None is a value that is not given, and passes.

        Raises:
            InvalidInputError: Naming the field.
            UnknownNameError: A value that is none of the choices.
        """
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if value is None or not field.metadata:
                continue
            if field.metadata["within"] is not None:
                field.metadata["within"].check(field.name, value)
            for name in value if isinstance(value, tuple) else (value,):
                if field.metadata["choices"] and name not in field.metadata["choices"]:
                    raise UnknownNameError(field.name, str(name), field.metadata["choices"])


def from_mapping(settings: type[Settings], where: str, content: Any, prefix: str = "") -> Settings:
    """Settings that a mapping of a YAML file holds.

    Args:
        settings: Class of `described` fields; the field of a key is the key, or `prefix` and the key.
        where: What stands before a key in messages.
        content: What the file has: a mapping, or None.
        prefix: Beginning of the fields' names that the keys leave out.

    Raises:
        InvalidInputError: No mapping, or a value of another type or outside its range.
        UnknownNameError: A key that is no field.
    """
    kinds = field_types(settings)
    names = {name.removeprefix(prefix): name for name in kinds}
    if content is not None and not isinstance(content, Mapping):
        raise InvalidInputError(where, repr(content), "a mapping with " + ", ".join(names))
    values = {}
    for key, value in (content or {}).items():
        if key not in names:
            raise UnknownNameError(where, str(key), tuple(names))
        if value is not None:
            values[names[key]] = _plain_value(f"{where}: {key}", value, kinds[names[key]])
    try:
        return settings(**values)
    except InvalidInputError as error:
        raise InvalidInputError(f"{where}: {error.field.removeprefix(prefix)}", error.value, error.expected) from error


def _plain_value(where: str, value: Any, kind: Any) -> Any:
    """The value of a YAML key in the type of its field."""
    # bool is an int to Python, but `mass: yes` is a slip.
    if kind is bool:
        accepted, expected = isinstance(value, bool), "true or false"
    elif kind is float:
        accepted, expected = isinstance(value, int | float) and not isinstance(value, bool), "a number"
    elif kind is str:
        accepted, expected = isinstance(value, str) and bool(value), "a text"
    elif kind is dict:
        accepted, expected = isinstance(value, dict), "a mapping"
    else:
        count = 0 if Ellipsis in typing.get_args(kind) else len(typing.get_args(kind))
        accepted = isinstance(value, list) and len(value) == (count or len(value))
        expected = f"{count} numbers" if count else "a list of numbers"
        if accepted:
            return tuple(_plain_value(where, entry, float) for entry in value)
    if not accepted:
        raise InvalidInputError(where, repr(value), expected)
    return float(value) if kind is float else value
