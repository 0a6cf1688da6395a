"""How long it takes to record promises, and to hold a new LightGBM model against all of them.

``python bench/ledger_speed.py`` records 10,000 promises of a run with 59 audit members, then records until there are
100,000, and re-checks them, with the rank and the comparison of the old and the new model. Seconds of CPU and of the
wall are printed.
"""

import argparse
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

import betarce as brce
from betarce.datasets import load_loan
from betarce.models.recipe import Recipe, Retraining, Table
from betarce.models.tabular import tabular_model
from betarce.results.result import Result
from betarce.tables.csv_file import as_categories

RECORD, RECHECK = 5.0, 10.0


def timed(what, work):
    """Print the seconds that something takes, and give what it returns."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = work()
    print(f"{what:32s} {time.perf_counter() - wall:6.2f} s wall, {time.process_time() - cpu:6.2f} s CPU", flush=True)
    return found


def copies(result: Result, start: int, n: int) -> Result:
    """Give the answers of a result again and again, for rows of other names."""
    there = [item for item in result if item.status == "certified"]
    items = [replace(there[i % len(there)], name=start + i) for i in range(n)]
    return Result(items, result.features, result.made_with)


def main() -> None:
    """Measure, and print one line per goal."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--promises", type=int, default=100_000)
    parser.add_argument("--members", type=int, nargs=2, default=(20, 46), metavar=("SEARCH", "CERTIFY"))
    asked = parser.parse_args()
    loans = load_loan(1000)
    table = Table(as_categories(loans.X), np.asarray(loans.y))
    model = tabular_model("lightgbm", table.X)
    rce = brce.BetaRCE(model, n_models=tuple(asked.members), random_state=0, verbose=-1)
    rce.fit(table.X, table.y, n_audit=59)
    target = rce.classes_[-1]
    result = rce.explain(table.X[np.asarray(rce.model_.predict(table.X)) != target][:60], target=target)
    [outcome] = Recipe(rce.model_).train(table, [Retraining("new", 1)])
    with tempfile.TemporaryDirectory() as folder, brce.Ledger(Path(folder) / "promises.db") as ledger:
        first = copies(result, 0, 10_000)
        timed(f"record 10,000 (goal {RECORD:g} s)", lambda: ledger.record(first, run=rce))
        ledger.record(copies(result, 10_000, asked.promises - 10_000), run=rce)
        goal = f"re-check {asked.promises:,} (goal {RECHECK:g} s)"
        found = timed(goal, lambda: ledger.recheck(outcome.model, run=rce))
    print(found)


if __name__ == "__main__":
    main()
