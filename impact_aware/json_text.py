"""JSON as others read it: Python would write NaN and Infinity, which the format does not have."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any


def json_text(value: Any, indent: int | None = None) -> str:
    """The value as JSON, with null for numbers that are not finite.

    Args:
        value: Mappings, lists, tuples, texts, numbers, true, false and None, within each other.
        indent: Blanks per level; one line when None.
    """
    return json.dumps(finite(value), indent=indent, allow_nan=False)


def finite(value: Any) -> Any:
    """Replace numbers that are not finite by None, at any depth."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: finite(entry) for name, entry in value.items()}
    return [finite(entry) for entry in value] if isinstance(value, (list, tuple)) else value
