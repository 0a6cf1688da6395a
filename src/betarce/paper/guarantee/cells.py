"""Cells of the simulation: their tables, model families and spaces."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

from betarce import datasets
from betarce.arrays import AnyArray, IntArray
from betarce.features import Rule
from betarce.models.families import paper_model
from betarce.rules import decrease_only, immutable, increase_only, one_of, transitions
from betarce.seeding import generator
from betarce.spaces import Architecture

DATA = ("diabetes", "breast_cancer", "heloc", "wine", "loan")
FAMILIES = ("logistic", "lightgbm", "forest", "network")
SPACES = ("bootstrap", "seed", "architecture")
DEFAULT_GUARANTEE = (0.9, 0.95)  # delta, confidence

# The one place that says how many members search and certify under the default guarantee.
OURS: dict[str, Any] = {"n_models": "auto"}
PAPER = {"search": "growing-spheres", "certify_on": "search", "prior": "jeffreys", "n_models": 32}

N_ROWS = 60
N_PAPER_FITS = {"logistic": 20}  # else 5: the paper's form is there to compare distances with
N_AUDIT = {"network": 512}  # else 2,048
MOST_TRAINING_ROWS = {"network": 1_000}  # else 1,668, as many as HELOC has; thousands of members are trained

FOREST_RANGES = {
    "n_estimators": (6, 15),
    "max_depth": (4, 8),
    "min_samples_leaf": (1, 5),
    "max_features": ["sqrt", "log2", None],
}
NAMES = ["purpose", "housing", "education"]
RULES: dict[str, Rule] = {
    "age": immutable(),
    "income": increase_only(),
    "debt": decrease_only(),
    "education": increase_only(),
    "housing": transitions({"rent": ["with family"]}),
    "term_months": one_of([12, 24, 36, 48, 60, 72, 84]),
}


@dataclass(frozen=True)
class Cell:
    """One setting of the simulation: a model that is explained, and a way in which it is retrained."""

    data: str
    family: str
    space: str
    seed: int
    delta: float = 0.9
    confidence: float = 0.95

    @property
    def name(self) -> str:
        """Give the name of the cell's file, without its ending."""
        name = f"{self.data}-{self.family}-{self.space}-{self.seed}"
        return name if self.guarantee == DEFAULT_GUARANTEE else f"{name}-{self.delta:g}-{self.confidence:g}"

    @property
    def guarantee(self) -> tuple[float, float]:
        """Give delta and confidence."""
        return self.delta, self.confidence

    @property
    def n_audit(self) -> int:
        """Give how many fresh members measure the true validity."""
        return N_AUDIT.get(self.family, 2_048)

    @property
    def n_paper_fits(self) -> int:
        """Give in how many fits the paper's form runs as well."""
        return N_PAPER_FITS.get(self.family, 5)


@dataclass(frozen=True, eq=False)
class Tables:
    """The rows that models are trained on, and those to be explained; an unfitted model, and what may change."""

    X: Any
    y: AnyArray
    rows: Any
    model: Any
    rules: dict[str, Rule] | None


def tables(cell: Cell) -> Tables:
    """Load the data of a cell and split them."""
    return loans(cell) if cell.data == "loan" else scaled(cell)


def scaled(cell: Cell) -> Tables:
    """Split a data set of the paper and scale it by its training part, as the paper does."""
    data = datasets.load(cell.data, download=False)
    X, y = data.X.to_numpy(float), data.y.to_numpy()
    train, test = split(cell, len(X))
    low, high = X[train].min(axis=0), X[train].max(axis=0)
    X = (X - low) / np.where(high > low, high - low, 1)
    return Tables(X[train], y[train], X[test], model_of(cell.family), None)


def loans(cell: Cell) -> Tables:
    """Take the synthetic loans as they are: names, whole numbers and rules, and a pipeline around the model."""
    data = datasets.load_loan()
    train, test = split(cell, len(data.X))
    numbers = MinMaxScaler() if cell.family in ("logistic", "network") else "passthrough"
    others = [name for name in data.X.columns if name not in NAMES]
    preprocessing = ColumnTransformer(
        [("names", OneHotEncoder(handle_unknown="ignore"), NAMES), ("numbers", numbers, others)]
    )
    model = make_pipeline(preprocessing, model_of(cell.family))
    return Tables(data.X.iloc[train], data.y.to_numpy()[train], data.X.iloc[test], model, RULES)


def split(cell: Cell, n: int) -> tuple[IntArray, IntArray]:
    """Take two thirds to train, up to a limit, and explain some of the others."""
    order = generator(cell.seed, "split").permutation(n)
    cut = 2 * n // 3
    most = MOST_TRAINING_ROWS.get(cell.family, 1_668)
    return order[: min(cut, most)], order[cut:][:N_ROWS]


def model_of(family: str) -> Any:
    """Make an unfitted model: the paper's, or a small random forest."""
    return RandomForestClassifier(n_estimators=10, max_depth=6) if family == "forest" else paper_model(family)


def space_of(cell: Cell) -> Any:
    """Give the space of a cell; the paper has no ranges for forests."""
    forest = cell.family == "forest" and cell.space == "architecture"
    return Architecture(FOREST_RANGES) if forest else cell.space
