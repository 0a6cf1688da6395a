"""What votes can promise, as frames and pictures that need no experiment."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from betarce.errors import InvalidInput
from betarce.plotting.sheet import DASHES, NORMAL, SERIES, SMALL, column_axes, tidy
from betarce.plotting.style import GREY
from betarce.posterior import (
    EXACT,
    JEFFREYS,
    PRIORS,
    UNIFORM,
    Prior,
    Tail,
    check_prior,
    interval,
    lower_bound,
    max_delta,
    percent,
)

PAPER_MODELS = (1, 2, 4, *range(12, 125, 8))
"""Rows of the paper's table of ready-to-use settings, k there."""
PAPER_CONFIDENCES = (0.7, 0.8, 0.9, 0.95, 0.975, 0.99, 0.999)
"""Columns of the same table, alpha there."""

_VOTES = ((0, 0), (12, 16), (16, 16), (30, 32), (32, 32))
_CONFIDENCES = (0.9, 0.95, 0.99)
_END = 0.025  # of the rate: so much at both sides may leave the picture
_TICKS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


def beta_frame(
    votes: Sequence[tuple[int, int]] = _VOTES,
    *,
    confidence: float = 0.95,
    prior: Prior | str = JEFFREYS,
    n_points: int = 400,
) -> pd.DataFrame:
    """Compute the posterior density of the validity rate after each vote.

    Parameters
    ----------
    votes : sequence of (n_agree, n_models)
        (0, 0) is the prior itself, which promises nothing.
    confidence : float
        How sure the lower bound is.
    prior : Prior or str
    n_points : int
        Places along the rate, strictly inside (0, 1).

    Returns
    -------
    DataFrame
        One line per vote and place: "n_agree", "n_models", "rate", "density", "lower_bound" (NaN for the prior).

    Examples
    --------
    >>> frame = beta_frame([(0, 0), (37, 38)])
    >>> frame.groupby("n_models")["lower_bound"].first().round(4).to_dict()
    {0: nan, 38: 0.9017}
    """
    from scipy.stats import beta

    prior = check_prior(prior)
    # Denser towards both ends, where posteriors of interest live.
    rate = (1 - np.cos(np.linspace(0, np.pi, n_points + 2)[1:-1])) / 2
    frames = []
    for n_agree, n_models in votes:
        a, b = prior.a + n_agree, prior.b + n_models - n_agree
        if a <= 0:
            raise InvalidInput(
                f"The prior ({prior.a:g}, {prior.b:g}) has no density where nobody agreed; got the vote {n_agree} of "
                f"{n_models}. Leave that vote out, or take the prior 'jeffreys' or 'uniform'."
            )
        bound = float(lower_bound(n_agree, n_models, confidence=confidence, prior=prior)) if n_models else np.nan
        frames.append(
            pd.DataFrame(
                {
                    "n_agree": n_agree,
                    "n_models": n_models,
                    "rate": rate,
                    "density": beta.pdf(rate, a, b),
                    "lower_bound": bound,
                }
            )
        )
    return pd.concat(frames, ignore_index=True)


def draw_beta(frame: pd.DataFrame, ax: Any = None) -> Any:
    """Draw the densities of `beta_frame`, each lower bound as a stem with its tail filled; gives the axes."""
    ax = column_axes(ax)
    groups = list(frame.groupby(["n_agree", "n_models"], sort=False))
    # At the very ends densities may be infinite; what counts is the height of the rest.
    top = float(frame.loc[frame["rate"].between(_END, 1 - _END), "density"].max())
    posteriors = 0
    for (n_agree, n_models), lines in groups:
        is_prior = n_models == 0
        color = GREY if is_prior else SERIES[posteriors % len(SERIES)]
        posteriors += not is_prior
        bound = lines["lower_bound"].iloc[0]
        label = "prior" if is_prior else f"{n_agree} of {n_models}: ≥ {percent(bound)}"
        ax.plot(lines["rate"], lines["density"], color=color, lw=1.3, ls="--" if is_prior else "-", label=label)
        if not is_prior:
            below = lines[lines["rate"] <= bound]
            ax.fill_between(below["rate"], below["density"], color=color, alpha=0.25, lw=0)
            height = np.interp(bound, lines["rate"], lines["density"])
            ax.plot([bound, bound], [0, height], color=color, lw=1.2)
            ax.plot(bound, height, "o", color=color, ms=3.5)
    ax.set(xlim=(0, 1.005), ylim=(0, 1.1 * top))
    tidy(ax, xlabel="validity rate", ylabel="density")
    ax.legend(frameon=False, fontsize=SMALL, loc="upper left", title="vote: lower bound", title_fontsize=NORMAL)
    ax.get_legend().set_alignment("left")
    return ax


