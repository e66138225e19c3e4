"""Where the package's own files (robot profiles, parameters, scenes) are, from a clone or an installed share folder."""

from __future__ import annotations

import os
from pathlib import Path

from impact_aware.errors import InvalidInputError


def share_folders() -> list[Path]:
    """Folders that may hold `config/`, `rviz/` and `launch/`, nearest first: the clone, then every ament prefix."""
    folders = [Path(__file__).resolve().parents[1]]
    prefixes = os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
    folders += [Path(prefix) / "share" / "impact_aware" for prefix in prefixes if prefix]
    return folders


def find_resource(*parts: str) -> Path:
    """Path of one of the package's files, such as `find_resource("config", "robots", "panda.yaml")`.

    Raises:
        InvalidInputError: No share folder has it.
    """
    for folder in share_folders():
        path = folder.joinpath(*parts)
        if path.exists():
            return path
    raise InvalidInputError("resource", "/".join(parts), "a file of the installed package")
