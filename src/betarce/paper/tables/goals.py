"""Does our form keep its promise, and is it closer than the paper's form? One line per group of cells."""

from typing import Any

import numpy as np
import pandas as pd

from betarce.errors import InvalidInput
from betarce.paper.prepared import at_guarantee, check_records
from betarce.paper.tables.comparison import FAMILIES, METHODS
from betarce.paper.tables.markdown import markdown_table

HALF = 0.5
"""The goal for the median distance to base, as a share of the paper's form's."""
_GROUP = ["data", "family", "space", "base"]
_POINT = ["fold", "row"]
_FORMS = {"paper": "betarce-paper", "ours": "betarce"}
_LEVEL = 0.05
GOALS = {
    "promise_ours": "ours keeps its promise",
    "promise_paper": "the paper's form keeps its promise",
    "closer": "median distance to base at most half of the paper's form's",
    "as_many": "at least as many answers as the paper's form",
}


def goals_table(
    records: pd.DataFrame, *, delta: float = 0.9, confidence: float = 0.95, audit_members: int = 30
) -> pd.DataFrame:
    """Hold our form of BetaRCE against the paper's form, in each group of cells that differ only by fold.

    Parameters
    ----------
    records : DataFrame
    delta, confidence : float
        Which of the guarantees in the records.
    audit_members : int
        Members that measured the robustness, as in the plan.

    Returns
    -------
    DataFrame
        One line per data set, family, space and base, with "asked" (rows), and for each form ("paper", "ours"):

        * "found_": answers; "robustness_": the mean share of audit members that keep the class.
        * "coverage_": the share of answers whose measured share is at least delta. It is no estimate of the share of
          points whose true rate is at least delta: a point just above delta often measures below it.
        * "misses_", "bound_", "p_": see Notes. "promise_": whether p is at least 0.05; NA without answers.

        Then "both" (rows that both answered), and over those "l1_paper", "l1_ours" (medians of the distance to base)
        and "l1_ratio"; "ms_paper", "ms_ours" (median time per row), "ms_ratio"; "closer", "as_many": the goals.
        Empty if no record fits.

    Raises
    ------
    InvalidInput
        If there are no records, a column is missing, or the measured shares are not those of so many members.

    Notes
    -----
    The promise is P(true rate < delta) <= 1 - confidence for a point handed out; rows without an answer do not dilute
    it. True rates are not known, only how many of m audit members keep the class. Take any count c, and
    a = P(Binomial(m, delta) <= c). A point whose true rate is at least delta has a count of at most c with probability
    a at most; any other point with probability 1 at most. So under the promise a point has such a count with a
    probability of at most

        q = (1 - confidence) + confidence * a

    and of n points n * q at most have one in expectation, however they depend on each other. Two counts are looked at:
    the largest with a <= 0.05, whose points are *misses*, and the largest that is below delta, whose points
    are missing from the coverage. "bound_" is n * q for misses. "p_" is twice the smaller of the two chances
    P(Binomial(n, q) >= points seen): how often independent points would do so badly by either count if the promise
    were only just kept. Points of one fold share their members, so misses come in clusters, and small p turn up more
    often than they should: a single group below 0.05 is weak evidence, the sum over all groups is better. With few
    audit members a slight breach can pass unseen.
    """
    if not 0 < delta < 1 or not 0 < confidence < 1:
        raise InvalidInput(f"`delta` and `confidence` must be strictly between 0 and 1; got {delta!r}, {confidence!r}.")
    lines = check_records(records)
    lines = lines[lines["method"].isin(_FORMS.values()) & at_guarantee(lines, deltas=[delta], confidence=confidence)]
    lines = lines.assign(count=_counts(lines["robustness"], audit_members))
    rules = limits(delta, confidence, audit_members)
    found = []
    for key, group in lines.groupby(_GROUP, sort=False):
        forms = {form: group[group["method"] == method] for form, method in _FORMS.items()}
        if all(len(form) for form in forms.values()):
            start = dict(zip(_GROUP, key, strict=True))
            found.append({**start, **_against(forms), **_promises(forms, audit_members, rules)})
    table = pd.DataFrame(found, columns=_COLUMNS)
    return table.astype(dict.fromkeys(GOALS, "boolean"))


