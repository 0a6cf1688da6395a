"""Does the promise hold? Certified points against fresh members that nothing has seen.

Run: ``make guarantee``. Every cell (data set x family x space x seed) is saved as one file under
``docs/results/guarantee`` when it is done, and skipped when it is there; the tables in ``docs/guarantee.md`` are made
from the files.
"""

import argparse
import json
import os
import time
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.progress import Progress
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from threadpoolctl import threadpool_limits

import guarantee_instance
import guarantee_reference
from betarce import __version__
from betarce.arrays import AnyArray, FloatArray, IntArray
from betarce.data import load, load_loan
from betarce.drawing import draw_members
from betarce.ensemble import Ensemble
from betarce.errors import BetarceWarning, DataUnavailable
from betarce.explainers import GrowingSpheres, Problem
from betarce.features import FeatureSpace, Rule, decrease_only, immutable, increase_only, one_of, transitions
from betarce.models.families import paper_model
from betarce.models.recipe import Recipe, Retraining, Table
from betarce.posterior import EXACT, JEFFREYS, Guarantee
from betarce.robustify.certify import walk_ladders
from betarce.robustify.steer import Steering, Task
from betarce.search import FrontierSearch, GrowingSpheresSearch
from betarce.seeding import derive, generator
from betarce.spaces import check_space
from guarantee_report import write_report
from pages import replace_block, table

ROOT = Path(__file__).parents[1]
RESULTS = Path(os.environ.get("BETARCE_RESULTS", ROOT / "docs" / "results")) / "guarantee"
DATA = ("breast_cancer", "diabetes", "heloc", "rice")
FAMILIES = ("logistic", "lightgbm", "network")
SPACES = ("bootstrap", "seed", "architecture")
GUARANTEES = [
    *(Guarantee(delta, confidence, JEFFREYS) for delta, confidence in product((0.8, 0.9), (0.9, 0.95))),
    Guarantee(0.9, 0.9, EXACT),
    Guarantee(0.9, 0.95, EXACT),
]
N_SETS = 6  # disjoint sets of members: each steers once and certifies once
N_ROWS = 50


@dataclass(frozen=True)
class Cell:
    """One setting of the simulation."""

    data: str
    family: str
    space: str
    seed: int = 0

    @property
    def name(self) -> str:
        """Give the file's name without its ending."""
        return f"{self.data}-{self.family}-{self.space}-{self.seed}"

    @property
    def n_audit(self) -> int:
        """Fresh members that measure the true validity."""
        return 200 if self.family == "network" else 500


MIXED = Cell("loan", "lightgbm", "bootstrap")


@dataclass(frozen=True, eq=False)
class Scene:
    """A cell, trained and ready: the model, rows with their bases, and all members."""

    problem: Problem
    originals: FloatArray
    bases: FloatArray
    targets: AnyArray
    sets: list[list[object]]
    audit: Ensemble
    n_base_missing: int

    def members(self, i: int, n: int) -> Ensemble:
        """Give the first members of a set."""
        models = self.sets[i % len(self.sets)][:n]
        return Ensemble(models, self.problem.model.classes, features=self.problem.features)

    def task(self, seed: int) -> Task:
        """Give the rows as a task."""
        box = self.problem.features.box(self.originals)
        return Task(self.bases, self.targets, box, [derive(seed, i) for i in range(len(self.targets))])


def prepare(cell: Cell, n_jobs: int) -> Scene:
    """Train the model and all members of a cell; find the bases."""
    train, test, labels, recipe, rules = mixed_table(cell) if cell.data == "loan" else scaled_table(cell)
    table = Table(train, labels)
    model = varied_model(recipe, table, cell.seed)
    n = max(guarantee.min_models(allowed_dissent=1) for guarantee in GUARANTEES)
    sizes = {f"set{i}": n for i in range(N_SETS)} | {"audit": cell.n_audit}
    draws = draw_members(
        check_space(cell.space), Recipe(model), table, sizes, seed=cell.seed, n_jobs=n_jobs, verbose=-1
    )
    features = FeatureSpace.infer(train, rules)
    points = features.encode(train)
    problem = Problem(Ensemble([model], np.unique(labels), features=features), features, points, labels)
    originals = features.encode(test)[:N_ROWS]
    targets = problem.model.labels(originals) != problem.model.classes
    seeds = [derive(cell.seed, "base", i) for i in range(len(targets))]
    based = GrowingSpheres().explain(originals, targets, problem, features.box(originals), seeds)
    ok = based.found
    return Scene(
        problem,
        originals[ok],
        based.points[ok],
        targets[ok],
        [draws[f"set{i}"].models for i in range(N_SETS)],
        Ensemble(draws["audit"].models, problem.model.classes, features=features),
        int((~ok).sum()),
    )


