"""Labels of recordings, by which a report groups them: from a YAML or CSV file."""

from __future__ import annotations

import csv
from pathlib import Path

from impact_aware.errors import InvalidInputError, one_reason
from impact_aware.resources import read_mapping


def load_labels(path: Path) -> dict[str, str]:
    """Labels by recording name, from YAML (`name: label`) or CSV (`name,label` rows).

    Raises:
        InvalidInputError: No such file, or another content.
    """
    try:
        if path.suffix == ".csv":
            with open(path, newline="", encoding="utf-8-sig") as file:
                rows = [[cell.strip() for cell in row] for row in csv.reader(file) if any(map(str.strip, row))]
            if any(len(row) < 2 for row in rows):
                raise InvalidInputError("labels", str(path), "two columns: recording, label")
            return {row[0]: row[1] for row in rows}
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InvalidInputError("labels", str(path), f"a readable YAML or CSV file ({one_reason(error)})") from error
    return {str(name): str(label) for name, label in read_mapping("labels", path).items()}


def label_of(file: Path, labels: dict[str, str] | None) -> str | None:
    """The label of a recording: by its path, its name, or its name without the ending; None without one."""
    if labels is None:
        return None
    for name in (str(file), file.name, file.stem):
        if name in labels:
            return labels[name]
    return None
