"""Serialise several fitted models to one set of named arrays."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from betarce.arrays import AnyArray
from betarce.errors import CorruptFile
from betarce.models.stored.reader import Reader
from betarce.models.stored.writer import Writer
from betarce.storage.documents import parse_json

Arrays = Mapping[str, AnyArray]
_ABOUT = "about"
_FAULTS = (KeyError, ValueError, TypeError, AttributeError, IndexError, OverflowError, RecursionError)


def pack(models: Sequence[object]) -> dict[str, AnyArray]:
    """Write fitted models as arrays.

    Known are the classifiers and transformers of scikit-learn, LightGBM, XGBoost and betarce, in whatever way they are
    put together. The same model gives the same arrays in every process.

    Raises
    ------
    Unstorable
        If a model holds something else; the message says where.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> model = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    >>> [again] = unpack(pack([model]))
    >>> again.predict_proba([[0.3]]) == model.predict_proba([[0.3]])
    array([[ True,  True]])
    """
    writer = Writer()
    written = [writer.write(model) for model in models]
    about = json.dumps({"models": written, "objects": writer.objects}, allow_nan=False, separators=(",", ":"))
    arrays = {str(i): array for i, array in enumerate(writer.arrays)}
    return {_ABOUT: np.frombuffer(about.encode("utf-8"), dtype=np.uint8), **arrays}


def unpack(arrays: Arrays, *, ask: bool = True) -> list[object]:
    """Rebuild the models that `pack` wrote; raise CorruptFile for anything else.

    Parameters
    ----------
    arrays : mapping of str to array
    ask : bool
        Whether each model is asked once, to see that its parts fit together; not needed where that is done anyway.
    """
    try:
        about = parse_json(arrays[_ABOUT].tobytes().decode("utf-8"))
        reader = Reader([arrays[str(i)] for i in range(len(arrays) - 1)], about["objects"])
        models = [reader.read(each) for each in about["models"]]
        for model in models if ask else ():
            _check_answers(model)
    except (*_FAULTS, CorruptFile) as error:
        raise CorruptFile(f"it does not hold models: {type(error).__name__}: {error}") from error
    return models


def _check_answers(model: Any) -> None:
    """Refuse parts that do not fit together: let a model of plain numbers answer once."""
    if not hasattr(model, "predict_proba") or hasattr(model, "feature_names_in_"):
        return
    width = getattr(model, "n_features_in_", None)
    answer = np.asarray(model.predict_proba(np.zeros((1, width)))) if type(width) is int else None
    if answer is not None and answer.shape != (1, len(model.classes_)):
        raise ValueError(f"a model answers {answer.shape} for {len(model.classes_)} classes")
