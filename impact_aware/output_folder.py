"""A folder of results that is one unit: it appears whole or not at all, and takes the place of another one whole.

Results carry a marker, `.impact_aware.json`, with the command that wrote them. They are collected in a hidden folder
beside the wanted one, which is locked as long as its process lives; one that a killed process left is removed by the
next run.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import glob
import json
import os
import shutil
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from impact_aware.errors import ImpactAwareError, InvalidInputError
from impact_aware.resources import read_text

MARKER = ".impact_aware.json"
"""Name of the file by which a folder of results is known as ours."""

_AT_FDCWD, _NO_REPLACE, _EXCHANGE = -100, 1, 2
_MOST_ASIDE = 100_000


class OutputError(ImpactAwareError):
    """Results can't be written."""


class OutputFolder:
    """Collects results, and moves them to where they belong when all of them are written.

    Used as a context manager, which gives the folder to write to.

    Attributes:
        kept: Where the results of a run that failed are, with `aside`; None before.
        moved: Where earlier results were moved, with `aside`; None before.
    """

    def __init__(
        self, folder: Path, command: str, *, inputs: Iterable[Path] = (), force: bool = False, aside: bool = False
    ) -> None:
        """Refuse a folder that must not be written to.

        Args:
            folder: Where the results shall be.
            command: What makes them, such as `analyze`; only its own results are replaced.
            inputs: Recordings that were read, into which nothing may be written.
            force: Replace results that are there; files that others put beside them stay.
            aside: Move results that are there aside, to a name with a number, and those of a run that fails too.

        Raises:
            InvalidInputError: The folder is a recording or in one, holds one, is a file or a link, holds results that
                may not be replaced or something else, or is the current folder or one around it.
        """
        self._command, self._force, self._aside = command, force, aside
        self._target = usable_folder(folder)
        for recording in inputs:
            # Not Path.resolve, which ends at links that lead to themselves.
            inside = Path(os.path.realpath(recording))
            within = recording.is_dir() and inside in self._target.parents
            if self._target in (inside, *inside.parents) or within:
                raise InvalidInputError("out", str(folder), f"a folder outside the recording {recording}")
        self._check()
        self._unfinished = self._target.with_name(f".{self._target.name}.unfinished-{os.getpid()}")
        self._lock: FolderLock | None = None
        self.kept: Path | None = None
        self.moved: Path | None = None

    def _check(self) -> dict[str, Any] | None:
        """Refuse a folder that results can't take the place of, before the work and after it; returns its marker."""
        folder, written = self._target, marker_of(self._target)
        if _is_mount_point(folder):
            raise InvalidInputError("out", f"{folder}, a mount point", "a folder in it, which can be replaced whole")
        above = next(path for path in folder.parents if path.exists())
        if not os.access(above, os.W_OK | os.X_OK):
            raise InvalidInputError("out", str(folder), f"a folder whose place, {above}, can be written to")
        if folder.is_dir() and _is_another_s(folder):
            raise InvalidInputError("out", f"{folder}, which is another user's", "a folder that you can replace")
        if written is None and folder.is_dir() and any(folder.iterdir()):
            raise InvalidInputError("out", f"{folder}, which is no result of this project", "a new or empty folder")
        if written is not None and written.get("command") != self._command:
            raise InvalidInputError("out", f"{folder}, a result of {written.get('command')}", "a new or empty folder")
        if written is not None and not (self._force or self._aside):
            raise InvalidInputError("out", f"{folder}, which has results", "another folder, or --force")
        for name in _files(folder) if written is not None and not self._aside else ():
            if not (folder / name).is_symlink() and not (folder / name).is_file():
                raise InvalidInputError("out", f"{folder} with {name}", "files and folders in it, no pipe or device")
        return written

    def __enter__(self) -> Path:
        """Make the folder to write to.

        Raises:
            OutputError: It can't be made.
        """
        try:
            sweep(self._target)
            self._unfinished.mkdir(parents=True)
            (self._unfinished / MARKER).write_text(json.dumps({"command": self._command, "complete": False}))
            self._lock = FolderLock(self._unfinished)
        except OSError as error:
            shutil.rmtree(self._unfinished, ignore_errors=True)
            raise OutputError(self._sentence(error)) from error
        return self._unfinished

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Move the results to where they belong; after an error remove them, or keep them aside.

        Raises:
            OutputError: There is no room, or no right to write.
        """
        try:
            if error is None:
                self._finish()
            elif self._aside:
                with contextlib.suppress(OSError):
                    self._keep(self._target.with_name(f"{self._target.name}.failed"))
        except OSError as problem:
            error = problem
        except InvalidInputError as problem:
            # Another run or the user made the folder meanwhile: theirs stays, and this run's work is not lost.
            self._keep(self._target)
            raise OutputError(f"{problem}; the results are in {self.kept}") from problem
        finally:
            shutil.rmtree(self._unfinished, ignore_errors=True)
            if self._lock is not None:
                self._lock.close()
        cause = error if isinstance(error, OSError) else getattr(error, "__cause__", None)
        if isinstance(cause, OSError):
            raise OutputError(self._sentence(cause)) from error

    def _keep(self, path: Path) -> None:
        """Move what was written to the first free name after this path."""
        kept = free_name(path)
        os.rename(self._unfinished, kept)
        self.kept = kept

    def _finish(self) -> None:
        own = sorted(name for name in _files(self._unfinished) if name != MARKER)
        content = {"command": self._command, "complete": True, "files": own}
        write_whole(self._unfinished / MARKER, json.dumps(content, indent=1) + "\n")
        before = self._check()
        if before is not None and not self._aside:
            _carry_over(self._target, self._unfinished, {MARKER, *map(str, before.get("files") or ()), *own})
        _sync(self._unfinished)
        if before is None:
            # A folder can take the place of an empty one.
            os.rename(self._unfinished, self._target)
        else:
            exchange(self._unfinished, self._target)
            if self._aside:
                # Another run may have swept the earlier results aside in this very moment.
                with contextlib.suppress(FileNotFoundError):
                    moved = free_name(self._target)
                    os.rename(self._unfinished, moved)
                    self.moved = moved
        _sync(self._target.parent)

    def _sentence(self, error: OSError) -> str:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        reason = "there is no room" if full else (error.strerror or str(error)).lower()
        return f"{self._target}: the results can't be written ({reason}); nothing was left there"


def usable_folder(folder: Path) -> Path:
    """The folder with its full path.

    Raises:
        InvalidInputError: A file, a link, or the current folder or one around it.
    """
    try:
        resolved = folder.resolve()
        here = Path.cwd().resolve()
        if folder.is_symlink():
            raise InvalidInputError("out", str(folder), "a folder, not a link to one")
        if folder.exists() and not folder.is_dir():
            raise InvalidInputError("out", str(folder), "a folder")
    except InvalidInputError:
        raise
    except (OSError, RuntimeError, ValueError) as error:
        raise InvalidInputError("out", str(folder), f"a folder that can be reached ({error})") from error
    if resolved == here or resolved in here.parents:
        raise InvalidInputError("out", repr(str(folder)), "a separate folder, not the current one or one around it")
    return resolved


def marker_of(folder: Path) -> dict[str, Any] | None:
    """Return the content of a folder's marker; None without a valid one."""
    try:
        content = json.loads(read_text("marker", folder / MARKER))
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) and "command" in content else None


