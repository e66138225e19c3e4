"""What can be chosen about an analysis of recordings: one frozen dataclass, checked where it is made."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from impact_aware.contact.geometry import FRICTION, OBJECT_MASS, RADIUS, RESTITUTION, vector
from impact_aware.detection.registry import DETECTORS
from impact_aware.errors import InvalidInputError, UnknownNameError
from impact_aware.estimation.registry import AGREEMENT, OFFLINE_ESTIMATORS
from impact_aware.impact.registry import DEFAULT_METHOD, impact_map
from impact_aware.joint_columns import ColumnMap
from impact_aware.recordings.labels import label_of
from impact_aware.robot import INERTIA_CHOICES

DEFAULT_DETECTOR = "adaptive_window"

DEFAULT_ESTIMATOR = AGREEMENT

ALL = "all"

_BAGS_ONLY = ("topics", "surface_frame", "command_topic", "object_topic", "object_frame")
_CONTACT = (
    "contact_frame", "offset", "tool_radius", "normal", "surface", "surface_frame", "friction", "restitution",
    "object_mass", "inertia", "method",
)  # fmt: skip


@dataclass(frozen=True)
class AnalysisOptions:
    """Options of an analysis; what is None is taken from the recording, or left at what the docstring says.

    Attributes:
        robot: Profile name, profile file or URDF file; `robot_description` of the recording when None.
        topics: Joint-state topics; all when empty.
        columns: Columns of tables.
        detector: Name of a detector, several with commas, or `all`; the first one found is the preferred one.
        tuning: File from `impact-aware tune-detector`.
        estimator: Name of the estimator of the velocity after, one of `OFFLINE_ESTIMATORS`.
        method: Impact map.
        inertia: Inertia that the impact sees.
        friction: Coulomb's coefficient; of the surface file, else of the recorded prediction, else 0.
        restitution: Coefficient of restitution; as `friction`.
        contact_frame: Robot frame that touches; of the recorded prediction, else the tool frame.
        offset: Contact in that frame, m.
        tool_radius: Radius of a spherical tip, m; the robot's own for its tool frame.
        normal: From the obstacle into the robot, base frame.
        surface: YAML file of a plane.
        surface_frame: TF frame whose z axis is the normal.
        command_topic: Topic of the commands to a bag's joints; the one that ends in `commands` when None.
        task: Task of several arms that hit at once, by name or file; the recorded one when None.
        object_mass: Mass of the free object that is hit, kg; of the recorded prediction, else a fixed surface.
        object_topic: Topic of the object's poses, odometry or twists; `object_pose` when None.
        object_frame: TF frame of the object.
        ablation: Predict with every inertia, with and without friction.
        labels: Recording name -> label.
        degrees: Whether recorded positions and velocities are in degrees, in place of radians.
    """

    robot: str | None = None
    topics: tuple[str, ...] = ()
    columns: ColumnMap | None = None
    detector: str = DEFAULT_DETECTOR
    tuning: Path | None = None
    estimator: str = DEFAULT_ESTIMATOR
    method: str = DEFAULT_METHOD
    inertia: str = "M+B_theta"
    friction: float | None = None
    restitution: float | None = None
    contact_frame: str | None = None
    offset: tuple[float, float, float] = (0.0, 0.0, 0.0)
    tool_radius: float | None = None
    normal: tuple[float, float, float] | None = None
    surface: Path | None = None
    surface_frame: str | None = None
    command_topic: str | None = None
    task: str | None = None
    object_mass: float | None = None
    object_topic: str | None = None
    object_frame: str | None = None
    ablation: bool = True
    labels: dict[str, str] | None = None
    degrees: bool = False

    def __post_init__(self) -> None:
        """Refuse what makes no sense.

        Raises:
            InvalidInputError: A number out of range.
            UnknownNameError: A name that is not known.
        """
        for name in self.detectors:
            if name not in DETECTORS:
                raise UnknownNameError("detector", name, (ALL, *DETECTORS))
        if self.estimator not in OFFLINE_ESTIMATORS:
            raise UnknownNameError("estimator", self.estimator, OFFLINE_ESTIMATORS)
        impact_map(self.method)
        if self.inertia not in INERTIA_CHOICES:
            raise UnknownNameError("inertia", self.inertia, INERTIA_CHOICES)
        ranges = {"friction": FRICTION, "restitution": RESTITUTION, "tool_radius": RADIUS, "object_mass": OBJECT_MASS}
        for field, allowed in ranges.items():
            if getattr(self, field) is not None:
                allowed.check(field, getattr(self, field))
        if self.normal is not None and not vector("normal", self.normal, 3).any():
            raise InvalidInputError("normal", list(self.normal), "a vector that is not of zero length")
        vector("offset", self.offset, 3)
        given = [name for name in ("normal", "surface", "surface_frame") if getattr(self, name) is not None]
        if len(given) > 1:
            raise InvalidInputError("normal", " and ".join(given), "one of normal, surface and surface_frame")
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
            raise InvalidInputError("--" + name.replace("_", "-").replace("topics", "topic"), shown, expected)

    def plain(self) -> dict[str, Any]:
        """Every option in types that JSON knows."""
        plain: dict[str, Any] = json.loads(json.dumps(asdict(self), default=str))
        return plain
