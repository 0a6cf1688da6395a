"""How often does the gate of `Ledger.recheck` fire: under models of the declared space, and under real changes?

``python bench/ledger_gate.py`` fits LightGBM on mixed loan tables of 700 rows, one per run, makes 70 promises, draws 59
audit members and simulates deployments: models of the declared space; models trained after a tenth of all labels were
flipped within a region; models trained after the meaning of a feature has changed, of any feature and of those that the
model uses (turning it around changes a tenth of the model's own answers); and models trained on as many new rows of the
same population, which is no retraining on the old ones. For comparison, the gate by promises alone is printed, too.
"""

import argparse

import numpy as np
import pandas as pd

from betarce import BetaRCE
from betarce.datasets import load_loan
from betarce.ledger import rank
from betarce.ledger.departure import departures
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

    def __init__(self, seed: int) -> None:
        loans = load_loan(N_ROWS, seed=seed)
        self.table = Table(as_categories(loans.X), np.asarray(loans.y))
        model = tabular_model("lightgbm", self.table.X)
        self.rce = BetaRCE(model, random_state=seed, verbose=-1).fit(self.table.X, self.table.y)
        self.target = self.rce.classes_[-1]
        rejected = self.table.X[np.asarray(self.rce.model_.predict(self.table.X)) != self.target][:N_PROMISES]
        result = self.rce.explain(rejected, target=self.target)
        self.rce.audit(result, n_models=N_AUDIT)
        self.points = np.array([item.points["robust"] for item in result if item.status == "certified"])
        self.audit_broken = ~self.rce.members_.audit.agrees(self.points, self.target)
        self.frame = self.rce.features_.decode(self.points)

    def fires(self, model: object) -> tuple[bool, bool, float]:
        """Say whether the gate fires for a new model, whether it would by promises alone, and what share breaks."""
        broken = np.asarray(model.predict(self.frame)) != self.target
        departure, others = departures(self.rce, model, self.rce.members_.audit)
        both = rank(broken, self.audit_broken, departure=departure, audit_departures=others)
        return both.beyond, rank(broken, self.audit_broken).beyond, both.share

    def trained(self, table: Table, seed: int) -> object:
        """Train the recipe on another table."""
        [outcome] = Recipe(self.rce.model_).train(table, [Retraining("new", seed)])
        return outcome.model

    def uses(self, name: str) -> bool:
        """Say whether turning a column around changes a tenth of the model's own answers."""
        model, X = self.rce.model_, self.table.X
        return float(np.mean(model.predict(X) != model.predict(turned_around(X, name)))) >= 0.1


def main() -> None:
    """Simulate deployments, and print how often the gate fired."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--deployments", type=int, default=50, help="models of the declared space per run")
    parser.add_argument("--changes", type=int, default=15, help="models of each kind of change per run")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    fired: dict[str, list[tuple[bool, bool, float]]] = {}

    def note(kind: str, outcome: tuple[bool, bool, float]) -> None:
        fired.setdefault(kind, []).append(outcome)

    for run in range(asked.seed, asked.seed + asked.runs):
        made = Deployments(run)
        for model in made.rce.fresh_draw(asked.deployments, role="deployment").models:
            note(f"declared space, run {run}", made.fires(model))
        for i in range(asked.changes):
            seed = derive(run, "change", i)
            note("a tenth of labels flipped", made.fires(made.trained(flipped_in_a_region(made.table, seed), seed)))
            name = changed_column(made.table, seed)
            turned = made.fires(made.trained(Table(turned_around(made.table.X, name), made.table.y), seed))
            note("a feature's meaning, any feature", turned)
            if made.uses(name):
                note("a feature's meaning, of those used", turned)
            note("new rows of the same population", made.fires(made.trained(new_rows(made.table, seed), seed)))
    space = [each for kind, found in fired.items() if kind.startswith("declared") for each in found]
    for kind, found in {**fired, "declared space, all runs": space}.items():
        both, alone, share = np.mean(found, axis=0)
        print(
            f"{kind:36s} fires in {both:6.1%} of {len(found):3d} deployments; by promises alone in {alone:6.1%}; "
            f"breaks {share:5.1%} of the promises"
        )


if __name__ == "__main__":
    main()
