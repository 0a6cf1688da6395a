"""Map a function over the cores of this machine, or over a cluster of Dask or Ray.

An engine maps a function over items and yields the outcomes as they complete, in any order. All engines keep the same
promises:

* If the function raises for an item, the outcome holds the error; other items are not affected.
* Work of a worker that died is done again elsewhere. An item whose worker died at least `ATTEMPTS` times
  is given up.
* Nothing keeps running when the engine is closed, whether by its end, an error or a key press.

Under ``joblib.parallel_config(backend="dask")`` or ``"ray"`` the engine "local" uses that cluster. Joblib is asked only
which cluster that is: its Dask backend waits for ever for a task that was given up, and its Ray backend returns nothing
before all work is done and loses the work of an actor that dies. See ``docs/decisions/engines.md``.
"""

import warnings
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from difflib import get_close_matches
from functools import partial
from typing import Any

from joblib import delayed, effective_n_jobs
from joblib.parallel import get_active_backend

import betarce
from betarce.engines.dask_cluster import dask_client, dask_compute
from betarce.engines.processes import parallel
from betarce.engines.ray_cluster import ray_compute, ray_library
from betarce.engines.shared_file import shared_file
from betarce.engines.workers import ATTEMPTS, GIVEN_UP, Compute, Function, Outcome, attempt
from betarce.errors import InvalidInput

ENGINES = ("local", "dask", "ray")


@contextmanager
def engine(
    name: str = "local", *, address: str | None = None, n_jobs: int | None = None, shared: Any = None
) -> Iterator[Compute]:
    """Open an engine.

    Parameters
    ----------
    name : {"local", "dask", "ray"}
    address : str, optional
        Of a running cluster: "tcp://host:8786" for Dask; "auto", "host:6379" or "ray://host:10001" for Ray, which also
        reads the environment variable RAY_ADDRESS. Without one a cluster is started on this machine, reachable from
        this machine alone, and shut down at the end.
    n_jobs : int or None
        Workers on this machine, as in joblib; a running cluster has its own number.
    shared : optional
        What every call needs, such as trained models. It travels to each worker once, not with every item.

    Yields
    ------
    callable
        ``compute(function, items)`` yields one `Outcome` per item, that of ``function(item)``, or of
        ``function(item, shared)`` if something is shared; items are hashable and distinct. Workers of a cluster must
        be able to import the function.

    Raises
    ------
    InvalidInput
        If there is no such engine, or no cluster at the address.
    MissingExtra
        If the library of the engine is not installed.

    Examples
    --------
    >>> with engine() as compute:
    ...     sorted(compute(abs, [-2, 1]))
    [Outcome(item=-2, value=2, error=''), Outcome(item=1, value=1, error='')]
    >>> with engine("dusk"):
    ...     pass
    Traceback (most recent call last):
    betarce.errors.InvalidInput: `engine` must be one of local, dask, ray; got 'dusk'. Did you mean 'dask'?
    """
    if name not in ENGINES:
        close = get_close_matches(str(name), ENGINES, 1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise InvalidInput(f"`engine` must be one of {', '.join(ENGINES)}; got {name!r}.{hint}")
    if n_jobs == 0:
        raise InvalidInput("`n_jobs` must be a number of workers, or -1 for one a core; got 0.")
    if name == "dask":
        with dask_client(address, n_jobs) as client:
            yield dask_compute(client, shared)
    elif name == "ray":
        with ray_library(address, n_jobs) as library:
            yield ray_compute(library, shared)
    elif address is not None:
        raise InvalidInput(f"`address` is for the engines dask and ray; got {address!r} with the engine local.")
    else:
        with _surrounding(n_jobs, shared) as compute:
            yield compute


@contextmanager
def _surrounding(n_jobs: int | None, shared: Any) -> Iterator[Compute]:
    """Use the cluster that the user chose through joblib, or else joblib."""
    backend, _ = get_active_backend()
    kind = type(backend).__name__
    if kind == "DaskDistributedBackend":
        yield dask_compute(backend.client, shared)
    elif kind == "RayBackend":
        with ray_library(None, n_jobs) as library:
            yield ray_compute(library, shared)
    elif shared is None:
        yield partial(_over_joblib, n_jobs, ())
    elif getattr(backend, "supports_sharedmem", False) or effective_n_jobs(n_jobs) == 1:
        yield partial(_over_joblib, n_jobs, (shared,))
    else:
        with shared_file(shared) as file:
            yield partial(_over_joblib, n_jobs, (file,))


def _over_joblib(
    n_jobs: int | None, shared: tuple[Any, ...], function: Function, items: Sequence[Any]
) -> Generator[Outcome]:
    """Map a function over items with joblib.

    The death of a worker breaks its whole pool. All items that were under way are then tried one at a time, so that the
    next death points to a single item.
    """
    waiting, deaths = dict.fromkeys(items), Counter[Any]()
    while waiting:
        suspects = [item for item in waiting if deaths[item]]
        sent: list[Any] = []
        workers = parallel(
            n_jobs, return_as="generator_unordered", batch_size=1, pre_dispatch=1 if suspects else "n_jobs"
        )
        try:
            outcomes = workers(_calls(function, suspects or list(waiting), sent, shared))
            for outcome in _closed_quietly(outcomes):
                del waiting[outcome.item]
                yield outcome
        except BrokenProcessPool:
            for item in [item for item in sent if item in waiting]:
                deaths[item] += 1
                if deaths[item] == ATTEMPTS:
                    del waiting[item]
                    yield Outcome(item, None, GIVEN_UP)


def _closed_quietly(outcomes: Generator[Outcome]) -> Generator[Outcome]:
    """Pass outcomes on; who stops listening need not be told by joblib that work was cancelled."""
    try:
        for outcome in outcomes:  # noqa: UP028 - `yield from` would close it first, and not quietly
            yield outcome
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            outcomes.close()


def _calls(function: Function, items: Sequence[Any], sent: list[Any], shared: tuple[Any, ...]) -> Iterator[Any]:
    for item in items:
        sent.append(item)
        yield delayed(attempt)(function, item, betarce.__version__, *shared)
