"""Where work is computed: on the cores of this machine, or on a cluster of Dask or Ray.

An engine maps a function over items and gives the outcomes as they complete, in any order. All engines keep the same
promises:

* A function that raises gives an outcome that says so; the others go on.
* Work of a worker that died is done again elsewhere. An item whose worker died `ATTEMPTS` times is given up.
* Nothing is left running when the engine is left, whether by its end, an error or a key press.

Under ``joblib.parallel_config(backend="dask")`` or ``"ray"`` the engine "local" uses that cluster. Joblib is asked only
which cluster that is: its backend for Dask waits for ever for a task that was given up, and its backend for Ray gives
nothing before all is done and forgets the work of an actor that dies. See ``docs/decisions/engines.md``.
"""

import logging
import os
import socket
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, nullcontext
from difflib import get_close_matches
from functools import partial
from threading import Lock
from types import ModuleType
from typing import Any, NamedTuple

from joblib import Parallel, delayed, effective_n_jobs, parallel_config
from joblib.parallel import get_active_backend

import betarce
from betarce.errors import InvalidInput, require

ENGINES = ("local", "dask", "ray")
ATTEMPTS = 3
_GIVEN_UP = f"Its worker died {ATTEMPTS} times (killed, or out of memory?)."
_CONNECT_S = 10  # patience with an address
_WORKERS_S = 60  # patience with a cluster whose workers are still to come
_OBJECT_STORE = 100 * 2**20  # bytes; results are small
_one_at_a_time = Lock()


class Outcome(NamedTuple):
    """What became of an item: a value, or the error as text."""

    item: Any
    value: Any
    error: str


Function = Callable[[Any], Any]
Compute = Callable[[Function, Sequence[Any]], Generator[Outcome]]


@contextmanager
def engine(name: str = "local", *, address: str | None = None, n_jobs: int | None = None) -> Iterator[Compute]:
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

    Yields
    ------
    callable
        ``compute(function, items)`` yields an `Outcome` an item; items are hashable and differ. Workers of a cluster
        must be able to import the function.

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
        with _dask(address, n_jobs) as client:
            yield partial(_over_dask, client)
    elif name == "ray":
        with _ray(address, n_jobs) as library:
            yield partial(_over_ray, library)
    elif address is not None:
        raise InvalidInput(f"`address` is for the engines dask and ray; got {address!r} with the engine local.")
    else:
        with _surrounding(n_jobs) as compute:
            yield compute


def attempt(function: Function, item: Any, version: str) -> Outcome:
    """Call a function on a worker; errors become text, since not all of them survive the journey.

    Calls in the threads of one process take turns: what is set for warnings and libraries is set for the process.
    """
    if version != betarce.__version__:
        return Outcome(item, None, f"The worker has betarce {betarce.__version__}, but {version} is asked for.")
    # Without "sequential", parallel work inside would be sent on to the cluster once more.
    with _one_at_a_time, parallel_config(backend="sequential"):
        try:
            return Outcome(item, function(item), "")
        except Exception as error:  # noqa: BLE001 - one item must not stop the others; its error is reported
            return Outcome(item, None, _text(error))


