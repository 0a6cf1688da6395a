"""How near our numbers come to the published ones, in one line per table and method."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from betarce.paper.tables.comparison import FAMILIES, METHODS, PAPER_TABLES, comparison_table
from betarce.paper.tables.markdown import markdown_table

_RATIOS = ("distance_to_base", "proximity_l1", "proximity_l2", "plausibility")
_UNDER = ("robustness_architecture", "robustness_bootstrap", "robustness_seed")
_GROUP = ["family", "base", "method", "tau", "variance", "delta"]
_COLUMNS = [*_GROUP, "lines", *(f"{name}_ratio" for name in _RATIOS), "robustness", "robustness_paper", "gap"]


def agreement_table(records: pd.DataFrame) -> pd.DataFrame:
    """Sum up the comparison: our numbers over the published ones.

    Only what both have is compared: lines of the paper's tables whose data set and method have records.

    Returns
    -------
    DataFrame
        One line per table of the paper and method: "family", "base", "method", "tau", "variance", "delta", "lines"
        (data sets, times spaces for BetaRCE), the median over them of ours / published for distances and plausibility
        ("..._ratio"), and the mean robustness, ours and published, with "gap" between them.

    Raises
    ------
    InvalidInput
        If there are no records, or a column is missing.
    """
    lines = []
    for family, base in PAPER_TABLES:
        table = comparison_table(records, family=family, base=base)
        both = [table[name].where(table[f"{name}_paper"].notna()) for name in _UNDER]
        theirs = [table[f"{name}_paper"].where(table[name].notna()) for name in _UNDER]
        table = table.assign(
            family=family,
            base=base,
            robustness=pd.concat(both, axis=1).mean(axis=1),
            robustness_paper=pd.concat(theirs, axis=1).mean(axis=1),
            **{f"{name}_ratio": table[name] / table[f"{name}_paper"] for name in _RATIOS},
        )
        known = table[table["robustness_paper"].notna()].sort_values("method", key=_places, kind="stable")
        for key, group in known.groupby(_GROUP, sort=False, dropna=False):
            ratios = {f"{name}_ratio": group[f"{name}_ratio"].median() for name in _RATIOS}
            means = {name: group[name].mean() for name in ("robustness", "robustness_paper")}
            lines.append(dict(zip(_GROUP, key, strict=True)) | {"lines": len(group)} | ratios | means)
    table = pd.DataFrame(lines, columns=[name for name in _COLUMNS if name != "gap"])
    return table.assign(gap=table["robustness"] - table["robustness_paper"])[_COLUMNS]


def agreement_markdown(table: pd.DataFrame) -> str:
    """Write the table of `agreement_table` for people."""
    parts = [
        "# How near our numbers come to the published ones",
        "*Ratios* are ours over published, medians over the data sets (and spaces, for BetaRCE) that the paper's table "
        "has: 1 is agreement, below 1 we measure shorter distances. *Robustness* is the mean over the same lines. Both "
        "forms of BetaRCE stand beside the same published numbers.",
    ]
    tables: Any = table.groupby(["family", "base"], sort=False)
    for (family, base), group in tables:
        rows = [
            {
                "Method": _name(line),
                "Lines": line["lines"],
                "To base": line["distance_to_base_ratio"],
                "L1": line["proximity_l1_ratio"],
                "L2": line["proximity_l2_ratio"],
                "Plausibility": line["plausibility_ratio"],
                "Robustness": line["robustness"],
                "Published": line["robustness_paper"],
                "Gap": line["gap"],
            }
            for line in group.to_dict("records")
        ]
        parts += [
            f"## {FAMILIES[family]}, base counterfactuals of {METHODS[base]}",
            markdown_table(pd.DataFrame(rows).set_index("Method"), digits=2, left=1),
        ]
    return "\n\n".join(parts) + "\n"


def _places(methods: "pd.Series[str]") -> "pd.Series[int]":
    """Sort methods as the paper does, settings of RobX by their names."""
    order = [*METHODS]
    return methods.map(lambda name: (order.index("robx"), name) if name.startswith("robx") else (order.index(name), ""))


def _name(line: Mapping[Any, Any]) -> str:
    settings = [f"{line[name]:g}" for name in ("tau", "variance", "delta") if line[name] == line[name]]
    method = "robx" if str(line["method"]).startswith("robx") else str(line["method"])
    return METHODS.get(method, method) + (f" ({', '.join(settings)})" if settings else "")
