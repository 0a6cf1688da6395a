"""Do promises hold when the model is trained on wholly new rows of the same population?

``python bench/new_data.py`` trains a model on some rows, certifies points for rejected rows under each space, and asks
models that were trained on as many other rows, none of which the first model or any member has seen. The synthetic
loans are drawn anew for every such model. Of a real table (``--data wine``, ``--data heloc``), one part is trained on,
one is explained, and every new model gets its own draw, without replacement, from the rest.

Printed for each space: the share of rows answered; how many promises there are; the share of models that keep a
promise, among 60 fresh ones of the declared space and among the new models; how many promises are *true*, which is to
say kept by at least delta of the new models, over all runs and in the worst and the best run; and the L1 distance to
the person, over rows that every space answered, divided by that of the first space.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

import betarce as brce
from betarce.models.recipe import Recipe, Retraining, Table
from betarce.models.tabular import tabular_model
from betarce.seeding import derive, generator
from betarce.tables.csv_file import as_categories

SPACES = {
    "bootstrap": brce.Bootstrap(),
    "half of the rows": brce.NewData(0.5),
    "new-data": brce.NewData(),
    "a quarter of the rows": brce.NewData(0.25),
}
ROWS = {"loan": 700, "wine": 700, "heloc": 400}
N_FRESH = 60


@dataclass(frozen=True, eq=False)
class Scene:
    """Training rows, rows to explain, and any number of tables of new rows."""

    table: Table
    rows: pd.DataFrame
    population: Table | None

    def new(self, seed: int) -> Table:
        """Give as many new rows of the same population."""
        n = len(self.table)
        if self.population is None:
            loans = load_loans(n, seed)
            return Table(loans.X.astype(dict(self.table.X.dtypes)), loans.y)
        chosen = generator(seed, "new rows").permutation(len(self.population))[:n]
        return self.population.take(chosen)


def load_loans(n: int, seed: int) -> Table:
    """Draw synthetic loans, with text as categories."""
    loans = brce.datasets.load_loan(n, seed=seed % 2**31)
    return Table(as_categories(loans.X), np.asarray(loans.y))


def scene(data: str, n: int, n_rows: int, seed: int) -> Scene:
    """Make the scene of one run."""
    if data == "loan":
        return Scene(load_loans(n, seed), load_loans(n_rows, derive(seed, "rows")).X, None)
    whole = brce.datasets.load(data)
    order = generator(seed, "split").permutation(len(whole.y))
    table, rows, rest = order[:n], order[n : n + n_rows], order[n + n_rows :]
    everything = Table(whole.X, np.asarray(whole.y))
    return Scene(everything.take(table), everything.take(rows).X, everything.take(rest))


def outcomes(made: Scene, kind: str, delta: float, n_new: int, seed: int) -> Iterator[dict[str, Any]]:
    """Certify points under each space, and count which of the new models keep them."""
    recipe = tabular_model(kind, made.table.X)
    fits = {
        name: brce.BetaRCE(recipe, space=space, delta=delta, random_state=seed, verbose=-1).fit(
            made.table.X, made.table.y
        )
        for name, space in SPACES.items()
    }
    explained = fits[next(iter(fits))].model_
    models = []
    for i in range(n_new):
        [outcome] = Recipe(explained).train(made.new(derive(seed, "new", i)), [Retraining("new", derive(seed, i))])
        models.append(outcome.model)
    for name, rce in fits.items():
        target = rce.classes_[-1]
        rejected = made.rows[np.asarray(rce.model_.predict(made.rows)) != target]
        result = rce.explain(rejected, target=target)
        certified = [item for item in result if item.status == "certified"]
        points = np.array([item.points["robust"] for item in certified])
        kept = np.mean([model.predict(rce.features_.decode(points)) == target for model in models], axis=0)
        fresh = rce.subject_.ensemble(rce.fresh_draw(N_FRESH, role="declared").models)
        inside = fresh.agrees(points, target).mean(axis=1)
        places = {item.name: i for i, item in enumerate(certified)}
        for item in result:
            line = {"seed": seed, "space": name, "row": item.name, "certified": item.name in places}
            if (i := places.get(item.name)) is not None:
                line |= {"rate": kept[i], "declared": inside[i], "l1": item.distance_to_original}
            yield line


def summary(lines: pd.DataFrame, delta: float) -> pd.DataFrame:
    """Sum the promises of all runs up, one line per space."""
    certified = lines[lines["certified"]].assign(true=lines["rate"] >= delta)
    everywhere = certified.groupby(["seed", "row"])["space"].transform("nunique") == len(SPACES)
    by_space = certified.groupby("space")
    by_run = certified.groupby(["space", "seed"])["true"].mean().groupby("space")
    distance = certified[everywhere].groupby("space")["l1"].mean()
    columns = {
        "answered": lines.groupby("space")["certified"].mean(),
        "promises": by_space.size(),
        "kept by declared": by_space["declared"].mean(),
        "kept by new": by_space["rate"].mean(),
        "true": by_space["true"].mean(),
        "true, worst run": by_run.min(),
        "true, best run": by_run.max(),
        "L1": distance / distance[next(iter(SPACES))],
    }
    return pd.DataFrame(columns).reindex(list(SPACES))


def main() -> None:
    """Simulate runs, and print what became of their promises."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", choices=list(ROWS), default="loan")
    parser.add_argument("--model", choices=["lightgbm", "logistic"], default="lightgbm")
    parser.add_argument("--runs", type=int, default=6)
    parser.add_argument("--models", type=int, default=100, help="models of new rows per run")
    parser.add_argument("--rows", type=int, default=120, help="rows per run, of which the rejected are explained")
    parser.add_argument("--delta", type=float, default=0.9)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    lines: list[dict[str, Any]] = []
    for seed in range(asked.seed, asked.seed + asked.runs):
        made = scene(asked.data, ROWS[asked.data], asked.rows, seed)
        lines += outcomes(made, asked.model, asked.delta, asked.models, seed)
        print(f"{seed + 1 - asked.seed} runs, {asked.data}, {asked.model}, delta {asked.delta}:")
        print(summary(pd.DataFrame(lines), asked.delta).round(3).to_string(), flush=True)


if __name__ == "__main__":
    main()