def limits(delta: float, confidence: float, audit_members: int) -> dict[str, tuple[int, float]]:
    """Give the two counts c of `goals_table`, of misses and of what is below delta, each with its q.

    Examples
    --------
    >>> {name: (count, round(q, 4)) for name, (count, q) in limits(0.9, 0.95, 30).items()}
    {'misses': (23, 0.0745), 'below': (26, 0.3849)}
    """
    from scipy.stats import binom

    counts = np.arange(-1, audit_members + 1)
    misses = int(counts[binom.cdf(counts, audit_members, delta) <= _LEVEL].max())
    # The product of delta and members may be rounded upwards past a whole number.
    below = int(np.ceil(delta * audit_members - 1e-9)) - 1
    return {
        name: (count, float(1 - confidence + confidence * binom.cdf(count, audit_members, delta)))
        for name, count in (("misses", misses), ("below", below))
    }


def goals_summary(table: pd.DataFrame) -> pd.DataFrame:
    """Count in how many groups each goal holds.

    Returns
    -------
    DataFrame
        One line a goal, its words as the index: "holds" and "judged", groups in which it holds and can be judged.
    """
    lines = {
        words: {"holds": int(table[name].sum()), "judged": int(table[name].notna().sum())}
        for name, words in GOALS.items()
    }
    return pd.DataFrame.from_dict(lines, orient="index").rename_axis("goal")


def goals_markdown(
    table: pd.DataFrame, *, delta: float = 0.9, confidence: float = 0.95, audit_members: int = 30
) -> str:
    """Write the table of `goals_table` for people: the counts first, then every group."""
    rules = limits(delta, confidence, audit_members)
    (limit, q), (below, q_below) = rules["misses"], rules["below"]
    counts = [f"* {goal}: {line.holds} of {line.judged} groups" for goal, line in goals_summary(table).iterrows()]
    for form, words in (("ours", "ours"), ("paper", "the paper's form")):
        n, misses = table[f"found_{form}"].sum(), table[f"misses_{form}"].sum()
        covered = (table[f"coverage_{form}"] * table[f"found_{form}"]).sum()
        counts.append(
            f"* {words}, all {n} answers together: {misses} misses, where the promise allows {n * q:.1f} in "
            f"expectation; {covered:.0f} at delta, where it asks for {n * (1 - q_below):.1f}"
        )
    ratio = table["l1_ratio"].median()
    counts += [] if ratio != ratio else [f"* median over groups of the ratio of distances to base: {ratio:.2f}"]
    parts = [
        f"# Our form of BetaRCE against the paper's form, delta {delta:g}, confidence {confidence:g}",
        "\n".join(counts),
        "The paper's form searches with growing spheres and certifies on the members that steered the search; ours "
        "searches with the frontier and certifies on members that the search never saw. Pairs below are *paper's form "
        "/ ours*.",
        f"**Promise.** At most {1 - confidence:.0%} of the points may have a true rate below {delta:g}. True rates are "
        f"not known, only the votes of {audit_members} fresh members. A point is a *miss* if at most {limit} of them "
        f"keep its class, and it is *at delta* if at least {below + 1} do; a point whose true rate is {delta:g} itself "
        f"fails the latter in {(q_below - 1 + confidence) / confidence:.0%} of the cases. Under the promise at most "
        f"{q:.1%} of the points are misses in expectation, and at least {1 - q_below:.1%} are at delta. The promise "
        "counts as kept unless one of the two is off by more than chance allows (*p* below 0.05). Points of a fold "
        "share their members, so misses come in clusters: a single small *p* is weak evidence, the sums above are "
        "better.",
        "Distances to base (L1) are medians over rows that both forms answered; times are medians a row, and hold that "
        "of the base method.",
    ]
    for (base, family), lines in table.groupby(["base", "family"], sort=False):
        rows = pd.DataFrame([_row(line) for line in lines.to_dict("records")]).set_index("Data")
        parts.append(f"## {FAMILIES.get(str(family), family)}, base counterfactuals of {METHODS.get(str(base), base)}")
        parts.append(markdown_table(rows, left=2))
    return "\n\n".join(parts) + "\n"


