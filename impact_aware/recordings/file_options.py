"""What is known about one recording, in a small YAML file beside it: `trial.impact.yaml` for `trial.csv`.

    robot: panda                     # profile name, profile file or URDF; files beside this one
    columns: {time: t, q: joint_*_pos}
    time_unit: ms
    rate: 500                        # Hz, of a table without a column of times
    degrees: true
    impact_times: [1.234, 2.5]       # s, on the joints' clock
    contact: {frame: tool, offset: [0, 0, 0.05], normal: [0, 0, 1], friction: 0.3, restitution: 0.5, tool_radius: 0.03}
    object: {mass: 1.9, topic: /box/pose, frame: box}

Options of the command line take precedence over the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from impact_aware.contact.options import ContactOptions, ObjectOptions
from impact_aware.errors import InvalidInputError
from impact_aware.parameters import Options, described, from_mapping, shared
from impact_aware.ranges import Range
from impact_aware.recordings.options import AnalysisOptions
from impact_aware.resources import read_mapping
from impact_aware.tables.options import ColumnMap, TableOptions, column_map_of, completed, with_clock

ENDING = ".impact.yaml"

TIME = Range(-1e12, 1e12, "s")
MOST_TIMES = 10_000


@dataclass(frozen=True, kw_only=True)
class _Recording(Options):
    """Entries of the file."""

    robot: str | None = described(None, "profile name, profile file or URDF; files relative to this one")
    time_unit: str | None = shared(TableOptions, "time_unit", None)
    rate: float | None = shared(TableOptions, "rate", None)
    degrees: bool = shared(TableOptions, "degrees", False)
    impact_times: tuple[float, ...] = described((), "times of the impacts on the joints' clock", within=TIME)
    columns: dict | None = described(None, "columns of a table, as --columns has them")
    contact: dict | None = described(None, "entries of the contact")
    object: dict | None = described(None, "entries of the object")


@dataclass(frozen=True, kw_only=True)
class FileOptions(ContactOptions, ObjectOptions):
    """Entries of a file beside a recording; None or empty where it has none.

    Attributes:
        path: The file.
        robot: Profile name, profile file or URDF file.
        columns: Columns of a table, with the unit of its times, or the rate of its rows.
        degrees: Whether angles are in degrees.
        impact_times: Times of the impacts, s.
    """

    path: Path
    robot: str | None = None
    columns: ColumnMap | None = None
    degrees: bool = False
    impact_times: tuple[float, ...] = ()


def file_options(recording: Path) -> FileOptions | None:
    """Read the file beside a recording; None without such a file.

    Raises:
        InvalidInputError: An entry that is not known, of another kind or out of range.
    """
    # A path such as `.` has no name of its own.
    recording = recording.absolute()
    path = Path(f"{recording}{ENDING}")
    if not path.is_file():
        path = recording.parent / (recording.name.split(".")[0] + ENDING)
    if not path.is_file() or recording.name.endswith(ENDING):
        return None
    own = from_mapping(_Recording, path.name, read_mapping("options", path))
    contact = from_mapping(ContactOptions, f"{path.name}: contact", own.contact, "contact_")
    thing = from_mapping(ObjectOptions, f"{path.name}: object", own.object, "object_")
    if len(own.impact_times) > MOST_TIMES:
        count = f"{len(own.impact_times)} times"
        raise InvalidInputError(f"{path.name}: impact_times", count, f"a list of {MOST_TIMES} at most")
    chosen = None if own.columns is None else column_map_of({str(key): each for key, each in own.columns.items()})
    robot = own.robot
    if robot is not None and (path.parent / robot).is_file():
        robot = str(path.parent / robot)
    return FileOptions(
        path=path,
        robot=robot,
        columns=with_clock(chosen, own.time_unit, own.rate),
        degrees=own.degrees,
        impact_times=tuple(sorted(own.impact_times)),
        **vars(contact),
        **vars(thing),
    )


def common_option(name: str, files: Iterable[Path]) -> str | None:
    """Value of an option that the files beside several recordings have in common; None where none has it.

    Args:
        name: `robot` or `contact_frame`.
        files: The recordings.

    Raises:
        InvalidInputError: Two files have different values.
    """
    values: dict[str, Path] = {}
    for file in files:
        found = file_options(file)
        if found is not None and getattr(found, name) is not None:
            values.setdefault(getattr(found, name), found.path)
    if len(values) > 1:
        (one, first), (other, second), *_ = values.items()
        given = f"{one} in {first.name}, {other} in {second.name}"
        raise InvalidInputError(name.replace("_", " "), given, "the same for all recordings that are combined")
    return next(iter(values), None)


def completed_by(given: Mapping[str, Any], found: FileOptions | None) -> dict[str, Any]:
    """Options of the contact and the object, by field: those given, completed by the file beside a recording."""
    names = [field.name for kind in (ContactOptions, ObjectOptions) for field in fields(kind)]
    return {name: given[name] if given.get(name) is not None else getattr(found, name, None) for name in names}


def completed_table(
    given: TableOptions, times: Sequence[float] | None, found: FileOptions | None
) -> tuple[ColumnMap | None, bool, list[float]]:
    """Columns, whether angles are in degrees, and impact times: those given, completed by the file beside a table."""
    if found is None:
        return given.column_map(), given.degrees, list(times or ())
    columns = completed(given.column_map(), found.columns)
    return columns, given.degrees or found.degrees, list(times or found.impact_times)


def with_file_options(options: AnalysisOptions, found: FileOptions | None) -> AnalysisOptions:
    """Options of an analysis, completed by the file beside a recording.

    Raises:
        InvalidInputError: Both together make no sense.
    """
    if found is None:
        return options
    given = vars(options) | {"offset": options.offset if any(options.offset) else None}
    taken = completed_by(given, found)
    taken["offset"] = taken["offset"] or (0.0, 0.0, 0.0)
    if options.surface is not None or options.surface_frame is not None:
        taken["normal"] = options.normal
    taken["robot"] = options.robot if options.robot is not None else found.robot
    taken["columns"] = completed(options.columns, found.columns)
    taken["degrees"] = options.degrees or found.degrees
    return replace(options, **taken)
