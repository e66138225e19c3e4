"""The message types that an annotated recording adds, from the package's own definitions, without ROS."""

from __future__ import annotations

import os
import sys
from functools import cache
from pathlib import Path

from rosbags.typesys import Stores, get_types_from_msg, get_typestore
from rosbags.typesys.store import Typestore

from impact_aware.errors import InvalidInputError

PACKAGE = "impact_aware_msgs"

_TYPES = ("ContactImpulse", "ImpactEvent", "ImpactPrediction")


@cache
def annotation_types() -> Typestore:
    """Type store that knows ROS 2's common messages and the ones about impacts.

    Raises:
        InvalidInputError: The definitions are not installed.
    """
    store = get_typestore(Stores.ROS2_JAZZY)
    definitions = {}
    for name in _TYPES:
        definitions.update(get_types_from_msg(_definition(name).read_text(), f"{PACKAGE}/msg/{name}"))
    store.register(definitions)
    return store


def _definition(name: str) -> Path:
    """The .msg file of a type: in the clone, below an ament prefix, or below this Python's own prefix."""
    clone = Path(__file__).resolve().parents[2] / "msg" / "msg"
    prefixes = [*filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)), sys.prefix]
    for folder in (clone, *(Path(prefix) / "share" / PACKAGE / "msg" for prefix in prefixes)):
        path = folder / f"{name}.msg"
        if path.is_file():
            return path
    raise InvalidInputError("message type", f"{PACKAGE}/{name}", f"its definition, installed with {PACKAGE}")
