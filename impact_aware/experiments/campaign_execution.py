"""The runs of a campaign, done by several processes or a Dask cluster; a worker that dies is replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from impact_aware.errors import ImpactAwareError, InvalidInputError
from impact_aware.experiments.campaign import Row, Run, RunOptions, run_setup
from impact_aware.experiments.campaign_store import CampaignStore
from impact_aware.worker_pool import WorkersDiedError, finished

_CLUSTER_TIMEOUT = "10s"


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
    try:
        for _, row in finished({setup.key: (setup, options) for setup, options in todo}, _run, workers):
            yield row
    except WorkersDiedError as error:
        raise CampaignError(f"{error} What is done is kept") from error


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
