"""The one opener of recordings: which files a recording has, unpacked where they are compressed as a whole.

Nothing of a recording is trusted: names stay within its folder, and what unpacks to hundreds of times its size is no
recording of a robot.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from lz4.frame import LZ4FrameDecompressor
from zstandard import ZstdDecompressor

from impact_aware.errors import ImpactAwareError, InvalidInputError, one_reason
from impact_aware.resources import check_readable, most_unpacked, read_text
from impact_aware.tables.column_file import way_to_table
from impact_aware.yaml_text import read_yaml

SUFFIXES = (".mcap", ".db3")
"""Names of single files that are recordings; `.zstd` or `.zst` after them is decompressed."""

LARGEST_CHUNK = 1 << 28
"""Unpacked size of a chunk or a message that is compressed on its own, bytes; recorders write chunks of 1 to 10 MB."""

MOST_FILES = 10_000
"""Files of a split recording."""

_PACKED = (".zstd", ".zst")
_URI_MARKS = "?#%"
_METADATA = "metadata.yaml"
_PIECE = 1 << 20


class BagError(ImpactAwareError):
    """A recording can't be read, or lacks a requested topic or message."""


@dataclass(frozen=True)
class BagFiles:
    """The files of a recording.

    Attributes:
        files: In the order of the recording; unpacked ones in a temporary folder.
        packed_messages: Whether messages are compressed one by one.
        type_hashes: Hash of each message type, by its name, as far as its `metadata.yaml` has them.
        damage: What is wrong with the recording, one sentence, or None.
    """

    files: tuple[Path, ...]
    packed_messages: bool = False
    type_hashes: dict[str, str] = field(default_factory=dict)
    damage: str | None = None


def is_recording(path: Path) -> bool:
    """Whether the path looks like a rosbag2 recording: a folder of one, or a single file."""
    if path.is_dir():
        return (path / _METADATA).exists() or bool(storage_files(path))
    return path.suffix in SUFFIXES or _is_packed(path)


def storage_files(folder: Path) -> list[Path]:
    """Files of a recording in a folder, in the order of their numbers."""
    files = [file for file in folder.iterdir() if file.suffix in SUFFIXES or _is_packed(file)]
    # rosbag2 numbers the files of a split recording: NAME_0, NAME_1, ..., NAME_10.
    return sorted(files, key=lambda file: (len(file.name), file.name))


def _is_packed(file: Path) -> bool:
    return file.suffix in _PACKED and Path(file.stem).suffix in SUFFIXES


def find_bag_files(path: Path, stack: ExitStack) -> BagFiles:
    """Find the files of a recording, and unpack them where they are compressed as a whole.

    Args:
        path: A folder or a single file.
        stack: Removes what was unpacked when it is closed.

    Raises:
        BagError: There is no recording.
    """
    if way_to_table(path):
        raise BagError(f"{path}: no rosbag2 recording{way_to_table(path)}")
    try:
        if not path.is_dir():
            return BagFiles((_usable(path, path, stack),))
        listed = _listed(path) if (path / _METADATA).exists() else BagFiles((), damage=_without(path))
        names = listed.files or tuple(storage_files(path))
        if not names:
            raise BagError(f"{path}: not a recording: neither {_METADATA} nor .mcap or .db3 files in it")
        if len(names) > MOST_FILES:
            raise BagError(f"{path}: {len(names)} files, expected {MOST_FILES} at most")
        there = [file for file in names if file.is_file()]
        missing = [file.name for file in names if not file.is_file()]
        if not there:
            raise BagError(f"{path}: not a recording that can be read ({missing[0]} is missing)")
        damage = f"{path.name} lacks {missing[0]}" if missing and not listed.damage else listed.damage
        files = tuple(_usable(file, path, stack) for file in there)
        return BagFiles(files, listed.packed_messages, listed.type_hashes, damage)
    except OSError as error:
        raise BagError(f"{path}: not a recording that can be read ({error.strerror or error})") from error


def _without(path: Path) -> str:
    return f"{path.name} has no {_METADATA}: its files are read one after the other"


def _listed(path: Path) -> BagFiles:
    """Return the content of `metadata.yaml`; without files where it can't be read."""
    try:
        text = read_text("metadata", path / _METADATA)
        content = read_yaml("metadata", str(path / _METADATA), text, aliases=True)["rosbag2_bagfile_information"]
        names = [Path(name).name for name in content["relative_file_paths"]]
        mode = str(content.get("compression_mode") or "").lower()
        hashes = {
            str(known["type"]): str(known.get("type_description_hash") or "")
            for known in (entry["topic_metadata"] for entry in content["topics_with_message_count"])
        }
    except (InvalidInputError, KeyError, TypeError, AttributeError, ValueError) as error:
        reason = str(error) or type(error).__name__
        damage = f"{path.name} has a {_METADATA} that can't be used ({reason}): its files are read one after the other"
        return BagFiles((), damage=damage)
    return BagFiles(tuple(path / name for name in names), mode == "message", hashes)


def _usable(file: Path, recording: Path, stack: ExitStack) -> Path:
    try:
        check_readable("recording", file, "regular file")
    except InvalidInputError as error:
        raise BagError(str(error)) from error
    link = file.suffix == ".db3" and any(mark in str(file) for mark in _URI_MARKS)
    if file.suffix not in _PACKED and not link:
        return file
    folder = Path(stack.enter_context(TemporaryDirectory(prefix="impact_aware_")))
    if link:
        # The library opens the file by a SQLite URI and does not escape its name.
        plain = folder / "".join("_" if letter in _URI_MARKS else letter for letter in file.name)
        plain.symlink_to(file.absolute())
        return plain
    target, most = folder / file.stem, most_unpacked(file)
    written = 0
    try:
        with open(file, "rb") as source, open(target, "wb") as out:
            reader = ZstdDecompressor(max_window_size=LARGEST_CHUNK).stream_reader(source, read_across_frames=True)
            while piece := reader.read(_PIECE):
                written += len(piece)
                if written > most:
                    raise BagError(f"{recording}: {file.name} unpacks to more than {most} bytes")
                out.write(piece)
    except (BagError, OSError):  # a full disk is no fault of the file
        raise
    except Exception as error:  # a file that was cut off is read as far as it goes
        if not written:
            raise BagError(f"{recording}: {file.name} can't be decompressed ({one_reason(error)})") from error
    return target


def decompress(data: bytes, compression: str, most: int = LARGEST_CHUNK) -> bytes:
    """What was compressed, `most` bytes at most.

    Args:
        data: Compressed.
        compression: `zstd`, `lz4` or empty.
        most: Larger content is refused.

    Raises:
        ValueError: Unknown, damaged or too large.
    """
    if compression == "":
        content = data
    elif compression == "zstd":
        # Piece by piece, because the reader allocates a buffer of the requested size.
        reader = ZstdDecompressor(max_window_size=LARGEST_CHUNK).stream_reader(data, read_across_frames=True)
        pieces, size = [], 0
        while size <= most and (piece := reader.read(min(most + 1, 4 * _PIECE))):
            pieces.append(piece)
            size += len(piece)
        content = pieces[0] if len(pieces) == 1 else b"".join(pieces)
    elif compression == "lz4":
        unpacker = LZ4FrameDecompressor()
        content = unpacker.decompress(data, max_length=most + 1)
    else:
        raise ValueError(f"unsupported compression {compression[:40]!r}")
    if len(content) > most:
        raise ValueError(f"it unpacks to more than {most} bytes")
    return content
