"""Searches for the closest points with a property, over any vectorised predicate or depth."""

from betarce.search.evaluations import Depth
from betarce.search.frontier import FrontierSearch
from betarce.search.growing_spheres import GrowingSpheresSearch, Predicate, SearchResult
from betarce.search.ladders import Ladders

__all__ = ["Depth", "FrontierSearch", "GrowingSpheresSearch", "Ladders", "Predicate", "SearchResult"]