class FolderLock:
    """A lock on a folder, which moves with it and ends with its process at the latest.

    Attributes:
        held: Whether it is this one's; on file systems that have no locks it always is.
    """

    def __init__(self, folder: Path) -> None:
        """Take the lock if it is free.

        Raises:
            OSError: The folder can't be opened.
        """
        # A pipe would be waited for, and a link leads to what is another's.
        self._number = os.open(folder, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
        self.held = True
        try:
            fcntl.flock(self._number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self.held = error.errno not in (errno.EWOULDBLOCK, errno.EACCES)

    def close(self) -> None:
        """Give it back."""
        os.close(self._number)


def sweep(target: Path) -> None:
    """Remove what killed processes left beside a folder of results; whole results among it are kept aside."""
    for left in filter(Path.is_dir, target.parent.glob(f".{glob.escape(target.name)}.unfinished-*")):
        with contextlib.suppress(OSError):
            with contextlib.closing(FolderLock(left)) as lock:
                if lock.held and (marker_of(left) or {}).get("complete"):
                    os.rename(left, free_name(target))
                elif lock.held:
                    shutil.rmtree(left)


def free_name(path: Path) -> Path:
    """The path with the first number after it that nothing has yet."""
    for number in range(1, _MOST_ASIDE):
        candidate = path.with_name(f"{path.name}.{number}")
        if not candidate.exists() and not candidate.is_symlink():
            return candidate
    raise OSError(errno.EEXIST, f"there are {_MOST_ASIDE} of {path.name}")


def write_whole(path: Path, content: str | bytes | Callable[[BinaryIO], object], *, replace: bool = True) -> None:
    """Write a file that is there with its old content or with the new one, whenever the process is killed.

    Args:
        path: The file.
        content: Its text or bytes, or what writes them to an open file.
        replace: Whether a file that is there is replaced.

    Raises:
        FileExistsError: There is a file that is not to be replaced.
        OSError: It can't be written.
    """
    _sweep_parts(path)
    # The file's name may be as long as a name can be.
    partial = path.with_name(f".{path.name[:40]}.{os.getpid()}.part")
    try:
        partial.unlink(missing_ok=True)
        # A link that waits there would lead to another file.
        with open(partial, "xb") as file:
            with contextlib.suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if callable(content):
                content(file)
            else:
                # Names of files may hold what is no text.
                file.write(content.encode(errors="backslashreplace") if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        if replace:
            os.replace(partial, path)
        else:
            _rename_to_new(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def _sweep_parts(path: Path) -> None:
    """Remove what processes that were killed while they wrote this file left beside it."""
    for left in path.parent.glob(f".{glob.escape(path.name[:40])}.*.part"):
        number = left.name.removesuffix(".part").rpartition(".")[2]
        if not number.isdecimal() or _runs(int(number)):
            continue
        with contextlib.suppress(OSError):
            # Its process may be one of another machine or container.
            with contextlib.closing(FolderLock(left)) as lock:
                if lock.held:
                    left.unlink()


def _runs(process: int) -> bool:
    """Whether there is a process of this number, a user's own or another one's."""
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        pass
    return True


def _rename_to_new(one: Path, other: Path) -> None:
    """Rename a file to a name that nothing has; where the system can't at once, between a look and the deed."""
    if _renamed(one, other, _NO_REPLACE):
        return
    if os.path.lexists(other):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(other))
    os.rename(one, other)


def exchange(one: Path, other: Path) -> None:
    """Let two folders change places at once; where the system can't, there is a moment without `other`.

    Raises:
        OSError: They can't.
    """
    if _renamed(one, other, _EXCHANGE):
        return
    between = one.with_name(f"{one.name}.between")
    os.rename(other, between)
    os.rename(one, other)
    os.rename(between, one)


def _renamed(one: Path, other: Path, how: int) -> bool:
    """Rename `one` to `other` by Linux's flags `how`; returns False where the system or the disk can't."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None) if sys.platform == "linux" else None
    if rename is None:
        return False
    if rename(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), how) == 0:
        return True
    number = ctypes.get_errno()
    if number not in (errno.EINVAL, errno.ENOSYS, errno.EPERM):
        raise OSError(number, os.strerror(number), str(other))
    return False


def _is_mount_point(folder: Path) -> bool:
    """Whether a file system is mounted at the folder, one that another path shows as well included."""
    with contextlib.suppress(OSError):
        mounts = Path("/proc/self/mountinfo").read_bytes().splitlines()
        # Blanks and the like are octal there.
        places = {line.split()[4].decode("unicode_escape").encode("latin-1") for line in mounts}
        return os.fsencode(folder) in places
    return os.path.ismount(folder)


def _is_another_s(folder: Path) -> bool:
    """Whether only another user may rename the folder, as in a sticky one such as `/tmp`."""
    place = folder.parent.stat()
    return bool(place.st_mode & stat.S_ISVTX) and os.geteuid() not in (0, place.st_uid, folder.stat().st_uid)


def _files(folder: Path) -> Iterator[str]:
    """Paths in a folder, at any depth, of all that is no folder."""
    for place, folders, names in os.walk(folder):
        links = [name for name in folders if os.path.islink(os.path.join(place, name))]
        for name in (*names, *links):
            yield os.path.relpath(os.path.join(place, name), folder)


def _carry_over(source: Path, target: Path, without: set[str]) -> None:
    """Copy what others put beside earlier results."""
    for name in _files(source):
        if name not in without:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source / name, target / name, follow_symlinks=False)


def _sync(folder: Path) -> None:
    """Have the entries of a folder on the disk."""
    with contextlib.suppress(OSError):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
