"""What can be chosen about an analysis of recordings: one frozen dataclass, checked where it is made."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from impact_aware.contact.options import ContactOptions, ObjectOptions, Vector
from impact_aware.detection.registry import DETECTORS
from impact_aware.errors import InvalidInputError, UnknownNameError, one_reason
from impact_aware.estimation.registry import BOTH_SIDES, OFFLINE_ESTIMATORS
from impact_aware.impact.registry import DEFAULT_METHOD, IMPACT_MAPS
from impact_aware.parameters import described, shared
from impact_aware.resources import read_mapping, read_text
from impact_aware.robot import INERTIA_CHOICES
from impact_aware.tables.options import ColumnMap, TableOptions

DEFAULT_DETECTOR = "adaptive_window"

DEFAULT_ESTIMATOR = BOTH_SIDES

ALL = "all"

_BAGS_ONLY = ("topics", "surface_frame", "command_topic", "object_topic", "object_frame")
_ONE_POINT = ("contact_frame", "offset", "tool_radius", "normal", "surface", "surface_frame", "method")
_CONTACT = (*_ONE_POINT, "friction", "restitution", "object_mass", "inertia")
_FLAGS = {"topics": "--topic", "columns": "--columns, --rate or --time-unit"}
"""Flags whose names are not those of their options."""


@dataclass(frozen=True, kw_only=True)
class AnalysisOptions(ContactOptions, ObjectOptions):
    """Options of an analysis; what is None is taken from the recording, or has the default of its description.

    Attributes:
        columns: Columns of tables.
        labels: Recording name -> label, by which the ablation is grouped.
    """

    robot: str | None = described(
        None, "profile name, profile file or URDF", absent="the recording's robot_description", metavar="NAME_OR_FILE"
    )
    topics: tuple[str, ...] = described(
        (), "joint-state topic, several times", absent="all", flag="--topic", metavar="TOPIC", repeated=True
    )
    columns: ColumnMap | None = None
    degrees: bool = shared(TableOptions, "degrees", False)
    command_topic: str | None = described(
        None, "topic of the commands to the joints", absent="the one that ends in commands", metavar="TOPIC"
    )
    labels: dict[str, str] | None = None
    detector: str = described(DEFAULT_DETECTOR, f"{', '.join(DETECTORS)}, several with commas, or {ALL}")
    tuning: Path | None = described(None, "what tune-detector wrote for that detector")
    estimator: str = described(
        DEFAULT_ESTIMATOR, "estimator of the velocity after the impact", choices=tuple(OFFLINE_ESTIMATORS)
    )
    offset: Vector = shared(ContactOptions, "offset", (0.0, 0.0, 0.0))
    normal: Vector | None = shared(
        ContactOptions, "normal", None, absent="that of predicted_jumps, else estimated from the jump"
    )
    surface: Path | None = described(None, "YAML of a plane: normal, friction, restitution")
    surface_frame: str | None = described(None, "TF frame whose z axis is the normal", metavar="FRAME")
    task: str | None = described(
        None,
        "task of a palm, or of several arms that hit at once, by name or file",
        metavar="NAME_OR_FILE",
        absent="the recorded one",
    )
    method: str = described(DEFAULT_METHOD, "impact map", choices=tuple(IMPACT_MAPS))
    inertia: str = described("M+B_theta", "inertia in the impact map", choices=INERTIA_CHOICES)
    ablation: bool = described(True, "leave out predictions with the other inertias and without friction")

    def __post_init__(self) -> None:
        """Refuse what makes no sense.

        Raises:
            InvalidInputError: A number out of range.
            UnknownNameError: A name that is not known.
        """
        super().__post_init__()
        for name in self.detectors:
            if name not in DETECTORS:
                raise UnknownNameError("detector", name, (ALL, *DETECTORS))
        given = [name for name in ("normal", "surface", "surface_frame") if getattr(self, name) is not None]
        if len(given) > 1:
            raise InvalidInputError("normal", " and ".join(given), "one of normal, surface and surface_frame")
        if self.method == "frictionless" and self.friction is not None:
            raise InvalidInputError("friction", f"{self.friction:g}", "another method than frictionless")
        if self.tuning is not None and len(self.detectors) > 1:
            raise InvalidInputError("tuning", str(self.tuning), "one detector, as a tuning is for one")

    @property
    def detectors(self) -> tuple[str, ...]:
        """The chosen detectors, the preferred one first."""
        if self.detector == ALL:
            return (DEFAULT_DETECTOR, *(name for name in DETECTORS if name != DEFAULT_DETECTOR))
        return tuple(dict.fromkeys(name.strip() for name in self.detector.split(",")))

    def check_effect(self, files: Sequence[Path], tables: Collection[str]) -> None:
        """Refuse options that files of these kinds have no use for.

        Args:
            files: The recordings.
            tables: Endings of names of tables.

        Raises:
            InvalidInputError: With the first such option.
        """
        kinds = {file.suffix.lower() in tables for file in files}
        bags = "a bag; --columns object_position=... command=... names the columns of a table"
        for name in _BAGS_ONLY if kinds == {True} else ():
            self._refuse(name, bags)
        if kinds == {False}:
            self._refuse("columns", "a table: a bag has names and stamps of its own")
        for name in _ONE_POINT if self.task is not None else ():
            self._refuse(name, "no --task, whose palm or arms touch as it describes")
        if self.labels is not None and not any(label_of(file, self.labels) for file in files):
            self._refuse("labels", "a file with the name of some recording")

    def check_robot(self) -> None:
        """Refuse options about the contact where no arm is known.

        Raises:
            InvalidInputError: With the first such option.
        """
        for name in _CONTACT:
            self._refuse(name, "--robot along with it: no arm of the recordings is known")

    def _refuse(self, name: str, expected: str) -> None:
        value = getattr(self, name)
        if value != type(self).__dataclass_fields__[name].default:
            shown = "names of other files" if name == "labels" else "given" if name == "columns" else value
            raise InvalidInputError(_FLAGS.get(name, "--" + name.replace("_", "-")), shown, expected)

    def plain(self) -> dict[str, Any]:
        """Every option in types that JSON knows."""
        plain: dict[str, Any] = json.loads(json.dumps(asdict(self), default=str))
        return plain


def load_labels(path: Path) -> dict[str, str]:
    """Labels by recording name, from YAML (`name: label`) or CSV (`name,label` rows).

    Raises:
        InvalidInputError: No such file, or another content.
    """
    try:
        if path.suffix == ".csv":
            lines = io.StringIO(read_text("labels", path, "YAML or CSV file"), newline="")
            rows = [[cell.strip() for cell in row] for row in csv.reader(lines) if any(map(str.strip, row))]
            if any(len(row) < 2 for row in rows):
                raise InvalidInputError("labels", str(path), "two columns: recording, label")
            return {row[0]: row[1] for row in rows}
    except csv.Error as error:
        raise InvalidInputError("labels", str(path), f"a readable YAML or CSV file ({one_reason(error)})") from error
    return {str(name): str(label) for name, label in read_mapping("labels", path).items()}


def label_of(file: Path, labels: dict[str, str] | None) -> str | None:
    """The label of a recording: by its path, its name, or its name without the ending; None without one."""
    if labels is None:
        return None
    for name in (str(file), file.name, file.stem):
        if name in labels:
            return labels[name]
    return None
