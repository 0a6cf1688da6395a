"""Tables of the guarantee simulation, from its saved cells."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from pages import replace_block, table

COLUMNS = (
    "data",
    "family",
    "space",
    "coverage: paper",
    "coverage: frontier",
    "found: paper",
    "found: frontier",
    "L1 ratio",
    "L2 ratio",
    "proximity",
    "plausibility",
    "changed",
    "evaluations",
)


def write_report(results: Path, page: Path) -> None:
    """Put the tables of all saved cells into the page, between its markers, and print them."""
    cells = [kept for path in sorted(results.glob("*.json")) if "records" in (kept := json.loads(path.read_text()))]
    if not cells:
        print("No cell has been run: nothing to report.")
        return
    text = "\n\n".join(section(cells, *key) for key in sorted({key for cell in cells for key in keys(cell)}))
    replace_block(page, "cells", f"{summary(cells)}\n\n{text}")
    print(text)


def keys(cell: dict[str, Any]) -> Iterable[tuple[str, float, float]]:
    """Give the guarantees that a cell was run for."""
    return [(record["prior"], record["delta"], record["confidence"]) for record in cell["records"]]


def section(cells: list[dict[str, Any]], prior: str, delta: float, confidence: float) -> str:
    """Lay out all cells for one guarantee."""
    rows, n_models = [], 0
    for cell in cells:
        chosen = [r for r in cell["records"] if (r["prior"], r["delta"], r["confidence"]) == (prior, delta, confidence)]
        if chosen:
            paper, ours = (next(r for r in chosen if r["method"] == method) for method in ("paper", "frontier"))
            n_models = ours["n_models"]
            rows.append([*(cell["cell"][key] for key in ("data", "family", "space")), *compared(paper, ours)])
    title = f"### delta {delta:g}, confidence {confidence:g}, {prior} prior ({n_models} + {n_models} models)"
    return f"{title}\n\n{table(COLUMNS, rows)}"


def compared(paper: dict[str, Any], ours: dict[str, Any]) -> list[str]:
    """Give the columns of one cell."""
    l1, l2 = ratio(paper, ours, "l1", np.median), ratio(paper, ours, "l2", np.mean)
    return [
        coverage(paper),
        coverage(ours),
        f"{mean(paper, 'found'):.2f}",
        f"{mean(ours, 'found'):.2f}",
        l1,
        l2,
        *(f"{mean(ours, key):.2f}" for key in ("proximity_l1", "plausibility", "changed")),
        f"{mean(ours, 'evaluations'):.0f}",
    ]


def share(record: dict[str, Any]) -> float:
    """Give the coverage of a record, averaged over the sets."""
    shares = [run["covered"] / run["n_found"] for run in record["runs"] if run["n_found"]]
    return float(np.mean(shares)) if shares else float("nan")


def coverage(record: dict[str, Any]) -> str:
    """Give the share of points handed out that are delta-robust, with twice its standard error over the sets."""
    shares = [run["covered"] / run["n_found"] for run in record["runs"] if run["n_found"]]
    if not shares:
        return "-"
    error = np.std(shares, ddof=1) / np.sqrt(len(shares)) if len(shares) > 1 else np.nan
    return f"{np.mean(shares):.3f} ± {2 * error:.3f}"


def ratio(paper: dict[str, Any], ours: dict[str, Any], what: str, average: Any) -> str:
    """Compare distances to the base on the rows that both found, set by set."""
    pairs: list[tuple[float, float]] = []
    for a, b in zip(paper["runs"], ours["runs"], strict=True):
        theirs, own = dict(zip(a["rows"], a[what], strict=True)), dict(zip(b["rows"], b[what], strict=True))
        pairs += [(theirs[row], own[row]) for row in theirs.keys() & own.keys()]
    if not pairs:
        return "-"
    theirs_all, own_all = np.array(pairs).T
    below, above = average(theirs_all), average(own_all)
    return f"{above / below:.2f}" if below > 0 else "both 0" if above == 0 else "from 0"


def mean(record: dict[str, Any], what: str) -> float:
    """Average a figure over the sets."""
    values = [run[what] for run in record["runs"] if run[what] is not None]
    return float(np.mean(values)) if values else float("nan")


def summary(cells: list[dict[str, Any]]) -> str:
    """Say in how many cells the goals hold."""
    lines = []
    for prior, delta, confidence in sorted({key for cell in cells for key in keys(cell)}):
        held = short = near = far = outside = 0
        coverages, l1s, l2s = [], [], []
        for cell in cells:
            chosen = [
                r for r in cell["records"] if (r["prior"], r["delta"], r["confidence"]) == (prior, delta, confidence)
            ]
            paper, ours = (next(r for r in chosen if r["method"] == method) for method in ("paper", "frontier"))
            shares = [run["covered"] / run["n_found"] for run in ours["runs"] if run["n_found"]]
            error = 2 * np.std(shares, ddof=1) / np.sqrt(len(shares)) if len(shares) > 1 else 0.0
            ok = bool(shares) and np.mean(shares) + error >= confidence
            held, short = held + ok, short + (not ok)
            l1 = ratio(paper, ours, "l1", np.median)
            close = l1 in ("-", "both 0") or (l1 != "from 0" and float(l1) <= 0.5)
            near, far = near + close, far + (not close)
            outside += sum(run["outside_box"] for run in ours["runs"])
            coverages.append([share(paper), share(ours)])
            l1s += [float(l1)] if l1[0].isdigit() else []
            l2 = ratio(paper, ours, "l2", np.mean)
            l2s += [float(l2)] if l2[0].isdigit() else []
        lines.append(
            [
                f"{delta:g}",
                f"{confidence:g}",
                prior,
                f"{held} of {held + short}",
                *(f"{value:.3f}" for value in np.nanmean(coverages, axis=0)),
                f"{near} of {near + far}",
                f"{np.median(l1s):.2f}",
                f"{sum(value <= 1 for value in l2s)} of {len(l2s)}",
                outside,
            ]
        )
    names = (
        "delta",
        "confidence",
        "prior",
        "coverage >= confidence",
        "mean coverage: paper",
        "mean coverage: frontier",
        "median L1 <= half",
        "median of L1 ratios",
        "mean L2 <= paper's",
        "points outside the box",
    )
    return table(names, lines)
