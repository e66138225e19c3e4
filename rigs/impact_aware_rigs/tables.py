"""Tables of results as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table with one line per row under its head."""
    lines = (head, ("---",) * len(head), *rows)
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
