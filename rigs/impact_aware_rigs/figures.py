"""Percentiles, processor time of repeated calls, memory, and tables of results as Markdown."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from impact_aware.arrays import Array


def percentiles(seconds: Sequence[float]) -> dict[str, float]:
    """Median and 99th percentile, microseconds; 0 where there is nothing to take them of."""
    p50, p99 = 1e6 * np.percentile(seconds, [50, 99]) if len(seconds) else (0.0, 0.0)
    return {"p50_us": float(p50), "p99_us": float(p99)}


def p50_p95(values: Sequence[float] | Array) -> dict[str, float]:
    """Median and 95th percentile in the values' own unit; NaN where there are none."""
    p50, p95 = np.percentile(values, (50, 95)) if len(values) else (np.nan, np.nan)
    return {"p50": float(p50), "p95": float(p95)}


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Collect the garbage once, and not again inside of this context."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def best_processor_times(contenders: dict[str, Callable[[], object]], calls: int, turns: int = 3) -> dict[str, float]:
    """Microseconds of processor time per call, best of some turns, so that a busy machine slows all alike."""
    best = dict.fromkeys(contenders, np.inf)
    for _ in range(turns):
        for name, contender in contenders.items():
            contender()
            begin = time.process_time()
            for _ in range(calls):
                contender()
            best[name] = min(best[name], (time.process_time() - begin) / calls * 1e6)
    return best


def resident_bytes(pid: int) -> int | None:
    """Resident memory of a process; None where the system does not say, or when it is gone."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table with one line per row under its head."""
    lines = (head, ("---",) * len(head), *rows)
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
