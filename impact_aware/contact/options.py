"""What can be known of a contact and of the object that is hit, each declared once for flags, YAML keys and nodes."""

from __future__ import annotations

from dataclasses import dataclass

from impact_aware.contact.geometry import FRICTION, OBJECT_MASS, RADIUS, RESTITUTION, vector
from impact_aware.errors import InvalidInputError
from impact_aware.parameters import Options, described
from impact_aware.ranges import Range

Vector = tuple[float, float, float]

OFFSET = Range(-2.0, 2.0, "m")
"""Coordinates of a contact point in its frame: no tool is longer."""


@dataclass(frozen=True, kw_only=True)
class ContactOptions(Options):
    """The contact; None where it is not known."""

    contact_frame: str | None = described(
        None, "robot frame that touches", absent="the tool frame", metavar="FRAME"
    )
    offset: Vector | None = described(
        None, "contact point in that frame, or centre of the tip", within=OFFSET, absent="0 0 0"
    )
    tool_radius: float | None = described(
        None, "radius of a spherical tip", within=RADIUS, absent="the tool's own in the tool frame, else 0"
    )
    normal: Vector | None = described(None, "unit vector from the obstacle into the robot, base frame")
    friction: float | None = described(
        None, "Coulomb coefficient between tool and obstacle", within=FRICTION, absent="0"
    )
    restitution: float | None = described(None, "coefficient of restitution", within=RESTITUTION, absent="0")

    def __post_init__(self) -> None:
        """Refuse numbers out of range, and a normal of zero length; errors as of `Options`."""
        super().__post_init__()
        if self.normal is not None and not vector("normal", self.normal, 3).any():
            raise InvalidInputError("normal", list(self.normal), "a vector that is not of zero length")


@dataclass(frozen=True, kw_only=True)
class ObjectOptions(Options):
    """The object that is hit and where its track is recorded; None where it is not known."""

    object_mass: float | None = described(
        None, "mass of a free object that is hit", within=OBJECT_MASS, absent="a fixed surface is hit"
    )
    object_topic: str | None = described(
        None, "topic of its poses, odometry or twists", absent="object_pose", metavar="TOPIC"
    )
    object_frame: str | None = described(None, "TF frame of the object", absent="object_topic is used", metavar="FRAME")
