"""Tasks as files: read from `config/tasks/` or from a path, each entry checked and named where it can't be used."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pinocchio as pin
import yaml

from impact_aware.contact.hull import MOST_VERTICES, mesh_vertices
from impact_aware.errors import InvalidInputError, UnknownNameError
from impact_aware.parameters import from_mapping
from impact_aware.ranges import Range
from impact_aware.resources import read_named, resource_names
from impact_aware.robot import RobotModel
from impact_aware.task.result import WantedResult
from impact_aware.task.task import LONGEST_NAME, MOST_ARMS, MOST_ENTRIES, ArmTask, FieldParameters, Task, TaskObject
from impact_aware.task.task_object import SHAPE_ENTRIES

FURTHER = ("fields", "objects", "result")
"""Entries of a task's file that a `Task` message has no field for."""

Content = TypeVar("Content", bound="TaskObject | ArmTask | FieldParameters")


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
    changed = (changes or {}).get("object")
    if isinstance(changed, Mapping) and isinstance(content.get("object"), Mapping) and "shape" in changed:
        # Another shape has other sizes.
        content["object"] = {key: value for key, value in content["object"].items() if key not in _SIZES}
    return parse_task(_merged(content, changes or {}), path.parent)


def parse_task(content: Mapping[str, Any], folder: Path | None = None) -> Task:
    """Make a task from the content of a task file; one with a `result` needs no goal and no speed.

    Args:
        content: What the file holds.
        folder: From which the paths of meshes go; the present one when None.

    Raises:
        UnknownNameError: An entry that a task does not have.
        InvalidInputError: An entry that is missing or can't be used.
    """
    known = tuple(entry.name for entry in dataclasses.fields(Task))
    for key in content:
        if key not in known:
            raise UnknownNameError("task entry", str(key), known)
    planned = bool(content.get("result"))
    for key in ("name", "object", "arms") if planned else ("name", "goal", "object", "arms"):
        if key not in content:
            raise InvalidInputError(key, "nothing", f"an entry '{key}' in the task")
    arms = _entries("arms", content["arms"], MOST_ARMS)
    for index, entry in enumerate(arms):
        if isinstance(entry, Mapping) and {"base_yaw", "base_rpy"} <= entry.keys():
            expected = "one of base_yaw and base_rpy, not both"
            raise InvalidInputError(f"arms[{index}].base_yaw", entry["base_yaw"], expected)
    others = _entries("objects", content.get("objects", []), MOST_ENTRIES)
    thing = _parse_object(content["object"], "object", folder)
    return Task(
        name=_word("name", content["name"]),
        goal=_numbers("goal", content["goal"], 3) if "goal" in content else thing.position,
        object=thing,
        arms=tuple(_placed(_parse(ArmTask, entry, f"arms[{index}]")) for index, entry in enumerate(arms)),
        fields=_parse(FieldParameters, content.get("fields", {}), "fields"),
        frame=_word("frame", content.get("frame", "base")),
        objects=tuple(_parse_object(entry, f"objects[{index}]", folder) for index, entry in enumerate(others)),
        result=from_mapping(WantedResult, "result", content["result"]) if planned else None,
    )


def task_yaml(task: Task, entries: Sequence[str] = ()) -> str:
    """A task in the layout of its file, from which `parse_task` makes the same one.

    Args:
        task: The task.
        entries: Those wanted, where they differ from the defaults; all when empty.

    Returns:
        YAML, or nothing where all that is wanted is default.
    """
    content = _entries_of(task) | {
        "object": _object_entries(task.object),
        "arms": [_entries_of(arm) for arm in task.arms],
        "fields": _entries_of(task.fields),
        "objects": [_object_entries(other) for other in task.objects],
        "result": _entries_of(task.result, derived=False) if task.result else {},
    }
    if entries:
        content = {key: value for key, value in content.items() if key in entries and value}
    if not content:
        return ""
    return yaml.safe_dump(json.loads(json.dumps(content)), sort_keys=False, allow_unicode=True, width=120)


def _object_entries(thing: TaskObject) -> dict[str, Any]:
    """Return an object's entries without the sizes of other shapes."""
    return {key: value for key, value in _entries_of(thing).items() if key not in _SIZES or key in _sizes(thing.shape)}


def _entries_of(part: Any, *, derived: bool = True) -> dict[str, Any]:
    """What differs from the defaults; `derived` where fields with metadata are in no file."""
    return {
        entry.name: getattr(part, entry.name)
        for entry in dataclasses.fields(part)
        if not (derived and entry.metadata)
        and (entry.default is dataclasses.MISSING or getattr(part, entry.name) != entry.default)
    }


