"""Calls on workers, shared by all engines."""

import socket
from collections.abc import Callable, Generator, Sequence
from threading import Lock
from typing import Any, NamedTuple

from joblib import parallel_config

import betarce
from betarce.engines.shared_file import SharedBytes, SharedFile
from betarce.errors import InvalidInput

ATTEMPTS = 3
GIVEN_UP = f"Its worker died at least {ATTEMPTS} times (killed, or out of memory?)."
CONNECT_S = 10  # patience with an address
WORKERS_S = 60  # patience with a cluster whose workers are still to come
_one_at_a_time = Lock()


class Outcome(NamedTuple):
    """The outcome of one item: a value, or the error as text."""

    item: Any
    value: Any
    error: str


Function = Callable[..., Any]
Compute = Callable[[Function, Sequence[Any]], Generator[Outcome]]


def attempt(function: Function, item: Any, version: str, *shared: Any) -> Outcome:
    """Call a function on a worker; errors become text, since not all of them can be pickled.

    What is shared comes after the item; a file that holds it is opened once per process.

    Calls in the threads of one process take turns: settings of warnings and libraries apply to the whole process.
    """
    if version != betarce.__version__:
        return Outcome(item, None, f"The worker has betarce {betarce.__version__}, but {version} is asked for.")
    # Without "sequential", parallel work inside would be sent on to the cluster once more.
    with _one_at_a_time, parallel_config(backend="sequential"):
        try:
            opened = [each.open() if isinstance(each, (SharedFile, SharedBytes)) else each for each in shared]
            return Outcome(item, function(item, *opened), "")
        except Exception as error:  # noqa: BLE001 - one item must not stop the others; its error is reported
            return Outcome(item, None, text(error))


def text(error: BaseException) -> str:
    """Write an error on one line."""
    return f"{type(error).__name__}: {error}"


def check_listening(address: str, *, own: str = "127.0.0.1") -> str:
    """Check quickly whether anything listens at an address; Dask and Ray may take minutes and end in a crash.

    `own` is the address that the library uses for this machine when it is given localhost. Gives the host.
    """
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if not host or not port.isdigit():
        raise ValueError("an address ends in host:port")
    host = own if host in ("localhost", "127.0.0.1") else host.strip("[]")
    try:
        socket.create_connection((host, int(port)), timeout=CONNECT_S).close()
    except OSError as error:
        raise OSError(f"{host}:{port} does not answer ({error})") from None
    return host


def nothing(item: None) -> None:
    """Do nothing: a worker that answers is there and has this package."""


def check(outcome: Outcome) -> None:
    """Refuse a cluster whose worker failed to do nothing."""
    if outcome.error:
        raise InvalidInput(f"The cluster cannot be used. {outcome.error}")


def unusable(name: str, error: Exception) -> InvalidInput:
    """Make the error for a cluster that cannot run this package."""
    return InvalidInput(
        f"The cluster of {name} cannot be used. Is the same betarce installed on all its machines? It says: {error}"
    )


def nobody(name: str, address: str | None, error: Exception) -> InvalidInput:
    """Make the error for a cluster that does not exist."""
    if address is None:
        return InvalidInput(f"No cluster of {name} could be started on this machine: {error}")
    return InvalidInput(f"There is no cluster of {name} at {address!r}: {error}")


def no_workers(name: str, address: str | None) -> InvalidInput:
    """Make the error for a cluster without workers."""
    return InvalidInput(f"The cluster of {name} at {address!r} has had no free worker for {WORKERS_S} s.")