def varied_model(recipe: Recipe, table: Table, seed: int) -> Any:
    """Train the model to be explained; one that answers one class everywhere has nothing to explain."""
    for attempt in range(20):
        [outcome] = recipe.train(table, [Retraining("model", derive(seed, "model", attempt))])
        model: Any = outcome.model
        if len(np.unique(model.predict(table.X))) > 1:
            return model
    raise RuntimeError("20 models in a row answer one class everywhere")


def scaled_table(cell: Cell) -> tuple[FloatArray, FloatArray, AnyArray, Recipe, None]:
    """Load a data set, split it, and scale it by its training part, as the paper does."""
    data = load(cell.data, download=False)
    X, y = data.X.to_numpy(float), data.y.to_numpy()
    train, test = split(cell, len(X))
    low, high = X[train].min(axis=0), X[train].max(axis=0)
    X = (X - low) / np.where(high > low, high - low, 1)
    return X[train], X[test], y[train], Recipe(paper_model(cell.family)), None


def mixed_table(cell: Cell) -> tuple[pd.DataFrame, pd.DataFrame, AnyArray, Recipe, dict[str, Rule]]:
    """Give the synthetic loans as they are: names, whole numbers, rules, and a pipeline around the paper's model."""
    data = load_loan()
    train, test = split(cell, len(data.X))
    encode = ColumnTransformer(
        [("names", OneHotEncoder(handle_unknown="ignore"), ["purpose", "housing", "education"])],
        remainder="passthrough",
    )
    rules = {
        "age": immutable(),
        "income": increase_only(),
        "debt": decrease_only(),
        "education": increase_only(),
        "housing": transitions({"rent": ["with family"]}),
        "term_months": one_of([12, 24, 36, 48, 60, 72, 84]),
    }
    model = make_pipeline(encode, paper_model(cell.family))
    return data.X.iloc[train], data.X.iloc[test], data.y.to_numpy()[train], Recipe(model), rules


