"""Searches for the closest point with a property, over any vectorised predicate."""

from betarce.search.growing_spheres import GrowingSpheresSearch, Predicate, SearchResult

__all__ = ["GrowingSpheresSearch", "Predicate", "SearchResult"]
