"""The model to be explained: checked, and trained if it is not."""

import warnings
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from betarce.arrays import AnyArray
from betarce.errors import UnusableModel
from betarce.models.recipe import Table, fresh_copy, seed_everything

_SOME = 64  # rows of the training table that a fitted model is asked about
_SHOWN = 5


def check_model(model: object) -> None:
    """Refuse what is no classifier."""
    name = type(model).__name__
    if isinstance(model, type):
        raise UnusableModel(f"`model` must be an object, not a class; pass {model.__name__}().")
    kind = get_tags(model).estimator_type if hasattr(model, "__sklearn_tags__") else None
    if kind not in (None, "classifier"):
        what = kind.replace("_", " ")
        article = "an" if what[0] in "aeiou" else "a"
        raise UnusableModel(
            f"`model` must be a classifier; {name} is {article} {what}. Counterfactuals need classes that were learnt "
            "from labels."
        )
    # Some classifiers, such as StackingClassifier, have `predict` only once they are fitted.
    if not hasattr(model, "predict") and not _may_yet_predict(model):
        raise _lacks_predict(model)


def _lacks_predict(model: object) -> UnusableModel:
    return UnusableModel(
        f"`model` must have `predict`; {type(model).__name__} has none. Wrap it in a class with `fit(X, y)` and "
        "`predict(X)`."
    )


def _may_yet_predict(model: object) -> bool:
    if not (hasattr(model, "fit") and hasattr(model, "__sklearn_tags__") and is_classifier(model)):
        return False
    try:
        check_is_fitted(model)
    except NotFittedError:
        return True
    return False


def explained_model(model: Any, table: Table, seed: int) -> Any:
    """Give the model as it is if it is fitted, else a trained copy.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> table = Table(np.array([[0.0], [1.0]]), np.array([0, 1]))
    >>> explained_model(LogisticRegression(), table, seed=0).predict([[1.0]])
    array([1])
    """
    inner = model.estimator if isinstance(model, FrozenEstimator) else model
    if _is_fitted(inner, table):
        _check_knows(inner, table)
        return inner
    if not hasattr(inner, "fit"):
        raise UnusableModel(f"`model` must be fitted, or have `fit`; {type(inner).__name__} is neither.")
    try:
        trained = _trained(inner, table, seed)
    except UnusableModel:
        raise
    except Exception as error:
        advice = _advice(inner, table, seed)
        raise UnusableModel(
            f"`model` could not be trained on this table: {type(error).__name__}: {error}\n{advice}"
        ) from error
    if not hasattr(trained, "predict"):
        raise _lacks_predict(trained)
    return trained


def _check_knows(model: Any, table: Table) -> None:
    """Refuse a fitted model that was trained on other columns or other labels than those of the table."""
    name, some = type(model).__name__, table.take(np.arange(min(len(table), _SOME))).X
    classes = getattr(model, "classes_", None)
    if isinstance(classes, np.ndarray):
        strange = [label for label in np.unique(np.asarray(table.y)).tolist() if label not in classes.tolist()]
        if strange:
            raise UnusableModel(
                f"`model` must know the labels of `y`; {name} was fitted on {classes.tolist()} and has never seen "
                f"{strange[0]!r}. Pass the labels that it was fitted on, or an unfitted model."
            )
    own = [str(column) for column in getattr(model, "feature_names_in_", ())]
    there = [str(column) for column in some.columns] if hasattr(some, "columns") else []
    try:
        labels = _labels(model, some)
    except Exception as error:
        why = _differences(own, there) or str(error).rstrip(".")
        raise UnusableModel(
            f"`model` is fitted, but not on these columns: {why}. Pass the table that it was fitted on, or an unfitted "
            "model."
        ) from error
    # Some libraries take columns by their place without a word, whatever they are called.
    if own and own != there and set(own) == set(there) and not np.array_equal(_labels(model, some[own]), labels):
        raise UnusableModel(
            f"`model` was fitted on the same columns in another order, {own}, and {name} takes them by their place. "
            "Pass `X` in that order."
        )


def _labels(model: Any, rows: Any) -> AnyArray:
    with warnings.catch_warnings():  # whoever asks in earnest shows them
        warnings.simplefilter("ignore")
        return np.asarray(model.predict(rows))


def _differences(own: list[str], there: list[str]) -> str:
    """Say which columns a fitted model and a table do not share; "" where that is not known, or not the point."""
    if not own or not there:
        return ""
    lacks, adds = ([name for name in one if name not in other] for one, other in ((own, there), (there, own)))
    parts = [
        f"{verb} {', '.join(map(repr, names[:_SHOWN]))}{', ...' * (len(names) > _SHOWN)}"
        for verb, names in (("lacks", lacks), ("adds", adds))
        if names
    ]
    return f"`X` {' and '.join(parts)}" if parts else f"they come in another order, {own}" * (own != there)


def _trained(model: Any, table: Table, seed: int) -> Any:
    trained = seed_everything(fresh_copy(model), seed, only_unset=True)
    fitted = trained.fit(table.X, table.y)
    return trained if fitted is None else fitted


def _advice(model: Any, table: Table, seed: int) -> str:
    """Say what would help a model that cannot be trained: other labels if those help, else another table."""
    classes, codes = np.unique(np.asarray(table.y), return_inverse=True)
    if not np.array_equal(classes, np.arange(len(classes))):
        try:
            _trained(model, Table(table.X, codes), seed)
        except Exception:  # noqa: BLE001 - then it is not for the labels that it failed
            pass
        else:
            held = ", ".join(map(repr, classes.tolist()))
            return (
                f"It takes the labels 0 to {len(classes) - 1} only; `y` holds {held}. "
                "Number them first, for instance with sklearn.preprocessing.LabelEncoder, or wrap the model in a class "
                "that does."
            )
    return "It must take the table as it is: put encoders and imputers in front of it in a Pipeline."


def _is_fitted(model: Any, table: Table) -> bool:
    if hasattr(model, "get_params") and hasattr(model, "fit"):
        try:
            check_is_fitted(model)
        except NotFittedError:
            return False
        return True
    # A home-made model: if it answers, it has been trained.
    try:
        model.predict(table.take(np.arange(1)).X)
    except Exception:  # noqa: BLE001 - foreign code has its own way to say that it is not ready
        return False
    return True
