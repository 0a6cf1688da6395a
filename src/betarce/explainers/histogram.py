"""How stable the training rows of each class are: an aid to choose `tau` of RobX and T-Rex."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from betarce.errors import InvalidInput, require
from betarce.explainers.neighbourhood import Measure, stability
from betarce.explainers.protocol import Problem
from betarce.targets import plain


@dataclass(frozen=True, eq=False)
class StabilityHistogram:
    """The stability of training rows, by the class that the model gives them.

    Made by `stability_histogram`.

    Attributes
    ----------
    table : DataFrame
        One line per training row: "row", its number; "class", what the model says; "stability" in that class.
    measure : str
    variance : float

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from betarce.ensemble import Ensemble
    >>> from betarce.features import FeatureSpace
    >>> X, y = np.linspace(0, 1, 50)[:, None], np.repeat([0, 1], 25)
    >>> problem = Problem(Ensemble([LogisticRegression(C=100).fit(X, y)], [0, 1]), FeatureSpace.infer(X), X, y)
    >>> histogram = stability_histogram(problem)
    >>> sorted(histogram.table.columns)
    ['class', 'row', 'stability']
    """

    table: pd.DataFrame
    measure: str
    variance: float

    def to_frame(self) -> pd.DataFrame:
        """Give one line per training row."""
        return self.table.copy()

    def suggest_tau(self, target: Any, *, quantile: float = 0.5) -> float:
        """Give the stability that all but a share of the rows of a class reach.

        The authors read tau off the histogram, where many rows of the target class lie: the median by default. A
        higher quantile asks for more stability and leaves fewer rows to walk to.
        """
        if not isinstance(quantile, (int, float)) or not 0 <= quantile < 1:
            raise InvalidInput(f"`quantile` must be at least 0 and below 1; got {quantile!r}.")
        rows = self.table[self.table["class"] == target]
        if rows.empty:
            known = [plain(label) for label in self.table["class"].unique()]
            raise InvalidInput(f"`target` must be a class that some training row is given, of {known}; got {target!r}.")
        return float(rows["stability"].quantile(quantile))

    def plot(self, ax: Any = None, *, bins: int = 30) -> Any:
        """Draw one histogram per class, with the suggested tau; gives the matplotlib axes."""
        plt = require("matplotlib.pyplot", extra="plot", purpose="A plot")
        ax = plt.subplots(figsize=(6, 4), layout="constrained")[1] if ax is None else ax
        edges = np.linspace(self.table["stability"].min(), self.table["stability"].max() + 1e-9, bins + 1)
        for i, (label, rows) in enumerate(self.table.groupby("class")):
            color = f"C{i}"
            ax.hist(rows["stability"], bins=edges, alpha=0.5, color=color, label=f"class {label}")
            ax.axvline(self.suggest_tau(label), color=color, lw=1, ls="--")
        ax.set(
            xlabel=f"stability ({self.measure}, variance {self.variance:g})",
            ylabel="training rows",
            title="Stability of training rows; dashed: the median",
        )
        ax.legend(frameon=False, loc="upper left")
        return ax


def stability_histogram(
    problem: Any,
    *,
    measure: Measure = "robx",
    variance: float = 0.01,
    n_samples: int = 1000,
    random_state: int | np.random.Generator | None = 0,
) -> StabilityHistogram:
    """Measure the stability of all training rows in the class that the model gives them.

    Parameters
    ----------
    problem : BetaRCE or Problem
        A fitted `betarce.BetaRCE`, or what an explainer is given.
    measure, variance, n_samples, random_state
        As in `betarce.explainers.stability`.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from betarce.ensemble import Ensemble
    >>> from betarce.features import FeatureSpace
    >>> X, y = np.linspace(0, 1, 50)[:, None], np.repeat([0, 1], 25)
    >>> model = LogisticRegression(C=100).fit(X, y)
    >>> problem = Problem(Ensemble([model], [0, 1]), FeatureSpace.infer(X), X, y)
    >>> round(stability_histogram(problem).suggest_tau(1), 1)
    0.9
    """
    inner = getattr(problem, "problem_", problem)
    if not isinstance(inner, Problem):
        raise InvalidInput(f"`problem` must be a fitted BetaRCE or a Problem; got {problem!r}.")
    points = inner.X_train
    labels = inner.model.labels(points)[:, 0]
    values = stability(
        inner, points, labels, measure=measure, variance=variance, n_samples=n_samples, random_state=random_state
    )
    table = pd.DataFrame({"row": np.arange(len(points)), "class": labels, "stability": values})
    return StabilityHistogram(table, measure, variance)
