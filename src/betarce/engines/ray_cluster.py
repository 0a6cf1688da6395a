"""Run work on a Ray cluster."""

import logging
import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from types import ModuleType
from typing import Any

from joblib import effective_n_jobs

import betarce
from betarce.engines import workers
from betarce.engines.shared_file import SharedBytes
from betarce.engines.workers import ATTEMPTS, GIVEN_UP, Compute, Function, Outcome, attempt
from betarce.errors import InvalidInput, require

_OBJECT_STORE = 100 * 2**20  # bytes; results are small
_LOOPBACK = ("127.0.0.1", "::1")
# By itself Ray listens to the whole network on Linux, and to the loopback device elsewhere. It reads this switch when
# it is imported, and again in the processes that it starts.
_THIS_MACHINE_ALONE = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}


@contextmanager
def ray_library(address: str | None, n_jobs: int | None) -> Iterator[ModuleType]:
    """Connect to a cluster, or start one; take the connection that there is already."""
    named = address or os.environ.get("RAY_ADDRESS")
    with _environment({} if named else _THIS_MACHINE_ALONE):
        ray = require("ray", extra="ray", purpose="The engine ray")
    if ray.is_initialized():
        if address is not None:
            raise InvalidInput(
                f"Ray is connected to a cluster already. Leave `address` out to use it; got {address!r}."
            )
        yield ray
        return
    try:
        if named is None:
            _start(ray, effective_n_jobs(n_jobs))
        else:
            _connect(ray, named)
    except InvalidInput:
        raise
    except (OSError, ValueError) as error:
        raise workers.nobody("ray", named, error) from None
    try:
        probe = ray.remote(num_cpus=1)(attempt).remote(workers.nothing, None, betarce.__version__)
        try:
            workers.check(ray.get(probe, timeout=workers.WORKERS_S))
        except ray.exceptions.GetTimeoutError:
            raise workers.no_workers("ray", named) from None
        except ray.exceptions.RayError as error:
            raise workers.unusable("ray", error) from error
        yield ray
    finally:
        ray.shutdown()


def _start(ray: Any, n_workers: int) -> None:
    """Start workers that listen to this machine alone.

    Ray's watch over memory is left out: it restarts what it killed without end.
    """
    if ray.util.get_node_ip_address() not in _LOOPBACK:
        raise InvalidInput(
            "Ray was imported before the engine, so a cluster of its own would listen to the whole network. Call "
            "ray.init() yourself to allow that, name a running cluster by `address`, or set "
            f"{next(iter(_THIS_MACHINE_ALONE))}=0 before Ray is imported."
        )
    with _environment({**_THIS_MACHINE_ALONE, "RAY_USAGE_STATS_ENABLED": "0", "RAY_memory_monitor_refresh_ms": "0"}):
        ray.init(
            address="local",
            num_cpus=n_workers,
            include_dashboard=False,
            object_store_memory=_OBJECT_STORE,
            log_to_driver=False,
            logging_level=logging.ERROR,
        )


def _connect(ray: Any, address: str) -> None:
    own = ray.util.get_node_ip_address()
    if address != "auto":
        host = workers.check_listening(address, own=own)
        if own in _LOOPBACK and host not in _LOOPBACK and not address.startswith("ray://"):
            raise InvalidInput(
                f"Ray is bound to this machine alone in this process, and cannot join the cluster at {address!r}. "
                "Connect from a new process."
            )
    ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)


@contextmanager
def _environment(settings: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables, and give back what was there."""
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def ray_compute(ray: Any, shared: Any) -> Compute:
    """Give what maps functions over items on a cluster; what is shared is put in its object store once.

    As bytes: arrays that lie in the store itself cannot be written to, which some models' own code takes for granted.
    """
    return partial(over_ray, ray, () if shared is None else (ray.put(SharedBytes.of(shared)),))


def over_ray(ray: Any, shared: tuple[Any, ...], function: Function, items: Sequence[Any]) -> Generator[Outcome]:
    """Map a function over items with Ray tasks, which Ray retries if their worker or its machine dies."""
    task = ray.remote(num_cpus=1, max_retries=ATTEMPTS - 1)(attempt)
    references = {task.remote(function, item, betarce.__version__, *shared): item for item in items}
    try:
        while references:
            [done], _ = ray.wait(list(references))
            item = references.pop(done)
            try:
                outcome = Outcome(*ray.get(done))
            except ray.exceptions.WorkerCrashedError:
                outcome = Outcome(item, None, GIVEN_UP)
            except ray.exceptions.RayError as error:
                outcome = Outcome(item, None, workers.text(error))
            yield outcome
    finally:
        for reference in references:
            ray.cancel(reference, force=True)
