"""The runs of a campaign, done by processes, and kept in a database that a kill leaves whole."""

from __future__ import annotations

import csv
import io
import json
import math
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from impact_aware.errors import ImpactAwareError, InvalidInputError
from impact_aware.experiments.campaign import Row, RunOptions, run_setup
from impact_aware.experiments.campaign_plan import Setup
from impact_aware.json_text import json_text
from impact_aware.output_folder import MARKER, FolderLock, marker_of, usable_folder, write_whole
from impact_aware.worker_pool import WorkersDiedError, finished

DATABASE, TABLE = "runs.sqlite", "runs.csv"

_TEXT = ("key", "campaign", "object", "controller", "cause", "first_contact")
_PATIENCE = 10.0


class CampaignError(ImpactAwareError):
    """A campaign can't go on; what it has done is kept."""


class CampaignStore:
    """A folder with one row per finished run, for one campaign at a time.

    Attributes:
        path: The rows as a table, for people and spreadsheets; written from the database.
        columns: Its columns.
        rows: Finished runs by their key.
    """

    def __init__(self, folder: Path, head: Mapping[str, Any], columns: Sequence[str]) -> None:
        """Open or begin the folder, and lock it until `close` or the end of the process.

        Args:
            folder: Made when it does not exist.
            head: What makes the campaign, in JSON's types; a folder keeps to the one that it began with.
            columns: Of a row.

        Raises:
            InvalidInputError: It holds another campaign, or something else; another campaign is writing to it.
        """
        self.columns = tuple(columns)
        self.rows: dict[str, Row] = {}
        self._folder = folder
        resolved = usable_folder(folder)
        self.path = resolved / TABLE
        try:
            resolved.mkdir(parents=True, exist_ok=True)
            with ExitStack() as opened:
                self._lock = FolderLock(resolved)
                opened.callback(self._lock.close)
                if not self._lock.held:
                    raise InvalidInputError("--out", str(folder), "a folder that no other campaign is writing to")
                self._open(resolved, json.loads(json.dumps(head)))
                opened.pop_all()
        except OSError as error:
            raise InvalidInputError("--out", str(folder), f"a folder to write to ({error.strerror})") from error
        except sqlite3.Error as error:
            raise InvalidInputError("--out", str(resolved / DATABASE), f"what a campaign wrote ({error})") from error

    def add(self, row: Row) -> None:
        """Keep a finished run at once; one that is there already stays.

        Raises:
            InvalidInputError: It can't be written.
        """
        text = json_text({name: row.get(name, "") for name in self.columns})
        try:
            with self._database:
                self._database.execute("INSERT OR IGNORE INTO runs VALUES (?, ?)", (row["key"], text))
        except sqlite3.Error as error:
            raise InvalidInputError("--out", str(self._folder), f"a folder to write to ({error})") from error
        # As it will be read again, so that a campaign that was interrupted gives what another one gives.
        self.rows.setdefault(row["key"], self._row(text))

    def write_in_order(self, keys: Iterable[str]) -> None:
        """Write the table in the order of `keys`, whatever order the runs ended in; others follow.

        Raises:
            InvalidInputError: It can't be written.
        """
        ordered = [self.rows[key] for key in keys if key in self.rows]
        known = {row["key"] for row in ordered}
        ordered += [row for key, row in self.rows.items() if key not in known]
        text = io.StringIO()
        writer = csv.DictWriter(text, self.columns, lineterminator="\n")
        writer.writeheader()
        for row in ordered:
            texts = ((name, row.get(name, "")) for name in self.columns)
            cells = ((name, repr(value) if isinstance(value, float) else str(value)) for name, value in texts)
            # A row is one line, also when the message of an error is not.
            writer.writerow({name: " ".join(text.split()) for name, text in cells})
        try:
            write_whole(self.path, text.getvalue())
        except OSError as error:
            raise InvalidInputError("--out", str(self._folder), f"a folder to write to ({error.strerror})") from error

    def close(self) -> None:
        """Let others write to the folder."""
        self._database.close()
        self._lock.close()

    def _open(self, folder: Path, head: dict[str, Any]) -> None:
        for partial in folder.glob(".*.part"):
            # Of a process that was killed while it wrote.
            partial.unlink(missing_ok=True)
        written = marker_of(folder)
        if written is None and any(path.name != MARKER for path in folder.iterdir()):
            raise InvalidInputError("--out", str(self._folder), "a new or empty folder, or one of this campaign")
        if written is not None and written.get("command") != "campaign":
            command = written.get("command")
            raise InvalidInputError("--out", f"{self._folder}, a result of {command}", "a new or empty folder")
        if written is None:
            write_whole(folder / MARKER, json.dumps({"command": "campaign"}) + "\n")
        self._database = sqlite3.connect(folder / DATABASE, timeout=_PATIENCE)
        with self._database:
            self._database.execute("CREATE TABLE IF NOT EXISTS head (name TEXT PRIMARY KEY, value TEXT NOT NULL)")
            self._database.execute("CREATE TABLE IF NOT EXISTS runs (key TEXT PRIMARY KEY, row TEXT NOT NULL)")
            found = {name: json.loads(value) for name, value in self._database.execute("SELECT name, value FROM head")}
            if not found:
                pairs = [(name, json.dumps(value)) for name, value in head.items()]
                self._database.executemany("INSERT INTO head VALUES (?, ?)", pairs)
                found = head
        for name, value in head.items():
            if found.get(name) != value:
                given = f"{name} {found.get(name)}"
                raise InvalidInputError(f"--out {self._folder}", given, f"{value}, or a new folder")
        for (text,) in self._database.execute("SELECT row FROM runs ORDER BY rowid"):
            row = self._row(text)
            self.rows[row["key"]] = row

    def _row(self, text: str) -> Row:
        try:
            content = json.loads(text)
            if set(content) != set(self.columns):
                raise ValueError("other columns")
        except (ValueError, TypeError) as error:
            expected = f"rows with this version's columns ({error}), or a new folder"
            raise InvalidInputError("--out", str(self._folder / DATABASE), expected) from error
        return {
            name: math.nan if name not in _TEXT and (value is None or value == "") else value
            for name, value in content.items()
        }


def execute(
    setups: Sequence[Setup],
    store: CampaignStore,
    options: RunOptions,
    *,
    workers: int = 1,
    on_row: Callable[[Row], None] | None = None,
) -> None:
    """Do every run that the store does not have yet.

    Args:
        setups: The plan.
        store: Where finished runs are kept.
        options: What all runs have in common.
        workers: Processes on this machine; 1 runs in this one.
        on_row: Called with every new row.

    Raises:
        InvalidInputError: Less than one worker.
        CampaignError: Workers die again and again.
    """
    if workers < 1:
        raise InvalidInputError("workers", workers, "a number >= 1")
    todo = [(setup, options) for setup in setups if setup.key not in store.rows]
    for row in _rows(todo, workers):
        store.add(row)
        if on_row is not None:
            on_row(row)
    store.write_in_order(setup.key for setup in setups)


def _rows(todo: list[tuple[Setup, RunOptions]], workers: int) -> Iterator[Row]:
    if workers == 1 or len(todo) < 2:
        yield from map(_run, todo)
        return
    try:
        for _, row in finished({setup.key: (setup, options) for setup, options in todo}, _run, workers):
            yield row
    except WorkersDiedError as error:
        raise CampaignError(f"{error} What is done is kept") from error


def _run(job: tuple[Setup, RunOptions]) -> Row:
    return run_setup(*job)
