"""ElliCE: points that every nearly optimal last layer accepts. Runs in an environment that has `ellice`."""

import warnings
from typing import Any

import ellice
import numpy as np
import pandas as pd
from exchange import Explain, Settings, Task, answer


def made(task: Task, epsilon: float, share: bool = False, **how: Any) -> Explain:
    """`epsilon` is added to the training loss; with `share`, it is a share of that loss."""
    frame = pd.DataFrame(task.X, columns=task.names)
    data = ellice.Data(frame.assign(target=task.y.astype(float)), target_column="target")
    explainer = ellice.Explainer(task.torch_model(), data, backend="pytorch", device="cpu")

    def explain(rows: np.ndarray) -> np.ndarray:
        found = explainer.generate_counterfactuals(
            pd.DataFrame(rows, columns=task.names),
            robustness_epsilon=epsilon * (task.loss() if share else 1.0),
            progress_bar=False,
            **{**how, "optimization_params": dict(how.get("optimization_params", {}))},
        )
        points = np.full(rows.shape, np.nan)
        points[found["original_index"].to_numpy(int)] = found[task.names].to_numpy(float)
        return points

    return explain


DOCUMENTED: Settings = {"epsilon 0.01": {"epsilon": 0.01}}
TENTH: Settings = {"epsilon 10 % of the loss": {"epsilon": 0.1, "share": True}}


def grid() -> Settings:
    """Epsilon, and the step of the gradient; a weight for proximity was tried and changed next to nothing."""
    return {
        f"epsilon {epsilon:g}, step {step:g}": {
            "epsilon": epsilon,
            "optimization_params": {"learning_rate": step},
        }
        for epsilon in (0.002, 0.005, 0.01, 0.02)
        for step in (0.1, 0.02)
    }


def by_data() -> Settings:
    """The data-supported mode, over epsilon."""
    return {f"epsilon {e:g}": {"epsilon": e, "method": "data_supported"} for e in (0.01, 0.001, 0.003, 0.03)}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    # The sparse mode takes seconds per row: one setting, and last.
    sparse = {name: {**setting, "sparsity": True} for name, setting in DOCUMENTED.items()}
    continuous = DOCUMENTED | TENTH | grid()
    answer({"continuous": (made, continuous), "data-supported": (made, by_data()), "sparse": (made, sparse)})
