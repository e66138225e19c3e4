"""Commands and nodes that another installed distribution adds to this package, by Python's entry points."""

from __future__ import annotations

import functools
from importlib.metadata import entry_points


@functools.cache
def plugins(kind: str) -> dict[str, str]:
    """Map the names in the entry point group `impact_aware.KIND` to their modules; `kind` is `commands` or `nodes`."""
    return {entry.name: entry.module for entry in entry_points(group=f"impact_aware.{kind}")}
