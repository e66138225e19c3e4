"""Node parameters declared once: a frozen dataclass whose fields carry description and range, without ROS imports.

`impact_aware.nodes.ros.ros_parameters` declares them on a node; `parameter_rows` feeds the documentation page.
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable
from typing import Any, NamedTuple


def described(
    default: Any,
    text: str,
    low: float | None = None,
    high: float | None = None,
    *,
    choices: tuple[str, ...] = (),
    tunable: bool = False,
) -> Any:
    """A dataclass field with its description, the range or choices of its values, and whether a node may change it."""
    metadata = {"text": text, "low": low, "high": high, "choices": choices, "tunable": tunable}
    if isinstance(default, list):
        factory: Callable[[], list[Any]] = lambda: list(default)  # noqa: E731
        return dataclasses.field(default_factory=factory, metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


class ParameterRow(NamedTuple):
    """One declared parameter."""

    name: str
    type: str
    default: Any
    low: float | None
    high: float | None
    choices: tuple[str, ...]
    text: str
    tunable: bool = False


def parameter_rows(settings: type) -> list[ParameterRow]:
    """Every field of a settings dataclass, in order of declaration."""
    defaults = settings()
    types = typing.get_type_hints(settings)
    return [
        ParameterRow(
            name=field.name,
            type=types[field.name].__name__ if isinstance(types[field.name], type) else str(types[field.name]),
            default=getattr(defaults, field.name),
            low=field.metadata.get("low"),
            high=field.metadata.get("high"),
            choices=field.metadata.get("choices", ()),
            text=field.metadata.get("text", ""),
            tunable=field.metadata.get("tunable", False),
        )
        for field in dataclasses.fields(settings)
    ]
