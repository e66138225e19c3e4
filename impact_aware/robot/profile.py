"""Robot profiles: what a URDF does not say (tool, motor inertia, torque-rate limits) in one YAML file per robot."""

from __future__ import annotations

import importlib.metadata
import math
import os
import sys
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

from impact_aware.errors import InvalidInputError, UnknownNameError, check_name
from impact_aware.ranges import Range
from impact_aware.resources import read_named, resource_names

_SAFETY_SIZES = {
    "workspace_lower": 3, "workspace_upper": 3, "tool_speed": 1, "contact_force": 1, "impact_energy": 1,
    "impact_overrun": 1, "impact_lead": 1,
}  # fmt: skip
"""Numbers of the entries of `safety` that have not one per joint."""

_COLUMNS = (
    "apparent_motor_inertia", "motor_inertia", "home", "effort_rate", "motor_friction", "motor_friction_velocity",
)  # fmt: skip
"""Entries with one number per joint."""

PLANTS = ("flexible", "rigid")
"""What a simulated arm's joints can be: elastic with motors and torque loop, or rigid with apparent motor inertia."""

SIMULATED_INTERFACES = ("effort", "local_law")
"""What a simulated arm can be commanded by: a torque for every state, or a law for the time between two messages."""

INTERFACES = (*SIMULATED_INTERFACES, "linear_feedback")
"""What any arm can be commanded by: those, or laws as the messages of ros2_control's linear_feedback_controller."""


class EffortKind(NamedTuple):
    """Meaning of the efforts that a driver measures.

    Attributes:
        missing_gravity: Share of the gravity torque that has to be added to get whole torques; NaN for no torques.
        inertia: Inertia that these torques accelerate, of `robot.model.INERTIA_CHOICES`.
    """

    missing_gravity: float
    inertia: str

    @property
    def is_torque(self) -> bool:
        """Whether the efforts are joint torques in N m."""
        return not math.isnan(self.missing_gravity)


EFFORT_KINDS = {
    "link_torque": EffortKind(0.0, "M"),
    "motor_torque": EffortKind(0.0, "M+B_theta"),
    "without_gravity": EffortKind(1.0, "M"),
    "current": EffortKind(math.nan, "M"),
}
"""Kinds of measured efforts: behind the gear; motor currents as torques at the joint; behind the gear with gravity
subtracted; motor currents in A and everything else that is no torque, also where a profile states nothing."""

MOST_JOINTS = 64
"""Joints of an arm; two arms of seven with their hands have 18."""

RANGES = {
    # Beyond these no arm that people build can be: a slip of sign, unit or exponent, or a limit that limits nothing.
    "apparent_motor_inertia": Range(0.0, 1000.0, "kg m^2"),
    "apparent_motor_inertia_std": Range(0.0, 1.0, "share of it"),
    "motor_inertia": Range(0.0, 1000.0, "kg m^2"),
    "motor_friction": Range(0.0, 1000.0, "N m"),
    "motor_friction_velocity": Range(0.0, 20.0, "rad/s", open_below=True),
    "home": Range(-20.0, 20.0, "rad"),
    "effort_rate": Range(0.0, 1e5, "N m/s", open_below=True),
    "position_margin": Range(0.0, 1.0, "rad"),
    "tool.radius": Range(0.0, 1.0, "m"),
    "tool.mass": Range(0.0, 100.0, "kg"),
    "tool.position": Range(-2.0, 2.0, "m"),
    "tool.rotation_rpy": Range(-6.3, 6.3, "rad"),
    "tool.center_of_mass": Range(-2.0, 2.0, "m"),
    "tool.inertia_diagonal": Range(0.0, 100.0, "kg m^2"),
    "safety.position_lower": Range(-20.0, 20.0, "rad"),
    "safety.position_upper": Range(-20.0, 20.0, "rad"),
    "safety.braking_deceleration": Range(0.0, 200.0, "rad/s^2", open_below=True),
    "safety.velocity": Range(0.0, 50.0, "rad/s", open_below=True),
    "safety.effort": Range(0.0, 5000.0, "N m", open_below=True),
    "safety.effort_rate": Range(0.0, 1e5, "N m/s", open_below=True),
    "safety.velocity_jump": Range(0.0, 50.0, "rad/s", open_below=True),
    "safety.sensor_torque": Range(0.0, 5000.0, "N m", open_below=True),
    "safety.workspace_lower": Range(-10.0, 10.0, "m"),
    "safety.workspace_upper": Range(-10.0, 10.0, "m"),
    "safety.tool_speed": Range(0.0, 10.0, "m/s", open_below=True),
    "safety.contact_force": Range(0.0, 5000.0, "N", open_below=True),
    "safety.impact_energy": Range(0.0, 500.0, "J", open_below=True),
    "safety.impact_overrun": Range(0.0, 1.0, "m", open_below=True),
    "safety.impact_lead": Range(0.0, 1.0, "m", open_below=True),
}
"""Range of every number of a profile."""

