"""What is known about one recording, in a small YAML file beside it: `trial.impact.yaml` for `trial.csv`.

    robot: panda                     # profile name, profile file or URDF; files beside this one
    columns: {time: t, q: joint_*_pos}
    time_unit: ms
    rate: 500                        # Hz, of a table without a column of times
    degrees: true
    impact_times: [1.234, 2.5]       # s, on the joints' clock
    contact: {frame: tool, offset: [0, 0, 0.05], normal: [0, 0, 1], friction: 0.3, restitution: 0.5, tool_radius: 0.03}
    object: {mass: 1.9, topic: /box/pose, frame: box}

Options of the command line go before what the file says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from impact_aware.contact.geometry import FRICTION, OBJECT_MASS, RADIUS, RESTITUTION, vector
from impact_aware.errors import InvalidInputError, UnknownNameError
from impact_aware.joint_columns import ColumnMap, column_map_of, completed, with_rate, with_time_unit
from impact_aware.ranges import Range
from impact_aware.recordings.options import AnalysisOptions
from impact_aware.resources import read_mapping
from impact_aware.time_columns import RATE

ENDING = ".impact.yaml"

OFFSET = Range(-2.0, 2.0, "m")
TIME = Range(-1e12, 1e12, "s")
MOST_TIMES = 10_000

_CONTACT = ("frame", "offset", "normal", "friction", "restitution", "tool_radius")
_OBJECT = ("mass", "topic", "frame")
_KNOWN = ("robot", "columns", "time_unit", "rate", "degrees", "impact_times", "contact", "object")


@dataclass(frozen=True)
class FileOptions:
    """What a file beside a recording says; None or empty where it is silent.

    Attributes:
        path: The file.
        robot: Profile name, profile file or URDF file.
        columns: Columns of a table, with the unit of its times, or the rate of its rows.
        degrees: Whether angles are in degrees.
        impact_times: When the impacts were, s.
        contact_frame: Robot frame that touches.
        offset: (3,) Contact in that frame, m.
        normal: (3,) From the obstacle into the robot, base frame.
        friction: Coulomb's coefficient.
        restitution: Coefficient of restitution.
        tool_radius: Radius of a spherical tip, m.
        object_mass: Of the free object that is hit, kg.
        object_topic: Of its poses.
        object_frame: Of TF.
    """

    path: Path
    robot: str | None = None
    columns: ColumnMap | None = None
    degrees: bool = False
    impact_times: tuple[float, ...] = ()
    contact_frame: str | None = None
    offset: tuple[float, float, float] | None = None
    normal: tuple[float, float, float] | None = None
    friction: float | None = None
    restitution: float | None = None
    tool_radius: float | None = None
    object_mass: float | None = None
    object_topic: str | None = None
    object_frame: str | None = None


def file_options(recording: Path) -> FileOptions | None:
    """What stands in the file beside a recording; None without such a file.

    Raises:
        InvalidInputError: An entry that is not known, of another kind or out of range.
    """
    path = recording.with_name(recording.name + ENDING)
    if not path.is_file():
        path = recording.with_name(recording.name.split(".")[0] + ENDING)
    if not path.is_file() or recording.name.endswith(ENDING):
        return None
    content = read_mapping("options", path)
    _check_keys(path.name, content, _KNOWN)
    contact, thing = _part(path, content, "contact", _CONTACT), _part(path, content, "object", _OBJECT)
    columns = content.get("columns")
    if columns is not None and not isinstance(columns, dict):
        raise InvalidInputError(f"{path.name}: columns", repr(columns), "a mapping such as {time: t, q: joint_*_pos}")
    chosen = None if columns is None else column_map_of({str(key): value for key, value in columns.items()})
    unit = _text(path, content, "time_unit")
    robot = _text(path, content, "robot")
    if robot is not None and (path.parent / robot).is_file():
        robot = str(path.parent / robot)
    degrees = content.get("degrees", False)
    if not isinstance(degrees, bool):
        raise InvalidInputError(f"{path.name}: degrees", repr(degrees), "true or false")
    return FileOptions(
        path=path,
        robot=robot,
        columns=with_rate(with_time_unit(chosen, unit), _number(path, content, "rate", RATE)),
        degrees=degrees,
        impact_times=_times(path, content.get("impact_times")),
        contact_frame=_text(path, contact, "frame"),
        offset=_three(path, contact, "offset", OFFSET),
        normal=_three(path, contact, "normal", None),
        friction=_number(path, contact, "friction", FRICTION),
        restitution=_number(path, contact, "restitution", RESTITUTION),
        tool_radius=_number(path, contact, "tool_radius", RADIUS),
        object_mass=_number(path, thing, "mass", OBJECT_MASS),
        object_topic=_text(path, thing, "topic"),
        object_frame=_text(path, thing, "frame"),
    )


def common_option(name: str, files: Iterable[Path]) -> str | None:
    """What the files beside several recordings say alike, where any of them says it.

    Args:
        name: `robot` or `contact_frame`.
        files: The recordings.

    Raises:
        InvalidInputError: Two say different things.
    """
    said: dict[str, Path] = {}
    for file in files:
        found = file_options(file)
        if found is not None and getattr(found, name) is not None:
            said.setdefault(getattr(found, name), found.path)
    if len(said) > 1:
        (one, first), (other, second), *_ = said.items()
        given = f"{one} in {first.name}, {other} in {second.name}"
        raise InvalidInputError(name.replace("_", " "), given, "the same for all recordings that are combined")
    return next(iter(said), None)


def with_file_options(options: AnalysisOptions, found: FileOptions | None) -> AnalysisOptions:
    """Options of an analysis, completed by what stands beside a recording.

    Raises:
        InvalidInputError: Both together make no sense.
    """
    if found is None:
        return options
    taken: dict[str, Any] = {}
    for name in (
        "robot", "contact_frame", "friction", "restitution", "tool_radius", "object_mass", "object_topic",
        "object_frame",
    ):  # fmt: skip
        if getattr(options, name) is None and getattr(found, name) is not None:
            taken[name] = getattr(found, name)
    if found.normal is not None and options.normal is options.surface is options.surface_frame is None:
        taken["normal"] = found.normal
    if found.offset is not None and not any(options.offset):
        taken["offset"] = found.offset
    taken["columns"] = completed(options.columns, found.columns)
    taken["degrees"] = options.degrees or found.degrees
    return replace(options, **taken)


def _part(path: Path, content: dict[str, Any], name: str, known: tuple[str, ...]) -> dict[str, Any]:
    part = content.get(name) or {}
    if not isinstance(part, dict):
        raise InvalidInputError(f"{path.name}: {name}", repr(part), "a mapping with " + ", ".join(known))
    _check_keys(f"{path.name}: {name}", part, known)
    return part


def _check_keys(where: str, content: dict[str, Any], known: tuple[str, ...]) -> None:
    for key in content:
        if key not in known:
            raise UnknownNameError(where, str(key), known)


def _text(path: Path, content: dict[str, Any], name: str) -> str | None:
    value = content.get(name)
    if value is not None and (not isinstance(value, str) or not value):
        raise InvalidInputError(f"{path.name}: {name}", repr(value), "a text")
    return value


def _number(path: Path, content: dict[str, Any], name: str, allowed: Range) -> float | None:
    value = content.get(name)
    if value is None:
        return None
    return _checked(path, name, value, allowed.check)


def _checked(path: Path, name: str, value: Any, check: Callable[[str, Any], None]) -> float:
    # bool is an int to Python, but `mass: yes` is a slip.
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InvalidInputError(f"{path.name}: {name}", repr(value), "a number")
    check(f"{path.name}: {name}", value)
    return float(value)


def _three(path: Path, content: dict[str, Any], name: str, allowed: Range | None) -> tuple[float, float, float] | None:
    value = content.get(name)
    if value is None:
        return None
    x, y, z = vector(f"{path.name}: {name}", value, 3).tolist()
    if allowed is not None:
        allowed.check(f"{path.name}: {name}", (x, y, z))
    elif not (x or y or z):
        raise InvalidInputError(f"{path.name}: {name}", value, "a vector that is not of zero length")
    return x, y, z


def _times(path: Path, value: Any) -> tuple[float, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or len(value) > MOST_TIMES:
        raise InvalidInputError(f"{path.name}: impact_times", repr(value), f"a list of {MOST_TIMES} times at most, s")
    return tuple(sorted(_checked(path, "impact_times", entry, TIME.check) for entry in value))
