"""The frame that all forms of the page share."""

import re
from collections.abc import Mapping
from html import escape
from typing import Any

from betarce.results.page.texts import asset

_SLOT = re.compile(r"\{(\w+)\}")


def shell(
    words: Mapping[str, Any], *, title: str, head: str, links: Mapping[str, str], body: str = "", tail: str = ""
) -> str:
    """Fill the frame that all forms of the page share.

    Parameters
    ----------
    words : mapping
        The texts of the page.
    title : str
    head, body, tail : str
        Markup.
    links : mapping of key to address
        What the page leads to, by the key of its text.
    """
    anchors = [
        f'<a href="{escape(to)}" data-view="{escape(key)}">{escape(words[key])}</a>' for key, to in links.items()
    ]
    slots = {
        "language": escape(words["language"]),
        "direction": escape(words["direction"]),
        "title": escape(title),
        "skip": escape(words["skip"]),
        "brand": "betarce",
        "links": "".join(anchors),
        "head": head,
        "body": body,
        "tail": tail,
    }
    # In one pass: a slot that a value happens to hold stays as it is.
    return _SLOT.sub(lambda found: slots[found[1]], asset("shell.html"))
