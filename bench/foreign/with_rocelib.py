"""RobustX (RoCELib): MCER, by mixed-integer programs. Runs in an environment that has `rocelib` and Gurobi's trial."""

import sys
from typing import Any

import gurobipy
import numpy as np
import pandas as pd

# The Gurobi that it pins, 11.0.1, has a trial that ended in 2025, and a newer one has no module of this name.
sys.modules["gurobipy.gurobipy"] = gurobipy

from exchange import Explain, Settings, Task, answer, one_by_one  # noqa: E402
from rocelib.datasets.DatasetLoader import DatasetLoader  # noqa: E402
from rocelib.models.imported_models.PytorchModel import PytorchModel  # noqa: E402
from rocelib.recourse_methods import MCE as mce  # noqa: E402
from rocelib.recourse_methods.MCER import MCER  # noqa: E402
from rocelib.tasks.Task import Task as TheirTask  # noqa: E402


class Table(DatasetLoader):
    """The common training rows."""

    def __init__(self, frame: pd.DataFrame) -> None:
        super().__init__("target", 0)
        self._data = frame

    @property
    def X(self) -> pd.DataFrame:
        return self._data.drop(columns="target")

    @property
    def y(self) -> pd.Series:
        return self._data["target"]

    def load_data(self) -> None:
        """Nothing to load: the rows are here."""


class Minimising(gurobipy.Model):
    """A program that minimises the L1 distance to a row, as the development version of MCE does.

    Release 0.2.3 defines a variable for the squared distance and never hands it to the solver as the objective.
    """

    row: np.ndarray

    def optimize(self, *args: Any) -> None:
        self.remove(self.getQConstrs())
        moved = self.addVars(len(self.row), obj=1.0)
        for i, value in enumerate(self.row):
            point = self.getVarByName(f"v_0_{i}")
            self.addConstr(moved[i] >= point - value)
            self.addConstr(moved[i] >= value - point)
        super().optimize(*args)


def made(task: Task, delta: float, increment: float, minimising: bool) -> Explain:
    """All weights may move by `delta`; `increment` is the step of the log-odds that it asks for."""
    mce.Model = Minimising if minimising else gurobipy.Model
    table = Table(pd.DataFrame(task.X, columns=task.names).assign(target=task.y.astype(int)))
    generator = MCER(TheirTask(PytorchModel.from_model(task.torch_model()), table))

    def explain(row: np.ndarray) -> np.ndarray | None:
        Minimising.row = row
        instance = pd.Series(row, index=task.names)
        found = generator.generate_for_instance(instance, delta=delta, increment=increment, threshold=60)
        point = found.to_numpy(float)[0]
        return point if task.logits(point[None])[0] > 0 else None

    return one_by_one(explain)


RELEASED: Settings = {"delta 0.005, increment 1": {"delta": 0.005, "increment": 1.0, "minimising": False}}
MINIMISING: Settings = {
    f"delta {delta:g}, increment {increment:g}": {"delta": delta, "increment": increment, "minimising": True}
    for delta, increment in (
        (0.005, 1.0),
        (0.005, 0.1),
        (0.01, 0.1),
        (0.02, 0.1),
        (0.04, 0.1),
        (0.08, 0.1),
        (0.12, 0.1),
    )
}


if __name__ == "__main__":
    answer({"MCER as released": (made, RELEASED), "MCER with an L1 objective": (made, MINIMISING)})