def _placed(arm: ArmTask) -> ArmTask:
    """The arm with its base where the URDF of its profile has it, if it is to stand there.

    Raises:
        InvalidInputError: It is given a place besides, or the profile can't be used.
    """
    if not arm.base_in_urdf:
        return arm
    if any((*arm.base_position, arm.base_yaw, *arm.base_rpy)):
        raise InvalidInputError("base_in_urdf", True, "no base_position, base_yaw or base_rpy beside it")
    pose = RobotModel.from_profile(arm.robot).base_in_urdf
    rpy = pin.rpy.matrixToRpy(pose.rotation).tolist()
    place = tuple(pose.translation.tolist())
    return dataclasses.replace(arm, base_in_urdf=False, base_position=place, base_rpy=tuple(rpy))


def _merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with `changes` laid over it, mapping by mapping."""
    result = dict(base)
    for key, value in changes.items():
        both = isinstance(value, Mapping) and isinstance(result.get(key), Mapping)
        result[key] = _merged(result[key], value) if both else value
    return result


def _entries(name: str, value: Any, most: int) -> list[Any]:
    if not isinstance(value, list) or len(value) > most:
        shown = f"{len(value)} entries" if isinstance(value, list) else repr(value)
        raise InvalidInputError(name, shown, f"a list of {most} entries at most")
    return value


def _word(name: str, value: Any) -> str:
    if not isinstance(value, str) or len(value) > LONGEST_NAME:
        raise InvalidInputError(name, repr(value), f"a name of {LONGEST_NAME} characters at most")
    return value


def _parse_object(content: Any, where: str, folder: Path | None) -> TaskObject:
    """An object whose sizes are those of its shape; a mesh is replaced by the corners of its hull."""
    if not isinstance(content, Mapping):
        return _parse(TaskObject, content, where)
    entries = dict(content)
    shape = entries.get("shape", TaskObject.shape)
    if isinstance(shape, str) and shape in SHAPE_ENTRIES:
        for key in entries:
            if key in _SIZES and key not in _sizes(shape):
                raise InvalidInputError(f"{where}.{key}", entries[key], f"no such entry beside the shape {shape}")
    if "mesh" in entries:
        if "vertices" in entries:
            raise InvalidInputError(f"{where}.mesh", entries["mesh"], "one of mesh and vertices, not both")
        path = Path(_word(f"{where}.mesh", entries.pop("mesh")))
        scale = _numbers(f"{where}.mesh_scale", [entries.pop("mesh_scale", 1.0)], 1)[0]
        Range(0.0, 1000.0, open_below=True).check(f"{where}.mesh_scale", scale)
        entries["vertices"] = mesh_vertices(path if folder is None else folder / path, scale).tolist()
    return _parse(TaskObject, entries, where)


def _sizes(shape: str) -> tuple[str, ...]:
    """Entries of a file that make a shape."""
    return (*SHAPE_ENTRIES[shape], "mesh", "mesh_scale") if shape == "hull" else SHAPE_ENTRIES[shape]


_SIZES = frozenset(entry for shape in SHAPE_ENTRIES for entry in _sizes(shape))


def _parse(kind: type[Content], content: Any, where: str) -> Content:
    """One of the dataclasses above from its mapping, each entry in the type of its default."""
    if not isinstance(content, Mapping):
        raise InvalidInputError(where, content, "a mapping of names to values")
    defaults = kind()
    known = tuple(entry.name for entry in dataclasses.fields(kind) if not entry.metadata)
    values: dict[str, Any] = {}
    for key, value in content.items():
        if key not in known:
            raise UnknownNameError(f"{where} entry", str(key), known)
        default, name = getattr(defaults, key), f"{where}.{key}"
        if isinstance(default, bool):
            if not isinstance(value, bool):
                raise InvalidInputError(name, repr(value), "true or false")
            values[key] = value
        elif isinstance(default, str):
            values[key] = _word(name, value)
        elif isinstance(default, float):
            values[key] = _numbers(name, [value], 1)[0]
        elif isinstance(default, int):
            if not isinstance(value, int) or isinstance(value, bool):
                raise InvalidInputError(name, value, "a whole number")
            Range(-1, MOST_ENTRIES - 1).check(name, value)
            values[key] = value
        elif key in ("starts", "vertices"):
            most = MOST_ENTRIES if key == "starts" else MOST_VERTICES
            values[key] = tuple(_numbers(name, entry, 3) for entry in _entries(name, value, most))
        else:
            count = len(_entries(name, value, MOST_ENTRIES)) if key == "posture" else 3
            values[key] = _numbers(name, value, count)
    return kind(**values)


def _numbers(name: str, value: Any, count: int) -> Any:
    # bool is an int to Python, and "12" would be the numbers 1 and 2.
    plain = isinstance(value, (list, tuple)) and all(type(entry) in (int, float) for entry in value)
    if not plain or len(value) != count or not all(abs(entry) <= sys.float_info.max for entry in value):
        raise InvalidInputError(name, value, f"{count} finite number{'s' if count > 1 else ''}")
    return tuple(float(entry) for entry in value)
