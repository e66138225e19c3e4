"""The runs of a campaign, done by several processes or a Dask cluster; a worker that dies is replaced."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool

from impact_aware.child_process import end_with_parent
from impact_aware.errors import ImpactAwareError, InvalidInputError
from impact_aware.experiments.campaign import Row, Run, RunOptions, run_setup
from impact_aware.experiments.campaign_store import CampaignStore

_CLUSTER_TIMEOUT = "10s"
MOST_DEATHS = 3
"""Workers that may die one after the other without a finished run between them: then it is the runs that kill them."""


class CampaignError(ImpactAwareError):
    """A campaign can't go on; what it has done is kept."""


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
        CampaignError: Workers die again and again.
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
        yield from _worker_rows(todo, workers)


def _worker_rows(todo: list[tuple[Run, RunOptions]], workers: int) -> Iterator[Row]:
    """Rows as processes finish them; when one is killed, what it and its neighbours had begun is done again."""
    waiting = {setup.key: (setup, options) for setup, options in todo}
    deaths = 0
    while waiting:
        # Fresh interpreters: MuJoCo and BLAS threads do not survive a fork.
        context = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(min(workers, len(waiting)), context, _prepare_worker)
        try:
            for future in as_completed([pool.submit(_run, job) for job in waiting.values()]):
                row = future.result()
                del waiting[row["key"]]
                deaths = 0
                yield row
        except BrokenProcessPool as error:
            deaths += 1
            if deaths > MOST_DEATHS:
                reason = f"{deaths} times a worker died and no run was finished in between"
                raise CampaignError(f"{reason}: is there memory enough? What is done is kept") from error
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


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


def _prepare_worker() -> None:
    """One thread per process: the matrices are small and the processes share the cores. Ctrl-C is the parent's."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    end_with_parent(signal.SIGKILL, None if parent is None else parent.pid)
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = "1"
