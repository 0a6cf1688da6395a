"""Run work on a Dask cluster."""

import logging
import pickle
import warnings
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any

from joblib import effective_n_jobs

import betarce
from betarce.engines import workers
from betarce.engines.workers import CONNECT_S, GIVEN_UP, Compute, Function, Outcome, attempt
from betarce.errors import require

_ALLOWED = 1  # deaths before a task is given up: with the second round of `over_dask`, four deaths in all


@contextmanager
def dask_client(address: str | None, n_jobs: int | None) -> Iterator[Any]:
    """Connect to a Dask cluster, or start one."""
    distributed = require("distributed", extra="dask", purpose="The engine dask")
    with _cluster(n_jobs) if address is None else nullcontext(address) as place:
        try:
            if address is not None:
                workers.check_listening(address)
            client = distributed.Client(place, timeout=CONNECT_S, set_as_default=False)
        except (OSError, ValueError) as error:
            raise workers.nobody("dask", address, error) from None
        with client:
            probe = client.submit(attempt, workers.nothing, None, betarce.__version__, pure=False)
            try:
                workers.check(probe.result(timeout=workers.WORKERS_S))
            except TimeoutError:
                raise workers.no_workers("dask", address) from None
            except (RuntimeError, ImportError) as error:
                raise workers.unusable("dask", error) from error
            yield client


@contextmanager
def _cluster(n_jobs: int | None) -> Iterator[Any]:
    """Start worker processes like those of joblib: one thread each, no memory limit."""
    import dask
    from distributed import LocalCluster

    with (
        dask.config.set({"distributed.scheduler.allowed-failures": _ALLOWED}),
        LocalCluster(
            n_workers=effective_n_jobs(n_jobs),
            threads_per_worker=1,
            memory_limit=0,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",  # any free port: without the dashboard there is a health check still
            scheduler_kwargs={"dashboard": False},
            silence_logs=logging.CRITICAL,
        ) as cluster,
    ):
        yield cluster


def dask_compute(client: Any, shared: Any) -> Compute:
    """Give what maps functions over items on a cluster, all with what is shared."""
    return partial(over_dask, client, () if shared is None else (_sent_once(client, shared),))


def _sent_once(client: Any, shared: Any) -> Any:
    """Send a value as the result of a task, which workers pass on to each other.

    Not by `scatter`: what only a worker that died had is lost then, while the result of a task is made again.
    """
    import cloudpickle

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sending large graph")
        return client.submit(pickle.loads, cloudpickle.dumps(shared, protocol=5), pure=False)


def over_dask(client: Any, shared: tuple[Any, ...], function: Function, items: Sequence[Any]) -> Generator[Outcome]:
    """Map a function over items with Dask tasks.

    When a worker dies, Dask counts it against all tasks assigned to the worker, also those that had not started. So
    tasks that it gives up are tried again at the end, one at a time.
    """
    from distributed import KilledWorker, as_completed

    def send(item: Any) -> Any:
        return client.submit(attempt, function, item, betarce.__version__, *shared, pure=False)

    futures = {send(item): item for item in items}
    blamed = []
    try:
        for future in as_completed(list(futures), loop=client.loop):
            item = futures.pop(future)
            if isinstance(future.exception(), KilledWorker):
                blamed.append(item)
            else:
                yield _outcome(future, item)
        for item in blamed:
            yield _outcome(send(item), item)
    finally:
        client.cancel(list(futures))


def _outcome(future: Any, item: Any) -> Outcome:
    from distributed import KilledWorker

    try:
        return Outcome(*future.result())
    except KilledWorker:
        return Outcome(item, None, GIVEN_UP)
    except Exception as error:  # noqa: BLE001 - of the cluster: a lost scheduler, a worker without the package, ...
        return Outcome(item, None, workers.text(error))
