"""Broken promises made good: for each, the nearest point that the models of today certify."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from betarce.errors import InvalidInput
from betarce.ledger.promises import OPEN, Promise
from betarce.ledger.scoring import FeaturesOf, by_features
from betarce.results.counterfactual import RobustCounterfactual
from betarce.results.result import Result
from betarce.robustify import BetaRCE


def answers_for(run: BetaRCE, promises: Sequence[Promise], features_of: FeaturesOf) -> Result:
    """Explain the rows that promises were made for anew, one answer per promise, in their order.

    Parameters
    ----------
    run : BetaRCE
        Fitted to the model that is in use now.
    promises : sequence of Promise
        Open, and not erased.
    features_of : callable
        Gives the feature space of a promise.
    """
    for promise in promises:
        if promise.erased or promise.state not in OPEN:
            what = "erased" if promise.erased else promise.state
            raise InvalidInput(f"`promises` must be open to be repaired; {promise.id} is {what}. Nothing was recorded.")
    answers: dict[int, RobustCounterfactual] = {}
    made_with = {}
    for digest, rows in by_features(promises).items():
        originals = np.array([promises[i].original for i in rows], dtype=np.float64)
        result = run.explain(features_of(digest).decode(originals), target=[_target(promises[i]) for i in rows])
        made_with = dict(result.made_with)
        answers |= {i: replace(item, name=promises[i].name) for i, item in zip(rows, result, strict=True)}
    return Result([answers[i] for i in range(len(promises))], run.features_, made_with)


def repair_frame(promises: Sequence[Promise], answers: Result, names: Sequence[str]) -> pd.DataFrame:
    """Put what became of each promise in a table: "by" the promise that takes its place, or the reason for none."""
    new = iter(names)
    lines = [
        [promise.name, next(new) if item.status == "certified" else "", item.status, item.reason]
        for promise, item in zip(promises, answers, strict=True)
    ]
    index = pd.Index([promise.id for promise in promises], name="promise", dtype=object)
    return pd.DataFrame(lines, index=index, columns=["name", "by", "status", "reason"], dtype=object)


def _target(promise: Promise) -> Any:
    return set(promise.target) if isinstance(promise.target, list) else promise.target
