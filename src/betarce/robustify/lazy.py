"""Explain lazy tables of Dask or Ray, partition by partition, when they are computed."""

from functools import partial
from typing import Any

import pandas as pd

from betarce.engines.threads import one_thread
from betarce.errors import InvalidInput, require
from betarce.results.answer_table import answer_table, empty_table
from betarce.robustify.asked import chunk_size


def is_lazy(X: Any) -> bool:
    """Say whether a table is one of Dask or Ray.

    Examples
    --------
    >>> is_lazy(pd.DataFrame({"age": [41]}))
    False
    """
    return _library(X) != ""


def _library(X: Any) -> str:
    kind = type(X)
    if kind.__module__.startswith("dask.") and kind.__name__ == "DataFrame":
        return "dask"
    return "ray" if kind.__module__.startswith("ray.data") and hasattr(X, "map_batches") else ""


def explained_lazily(rce: Any, X: Any, target: Any, base_points: Any, overrides: Any) -> Any:
    """Give the table of answers as one of the same library; nothing is computed before it is asked for.

    Parameters
    ----------
    rce : BetaRCE
        Fitted.
    X : DataFrame of Dask, or data set of Ray
        Its columns are those of the training table.
    target : label or set of labels
        One for all rows.
    base_points, overrides : None
        They name rows, which are not here.

    Returns
    -------
    DataFrame of Dask, or data set of Ray
        One line per row, see `betarce.results.answer_table`: the answers that `explain` gives for the same rows.
    """
    if base_points is not None or overrides is not None:
        raise InvalidInput(
            "`base_points` and `overrides` must be left out for tables of Dask and Ray. Call `explain` on each part, "
            "with what belongs to its rows."
        )
    rce.members_ = rce.members_.looked_at()
    alone = type(rce)(**{**rce.get_params(deep=False), "n_jobs": None, "verbose": -1}).fit_with(
        rce.subject_, rce.members_, seed=rce.seed_
    )
    if _library(X) == "dask":
        dask = require("dask", extra="dask", purpose="A table of Dask")
        return X.map_partitions(_answers, dask.delayed(alone), target, meta=empty_table(rce.features_))
    size = chunk_size(len(rce.features_))
    return X.map_batches(partial(_answers, rce=alone, target=target), batch_format="pandas", batch_size=size)


def _answers(part: pd.DataFrame, rce: Any, target: Any) -> pd.DataFrame:
    if not len(part):
        return empty_table(rce.features_)
    with one_thread():
        return answer_table(rce.explain(part, target))