_SAFETY = tuple(key.removeprefix("safety.") for key in RANGES if key.startswith("safety."))


@dataclass(frozen=True)
class Tool:
    """A rigid tool with a spherical tip, fixed to a frame of the robot.

    Attributes:
        mount_frame: Name of the URDF frame that carries the tool.
        frame: Name given to the tool frame, whose origin is the centre of the spherical tip.
        position: (3,) Tip centre in the mount frame, m.
        rotation_rpy: (3,) Roll, pitch, yaw of the tool frame in the mount frame, rad.
        radius: Tip radius, m.
        mass: Tool mass, kg.
        center_of_mass: (3,) In the mount frame, m.
        inertia_diagonal: (3,) Principal moments about the centre of mass, mount-frame axes, kg m^2.
    """

    mount_frame: str
    frame: str = "tool"
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    rotation_rpy: tuple[float, float, float] = (0.0, 0.0, 0.0)
    radius: float = 0.0
    mass: float = 0.0
    center_of_mass: tuple[float, float, float] = (0.0, 0.0, 0.0)
    inertia_diagonal: tuple[float, float, float] = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class RobotProfile:
    """One robot as `config/robots/NAME.yaml` describes it. Per-joint tuples are in the order of `joint_names`.

    Attributes:
        name: Short name, such as `panda`.
        urdf: Path of the URDF file.
        joint_names: (n,) Controlled joints; every other joint of the URDF is locked at its neutral position.
        tool: The tool, or None when the URDF already ends in it.
        apparent_motor_inertia: (n,) B_theta of Rey Arias 2024, eq. (6), link side, kg m^2.
        motor_inertia: (n,) B_rho of Rey Arias 2024, eq. (3), link side, kg m^2; empty when unknown.
        home: (n,) A comfortable posture, rad.
        effort_rate: (n,) Largest change of commanded torque, N m/s.
        position_margin: Distance kept from the URDF's position limits, rad.
        joint_states_topic: Where this robot publishes states at its full rate.
        notes: Where the figures come from.
        apparent_motor_inertia_std: Standard deviation of every B_theta, as a share of it: how far it may be off where
            it is assumed instead of identified; 0 where it counts as known.
        base_frame: Frame in which positions, normals and impulses are expressed.
        safety: Entries of `SafetyLimits` that differ from what URDF and defaults say, by name; numbers, or lists of
            them per joint or per axis.
        command_includes_gravity: Whether the arm's effort command is the whole joint torque; False for arms that add
            the gravity torque themselves.
        effort_kind: What the efforts of its joint_states are, of `EFFORT_KINDS`.
        motor_friction: (n,) Of motors and gears at speed, link side, N m; empty when unknown.
        motor_friction_velocity: (n,) Joint speeds at which it is 76 % of that (tanh 1), rad/s; along with it.
    """

    name: str
    urdf: Path
    joint_names: tuple[str, ...]
    tool: Tool | None
    apparent_motor_inertia: tuple[float, ...]
    motor_inertia: tuple[float, ...]
    home: tuple[float, ...]
    effort_rate: tuple[float, ...]
    position_margin: float = 0.05
    joint_states_topic: str = "joint_states"
    notes: dict[str, str] = field(default_factory=dict)
    apparent_motor_inertia_std: float = 0.0
    base_frame: str = "base"
    safety: dict[str, float | tuple[float, ...]] = field(default_factory=dict)
    command_includes_gravity: bool = True
    effort_kind: str = "current"
    motor_friction: tuple[float, ...] = ()
    motor_friction_velocity: tuple[float, ...] = ()


