"""Retrain a model: the same estimator on other rows, with other parameters or another seed."""

import copy
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import _safe_indexing

from betarce.arrays import AnyArray, IntArray
from betarce.checks import check_unmasked
from betarce.engines.threads import one_thread
from betarce.errors import InvalidInput, UnusableModel
from betarce.features import RawTable
from betarce.models.network import Network, train_networks
from betarce.seeding import derive

_NETWORKS_AT_ONCE = 32
_SEEDS = ("random_state", "random_seed")
_THREADS = ("n_jobs", "thread_count")


@dataclass(frozen=True, eq=False)
class Table:
    """Training rows and their labels, in the user's own form."""

    X: RawTable
    y: "AnyArray | pd.Series[Any]"

    def __len__(self) -> int:
        return len(self.y)

    def copy(self) -> "Table":
        """Give a table of its own, so that members which are trained later see what the first ones saw."""
        # A table of polars never changes.
        return Table(*(part.copy() if hasattr(part, "copy") else part for part in (self.X, self.y)))

    def take(self, rows: IntArray | None) -> "Table":
        """Select rows, repeats allowed; all of them for None."""
        return self if rows is None else Table(_safe_indexing(self.X, rows), _safe_indexing(self.y, rows))


@dataclass(frozen=True, eq=False)
class Retraining:
    """What is particular to one retrained model.

    Attributes
    ----------
    name : str
        Unique among all members of all draws, such as "bootstrap/certify/17".
    seed : int
        Derived from the name.
    rows : array of int or None
        The training rows, with repetition; None for all.
    params : mapping
        Parameters of the estimator that differ from the model's.
    """

    name: str
    seed: int
    rows: IntArray | None = None
    params: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Outcome:
    """The outcome of a retraining: a model, or the error that prevented it."""

    model: object | None
    error: str = ""
    warning: str = ""


@dataclass(frozen=True, eq=False)
class Recipe:
    """A model that can be trained again.

    Parameters
    ----------
    estimator : object
        Anything with `fit` and `predict`, fitted or not; it is never changed.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> table = Table(np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1]))
    >>> recipe = Recipe(LogisticRegression())
    >>> [outcome] = recipe.train(table, [Retraining("again", seed=1, params={"C": 10.0})])
    >>> outcome.model
    LogisticRegression(C=10.0, random_state=1)
    """

    estimator: object

    def batches(self, retrainings: Sequence[Retraining]) -> list[list[Retraining]]:
        """Split retrainings into batches, which never depend on the number of workers.

        Raises
        ------
        UnusableModel
            If the model cannot be trained again at all; it is raised before any work is done.
        """
        fresh_copy(self.estimator)
        size = _NETWORKS_AT_ONCE if isinstance(self.estimator, Network) else 1
        return [list(retrainings[i : i + size]) for i in range(0, len(retrainings), size)]

    def train(self, table: Table, retrainings: Sequence[Retraining]) -> list[Outcome]:
        """Train one batch on one thread. A member that fails does not affect the others."""
        with one_thread():
            return self._train(table, retrainings)

    def _train(self, table: Table, retrainings: Sequence[Retraining]) -> list[Outcome]:
        if isinstance(self.estimator, Network) and len(retrainings) > 1:
            outcomes = _train_networks(self.estimator, table, retrainings)
            if outcomes is not None:
                return outcomes
        return [self._train_one(table, retraining) for retraining in retrainings]

    def unfitted(self, retraining: Retraining) -> Any:
        """Give the estimator of a retraining, unfitted."""
        estimator = fresh_copy(self.estimator)
        if retraining.params:
            estimator = set_parameters(estimator, retraining.params)
        return seed_everything(estimator, retraining.seed)

    def _train_one(self, table: Table, retraining: Retraining) -> Outcome:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                rows = table.take(retraining.rows)
                model = self.unfitted(retraining)
                fitted = model.fit(rows.X, rows.y)
                # Some models written by hand do not return self.
                model = model if fitted is None else fitted
            except Exception as error:  # noqa: BLE001 - the user's own code may fail in any way; it is reported
                return Outcome(None, error=f"{type(error).__name__}: {error}")
        first = f"{caught[0].category.__name__}: {caught[0].message}" if caught else ""
        return Outcome(model, warning=first)


def _train_networks(estimator: Network, table: Table, retrainings: Sequence[Retraining]) -> list[Outcome] | None:
    """Train many networks at once; None if that fails, so that each is trained alone and the failing one is named."""
    recipe = Recipe(estimator)
    try:
        estimators = [recipe.unfitted(retraining) for retraining in retrainings]
        rows = [retraining.rows for retraining in retrainings]
        return [Outcome(model) for model in train_networks(estimators, table.X, table.y, rows)]
    except Exception:  # noqa: BLE001 - whatever it was, training one by one meets it again and reports it
        return None


def fresh_copy(estimator: object) -> Any:
    """Copy an estimator without its fitted attributes, as far as its type allows."""
    if isinstance(estimator, FrozenEstimator):
        return fresh_copy(estimator.estimator)
    name = type(estimator).__name__
    if not hasattr(estimator, "fit"):
        raise UnusableModel(
            f"{name} has no `fit`, so it cannot be retrained. Pass the retrained models "
            "yourself with space=betarce.Given(models), or say how to train one with betarce.Custom(draw)."
        )
    try:
        if _library(estimator) == "catboost" and hasattr(estimator, "get_params"):
            # `clone` refuses a CatBoost model with a list among its parameters.
            return type(estimator)(**estimator.get_params())
        return clone(estimator) if hasattr(estimator, "get_params") else copy.deepcopy(estimator)
    except Exception as error:
        raise UnusableModel(
            f"{name} cannot be copied, so it cannot be retrained: {type(error).__name__}: {error}. Its constructor "
            "must keep its parameters as they are, see sklearn.base.clone; or say how to train a model with "
            "betarce.Custom(draw)."
        ) from error


