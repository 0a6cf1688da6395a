"""Score what a method hands out for the rows that all methods explain."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from betarce.arrays import BoolArray, FloatArray
from betarce.comparison.metrics import distance_to_base, plausibility, proximity, robustness, sparsity
from betarce.ensemble import Ensemble
from betarce.errors import InvalidInput
from betarce.explainers import Explained, Problem
from betarce.features import Box, check_table, row_names
from betarce.features.alignment import aligned_values
from betarce.targets import accepted, named

NEIGHBOURS = 15
MEANS = (
    *("found", "robustness", "covered", "proximity_l1", "proximity_l2", "plausibility", "distance_to_base"),
    *("changed", "evaluations", "ms"),
)


@dataclass(frozen=True, eq=False)
class ExplainedRows:
    """Rows to be explained by every method."""

    problem: Problem
    originals: FloatArray
    names: "pd.Index[Any]"
    targets: BoolArray
    box: Box

    @classmethod
    def of(cls, problem: Problem, rows: Any, target: Any) -> "ExplainedRows":
        """Read rows as a user has them; without a target, each is to leave its class."""
        table = check_table(rows, what="rows")
        originals = problem.features.encode(table, what="rows")
        classes = problem.model.classes
        if target is None and len(classes) > 2:
            raise InvalidInput(f"`target` must say which of the classes {classes.tolist()} is wanted.")
        if target is None:
            targets = problem.model.labels(originals) != classes
        else:
            target = aligned_values(target, table, what="target", rows="rows")
            targets = accepted(target, classes, len(originals))
        return cls(problem, originals, row_names(table), targets, problem.features.box(originals))

    def wanted(self) -> list[Any]:
        """Give the targets as a user would write them."""
        labels = [named(target, self.problem.model.classes) for target in self.targets]
        return [set(label) if isinstance(label, list) else label for label in labels]

    def measure(self, name: str, explained: Explained, seconds: float, audit: Ensemble, delta: float) -> pd.DataFrame:
        """Score what one method handed out; rows without an answer are blank."""
        features = self.problem.features
        found = np.flatnonzero(explained.found & self.problem.is_target(explained.points, self.targets))
        points, originals = explained.points[found], self.originals[found]
        near = min(NEIGHBOURS, len(self.problem.X_train))
        robust = robustness(audit, points, self.targets[found])
        scores = {
            "robustness": robust,
            "covered": (robust >= delta).astype(float),
            "proximity_l1": proximity(points, originals, p=1, scale=features),
            "proximity_l2": proximity(points, originals, p=2, scale=features),
            "plausibility": plausibility(points, self.problem.X_train, n_neighbors=near, p=2, scale=features),
            "changed": sparsity(points, originals, tolerance=0.0),
        }
        if explained.bases is not None:
            scores["distance_to_base"] = distance_to_base(points, explained.bases[found], scale=features)
        table = pd.DataFrame({"method": name, "row": self.names, "found": 0.0})
        table.loc[found, "found"] = 1.0
        for column in MEANS[1:-2]:
            table[column] = np.nan
            table.loc[found, column] = scores.get(column, np.nan)
        table["evaluations"] = explained.n_evaluations
        table["ms"] = 1000 * seconds / len(self.originals)
        missing = "The model does not give this point the target class."
        answered = np.isin(np.arange(len(table)), found)
        table["reason"] = [
            "" if ok else reason or missing for ok, reason in zip(answered, explained.reasons, strict=True)
        ]
        return table
