"""Tables of the limit benchmark, from its saved cells, and whether its goals are met."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from betarce.paper.tables.markdown import text_table
from limit_oracle import PROVEN
from pages import replace_block

ORACLE_COLUMNS = ("data", "model", "rows", "rows that move", "mean L1", "proven", "largest gap", "validity")
RATIO_COLUMNS = (
    *("data", "model", "setting", "members", "answered", "L1", "ratio", "stat", "search"),
    *("ratio by draw", "validity"),
)
GOALS = (
    ("logistic", "default", 1.4, "logistic, mean of the cells, default"),
    ("logistic", "300 + 956", 1.2, "logistic, mean of the cells, 300 + 956 members"),
    ("lightgbm", "default", 1.45, "LightGBM, default"),
    ("lightgbm", "many", 1.25, 'LightGBM, "many"'),
)
N_LOGISTIC = 3  # cells that the goals for logistic regression are about
Cell = Mapping[str, Any]


@dataclass(frozen=True)
class Split:
    """Ours over the oracle, and the two parts of it.

    Attributes
    ----------
    ours, oracle, at_votes : float
        Mean L1 over the answered rows of the draws: of ours, of the oracle at delta, and of the oracle at as many votes
        as our points have.
    n_found, n_asked : int
        Rows answered, and all rows, over the draws.
    """

    ours: float
    oracle: float
    at_votes: float
    n_found: int
    n_asked: int

    @property
    def ratio(self) -> float:
        """How many times as far as the oracle we go."""
        return self.ours / self.oracle if self.oracle > 0 else float("nan")

    @property
    def stat(self) -> float:
        """What the certificate costs: the oracle at our votes over the oracle at delta."""
        return self.at_votes / self.oracle if self.oracle > 0 else float("nan")

    @property
    def search(self) -> float:
        """What the search loses: ours over the oracle at as many votes."""
        return self.ours / self.at_votes if self.at_votes > 0 else float("nan")


def split(cell: Cell, draws: Sequence[Mapping[str, Any]]) -> Split:
    """Compare the answered rows of some draws with the oracle on the same rows.

    A row where the oracle itself has no point is one that nobody can answer; it is not compared.
    """
    triples = []
    for draw in draws:
        for ours, best in zip(draw["rows"], cell["oracle"], strict=True):
            if "l1" in ours and "l1" in best:
                triples.append((ours["l1"], best["l1"], ours["oracle_at_votes"]))
    means = np.mean(triples, axis=0) if triples else [np.nan] * 3
    found = sum("l1" in row for draw in draws for row in draw["rows"])
    return Split(*(float(mean) for mean in means), found, sum(len(draw["rows"]) for draw in draws))


def mean(values: Iterable[float]) -> float:
    """Average; NaN for nothing."""
    chosen = list(values)
    return float(np.mean(chosen)) if chosen else float("nan")


def write_report(results: Path, page: Path) -> None:
    """Put the tables of all saved cells into the page, between its markers, and print them."""
    cells = [json.loads(path.read_text()) for path in sorted(results.glob("*.json"))]
    if not cells:
        print("No cell has been run: nothing to report.")
        return
    cells.sort(key=lambda cell: (cell["family"] != "logistic", cell["data"]))
    oracles, ratios = text_table(ORACLE_COLUMNS, oracle_rows(cells)), text_table(RATIO_COLUMNS, ratio_rows(cells))
    goals = "\n".join(f"* {line}" for line in goal_lines(cells))
    text = f"### The oracle\n\n{oracles}\n\n### Ours over the oracle\n\n{ratios}\n\n### Goals\n\n{goals}"
    replace_block(page, "limit", text)
    print(text)


def oracle_rows(cells: Iterable[Cell]) -> list[list[Any]]:
    """Describe the oracle at delta, one line per cell."""
    rows = []
    for cell in cells:
        known = [row for row in cell["oracle"] if "l1" in row]
        gaps = [row["l1"] - row["bound"] for row in known]
        everyone = cell["n_rows"] + cell["n_base_missing"]
        rows.append(
            [
                cell["data"],
                cell["family"],
                f"{len(known)} of {everyone}",
                sum(row["l1"] > 0 for row in known),
                f"{mean(row['l1'] for row in known):.4f}",
                f"{sum(gap <= PROVEN for gap in gaps)} of {len(gaps)}" if cell["exact"] else "upper bound",
                f"{max((row['largest_gap'] for row in known), default=0.0):.1e}" if cell["exact"] else "-",
                f"{mean(row['validity'] for row in known):.3f}",
            ]
        )
    return rows


def ratio_rows(cells: Iterable[Cell]) -> list[list[Any]]:
    """Compare every setting with the oracle, one line each."""
    rows = []
    for cell in cells:
        for name, draws in cell["settings"].items():
            whole = split(cell, draws)
            by_draw = [split(cell, [draw]).ratio for draw in draws]
            validity = [row["validity"] for draw in draws for row in draw["rows"] if "l1" in row]
            rows.append(
                [
                    cell["data"],
                    cell["family"],
                    name,
                    " + ".join(str(n) for n in draws[0]["n_models"]),
                    f"{whole.n_found} of {whole.n_asked}",
                    f"{whole.ours:.4f}",
                    f"{whole.ratio:.2f}",
                    f"{whole.stat:.2f}",
                    f"{whole.search:.2f}",
                    f"{min(by_draw):.2f} to {max(by_draw):.2f}",
                    f"{mean(validity):.3f}",
                ]
            )
    return rows


def goal_lines(cells: Iterable[Cell]) -> list[str]:
    """Say which goals are met: one sentence each."""
    lines = []
    for family, setting, most, title in GOALS:
        chosen = [cell for cell in cells if cell["family"] == family and setting in cell["settings"]]
        ratios = [split(cell, cell["settings"][setting]).ratio for cell in chosen]
        wanted = N_LOGISTIC if family == "logistic" else 1
        if len(ratios) < wanted:
            lines.append(f"{title}: {len(ratios)} of {wanted} cells are there; the goal is <= {most:g}.")
            continue
        verdict = "met" if np.mean(ratios) <= most else "missed"
        lines.append(f"{title}: {np.mean(ratios):.2f}; the goal is <= {most:g}: {verdict}.")
    return lines
