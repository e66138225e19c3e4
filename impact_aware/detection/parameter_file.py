"""The file that `impact-aware tune-detector` writes, read back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from impact_aware.errors import InvalidInputError


def load_parameters(path: str | Path, detector: str) -> dict[str, Any]:
    """Parameters for a detector from a tuning file.

    Args:
        path: The file.
        detector: Name of the detector that they are for.

    Raises:
        InvalidInputError: No such file, not a tuning, or the tuning of another detector.
    """
    path = Path(path)
    if not path.is_file():
        raise InvalidInputError("tuning", str(path), "an existing file, as impact-aware tune-detector writes it")
    try:
        content = yaml.safe_load(path.read_text())
    except yaml.YAMLError as error:
        raise InvalidInputError("tuning", str(path), f"valid YAML ({str(error).splitlines()[0]})") from error
    if not isinstance(content, dict) or not isinstance(content.get("parameters"), dict):
        raise InvalidInputError("tuning", str(path), "a mapping with an entry 'parameters'")
    if content.get("detector") != detector:
        raise InvalidInputError("tuning", f"{path}, made for {content.get('detector')}", f"one made for {detector}")
    return {key: tuple(value) if isinstance(value, list) else value for key, value in content["parameters"].items()}
