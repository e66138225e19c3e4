"""The arrays of NumPy, HDF5 and MATLAB files by their names.

MATLAB has times as `(m, 1)` or `(1, m)`, and joints in rows or in columns: the longest vector shows which axis is that
of time. Fields of structures have names such as `log/q`.
"""

from __future__ import annotations

import functools
import math
import warnings
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, cast

import h5py
import numpy as np

from impact_aware.arrays import Array
from impact_aware.child_process import survives
from impact_aware.errors import InvalidInputError, one_reason
from impact_aware.resources import check_unpacked, most_unpacked
from impact_aware.tables.names import Name

MOST_ARRAYS, MOST_OBJECTS = 4096, 3 * 4096
"""Numeric datasets of a file; groups and datasets of any kind."""

LARGEST_CHUNK = 1 << 26
"""Size of a chunk of an HDF5 dataset, bytes, which is unpacked as a whole; libraries choose 1 MB at most."""

PATIENCE = 120
"""Wall time that reading a MATLAB file, or unpacking an HDF5 file, may take, s; the largest take some seconds."""

_COMPRESSED, _PIECE = 15, 1 << 20
"""Type of a compressed variable of a MATLAB file; bytes that are unpacked at once."""

_DEEPEST, _DEEPEST_GROUP = 4, 20
"""Structures of MATLAB, and groups of HDF5, within each other."""


@contextmanager
def open_arrays(path: Path) -> Iterator[Mapping[Name, Any]]:
    """The arrays of a file by name; none of them read yet where it allows that."""
    suffix = path.suffix.lower()
    if suffix == ".mat" and not h5py.is_hdf5(path):
        yield _oriented(_matrices(path))
        return
    if suffix in (".h5", ".hdf5", ".mat"):
        # Its library follows the lengths in a file without looking: it takes all memory, or ends the process.
        if h5py.is_hdf5(path) and not survives(functools.partial(_try_out, path), PATIENCE, 4 * LARGEST_CHUNK):
            needed = "an HDF5 file whose groups can be read, and whose chunks unpack to their size"
            raise InvalidInputError("table", str(path), needed)
        # The cache has room for one chunk: pieces of it are read one after the other.
        with h5py.File(path, rdcc_nbytes=LARGEST_CHUNK) as file:
            found = _datasets(path, file)
            if suffix == ".mat":
                # Its cells are references to what stands in #refs#.
                yield _oriented({name: np.asarray(data) for name, data in found.items() if name[0] != "#"})
            else:
                yield cast(Mapping[Name, Any], found)
        return
    loaded = np.load(path, mmap_mode="r", allow_pickle=False)
    if isinstance(loaded, np.lib.npyio.NpzFile):
        with loaded:
            check_unpacked("table", path, path, most_unpacked(path))
            yield cast(Mapping[Name, Any], loaded)
    elif loaded.dtype.names:
        yield {name: loaded[name] for name in loaded.dtype.names}
    elif suffix == ".npy" and loaded.ndim == 2:
        if loaded.shape[1] > MOST_ARRAYS:
            raise InvalidInputError(f"table {path}", f"{loaded.shape[1]} columns", f"{MOST_ARRAYS} at most")
        yield dict(enumerate(loaded.T))
    else:
        given = f"{path}, a single array of shape {loaded.shape}"
        raise InvalidInputError("table", given, "arrays with names, or in a .npy file rows of numbers")


def check_size(path: Path, size: int) -> None:
    """Refuse a file that becomes too large, bytes."""
    most = most_unpacked(path)
    if size > most:
        raise InvalidInputError(f"table {path}", f"{size} bytes when unpacked", f"{most} at most")


def recording_length(shapes: Iterable[tuple[int, ...]]) -> int:
    """Rows that arrays of these shapes have in common: the length of the longest vector; 0 without one."""
    vectors = [max(shape) for shape in shapes if shape and len(shape) < 3 and max(shape) == np.prod(shape) > 1]
    return max(vectors, default=0)


def lies_across(shape: tuple[int, ...], rows: int) -> bool:
    """Whether an array has its rows along the second axis."""
    return len(shape) == 2 and shape[0] != rows == shape[1]


