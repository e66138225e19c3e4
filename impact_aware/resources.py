"""Where the package's own files (robot profiles, parameters, scenes) are, from a clone or an installed share folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import yaml

from impact_aware.errors import InvalidInputError, UnknownNameError


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


def resource_names(folder: str) -> tuple[str, ...]:
    """Names of the YAML files that come with the package in `config/FOLDER`."""
    found = {path.stem for share in share_folders() for path in (share / "config" / folder).glob("*.yaml")}
    return tuple(sorted(found))


def read_named(kind: str, folder: str, name_or_path: str | Path) -> tuple[dict[str, Any], Path]:
    """What a YAML file of `config/FOLDER` holds, or one of the user's own, and which file it is.

    Args:
        kind: What it describes, such as `robot`, for messages.
        folder: Where the package keeps its own.
        name_or_path: Name of one of those, or a path that ends in `.yaml` or `.yml`.

    Raises:
        UnknownNameError: The package has none of that name.
        InvalidInputError: No such file, or not a mapping in YAML.
    """
    path = Path(name_or_path)
    if path.suffix not in (".yaml", ".yml"):
        names = resource_names(folder)
        if str(name_or_path) not in names:
            raise UnknownNameError(kind, str(name_or_path), names)
        path = find_resource("config", folder, f"{name_or_path}.yaml")
    elif not path.is_file():
        raise InvalidInputError(kind, str(path), "an existing file")
    return read_mapping(kind, path), path


def read_mapping(kind: str, path: Path) -> dict[str, Any]:
    """What a YAML file of the user holds.

    Args:
        kind: What it describes, such as `surface`, for messages.
        path: The file.

    Raises:
        InvalidInputError: No such file, or not a mapping in YAML.
    """
    try:
        content = yaml.safe_load(path.read_text())
    except OSError as error:
        raise InvalidInputError(kind, str(path), f"a readable YAML file ({error.strerror})") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InvalidInputError(kind, str(path), f"valid YAML ({str(error).splitlines()[0]})") from error
    if not isinstance(content, dict):
        raise InvalidInputError(kind, str(path), "a mapping of names to values")
    return content