def profile_names() -> tuple[str, ...]:
    """Names of the profiles that come with the package."""
    return resource_names("robots")


def load_profile(name_or_path: str | Path) -> RobotProfile:
    """Read a profile by its name or from a YAML file.

    Raises:
        UnknownNameError: No profile of that name.
        InvalidInputError: A field is missing or has the wrong number of entries.
    """
    if Path(name_or_path).suffix in (".urdf", ".xml"):
        expected = "a robot profile (.yaml), which states what a URDF lacks: `impact-aware new-robot FILE` makes one"
        raise InvalidInputError("robot", str(name_or_path), expected)
    content, path = read_named("robot", "robots", name_or_path)
    where = f"robot profile {path.name}"
    known = {"joints", *(entry.name for entry in fields(RobotProfile))} - {"joint_names"}
    for key in content:
        if key not in known:
            raise UnknownNameError(where, key, tuple(sorted(known)))
    for key in ("urdf", "joints", "apparent_motor_inertia"):
        if key not in content:
            raise InvalidInputError(where, f"no '{key}'", f"an entry '{key}'")
    joints = content["joints"]
    if not isinstance(joints, list) or not joints or not all(isinstance(joint, str) for joint in joints):
        raise InvalidInputError(f"{where}: joints", joints, "a list of joint names")
    if len(set(joints)) != len(joints):
        raise InvalidInputError(f"{where}: joints", joints, "each joint once")
    if len(joints) > MOST_JOINTS:
        raise InvalidInputError(f"{where}: joints", f"{len(joints)} joints", f"{MOST_JOINTS} at most")
    columns = {key: _numbers(where, key, content[key], len(joints)) if key in content else () for key in _COLUMNS}
    if bool(columns["motor_friction"]) != bool(columns["motor_friction_velocity"]):
        raise InvalidInputError(where, "motor_friction alone", "motor_friction and motor_friction_velocity")
    notes = content.get("notes") or {}
    if not isinstance(notes, dict):
        raise InvalidInputError(f"{where}: notes", repr(notes), "a mapping of fields to sources")
    return RobotProfile(
        name=str(content.get("name", path.stem)),
        urdf=_urdf_path(content["urdf"], path),
        joint_names=tuple(joints),
        tool=_parse_tool(content["tool"], path) if content.get("tool") else None,
        position_margin=_number(where, "position_margin", content.get("position_margin", 0.05)),
        joint_states_topic=str(content.get("joint_states_topic", "joint_states")),
        notes=notes,
        apparent_motor_inertia_std=_number(
            where, "apparent_motor_inertia_std", content.get("apparent_motor_inertia_std", 0.0)
        ),
        base_frame=str(content.get("base_frame", "base")),
        safety=_parse_safety(content.get("safety") or {}, where, len(joints)),
        command_includes_gravity=_switch(where, "command_includes_gravity", content, True),
        effort_kind=checked_effort_kind(f"{where}: effort_kind", content.get("effort_kind", "current")),
        **columns,
    )


def checked_effort_kind(field: str, value: Any) -> str:
    """Return one of `EFFORT_KINDS`.

    Raises:
        InvalidInputError: It is none.
    """
    if not isinstance(value, str) or value not in EFFORT_KINDS:
        raise InvalidInputError(field, repr(value), f"one of {', '.join(EFFORT_KINDS)}")
    return value


def effort_kind_of(profile: RobotProfile | None) -> EffortKind:
    """Kind of the efforts of a profile's arm; no torques without a profile."""
    return EFFORT_KINDS["current" if profile is None else profile.effort_kind]


