"""Draw the picture of docs/preprocessing.md: one pipeline as fitted, folded, and close to its decision boundary.

Run `python tools/preprocessing_picture.py`; it writes docs/figures/preprocessing.png. Every number in the picture is
computed here, from two pipelines that are fitted on the synthetic loan table.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from betarce import FeatureSpace
from betarce.datasets import load_loan
from betarce.ensemble import linear
from betarce.ensemble.linear import LinearKernel
from betarce.ensemble.preprocessing.probe_points import ProbePoints
from betarce.ensemble.preprocessing.raw_splits import rewrite_splits
from betarce.ensemble.preprocessing.unwrap import unwrap
from betarce.ensemble.trees.readers import read_member
from betarce.plotting.sheet import NORMAL, SMALL, TWO_COLUMNS, save_png, tidy
from betarce.plotting.style import BLUE, GREEN, GREY, ORANGE

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "figures" / "preprocessing.png"
NUMBER, CATEGORY = "savings", "purpose"
CLOSE_TO = "education"  # the purpose of the loans at the decision boundary
N_FLOATS = 12  # neighbouring floats on either side


@dataclass(frozen=True, eq=False)
class Folded:
    """All numbers of the picture."""

    tree: Pipeline
    logistic: Pipeline
    levels: tuple[str, ...]
    cut: float
    naive_cut: float
    rejected: tuple[str, ...]
    weight: float
    level_weights: np.ndarray
    intercept: float
    around_cut: pd.DataFrame
    close_calls: pd.DataFrame

    @property
    def scaler(self) -> StandardScaler:
        return self.tree[0].named_transformers_["standardscaler"]

    @property
    def threshold(self) -> float:
        """The threshold of the first split, on the scaled number."""
        return float(self.tree[-1].tree_.threshold[0])


def compute() -> Folded:
    """Fit a tree and a logistic regression behind the same preprocessing, and fold both."""
    loans = load_loan()
    table = loans.X[[NUMBER, CATEGORY]].astype({NUMBER: float})
    tree, logistic = (
        make_pipeline(
            make_column_transformer((StandardScaler(), [NUMBER]), (OneHotEncoder(sparse_output=False), [CATEGORY])),
            estimator,
        ).fit(table, loans.y)
        for estimator in (DecisionTreeClassifier(max_leaf_nodes=3, random_state=0), LogisticRegression())
    )
    features = FeatureSpace.infer(table)
    levels = tuple(features.readings[1].levels or ())
    probes = ProbePoints(tuple(features.readings), features.decode, 2, features.encode(table)[:20])
    cut, outside = _fold_tree(tree, probes)
    kernel = linear.stack([unwrap(logistic, probes)])
    assert kernel is not None
    scaler = tree[0].named_transformers_["standardscaler"]
    return Folded(
        tree=tree,
        logistic=logistic,
        levels=levels,
        cut=cut,
        naive_cut=float(tree[-1].tree_.threshold[0] * scaler.scale_[0] + scaler.mean_[0]),
        rejected=tuple(level for level, goes_right in zip(levels, outside, strict=False) if goes_right),
        weight=float(kernel.weights[0, 0, 0]),
        level_weights=kernel.weights[0, 0, 1 : 1 + len(levels)],
        intercept=float(kernel.intercepts[0, 0]),
        around_cut=_around_cut(tree, cut, levels[0]),
        close_calls=_close_calls(logistic, kernel, features, levels.index(CLOSE_TO)),
    )


def _fold_tree(tree: Pipeline, probes: ProbePoints) -> tuple[float, np.ndarray]:
    """Give the cut of the first split in raw units, and which codes go right at the second."""
    unwrapped = unwrap(tree, probes)
    member = read_member(unwrapped.estimator, probes)
    assert member is not None
    rewritten = rewrite_splits([member], [unwrapped.preprocessing])
    assert rewritten is not None
    return float(rewritten[0][0].trees[0].threshold[0]), rewritten[1].outside


def _close_calls(logistic: Pipeline, kernel: LinearKernel, features: FeatureSpace, code: int) -> pd.DataFrame:
    """Compare scores at the floats next to the decision boundary of one level."""
    weights = kernel.weights[0, 0]
    floats = neighbours(-float(kernel.intercepts[0, 0] + weights[1 + code]) / weights[0])
    points = np.column_stack([floats, np.full(len(floats), code)])
    return pd.DataFrame(
        {
            "float": np.arange(len(floats)) - N_FLOATS,
            "kernel": kernel.scores(points, slice(None))[:, 0],
            "member": logistic.decision_function(features.decode(points)),
            "doubt": kernel.doubt(points, slice(None))[:, 0],
        }
    )


def neighbours(x: float, n: int = N_FLOATS) -> np.ndarray:
    """Give a float with its `n` neighbours on either side, in ascending order."""
    below, above = [x], [x]
    for _ in range(n):
        below.append(np.nextafter(below[-1], -np.inf))
        above.append(np.nextafter(above[-1], np.inf))
    return np.array([*below[:0:-1], *above])


def _around_cut(tree: Pipeline, cut: float, level: str) -> pd.DataFrame:
    """Ask the pipeline itself about the neighbouring floats of a cut."""
    floats = neighbours(cut, 6)
    table = pd.DataFrame({NUMBER: floats, CATEGORY: level})
    scaled = tree[0].transform(table)
    inner = tree[-1].tree_
    went_left = inner.decision_path(scaled.astype(np.float32)).toarray()[:, inner.children_left[0]]
    return pd.DataFrame(
        {"savings": floats, "scaled": scaled[:, 0] - inner.threshold[0], "went_left": went_left.astype(bool)}
    )


def draw(folded: Folded) -> Any:
    """Draw the picture; gives the figure."""
    figure = plt.figure(figsize=(TWO_COLUMNS, 6.3), layout="constrained")
    top, middle, bottom = figure.subfigures(3, 1, height_ratios=[2.1, 1.7, 2.5])
    _draw_fitted(top.subplots(), folded)
    _draw_folded(middle.subplots(), folded)
    left, right = bottom.subplots(1, 2)
    _draw_cut(left, folded)
    _draw_close_calls(right, folded)
    return figure


def _draw_fitted(ax: Any, folded: Folded) -> None:
    _canvas(ax, "1  The pipelines as fitted: the estimator gets preprocessed columns", height=11)
    mean, scale = folded.scaler.mean_[0], folded.scaler.scale_[0]
    _column_boxes(ax, y=(8.0, 3.4))
    _box(ax, 20, 8.0, 19, f"StandardScaler\n(x - {mean:,.0f}) / {scale:,.0f}", GREY)
    _box(ax, 20, 3.4, 19, "OneHotEncoder\none column per level", GREY)
    _box(ax, 43, 8.0, 13, "scaled savings", BLUE)
    _box(ax, 43, 3.4, 13, "\n".join(folded.levels), BLUE, height=4.4)
    for y in (8.0, 3.4):
        _arrow(ax, (14.5, y), (20, y))
        _arrow(ax, (39, y), (43, y))
        for end in (8.4, 2.9):
            _arrow(ax, (56, y), (61, end))
    _box(
        ax,
        61,
        8.4,
        39,
        f"tree: rejects if\nscaled savings <= {folded.threshold:.3f}  and  business > 0.5",
        GREEN,
        height=3.4,
    )
    estimator = folded.logistic[-1]
    terms = " ".join(
        f"{_signed(weight, 2)} x {level}" + ("\n" if i in (0, 2) else "")
        for i, (weight, level) in enumerate(zip(estimator.coef_[0, 1:], folded.levels, strict=True))
    )
    _box(
        ax,
        61,
        2.9,
        39,
        f"logistic regression: approves if positive\n"
        f"{estimator.coef_[0, 0]:.3f} x scaled savings {terms} {_signed(estimator.intercept_[0], 3)}",
        GREEN,
        height=4.6,
    )


def _draw_folded(ax: Any, folded: Folded) -> None:
    _canvas(ax, "2  The same models folded: they read raw columns, and nothing is transformed", height=9)
    _column_boxes(ax, y=(6.6, 2.4))
    for y in (6.6, 2.4):
        for end in (6.6, 2.2):
            _arrow(ax, (14.5, y), (28, end))
    _box(
        ax,
        28,
        6.6,
        72,
        "tree: splits rewritten to raw units and to sets of levels; rejects if\n"
        f"savings <= {folded.cut!r}  and  purpose in {{{', '.join(folded.rejected)}}}",
        GREEN,
        height=3.4,
    )
    terms = "  ".join(
        f"{level}: {weight:+.2f}" for level, weight in zip(folded.levels, folded.level_weights, strict=True)
    )
    _box(
        ax,
        28,
        2.2,
        72,
        "logistic regression: weights divided by the scale, shifts moved to the intercept\n"
        f"{folded.weight:.7f} x savings {_signed(folded.intercept, 3)} + the weight of the level of purpose\n({terms})",
        GREEN,
        height=4.4,
    )


def _draw_cut(ax: Any, folded: Folded) -> None:
    frame = folded.around_cut
    steps = np.arange(len(frame)) - len(frame) // 2
    for went_left, color, label in ((True, BLUE, "goes left"), (False, ORANGE, "goes right")):
        chosen = frame["went_left"].to_numpy() == went_left
        ax.plot(steps[chosen], 1e16 * frame["scaled"][chosen], "o", ms=4, color=color, label=label)
    ax.axhline(0, color="black", lw=0.6)
    naive = steps[frame["savings"].to_numpy() == folded.naive_cut][0]
    ax.axvline(naive + 0.5, color=GREY, lw=1, ls="--")
    ax.axvline(0.5, color=GREEN, lw=1)
    bottom = 1e16 * frame["scaled"].min()
    ax.text(naive + 0.3, 0.9, "threshold x scale\n+ mean", fontsize=SMALL, color="#555555", ha="right")
    ax.text(
        0.7, 0.8 * bottom, "largest float whose\nscaled value is at most\nthe threshold", fontsize=SMALL, color=GREEN
    )
    ax.legend(fontsize=SMALL, frameon=False, loc="upper left", handletextpad=0.1)
    tidy(
        ax,
        xlabel="neighbouring floats of savings",
        ylabel="scaled - threshold (1e-16)",
        title="3  A cut must be exact to the last float",
    )


def _draw_close_calls(ax: Any, folded: Folded) -> None:
    frame = folded.close_calls
    wrong = (frame["kernel"] > 0) != (frame["member"] > 0)
    ax.axhline(0, color="black", lw=0.6)
    ax.plot(frame["float"], 1e16 * frame["member"], "o", ms=3.5, mfc="none", color=GREEN, label="the pipeline's own")
    ax.plot(frame["float"], 1e16 * frame["kernel"], ".", ms=4, color=BLUE, label="folded")
    ax.plot(
        *(frame.loc[wrong, "float"], 1e16 * frame.loc[wrong, "kernel"]),
        *("o",),
        ms=9,
        mfc="none",
        color=ORANGE,
        label="labels differ",
    )
    ax.legend(fontsize=SMALL, frameon=False, loc="upper left", handletextpad=0.1)
    doubt = frame["doubt"].max()
    ax.text(
        0.98,
        0.04,
        f"within {doubt:.0e} of zero\nthe member is asked",
        transform=ax.transAxes,
        fontsize=SMALL,
        ha="right",
        va="bottom",
    )
    tidy(
        ax,
        xlabel="neighbouring floats of savings",
        ylabel="score (1e-16)",
        title="4  Close calls are put to the member",
    )


def _signed(number: float, decimals: int) -> str:
    return f"{'-' if number < 0 else '+'} {abs(number):.{decimals}f}"


def _canvas(ax: Any, title: str, *, height: float) -> None:
    ax.set(xlim=(0, 100), ylim=(-0.3, height))
    ax.axis("off")
    ax.set_title(title, fontsize=NORMAL, loc="left")


def _column_boxes(ax: Any, *, y: tuple[float, float]) -> None:
    for place, name in zip(y, (NUMBER, CATEGORY), strict=True):
        _box(ax, 0, place, 14.5, name, ORANGE)


def _box(ax: Any, x: float, y: float, width: float, text: str, color: str, *, height: float = 2.4) -> None:
    """Draw a box with its left edge at `x`, centred on `y`."""
    patch = FancyBboxPatch(
        (x + 0.4, y - height / 2), width - 0.8, height, boxstyle="round,pad=0,rounding_size=0.6", ec=color, fc="white"
    )
    ax.add_patch(patch)
    ax.text(x + width / 2, y, text, ha="center", va="center", fontsize=SMALL, linespacing=1.3)


def _arrow(ax: Any, start: tuple[float, float], end: tuple[float, float]) -> None:
    ax.add_patch(FancyArrowPatch(start, end, arrowstyle="-|>", mutation_scale=7, lw=0.8, color="#555555"))


if __name__ == "__main__":
    print(save_png(draw(compute()), PICTURE))
