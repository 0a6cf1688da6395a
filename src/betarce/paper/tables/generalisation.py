"""Robustness under changes that the certificate did not prepare for: the paper's two matrices, and ours."""

from collections.abc import Sequence

import pandas as pd

from betarce.datasets import PAPER_NAMES
from betarce.paper.prepared import SPACES, at_guarantee, check_records, mean_and_error
from betarce.paper.published import PAPER_FOUR, published_generalisation
from betarce.paper.tables.comparison import FAMILIES, METHODS
from betarce.paper.tables.markdown import markdown_table, with_error

_COLUMNS = ["original", "audited", "robustness", "robustness_se", "n", "asked"]


def generalisation_table(
    records: pd.DataFrame,
    *,
    base: str,
    method: str,
    delta: float = 0.9,
    confidence: float = 0.95,
    family: str = "network",
    data: Sequence[str] = PAPER_NAMES,
) -> pd.DataFrame:
    """Compute how points that were certified for one space fare under members of each space.

    The paper averages over "four datasets" in the text and "all datasets" in the captions, and names neither them nor
    the model. The network is the model wherever it names none; `PAPER_FOUR` are the likeliest four.

    Parameters
    ----------
    records : DataFrame
        With the columns "robustness_seed", "robustness_bootstrap" and "robustness_architecture", or some of them.
    base : str
    method : {"betarce-paper", "betarce"}
    delta, confidence : float
    family : str
    data : sequence of str
        The data sets averaged over.

    Returns
    -------
    DataFrame
        One line a pair of spaces: "original" (the cell's own), "audited", "robustness" (the mean over answers),
        "robustness_se" (over rows), "n" (answers), "asked" (rows), "robustness_paper", "robustness_paper_se". Empty if
        no record fits.

    Raises
    ------
    InvalidInput
        If there are no records, or a column is missing.
    """
    lines = check_records(records)
    chosen = (lines["family"] == family) & (lines["base"] == base) & (lines["method"] == method)
    lines = lines[chosen & at_guarantee(lines, deltas=[delta], confidence=confidence) & lines["data"].isin(list(data))]
    found = []
    for original in SPACES:
        part = lines[lines["space"] == original]
        answers = part[part["found"]]
        for audited in SPACES:
            column = f"robustness_{audited}"
            if column in answers and answers[column].notna().any():
                found.append((original, audited, *mean_and_error(answers[column], answers["point"]), len(part)))
    table = pd.DataFrame(found, columns=_COLUMNS)
    paper = published_generalisation()
    paper = paper[paper["base"] == base].drop(columns="base")
    paper = paper.rename(columns={"robustness": "robustness_paper", "robustness_se": "robustness_paper_se"})
    return table.astype({"original": object, "audited": object}).merge(paper, on=["original", "audited"], how="left")


def generalisation_frame(
    records: pd.DataFrame, *, delta: float = 0.9, confidence: float = 0.95, family: str = "network"
) -> pd.DataFrame:
    """Compute the matrices of both base methods and both forms of BetaRCE, over the likely four and all data sets.

    Returns
    -------
    DataFrame
        The lines of `generalisation_table`, with "base", "method" and "data" (the names of the data sets that have
        records, joined by a space) in front. Over the four only where there are records of others too.
    """
    lines = check_records(records)
    present = set(lines.loc[lines["family"] == family, "data"])
    every = [name for name in PAPER_NAMES if name in present]
    four = [name for name in every if name in PAPER_FOUR]
    frames = []
    for base in published_generalisation()["base"].unique():
        for method in ("betarce-paper", "betarce"):
            for data in [four, every] if four and four != every else [every]:
                table = generalisation_table(
                    records, base=base, method=method, delta=delta, confidence=confidence, family=family, data=data
                )
                table.insert(0, "data", " ".join(data))
                table.insert(0, "method", method)
                table.insert(0, "base", base)
                frames.append(table)
    full = [frame for frame in frames if not frame.empty]
    return pd.concat(full, ignore_index=True) if full else frames[0]


def generalisation_markdown(frame: pd.DataFrame, *, delta: float = 0.9, family: str = "network") -> str:
    """Write the matrices of `generalisation_frame` for people, one section per base method."""
    parts = [
        f"# Robustness under other changes than those prepared for: {FAMILIES.get(family, family)}, delta {delta:g}",
        "Rows: the space that the point was certified for. Columns: the space whose fresh members measure it. Means "
        "over answers ± standard errors over rows. In bold the diagonal, where the certificate promises something; it "
        "promises nothing elsewhere.",
        'The paper writes "four datasets" in its text and "all datasets" in its captions, and names neither them nor '
        "the model. We take the network, its model wherever it names none, and give the four data sets of its LightGBM "
        "table beside all that there are records of.",
    ]
    for base, lines in frame.groupby("base", sort=False):
        rows = [
            row
            for (method, data), part in lines.groupby(["method", "data"], sort=False)
            for row in _rows(part, METHODS[str(method)], str(data).replace(" ", ", "))
        ]
        published = published_generalisation()
        published = published[published["base"] == base]
        rows += _rows(published, "published", "four or all, unnamed")
        parts += [f"## Base counterfactuals of {METHODS[str(base)]}"]
        parts += [markdown_table(pd.DataFrame(rows).set_index("Method"), left=3)]
    return "\n\n".join(parts) + "\n"


def _rows(part: pd.DataFrame, method: str, data: str) -> list[dict[str, str]]:
    rows = []
    for original, cells in part.groupby("original", sort=False):
        row = {"Method": method, "Data sets": data, "Certified for": str(original)}
        for space in SPACES:
            cell = cells[cells["audited"] == space]
            text = "-" if cell.empty else with_error(cell["robustness"].iloc[0], cell["robustness_se"].iloc[0])
            row[f"Under {space} ↑"] = f"**{text}**" if space == original and text != "-" else text
        if "n" in cells:
            row["Answers"] = f"{cells['n'].max()} of {cells['asked'].max()}"
        rows.append(row)
    return rows
