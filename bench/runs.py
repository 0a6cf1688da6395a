"""How fast a run is saved and loaded, and how large it is beside the native files of its models.

``python bench/runs.py`` trains a default explainer with LightGBM members on the loan table and prints, as CPU and wall
seconds: save, load (after all imports), and the folder's size over the size of LightGBM's own text files.
"""

import argparse
import tempfile
import time
from pathlib import Path

import betarce as brce
from betarce.datasets import load_loan
from betarce.models.tabular import tabular_model
from betarce.tables.csv_file import as_categories

SAVE, LOAD, RATIO = 5.0, 2.0, 3.0


def timed(work):
    """Give what work returns, with its wall and CPU seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = work()
    return found, time.perf_counter() - wall, time.process_time() - cpu


def main() -> None:
    """Measure, and print one line per goal."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--members", type=int, nargs=2, default=None, metavar=("SEARCH", "CERTIFY"))
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=1)
    chosen = parser.parse_args()
    loans = load_loan()
    table, labels = as_categories(loans.X[: chosen.rows]), loans.y[: chosen.rows]
    n_models = "auto" if chosen.members is None else tuple(chosen.members)
    model = tabular_model("lightgbm", table)
    rce = brce.BetaRCE(model, n_models=n_models, random_state=0, n_jobs=chosen.jobs, verbose=1).fit(table, labels)
    members = [each for ensemble in rce.members_.ensembles.values() for each in ensemble.models]
    native = sum(len(each.booster_.model_to_string().encode()) for each in [*members, rce.model_])
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        _, save, save_cpu = timed(lambda: rce.save(run, n_audit=0))
        _, load, load_cpu = timed(lambda: brce.load(run))
        size = sum(path.stat().st_size for path in run.rglob("*") if path.is_file())
    print(f"members {rce.members_.sizes}, native files {native / 1e6:.1f} MB")
    print(f"save   {save:6.2f} s wall, {save_cpu:6.2f} s CPU   goal {SAVE:g} s")
    print(f"load   {load:6.2f} s wall, {load_cpu:6.2f} s CPU   goal {LOAD:g} s")
    print(f"folder {size / native:6.2f} x the native files          goal {RATIO:g} x")


if __name__ == "__main__":
    main()