def _text(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


# This machine


@contextmanager
def _surrounding(n_jobs: int | None) -> Iterator[Compute]:
    """Use the cluster that the user chose through joblib, or else joblib."""
    backend, _ = get_active_backend()
    kind = type(backend).__name__
    if kind == "DaskDistributedBackend":
        yield partial(_over_dask, backend.client)
    elif kind == "RayBackend":
        with _ray(None, n_jobs) as library:
            yield partial(_over_ray, library)
    else:
        yield partial(_over_joblib, n_jobs)


def _over_joblib(n_jobs: int | None, function: Function, items: Sequence[Any]) -> Generator[Outcome]:
    """Map by joblib.

    The death of a worker ends all that its pool was doing. What was under way is then tried one item at a time, so that
    the next death has one culprit.
    """
    waiting, deaths = dict.fromkeys(items), Counter[Any]()
    while waiting:
        suspects = [item for item in waiting if deaths[item]]
        sent: list[Any] = []
        parallel = Parallel(
            n_jobs=n_jobs, return_as="generator_unordered", batch_size=1, pre_dispatch=1 if suspects else "n_jobs"
        )
        try:
            for outcome in parallel(_calls(function, suspects or list(waiting), sent)):
                del waiting[outcome.item]
                yield outcome
        except BrokenProcessPool:
            for item in [item for item in sent if item in waiting]:
                deaths[item] += 1
                if deaths[item] == ATTEMPTS:
                    del waiting[item]
                    yield Outcome(item, None, _GIVEN_UP)


def _calls(function: Function, items: Sequence[Any], sent: list[Any]) -> Iterator[Any]:
    for item in items:
        sent.append(item)
        yield delayed(attempt)(function, item, betarce.__version__)


# Dask


@contextmanager
def _dask(address: str | None, n_jobs: int | None) -> Iterator[Any]:
    distributed = require("distributed", extra="dask", purpose="The engine dask")
    with _dask_cluster(n_jobs) if address is None else nullcontext(address) as place:
        try:
            if address is not None:
                _check_listening(address)
            client = distributed.Client(place, timeout=_CONNECT_S, set_as_default=False)
        except (OSError, ValueError) as error:
            raise _nobody("dask", address, error) from None
        with client:
            probe = client.submit(attempt, _nothing, None, betarce.__version__, pure=False)
            try:
                _check(probe.result(timeout=_WORKERS_S))
            except TimeoutError:
                raise _no_workers("dask", address) from None
            yield client


@contextmanager
def _dask_cluster(n_jobs: int | None) -> Iterator[Any]:
    """Start workers that, like those of joblib, are processes of one thread without a limit of memory."""
    import dask
    from distributed import LocalCluster

    with (
        dask.config.set({"distributed.scheduler.allowed-failures": ATTEMPTS - 1}),
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


def _over_dask(client: Any, function: Function, items: Sequence[Any]) -> Generator[Outcome]:
    """Map by tasks of Dask.

    Dask blames a death on all tasks that were given to the worker, also on those that had not begun. So those that it
    gives up are tried again when nothing else is left, one at a time.
    """
    from distributed import KilledWorker, as_completed

    def send(item: Any) -> Any:
        return client.submit(attempt, function, item, betarce.__version__, pure=False)

    futures = {send(item): item for item in items}
    blamed = []
    try:
        for future in as_completed(list(futures), loop=client.loop):
            item = futures.pop(future)
            if isinstance(future.exception(), KilledWorker):
                blamed.append(item)
            else:
                yield _dask_outcome(future, item)
        for item in blamed:
            yield _dask_outcome(send(item), item)
    finally:
        client.cancel(list(futures))


def _dask_outcome(future: Any, item: Any) -> Outcome:
    from distributed import KilledWorker

    try:
        return Outcome(*future.result())
    except KilledWorker:
        return Outcome(item, None, _GIVEN_UP)
    except Exception as error:  # noqa: BLE001 - of the cluster: a lost scheduler, a worker without the package, ...
        return Outcome(item, None, _text(error))


# Ray


@contextmanager
def _ray(address: str | None, n_jobs: int | None) -> Iterator[ModuleType]:
    ray = require("ray", extra="ray", purpose="The engine ray")
    if ray.is_initialized():
        if address is not None:
            raise InvalidInput(
                f"Ray is connected to a cluster already. Leave `address` out to use it; got {address!r}."
            )
        yield ray
        return
    address = address or os.environ.get("RAY_ADDRESS")
    try:
        if address is None:
            _start_ray(ray, effective_n_jobs(n_jobs))
        else:
            if address != "auto":
                _check_listening(address, own=ray.util.get_node_ip_address())
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except (OSError, ValueError) as error:
        raise _nobody("ray", address, error) from None
    try:
        probe = ray.remote(num_cpus=1)(attempt).remote(_nothing, None, betarce.__version__)
        try:
            _check(ray.get(probe, timeout=_WORKERS_S))
        except ray.exceptions.GetTimeoutError:
            raise _no_workers("ray", address) from None
        yield ray
    finally:
        ray.shutdown()


def _start_ray(ray: Any, n_workers: int) -> None:
    """Start workers that listen to this machine alone.

    By itself Ray listens to the whole network on Linux and to the loopback device elsewhere; the switch between the two
    is read when ray is imported, and again by the processes that it starts. Its watch over memory is left out: it
    restarts what it killed without end.
    """
    from ray._private import ray_constants

    settings = {
        ray_constants.ENABLE_RAY_CLUSTERS_ENV_VAR: "0",
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_memory_monitor_refresh_ms": "0",
    }
    before = {name: os.environ.get(name) for name in settings}
    everywhere = ray_constants.ENABLE_RAY_CLUSTER
    os.environ.update(settings)
    ray_constants.ENABLE_RAY_CLUSTER = False
    try:
        ray.init(
            address="local",
            num_cpus=n_workers,
            include_dashboard=False,
            object_store_memory=_OBJECT_STORE,
            log_to_driver=False,
            logging_level=logging.ERROR,
        )
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = everywhere
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _over_ray(ray: Any, function: Function, items: Sequence[Any]) -> Generator[Outcome]:
    """Map by tasks of Ray, which are tried again if their worker or its machine dies."""
    task = ray.remote(num_cpus=1, max_retries=ATTEMPTS - 1)(attempt)
    references = {task.remote(function, item, betarce.__version__): item for item in items}
    try:
        while references:
            [done], _ = ray.wait(list(references))
            item = references.pop(done)
            try:
                outcome = Outcome(*ray.get(done))
            except ray.exceptions.WorkerCrashedError:
                outcome = Outcome(item, None, _GIVEN_UP)
            except ray.exceptions.RayError as error:
                outcome = Outcome(item, None, _text(error))
            yield outcome
    finally:
        for reference in references:
            ray.cancel(reference, force=True)


# The cluster at an address


def _check_listening(address: str, *, own: str = "127.0.0.1") -> None:
    """Find out soon whether anybody is there; left to themselves, Dask and Ray may take minutes and end in a crash.

    `own` is what the library takes for the address of this machine when it is told of localhost.
    """
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if not host or not port.isdigit():
        raise ValueError("an address ends in host:port")
    host = own if host in ("localhost", "127.0.0.1") else host.strip("[]")
    try:
        socket.create_connection((host, int(port)), timeout=_CONNECT_S).close()
    except OSError as error:
        raise OSError(f"{host}:{port} does not answer ({error})") from None


def _nothing(item: None) -> None:
    """Do nothing: whoever answers is there and has this package."""


def _check(outcome: Outcome) -> None:
    if outcome.error:
        raise InvalidInput(f"The cluster cannot be used. {outcome.error}")


def _nobody(name: str, address: str | None, error: Exception) -> InvalidInput:
    if address is None:
        return InvalidInput(f"No cluster of {name} could be started on this machine: {error}")
    return InvalidInput(f"There is no cluster of {name} at {address!r}: {error}")


def _no_workers(name: str, address: str | None) -> InvalidInput:
    return InvalidInput(f"The cluster of {name} at {address!r} has had no free worker for {_WORKERS_S} s.")
