"""The model to be explained: checked, and trained if it is not."""

from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from betarce.errors import UnusableModel
from betarce.models.recipe import Table, fresh_copy, seed_everything


def check_model(model: object) -> None:
    """Refuse what is no classifier."""
    name = type(model).__name__
    if isinstance(model, type):
        raise UnusableModel(f"`model` must be an object, not a class; pass {model.__name__}().")
    if hasattr(model, "__sklearn_tags__") and is_regressor(model):
        raise UnusableModel(f"`model` must be a classifier; {name} is a regressor. Counterfactuals need classes.")
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
