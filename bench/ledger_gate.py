"""How often does the gate of `Ledger.recheck` fire: under models of the declared space, and under real changes?

``python bench/ledger_gate.py`` fits LightGBM on a mixed loan table of 700 rows, makes 70 promises, draws 59 audit
members and simulates deployments: 200 models of the declared space; models trained after a tenth of all labels were
flipped within a region; models trained after the meaning of a feature has changed.
"""

import argparse

import numpy as np
import pandas as pd

from betarce import BetaRCE
from betarce.datasets import load_loan
from betarce.ledger import Gate, rank
from betarce.models.recipe import Recipe, Retraining, Table
from betarce.models.tabular import tabular_model
from betarce.seeding import derive, generator
from betarce.tables.csv_file import as_categories

N_ROWS, N_PROMISES, N_AUDIT = 700, 70, 59


def flipped_in_a_region(table: Table, seed: int, share: float = 0.1) -> Table:
    """Flip the labels of a tenth of all rows: those nearest to a random row, by ranks of the numeric columns."""
    numbers = table.X.select_dtypes("number").rank(pct=True).to_numpy()
    centre = numbers[generator(seed, "centre").integers(len(numbers))]
    near = np.argsort(np.abs(numbers - centre).sum(axis=1))[: round(share * len(numbers))]
    labels = np.asarray(table.y).copy()
    classes = np.unique(labels)
    labels[near] = np.where(labels[near] == classes[0], classes[1], classes[0])
    return Table(table.X, labels)


def changed_meaning(table: Table, seed: int) -> Table:
    """Turn a numeric column around: what was low is high, as when a score is defined anew."""
    names = list(table.X.select_dtypes("number").columns)
    name = names[generator(seed, "column").integers(len(names))]
    column = table.X[name]
    turned: pd.Series = (column.max() + column.min() - column).astype(column.dtype)
    return Table(table.X.assign(**{name: turned}), table.y)


def main() -> None:
    """Simulate deployments, and print how often the gate fired."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--deployments", type=int, default=200)
    parser.add_argument("--changes", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    loans = load_loan(N_ROWS, seed=asked.seed)
    table = Table(as_categories(loans.X), np.asarray(loans.y))
    model = tabular_model("lightgbm", table.X)
    rce = BetaRCE(model, random_state=asked.seed, verbose=-1).fit(table.X, table.y)
    target = rce.classes_[-1]
    rejected = table.X[np.asarray(rce.model_.predict(table.X)) != target][:N_PROMISES]
    result = rce.explain(rejected, target=target)
    rce.audit(result, n_models=N_AUDIT)
    points = np.array([item.points["robust"] for item in result if item.status == "certified"])
    audit = ~rce.members_.audit.agrees(points, target)

    def gate(broken: np.ndarray) -> Gate:
        return rank(broken, audit)

    drawn = ~rce.fresh_members(asked.deployments, role="deployment").agrees(points, target)
    fired = [gate(drawn[:, k]).beyond for k in range(drawn.shape[1])]
    print(f"{len(points)} promises, {N_AUDIT} audit members; they break {audit.mean():.1%} on average")
    print(f"declared space: fires in {np.mean(fired):.1%} of {len(fired)} deployments")
    frame = rce.features_.decode(points)
    for name, change in (("a tenth of labels flipped", flipped_in_a_region), ("a feature's meaning", changed_meaning)):
        broken = []
        for i in range(asked.changes):
            seed = derive(asked.seed, name, i)
            [outcome] = Recipe(rce.model_).train(change(table, seed), [Retraining(name, seed)])
            broken.append(np.asarray(outcome.model.predict(frame)) != target)
        fired = [gate(each).beyond for each in broken]
        print(f"{name}: fires in {np.mean(fired):.1%} of {len(fired)} deployments, {np.mean(broken):.1%} broken")


if __name__ == "__main__":
    main()
