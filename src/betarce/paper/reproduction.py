"""All that a reproduction has to show, in one folder: tables, figures, records, and a page that leads to them."""

import gzip
import json
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd

import betarce
from betarce.paper.figures.all_figures import INDEX, write_figures
from betarce.paper.plan import Cell, Plan
from betarce.paper.records import breakdowns, records_table, summary
from betarce.paper.tables.all_tables import write_tables
from betarce.paper.tables.markdown import markdown_table, one_line
from betarce.safe_text import in_markdown
from betarce.storage.files import write_whole

Finished = Sequence[tuple[Cell, Mapping[str, Any]]]
RECORDS = "records.csv.gz"
_DIGITS = "%.6g"


def write_reproduction(plan: Plan, finished: Finished, folder: Path, *, plan_text: str = "") -> Path:
    """Write tables, figures and records of the finished cells of a plan.

    Parameters
    ----------
    plan : Plan
    finished : sequence of (Cell, dict)
        The cells that are finished, see `betarce.paper.records.finished_cells`; a part of the plan will do.
    folder : Path
        Made if it is not there; files of the same names are replaced.
    plan_text : str
        The plan as it was written, to be kept beside its results.

    Returns
    -------
    Path
        The page that leads to everything else, README.md.

    Raises
    ------
    InvalidInput
        If no cell is finished, or the folder is a file.
    """
    records = records_table(finished)
    tables = write_tables(records, folder / "tables", audit_members=plan.audit_members)
    figures = write_figures(records, folder / "figures")
    write_whole(folder / RECORDS, compressed(records))
    if plan_text:
        write_whole(folder / "plan.toml", plan_text)
    pages = [path for path in tables.paths if path.suffix == ".md"]
    pictures = sum(path.suffix == ".png" for path in figures)
    lines = [
        "# Results of a plan",
        f"{len(finished)} of {len(plan.cells)} cells are finished, by betarce {betarce.__version__}. The "
        f"{len(records):,} records are in [{RECORDS}]({RECORDS})."
        + (" The plan is [plan.toml](plan.toml)." if plan_text else ""),
        "## Tables",
        "\n".join(f"* [{_title(path)}](tables/{path.name})" for path in pages) or "None.",
        "## Figures",
        f"[{pictures} figure{'s' * (pictures != 1)}](figures/{INDEX}), with the numbers that they show.",
        "## All methods",
        "Means over the answers of all finished cells; *answers* counts them. Cells differ in size and difficulty, so "
        "compare only lines of the same base.",
        _methods(records),
        *_failures(records),
        *_reused(finished),
        "## Models",
        "Accuracy on the part of each fold that is explained, mean over folds. The model is the same for all spaces.",
        _accuracies(finished),
        *_warnings(finished),
    ]
    if tables.left_out:
        lines += ["## Left out", "\n".join(f"* {name}: {reason}" for name, reason in tables.left_out.items())]
    return write_whole(folder / "README.md", "\n\n".join(lines) + "\n")


def compressed(records: pd.DataFrame) -> bytes:
    """Write records as gzipped CSV, six digits per number, the same bytes for the same records.

    Examples
    --------
    >>> records = pd.DataFrame({"parameters": [{"tau": 0.5}], "ms": [1 / 3]})
    >>> gzip.decompress(compressed(records)).decode().splitlines()
    ['parameters,ms', '"{""tau"": 0.5}",0.333333']
    """
    plain = records.assign(parameters=[json.dumps(value, sort_keys=True) for value in records["parameters"]])
    target = BytesIO()
    with gzip.GzipFile(fileobj=target, mode="wb", mtime=0) as file:
        file.write(plain.to_csv(index=False, float_format=_DIGITS, lineterminator="\n").encode("utf-8"))
    return target.getvalue()


def _title(path: Path) -> str:
    return path.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")


def _methods(records: pd.DataFrame) -> str:
    table = summary(records)
    table["answers"] = [f"{round(f * n):,} of {n:,}" for f, n in zip(table["found"], table["rows"], strict=True)]
    names = {
        "base": "base",
        "delta": "delta",
        "confidence": "confidence",
        "answers": "answers",
        "robustness": "robustness",
        "distance_to_base": "L1 to base",
        "proximity_l1": "L1",
        "proximity_l2": "L2",
        "plausibility": "plausibility",
        "ms": "ms per row",
    }
    shown = table.set_index("method")[list(names)].rename(columns=names)
    return markdown_table(shown, left=2)


def _failures(records: pd.DataFrame) -> list[str]:
    broken = breakdowns(records)
    if not broken:
        return []
    lines = [f"{method}{f' from {base}' if base else ''}, in {n} cells: {why}" for method, base, why, n in broken]
    return ["## Methods that could not run", "\n".join(f"* {in_markdown(line)}" for line in lines)]


def _reused(finished: Finished) -> list[str]:
    """Say which records were taken over from an earlier run, and from which file."""
    places: dict[tuple[str, str, str], int] = {}
    for _, content in finished:
        if "reused" in content:
            stated = content["reused"]
            key = (", ".join(stated["methods"]), stated["records"], stated["digest"])
            places[key] = places.get(key, 0) + 1
    if not places:
        return []
    lines = [f"* {methods}: in {n} cells, from {file} ({digest})" for (methods, file, digest), n in places.items()]
    return [
        "## Methods that were not run again",
        "Their records are those of an earlier run, with its times. Base methods were run again in every cell, and "
        "gave the earlier records to the last of six digits; so the data, models, base points and audit members are "
        "the same.",
        "\n".join(lines),
    ]


def _accuracies(finished: Finished) -> str:
    lines = [{"data": cell.data, "family": cell.family, "accuracy": content["accuracy"]} for cell, content in finished]
    table = pd.DataFrame(lines).pivot_table(index="data", columns="family", values="accuracy", sort=False)
    return markdown_table(table, digits=3)


def _warnings(finished: Finished) -> list[str]:
    """Give the first sentence of each warning, by data set, family and space; the files of the cells have the rest."""
    said: dict[str, dict[str, None]] = {}
    for cell, content in finished:
        for text in content["warnings"]:
            place = f"{cell.data}, {cell.family}, {cell.space}"
            said.setdefault(place, {})[one_line(text).partition(". ")[0]] = None
    if not said:
        return []
    lines = [f"* {in_markdown(place)}: {in_markdown('; '.join(texts))}." for place, texts in said.items()]
    return ["## What was said about members", "\n".join(lines)]
