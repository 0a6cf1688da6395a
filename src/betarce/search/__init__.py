"""Searches for the closest points that reach a goal, behind one protocol."""

from betarce.search.frontier import FrontierSearch
from betarce.search.growing_spheres import GrowingSpheresSearch, SearchResult
from betarce.search.ladders import Ladders
from betarce.search.protocol import Depth, Goal, Predicate, Search, Task
from betarce.search.registry import check_search

__all__ = [
    "Depth",
    "FrontierSearch",
    "Goal",
    "GrowingSpheresSearch",
    "Ladders",
    "Predicate",
    "Search",
    "SearchResult",
    "Task",
    "check_search",
]
