"""The control cycle's arithmetic is translated when it is imported first: do it once here, not in the first node."""

from __future__ import annotations

from pathlib import Path

from steps import ROOT, Job

MARKS = "\n@compiled(", "\nTRANSLATED = "


def sources() -> list[Path]:
    """The modules with compiled functions or parts of some, and what compiles them."""
    package = ROOT / "impact_aware"
    marked = [path for path in package.rglob("*.py") if any(mark in path.read_text(encoding="utf-8") for mark in MARKS)]
    return [package / "compiled.py", *sorted(marked)]


def translation(python: Path, log: Path) -> Job:
    """The job that imports them with this Python, upon which Numba keeps the compiled code.

    Compiled code of earlier setups is removed first: Numba notices changes of a function's own file only, not of the
    functions that it calls.
    """
    for path in sources():
        for kept in (path.parent / "__pycache__").glob(f"{path.stem}.*.nb[ic]"):
            kept.unlink(missing_ok=True)
    modules = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in sources()]
    return Job("compiled arithmetic", [python, "-c", f"import {', '.join(modules)}"], log)
