"""The message types that an annotated recording adds, from the package's own definitions, without ROS."""

from __future__ import annotations

import os
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from rosbags.typesys import Stores, get_types_from_msg, get_typestore
from rosbags.typesys.store import Typestore

from impact_aware.arrays import Array
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


class RecordedTypes:
    """The classes of this type store for the codecs of `impact_aware.messages`."""

    def new(self, name: str) -> Any:
        """An empty message; every field is what a new message of ROS has in it."""
        store = annotation_types()
        return store.types[name](**{field: self._default(kind) for field, kind in store.fielddefs[name][1]})

    @staticmethod
    def doubles(values: Array) -> Array:
        """(n,) as a message holds it."""
        return np.ascontiguousarray(values, dtype=np.float64)

    @staticmethod
    def serialize(message: Any, name: str) -> bytes:
        """A message as CDR."""
        return bytes(annotation_types().serialize_cdr(message, name))

    def _default(self, description: Any) -> Any:
        kind, detail = int(description[0]), description[1]
        if kind == 1:
            return {"string": "", "wstring": "", "bool": False}.get(detail[0], 0.0 if "float" in detail[0] else 0)
        if kind == 2:
            return self.new(detail)
        # Sequences, of numbers as arrays.
        element, _ = detail
        if int(element[0]) == 1 and element[1][0] not in ("string", "wstring"):
            return np.zeros(0, dtype=np.uint8 if element[1][0] in ("byte", "char", "octet") else element[1][0])
        return []


RECORDED = RecordedTypes()
