"""How often does the gate of `Ledger.recheck` fire: under models of the declared space, and under real changes?

``python bench/ledger_gate.py`` fits LightGBM on mixed loan tables of 700 rows, makes 70 promises, draws 59 audit
members and simulates deployments, for each declared space: models of that space; models of as many new rows of the same
population; and models after a real change, trained on the old rows and on new ones. A change is that a tenth of all
labels are flipped within a region, or that the meaning of a feature has changed: of any feature, and of those that the
model uses (turning it around changes a tenth of the model's own answers). The gate by promises alone is printed for
comparison.
"""

import argparse
from collections.abc import Iterator

import numpy as np
import pandas as pd

from betarce import BetaRCE
from betarce.datasets import load_loan
from betarce.ledger import rank
from betarce.ledger.departure import Departures, labels_on_training_rows
from betarce.models.recipe import Recipe, Retraining, Table
from betarce.models.tabular import tabular_model
from betarce.seeding import derive, generator
from betarce.tables.csv_file import as_categories

N_ROWS, N_PROMISES, N_AUDIT = 700, 70, 59
Outcome = tuple[bool, bool, float]


def flipped_in_a_region(table: Table, seed: int, share: float = 0.1) -> Table:
    """Flip the labels of a tenth of all rows: those nearest to a random row, by ranks of the numeric columns."""
    numbers = table.X.select_dtypes("number").rank(pct=True).to_numpy()
    centre = numbers[generator(seed, "centre").integers(len(numbers))]
    near = np.argsort(np.abs(numbers - centre).sum(axis=1))[: round(share * len(numbers))]
    labels = np.asarray(table.y).copy()
    classes = np.unique(labels)
    labels[near] = np.where(labels[near] == classes[0], classes[1], classes[0])
    return Table(table.X, labels)


def turned_around(X: pd.DataFrame, name: str) -> pd.DataFrame:
    """Turn a numeric column around: what was low is high, as when a score is defined anew."""
    column = X[name]
    turned: pd.Series = (column.max() + column.min() - column).astype(column.dtype)
    return X.assign(**{name: turned})


def changed_column(table: Table, seed: int) -> str:
    """Choose the numeric column whose meaning changes, at random."""
    names = list(table.X.select_dtypes("number").columns)
    return names[generator(seed, "column").integers(len(names))]


def new_rows(table: Table, seed: int) -> Table:
    """Draw as many new rows of the same population."""
    loans = load_loan(len(table), seed=seed % 2**31)
    return Table(as_categories(loans.X)[list(table.X)].astype(dict(table.X.dtypes)), np.asarray(loans.y))


class Deployments:
    """One run with promises and audit members, and how its gate ranks new models."""

    def __init__(self, table: Table, space: str, seed: int) -> None:
        model = tabular_model("lightgbm", table.X)
        self.rce = BetaRCE(model, space=space, random_state=seed, verbose=-1).fit(table.X, table.y)
        self.target = self.rce.classes_[-1]
        rejected = table.X[np.asarray(self.rce.model_.predict(table.X)) != self.target][:N_PROMISES]
        result = self.rce.explain(rejected, target=self.target)
        self.rce.audit(result, n_models=N_AUDIT)
        points = np.array([item.points["robust"] for item in result if item.status == "certified"])
        audit = self.rce.members_.audit
        self.audit_broken = ~audit.agrees(points, self.target)
        self.frame = self.rce.features_.decode(points)
        self.departures = Departures(self.rce)
        self.audit_departures = self.departures.of_members(audit)

    def fires(self, model: object) -> Outcome:
        """Say whether the gate fires for a new model, whether it would by promises alone, and what share breaks."""
        broken = np.asarray(model.predict(self.frame)) != self.target
        labels = labels_on_training_rows(self.rce, model)
        both = {"departure": self.departures.of_labels(labels), "audit_departures": self.audit_departures}
        gate = rank(broken, self.audit_broken, **both)
        return gate.beyond, rank(broken, self.audit_broken).beyond, gate.share


def changed_models(table: Table, model: object, n: int, seed: int) -> Iterator[tuple[str, object]]:
    """Train the recipe of a model on new rows, and after each kind of change, `n` times each."""

    def trained(changed: Table, seed: int) -> object:
        [outcome] = Recipe(model).train(changed, [Retraining("new", seed)])
        return outcome.model

    def uses(name: str) -> bool:
        answers = model.predict(table.X), model.predict(turned_around(table.X, name))
        return float(np.mean(answers[0] != answers[1])) >= 0.1

    for i in range(n):
        seed_of_one = derive(seed, "change", i)
        new, name = new_rows(table, seed_of_one), changed_column(table, seed_of_one)
        yield "new rows", trained(new, seed_of_one)
        for what, rows in (("old rows", table), ("new rows", new)):
            yield f"{what}, labels flipped in a region", trained(flipped_in_a_region(rows, seed_of_one), seed_of_one)
            turned = trained(Table(turned_around(rows.X, name), rows.y), seed_of_one)
            yield f"{what}, a feature turned around", turned
            if uses(name):
                yield f"{what}, a feature that is used turned around", turned


def main() -> None:
    """Simulate deployments, and print how often the gate fired."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--deployments", type=int, default=50, help="models of the declared space per run")
    parser.add_argument("--changes", type=int, default=15, help="models of each kind of change per run")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--spaces", nargs="+", default=["bootstrap", "new-data"])
    asked = parser.parse_args()
    fired: dict[tuple[str, str], list[Outcome]] = {}
    for run in range(asked.seed, asked.seed + asked.runs):
        loans = load_loan(N_ROWS, seed=run)
        table = Table(as_categories(loans.X), np.asarray(loans.y))
        made = {space: Deployments(table, space, run) for space in asked.spaces}
        for space, each in made.items():
            for model in each.rce.fresh_draw(asked.deployments, role="deployment").models:
                for kind in ("of the declared space", f"of the declared space, run {run}"):
                    fired.setdefault((space, kind), []).append(each.fires(model))
        for kind, model in changed_models(table, next(iter(made.values())).rce.model_, asked.changes, run):
            for space, each in made.items():
                fired.setdefault((space, kind), []).append(each.fires(model))
    print(f"{'declared':10s} {'new model':45s} {'models':>6s} {'fires':>7s} {'by promises alone':>18s} {'breaks':>7s}")
    for (space, kind), found in sorted(fired.items(), key=lambda each: each[0][0]):
        both, alone, share = np.mean(found, axis=0)
        print(f"{space:10s} {kind:45s} {len(found):6d} {both:7.1%} {alone:18.1%} {share:7.1%}")


if __name__ == "__main__":
    main()
