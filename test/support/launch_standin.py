"""The part of `launch` and `launch_ros` that our launch files use, for machines without an installed ROS 2.

Entities are executed as the real ones are, but nothing is started: `Node` and `ExecuteProcess` only keep what they
would start. Where the real packages refuse or convert something, so do these: a text in `parameters` becomes what YAML
reads in it, a choice outside `choices` is a RuntimeError, an argument of an unknown name a TypeError.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from types import ModuleType
from typing import Any

import yaml


class LaunchContext:
    """What is known while entities are executed."""

    def __init__(self, *, argv: Iterable[str] | None = None, noninteractive: bool = False) -> None:
        self.launch_configurations: dict[str, str] = {}


class LaunchDescriptionEntity:
    """Anything that a launch description may have in it."""

    def visit(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        raise NotImplementedError


class LaunchDescription(LaunchDescriptionEntity):
    """Entities in their order."""

    def __init__(self, initial_entities: Iterable[LaunchDescriptionEntity] | None = None) -> None:
        self.entities = list(initial_entities or ())
        for entity in self.entities:
            if not isinstance(entity, LaunchDescriptionEntity):
                raise TypeError(f"not an entity: {entity!r}")

    def visit(self, context: LaunchContext) -> list[LaunchDescriptionEntity]:
        return self.entities


class SubstitutionFailure(RuntimeError):  # noqa: N818 - launch's name
    """A configuration that does not exist."""


class Substitution:
    """Text that is known when it is needed."""

    def perform(self, context: LaunchContext) -> str:
        raise NotImplementedError


class LaunchConfiguration(Substitution):
    """The value of an argument."""

    def __init__(self, variable_name: str, *, default: str | None = None) -> None:
        self._name, self._default = variable_name, default

    def perform(self, context: LaunchContext) -> str:
        value = context.launch_configurations.get(self._name, self._default)
        if value is None:
            raise SubstitutionFailure(f"launch configuration '{self._name}' does not exist")
        return value


def perform_substitutions(context: LaunchContext, parts: Any) -> str:
    """Text, a substitution or a list of them as text."""
    parts = [parts] if isinstance(parts, (str, Substitution)) else list(parts)
    for part in parts:
        if not isinstance(part, (str, Substitution)):
            raise TypeError(f"neither text nor a substitution: {part!r}")
    return "".join(part if isinstance(part, str) else part.perform(context) for part in parts)


class Action(LaunchDescriptionEntity):
    """An entity that does something."""

    def __init__(self, *, condition: Any = None) -> None:
        self.condition = condition

    def visit(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        return self.execute(context) if self.condition is None or self.condition.evaluate(context) else None

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        return None


class DeclareLaunchArgument(Action):
    """An argument on the command line."""

    def __init__(
        self,
        name: str,
        *,
        default_value: str | None = None,
        description: str | None = None,
        choices: Sequence[str] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(**more)
        if choices is not None and default_value is not None and default_value not in choices:
            raise ValueError(f"the default {default_value!r} of {name} is not among its choices")
        if default_value is not None and not isinstance(default_value, (str, Substitution)):
            raise TypeError(f"the default of {name} is no text")
        self.name, self.default_value, self.description, self.choices = name, default_value, description, choices

    def execute(self, context: LaunchContext) -> None:
        if self.name not in context.launch_configurations:
            if self.default_value is None:
                raise RuntimeError(f"Required launch argument '{self.name}' was not provided.")
            value = perform_substitutions(context, self.default_value)
            context.launch_configurations[self.name] = value
        value = context.launch_configurations[self.name]
        if self.choices is not None and value not in self.choices:
            raise RuntimeError(f"argument '{self.name}': {value!r} is not among {list(self.choices)}")


class OpaqueFunction(Action):
    """A function of the context that gives entities."""

    def __init__(
        self, *, function: Callable[..., Any], args: Sequence[Any] = (), kwargs: Any = None, **more: Any
    ) -> None:
        super().__init__(**more)
        self._function, self._args, self._kwargs = function, args, kwargs or {}

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        found: list[LaunchDescriptionEntity] | None = self._function(context, *self._args, **self._kwargs)
        return found


class ExecuteProcess(Action):
    """A command."""

    def __init__(
        self,
        *,
        cmd: Iterable[Any],
        name: str | None = None,
        output: str = "log",
        emulate_tty: bool = False,
        **more: Any,
    ) -> None:
        super().__init__(**more)
        self.cmd = [part if isinstance(part, (list, tuple)) else [part] for part in cmd]
        self.name, self.output = name, output


class Node(ExecuteProcess):
    """A node of ROS, as `launch_ros.actions.Node` starts it."""

    def __init__(
        self,
        *,
        executable: Any,
        package: Any = None,
        name: Any = None,
        namespace: Any = None,
        parameters: Iterable[Any] | None = None,
        remappings: Iterable[tuple[Any, Any]] | None = None,
        arguments: Iterable[Any] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(cmd=[executable, *(arguments or ())], **more)
        self.node_package, self.node_executable = package, executable
        self.standin = {
            "name": name,
            "namespace": namespace or "",
            "parameters": list(parameters or ()),
            "remappings": list(remappings or ()),
            "arguments": list(arguments or ()),
        }


class ParameterValue:
    """A parameter's value with its type."""

    def __init__(self, value: Any, *, value_type: Any = None) -> None:
        self.value, self.value_type = value, value_type

    def evaluate(self, context: LaunchContext) -> Any:
        """The value as ROS gets it."""
        if isinstance(self.value, (str, Substitution)):
            text = perform_substitutions(context, self.value)
            return text if self.value_type is str else parsed(text)
        return self.value


