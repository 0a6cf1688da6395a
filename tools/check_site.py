"""Check a built site: nothing is loaded from elsewhere, and every link within it leads somewhere.

    python tools/check_site.py build/site

Prints what is wrong, one line each, and ends with 1 if anything is.
"""

import re
import sys
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# What a browser fetches by itself, by element; links that people click are not among them.
LOADED = {
    "audio": ("src",),
    "embed": ("src",),
    "iframe": ("src",),
    "image": ("href", "xlink:href"),
    "img": ("src", "srcset"),
    "input": ("src",),
    "link": ("href",),
    "object": ("data",),
    "script": ("src",),
    "source": ("src", "srcset"),
    "track": ("src",),
    "use": ("href", "xlink:href"),
    "video": ("src", "poster"),
}
NOT_LOADED_LINKS = {"author", "canonical", "help", "license", "next", "prev", "search", "index"}
ELSEWHERE = re.compile(r"(?:https?:)?//", re.IGNORECASE)
IN_STYLES = re.compile(r"""(?:url\(\s*|@import\s+)["']?((?:https?:)?//[^"')\s;]+)""", re.IGNORECASE)


class Page(HTMLParser):
    """The ids of a page, what it loads, and where it links to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.ids |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag == "link" and set(values.get("rel", "").split()) & NOT_LOADED_LINKS:
            return
        self.loads += [values[name] for name in LOADED.get(tag, ()) if name in values]
        self.loads += IN_STYLES.findall(values.get("style", ""))


def pages_of(site: Path) -> list[Path]:
    """List the pages; what the theme keeps in _static are templates."""
    return sorted(path for path in site.rglob("*.html") if "_static" not in path.relative_to(site).parts)


@cache
def page_of(path: Path) -> Page:
    """Read a page once."""
    return Page(path.read_text(encoding="utf-8"))


def foreign_assets(site: Path) -> Iterator[str]:
    """List what a browser would fetch from elsewhere."""
    for path in pages_of(site):
        text = path.read_text(encoding="utf-8")
        for address in (*page_of(path).loads, *IN_STYLES.findall(text)):
            if ELSEWHERE.match(address.strip()):
                yield f"{path.relative_to(site)}: loads {address}"
    for path in sorted(site.rglob("*.css")):
        for address in IN_STYLES.findall(path.read_text(encoding="utf-8")):
            yield f"{path.relative_to(site)}: loads {address}"


def dead_links(site: Path) -> Iterator[str]:
    """List links to pages, files and places that are not there."""
    for path in pages_of(site):
        for link in (*page_of(path).links, *page_of(path).loads):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or not link:
                continue
            goal = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not goal.is_relative_to(site) or not goal.is_file():
                yield f"{path.relative_to(site)}: {link} is not there"
            elif parts.fragment and goal.suffix == ".html" and unquote(parts.fragment) not in page_of(goal).ids:
                yield f"{path.relative_to(site)}: {link} has no such place"


def main(arguments: list[str]) -> int:
    site = Path(arguments[0]).resolve()
    pages = pages_of(site)
    if not pages:
        print(f"{arguments[0]} has no page.")
        return 1
    faults = [*foreign_assets(site), *dead_links(site)]
    print("\n".join(faults) or f"{len(pages)} pages load nothing from elsewhere, and no link within them is dead.")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
