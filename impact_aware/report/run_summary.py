"""What a run leaves behind, whatever its task was: a folder, and numbers in `summary.json`."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class RunSummary(ABC):
    """Summary of one run.

    Attributes:
        folder: Where its files are.
        summary: Content of `summary.json`.
    """

    folder: Path
    summary: dict[str, Any]

    def write_summary(self) -> None:
        """Write `summary.json`."""
        (self.folder / "summary.json").write_text(json.dumps(self.summary, indent=2) + "\n")

    @abstractmethod
    def failure(self) -> str:
        """What kept the task from being done; empty when it was."""

    @abstractmethod
    def table(self) -> str:
        """The result as text for a terminal."""