def _switch(where: str, key: str, content: dict[str, Any], default: bool) -> bool:
    value = content.get(key, default)
    if not isinstance(value, bool):
        raise InvalidInputError(f"{where}: {key}", repr(value), "true or false")
    return value


def _parse_safety(content: Any, where: str, joints: int) -> dict[str, float | tuple[float, ...]]:
    if not isinstance(content, dict):
        raise InvalidInputError(f"{where}: safety", repr(content), "a mapping of limits")
    values: dict[str, float | tuple[float, ...]] = {}
    for key, value in content.items():
        check_name(f"{where}: safety", key, _SAFETY)
        size = _SAFETY_SIZES.get(key)
        if size == 1 or not isinstance(value, list):
            values[key] = _number(where, f"safety.{key}", value)
        else:
            values[key] = _numbers(where, f"safety.{key}", value, size or joints)
    return values


def _parse_tool(content: Any, path: Path) -> Tool:
    where = f"robot profile {path.name}"
    if not isinstance(content, dict):
        raise InvalidInputError(f"{where}: tool", repr(content), "the fields of Tool")
    values: dict[str, Any] = {}
    for key, value in content.items():
        if key in ("position", "rotation_rpy", "center_of_mass", "inertia_diagonal"):
            values[key] = _numbers(where, f"tool.{key}", value, 3)
        elif key in ("radius", "mass"):
            values[key] = _number(where, f"tool.{key}", value)
        elif isinstance(value, str):
            values[key] = value
        else:
            raise InvalidInputError(f"{where}: tool.{key}", repr(value), "the name of a frame")
    try:
        tool = Tool(**values)
    except TypeError as error:
        raise InvalidInputError(f"{where}: tool", str(error), "the fields of Tool") from error
    if tool.mass == 0.0 and any(tool.inertia_diagonal):
        raise InvalidInputError(f"{where}: tool.mass", tool.mass, "a mass > 0 kg along with tool.inertia_diagonal")
    first, second, third = sorted(tool.inertia_diagonal)
    if first + second < third * (1.0 - 1e-6):
        given = list(tool.inertia_diagonal)
        raise InvalidInputError(f"{where}: tool.inertia_diagonal", given, "none larger than the other two together")
    return tool


def _number(where: str, key: str, value: Any) -> float:
    # bool is an int to Python, but `radius: yes` is a slip.
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) <= sys.float_info.max:
        raise InvalidInputError(f"{where}: {key}", repr(value), "a finite number")
    RANGES[key].check(f"{where}: {key}", value)
    return float(value)


def _numbers(where: str, key: str, values: Any, count: int) -> tuple[float, ...]:
    if not isinstance(values, list):
        raise InvalidInputError(f"{where}: {key}", repr(values), f"a list of {count} numbers")
    if len(values) != count:
        raise InvalidInputError(f"{where}: {key}", f"{len(values)} values", f"{count}")
    return tuple(_number(where, key, value) for value in values)


def _urdf_path(entry: Any, path: Path) -> Path:
    """A path beside the profile, or `{package: NAME, path: ...}` below the robots of that description package."""
    if isinstance(entry, str) and "\0" not in entry:
        return Path(os.path.realpath(path.parent / entry))
    words = entry.values() if isinstance(entry, dict) else ()
    if set(entry if words else ()) != {"package", "path"} or not all(isinstance(word, str) for word in words):
        raise InvalidInputError(f"robot profile {path.name}: urdf", entry, "a path, or {package: NAME, path: ...}")
    for folder in _description_folders(entry["package"]):
        urdf = folder / entry["path"]
        if urdf.is_file():
            return urdf
    raise InvalidInputError(f"robot profile {path.name}: urdf", entry["path"], f"{entry['package']} to be installed")


def _description_folders(package: str) -> list[Path]:
    """Where a package of robot descriptions may keep them: its Python distribution, then every ament prefix."""
    below = Path("share") / package / "robots"
    folders = [Path(prefix) / below for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if prefix]
    try:
        distribution = importlib.metadata.distribution(package)
    except importlib.metadata.PackageNotFoundError:
        return folders
    return [Path(str(distribution.locate_file(Path("cmeel.prefix") / below))), *folders]
