"""The server without a socket: addresses, and what each of them answers."""

import json
import sys
import traceback
from collections.abc import Callable, Mapping
from functools import partial
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from betarce.errors import BetarceError, CorruptFile, require
from betarce.results.page.shell import shell
from betarce.results.page.texts import asset
from betarce.storage.documents import parse_json
from betarce.web.guard import Guard, TooLarge
from betarce.web.refusals import Refusal

if TYPE_CHECKING:
    from betarce.web.desk import Desk
    from betarce.web.records import Records

_MOST_WAITING = 16
_SECONDS, _SECONDS_TO_SEND = 30.0, 10.0
_SHARED = ("annex", "certainty", "dom", "figures", "overview", "person", "steps", "texts", "tradeoff", "views")
_OWN = ("api", "desk", "form", "promises", "workbench")
_KINDS = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_LINKS = {"desk.what_if": "#/", "annex": "#/annex"}


def application(
    desk: "Callable[[], Desk]",
    words: Mapping[str, Any],
    *,
    token: str,
    knows_host: Callable[[str], bool],
    promises: "Callable[[], Records] | None" = None,
    title: str = "",
) -> Any:
    """Make the server: an ASGI application that only answers whoever knows the token.

    Parameters
    ----------
    desk : callable
        Gives what answers the questions; may wait until it is ready.
    words : mapping
        The texts of the page.
    token : str
        The first part of every address.
    knows_host : callable
        Says whether a Host header names this server.
    promises : callable, optional
        Gives what is on record; may wait as well.
    title : str
        What the page is called.
    """
    require("starlette", extra="web", purpose="The local server")
    from starlette.applications import Starlette
    from starlette.routing import Route

    office = _Office(desk, words, promises, title)
    routes = [
        Route("/", office.page),
        Route("/assets/{name}", office.asset),
        Route("/api/state", office.state),
        Route("/api/row/{place:int}", office.row),
        Route("/api/ask", partial(office.question, lambda data: desk().ask(data)), methods=["POST"]),
        Route("/api/options", partial(office.question, lambda data: desk().options(data)), methods=["POST"]),
        Route("/api/verdict", partial(office.question, lambda data: desk().verdict(data)), methods=["POST"]),
        Route("/api/promises", office.promises),
        Route("/api/promise/{name}", office.promise),
    ]
    return Guard(Starlette(routes=routes, exception_handlers=_HANDLERS), token=token, knows_host=knows_host)


class _Office:
    """Passes requests on: quick ones at once, questions to a thread, a few of them waiting in line."""

    def __init__(self, desk: Any, words: Mapping[str, Any], promises: Any, title: str) -> None:
        self._desk, self._words, self._promises = desk, words, promises
        self._title = title or str(words["title"])
        self._waiting = 0
        self._assets = _assets()

    async def page(self, _: Any) -> Any:
        from starlette.responses import HTMLResponse

        links = {**_LINKS, **({} if self._promises is None else {"desk.promises": "#/promises"})}
        head = "\n".join(
            f'<link rel="{kind}" href="assets/{name}">'
            for kind, name in (("icon", "icon.svg"), ("stylesheet", "page.css"), ("stylesheet", "desk.css"))
        )
        tail = '<script type="module" src="assets/desk.js"></script>'
        flat = {**self._words, **{f"desk.{key}": text for key, text in self._words["desk"].items()}}
        body = f'<p class="lead" role="status">{escape(flat["desk.opening"])}</p>'
        return HTMLResponse(shell(flat, title=self._title, head=head, links=links, body=body, tail=tail))

    async def asset(self, request: Any) -> Any:
        from starlette.responses import Response

        name = request.path_params["name"]
        if name not in self._assets:
            raise Refusal("address", status=404)
        return Response(self._assets[name], media_type=_KINDS[name.rpartition(".")[2]])

    async def state(self, request: Any) -> Any:
        found = await self._in_line(lambda: self._desk().state(), request)
        return _json({**found, "title": self._title, "texts": self._words, "ledger": self._promises is not None})

    async def row(self, request: Any) -> Any:
        place = request.path_params["place"]
        return _json(await self._in_line(lambda: self._desk().row(place), request))

    async def question(self, answer: Callable[[Any], Any], request: Any) -> Any:
        import anyio

        try:
            with anyio.fail_after(_SECONDS_TO_SEND):
                body = await request.body()
            data = parse_json(body.decode("utf-8", "strict"))
        except TimeoutError:
            raise Refusal("slow", status=408) from None
        except (CorruptFile, UnicodeDecodeError):
            raise Refusal("malformed") from None
        return _json(await self._in_line(partial(answer, data), request))

    async def promises(self, request: Any) -> Any:
        if self._promises is None:
            raise Refusal("address", status=404)
        start = request.query_params.get("from", "0")
        if not start.isascii() or not start.isdigit() or len(start) > 9:
            raise Refusal("malformed")
        return _json(await self._in_line(lambda: self._promises().page(int(start)), request))

    async def promise(self, request: Any) -> Any:
        if self._promises is None:
            raise Refusal("address", status=404)
        name = request.path_params["name"]
        return _json(await self._in_line(lambda: self._promises().one(name), request))

    async def _in_line(self, work: Callable[[], Any], request: Any) -> Any:
        """Let a thread do the work, and others wait; who has left is not worked for."""
        import anyio

        if self._waiting >= _MOST_WAITING:
            raise Refusal("busy", status=503)
        self._waiting += 1
        try:
            with anyio.fail_after(_SECONDS):
                if await request.is_disconnected():
                    raise Refusal("gone", status=499)
                return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
        except TimeoutError:
            raise Refusal("slow", status=503) from None
        finally:
            self._waiting -= 1


def _assets() -> dict[str, str]:
    own = files("betarce.web").joinpath("assets")
    found = {f"{name}.js": asset(f"{name}.js") for name in _SHARED}
    names = [*(f"{name}.js" for name in _OWN), "desk.css", "icon.svg"]
    found |= {name: own.joinpath(name).read_text(encoding="utf-8") for name in names}
    return found | {"page.css": asset("page.css")}


def _json(data: Any, status: int = 200) -> Any:
    from starlette.responses import Response

    body = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return Response(body, status_code=status, media_type="application/json")


async def _refusal(_: Any, refusal: Refusal) -> Any:
    return _json({"error": refusal.code, "details": refusal.details}, refusal.status)


async def _own_error(_: Any, error: BetarceError) -> Any:
    return _json({"error": "other", "details": {"text": str(error)}}, 400)


async def _too_large(_: Any, __: Exception) -> Any:
    return _json({"error": "large", "details": {}}, 413)


async def _not_there(_: Any, __: Exception) -> Any:
    return _json({"error": "address", "details": {}}, 404)


async def _not_asked(_: Any, __: Exception) -> Any:
    return _json({"error": "method", "details": {}}, 405)


async def _bug(_: Any, error: Exception) -> Any:
    """Say on stderr where it happened; not what was asked, which is personal."""
    *_, last = traceback.extract_tb(error.__traceback__)
    print(f"Internal error: {type(error).__name__} in {last.name}, line {last.lineno}.", file=sys.stderr)
    return _json({"error": "bug", "details": {}}, 500)


_HANDLERS: Any = {
    Refusal: _refusal,
    BetarceError: _own_error,
    TooLarge: _too_large,
    404: _not_there,
    405: _not_asked,
    Exception: _bug,
}
