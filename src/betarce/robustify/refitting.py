"""Notice that the explained model was fitted again in place, after its members were trained."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from betarce.arrays import AnyArray, IntArray
from betarce.errors import InvalidInput
from betarce.models.recipe import Table

_SOME = 64
_PLAIN = (bool, int, float, str, bytes, type(None))


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A fitted model as it was when its members were trained.

    Attributes
    ----------
    model : classifier
    learnt : list of (estimator, mapping of str to object)
        What the model and the estimators inside it had learnt; `fit` replaces these objects.
    rows : table
        Some training rows.
    outputs : array
        What the model said of them.
    """

    model: Any
    learnt: list[tuple[Any, dict[str, Any]]]
    rows: Any
    outputs: AnyArray

    @classmethod
    def of(cls, model: Any, table: Table) -> "FittedModel":
        """Take note of a fitted model."""
        some: IntArray = np.linspace(0, len(table) - 1, min(_SOME, len(table))).astype(np.intp)
        rows = table.take(some).X
        return cls(model, [(each, _learnt(each)) for each in _estimators(model)], rows, _outputs(model, rows))

    def refuse_refitted(self) -> None:
        """Raise if the model has learnt something else since then."""
        if self._untouched() or np.array_equal(_outputs(self.model, self.rows), self.outputs):
            return
        raise InvalidInput(
            "`model` was fitted again after `fit`, and the members are siblings of what it was before: call `fit` "
            "again. To keep both, fit a copy: sklearn.base.clone(model)."
        )

    def _untouched(self) -> bool:
        """Whether the same objects are there: much faster than to ask the model."""
        return all(
            _same(value, now.get(name, value))
            for each, before in self.learnt
            for now in [vars(each)]
            for name, value in before.items()
        )


def _estimators(model: Any) -> Iterator[Any]:
    yield model
    if hasattr(model, "get_params"):
        for part in model.get_params(deep=True).values():
            if hasattr(part, "fit") and not isinstance(part, type):
                yield part


def _learnt(estimator: Any) -> dict[str, Any]:
    """Give all attributes but parameters, which `set_params` changes and other checks look at."""
    params = estimator.get_params(deep=False) if hasattr(estimator, "get_params") else {}
    return {name: value for name, value in getattr(estimator, "__dict__", {}).items() if name not in params}


def _same(one: Any, other: Any) -> bool:
    return one is other or (isinstance(one, _PLAIN) and type(one) is type(other) and one == other)


def _outputs(model: Any, rows: Any) -> AnyArray:
    """Ask for what says most: probabilities, else scores, else labels."""
    ask = getattr(model, "predict_proba", None) or getattr(model, "decision_function", None) or model.predict
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(ask(rows))
