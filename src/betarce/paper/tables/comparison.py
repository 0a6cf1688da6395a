"""The paper's comparison of methods: our numbers, and the published ones beside them."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from betarce.comparison.forms import FORMS
from betarce.comparison.scores import NEIGHBOURS
from betarce.datasets import PAPER_NAMES
from betarce.paper.prepared import SPACES, at_guarantee, check_records, mean_and_error
from betarce.paper.published import published_comparison
from betarce.paper.tables.markdown import markdown_table, one_line, with_error
from betarce.safe_text import in_markdown

PAPER_TABLES = (
    ("network", "growing-spheres"),
    ("network", "dice"),
    ("lightgbm", "growing-spheres"),
    ("logistic", "growing-spheres"),
)
"""Model family and base method of each of the paper's tables."""
METRICS = {
    "distance_to_base": "Distance<br>to base ↓",
    "proximity_l1": "Proximity<br>L1 ↓",
    "proximity_l2": "Proximity<br>L2 ↓",
    "plausibility": "Plausibility ↓",
    **{f"robustness_{space}": f"Robustness,<br>{space} ↑" for space in SPACES},
}
METHODS = {
    "dice": "DiCE",
    "growing-spheres": "Growing Spheres",
    "face": "FACE",
    "rbr": "RBR",
    "roar": "ROAR",
    "robx": "RobX",
    "betarce-paper": "BetaRCE, paper's form",
    "betarce": "BetaRCE, ours",
}
FAMILIES = {"network": "neural network", "lightgbm": "LightGBM", "logistic": "logistic regression"}
_KEYS = ["data", "method", "tau", "variance", "delta", "space"]
_COPIED = (
    "The paper prints the same distances, proximities and plausibilities, digit by digit, in its table for the network "
    "with DiCE and in its table for LightGBM with Growing Spheres, in all 44 lines that the two share (and the same "
    "robustness in 20 of them). At least one of the two is not what its caption says, so for this table a difference "
    "from the published numbers may say nothing about the method."
)
_NOTES = {
    ("network", "dice"): _COPIED
    + " The network's line of Growing Spheres, which no base method touches, also differs between the paper's two "
    "tables for the network.",
    ("lightgbm", "growing-spheres"): _COPIED
    + " The paper leaves the seed space out, for its LightGBM models came out the same whatever the seed.",
    (
        "logistic",
        "growing-spheres",
    ): "The paper captions this table with DiCE as the base method; the text around it and "
    "its label say Growing Spheres.",
}