def max_delta_frame(
    n_models: Sequence[int] = tuple(range(1, 125)),
    *,
    confidences: Sequence[float] = _CONFIDENCES,
    priors: Sequence[str] = ("jeffreys", "uniform", "exact"),
) -> pd.DataFrame:
    """Compute the largest delta that so many models can certify, by confidence and prior.

    Returns
    -------
    DataFrame
        One line each: "prior", "confidence", "n_models", "max_delta".

    Examples
    --------
    >>> max_delta_frame([32], confidences=[0.95], priors=["jeffreys"]).round(3)
          prior  confidence  n_models  max_delta
    0  jeffreys        0.95        32      0.942
    """
    return pd.concat(
        [
            pd.DataFrame(
                {
                    "prior": name,
                    "confidence": confidence,
                    "n_models": n_models,
                    "max_delta": max_delta(np.asarray(n_models), confidence=confidence, prior=check_prior(name)),
                }
            )
            for name in priors
            for confidence in confidences
        ],
        ignore_index=True,
    )


def draw_max_delta(frame: pd.DataFrame, ax: Any = None) -> Any:
    """Draw `max_delta_frame`: colours are confidences, dashes are priors; gives the axes."""
    ax = column_axes(ax)
    confidences, priors = frame["confidence"].unique(), frame["prior"].unique()
    _lines(ax, frame, "max_delta", by_color="confidence", by_dash="prior")
    low, high = frame["n_models"].min(), frame["n_models"].max()
    ax.set(xscale="log", xlim=(low, high), ylim=(0, 1))
    ax.minorticks_off()
    ticks = [tick for tick in _TICKS if low <= tick <= high]
    ax.set_xticks(ticks, [f"{tick}" for tick in ticks])
    tidy(ax, xlabel="number of models", ylabel="largest certifiable delta")
    _two_legends(
        ax, ("confidence", [f"{value:g}" for value in confidences]), ("prior", [_prior_words(name) for name in priors])
    )
    return ax


def delta_table(
    n_models: Sequence[int] = PAPER_MODELS,
    confidences: Sequence[float] = PAPER_CONFIDENCES,
    *,
    prior: Prior | str = UNIFORM,
    tail: Tail = "two-sided",
) -> pd.DataFrame:
    """Compute the table of ready-to-use settings: rows are numbers of models, columns confidences, cells delta.

    The defaults give the paper's table, all 126 cells: it was made with the uniform prior and the two-sided tail, not
    with the Jeffreys prior and the one-sided tail that the text states.

    Examples
    --------
    >>> delta_table().loc[[36, 124], [0.9, 0.95]].round(3)
                  0.90   0.95
    n_models
    36           0.922  0.905
    124          0.976  0.971
    """
    table = {
        confidence: max_delta(np.asarray(n_models), confidence=confidence, prior=check_prior(prior), tail=tail)
        for confidence in confidences
    }
    return pd.DataFrame(table, index=pd.Index(n_models, name="n_models"))


def compared_delta_table(
    n_models: Sequence[int] = PAPER_MODELS, confidences: Sequence[float] = PAPER_CONFIDENCES
) -> pd.DataFrame:
    """Put the paper's table beside the one of our defaults.

    Returns
    -------
    DataFrame
        One line per cell: "n_models", "confidence", "paper" (uniform prior, two-sided), "default" (exact, one-sided)
        and "difference", default less paper.
    """
    paper = delta_table(n_models, confidences)
    default = delta_table(n_models, confidences, prior=EXACT, tail="one-sided")
    both = pd.DataFrame({"paper": paper.stack(), "default": default.stack()})
    both = both.rename_axis(["n_models", "confidence"]).reset_index()
    return both.assign(difference=both["default"] - both["paper"])


