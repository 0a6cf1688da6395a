"""Who may ask: the token, the Host and the Origin of a request, and how large it may be."""

import hmac
import ipaddress
import json
from collections.abc import Callable
from typing import Any

MOST_BYTES = 256 * 1024
"""What the body of a request may take: a question about a thousand columns takes a tenth."""
_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    ),
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


class Guard:
    """Lets a request through to the application, or refuses it; every answer gets the headers that keep it apart.

    Parameters
    ----------
    app : ASGI application
    token : str
        The first part of every address. Whoever has it may ask.
    knows_host : callable
        Says whether a Host header names this server: a page of another name that resolves to this machine is refused.
    """

    def __init__(self, app: Any, *, token: str, knows_host: Callable[[str], bool]) -> None:
        self._app = app
        self._token = token.encode()
        self._knows_host = knows_host

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        _, _, rest = scope["path"].partition("/")
        token, _, path = rest.partition("/")
        refused = self._refused(scope["method"], headers, token, path)
        if refused is not None:
            await _refuse(send, *refused)
            return
        inner = {**scope, "path": f"/{path}", "raw_path": f"/{path}".encode(), "root_path": ""}
        await self._app(inner, _Bounded(receive), _with_headers(send))

    def _refused(self, method: str, headers: dict[str, str], token: str, path: str) -> tuple[int, str] | None:
        host = headers.get("host", "")
        if not self._knows_host(host):
            return 421, "host"
        if not hmac.compare_digest(token.encode("utf-8", "replace"), self._token):
            return 403, "token"
        if method not in ("GET", "POST"):
            return 405, "method"
        if headers.get("origin", f"http://{host}") != f"http://{host}":
            return 403, "origin"
        if path and headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return 403, "origin"
        if method == "POST":
            return _refused_body(headers)
        return None


def _refused_body(headers: dict[str, str]) -> tuple[int, str] | None:
    # A form of another page cannot send this type without asking first.
    if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        return 415, "malformed"
    length = headers.get("content-length", "")
    if not length.isascii() or not length.isdigit():
        return 411, "malformed"
    return (413, "large") if len(length) > 12 or int(length) > MOST_BYTES else None


class TooLarge(Exception):
    """More bytes came than were announced."""


class _Bounded:
    """Stops reading a body that is larger than it may be, whatever it said of itself."""

    def __init__(self, receive: Any) -> None:
        self._receive = receive
        self._n_bytes = 0

    async def __call__(self) -> Any:
        message = await self._receive()
        self._n_bytes += len(message.get("body", b""))
        if self._n_bytes > MOST_BYTES:
            raise TooLarge
        return message


def _with_headers(send: Any) -> Any:
    async def sending(message: Any) -> None:
        if message["type"] == "http.response.start":
            kept = [pair for pair in message.get("headers", []) if pair[0].decode("latin-1").lower() not in _HEADERS]
            message = {**message, "headers": [*kept, *_raw(_HEADERS)]}
        await send(message)

    return sending


def _raw(headers: dict[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in headers.items()]


async def _refuse(send: Any, status: int, code: str) -> None:
    body = json.dumps({"error": code, "details": {}}).encode()
    headers = {"content-type": "application/json", "content-length": str(len(body)), **_HEADERS}
    await send({"type": "http.response.start", "status": status, "headers": _raw(headers)})
    await send({"type": "http.response.body", "body": body})


def host_check(address: str, port: int, own_name: str = "") -> Callable[[str], bool]:
    """Say which Host headers name a server at an address.

    On a loopback address those of this machine alone; else also addresses written as numbers, which no other name can
    stand for, and the machine's own name.

    Examples
    --------
    >>> knows = host_check("127.0.0.1", 8377)
    >>> knows("localhost:8377"), knows("127.0.0.1:8377"), knows("evil.example:8377"), knows("127.0.0.1:80")
    (True, True, False, False)
    >>> knows = host_check("0.0.0.0", 8377, "desk")
    >>> knows("192.168.1.4:8377"), knows("desk:8377"), knows("evil.example:8377")
    (True, True, False)
    """
    local = {f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")}
    if is_loopback(address):
        return lambda host: host.lower() in local

    def knows(host: str) -> bool:
        name, _, stated = host.lower().rpartition(":")
        return stated == str(port) and (host.lower() in local or name == own_name.lower() or _is_number(name))

    return knows


def is_loopback(address: str) -> bool:
    """Say whether an address can only be reached from this machine."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"


def _is_number(name: str) -> bool:
    try:
        ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True
