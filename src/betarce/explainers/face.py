"""FACE: the target class by a path through dense data (Poyiadzi et al., 2020)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Literal

import numpy as np
from scipy.special import expit

from betarce.arrays import AnyArray, BoolArray, FloatArray, IntArray
from betarce.checks import check_whole, is_number, is_one_of
from betarce.errors import InvalidInput
from betarce.explainers.density_graph import Density, DensityGraph, Edges
from betarce.explainers.protocol import Explained, Problem
from betarce.explainers.registry import register
from betarce.explainers.training_rows import Trials, by_target
from betarce.features import Box
from betarce.seeding import generator

_SUPPORT = 2000  # rows that say enough about a density
_CHUNK = 1 << 24  # path costs held at once: 128 MiB


@register("face")
@dataclass(frozen=True)
class Face:
    """Walk through dense data to a training row of the target class; hand out where the cheapest path ends.

    Parameters
    ----------
    mode : {"knn", "epsilon"}
        Which training rows are joined: each with its nearest ones, or all within `epsilon`.
    n_neighbors : int
        How many nearest ones; also what default `epsilon` and `bandwidth` are derived from.
    epsilon : float, optional
        Longest edge, in units of the features' ranges (L2). By default, the distance within which 9 in 10 training rows
        have `n_neighbors` others.
    density : {"kde", "knn", "uniform"}
        What makes an edge cost more than its length: a low kernel density at its middle; its length as such, since
        neighbours are far apart where data is sparse; nothing.
    bandwidth : float, optional
        Of the kernel, in the same units. By default, the median distance to the `n_neighbors`-th nearest row.
    fraction : float
        Share of the training rows used, drawn at random.
    min_confidence : float
        Least predicted probability of the target class where a path may end. For more than two classes: of the best
        accepted one against the best other one. Models that only give labels count as 0.73 sure.
    min_density : float
        Where a path may end: in rows that are denser than this share of all, in [0, 1).
    n_candidates : int
        How many path ends to try: one that leaves the target class as it is moved into the box makes way for the next.
    seed : int
        Of what is drawn: the rows used. Rows to explain draw nothing, so that none depends on the others.

    Notes
    -----
    Promises a point of the target class which is a training row, as far as the rules allow, and to which a chain of
    similar training rows leads. An original that is in the target class already is returned as it is.

    The costs are the paper's: distance times -log density, with the density taken at the middle of an edge ("kde") or
    as that of a ball with the edge's length as radius ("knn"), which falls with the length to the power of the number
    of features. -log density may be negative, where shortest paths do not exist; so it is shifted: an edge in the
    densest places costs its length, any other more. The kernel density is estimated from at most 2000 rows. Equal
    training rows are one place.

    Rules are kept where the path ends: the last row is moved to what is allowed and put to the model again; if the
    class is lost, the end of the next cheapest path follows. What lies on the way is a training row as it is, as in the
    paper's conditions on the end point; its conditions on single steps are not applied.

    The graph is built once for each problem, which takes a time that grows with the square of the rows used, and kept
    as long as the problem. Then, one search back from the whole target class gives the cheapest path of every training
    row at once; rows whose first path end is lost by their rules are searched again, forward.

    References
    ----------
    Poyiadzi, Sokol, Santos-Rodriguez, De Bie & Flach (2020), "FACE: feasible and actionable counterfactual
    explanations", AIES.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from betarce.ensemble import Ensemble
    >>> from betarce.features import FeatureSpace
    >>> X = np.linspace(0, 1, 21)[:, None]
    >>> y = (X[:, 0] > 0.5).astype(int)
    >>> features = FeatureSpace.infer(X)
    >>> problem = Problem(Ensemble([LogisticRegression(C=100).fit(X, y)], [0, 1]), features, X, y)
    >>> original, wanted = np.array([[0.1]]), np.array([[False, True]])
    >>> Face(n_neighbors=2).explain(original, wanted, problem, features.box(original), seeds=[0]).points
    array([[0.55]])
    """

    mode: Literal["knn", "epsilon"] = "knn"
    n_neighbors: int = 10
    epsilon: float | None = None
    density: Density = "kde"
    bandwidth: float | None = None
    fraction: float = 1.0
    min_confidence: float = 0.5
    min_density: float = 0.0
    n_candidates: int = 100
    seed: int = 0

    def __post_init__(self) -> None:
        if not is_one_of(self.mode, ("knn", "epsilon")):
            raise InvalidInput(f"`mode` must be 'knn' or 'epsilon'; got {self.mode!r}.")
        if not is_one_of(self.density, ("kde", "knn", "uniform")):
            raise InvalidInput(f"`density` must be 'kde', 'knn' or 'uniform'; got {self.density!r}.")
        for name in ("n_neighbors", "n_candidates"):
            check_whole(name, getattr(self, name))
        for name in ("epsilon", "bandwidth"):
            value = getattr(self, name)
            if value is not None and not (is_number(value) and 0 < value < np.inf):
                raise InvalidInput(f"`{name}` must be a number > 0, or None; got {value!r}.")
        if self.epsilon is not None and self.mode == "knn":
            raise InvalidInput(f"`epsilon` is for mode 'epsilon'; got {self.epsilon!r} with mode 'knn'.")
        if not is_number(self.fraction) or not 0 < self.fraction <= 1:
            raise InvalidInput(f"`fraction` must be in (0, 1]; got {self.fraction!r}.")
        for name in ("min_confidence", "min_density"):
            if not is_number(getattr(self, name)) or not 0 <= getattr(self, name) < 1:
                raise InvalidInput(f"`{name}` must be in [0, 1); got {getattr(self, name)!r}.")
        check_whole("seed", self.seed, least=0)

    def explain(
        self, originals: FloatArray, targets: AnyArray, problem: Problem, box: Box, seeds: Sequence[int]
    ) -> Explained:
        """Find a counterfactual for each row."""

        def passes(points: FloatArray, rows: IntArray) -> BoolArray:
            return self._sure(problem, points, targets[rows])

        trials = Trials(originals, passes, problem, box)
        reasons = [""] * len(originals)
        rows = trials.open
        if not rows.size:
            return trials.explained(reasons)
        chart = self.chart(problem)
        for wanted, places in by_target(targets[rows]):
            exits = chart.exits(wanted, self, problem)
            texts = self._walk(trials, rows[places], originals, chart, exits)
            for row, text in zip(rows[places], texts, strict=True):
                reasons[row] = text
        return trials.explained(reasons)

    def _walk(
        self, trials: Trials, rows: IntArray, originals: FloatArray, chart: "_Chart", exits: "_Exits"
    ) -> list[str]:
        """Offer each row the ends of its cheapest paths; say why none would do."""
        edges, costs = chart.graph.join(originals[rows])
        total = costs + exits.costs[edges.heads]
        ends = _first_ends(edges.tails, total, exits.ends[edges.heads], len(rows))
        trials.offer(rows, chart.to_training(ends[:, None]))
        tried = (ends >= 0).astype(np.intp)
        again = np.flatnonzero(~trials.found[rows] & (ends >= 0))
        if self.n_candidates > 1:
            size = max(1, _CHUNK // len(chart.graph.nodes))
            for start in range(0, len(again), size):
                part = again[start : start + size]
                others = self._other_ends(part, ends[part], edges, costs, chart.graph, exits.open)
                trials.offer(rows[part], chart.to_training(others))
                tried[part] += (others >= 0).sum(axis=1)
        joined = np.bincount(edges.tails, minlength=len(rows)) > 0
        return [
            self._reason(bool(exits.open.any()), bool(near), int(n), chart.graph)
            for near, n in zip(joined, tried, strict=True)
        ]

    def _other_ends(
        self, part: IntArray, known: IntArray, edges: Edges, costs: FloatArray, graph: DensityGraph, exits: BoolArray
    ) -> IntArray:
        """List the exits of some points by the cost of the path to them, without the one that is known; -1 pads."""
        mine = np.flatnonzero(np.isin(edges.tails, part))
        links = Edges(np.searchsorted(part, edges.tails[mine]), edges.heads[mine], edges.lengths[mine])
        reach = graph.costs_from(len(part), links, costs[mine])
        reach[:, ~exits] = np.inf
        reach[np.arange(len(part)), known] = np.inf
        order = np.argsort(reach, axis=1, kind="stable")[:, : self.n_candidates - 1]
        return np.where(np.isinf(np.take_along_axis(reach, order, axis=1)), -1, order)

    def _sure(self, problem: Problem, points: FloatArray, targets: AnyArray) -> BoolArray:
        margins = problem.model.margins(points, targets)[:, 0]
        return np.asarray((margins > 0) & (expit(margins) >= self.min_confidence))

    def _reason(self, any_exit: bool, joined: bool, tried: int, graph: DensityGraph) -> str:
        if not any_exit:
            return (
                "No path may end in any training row: none is put in the target class with `min_confidence`="
                f"{self.min_confidence:g} in a place of `min_density`={self.min_density:g}. Lower them."
            )
        wider = "Raise `n_neighbors`" if self.mode == "knn" else f"Raise `epsilon` (now {graph.epsilon:.3g})"
        if not joined:
            return f"No training row lies within `epsilon` of the original. {wider}."
        if not tried:
            return (
                "No path leads to the target class: the graph of training rows falls into parts, and the original's "
                f"holds no end for a path. {wider}, or `fraction`."
            )
        return (
            f"None of the {tried} training rows where the cheapest paths end is still in the target class once moved "
            "into what is allowed. Raise `n_candidates`, or loosen `features`."
        )

    def chart(self, problem: Problem) -> "_Chart":
        return problem.cached(("face", self), lambda: self._built(problem))

    def _built(self, problem: Problem) -> "_Chart":
        X, rng = problem.X_train, generator(self.seed, "face", "rows")
        used = np.sort(rng.permutation(len(X))[: ceil(self.fraction * len(X))])
        support = used[np.sort(rng.permutation(len(used))[:_SUPPORT])]
        # Equal rows as one node: else the neighbours of a row are its copies, which lead nowhere.
        _, first = np.unique(np.nan_to_num(X[used], nan=np.inf), axis=0, return_index=True)
        index = used[np.sort(first)]
        graph = DensityGraph(
            problem.features,
            X[index],
            X[support],
            n_neighbors=self.n_neighbors,
            by_radius=self.mode == "epsilon",
            epsilon=self.epsilon,
            bandwidth=self.bandwidth,
            density=self.density,
        )
        return _Chart(graph, index)


@dataclass(frozen=True, eq=False)
class _Exits:
    """Where paths may end: which nodes are `open`, the `costs` of getting to one from each node, its `ends`."""

    open: BoolArray
    costs: FloatArray
    ends: IntArray


@dataclass(frozen=True, eq=False)
class _Chart:
    """The graph of one problem, with what is known of each set of accepted classes."""

    graph: DensityGraph
    index: IntArray
    known: dict[bytes, _Exits] = field(default_factory=dict)

    def exits(self, wanted: BoolArray, face: Face, problem: Problem) -> _Exits:
        key = wanted.tobytes()
        if key not in self.known:
            nodes = self.graph.nodes
            is_open = face._sure(problem, nodes, np.tile(wanted, (len(nodes), 1)))
            is_open &= self.graph.rank >= face.min_density
            self.known[key] = _Exits(is_open, *self.graph.cheapest_exits(is_open))
        return self.known[key]

    def to_training(self, nodes: IntArray) -> IntArray:
        """Turn nodes into training rows; -1 stays."""
        return np.where(nodes < 0, -1, self.index[nodes])


def _first_ends(tails: IntArray, costs: FloatArray, ends: IntArray, n: int) -> IntArray:
    """Give the end of the cheapest path of each of n points, from paths that begin in `tails`; -1 for none."""
    order = np.lexsort((costs, tails))
    order = order[np.isfinite(costs[order])]
    owners, first = np.unique(tails[order], return_index=True)
    best = np.full(n, -1)
    best[owners] = ends[order[first]]
    return best