def interval_width_frame(
    n_models: Sequence[int] = tuple(range(10, 201, 10)),
    *,
    shares: Sequence[float] = (1.0, 0.9),
    confidences: Sequence[float] = _CONFIDENCES,
    prior: Prior | str = JEFFREYS,
) -> pd.DataFrame:
    """Compute how wide the two-sided credible interval is, by number of models, confidence and share that agrees.

    Returns
    -------
    DataFrame
        One line each: "share" (asked for), "confidence", "n_models", "n_agree" (the share, rounded to whole models),
        "lower", "upper", "width".

    Examples
    --------
    >>> interval_width_frame([32], shares=[1.0], confidences=[0.9]).round(3)
       share  confidence  n_models  n_agree  lower  upper  width
    0    1.0         0.9        32       32  0.942    1.0  0.058
    """
    models = np.asarray(n_models)
    frames = []
    for share in shares:
        n_agree = np.rint(share * models).astype(int)
        for confidence in confidences:
            lower, upper = interval(n_agree, models, confidence=confidence, prior=check_prior(prior))
            frames.append(
                pd.DataFrame(
                    {
                        "share": share,
                        "confidence": confidence,
                        "n_models": models,
                        "n_agree": n_agree,
                        "lower": lower,
                        "upper": upper,
                        "width": upper - lower,
                    }
                )
            )
    return pd.concat(frames, ignore_index=True)


def draw_interval_width(frame: pd.DataFrame, ax: Any = None) -> Any:
    """Draw `interval_width_frame`: colours are confidences, dashes the share that agrees; gives the axes."""
    ax = column_axes(ax)
    confidences, shares = frame["confidence"].unique(), frame["share"].unique()
    _lines(ax, frame, "width", by_color="confidence", by_dash="share")
    ax.set(xlim=(0, frame["n_models"].max()), ylim=(0, 1.05 * frame["width"].max()))
    tidy(ax, xlabel="number of models", ylabel="width of the credible interval")
    words = ["all agree" if share == 1 else f"{share:.0%} agree" for share in shares]
    _two_legends(ax, ("confidence", [f"{value:g}" for value in confidences]), ("vote", words))
    return ax


def _lines(ax: Any, frame: pd.DataFrame, value: str, *, by_color: str, by_dash: str) -> None:
    colors, dashes = frame[by_color].unique(), frame[by_dash].unique()
    for i, dash in enumerate(dashes):
        for j, color in enumerate(colors):
            lines = frame[(frame[by_color] == color) & (frame[by_dash] == dash)]
            look = {"color": SERIES[j % len(SERIES)], "ls": DASHES[i % len(DASHES)], "lw": 1.2}
            ax.plot(lines["n_models"], lines[value], label=f"{color} {dash}", **look)


def _two_legends(ax: Any, colors: tuple[str, list[str]], dashes: tuple[str, list[str]]) -> None:
    """Explain colours and dashes apart: their product would fill the picture."""
    color_lines = [ax.plot([], [], color=color, lw=1.6)[0] for color, _ in zip(SERIES, colors[1], strict=False)]
    dash_lines = [ax.plot([], [], color="black", lw=1, ls=dash)[0] for dash, _ in zip(DASHES, dashes[1], strict=False)]
    look = {"frameon": False, "fontsize": SMALL, "title_fontsize": NORMAL, "alignment": "left"}
    low = ax.get_lines()[0].get_ydata()[-1] < sum(ax.get_ylim()) / 2  # lines that fall leave room above
    side = "upper" if low else "lower"
    first = ax.legend(
        color_lines, colors[1], title=colors[0], loc=f"{side} right", bbox_to_anchor=(1, 1 if low else 0), **look
    )
    ax.add_artist(first)
    ax.legend(
        dash_lines, dashes[1], title=dashes[0], loc=f"{side} right", bbox_to_anchor=(0.72, 1 if low else 0), **look
    )


def _prior_words(name: str) -> str:
    prior = PRIORS[name]
    return f"{name.capitalize() if prior == JEFFREYS else name} ({prior.a:g}, {prior.b:g})"