class TimerAction(Action):
    """Actions after a time."""

    def __init__(self, *, period: float, actions: Iterable[LaunchDescriptionEntity], **more: Any) -> None:
        super().__init__(**more)
        self.period, self.actions = period, list(actions)


class Shutdown(Action):
    """The end of everything."""

    def __init__(self, *, reason: str = "reason not given", **more: Any) -> None:
        super().__init__(**more)
        self.reason = reason


class OnProcessExit:
    """What is done when a process has ended."""

    def __init__(self, *, target_action: Action | None = None, on_exit: Any) -> None:
        self.target_action, self.on_exit = target_action, on_exit


class RegisterEventHandler(Action):
    """From now on an event is handled."""

    def __init__(self, event_handler: Any, **more: Any) -> None:
        super().__init__(**more)
        self.event_handler = event_handler


def parsed(text: str) -> Any:
    """What `launch_ros` makes of a text that says no type: YAML reads it, and a mapping stays text."""
    found = yaml.safe_load(text)
    return text if isinstance(found, dict) or found is None else found


CONTENT: dict[str, tuple[Any, ...]] = {
    "launch": (LaunchContext, LaunchDescription, LaunchDescriptionEntity, Substitution),
    "launch.actions": (
        DeclareLaunchArgument,
        ExecuteProcess,
        OpaqueFunction,
        RegisterEventHandler,
        Shutdown,
        TimerAction,
    ),
    "launch.substitutions": (LaunchConfiguration,),
    "launch.event_handlers": (OnProcessExit,),
    "launch.utilities": (perform_substitutions,),
    "launch_ros": (),
    "launch_ros.actions": (Node,),
    "launch_ros.parameter_descriptions": (ParameterValue,),
}


def install(modules: dict[str, ModuleType] = sys.modules) -> None:
    """Stand in for both packages among the imported modules."""
    for name, content in CONTENT.items():
        module = ModuleType(name, "test/support/launch_standin.py")
        for thing in content:
            setattr(module, thing.__name__, thing)
        if "." not in name:
            module.__path__ = []  # type: ignore[attr-defined]
        modules[name] = module
