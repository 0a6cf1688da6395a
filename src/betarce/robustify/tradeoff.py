"""What more robustness costs: distance against the certified bound, for one row."""

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from betarce.arrays import FloatArray
from betarce.ensemble import Ensemble
from betarce.errors import InvalidInput, UnreachableGuarantee
from betarce.explainers import Problem
from betarce.features import FeatureSpace
from betarce.plotting.style import BLUE, GREY, MARKS, new_axes
from betarce.posterior import Guarantee
from betarce.robustify.batch import ALREADY_THERE, Batch
from betarce.robustify.certify import rungs_passed
from betarce.robustify.steer import Steering
from betarce.search import GrowingSpheresSearch, Ladders


@dataclass(frozen=True, eq=False)
class Frontier:
    """The ladder of one row, with the vote on every rung.

    Attributes
    ----------
    points : array of shape (rungs, d)
        Safest first, closest last.
    table : DataFrame
        One line per point: its kind ("rung", "base" or "paper"), depth, distances, votes and lower bound.
    guarantee : Guarantee
    n_models : int
        Members that voted.
    start : {"original", "base"}
        What the search stayed close to.
    varied : bool
        Whether the members differ from each other; if not, nothing is handed out.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.linear_model import LogisticRegression
    >>> from betarce import BetaRCE
    >>> X, y = make_moons(80, noise=0.2, random_state=0)
    >>> rce = BetaRCE(LogisticRegression(), delta=0.8, confidence=0.9, n_models=(6, 18), random_state=0).fit(X, y)
    >>> frontier = rce.frontier(X[y == 0][0], target=1)
    >>> table = frontier.to_frame()
    >>> bool(table["distance_to_original"].iloc[0] > table["distance_to_original"].iloc[-1])
    True
    """

    points: FloatArray
    table: pd.DataFrame
    guarantee: Guarantee
    n_models: int
    features: FeatureSpace
    name: Any
    start: Literal["original", "base"] = "base"
    varied: bool = True

    def __repr__(self) -> str:
        """Say what it holds in a line; the points and the table are in its attributes."""
        handed_out = self.table.loc[self.table["chosen"], "lower_bound"]
        bound = f"handed out at lower bound {handed_out.iloc[0]:.3f}" if len(handed_out) else "none handed out"
        bound = bound if self.varied else "all of them the same, so none handed out"
        return f"Frontier(row {self.name}: {len(self.points)} rungs, {self.n_models} models, {bound})"

    def to_frame(self) -> pd.DataFrame:
        """Give one line per rung, then the base and the paper's point."""
        return self.table.copy()

    def at(self, delta: float) -> Any:
        """Give the closest rung that passes another delta, walked from the safest; None if none does.

        The walk of each delta is a test of its own: look at one of them, or split 1 - confidence among them.
        """
        if not self.varied:
            return None
        try:
            quorum = replace(self.guarantee, delta=delta).quorum(self.n_models)
        except UnreachableGuarantee:
            return None
        passed = rungs_passed(self._votes, quorum)
        return self.features.row(self.points[passed - 1], self.name) if passed else None

    @property
    def _votes(self) -> Any:
        return self.table.loc[self.table["kind"] == "rung", "n_agree"].to_numpy()

    def plot(self, ax: Any = None) -> Any:
        """Draw distance against lower bound; gives the matplotlib axes."""
        ax, away = new_axes(ax, 6, 4), f"distance_to_{self.start}"
        rungs = self.table[self.table["kind"] == "rung"]
        ax.plot(rungs[away], rungs["lower_bound"], "o-", color=BLUE, ms=4, lw=1, label="candidates")
        for points, look, label in (
            (self.table[self.table["kind"] == "base"], MARKS["base"], "base"),
            (self.table[self.table["kind"] == "paper"], MARKS["paper"], "paper's search"),
            (self.table[self.table["chosen"]], MARKS["robust"], "handed out"),
        ):
            ax.plot(points[away], points["lower_bound"], ls="", label=label, zorder=3, **look)
        ax.axhline(self.guarantee.delta, color=GREY, lw=0.8, ls="--", zorder=1)
        ax.annotate(
            f"delta = {self.guarantee.delta:g}",
            (1, self.guarantee.delta),
            xycoords=("axes fraction", "data"),
            xytext=(-4, 3),
            textcoords="offset points",
            ha="right",
            fontsize=8,
        )
        ax.set(
            xlabel=f"L1 distance to the {self.start} (in ranges of the features)",
            ylabel=f"lower bound of validity, {self.guarantee.confidence:.0%} confidence",
            title="What more robustness costs",
        )
        ax.legend(frameon=False, loc="lower right")
        return ax


def paper_ladders(batch: Batch, problem: Problem, members: Ensemble, guarantee: Guarantee) -> Ladders:
    """Let the paper's search find its point with the members that search."""
    n = len(members)
    # Few members can steer, but not certify: then the paper's search asks all of them.
    quorum = guarantee.quorum(n) if n >= guarantee.min_models() else n
    return Steering(GrowingSpheresSearch(), problem, members, quorum).ladders(batch.task, batch.targets)


def tradeoff(
    batch: Batch,
    ladders: Ladders,
    paper: Ladders,
    members: Ensemble,
    guarantee: Guarantee,
    features: FeatureSpace,
    *,
    varied: bool,
) -> Frontier:
    """Put the ladder of a batch of one row to the vote, beside the base and the paper's point."""
    if batch.there[0]:
        raise InvalidInput(ALREADY_THERE)
    if batch.infeasible[0]:
        raise InvalidInput(batch.infeasible[0])
    based = bool(batch.based.found[0])
    if batch.post_hoc and not based:
        raise InvalidInput(f"This row has no base to start from: {batch.based.reasons[0]}")
    rungs = ladders.points[0, ladders.exists[0]]
    others = [("base", batch.based.points[0])] * based
    others += [("paper", point) for point in paper.points[0, paper.exists[0]]]
    points = np.vstack([rungs, *(point[None] for _, point in others)])
    votes = members.votes(points, np.repeat(batch.targets, len(points), axis=0))
    passed = rungs_passed(votes[: len(rungs)], guarantee.quorum(len(members)))
    table = pd.DataFrame(
        {
            "kind": ["rung"] * len(rungs) + [kind for kind, _ in others],
            "depth": np.append(ladders.levels[0, ladders.exists[0]], [np.nan] * len(others)),
            "distance_to_base": features.distance(points, batch.based.points) if based else np.nan,
            "distance_to_original": features.distance(points, batch.originals),
            "n_agree": votes,
            "n_models": len(members),
            "lower_bound": guarantee.lower_bound(votes, np.full(len(votes), len(members))),
            "chosen": varied & (np.arange(len(points)) == passed - 1),
        }
    )
    start: Literal["original", "base"] = "base" if batch.post_hoc else "original"
    return Frontier(rungs, table, guarantee, len(members), features, batch.names[0], start, varied)
