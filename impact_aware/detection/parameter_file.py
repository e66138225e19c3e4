"""The file that `impact-aware tune-detector` writes, read back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from impact_aware.errors import InvalidInputError
from impact_aware.resources import read_mapping


def load_parameters(path: str | Path, detector: str) -> dict[str, Any]:
    """Parameters for a detector from a tuning file.

    Args:
        path: The file.
        detector: Name of the detector that they are for.

    Raises:
        InvalidInputError: No such file, not a tuning, or the tuning of another detector.
    """
    content = read_mapping("tuning", Path(path))
    if not isinstance(content.get("parameters"), dict):
        raise InvalidInputError("tuning", str(path), "a file of impact-aware tune-detector, with an entry 'parameters'")
    if content.get("detector") != detector:
        raise InvalidInputError("tuning", f"{path}, made for {content.get('detector')}", f"one made for {detector}")
    return {key: tuple(value) if isinstance(value, list) else value for key, value in content["parameters"].items()}
