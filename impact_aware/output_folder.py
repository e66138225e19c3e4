"""A folder of results that appears whole or not at all, and never over other results by accident."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Collection, Iterable
from pathlib import Path
from types import TracebackType

from impact_aware.errors import ImpactAwareError, InvalidInputError


class OutputError(ImpactAwareError):
    """Results can't be written."""


class OutputFolder:
    """Collects results in a folder beside the wanted one, and moves them there when all of them are written.

    Used as a context manager, which gives the folder to write to. When something goes wrong inside, nothing stays.
    """

    def __init__(self, folder: Path, *, results: Collection[str], inputs: Iterable[Path], force: bool) -> None:
        """Refuse a folder that must not be written to.

        Args:
            folder: Where the results shall be.
            results: Names that results have; one of them in the folder means that there are results already.
            inputs: Recordings that were read, into which nothing may be written.
            force: Replace results that are there.

        Raises:
            InvalidInputError: The folder is, or is inside, a recording, is a file, or holds results.
        """
        self._target = folder
        resolved = folder.resolve()
        for recording in inputs:
            inside = recording.resolve()
            if resolved == inside or (recording.is_dir() and inside in resolved.parents):
                raise InvalidInputError("out", str(folder), f"a folder outside the recording {recording}")
        if folder.exists() and not folder.is_dir():
            raise InvalidInputError("out", str(folder), "a folder")
        there = sorted(name for name in results if (folder / name).exists())
        if there and not force:
            raise InvalidInputError("out", f"{folder}, which has {', '.join(there)}", "another folder, or --force")
        self._unfinished = resolved.with_name(f".{resolved.name}.unfinished-{os.getpid()}")

    def __enter__(self) -> Path:
        """Make the folder to write to.

        Raises:
            OutputError: It can't be made.
        """
        try:
            self._unfinished.mkdir(parents=True)
        except OSError as error:
            raise OutputError(self._sentence(error)) from error
        return self._unfinished

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Move the results to where they belong, or remove them after an error.

        Raises:
            OutputError: There is no room, or no right to write.
        """
        try:
            if error is None:
                self._move()
        except OSError as problem:
            error = problem
        finally:
            shutil.rmtree(self._unfinished, ignore_errors=True)
        cause = error if isinstance(error, OSError) else getattr(error, "__cause__", None)
        if isinstance(cause, OSError):
            raise OutputError(self._sentence(cause)) from error

    def _move(self) -> None:
        if not self._target.exists():
            os.rename(self._unfinished, self._target)
            return
        for path in sorted(self._unfinished.iterdir()):
            place = self._target / path.name
            if place.is_dir() and not place.is_symlink():
                shutil.rmtree(place)
            os.replace(path, place)

    def _sentence(self, error: OSError) -> str:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        reason = "there is no room" if full else (error.strerror or str(error)).lower()
        return f"{self._target}: the results can't be written ({reason}); nothing was left there"
