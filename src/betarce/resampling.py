"""Training rows drawn again with replacement."""

from collections.abc import Callable

import numpy as np

from betarce.arrays import AnyArray, IntArray
from betarce.errors import InvalidInput
from betarce.seeding import generator

_MOST_REDRAWS = 1000


def bootstrap_rows(labels: IntArray, rng: np.random.Generator, *, stratified: bool = False) -> IntArray:
    """Draw row numbers with replacement, as many as there are labels.

    Examples
    --------
    >>> rows = bootstrap_rows(np.array([0, 0, 0, 1]), np.random.default_rng(0), stratified=True)
    >>> int((rows == 3).sum())
    1
    """
    if not stratified:
        return rng.integers(len(labels), size=len(labels))
    members = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    return np.concatenate([rows[rng.integers(len(rows), size=len(rows))] for rows in members])


def rows_of_every_class(
    y: AnyArray, draw: Callable[[IntArray, np.random.Generator], IntArray], *, seed: int, advice: str
) -> tuple[IntArray, int]:
    """Draw rows until every class is among them.

    Parameters
    ----------
    y : array of shape (n,)
        The labels.
    draw : callable
        Gives row numbers, from the codes of the labels and a generator.
    seed : int
    advice : str
        What to do if no draw has every class.

    Returns
    -------
    array of int
        The rows.
    int
        How many draws before them lost a class.

    Examples
    --------
    >>> rows_of_every_class(np.array(["a", "b"]), bootstrap_rows, seed=1, advice="Gather more rows.")
    (array([0, 1]), 2)
    """
    labels = np.unique(y, return_inverse=True)[1]
    for attempt in range(_MOST_REDRAWS):
        rows = draw(labels, generator(seed, "rows", attempt))
        if len(np.unique(labels[rows])) == labels.max() + 1:
            return rows, attempt
    raise InvalidInput(
        f"{_MOST_REDRAWS} samples of {len(rows)} rows in a row lost a class: the smallest has "
        f"{np.bincount(labels).min()} of {len(labels)} rows. {advice}"
    )
