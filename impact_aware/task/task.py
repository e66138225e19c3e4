"""What shall be done: the object, where and how fast it is hit, and where it shall end. Read from `config/tasks/`."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError, UnknownNameError
from impact_aware.reference.rotation import quaternion_from_rotation, rotation_from_rpy
from impact_aware.resources import read_named, resource_names

Vector = tuple[float, float, float]
Content = TypeVar("Content", bound="TaskObject | ArmTask | FieldParameters")

STANDARD_GRAVITY = 9.81


@dataclass(frozen=True)
class TaskObject:
    """The box that is hit: upright, its axes along those of the base frame.

    Attributes:
        name: What it is called.
        mass: kg.
        half_extents: (3,) m.
        position: (3,) Estimated centre, m.
        friction_table: Coulomb coefficient between the object and what it stands on.
        friction_tool: Coulomb coefficient between the object and a tool.
        restitution: Coefficient of restitution with a tool, 0..1.
    """

    name: str = "box"
    mass: float = 2.20
    half_extents: Vector = (0.1, 0.07, 0.08)
    position: Vector = (0.45, 0.0, 0.1)
    friction_table: float = 0.3
    friction_tool: float = 0.5
    restitution: float = 0.0

    def __post_init__(self) -> None:
        """Refuse a number that makes no object."""
        if not (np.isfinite(self.mass) and self.mass > 0.0):
            raise InvalidInputError("object.mass", self.mass, "a mass > 0 kg")
        if not (np.isfinite(self.half_extents).all() and min(self.half_extents) > 0.0):
            raise InvalidInputError("object.half_extents", list(self.half_extents), "three lengths > 0 m")
        if not np.isfinite(self.position).all():
            raise InvalidInputError("object.position", list(self.position), "three finite numbers")
        for name in ("friction_table", "friction_tool"):
            if not 0.0 <= getattr(self, name) < np.inf:
                raise InvalidInputError(f"object.{name}", getattr(self, name), "a coefficient >= 0")
        if not 0.0 <= self.restitution <= 1.0:
            raise InvalidInputError("object.restitution", self.restitution, "a coefficient 0..1")


@dataclass(frozen=True)
class ArmTask:
    """What one arm does.

    Attributes:
        name: Name of the arm, empty when there is only one.
        robot: Robot profile.
        base_position: (3,) Where its base stands in the task's base frame, m.
        base_yaw: Rotation of its base about the vertical, rad.
        impact_velocity: (3,) Desired tool velocity at the impact, m/s.
        impact_offset: (3,) Wanted contact position relative to the middle of the face that is hit, m.
        orientation_rpy: (3,) Desired tool orientation, roll, pitch, yaw about base axes, rad.
        null_space_joint: Index of the joint that the null-space task holds, -1 for none.
        null_space_position: Where it is held, rad.
        starts: Tool positions (3,) to start from, m; the first one is the usual one.
        posture: (n,) A posture near which the arm works, rad; the robot's home when empty.
        pad_half_sizes: (3,) Half edges of a flat palm about the tool frame, along its axes, m; zeros for the robot's
            own spherical tip. Along the axis that meets the object it is as thick as the tip's radius.
        load_share: Share of the object's weight that this tool carries after the impact.
        clamping_margin: Force with which the tool presses on the object after the impact, over the least with which
            friction carries its share of the weight.
        clamping_floor: Least such force, N: for objects so light that the arms' own errors weigh more.
    """

    name: str = ""
    robot: str = "panda"
    base_position: Vector = (0.0, 0.0, 0.0)
    base_yaw: float = 0.0
    impact_velocity: Vector = (0.0, -0.5, 0.0)
    impact_offset: Vector = (0.0, 0.0, 0.0)
    orientation_rpy: Vector = (np.pi, 0.0, 0.0)
    null_space_joint: int = 0
    null_space_position: float = 0.0
    starts: tuple[Vector, ...] = ((0.45, 0.35, 0.15),)
    posture: tuple[float, ...] = ()
    pad_half_sizes: Vector = (0.0, 0.0, 0.0)
    load_share: float = 0.0
    clamping_margin: float = 0.0
    clamping_floor: float = 0.0

    def __post_init__(self) -> None:
        """Refuse a number that makes no task."""
        label = f"arms[{self.name}]" if self.name else "arm"
        speed = float(np.linalg.norm(self.impact_velocity))
        if not (np.isfinite(speed) and speed > 0.0):
            raise InvalidInputError(f"{label}.impact_velocity", list(self.impact_velocity), "a speed > 0 m/s")
        if not self.starts:
            raise InvalidInputError(f"{label}.starts", 0, "at least one tool position")
        for name in ("clamping_margin", "clamping_floor", "load_share"):
            if not 0.0 <= getattr(self, name) < np.inf:
                raise InvalidInputError(f"{label}.{name}", getattr(self, name), "a value >= 0")

    @property
    def orientation(self) -> Array:
        """(4,) Desired tool orientation as quaternion x, y, z, w."""
        return quaternion_from_rotation(rotation_from_rpy(self.orientation_rpy))


@dataclass(frozen=True)
class FieldParameters:
    """Shape of the reference fields; the defaults are Table I of van Steen 2024.

    Attributes:
        alpha: Shaping of the approach, 1/s.
        ante_radius_min: m; 0 stands for the distance from the object's centre to its corners.
        ante_radius_ratio: ante_radius_max over ante_radius_min.
        ante_rotation_gain: kappa_r^a, 1/s.
        start_ramp: Time over which the speed grows at the start, s.
        post_gain: kappa_p^p, 1/s.
        post_radius_min: m.
        post_radius_max: m.
        post_rotation_gain: kappa_r^p, 1/s.
    """

    alpha: float = 5.0
    ante_radius_min: float = 0.0
    ante_radius_ratio: float = 2.0
    ante_rotation_gain: float = 30.0
    start_ramp: float = 0.5
    post_gain: float = 2.0
    post_radius_min: float = 0.1
    post_radius_max: float = 0.3
    post_rotation_gain: float = 30.0


@dataclass(frozen=True)
class Task:
    """A manipulation that begins with an intended impact.

    Attributes:
        name: Name of the task.
        goal: (3,) Where the object's centre shall end, m.
        object: The object.
        arms: One or two.
        fields: Shape of the reference fields.
        frame: Frame of all positions.
        objects: Other objects that the task is tried with, by name.
    """

    name: str
    goal: Vector
    object: TaskObject
    arms: tuple[ArmTask, ...]
    fields: FieldParameters = field(default_factory=FieldParameters)
    frame: str = "base"
    objects: tuple[TaskObject, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a task without arms and a goal that is not finite."""
        if not self.arms:
            raise InvalidInputError("arms", 0, "one arm or more")
        if not np.isfinite(self.goal).all():
            raise InvalidInputError("goal", list(self.goal), "three finite numbers")

    @property
    def table_height(self) -> float:
        """Height of what the object stands on, m."""
        return self.object.position[2] - self.object.half_extents[2]

    @property
    def lifts(self) -> bool:
        """Whether the tools carry the object after the impact, rather than push it."""
        return any(arm.load_share > 0.0 for arm in self.arms)

    def with_impact_speed(self, speed: float) -> Task:
        """The same task with every arm hitting at `speed`, m/s, in its own direction.

        Raises:
            InvalidInputError: A speed that is not a finite number > 0.
        """
        if not (np.isfinite(speed) and speed > 0.0):
            raise InvalidInputError("impact_speed", speed, "a speed > 0 m/s")
        arms = []
        for arm in self.arms:
            scaled = np.array(arm.impact_velocity) * (speed / np.linalg.norm(arm.impact_velocity))
            arms.append(dataclasses.replace(arm, impact_velocity=tuple(scaled.tolist())))
        return dataclasses.replace(self, arms=tuple(arms))

    def with_object(self, name: str) -> Task:
        """The same task with another of its objects, which stands on the same table and goes as far.

        Raises:
            UnknownNameError: No such object.
        """
        known = {entry.name: entry for entry in (self.object, *self.objects)}
        if name not in known:
            raise UnknownNameError("object", name, tuple(known))
        chosen = known[name]
        goal = tuple(np.add(self.goal, np.subtract(chosen.position, self.object.position)).tolist())
        others = tuple(entry for key, entry in known.items() if key != name)
        return dataclasses.replace(self, object=chosen, goal=goal, objects=others)


