"""All methods side by side, tuned by the paper's grids; writes the table of docs/methods.md.

Run: ``make methods``. Diabetes is read from ``BETARCE_DATA_DIR``; breast cancer comes with scikit-learn.
"""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

import betarce as brce
from betarce.datasets import load
from betarce.errors import BetarceWarning, DataUnavailable
from betarce.paper.tables.markdown import text_table
from pages import replace_block

PAGE = Path(__file__).parents[1] / "docs" / "methods.md"
METHODS = [
    *("growing-spheres", "nearest", "nice", "face", "wachter", "roar", "rbr", "robust-nearest", "robx", "trex"),
    *("betarce-paper", "betarce"),
]
CELLS = [("breast_cancer", "lightgbm"), ("diabetes", "lightgbm"), ("diabetes", "network")]
COLUMNS = {
    "found": "found",
    "robustness": "robustness",
    "covered": "covered",
    "proximity_l1": "L1 to original",
    "plausibility": "plausibility",
    "distance_to_base": "L1 to base",
    "changed": "changed",
    "ms": "ms per row",
}
N_ROWS, N_AUDIT = 40, 100


def compared(data: str, family: str) -> pd.DataFrame:
    """Compare all methods on one data set and model family, scaled as the paper does."""
    loaded = load(data, download=False)
    X, y = loaded.X.to_numpy(float), loaded.y.to_numpy()
    order = np.random.default_rng(0).permutation(len(X))
    train, test = order[: 2 * len(X) // 3], order[2 * len(X) // 3 :][:N_ROWS]
    low, high = X[train].min(axis=0), X[train].max(axis=0)
    X = (X - low) / (high - low)
    comparison = brce.compare(
        METHODS,
        brce.models.paper_model(family),
        "bootstrap",
        X[train],
        y[train],
        rows=X[test],
        n_audit=N_AUDIT,
        grids="paper",
        random_state=0,
        verbose=-1,
    )
    summary = comparison.summary().reset_index()
    summary.insert(0, "cell", f"{data}, {family}")
    print(summary.to_string())
    print(dict(comparison.chosen))
    return summary


def main() -> None:
    """Run every cell whose data set is here, and write the table."""
    parts = []
    for data, family in CELLS:
        try:
            with warnings.catch_warnings(), threadpool_limits(1):
                warnings.simplefilter("ignore", BetarceWarning)
                parts.append(compared(data, family))
        except DataUnavailable as error:
            print(f"{data}, {family}: skipped. {error}")
    rows = [
        [line["cell"], line["method"], *("-" if np.isnan(line[c]) else f"{line[c]:.2f}" for c in COLUMNS)]
        for _, line in pd.concat(parts).iterrows()
    ]
    replace_block(PAGE, "methods", text_table(("cell", "method", *COLUMNS.values()), rows))


if __name__ == "__main__":
    main()
