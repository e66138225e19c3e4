"""What differs between drivers of arms: topics, period and the usual robot, one YAML file per driver."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from impact_aware.bringup.command_path import DRIVERS, RELAYS
from impact_aware.errors import InvalidInputError, UnknownNameError
from impact_aware.resources import read_named
from impact_aware.robot import RobotProfile
from impact_aware.robot.profile import checked_effort_kind

_WORDS = ("robot", "joint_states", "commands", "controller", "relay", "driver", "component", "controllers")


@dataclass(frozen=True)
class Hardware:
    """One driver as `config/hardware/NAME.yaml` describes it.

    Attributes:
        name: Short name, such as `franka`.
        robot: Robot profile of its usual arm; empty when it has none.
        joint_states: Topic of an arm's full-rate joint states, relative to the arm's namespace.
        commands: Topic of an arm's effort commands; empty when the driver takes no efforts alone.
        controller: ros2_control's controller that takes them; empty for the one that their topic names.
        relay: Executable that takes the commands and passes them on in another form; empty for none.
        driver: Executable that is the driver itself, of `command_path.DRIVERS`; empty for a driver of its own.
        component: Hardware component that is set inactive to stop the arm, beside the controller; empty for none.
        period: Time between two states, s; None when it is that of the nodes' parameters.
        no_commands: Why the driver takes no efforts alone; empty when it does.
        command_includes_gravity: Whether its effort command is the whole joint torque; None when the arm decides that.
        effort_kind: What its efforts are, of `robot.profile.EFFORT_KINDS`; empty when the arm decides that.
        controllers: File in `config/ros2_control` that its controller manager loads; empty when it has none.
    """

    name: str = ""
    robot: str = ""
    joint_states: str = "joint_states"
    commands: str = "effort_controller/commands"
    controller: str = ""
    relay: str = ""
    driver: str = ""
    component: str = ""
    period: float | None = None
    no_commands: str = ""
    controllers: str = ""
    command_includes_gravity: bool | None = None
    effort_kind: str = ""

    @property
    def interface(self) -> str:
        """Default command interface: laws for a driver of this suite, else torques."""
        return "local_law" if self.driver else "effort"

    def check_profile(self, profile: RobotProfile) -> None:
        """Refuse a robot profile whose commands are not those of this driver.

        Raises:
            InvalidInputError: The profile's convention of gravity or kind of efforts is not the driver's.
        """
        own = self.command_includes_gravity
        if own is not None and own is not profile.command_includes_gravity:
            expected = f"{str(own).lower()}, as the driver of hardware {self.name} takes torques"
            expected += " with gravity" if own else " without gravity, which the arm adds"
            given = str(profile.command_includes_gravity).lower()
            raise InvalidInputError(f"robot profile {profile.name}: command_includes_gravity", given, expected)
        if self.effort_kind not in ("", profile.effort_kind):
            expected = f"{self.effort_kind}, as the driver of hardware {self.name} measures"
            raise InvalidInputError(f"robot profile {profile.name}: effort_kind", profile.effort_kind, expected)


def load_hardware(name_or_path: str | Path) -> Hardware:
    """Read a driver's description by its name or from a YAML file.

    Raises:
        UnknownNameError: No driver of that name, or an entry that is none.
        InvalidInputError: A file that can't be read, or an entry that is no topic, name or period.
    """
    content, path = read_named("hardware", "hardware", name_or_path)
    where = f"hardware {path.name}"
    known = (*_WORDS, "period", "no_commands", "command_includes_gravity", "effort_kind")
    for key in content:
        if key not in known:
            raise UnknownNameError(where, str(key), known)
    words = {key: _word(f"{where}: {key}", content.get(key, "")) for key in _WORDS}
    if not words["joint_states"]:
        raise InvalidInputError(f"{where}: joint_states", "nothing", "the topic of the arm's joint states")
    if words["relay"] and words["relay"] not in RELAYS:
        raise UnknownNameError(f"{where}: relay", words["relay"], tuple(RELAYS))
    if words["driver"] and words["driver"] not in DRIVERS:
        raise UnknownNameError(f"{where}: driver", words["driver"], DRIVERS)
    why = content.get("no_commands", "")
    if not isinstance(why, str):
        raise InvalidInputError(f"{where}: no_commands", repr(why), "a sentence")
    if why and words["commands"]:
        raise InvalidInputError(f"{where}: commands", words["commands"], "nothing beside no_commands")
    gravity = content.get("command_includes_gravity")
    if not (gravity is None or isinstance(gravity, bool)):
        raise InvalidInputError(f"{where}: command_includes_gravity", repr(gravity), "true or false")
    kind = content.get("effort_kind", "")
    if kind != "":
        checked_effort_kind(f"{where}: effort_kind", kind)
    period = content.get("period")
    seconds = None if period is None else _period(f"{where}: period", period)
    return Hardware(
        path.stem,
        period=seconds,
        no_commands=" ".join(why.split()),
        command_includes_gravity=gravity,
        effort_kind=kind,
        **words,
    )


def _word(field: str, value: Any) -> str:
    if not isinstance(value, str) or any(character.isspace() for character in value):
        raise InvalidInputError(field, repr(value), "a name without spaces")
    return value


def _period(field: str, value: Any) -> float:
    try:
        # YAML 1.1 reads 2e-3, without a dot, as text; bool is an int to Python.
        seconds = float("nan" if isinstance(value, bool) else value)
    except (TypeError, ValueError):
        raise InvalidInputError(field, repr(value), "a number of seconds") from None
    return checked_period(field, seconds)


def checked_period(field: str, value: float) -> float:
    """A control period that the nodes can have.

    Raises:
        InvalidInputError: It is none.
    """
    if not (math.isfinite(value) and 1e-4 <= value <= 0.1):
        raise InvalidInputError(field, value, "a period from 0.0001 to 0.1 s")
    return value