def set_parameters(estimator: Any, params: Mapping[str, Any]) -> Any:
    """Set parameters of an estimator, or raise InvalidInput for one that it does not have."""
    known = estimator.get_params(deep=True) if hasattr(estimator, "get_params") else {}
    unknown = [name for name in params if name not in known]
    if unknown:
        raise InvalidInput(
            f"{type(estimator).__name__} has no parameter {unknown[0]!r}. It has: {', '.join(sorted(known)) or 'none'}."
        )
    return estimator.set_params(**params)


def seed_everything(estimator: Any, seed: int, *, only_unset: bool = False) -> Any:
    """Set every `random_state` inside an estimator, and one thread for each.

    The parallel work is done across members; inside, more threads could change the order of sums and so the model.
    """
    if not hasattr(estimator, "get_params"):
        if hasattr(estimator, "random_state") and not (only_unset and estimator.random_state is not None):
            estimator.random_state = seed
        return estimator
    params = estimator.get_params(deep=True)
    params.update(_unlisted(estimator, params))
    changes: dict[str, Any] = {}
    for name, value in params.items():
        path, _, leaf = name.rpartition("__")
        owner = params[path] if path else estimator
        if leaf in _SEEDS and not (only_unset and value is not None):
            changes[name] = seed if name == leaf else derive(seed, name)
        elif leaf in _THREADS and not only_unset and (value is not None or _takes_all_cores(owner)):
            changes[name] = 1
    return estimator.set_params(**changes) if changes else estimator


def _takes_all_cores(estimator: object) -> bool:
    """Say whether a library reads `n_jobs=None` as "all cores", where scikit-learn reads it as "one"."""
    return _library(estimator) in ("catboost", "lightgbm", "xgboost")


def _unlisted(estimator: Any, params: Mapping[str, Any]) -> dict[str, None]:
    """Give the seed and thread parameters of CatBoost models inside: `get_params` lists only those that were set."""
    found: dict[str, None] = {}
    for path, owner in {"": estimator, **params}.items():
        if _library(owner) == "catboost" and hasattr(owner, "get_params"):
            given, before = owner.get_params(), f"{path}__" if path else ""
            if not any(name in given for name in _SEEDS):
                found[f"{before}random_seed"] = None
            if not any(name in given for name in _THREADS):
                found[f"{before}thread_count"] = None
    return found


def _library(estimator: object) -> str:
    return type(estimator).__module__.partition(".")[0]


def check_labels(y: object, n_rows: int) -> "AnyArray | pd.Series[Any]":
    """Check training labels: one per row, none missing, at least two classes."""
    check_unmasked(y, what="y")
    try:
        labels = y if isinstance(y, pd.Series) else np.asarray(y)
    except ValueError as error:
        raise InvalidInput(f"`y` must have one label per row, shape ({n_rows},); {error}") from error
    if isinstance(y, (list, tuple)) and labels.dtype.kind in "US":
        labels = _same_kind(np.array([*y, None], dtype=object)[:-1])  # numpy turns [1, "a"] into text
    if labels.shape != (n_rows,):
        raise InvalidInput(f"`y` must have one label per row, shape ({n_rows},); got shape {labels.shape}.")
    if pd.isna(labels).any():
        raise InvalidInput(f"`y` must have no missing labels; got {int(pd.isna(labels).sum())} of them.")
    values = np.asarray(labels)
    if values.dtype.kind in "mMcV":
        raise InvalidInput(
            f"`y` must hold class labels: text, whole numbers or truth values; got {values.dtype}. Turn them into text "
            "first, for instance y.astype(str)."
        )
    if values.dtype.kind == "O":
        _same_kind(values)
    if values.dtype.kind == "f" and not np.array_equal(values, np.rint(values)):
        raise InvalidInput(
            "`y` must hold class labels; got numbers with fractions, as in a regression. "
            "Turn them into classes first, for instance y > threshold."
        )
    classes = np.unique(values)
    if len(classes) < 2:
        raise InvalidInput(
            f"`y` must hold at least two classes; got only {classes.tolist()[0]!r}. There is nothing to flip to."
        )
    return labels


def _same_kind(labels: AnyArray) -> AnyArray:
    """Refuse labels of several types, which cannot be sorted, or of a type that cannot be stored."""
    plain = [label.item() if isinstance(label, np.generic) else label for label in labels.tolist()]
    kinds = {type(label): label for label in plain}
    if len(kinds) > 1:
        (one, first), (other, second) = list(kinds.items())[:2]
        raise InvalidInput(
            f"`y` must hold labels of one kind; got {one.__name__} ({first!r}) and {other.__name__} ({second!r}). Turn "
            "them all into text: [str(label) for label in y]."
        )
    [(kind, label)] = kinds.items()
    if not issubclass(kind, (str, int, float)):
        raise InvalidInput(
            f"`y` must hold class labels: text, whole numbers or truth values; got {label!r} ({kind.__name__}). Turn "
            "them into text first."
        )
    return np.array(plain)
