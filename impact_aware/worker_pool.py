"""Jobs done by several processes: a worker that dies is replaced, and what was begun and not finished is done again."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from impact_aware.child_process import end_with_parent
from impact_aware.errors import ImpactAwareError

Key = TypeVar("Key")
Job = TypeVar("Job")
Result = TypeVar("Result")

MOST_DEATHS = 3
"""Workers that may die one after the other without a finished job between them: then it is the jobs that kill them."""


class WorkersDiedError(ImpactAwareError):
    """The jobs can't be done: their worker processes die."""


def finished(
    jobs: Mapping[Key, Job],
    work: Callable[[Job], Result],
    workers: int,
    prepare: Callable[..., object] | None = None,
    *arguments: Any,
) -> Iterator[tuple[Key, Result]]:
    """Key and result of each job, as they are finished.

    Args:
        jobs: The jobs by their keys.
        work: Does one; an exception of it ends all.
        workers: Processes; with 1 this process does the jobs.
        prepare: Called in each new process, with `arguments`.
        *arguments: Of `prepare`.

    Raises:
        WorkersDiedError: Workers die again and again.
    """
    if workers == 1:
        if prepare is not None:
            prepare(*arguments)
        yield from ((key, work(job)) for key, job in jobs.items())
        return
    waiting = dict(jobs)
    deaths = 0
    while waiting:
        # Fresh interpreters: MuJoCo, solvers and BLAS have threads that do not survive a fork.
        context = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(min(workers, len(waiting)), context, _prepare, (prepare, arguments))
        try:
            keys = {pool.submit(work, job): key for key, job in waiting.items()}
            for future in as_completed(keys):
                result = future.result()
                del waiting[keys[future]]
                deaths = 0
                yield keys[future], result
        except BrokenProcessPool as error:
            deaths += 1
            if deaths > MOST_DEATHS:
                reason = f"{deaths} times a worker died and nothing was finished in between"
                raise WorkersDiedError(f"{reason}: is there memory enough?") from error
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _prepare(prepare: Callable[..., object] | None, arguments: tuple[Any, ...]) -> None:
    """One thread per process, as the processes share the cores. Ctrl-C is the parent's."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    end_with_parent(signal.SIGKILL, None if parent is None else parent.pid)
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = "1"
    if prepare is not None:
        prepare(*arguments)
