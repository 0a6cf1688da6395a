"""The page as one HTML file: no connection to anywhere, and no script but its own."""

import base64
import hashlib
import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from betarce.errors import InvalidInput
from betarce.results.page.content import page_content
from betarce.results.page.fallback import fallback
from betarce.results.page.modules import linked
from betarce.results.page.shell import shell
from betarce.results.page.texts import asset, check_texts
from betarce.storage.files import write_whole

if TYPE_CHECKING:
    from betarce.results.result import Result

_MOST_TITLE = 200


def write_page(
    result: "Result",
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    texts: str | os.PathLike[str] | Mapping[str, Any] | None = None,
) -> None:
    """Write the page of a result to a file, whole or not at all."""
    write_whole(path, page_html(result, title=title, texts=texts))


def page_html(
    result: "Result",
    *,
    title: str | None = None,
    texts: str | os.PathLike[str] | Mapping[str, Any] | None = None,
) -> str:
    """Give the page of a result.

    Parameters
    ----------
    result : Result
    title : str, optional
        What the page is called.
    texts : mapping, path of a JSON file, or None
        A translation of the page.
    """
    if title is not None and (not isinstance(title, str) or not 0 < len(title) <= _MOST_TITLE):
        raise InvalidInput(f"`title` must be a text of 1 to {_MOST_TITLE} characters; got {title!r}.")
    words = check_texts(texts)
    content = {**page_content(result), "title": title or words["title"]}
    style, script = asset("page.css"), linked("page.js")
    return shell(
        words,
        title=content["title"],
        head=f'<meta http-equiv="Content-Security-Policy" content="{_policy(style, script)}">\n<style>{style}</style>',
        links={"overview": "#/", "annex": "#/annex"},
        body=f"<noscript>{fallback(content, words)}</noscript>",
        tail="\n".join(
            [data_element("texts", words), data_element("content", content), f'<script type="module">{script}</script>']
        ),
    )


def data_element(name: str, data: Any) -> str:
    """Put data into a script element that no browser runs and no text of the data can end.

    Examples
    --------
    >>> print(data_element("content", {"name": "</script>"}))
    <script type="application/json" id="content">{"name":"\\u003c/script\\u003e"}</script>
    """
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return f'<script type="application/json" id="{name}">{text}</script>'


def _policy(style: str, script: str) -> str:
    """Allow this style and this script, and nothing else: no connection, no picture, no form, no frame."""
    return (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
