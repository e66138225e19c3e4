"""One step of the setup: a title, a command whose output goes to a log, and how long it took."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TAIL_LINES = 40


class SetupError(Exception):
    """The setup cannot go on; the message is the one line that the user needs."""


def say(text: str) -> None:
    """Print one line of progress at once, also into a pipe."""
    print(f"[setup] {text}", flush=True)


def run(title: str, command: Sequence[str | Path], log: Path, environment: Mapping[str, str] | None = None) -> None:
    """Run `command` with its output appended to `log`; show elapsed time, and the log's end only when it fails.

    Raises:
        SetupError: The command ended with another code than zero.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    arguments = [str(part) for part in command]
    started = time.monotonic()
    live = sys.stdout.isatty()
    if not live:
        say(f"{title} ...")
    with log.open("a", encoding="utf-8", errors="replace") as out:
        out.write(f"$ {' '.join(arguments)}\n")
        out.flush()
        process = subprocess.Popen(arguments, stdout=out, stderr=subprocess.STDOUT, cwd=ROOT, env=environment)
        try:
            while True:
                try:
                    code = process.wait(timeout=1.0)
                    break
                except subprocess.TimeoutExpired:
                    if live:
                        print(f"\r[setup] {title} ... {time.monotonic() - started:.0f} s", end="", flush=True)
        except BaseException:
            process.terminate()
            process.wait()
            raise
    elapsed = time.monotonic() - started
    if live:
        print("\r\033[K", end="")
    if code != 0:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        print("\n".join(lines[-TAIL_LINES:]), file=sys.stderr)
        raise SetupError(f"{title}: failed with code {code} after {elapsed:.0f} s; everything it said is in {log}")
    say(f"{title}: done in {elapsed:.0f} s")


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