def task_names() -> tuple[str, ...]:
    """Names of the tasks that come with the package."""
    return resource_names("tasks")


def load_task(name_or_path: str | Path, changes: Mapping[str, Any] | None = None) -> Task:
    """Read a task by its name or from a YAML file.

    Args:
        name_or_path: Such as `hit_and_push`.
        changes: Entries of the same layout that replace those of the file, such as `{"object": {"mass": 1.3}}`.

    Raises:
        UnknownNameError: No such task, or an entry that a task does not have.
        InvalidInputError: An entry with a value that can't be used.
    """
    content, path = read_named("task", "tasks", name_or_path)
    content.setdefault("name", path.stem)
    return parse_task(_merged(content, changes or {}))


def parse_task(content: Mapping[str, Any]) -> Task:
    """Make a task from the content of a task file.

    Raises:
        UnknownNameError: An entry that a task does not have.
        InvalidInputError: An entry that is missing or can't be used.
    """
    known = tuple(entry.name for entry in dataclasses.fields(Task))
    for key in content:
        if key not in known:
            raise UnknownNameError("task entry", key, known)
    for key in ("name", "goal", "object", "arms"):
        if key not in content:
            raise InvalidInputError(key, "nothing", f"an entry '{key}' in the task")
    if not isinstance(content["arms"], list):
        raise InvalidInputError("arms", content["arms"], "a list of arms")
    return Task(
        name=str(content["name"]),
        goal=_numbers("goal", content["goal"], 3),
        object=_parse(TaskObject, content["object"], "object"),
        arms=tuple(_parse(ArmTask, entry, f"arms[{index}]") for index, entry in enumerate(content["arms"])),
        fields=_parse(FieldParameters, content.get("fields", {}), "fields"),
        frame=str(content.get("frame", "base")),
        objects=tuple(_parse(TaskObject, entry, "objects") for entry in content.get("objects", ())),
    )


