"""All tables of the paper that need experiments, written to a folder."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from betarce.paper.prepared import check_records
from betarce.paper.tables.agreement import agreement_markdown, agreement_table
from betarce.paper.tables.comparison import FAMILIES, METHODS, PAPER_TABLES, comparison_markdown, comparison_table
from betarce.paper.tables.correlation import correlation_markdown, correlation_table
from betarce.paper.tables.generalisation import generalisation_frame, generalisation_markdown
from betarce.paper.tables.goals import goals_markdown, goals_table
from betarce.safe_text import csv_for_people
from betarce.storage.files import make_folder, write_whole


class Written(NamedTuple):
    """What was written.

    Attributes
    ----------
    paths : list of Path
        The files, Markdown and CSV of each table.
    left_out : dict of str to str
        Tables that have nothing to show, and why.
    """

    paths: list[Path]
    left_out: dict[str, str]


def write_tables(records: pd.DataFrame, folder: Path, *, audit_members: int = 30) -> Written:
    """Write every table that the records have something for, each as Markdown and as CSV.

    Parameters
    ----------
    records : DataFrame
        As `betarce.paper.records.records_table` gives them; any part of a plan will do.
    folder : Path
        Made if it is not there. Files of the same names are replaced, each whole.
    audit_members : int
        Of the plan.

    Returns
    -------
    Written
        Where the tables are, and which were left out.

    Raises
    ------
    InvalidInput
        If there are no records, a column is missing, or the folder is a file.
    """
    check_records(records)
    folder = make_folder(folder)
    written = Written([], {})
    for name, (compute, write, missing) in _tables(records, audit_members).items():
        table = compute()
        if table.empty:
            written.left_out[name] = missing
            continue
        written.paths.append(write_whole(folder / f"{name}.md", write(table)))
        written.paths.append(write_whole(folder / f"{name}.csv", csv_for_people(table, float_format="%.6g")))
    return written


_Table = tuple[Callable[[], pd.DataFrame], Callable[[pd.DataFrame], str], str]


def _tables(records: pd.DataFrame, audit_members: int) -> dict[str, _Table]:
    """Say of each table how it is computed, how it is written, and what its records would be."""
    tables: dict[str, _Table] = {
        f"comparison-{family}-{base}": _comparison(records, family, base) for family, base in PAPER_TABLES
    }
    tables["agreement"] = (
        lambda: agreement_table(records),
        agreement_markdown,
        "There are no records of a data set and method that the paper's tables have.",
    )
    tables["generalisation"] = (
        lambda: generalisation_frame(records),
        generalisation_markdown,
        "There are no answers of BetaRCE for the neural network at delta 0.9 and confidence 0.95 whose robustness was "
        "measured under several spaces.",
    )
    tables["correlation"] = (
        lambda: correlation_table(records),
        correlation_markdown,
        "There are no answers of RobX or BetaRCE together with the metrics of their bases.",
    )
    tables["goals"] = (
        lambda: goals_table(records, audit_members=audit_members),
        lambda table: goals_markdown(table, audit_members=audit_members),
        "There are no records of both forms of BetaRCE at delta 0.9 and confidence 0.95.",
    )
    return tables


def _comparison(records: pd.DataFrame, family: str, base: str) -> _Table:
    def compute() -> pd.DataFrame:
        table = comparison_table(records, family=family, base=base)
        # Without a post-hoc method the table would only repeat lines of the family's other base method.
        posthoc = table["method"].str.startswith(("robx", "betarce"))
        return table if posthoc.any() else table.iloc[:0]

    return (
        compute,
        lambda table: comparison_markdown(table, family=family, base=base),
        f"There are no records of RobX or BetaRCE for {FAMILIES[family]} with base counterfactuals of {METHODS[base]}.",
    )
