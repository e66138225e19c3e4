"""Loops over small arrays, compiled: where NumPy would spend the time of a control cycle on being called.

A NumPy call on seven numbers takes longer than the arithmetic in it by a hundred times, and more where the processor's
caches were used by others meanwhile, as they are between two cycles. Functions that carry `@compiled` are plain Python
with loops, which Numba translates once, when their module is imported for the first time; the result is kept beside the
source, or in the user's cache folder where that can't be written to, until one of the files changes that hold them.

A process that needs a few values only, such as `impact-aware predict`, lets the interpreter run the same functions
(`without_compiler`): results are equal to the last bit, since neither reorders or fuses operations.

Kept results are machine code and pickles: they are read only from a folder that no other user can write to. A damaged
one is translated again, and a full disk keeps none; each is one line in the log.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import logging
import os
import signal
import stat
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from impact_aware.library_settings import compiler_is_wanted, numba_without_files

if compiler_is_wanted():
    with numba_without_files():
        from numba import config, njit, types
        from numba.core import dispatcher
        from numba.core.caching import FunctionCache
        from numba.extending import register_jitable
else:

    class _Unused:
        """Stands in for the names of Numba that describe types."""

        def __getattr__(self, name: str) -> _Unused:
            return self

        def __call__(self, *given: object, **options: object) -> _Unused:
            return self

    config = dispatcher = types = _Unused()  # type: ignore[assignment]
    FunctionCache = object  # type: ignore[assignment, misc]

Function = TypeVar("Function", bound=Callable[..., object])

NOTHING, FLAG, INDEX, NUMBER = types.void, types.boolean, types.int64, types.float64
"""Types of what is given or returned."""

FLAG_AND_INDEX = types.Tuple((types.boolean, types.int64))
"""Two answers of one function."""

PAIR, TRIPLE, FOUR, SIX, NINE = (types.UniTuple(types.float64, count) for count in (2, 3, 4, 6, 9))
"""As many numbers together."""

VECTOR, MATRIX = (types.Array(types.float64, dimensions, "A", readonly=True) for dimensions in (1, 2))
"""Arrays that are only read, of any memory layout."""

DENSE_VECTOR, DENSE_MATRIX = (types.Array(types.float64, dimensions, "C") for dimensions in (1, 2))
"""Arrays that are written to, row after row in memory: room to work in, which is quicker so."""

CONSTANT_VECTOR, CONSTANT_MATRIX = (types.Array(types.float64, dimensions, "C", readonly=True) for dimensions in (1, 2))
"""Arrays that are only read, row after row in memory."""

TABLES, DENSE_TABLES = types.Array(types.float64, 3, "A", readonly=True), types.Array(types.float64, 3, "C")
"""Tables of three dimensions: one that is only read, and one that is written to."""

SMALL_INDICES = types.Array(types.int8, 1, "C")
INDICES, INDEX_MATRIX = (types.Array(types.int64, dimensions, "C") for dimensions in (1, 2))
"""Arrays of integers, by number of dimensions."""

INDEX_PAIR, THREE_INDICES = (types.UniTuple(types.int64, count) for count in (2, 3))
NUMBER_AND_INDEX = types.Tuple((types.float64, types.int64))
"""Answers of one function."""

WRITTEN_VECTOR, WRITTEN_MATRIX = (types.Array(types.float64, dimensions, "A") for dimensions in (1, 2))
"""Arrays that are written to."""


@contextlib.contextmanager
def _later_interrupts() -> Iterator[None]:
    """Let Ctrl-C wait: in a callback of the compiler it would be swallowed, and the process would not end."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


MARKS = b"\n@compiled(", b"\nTRANSLATED = "
"""What a file has in it that holds compiled functions, or parts of some."""


def fingerprint(package: Path) -> str:
    """Hash this file and those marked: Numba compares only the file of a function, not the files of its callees."""
    digest = hashlib.sha256(Path(__file__).read_bytes())
    for path in sorted(package.rglob("*.py")):
        content = path.read_bytes()
        if any(mark in content for mark in MARKS):
            digest.update(content)
    return digest.hexdigest()[:16]


def private_folder(folders: Sequence[Path]) -> Path | None:
    """Return the first folder that is or can be made writable for this user alone; None without one."""
    for folder in folders:
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            folder.mkdir(mode=0o700, exist_ok=True)
            found = folder.lstat()
            if stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o022:
                with tempfile.TemporaryFile(dir=folder):
                    return folder
        except OSError:
            continue
    return None


_settings, _used = vars(config), vars(dispatcher)


@functools.cache
def _cache_folder() -> Path | None:
    package = Path(__file__).parent
    bases = [Path(os.environ.get("NUMBA_CACHE_DIR") or package / "__pycache__")]
    with contextlib.suppress(RuntimeError):  # no home
        bases.append(Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "impact_aware")
    name = f"numba-{fingerprint(package)}"
    return private_folder([base.absolute() / name for base in bases])


@functools.cache
def _report(problem: str) -> None:
    logging.getLogger(__name__).warning("compiled functions: %s", problem)


class _Cache(FunctionCache):
    """Numba's cache of one function; what it can't read is translated again, what it can't write is not kept."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # unpickling a damaged file raises anything
            _report(f"damaged files in {Path(self.cache_path).parent} are replaced")
            with contextlib.suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except OSError as error:
            _report(f"{Path(self.cache_path).parent} keeps none, they are translated anew ({error.strerror})")
            # An index without its data would be read in vain by every process.
            with contextlib.suppress(OSError):
                self.flush()


@contextlib.contextmanager
def _cached_in(folder: Path) -> Iterator[None]:
    before, _settings["CACHE_DIR"] = _settings["CACHE_DIR"], str(folder)
    _used["FunctionCache"] = _Cache
    try:
        yield
    finally:
        _settings["CACHE_DIR"], _used["FunctionCache"] = before, FunctionCache


def compiled(returned: Any, *given: Any, nogil: bool = False) -> Callable[[Function], Function]:
    """Translate a function for these types; anything else that it is called with is a TypeError.

    Division by zero gives infinities as in NumPy, sums are not reordered, values that are not finite compare as in
    IEEE 754, and indices are not checked.

    Args:
        returned: Type of the result.
        given: Types of the arguments.
        nogil: Whether other threads may run Python meanwhile, for what takes long.
    """

    def translate(function: Function) -> Function:
        if not compiler_is_wanted():
            return function
        folder = _cache_folder()
        with _later_interrupts():
            if folder is None:
                # Nowhere to keep the result, as under a service without a home: every process translates anew.
                return njit(returned(*given), error_model="numpy", nogil=nogil)(function)
            with _cached_in(folder):
                return njit(returned(*given), cache=True, error_model="numpy", nogil=nogil)(function)

    return translate


def part(*, inline: bool = False) -> Callable[[Function], Function]:
    """Translate a function within those that call it; `inline` makes short calls no calls."""

    def translate(function: Function) -> Function:
        if not compiler_is_wanted():
            return function
        translated: Function = register_jitable(error_model="numpy", forceinline=inline)(function)
        return translated

    return translate