def comparison_table(
    records: pd.DataFrame,
    *,
    family: str,
    base: str,
    deltas: Sequence[float] = (0.8, 0.9),
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Compute one table of the comparison.

    As in the paper, a method that knows no space has one line per data set: its distances are taken over the cells of
    all spaces, its robustness under a space over the cells of that space. BetaRCE has one line per space, delta and
    form, and its robustness is measured under its own space. Means are over answers; "asked" and "found" say how many
    there were.

    Standard errors are over rows. The paper counts each pair of a row and a member that measures (2,700) as evidence of
    its own, which gives errors about 0.001; but the members are the same for all rows, and a distance does not depend
    on them at all. The same row in the cells of several spaces counts once.

    Parameters
    ----------
    records : DataFrame
        As `betarce.paper.records.records_table` gives them.
    family : str
        "network", "lightgbm" or "logistic".
    base : str
        The base method of RobX and BetaRCE.
    deltas : sequence of float
    confidence : float
        Of BetaRCE, one-sided.

    Returns
    -------
    DataFrame
        One line per data set and method: "data", "method", "tau" and "variance" (of RobX, where its name says them),
        "delta" and "space" (of BetaRCE; NaN and "" for others), "asked", "found", "failed" (rows of cells where the
        method could not run), "reason" (of that), and for each metric of `METRICS` our mean, and under "_se", "_paper"
        and "_paper_se" our standard error and the paper's numbers. Empty if no record fits.

    Raises
    ------
    InvalidInput
        If there are no records, or a column is missing.
    """
    lines = check_records(records)
    ours = lines["method"].isin(FORMS)
    asked_for = ~ours | at_guarantee(lines, deltas=deltas, confidence=confidence)
    lines = lines[(lines["family"] == family) & lines["base"].isin(["", base]) & asked_for]
    lines = lines.assign(shown=lines["space"].where(lines["method"].isin(FORMS), ""))
    groups: Any = lines.groupby(["data", "method", "delta", "shown"], sort=False, dropna=False)
    found = [_line(data, method, delta, space, group) for (data, method, delta, space), group in groups]
    columns = [
        *_KEYS,
        "asked",
        "found",
        "failed",
        "reason",
        *(f"{name}{end}" for name in METRICS for end in ("", "_se")),
    ]
    table = pd.DataFrame(found, columns=columns).astype({"tau": float, "variance": float, "delta": float})
    return _in_order(_beside_the_paper(table, family, base))


def comparison_markdown(table: pd.DataFrame, *, family: str, base: str) -> str:
    """Write a table of `comparison_table` for people: first BetaRCE at a glance, then one section per data set."""
    missing = [name for name in PAPER_NAMES if name not in set(table["data"])]
    parts = [
        f"# Comparison: {FAMILIES.get(family, family)}, base counterfactuals of {METHODS.get(base, base)}",
        "Means over all answers ± standard errors over rows; under them the paper's means, or a dash where it has "
        "none. *Found* counts the rows with an answer; the others have no part in the means. Distance to base, "
        f"proximity (to the row explained) and plausibility (mean L2 distance to the {NEIGHBOURS} nearest training "
        "rows) are in units of the scaled features; robustness is the share of fresh members of a space that keep the "
        "class.",
        "In brackets: tau and variance of RobX; delta and the space of BetaRCE, whose confidence is 0.95, one-sided. "
        "*Paper's form* searches with growing spheres and certifies on the members that steered the search; *ours* "
        "searches with the frontier and certifies on members that the search never saw. Both stand beside the same "
        "published number. The paper's standard errors, left out here and kept in the CSV file, count every pair of a "
        "row and a measuring member as separate evidence and so are smaller than ours.",
        _NOTES.get((family, base), ""),
        f"No records of: {', '.join(missing)}." if missing else "",
        _glance(table),
    ]
    for data, lines in table.groupby("data", sort=False):
        parts += [f"## {data}", _section(lines)]
    return "\n\n".join(part for part in parts if part) + "\n"


def method_words(method: str, delta: float = np.nan, space: str = "") -> str:
    """Name a method with its setting, for people.

    Examples
    --------
    >>> method_words("robx-0.5-0.01"), method_words("betarce", 0.9, "seed"), method_words("nice")
    ('RobX (0.5, 0.01)', 'BetaRCE, ours (0.9, seed)', 'nice')
    """
    tau, variance = robx_setting(method)
    name = METHODS.get("robx" if tau == tau else method, method)
    setting = [f"{value:g}" for value in (tau, variance, delta) if value == value] + [space] * bool(space)
    return name + (f" ({', '.join(setting)})" if setting else "")


def robx_setting(method: str) -> tuple[float, float]:
    """Read tau and variance off the name of a method such as "robx-0.5-0.01"; NaN for any other."""
    match = re.fullmatch(r"robx-([\d.]+)-([\d.]+)", method)
    return (float(match[1]), float(match[2])) if match else (np.nan, np.nan)


def _line(data: str, method: str, delta: float, space: str, group: pd.DataFrame) -> dict[str, Any]:
    tau, variance = robx_setting(method)
    failed = group[group["status"] == "failed"]
    line = {
        **dict(zip(_KEYS, (data, method, tau, variance, delta, space), strict=True)),
        "asked": len(group),
        "found": int(group["found"].sum()),
        "failed": len(failed),
        "reason": "; ".join(one_line(reason) for reason in failed["reason"].unique()),
    }
    answers = group[group["found"]]
    for metric in METRICS:
        audited = metric.removeprefix("robustness_")
        part, column = (answers, metric) if audited == metric else (answers[answers["space"] == audited], "robustness")
        line[metric], line[f"{metric}_se"], _ = mean_and_error(part[column], part["point"])
    return line


def _beside_the_paper(table: pd.DataFrame, family: str, base: str) -> pd.DataFrame:
    paper = published_comparison()
    paper = paper[(paper["family"] == family) & (paper["base"] == base)].drop(columns=["family", "base"])
    renamed = {f"{metric}{end}": f"{metric}_paper{end}" for metric in METRICS for end in ("", "_se")}
    paper = paper.rename(columns={**renamed, "method": "published"})
    published = table["method"].astype(object).replace("betarce-paper", "betarce").where(table["tau"].isna(), "robx")
    table = table.assign(published=published)
    keys = ["published" if key == "method" else key for key in _KEYS]
    return table.merge(paper, on=keys, how="left").drop(columns="published")


def _in_order(table: pd.DataFrame) -> pd.DataFrame:
    """Sort as the paper does: by data set, then simple, robust and post-hoc methods, BetaRCE by space and delta."""
    simple, others = [*METHODS][:3], sorted(set(table["method"]) - {*METHODS})
    order = [*simple, *(name for name in others if not name.startswith("robx")), *[*METHODS][3:]]
    methods = ["betarce" if name in FORMS else "robx" if name.startswith("robx") else name for name in table["method"]]
    keys = pd.DataFrame(
        {
            "data": _ranks(table["data"], PAPER_NAMES),
            "method": _ranks(methods, order),
            "space": _ranks(table["space"], ("", *SPACES)),
            "delta": table["delta"],
            "tau": table["tau"],
            "variance": table["variance"],
            "form": table["method"] == "betarce",
        },
        index=table.index,
    )
    return table.loc[keys.sort_values([*keys.columns], kind="stable").index].reset_index(drop=True)


def _ranks(values: Iterable[str], order: Sequence[str]) -> list[int]:
    return [order.index(value) if value in order else len(order) for value in values]


def _glance(table: pd.DataFrame) -> str:
    """Put both forms and the paper side by side at the largest delta."""
    ours = table[table["method"].isin(FORMS)]
    ours = ours[ours["delta"] == ours["delta"].max()]
    if ours.empty:
        return ""
    lines = []
    for (data, space), pair in ours.groupby(["data", "space"], sort=False):
        line: dict[str, Any] = {"Data": data, "Space": space}
        forms = {str(each["method"]): each for each in pair.to_dict("records")}
        for head, metric in (("To base ↓", "distance_to_base"), ("Robustness ↑", f"robustness_{space}")):
            line[f"{head},<br>published"] = float(pair[f"{metric}_paper"].iloc[0])
            for method, word in (("betarce-paper", "paper's form"), ("betarce", "ours")):
                form = forms.get(method)
                line[f"{head},<br>{word}"] = with_error(form[metric], form[f"{metric}_se"]) if form else "-"
        line["Found,<br>paper's form / ours"] = " / ".join(
            f"{forms[method]['found']} of {forms[method]['asked']}" if method in forms else "-"
            for method in ("betarce-paper", "betarce")
        )
        lines.append(line)
    delta = ours["delta"].iloc[0]
    body = markdown_table(pd.DataFrame(lines).set_index("Data"), left=2)
    return f"## BetaRCE at a glance, delta {delta:g}\n\n{body}"


def _section(lines: pd.DataFrame) -> str:
    rows: list[dict[str, str]] = []
    notes: list[str] = []
    for line in lines.to_dict("records"):
        words = method_words(line["method"], line["delta"], line["space"])
        answers = f"{line['found']}/{line['asked']}"
        if line["failed"]:
            number = len(notes) + 1
            answers = f"{'failed' if line['failed'] == line['asked'] else answers} ({number})"
            said = in_markdown(f"{words} failed on {line['failed']} of {line['asked']} rows: {line['reason']}")
            notes.append(f"({number}) {said}")
        rows.append(
            {
                "Method": words.replace(" (", "<br>("),
                "Found": answers,
                **{METRICS[name]: _cell(line, name) for name in METRICS},
            }
        )
    return "\n\n".join([markdown_table(pd.DataFrame(rows).set_index("Method"), left=1), *notes])


def _cell(line: dict[Any, Any], metric: str) -> str:
    ours, paper = line[metric], line[f"{metric}_paper"]
    if ours != ours and paper != paper:
        return "-"
    return f"{with_error(ours, line[f'{metric}_se'])}<br>paper {'-' if paper != paper else f'{paper:.3f}'}"
