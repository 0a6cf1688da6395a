"""Searches by name."""

from collections.abc import Callable, Mapping
from typing import Any

from betarce.errors import InvalidInput
from betarce.search.frontier import FrontierSearch
from betarce.search.growing_spheres import GrowingSpheresSearch
from betarce.search.protocol import Search

SEARCHES: Mapping[str, Callable[[], Search]] = {"frontier": FrontierSearch, "growing-spheres": GrowingSpheresSearch}


def check_search(search: Any, *, thorough: bool = False) -> Search:
    """Turn a name or a search into a search; with `thorough`, "frontier" stands for `FrontierSearch.thorough()`.

    Examples
    --------
    >>> check_search("frontier").norm
    'l1'
    >>> check_search("tabu")
    Traceback (most recent call last):
    betarce.errors.InvalidInput: `search` must be one of 'frontier', 'growing-spheres', or a search such as
    betarce.FrontierSearch(norm='l2'), an object with `ladders(task, goal)`; got 'tabu'.
    """
    if isinstance(search, str) and search in SEARCHES:
        if thorough and search == "frontier":
            return FrontierSearch.thorough()
        return SEARCHES[search]()
    if isinstance(search, Search) and not isinstance(search, type):
        return search
    raise InvalidInput(
        f"`search` must be one of {', '.join(map(repr, SEARCHES))}, or a search such as "
        f"betarce.FrontierSearch(norm='l2'), an object with `ladders(task, goal)`; got {search!r}."
    )
