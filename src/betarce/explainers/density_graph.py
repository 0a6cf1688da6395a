"""A graph of training rows whose edges are the longer the sparser the data is along them."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from betarce.arrays import AnyArray, BoolArray, FloatArray, IntArray
from betarce.explainers.training_rows import nearest, pairwise
from betarce.features import FeatureSpace

Density = Literal["kde", "knn", "uniform"]

_CHUNK = 1 << 22  # floats held at once: 32 MiB
_COLUMNS = 256  # rows of the support taken at once, always as many: sums must not depend on the batch
_EDGES = 256  # edges taken at once: what is gathered for them stays in the cache
_DENSEST = 0.99  # the share of edges whose density counts as less than full
_SHORTEST = 1e-12  # costs of edges between equal rows: paths may use them


@dataclass(frozen=True, eq=False)
class Edges:
    """Edges from some points to nodes: `tails` and `heads`, both (m,), with their `lengths`."""

    tails: IntArray
    heads: IntArray
    lengths: FloatArray


class DensityGraph:
    """Training rows, joined where they are neighbours.

    Parameters
    ----------
    features : FeatureSpace
    nodes : array of shape (n, d)
        The rows.
    support : array of shape (s, d)
        The rows that the kernel density is estimated from.
    n_neighbors : int
        How many neighbours each row is joined to; what `epsilon` and `bandwidth` are derived from.
    by_radius : bool
        Join all rows within `epsilon` instead.
    epsilon, bandwidth : float, optional
        Derived from the distances to the `n_neighbors`-th neighbour by default: what 9 in 10 rows have it within, and
        their median.
    density : {"kde", "knn", "uniform"}
        What is measured along an edge.

    Notes
    -----
    The cost of an edge is its length times 1 + max(0, log(full / density)), with `full` the density that 99 in 100
    edges stay below: the paper's -log(density), shifted so that no cost is negative.

    The kernel density at the middle of an edge needs no middle, which names do not have: in Euclidean space, the
    squared distance of x to the middle of a and b is (|x - a|^2 + |x - b|^2) / 2 - |a - b|^2 / 4, so that distances
    between rows are enough.
    """

    def __init__(
        self,
        features: FeatureSpace,
        nodes: FloatArray,
        support: FloatArray,
        *,
        n_neighbors: int,
        by_radius: bool,
        epsilon: float | None,
        bandwidth: float | None,
        density: Density,
    ) -> None:
        self.nodes = nodes
        self._features, self._support = features, support
        self._n_neighbors, self._by_radius, self._density = n_neighbors, by_radius, density
        indices, distances = nearest(features, nodes, nodes, n_neighbors + 1, norm="l2")
        last = distances[:, -1]
        self.epsilon = float(np.quantile(last, 0.9)) if epsilon is None else epsilon
        self.bandwidth = max(float(np.median(last)) if bandwidth is None else bandwidth, _SHORTEST)
        edges = self._within(nodes) if by_radius else _listed(indices, distances)
        edges = _once(edges, len(nodes))
        heights = self.log_density(nodes, edges)
        self._full = float(np.quantile(heights, _DENSEST)) if len(heights) else 0.0
        self.edges = edges
        self._costs = self._cost(edges, heights)
        self.rank = _share_below(self._node_density(last))

    # Edges

    def _within(self, points: FloatArray) -> Edges:
        parts = []
        size = max(1, _CHUNK // len(self.nodes))
        for first in range(0, len(points), size):
            gaps = pairwise(self._features, points[first : first + size], self.nodes, norm="l2")
            tails, heads = np.nonzero(gaps <= self.epsilon)
            parts.append((tails + first, heads, gaps[tails, heads]))
        tails, heads, lengths = (np.concatenate(part) for part in zip(*parts, strict=True))
        return Edges(tails, heads, lengths)

    def join(self, points: FloatArray) -> tuple[Edges, FloatArray]:
        """Join points to their neighbours among the nodes; say what each edge costs."""
        if self._by_radius:
            edges = self._within(points)
        else:
            edges = _listed(*nearest(self._features, points, self.nodes, self._n_neighbors, norm="l2"))
        return edges, self._cost(edges, self.log_density(points, edges))

    # Costs

    def _cost(self, edges: Edges, heights: FloatArray) -> FloatArray:
        return np.asarray(np.maximum(edges.lengths * (1 + np.maximum(self._full - heights, 0)), _SHORTEST))

    def log_density(self, points: FloatArray, edges: Edges) -> FloatArray:
        """Estimate the logarithm of the density along edges from points to nodes, up to a constant."""
        if self._density == "uniform" or not len(edges.lengths):
            return np.zeros(len(edges.lengths))
        if self._density == "knn":
            return np.asarray(-len(self._features) * np.log(np.maximum(edges.lengths, _SHORTEST)))
        return self._kernel_density(points, edges)

    def _kernel_density(self, points: FloatArray, edges: Edges) -> FloatArray:
        used, heads = np.unique(edges.heads, return_inverse=True)
        width = 4 * self.bandwidth**2
        total = np.zeros(len(edges.lengths))
        for first in range(0, len(self._support), _COLUMNS):
            support = self._support[first : first + _COLUMNS]
            tail_kernel, head_kernel = (
                np.exp(-np.square(pairwise(self._features, each, support, norm="l2")) / width)
                for each in (points, self.nodes[used])
            )
            for start in range(0, len(total), _EDGES):
                part = slice(start, start + _EDGES)
                total[part] += (tail_kernel[edges.tails[part]] * head_kernel[heads[part]]).sum(axis=1)
        return np.asarray(np.log(np.maximum(total, 1e-300)) + np.square(edges.lengths) / (2 * width))

    def _node_density(self, last: FloatArray) -> FloatArray:
        if self._density != "kde":
            return -last
        everyone = np.arange(len(self.nodes))
        return self._kernel_density(self.nodes, Edges(everyone, everyone, np.zeros(len(everyone))))

    # Paths

    def cheapest_exits(self, exits: BoolArray) -> tuple[FloatArray, IntArray]:
        """Give, for each node, what the cheapest path to any exit costs, and which exit it ends in; -1 for none."""
        from scipy.sparse.csgraph import dijkstra

        if not exits.any():
            return np.full(len(self.nodes), np.inf), np.full(len(self.nodes), -1)
        costs, _, ends = dijkstra(
            self._matrix(0, None, None), indices=np.flatnonzero(exits), min_only=True, return_predecessors=True
        )
        return np.asarray(costs), np.where(ends < 0, -1, ends)

    def costs_from(self, n_points: int, edges: Edges, costs: FloatArray) -> FloatArray:
        """Give what the cheapest path from each point to each node costs, shape (points, nodes)."""
        from scipy.sparse.csgraph import dijkstra

        n = len(self.nodes)
        graph = self._matrix(n_points, edges, costs)
        return np.asarray(dijkstra(graph, indices=n + np.arange(n_points)))[:, :n]

    def _matrix(self, n_points: int, edges: Edges | None, costs: FloatArray | None) -> Any:
        """Build the graph; points follow the nodes and are only left, never entered."""
        from scipy.sparse import csr_array

        own, n = self.edges, len(self.nodes)
        tails, heads, weights = [own.tails, own.heads], [own.heads, own.tails], [self._costs, self._costs]
        if edges is not None and costs is not None:
            tails, heads, weights = [*tails, n + edges.tails], [*heads, edges.heads], [*weights, costs]
        size = n + n_points
        places: tuple[AnyArray, AnyArray] = (np.concatenate(tails), np.concatenate(heads))
        return csr_array((np.concatenate(weights), places), shape=(size, size))


def _listed(indices: IntArray, distances: FloatArray) -> Edges:
    """Turn a table of neighbours into edges."""
    tails = np.repeat(np.arange(len(indices)), indices.shape[1])
    return Edges(tails, indices.ravel(), distances.ravel())


def _once(edges: Edges, n: int) -> Edges:
    """Keep each pair of different nodes once, whichever end found the other."""
    low, high = np.minimum(edges.tails, edges.heads), np.maximum(edges.tails, edges.heads)
    apart = np.flatnonzero(low < high)
    _, first = np.unique(low[apart] * n + high[apart], return_index=True)
    kept = apart[first]
    return Edges(low[kept], high[kept], edges.lengths[kept])


def _share_below(values: FloatArray) -> FloatArray:
    """Say which share of all values is smaller than each."""
    return np.asarray(np.searchsorted(np.sort(values), values, side="left") / len(values))