def _merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with `changes` laid over it, mapping by mapping."""
    result = dict(base)
    for key, value in changes.items():
        both = isinstance(value, Mapping) and isinstance(result.get(key), Mapping)
        result[key] = _merged(result[key], value) if both else value
    return result


def _parse(kind: type[Content], content: Any, where: str) -> Content:
    """One of the dataclasses above from its mapping, each entry in the type of its default."""
    if not isinstance(content, Mapping):
        raise InvalidInputError(where, content, "a mapping of names to values")
    defaults = kind()
    values: dict[str, Any] = {}
    for key, value in content.items():
        if key not in kind.__dataclass_fields__:
            raise UnknownNameError(f"{where} entry", key, tuple(kind.__dataclass_fields__))
        default, name = getattr(defaults, key), f"{where}.{key}"
        if isinstance(default, str):
            values[key] = str(value)
        elif isinstance(default, float):
            values[key] = _numbers(name, [value], 1)[0]
        elif isinstance(default, int):
            if not isinstance(value, int) or isinstance(value, bool):
                raise InvalidInputError(name, value, "a whole number")
            values[key] = value
        elif key == "starts":
            if not isinstance(value, list):
                raise InvalidInputError(name, value, "a list of positions")
            values[key] = tuple(_numbers(name, entry, 3) for entry in value)
        else:
            values[key] = _numbers(name, value, len(value) if key == "posture" and isinstance(value, list) else 3)
    return kind(**values)


def _numbers(name: str, value: Any, count: int) -> Any:
    try:
        numbers = tuple(float(entry) for entry in value)
    except (TypeError, ValueError):
        raise InvalidInputError(name, value, f"{count} number{'s' if count > 1 else ''}") from None
    if len(numbers) != count or not np.isfinite(numbers).all():
        raise InvalidInputError(name, list(numbers), f"{count} finite number{'s' if count > 1 else ''}")
    return numbers
