"""The arrays of NumPy, HDF5 and MATLAB files by their names.

MATLAB has times as `(m, 1)` or `(1, m)`, and joints in rows or in columns: the longest vector tells which axis is that
of time. Fields of structures have names such as `log/q`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias, cast

import h5py
import numpy as np

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError, one_reason
from impact_aware.resources import check_unpacked, most_unpacked

Name: TypeAlias = "str | int"

MOST_ARRAYS = 4096
"""Datasets of a file."""

_DEEPEST = 4
"""Structures within each other."""


@contextmanager
def open_arrays(path: Path) -> Iterator[Mapping[Name, Any]]:
    """The arrays of a file by name; none of them read yet where it allows that."""
    if path.suffix.lower() in (".h5", ".hdf5"):
        with h5py.File(path) as file:
            yield _datasets(path, file)
        return
    if path.suffix.lower() == ".mat":
        yield from _variables(path)
        return
    loaded = np.load(path, mmap_mode="r", allow_pickle=False)
    if isinstance(loaded, np.lib.npyio.NpzFile):
        with loaded:
            check_unpacked("table", path, path, most_unpacked(path))
            yield cast(Mapping[Name, Any], loaded)
    elif loaded.dtype.names:
        yield {name: loaded[name] for name in loaded.dtype.names}
    elif path.suffix.lower() == ".npy" and loaded.ndim == 2:
        yield dict(enumerate(loaded.T))
    else:
        given = f"{path}, a single array of shape {loaded.shape}"
        raise InvalidInputError("table", given, "arrays with names, or in a .npy file rows of numbers")


def _variables(path: Path) -> Iterator[Mapping[Name, Any]]:
    """The arrays of a MATLAB file, of either format."""
    if not h5py.is_hdf5(path):
        yield cast(Mapping[Name, Any], _matrices(path, most_unpacked(path)))
        return
    with h5py.File(path) as file:
        whole = _datasets(path, file)
        # Cells are references to what stands in #refs#.
        named = {str(name): np.asarray(item) for name, item in whole.items() if not str(name).startswith("#")}
        yield cast(Mapping[Name, Any], _oriented(named))


def _datasets(path: Path, file: h5py.File) -> dict[Name, Any]:
    """The numeric datasets of an HDF5 file by their paths in it.

    Links are not followed, and a dataset whose bytes are in another file is refused: a recording would show what that
    file holds.
    """
    found: dict[Name, Any] = {}

    def visit(name: str, item: object) -> None:
        if not isinstance(item, h5py.Dataset) or item.dtype.kind not in "fiu":
            return
        if item.external or item.is_virtual:
            raise InvalidInputError(f"table {path}", f"{name} in another file", "datasets within the file")
        if len(found) >= MOST_ARRAYS:
            raise InvalidInputError(f"table {path}", f"more than {MOST_ARRAYS} datasets", f"{MOST_ARRAYS} at most")
        check_size(path, item.nbytes)
        found[name] = item

    # Soft and external links are passed over by h5py's visitor, which goes along hard ones only.
    file.visititems(visit)
    return found


def check_size(path: Path, size: int) -> None:
    """Refuse a file that becomes too large, bytes."""
    most = most_unpacked(path)
    if size > most:
        raise InvalidInputError(f"table {path}", f"{size} bytes when unpacked", f"{most} at most")


def _matrices(path: Path, most: int) -> dict[str, Array]:
    """Numeric arrays by their names, (m,) or (m, k).

    Args:
        path: The file; not one of version 7.3, which `h5py` reads.
        most: Bytes that its arrays may have.

    Raises:
        InvalidInputError: More than that, or a file that can't be read.
    """
    # It is slow to import, and no other table needs it.
    from scipy.io import loadmat, whosmat

    try:
        size = sum(8 * int(np.prod(shape, dtype=object)) for _, shape, _ in whosmat(path))
        if size > most:
            raise InvalidInputError(f"table {path}", f"{size} bytes when unpacked", f"{most} at most")
        loaded = loadmat(path, struct_as_record=False, squeeze_me=False)
    except InvalidInputError:
        raise
    except Exception as error:
        # Its reader raises whatever the bytes lead it to.
        raise InvalidInputError("table", str(path), f"a MATLAB file that can be read ({one_reason(error)})") from error
    found: dict[str, Any] = {}
    for name, value in loaded.items():
        if not name.startswith("__"):
            _collect(name, value, found, 0)
    return _oriented(found)


def _oriented(found: Mapping[str, Any]) -> dict[str, Array]:
    """Arrays (m,), (m, k) and numbers () of what MATLAB has in matrices of any orientation."""
    rows = recording_length([np.shape(value) for value in found.values()])
    return {name: _plain(np.asarray(value), rows) for name, value in found.items() if np.ndim(value) < 3}


def recording_length(shapes: Iterable[tuple[int, ...]]) -> int:
    """Rows that arrays of these shapes have in common: the length of the longest vector; 0 without one."""
    vectors = [max(shape) for shape in shapes if shape and len(shape) < 3 and max(shape) == np.prod(shape) > 1]
    return max(vectors, default=0)


def lies_across(shape: tuple[int, ...], rows: int) -> bool:
    """Whether an array has its rows along the second axis."""
    return len(shape) == 2 and shape[0] != rows == shape[1]


def _plain(value: Array, rows: int) -> Array:
    if lies_across(value.shape, rows):
        value = value.T
    if value.size == 1:
        return value.reshape(())
    return value[:, 0] if value.ndim == 2 and value.shape[1] == 1 else value


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
