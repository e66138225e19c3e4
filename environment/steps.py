"""Commands of the setup: run with their output in a log, a progress line, and the time that each took."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TAIL_LINES = 40


class SetupError(Exception):
    """The setup cannot go on; the message is the one line that the user needs."""


def say(text: str) -> None:
    """Print one line of progress at once, also into a pipe."""
    print(f"[setup] {text}", flush=True)


@dataclass(frozen=True, eq=False)
class Job:
    """One command of the setup.

    Attributes:
        title: Name in the progress lines.
        command: The program and its arguments.
        log: File to which its output is appended; shown, the last lines of it, only on failure.
    """

    title: str
    command: Sequence[str | Path]
    log: Path


def run(title: str, command: Sequence[str | Path], log: Path, environment: Mapping[str, str] | None = None) -> None:
    """Run one command; `run_together` for a single job."""
    run_together([Job(title, command, log)], environment)


def run_together(jobs: Sequence[Job], environment: Mapping[str, str] | None = None) -> None:
    """Run commands at the same time; on a terminal one line shows the elapsed time and the newest line of output.

    Raises:
        SetupError: A command ended with another code than zero; the others are ended first.
    """
    started = time.monotonic()
    live = sys.stdout.isatty()
    running: dict[Job, subprocess.Popen[bytes]] = {}
    try:
        for job in jobs:
            job.log.parent.mkdir(parents=True, exist_ok=True)
            arguments = [str(part) for part in job.command]
            if not live:
                say(f"{job.title} ...")
            with job.log.open("a", encoding="utf-8", errors="replace") as out:
                out.write(f"$ {' '.join(arguments)}\n")
                out.flush()
                running[job] = subprocess.Popen(
                    arguments, stdout=out, stderr=subprocess.STDOUT, cwd=ROOT, env=environment
                )
        while running:
            time.sleep(0.1)
            elapsed = time.monotonic() - started
            if live:
                print(f"\r\033[K[setup] {_progress(running, elapsed)}", end="", flush=True)
            for job in [job for job, process in running.items() if process.poll() is not None]:
                code = running.pop(job).returncode
                if live:
                    print("\r\033[K", end="")
                if code != 0:
                    print("\n".join(_lines(job.log)[-TAIL_LINES:]), file=sys.stderr)
                    raise SetupError(
                        f"{job.title}: failed with code {code} after {elapsed:.0f} s; all output is in {job.log}"
                    )
                say(f"{job.title}: done in {elapsed:.0f} s")
    except BaseException:
        for process in running.values():
            process.terminate()
        for process in running.values():
            process.wait()
        raise


def _progress(running: Iterable[Job], elapsed: float) -> str:
    """One line for a terminal: the titles, the elapsed time, and the newest line of the first job's output."""
    jobs = list(running)
    newest = (_lines(jobs[0].log) or [""])[-1].strip()
    text = f"{', '.join(job.title for job in jobs)} ... {elapsed:.0f} s  {newest}"
    return text[: max(20, shutil.get_terminal_size().columns - len("[setup] ") - 1)]


def _lines(log: Path) -> list[str]:
    return log.read_text(encoding="utf-8", errors="replace").splitlines()


def fingerprint(files: Iterable[Path], *facts: str) -> str:
    """A hash that changes when a file's name or content, or one of the `facts`, does."""
    digest = hashlib.sha256()
    for fact in facts:
        digest.update(fact.encode() + b"\0")
    for path in sorted(files):
        digest.update(os.path.relpath(path, ROOT).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


class Stamp:
    """What a step was last done for, in a file that exists only while that is true."""

    def __init__(self, path: Path) -> None:
        """Keep the stamp in the file `path`."""
        self.path = path

    def matches(self, key: str) -> bool:
        """Whether the step was completed for `key`."""
        return self.path.is_file() and self.path.read_text(encoding="utf-8").strip() == key

    def clear(self) -> None:
        """Forget the step, before it is done again: an interrupted step must not look finished."""
        self.path.unlink(missing_ok=True)

    def write(self, key: str) -> None:
        """Record that the step is complete for `key`."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(key + "\n", encoding="utf-8")
