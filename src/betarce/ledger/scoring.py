"""What a new model, or any scoring system in the world, says about promised points."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from betarce.arrays import BoolArray, FloatArray
from betarce.errors import BetarceError, InvalidInput, UnusableModel
from betarce.features import FeatureSpace
from betarce.ledger.promises import Promise
from betarce.ledger.table_for_model import table_for
from betarce.robustify import BetaRCE

FeaturesOf = Callable[[str], FeatureSpace]


@dataclass(frozen=True, eq=False)
class Scores:
    """Which promises hold under a model.

    Attributes
    ----------
    held : array of bool, shape (promises,)
        False where it cannot be said.
    reasons : list of str
        Why a promise cannot be scored; "" where it can.
    """

    held: BoolArray
    reasons: list[str]

    @property
    def known(self) -> BoolArray:
        """Which promises could be scored."""
        return np.array([not reason for reason in self.reasons], dtype=bool)


def score_with_model(model: Any, promises: Sequence[Promise], features_of: FeaturesOf) -> Scores:
    """Ask a model for its class at every promised point, in the form of the table that it was promised in."""
    if not hasattr(model, "predict"):
        raise InvalidInput(f"`model` must have `predict`, or be a Series of predictions; got {type(model).__name__}.")
    held, reasons = np.zeros(len(promises), dtype=bool), [""] * len(promises)
    for digest, rows in by_features(promises).items():
        features = features_of(digest)
        table = features.decode(np.array([promises[i].point for i in rows], dtype=np.float64))
        labels, why = _labels(model, table)
        known = {repr(_plain(each)) for each in getattr(model, "classes_", [])}
        for k, i in enumerate(rows):
            wanted = as_list(promises[i].target)
            unknown = [each for each in wanted if known and repr(_plain(each)) not in known]
            if labels is None:
                reasons[i] = why
            elif len(unknown) == len(wanted):
                reasons[i] = f"the new model does not know the class {unknown[0]!r}, only {', '.join(sorted(known))}"
            else:
                held[i] = any(labels[k] == each for each in wanted)
    return Scores(held, reasons)


def _labels(model: Any, table: Any) -> tuple[list[Any] | None, str]:
    """Give the labels of a model, or None and the reason why it has none."""
    try:
        return np.asarray(model.predict(table_for(model, table))).tolist(), ""
    except UnusableModel as error:
        return None, str(error)
    except Exception as error:  # noqa: BLE001 - a foreign model may refuse these columns in any way; it is reported
        return None, f"the new model cannot take these columns: {type(error).__name__}: {error}"


def score_with_predictions(predictions: "pd.Series[Any]", promises: Sequence[Promise]) -> Scores:
    """Look predicted classes up, by the name of the promise or, if none is there, by the name of the row."""
    if not predictions.index.is_unique:
        twice = predictions.index[predictions.index.duplicated()][0]
        raise InvalidInput(f"`model` must have each name once; {twice!r} is there more than once.")
    found = predictions.to_dict()
    by_promise = any(promise.id in found for promise in promises)
    held, reasons = np.zeros(len(promises), dtype=bool), [""] * len(promises)
    for i, promise in enumerate(promises):
        key = promise.id if by_promise else promise.name
        label = found.get(key)
        if label is None or label != label:
            reasons[i] = f"there is no prediction for {key!r}"
        else:
            held[i] = any(label == each or str(label) == str(each) for each in as_list(promise.target))
    return Scores(held, reasons)


def audit_breaks(run: BetaRCE, promises: Sequence[Promise], features_of: FeaturesOf) -> tuple[BoolArray, BoolArray]:
    """Say which promises each audit member of a run breaks, and which promises they could score.

    Returns
    -------
    broken : array of bool, shape (promises, audit members)
    known : array of bool, shape (promises,)
    """
    audit = run.members_.audit
    if audit is None:
        raise InvalidInput("`run` must have audit members; it has none. Draw them when it is fitted or saved.")
    broken = np.zeros((len(promises), len(audit)), dtype=bool)
    known = np.zeros(len(promises), dtype=bool)
    classes = run.classes_.tolist()
    for digest, rows in by_features(promises).items():
        features = features_of(digest)
        points: FloatArray = np.array([promises[i].point for i in rows], dtype=np.float64)
        wanted = accepted_classes([promises[i].target for i in rows], classes)
        try:
            if not features.reads_like(run.features_):
                points = np.asarray(run.features_.encode(features.decode(points), what="the promises"))
        except BetarceError:
            continue  # promised in a table of other columns: these cannot be ranked
        there = wanted.any(axis=1)
        chosen = np.array(rows)[there]
        broken[chosen] = ~audit.agrees(points[there], wanted[there])
        known[chosen] = True
    return broken, known


def by_features(promises: Sequence[Promise]) -> dict[str, list[int]]:
    """Group promises by their feature space; give the places of each group."""
    groups: dict[str, list[int]] = {}
    for i, promise in enumerate(promises):
        groups.setdefault(promise.features, []).append(i)
    return groups


def as_list(target: Any) -> list[Any]:
    """Give the classes that a target accepts: itself, or all that it lists."""
    return target if isinstance(target, list) else [target]


def accepted_classes(targets: Sequence[Any], classes: Sequence[Any]) -> BoolArray:
    """Say for every target which of the classes it accepts; equal targets are compared once.

    Examples
    --------
    >>> accepted_classes(["good", ["good", "fair"]], ["bad", "fair", "good"])
    array([[False, False,  True],
           [False,  True,  True]])
    """
    masks: dict[tuple[Any, ...], list[bool]] = {}
    for labels in (tuple(as_list(target)) for target in targets):
        if labels not in masks:
            masks[labels] = [any(each == label for each in labels) for label in classes]
    return np.array([masks[tuple(as_list(target))] for target in targets], dtype=bool)


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label
