"""Where the package's own files (robot profiles, parameters, scenes) are, from a clone or an installed share folder."""

from __future__ import annotations

import os
import stat
import zipfile
from pathlib import Path
from typing import Any, BinaryIO

from impact_aware.errors import InvalidInputError, UnknownNameError
from impact_aware.yaml_text import read_yaml_mapping

LARGEST_TEXT = 1 << 22
"""Size of a text file of the user, bytes; the largest URDFs of example-robot-data have 100 000."""

EXPANSION = 200
"""How many times its size a file may unpack to; joint states of an arm at rest unpack to 30 times theirs."""

LEAST_UNPACKED = 1 << 28
"""Size that every file may unpack to, bytes."""


def share_folders() -> list[Path]:
    """Folders that may hold `config/`, `rviz/` and `launch/`, nearest first.

    The clone; the prefix that the package is installed in, by pip or colcon; then every ament prefix.
    """
    # PREFIX/lib/python3.x/site-packages/impact_aware/resources.py
    parents = Path(__file__).resolve().parents
    folders = [parents[1], *(prefix / "share" / "impact_aware" for prefix in parents[4:5])]
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
            urdf = ", a .urdf" if kind == "robot" else ""
            raise UnknownNameError(kind, str(name_or_path), names, f"the path of a file (.yaml{urdf})")
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
    return read_yaml_mapping(kind, str(path), read_text(kind, path, "YAML file"))


def check_readable(kind: str, path: Path, format_name: str) -> None:
    """Refuse what is no file of the user that a library may open; `kind` and `format_name` are for messages.

    Raises:
        InvalidInputError: No regular file, or one that can't be read.
    """
    os.close(_opened(kind, path, format_name))


def _opened(kind: str, path: Path, format_name: str) -> int:
    try:
        # A pipe would be waited for, and /dev/zero has no end.
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise InvalidInputError(kind, str(path), f"a readable {format_name} ({error.strerror})") from error
    except ValueError as error:
        # A path with a zero byte.
        raise InvalidInputError(kind, repr(str(path)), f"a path ({error})") from error
    mode = os.fstat(number).st_mode
    if not stat.S_ISREG(mode):
        os.close(number)
        expected = f"a readable {format_name} (Is a directory)" if stat.S_ISDIR(mode) else f"a {format_name}"
        raise InvalidInputError(kind, str(path), expected)
    return number


def read_bytes(kind: str, path: Path, format_name: str, largest: int) -> bytes:
    """The bytes of a file of the user, `largest` at most; `kind` and `format_name` are for messages.

    Raises:
        InvalidInputError: No regular file, one that is too large or can't be read.
    """
    try:
        with open(_opened(kind, path, format_name), "rb") as file:
            content = file.read(largest + 1)
    except OSError as error:
        raise InvalidInputError(kind, str(path), f"a readable {format_name} ({error.strerror})") from error
    if len(content) > largest:
        raise InvalidInputError(kind, str(path), f"a {format_name} of {largest} bytes at most")
    return content


def check_unpacked(kind: str, path: object, archive: Path | BinaryIO, largest: int) -> None:
    """Refuse a zip archive whose files have more than `largest` bytes when unpacked.

    Raises:
        InvalidInputError: They do; `kind` and `path` are for messages.
        zipfile.BadZipFile: No archive.
    """
    with zipfile.ZipFile(archive) as content:
        size = sum(entry.file_size for entry in content.infolist())
    if size > largest:
        raise InvalidInputError(f"{kind} {path}", f"{size} bytes when unpacked", f"{largest} at most")


def read_text(kind: str, path: Path, format_name: str = "file", largest: int = LARGEST_TEXT) -> str:
    """The text of a file of the user, `largest` bytes at most; `kind` and `format_name` are for messages.

    Raises:
        InvalidInputError: No regular file, one that is too large or can't be read, or no text in UTF-8.
    """
    content = read_bytes(kind, path, format_name, largest)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInputError(kind, str(path), f"text in UTF-8 (byte {error.start} is none)") from error


def most_unpacked(path: Path) -> int:
    """Size that a compressed file may unpack to, bytes: one that is made to fill a disk unpacks to far more."""
    return max(LEAST_UNPACKED, EXPANSION * path.stat().st_size)
