"""Answers to the questions of the page, by a fitted explainer."""

import json
import math
import threading
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from betarce.arrays import BoolArray, FloatArray
from betarce.features import Column, FeatureSpace
from betarce.features.stored import to_plain
from betarce.results.changes import row_title, written
from betarce.results.counterfactual import RobustCounterfactual
from betarce.results.page.content import column_contents, people_content
from betarce.results.result import Result
from betarce.robustify import BetaRCE
from betarce.robustify.rows import Rows
from betarce.web.questions import Question, read_options, read_question
from betarce.web.refusals import Refusal
from betarce.web.together import Together
from betarce.web.wishes import narrowed


class Desk:
    """A fitted explainer at the service of the page; questions that wait at the same time are answered together.

    Parameters
    ----------
    rce : BetaRCE
        Fitted.
    rows : table, optional
        The rows to pick from; those that cannot be read say so when they are picked.
    """

    def __init__(self, rce: BetaRCE, rows: Any = None) -> None:
        check_is_fitted(rce)
        self._rce = rce
        self._rows = None if rows is None else Rows.read(rce.features_, rows, None, None, None)
        self._busy = threading.Lock()
        self._together = Together(self._answers)
        self.run = _run_digest(rce)

    @property
    def features(self) -> FeatureSpace:
        """How typed values become points."""
        return self._rce.features_

    def state(self) -> dict[str, Any]:
        """Give what the page needs to know before anything is asked."""
        features = self.features
        names = [] if self._rows is None else [row_title(name) for name in self._rows.names]
        return {
            "run": self.run,
            "columns": [
                {**content, **_field(column)}
                for content, column in zip(column_contents(features), features.columns, strict=True)
            ],
            "classes": [str(label) for label in self._rce.classes_],
            "rows": names,
            "typical": _typed(_typical(features)),
            "max_changes": features.max_changes,
        }

    def row(self, place: int) -> dict[str, Any]:
        """Give the values of one row to pick from, and the place of the class that the model gives it now."""
        rows = self._rows
        if rows is None or not 0 <= place < len(rows.names):
            raise Refusal("row", status=404)
        if place in rows.unreadable:
            raise Refusal("unreadable", text=rows.unreadable[place])
        point = rows.originals[int(np.searchsorted(rows.kept, place))]
        return {"values": _typed(point), "class": self._class_of(point)}

    def ask(self, data: Any) -> dict[str, Any]:
        """Say what a row has to change, under the wishes of the asker."""
        question = read_question(self._checked(data), self.features, len(self._rce.classes_))
        result = self._explained([question])
        robust = result[0].points["robust"]
        return {
            **people_content(result),
            "robust": None if robust is None else _typed(robust),
            "class": self._class_of(question.point),
        }

    def options(self, data: Any) -> dict[str, Any]:
        """Say what else a row could change: one answer for each column that is to stay as it is."""
        questions = read_options(self._checked(data), self.features, len(self._rce.classes_))
        return people_content(self._explained(questions))

    def verdict(self, data: Any) -> dict[str, Any]:
        """Say what the certifying members think of values that somebody typed."""
        question = read_question(self._checked(data), self.features, len(self._rce.classes_))
        with self._busy:
            [verdict] = self._rce.certify(self.features.decode(question.point[None]), self._labels(question.targets))
        vote = verdict.certificate
        return {
            "certified": verdict.certified,
            "model_agrees": verdict.model_agrees,
            "agree": vote.n_agree,
            "n_models": vote.n_models,
            "delta": vote.guarantee.delta,
            "confidence": vote.guarantee.confidence,
            "varied": vote.varied,
            "members": vote.members,
        }

    def _checked(self, data: Any) -> Any:
        """Refuse a question from a page of another run, whose columns may mean something else."""
        if isinstance(data, dict) and data.get("run") != self.run:
            raise Refusal("other_run", status=409)
        return data

    def _explained(self, questions: Sequence[Question]) -> Result:
        """Explain a few rows, with whatever else waits: what one of them gets does not depend on the others."""
        # Their names must not tell where in a batch they were.
        items = [replace(item, name=place) for place, item in enumerate(self._together(questions))]
        return Result(items, self.features)

    def _answers(self, questions: Sequence[Question]) -> list[RobustCounterfactual]:
        table = self.features.decode(np.stack([question.point for question in questions]))
        own = {place: narrowed(self.features, question.wishes) for place, question in enumerate(questions)}
        targets = [self._labels(question.targets) for question in questions]
        with self._busy:
            return list(self._rce.explain(table, targets, overrides={k: v for k, v in own.items() if v} or None))

    def _labels(self, targets: BoolArray) -> Any:
        labels = self._rce.classes_[targets]
        return labels[0] if len(labels) == 1 else set(labels.tolist())

    def _class_of(self, point: FloatArray) -> int:
        [[label]] = self._rce.problem_.model.labels(point[None])
        return int(np.searchsorted(self._rce.classes_, label))


def _run_digest(rce: BetaRCE) -> str:
    """Tell runs apart by what a question depends on: columns, rules, classes, and what is promised."""
    parts = [to_plain(rce.features_), [str(label) for label in rce.classes_], str(rce.guarantee_), rce.seed_]
    return sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:16]


def _field(column: Column) -> dict[str, Any]:
    """Say how values of a column are typed in."""
    levels = None
    if column.levels is not None:
        levels = [written(column, [place])[0] for place in range(len(column.levels))]
    return {
        "levels": levels,
        "ordered": not column.is_nominal,
        "missing": column.missing,
        "whole": column.levels is None and column.kind in ("integer", "binary"),
        "low": column.lower,
        "high": column.upper,
    }


def _typical(features: FeatureSpace) -> FloatArray:
    return np.array([column.common[0] if column.common else column.lower for column in features.columns])


def _typed(point: FloatArray) -> list[float | None]:
    return [None if math.isnan(value) else value for value in point.tolist()]
