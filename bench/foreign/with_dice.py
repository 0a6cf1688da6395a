"""DiCE: diverse plain counterfactuals, of which the closest is taken. Runs in an environment that has `dice-ml`."""

import warnings
from typing import Any

import dice_ml
import numpy as np
import pandas as pd
from exchange import Explain, Settings, Task, answer, one_by_one
from raiutils.exceptions import UserConfigValidationException


class Answering:
    """The common model, as DiCE asks models of scikit-learn."""

    def __init__(self, task: Task) -> None:
        self.task = task

    def predict_proba(self, X: Any) -> np.ndarray:
        p = 1 / (1 + np.exp(-self.task.logits(np.asarray(X, float))))
        return np.column_stack([1 - p, p])

    def predict(self, X: Any) -> np.ndarray:
        return (self.predict_proba(X)[:, 1] > 0.5).astype(int)


def made(task: Task, method: str, options: int, **how: Any) -> Explain:
    """Ask for some options per row, and keep the closest."""
    frame = pd.DataFrame(task.X, columns=task.names).assign(target=task.y.astype(int))
    data = dice_ml.Data(dataframe=frame, continuous_features=task.names, outcome_name="target")
    model = dice_ml.Model(model=Answering(task), backend="sklearn", model_type="classifier")
    explainer = dice_ml.Dice(data, model, method=method)

    def explain(row: np.ndarray) -> np.ndarray | None:
        query = pd.DataFrame([row], columns=task.names)
        try:
            found = explainer.generate_counterfactuals(
                query, total_CFs=options, desired_class=1, verbose=False, **how
            ).cf_examples_list[0]
        except UserConfigValidationException:  # how it says that there is none
            return None
        if found.final_cfs_df is None or found.final_cfs_df.empty:
            return None
        points = found.final_cfs_df[task.names].to_numpy(float)
        points = points[task.logits(points) > 0]  # what it rounded may have fallen back
        return points[np.abs(points - row).sum(axis=1).argmin()] if len(points) else None

    return one_by_one(explain)


RANDOM: Settings = {f"closest of {n}": {"method": "random", "options": n, "random_seed": 0} for n in (4,)}
GENETIC: Settings = {
    "closest of 4": {"method": "genetic", "options": 4},
    "closest of 4, proximity weight 2, diversity weight 0": {
        "method": "genetic",
        "options": 4,
        "proximity_weight": 2.0,
        "diversity_weight": 0.0,
    },
}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    np.random.seed(0)  # noqa: NPY002 - what DiCE draws from
    answer({"random": (made, RANDOM), "genetic": (made, GENETIC)})
