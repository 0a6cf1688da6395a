"""The server on an address: a port of this machine, a token, and nothing personal in any log."""

import errno
import logging
import secrets
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from betarce.errors import InvalidInput, require
from betarce.web.application import application
from betarce.web.desk import Desk
from betarce.web.guard import host_check, is_loopback

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
    desk: Desk,
    words: Mapping[str, Any],
    address: Address,
    *,
    promises: Any = None,
    token: str | None = None,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve until it is interrupted.

    Parameters
    ----------
    desk : Desk
    words : mapping
        The texts of the page.
    address : Address
        As `bind` gives it.
    promises : Records, optional
        What is on record.
    token : str, optional
        A new one by default, which nobody can guess.
    ready : callable, optional
        Is told the address of the page.
    """
    uvicorn = require("uvicorn", extra="web", purpose="The local server")
    secret = secrets.token_urlsafe(32) if token is None else token
    knows_host = host_check(address.host, address.port, socket.gethostname())
    app = application(desk, words, token=secret, knows_host=knows_host, promises=promises)
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
    if ready is not None:
        ready(address.url(secret))
    uvicorn.Server(config).run(sockets=[address.socket])