def split(cell: Cell, n: int) -> tuple[IntArray, IntArray]:
    """Take two thirds to train and one to explain."""
    order = generator(cell.seed, "split").permutation(n)
    return order[: 2 * n // 3], order[2 * n // 3 :]


def simulate(cell: Cell, n_jobs: int = 1) -> dict[str, Any]:
    """Run one cell."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BetarceWarning)
        scene = prepare(cell, n_jobs)
    records = [record for guarantee in GUARANTEES for record in compare(scene, guarantee, cell.seed)]
    return {"cell": asdict(cell), "version": __version__, "n_audit": cell.n_audit, "records": records}


def compare(scene: Scene, guarantee: Guarantee, seed: int) -> Iterator[dict[str, Any]]:
    """Measure the paper's way and ours, on the same rows, bases and search members."""
    n = guarantee.min_models(allowed_dissent=1)
    for method in ("paper", "frontier"):
        runs = []
        for i in range(N_SETS):
            steer, decide = scene.members(i, n), scene.members(i + 1, n)
            started = time.perf_counter()
            if method == "paper":
                steering = Steering(GrowingSpheresSearch(), scene.problem, steer, guarantee.quorum(n))
                ladders = steering.ladders(scene.task(seed + i))
                walks = walk_ladders(ladders, scene.targets, steer, guarantee)
            else:
                steering = Steering(FrontierSearch(), scene.problem, steer, n)
                ladders = steering.ladders(scene.task(seed + i))
                walks = walk_ladders(ladders, scene.targets, decide, guarantee)
            elapsed = time.perf_counter() - started
            points = np.full(scene.bases.shape, np.nan)
            for row, walk in enumerate(walks):
                if walk.passed:
                    points[row] = ladders.points[row, ladders.exists[row]][walk.passed - 1]
            runs.append(measure(scene, points, guarantee, ladders.n_evaluations, elapsed))
        yield {
            "method": method,
            "delta": guarantee.delta,
            "confidence": guarantee.confidence,
            "prior": "exact" if guarantee.prior == EXACT else "jeffreys",
            "n_models": n,
            "n_rows": len(scene.targets),
            "n_base_missing": scene.n_base_missing,
            "runs": runs,
        }


def measure(
    scene: Scene, points: FloatArray, guarantee: Guarantee, n_evaluations: AnyArray, elapsed: float
) -> dict[str, Any]:
    """Score what one run handed out; a row without an answer counts as not found."""
    found = ~np.isnan(points).any(axis=1)
    rows = np.flatnonzero(found)
    points, bases, originals = points[rows], scene.bases[rows], scene.originals[rows]
    true = scene.audit.votes(points, scene.targets[rows]) / len(scene.audit) if rows.size else np.array([])
    features = scene.problem.features
    outside = features.violations(points, features.box(scene.originals).take(rows)).any(axis=1)
    train = scene.problem.X_train
    neighbours = [np.sort(features.distance(point, train, norm="l2"))[:15].mean() for point in points]
    return {
        "found": float(found.mean()),
        "covered": int((true >= guarantee.delta).sum()),
        "n_found": int(found.sum()),
        "true_validity": float(true.mean()) if rows.size else None,
        "l1": features.distance(points, bases).round(5).tolist(),
        "l2": features.distance(points, bases, norm="l2").round(5).tolist(),
        "rows": rows.tolist(),
        "proximity_l1": float(features.distance(points, originals).mean()) if rows.size else None,
        "plausibility": float(np.mean(neighbours)) if rows.size else None,
        "changed": float(features.differs(points, bases).sum(axis=1).mean()) if rows.size else None,
        "outside_box": int(outside.sum()),
        "evaluations": float(n_evaluations.mean()),
        "ms": 1000 * elapsed / len(scene.targets),
    }


def path_of(cell: Cell) -> Path:
    """Say where a cell's results are kept."""
    return RESULTS / f"{cell.name}.json"


def save(cell: Cell, result: dict[str, Any]) -> None:
    """Write a cell's results whole or not at all."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    part = path_of(cell).with_suffix(".part")
    part.write_text(json.dumps(result))
    os.replace(part, path_of(cell))


def main() -> None:
    """Run what is missing, then write the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", nargs="*", default=DATA)
    parser.add_argument("--family", nargs="*", default=FAMILIES)
    parser.add_argument("--space", nargs="*", default=SPACES)
    parser.add_argument("--seed", nargs="*", type=int, default=[0])
    parser.add_argument("--jobs", type=int, default=-1, help="workers that train members")
    arguments = parser.parse_args()
    cells = [Cell(*setting) for setting in product(arguments.data, arguments.family, arguments.space, arguments.seed)]
    cells += [MIXED] * (tuple(arguments.data) == DATA)
    missing = [cell for cell in cells if not path_of(cell).exists()]
    with Progress() as progress:
        task = progress.add_task("Cells", total=len(missing))
        for cell in missing:
            progress.update(task, description=cell.name)
            try:
                with threadpool_limits(1):
                    save(cell, simulate(cell, arguments.jobs))
            except DataUnavailable as error:
                progress.console.print(f"{cell.name}: skipped. {error}")
            progress.advance(task)
    page = ROOT / "docs" / "guarantee.md"
    write_report(RESULTS, page)
    tables = {
        "instance": (guarantee_instance.COLUMNS, guarantee_instance.instance_rows(RESULTS)),
        "reference": (guarantee_reference.COLUMNS, guarantee_reference.reference_rows(RESULTS, arguments.jobs)),
    }
    for name, (columns, rows) in tables.items():
        if rows:
            replace_block(page, name, table(columns, rows))
            print(table(columns, rows))


if __name__ == "__main__":
    main()
