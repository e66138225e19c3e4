"""Declares a settings dataclass as ROS parameters and reads it back, checked."""

from __future__ import annotations

import difflib
from typing import Any, TypeVar

import numpy as np
from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor, SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter

from impact_aware.errors import InvalidInputError, UnknownNameError
from impact_aware.parameters import ParameterRow, parameter_rows

Settings = TypeVar("Settings")

_TYPES = {
    "bool": Parameter.Type.BOOL,
    "int": Parameter.Type.INTEGER,
    "float": Parameter.Type.DOUBLE,
    "str": Parameter.Type.STRING,
    "list[float]": Parameter.Type.DOUBLE_ARRAY,
    "list[str]": Parameter.Type.STRING_ARRAY,
}


def load_settings(node: Node, settings: type[Settings]) -> Settings:
    """Declare every field of `settings` on the node and return the instance that the given overrides make.

    Raises:
        InvalidInputError: A value has the wrong type or lies outside its range.
    """
    node.add_on_set_parameters_callback(_keep_clock)
    rows = parameter_rows(settings)
    given = _overrides(node, [row.name for row in rows])
    return settings(**{row.name: _declare(node, row, given.get(row.name)) for row in rows})


def _keep_clock(parameters: list[Parameter]) -> SetParametersResult:
    """Refuse another clock for a node that runs: every age and timeout would jump with it."""
    if not all(own.name for own in parameters):
        # rclpy takes it for declared.
        return SetParametersResult(successful=False, reason="a parameter has a name")
    if all(own.name != "use_sim_time" for own in parameters):
        return SetParametersResult(successful=True)
    return SetParametersResult(successful=False, reason="use_sim_time is chosen when the node is started")


def _overrides(node: Node, names: list[str]) -> dict[str, Parameter]:
    """Values of these parameters from a launch file or a command line, of any type.

    rclpy gives them only through a declared parameter, which rejects values of another type if it has one.
    """
    anything = ParameterDescriptor(dynamic_typing=True)
    found = node.declare_parameters("", [(name, None, anything) for name in names])
    for name in names:
        node.undeclare_parameter(name)
    return {own.name: own for own in found if own.type_ != Parameter.Type.NOT_SET}


def _declare(node: Node, row: ParameterRow, override: Parameter | None) -> Any:
    if override is not None and row.type == "float" and override.type_ == Parameter.Type.INTEGER:
        # `-p speed:=1` on a command line is an integer to ROS, here a number.
        override = Parameter(row.name, value=float(override.value))
    if override is not None and override.type_ != _TYPES[row.type] and np.size(override.value):
        raise InvalidInputError(f"parameter {row.name}", repr(override.value), f"a value of type {row.type}")
    if override is not None and row.type in ("int", "float"):
        low, high = (bound if own is None else own for own, bound in ((row.low, -np.inf), (row.high, np.inf)))
        if not low <= override.value <= high:
            raise InvalidInputError(f"parameter {row.name}", override.value, f"a value from {low:g} to {high:g}")
    descriptor = ParameterDescriptor(
        name=row.name, type=_TYPES[row.type].value, description=row.text, read_only=not row.tunable, **_ranges(row)
    )
    default = row.default
    if override is not None and (override.type_ == _TYPES[row.type] and np.size(override.value)):
        default = override.value
    if default == []:
        value = _declare_empty(node, descriptor)
    else:
        value = node.declare_parameter(row.name, default, descriptor, ignore_override=True).value
    if row.choices and value not in row.choices:
        raise UnknownNameError(f"parameter {row.name}", str(value), row.choices)
    return list(value) if row.type.startswith("list") else value


def _declare_empty(node: Node, descriptor: ParameterDescriptor) -> list[Any]:
    """Declare an empty list, which rclpy takes for one of bytes unless it is set as a parameter of a known type.

    Declared by its type alone it would have no value, and the service behind `ros2 param dump` would then return
    nothing for all parameters of the node (ros2cli#936).
    """
    kind = Parameter.Type(descriptor.type)
    open_to_changes = ParameterDescriptor(name=descriptor.name, type=descriptor.type)
    node.declare_parameter(descriptor.name, kind, open_to_changes, ignore_override=True)
    node.set_parameters([Parameter(descriptor.name, kind, [])])
    node.set_descriptor(descriptor.name, descriptor)
    return []


def unknown_parameters(node: Node) -> str:
    """Parameters of a file or a command line that the node does not have, each with the nearest name.

    Call this when the node has declared all of its own; empty when there are none.
    """
    # rclpy gives overrides only through declared parameters.
    given = getattr(node, "_parameter_overrides", {})
    declared = list(node.get_parameters_by_prefix(""))
    words = []
    for name in sorted(given):
        if not node.has_parameter(name) and not name.startswith("qos_overrides."):
            nearest = difflib.get_close_matches(name, declared, 1)
            words.append(f"{name} (is {nearest[0]} meant?)" if nearest else name)
    return ", ".join(words)


def _ranges(row: ParameterRow) -> dict[str, Any]:
    if row.low is None or row.high is None:
        return {}
    if row.type == "float":
        return {"floating_point_range": [FloatingPointRange(from_value=float(row.low), to_value=float(row.high))]}
    return {"integer_range": [IntegerRange(from_value=int(row.low), to_value=int(row.high), step=1)]}