def _counts(shares: "pd.Series[float]", audit_members: int) -> "pd.Series[float]":
    counts = shares * audit_members
    if (counts - counts.round()).abs().max() > 1e-6:
        raise InvalidInput(
            f"`audit_members` must be the number of members that measured the robustness; got {audit_members!r}, which "
            "does not fit the shares in the records. The plan has it under the same name."
        )
    return counts.round()


def _promises(
    forms: dict[str, pd.DataFrame], audit_members: int, rules: dict[str, tuple[int, float]]
) -> dict[str, Any]:
    from scipy.stats import binom

    line: dict[str, Any] = {}
    for form, lines in forms.items():
        count = lines.loc[lines["found"], "count"]
        n = len(count)
        seen = {name: int((count <= limit).sum()) for name, (limit, _) in rules.items()}
        chances = [float(binom.sf(seen[name] - 1, n, q)) for name, (_, q) in rules.items()] if n else [np.nan]
        p = min(1.0, 2 * min(chances))
        line |= {
            f"found_{form}": n,
            f"robustness_{form}": float(count.mean()) / audit_members if n else np.nan,
            f"coverage_{form}": 1 - seen["below"] / n if n else np.nan,
            f"misses_{form}": seen["misses"],
            f"bound_{form}": n * rules["misses"][1],
            f"p_{form}": p if n else np.nan,
            f"promise_{form}": p >= _LEVEL if n else pd.NA,
        }
    any_found = line["found_ours"] + line["found_paper"] > 0
    return line | {"as_many": line["found_ours"] >= line["found_paper"] if any_found else pd.NA}


def _against(forms: dict[str, pd.DataFrame]) -> dict[str, Any]:
    answered = {form: lines[lines["found"]].set_index(_POINT)["distance_to_base"] for form, lines in forms.items()}
    both = pd.concat(answered, axis=1, join="inner")
    l1 = {form: float(both[form].median()) if len(both) else np.nan for form in _FORMS}
    ms = {form: float(lines["ms"].median()) for form, lines in forms.items()}
    return {
        "asked": len(forms["ours"]),
        "both": len(both),
        **{f"l1_{form}": value for form, value in l1.items()},
        "l1_ratio": l1["ours"] / l1["paper"] if l1["paper"] > 0 else np.nan,
        "closer": l1["ours"] <= HALF * l1["paper"] if len(both) else pd.NA,
        **{f"ms_{form}": value for form, value in ms.items()},
        "ms_ratio": ms["ours"] / ms["paper"],
    }


def _row(line: dict[Any, Any]) -> dict[str, Any]:
    def pair(name: str, form: str) -> str:
        paper, ours = line[f"{name}_paper"], line[f"{name}_ours"]
        return " / ".join("-" if value != value else format(value, form) for value in (paper, ours))

    def mark(name: str) -> str:
        return "-" if pd.isna(line[name]) else "yes" if line[name] else "**no**"

    return {
        "Data": line["data"],
        "Space": line["space"],
        "Found": f"{pair('found', 'd')} of {line['asked']}",
        "Robustness": pair("robustness", ".3f"),
        "At delta": pair("coverage", ".2f"),
        "Misses": pair("misses", "d"),
        "p": pair("p", ".3f"),
        "Promise kept": f"{mark('promise_paper')} / {mark('promise_ours')}",
        "To base": pair("l1", ".3f"),
        "Ratio": line["l1_ratio"],
        "At most half": mark("closer"),
        "ms": pair("ms", ".1f"),
    }


_COLUMNS = [
    *_GROUP,
    "asked",
    *(
        f"{name}_{form}"
        for name in ("found", "robustness", "coverage", "misses", "bound", "p", "promise")
        for form in _FORMS
    ),
    *("as_many", "both", "l1_paper", "l1_ours", "l1_ratio", "closer", "ms_paper", "ms_ours", "ms_ratio"),
]
