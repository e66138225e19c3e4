"""The runs of a campaign: done by several processes or a Dask cluster, and kept, so that a killed campaign goes on."""

from __future__ import annotations

import csv
import json
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from impact_aware.errors import InvalidInputError
from impact_aware.experiments.campaign import Row, Run, RunOptions, run_setup

_CLUSTER_TIMEOUT = "10s"
_TEXT = ("key", "campaign", "object", "controller", "cause", "drawn")
_WHOLE = ("start", "repeat", "number", "false_detections")


def _text(value: Any) -> str:
    return repr(value) if isinstance(value, float) else str(value)


def _value(name: str, text: str) -> Any:
    if name in _TEXT:
        return text
    if name == "success":
        return text == "True"
    if text == "":
        return float("nan")
    return int(text) if name in _WHOLE else float(text)


class CampaignStore:
    """A folder with one row per finished run.

    Attributes:
        path: Of the table.
        columns: Its columns.
        rows: Finished runs by their key.
    """

    def __init__(self, folder: Path, head: Mapping[str, Any], columns: Sequence[str]) -> None:
        """Open or begin the folder.

        Args:
            folder: Made when it does not exist.
            head: What makes the campaign, in JSON's types; a folder keeps to the one that it began with.
            columns: Of the table.

        Raises:
            InvalidInputError: It holds another campaign, or files that no campaign wrote.
        """
        self.path, self.columns = folder / "runs.csv", tuple(columns)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._check_head(folder, json.loads(json.dumps(head)))
        except OSError as error:
            raise InvalidInputError("--out", str(folder), f"a folder to write to ({error.strerror})") from error
        self.rows: dict[str, Row] = {}
        if self.path.exists():
            self._read()

    def add(self, row: Row) -> None:
        """Keep a finished run at once."""
        fresh = not self.path.exists()
        with self.path.open("a", newline="") as file:
            writer = csv.DictWriter(file, self.columns, lineterminator="\n")
            if fresh:
                writer.writeheader()
            writer.writerow(self._line(row))
            file.flush()
            os.fsync(file.fileno())
        self.rows[row["key"]] = row

    def write_in_order(self, keys: Iterable[str]) -> None:
        """Rewrite the file in the order of `keys`, whatever order the runs ended in; others follow."""
        ordered = [self.rows[key] for key in keys if key in self.rows]
        known = {row["key"] for row in ordered}
        ordered += [row for key, row in self.rows.items() if key not in known]
        temporary = self.path.with_suffix(".tmp")
        with temporary.open("w", newline="") as file:
            writer = csv.DictWriter(file, self.columns, lineterminator="\n")
            writer.writeheader()
            writer.writerows(map(self._line, ordered))
        temporary.replace(self.path)

    def _check_head(self, folder: Path, head: Mapping[str, Any]) -> None:
        header = folder / "campaign.json"
        if not header.exists():
            partial = header.with_suffix(".tmp")
            partial.write_text(json.dumps(head, indent=2) + "\n")
            partial.replace(header)
            return
        try:
            found = dict(json.loads(header.read_text()))
        except (ValueError, TypeError) as error:
            raise InvalidInputError("--out", str(header), "a file that a campaign wrote") from error
        for name, value in head.items():
            if found.get(name) != value:
                raise InvalidInputError(f"--out {folder}", f"{name} {found.get(name)}", f"{value}, or a new folder")

    def _line(self, row: Row) -> dict[str, str]:
        # A row is one line, also when the message of an error is not.
        return {name: " ".join(_text(row.get(name, "")).split()) for name in self.columns}

    def _read(self) -> None:
        text = self.path.read_text()
        # A run that was being written when the campaign was killed has no end of line: it is done again.
        whole = text[: text.rfind("\n") + 1]
        if whole != text:
            self.path.write_text(whole)
        reader = csv.DictReader(whole.splitlines())
        if whole and tuple(reader.fieldnames or ()) != self.columns:
            raise InvalidInputError("--out", str(self.path), "a table with this version's columns, or a new folder")
        for line in reader:
            row = {name: _value(name, value) for name, value in line.items()}
            self.rows[row["key"]] = row


def execute(
    setups: Sequence[Run],
    store: CampaignStore,
    options: RunOptions,
    *,
    workers: int = 1,
    cluster: str | None = None,
    on_row: Callable[[Row], None] | None = None,
) -> None:
    """Do every run that the store does not have yet.

    Args:
        setups: The plan.
        store: Where finished runs are kept.
        options: What all runs have in common.
        workers: Processes on this machine; 1 runs in this one.
        cluster: Address of a Dask scheduler, such as tcp://HOST:8786, in place of processes.
        on_row: Called with every new row.

    Raises:
        InvalidInputError: Less than one worker, no Dask for a cluster, or no scheduler at its address.
    """
    if workers < 1:
        raise InvalidInputError("workers", workers, "a number >= 1")
    todo = [(setup, options) for setup in setups if setup.key not in store.rows]
    for row in _rows(todo, workers, cluster):
        store.add(row)
        if on_row is not None:
            on_row(row)
    store.write_in_order(setup.key for setup in setups)


def _rows(todo: list[tuple[Run, RunOptions]], workers: int, cluster: str | None) -> Iterator[Row]:
    if cluster is not None:
        yield from _cluster_rows(todo, cluster)
    elif workers == 1 or len(todo) < 2:
        yield from map(_run, todo)
    else:
        # Fresh interpreters: MuJoCo and BLAS threads do not survive a fork.
        with multiprocessing.get_context("spawn").Pool(min(workers, len(todo)), _single_threaded) as pool:
            yield from pool.imap_unordered(_run, todo)


def _cluster_rows(todo: list[tuple[Run, RunOptions]], address: str) -> Iterator[Row]:
    try:
        from distributed import Client, as_completed
    except ImportError as error:
        raise InvalidInputError("--cluster", address, "the package `distributed` (Dask) to be installed") from error
    try:
        client = Client(address, timeout=_CLUSTER_TIMEOUT)
    except (OSError, ValueError, TimeoutError) as error:
        raise InvalidInputError("--cluster", address, "the address of a running Dask scheduler") from error
    with client:
        for future in as_completed(client.map(_run, todo, pure=False)):
            yield future.result()
            future.release()


def _run(job: tuple[Run, RunOptions]) -> Row:
    return run_setup(*job)


def _single_threaded() -> None:
    """One thread per process: the matrices are small and the processes share the cores. Ctrl-C is the parent's."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = "1"