def _datasets(path: Path, file: h5py.File) -> dict[str, Any]:
    """The numeric datasets of an HDF5 file by their paths in it.

    Links are not followed, and a dataset whose bytes are in another file is refused: a recording would show what that
    file holds.
    """
    found: dict[str, Any] = {}
    total = visited = 0

    def visit(name: str, item: object) -> None:
        nonlocal total, visited
        visited += 1
        if visited > MOST_OBJECTS:
            raise InvalidInputError(f"table {path}", f"more than {MOST_OBJECTS} groups and datasets", "fewer")
        if name.count("/") > _DEEPEST_GROUP:
            raise InvalidInputError(f"table {path}", "groups in groups", f"{_DEEPEST_GROUP} levels at most")
        if not isinstance(item, h5py.Dataset) or item.dtype.kind not in "fiu":
            return
        if item.external or item.is_virtual:
            raise InvalidInputError(f"table {path}", f"{name} in another file", "datasets within the file")
        if len(found) >= MOST_ARRAYS:
            raise InvalidInputError(f"table {path}", f"more than {MOST_ARRAYS} datasets", f"{MOST_ARRAYS} at most")
        total += item.nbytes
        check_size(path, total)
        if item.chunks and math.prod(item.chunks) * item.dtype.itemsize > LARGEST_CHUNK:
            raise InvalidInputError(f"table {path}", f"{name} in larger chunks", f"{LARGEST_CHUNK} bytes each at most")
        found[name] = item

    # Soft and external links are passed over by h5py's visitor, which goes along hard ones only.
    file.visititems(visit)
    return found


def _try_out(path: Path) -> None:
    """Look at every group, and read every chunk once that filters unpack: to the size that its bytes lead to."""
    # What is refused here is refused again, with its reason.
    with suppress(InvalidInputError), h5py.File(path) as file:
        for dataset in _datasets(path, file).values():
            if dataset.id.get_create_plist().get_nfilters():
                for part in dataset.iter_chunks():
                    dataset[part]


def _matrices(path: Path) -> dict[str, Any]:
    """The numeric matrices of a MATLAB file before version 7.3."""
    # It is slow to import, and no other table needs it.
    from scipy.io import loadmat

    try:
        most = most_unpacked(path)
        if _unpacked_more(path, most):
            raise InvalidInputError(f"table {path}", f"more than {most} bytes when unpacked", f"{most} at most")
        read = functools.partial(loadmat, path, struct_as_record=False, squeeze_me=False)
        with warnings.catch_warnings():
            # It leaves out what has no numbers, and goes on where it must not.
            warnings.simplefilter("ignore", UserWarning)
            warnings.filterwarnings("error", "Duplicate variable name|We do not support byte ordering")
            # Its reader follows the lengths in a file without looking, and can end the process.
            if not survives(read, PATIENCE):
                raise InvalidInputError("table", str(path), "a MATLAB file that its reader survives")
            loaded = read()
    except InvalidInputError:
        raise
    except Exception as error:
        # Its reader raises whatever the bytes lead it to.
        raise InvalidInputError("table", str(path), f"a MATLAB file that can be read ({one_reason(error)})") from error
    found: dict[str, Any] = {}
    for name, value in loaded.items():
        if not name.startswith("__"):
            _collect(name, value, found, 0)
    return found


def _unpacked_more(path: Path, most: int) -> bool:
    """Whether the compressed variables of a MATLAB file of version 5 to 7 have more than `most` bytes unpacked."""
    with open(path, "rb") as file:
        head = file.read(128)
        order: Literal["little", "big"] = "little" if head[126:128] == b"IM" else "big"
        while len(tag := file.read(8)) == 8 and head[126:128] in (b"IM", b"MI"):
            kind, size = (int.from_bytes(part, order) for part in (tag[:4], tag[4:]))
            end, reader = file.tell() + size, zlib.decompressobj()
            while kind == _COMPRESSED and (piece := file.read(min(_PIECE, end - file.tell()))):
                while piece and most >= 0:
                    most -= len(reader.decompress(piece, _PIECE))
                    piece = reader.unconsumed_tail
            if most < 0:
                return True
            file.seek(end)
    return False


def _collect(name: str, value: Any, found: dict[str, Any], depth: int) -> None:
    """Numbers in a variable, and in the fields of a structure."""
    if depth > _DEEPEST:
        return
    fields: Iterable[str] | None = getattr(value, "_fieldnames", None)
    if fields is not None:
        for key in fields:
            _collect(f"{name}/{key}", getattr(value, key), found, depth + 1)
    elif isinstance(value, np.ndarray) and value.dtype == object and value.size == 1:
        _collect(name, value.reshape(-1)[0], found, depth + 1)
    elif isinstance(value, np.ndarray) and value.dtype.kind in "fiu" and value.size:
        found[name] = value


def _oriented(found: Mapping[str, Array]) -> dict[Name, Array]:
    """Arrays (m,), (m, k) and numbers () of what MATLAB has in matrices of any orientation."""
    rows = recording_length([value.shape for value in found.values()])
    turned: dict[Name, Array] = {}
    for name, value in found.items():
        if value.ndim < 3:
            upright = value.T if lies_across(value.shape, rows) else value
            column = upright[:, 0] if upright.ndim == 2 and upright.shape[1] == 1 else upright
            turned[name] = value.reshape(()) if value.size == 1 else column
    return turned
