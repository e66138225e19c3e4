"""The control cycle's arithmetic is translated when it is imported first: do it once here, not in the first node."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from steps import ROOT, run

MARKS = "\n@compiled(", "\nTRANSLATED = "


def sources() -> list[Path]:
    """The modules with compiled functions or parts of some, and what compiles them."""
    package = ROOT / "impact_aware"
    marked = [path for path in package.rglob("*.py") if any(mark in path.read_text(encoding="utf-8") for mark in MARKS)]
    return [package / "compiled.py", *sorted(marked)]


def translate(python: Path, log: Path, environment: Mapping[str, str] | None = None) -> None:
    """Import them with this Python, upon which Numba keeps what it made of them.

    What it has kept is removed first: it looks only for changes of a function's own file, not of those it calls.
    """
    for path in sources():
        for kept in (path.parent / "__pycache__").glob(f"{path.stem}.*.nb[ic]"):
            kept.unlink(missing_ok=True)
    modules = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in sources()]
    run("the control cycle's arithmetic, compiled", [python, "-c", f"import {', '.join(modules)}"], log, environment)
