"""How surely the share of true promises is known: from the votes of an audit to means over fits with their errors.

A point keeps its promise if its validity rate, the share of *all* models of the space that give it the target class, is
at least delta. The rate is estimated by the share of `n` audit members. With S_f the share of the points of fit f that
keep their promise by this estimate, the mean S over F fits has two sources of error:

* **fits**: another F draws of search and certifying members would give another mean. The S_f are independent given the
  audit, so this part is s^2 / F, with s^2 the sample variance of the S_f.
* **audit**: all points of all fits are judged by the same audit members. A point of true rate near delta may be
  misjudged, and neighbours are misjudged together, so that averaging over rows and fits does not remove the error. The
  audit members are drawn again with replacement, B times; every point is judged again by each of these samples, which
  gives S*_1, ..., S*_B. Their mean squared deviation from S, mean_b (S*_b - S)^2, is this part: the variance due to a
  finite audit, and the square of its bias (points that pile up just above delta are lost more often than won).

The standard error is the root of the sum. What varies with fit and audit together is in both parts, so the sum errs on
the safe side. Rows and the explained model are those of the cell: their choice is no part of the error.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from betarce.arrays import BoolArray, FloatArray, IntArray

N_RESAMPLES = 200
_LOW = 0.05


@dataclass(frozen=True)
class Share:
    """The share of handed-out points that keep their promise, over fits.

    Attributes
    ----------
    mean, p5, least : float
        Mean, 5th percentile and minimum over fits.
    error : float
        The standard error of the mean; `error_fits` and `error_audit` are its two parts.
    bias_audit : float
        By how much judging with a sample of the audit changes the mean, on average.
    error_p5 : float
        The standard error of the percentile, by drawing fits and audit members again together.
    n_fits : int
        Fits that handed out any point.
    """

    mean: float
    p5: float
    least: float
    error: float
    error_fits: float
    error_audit: float
    bias_audit: float
    error_p5: float
    n_fits: int


def share_over_fits(
    votes: BoolArray, fits: IntArray, delta: float, rng: np.random.Generator, n_resamples: int = N_RESAMPLES
) -> Share | None:
    """Estimate the share of true promises over fits, with its error.

    Parameters
    ----------
    votes : array of shape (points, members)
        Which audit members give each point its target class.
    fits : array of shape (points,)
        The fit that handed out each point.
    delta : float
        The promised rate.
    rng : numpy generator
        Draws the audit members again.
    n_resamples : int
        How often.

    Returns
    -------
    Share or None
        None without any point.
    """
    if not len(votes):
        return None
    groups = np.unique(fits, return_inverse=True)[1]
    shares = by_fit(judge(votes.sum(axis=1), votes.shape[1], delta)[:, None], groups)[:, 0]
    n_fits = len(shares)
    again = np.hstack([by_fit(each, groups) for each in judged_again(votes, delta, rng, n_resamples)])
    error_fits = shares.std(ddof=1) / np.sqrt(n_fits) if n_fits > 1 else np.nan
    error_audit = np.sqrt(np.mean((again.mean(axis=0) - shares.mean()) ** 2))
    p5 = np.quantile(shares, _LOW)
    drawn = rng.integers(n_fits, size=again.shape)
    p5_again = np.quantile(np.take_along_axis(again, drawn, axis=0), _LOW, axis=0)
    return Share(
        mean=float(shares.mean()),
        p5=float(p5),
        least=float(shares.min()),
        error=float(np.hypot(error_fits, error_audit)),
        error_fits=float(error_fits),
        error_audit=float(error_audit),
        bias_audit=float(again.mean() - shares.mean()),
        error_p5=float(np.sqrt(np.mean((p5_again - p5) ** 2))),
        n_fits=n_fits,
    )


def judge(n_agree: FloatArray | IntArray, n_members: int, delta: float) -> BoolArray:
    """Say which points reach delta by so many votes."""
    return np.asarray(n_agree >= delta * n_members - 1e-9 * n_members)


def judged_again(
    votes: BoolArray, delta: float, rng: np.random.Generator, n_resamples: int, at_once: int = 50
) -> Iterator[BoolArray]:
    """Judge every point by samples of the audit members, drawn with replacement: shape (points, at once)."""
    n_members = votes.shape[1]
    # Whole numbers below 2**24 are exact in float32.
    numbers = votes.astype(np.float32)
    for start in range(0, n_resamples, at_once):
        size = min(at_once, n_resamples - start)
        weights = rng.multinomial(n_members, np.full(n_members, 1 / n_members), size=size)
        yield judge(numbers @ weights.T.astype(np.float32), n_members, delta)


def by_fit(kept: BoolArray, groups: IntArray) -> FloatArray:
    """Average judgements of shape (points, samples) over the points of each fit: shape (fits, samples)."""
    member_of = (groups[None] == np.arange(groups.max() + 1)[:, None]).astype(float)
    return np.asarray(member_of @ kept / member_of.sum(axis=1, keepdims=True))
