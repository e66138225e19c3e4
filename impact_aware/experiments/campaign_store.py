"""The rows of a campaign in its folder, one line per finished run, so that a killed campaign goes on."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from impact_aware.errors import InvalidInputError

Row = dict[str, Any]

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
