"""The figures that docs/results/README.md quotes from the records of the plan `paper`.

``python bench/reading.py [records.csv.gz]`` reads docs/results/paper by default.
"""

import sys
from pathlib import Path

import pandas as pd

from betarce.paper.tables.goals import goals_table
from betarce.paper.tables.markdown import text_table

RECORDS = Path(__file__).parents[1] / "docs" / "results" / "paper" / "records.csv.gz"
FORMS = ("betarce-paper", "betarce")
FAMILIES, BASES = ("logistic", "lightgbm", "network"), ("growing-spheres", "dice")
DELTA, AUDIT_MEMBERS = 0.9, 30
GROUP = ["data", "family", "space", "base"]


def two_forms(records: pd.DataFrame) -> str:
    """Give the means of both forms at delta 0.9, by family and base."""
    lines = []
    for base in BASES:
        for family in FAMILIES:
            some = records[(records["family"] == family) & (records["base"] == base) & (records["delta"] == DELTA)]
            forms = [some[some["method"] == form] for form in FORMS]
            robust, far = (
                [f"{form[name].mean():.3f}" for form in forms] for name in ("robustness", "distance_to_base")
            )
            changed = [f"{form['changed'].mean():.1f}" for form in forms]
            lines.append((family, base, *(", ".join(pair) for pair in (robust, far, changed))))
    head = ("family", "base", "measured robustness: paper's form, ours", "L1 to base", "features changed from the row")
    return text_table(head, lines)


def by_delta(records: pd.DataFrame) -> str:
    """Give the mean robustness and the answers of both forms, by delta."""
    lines = []
    for delta, some in records.groupby("delta"):
        forms = [some[some["method"] == form] for form in FORMS]
        lines.append(
            (
                f"{delta:g}",
                ", ".join(f"{form['robustness'].mean():.3f}" for form in forms),
                ", ".join(f"{form['distance_to_base'].mean():.3f}" for form in forms),
                ", ".join(f"{form['found'].mean():.3f}" for form in forms),
            )
        )
    return text_table(("delta", "measured robustness: paper's form, ours", "L1 to base", "answered"), lines)


def ratios(records: pd.DataFrame) -> str:
    """Say in how many groups the median distance is at most a share of the paper's form's, and where it is not."""
    goals = goals_table(records)
    ratio = goals["l1_ratio"].dropna()
    text = (
        f"Ratios of median distances to base in {len(ratio)} of {len(goals)} groups (elsewhere neither moves): "
        f"median {ratio.median():.2f}, at most 0.5 in {(ratio <= 0.5).sum()}, at most 0.4 in {(ratio <= 0.4).sum()}."
    )
    far = goals[goals["l1_ratio"] > 0.4]
    return "\n".join(
        [text, *(f"* {', '.join(row[name] for name in GROUP)}: {row['l1_ratio']:.2f}" for _, row in far.iterrows())]
    )


def answers_on_diabetes(records: pd.DataFrame) -> str:
    """Say which share of the rows both forms answer for networks on diabetes, by delta."""
    some = records[(records["family"] == "network") & (records["data"] == "diabetes")]
    found = some.groupby(["delta", "method"])["found"].mean().unstack()
    return "Networks on diabetes, answered: " + "; ".join(
        f"at {delta:g} {row[FORMS[0]]:.2f} by the paper's form, {row[FORMS[1]]:.2f} by ours"
        for delta, row in found.iterrows()
    )


def main() -> None:
    """Print all of it."""
    records = pd.read_csv(sys.argv[1] if len(sys.argv) > 1 else RECORDS, low_memory=False)
    # The file has six digits; a share of the audit members is a whole number of them.
    records["robustness"] = (records["robustness"] * AUDIT_MEMBERS).round() / AUDIT_MEMBERS
    ours = records[records["method"].isin(FORMS)]
    for part in (two_forms(ours), by_delta(ours), ratios(records), answers_on_diabetes(ours)):
        print(part, end="\n\n")


if __name__ == "__main__":
    main()
