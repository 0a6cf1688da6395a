"""The server on an address: a port of this machine, a token, and nothing personal in any log."""

import errno
import logging
import secrets
import socket
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from betarce.errors import InvalidInput, require
from betarce.web.application import application
from betarce.web.guard import host_check, is_loopback

if TYPE_CHECKING:
    from betarce.web.desk import Desk
    from betarce.web.records import Records

_MOST_CONNECTIONS = 64
_IDLE_SECONDS = 5


@dataclass(frozen=True, eq=False)
class Address:
    """Where the server listens.

    Attributes
    ----------
    socket : socket
        Bound, so that the port is taken from now on.
    host : str
    port : int
    """

    socket: socket.socket
    host: str
    port: int

    @property
    def is_private(self) -> bool:
        """Whether only this machine reaches it."""
        return is_loopback(self.host)

    def url(self, token: str) -> str:
        """Give the address of the page."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/{token}/"


def bind(host: str, port: int) -> Address:
    """Take a port; 0 takes any that is free.

    Raises
    ------
    InvalidInput
        If the port is in use or the address is not one of this machine.
    """
    if not 0 <= port <= 65535:
        raise InvalidInput(f"`port` must be between 0 and 65535; got {port}.")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    taken = socket.socket(family, socket.SOCK_STREAM)
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        taken.bind((host, port))
        taken.listen(_MOST_CONNECTIONS)
    except OSError as error:
        taken.close()
        if error.errno == errno.EADDRINUSE:
            raise InvalidInput(f"`port` must be free; {port} is in use. Choose another one, or 0 for any.") from None
        raise InvalidInput(f"`host` must be an address of this machine; got {host!r} ({error.strerror}).") from None
    return Address(taken, host, taken.getsockname()[1])


def serve(
    desk: "Future[Desk]",
    words: Mapping[str, Any],
    address: Address,
    *,
    promises: "Future[Records] | None" = None,
    title: str = "",
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve until it is interrupted, or until it turns out that there is nothing to serve.

    The page is there at once; what it asks waits for the desk.

    Parameters
    ----------
    desk : Future of Desk
        Answers the questions once it is ready; if it fails, the server stops.
    words : mapping
        The texts of the page.
    address : Address
        As `bind` gives it.
    promises : Future of Records, optional
        What is on record; the same holds for it.
    title : str
        What the page is called.
    ready : callable, optional
        Is told the address of the page.
    """
    uvicorn = require("uvicorn", extra="web", purpose="The local server")
    secret = secrets.token_urlsafe(32)
    knows_host = host_check(address.host, address.port, socket.gethostname())
    records = None if promises is None else promises.result
    app = application(desk.result, words, token=secret, knows_host=knows_host, promises=records, title=title)
    # Its logs would hold addresses, which hold the token, and tracebacks, which hold what was asked.
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        logging.getLogger(name).disabled = True
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan="off",
        server_header=False,
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_keep_alive=_IDLE_SECONDS,
    )
    server = uvicorn.Server(config)

    def stop_if_failed(future: "Future[Any]") -> None:
        if future.exception() is not None:
            server.should_exit = True

    for future in (desk, promises):
        if future is not None:
            future.add_done_callback(stop_if_failed)
    if ready is not None:
        ready(address.url(secret))
    server.run(sockets=[address.socket])
