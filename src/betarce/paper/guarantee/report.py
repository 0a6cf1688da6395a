"""Tables of the simulation, from the files of its cells."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from betarce.paper.guarantee.simulation import METHODS
from betarce.paper.tables.markdown import text_table

Saved = dict[str, Any]
COLUMNS = (
    "data",
    "family",
    "space",
    "method",
    "models",
    "fits",
    "true: mean",
    "5th percentile",
    "minimum",
    "found",
    "L1: mean",
    "median",
    "of the paper's",
    "changed",
    "evaluations",
    "ms per row",
)
GOAL_MEAN, GOAL_P5, GOAL_RATIO = 0.95, 0.93, 0.40


def report(cells: Sequence[Saved]) -> dict[str, str]:
    """Write a summary, and one table for each guarantee."""
    summaries, sections = [], []
    guarantees = dict.fromkeys((one["cell"]["delta"], one["cell"]["confidence"]) for one in cells)
    for delta, confidence in sorted(guarantees, reverse=True):
        some = [one for one in cells if (one["cell"]["delta"], one["cell"]["confidence"]) == (delta, confidence)]
        title = f"### delta {delta:g}, confidence {confidence:g}"
        summaries.append(f"{title}\n\n{size(some)}\n\n{summary(some)}")
        sections.append(f"{title}\n\n{text_table(COLUMNS, [line for one in some for line in lines(one)])}")
    return {"summary": "\n\n".join(summaries), "cells": "\n\n".join(sections)}


def size(cells: Sequence[Saved]) -> str:
    """Say how much was simulated."""
    seeds = ", ".join(map(str, sorted({one["cell"]["seed"] for one in cells})))
    minutes = sum(one["cpu_seconds"] for one in cells) / 60
    return f"Cells: {len(cells)}. Seed: {seeds}. CPU time: {minutes:.0f} minutes."


def lines(one: Saved) -> Iterable[list[str]]:
    """Lay out one cell, one line for each method."""
    records = {record["method"]: record for record in one["records"]}
    for method in METHODS:
        record, share = records[method], records[method]["share"]
        l1 = pooled(record, reference(method, "l1"))
        yield [
            *(one["cell"][key] for key in ("data", "family", "space")),
            method,
            " + ".join(map(str, record["n_models"])),
            str(len(record["fits"])),
            *(["-"] * 3 if share is None else shares(share)),
            f"{found(one, record):.3f}",
            *(["-"] * 2 if not l1.size else [f"{l1.mean():.3f}", f"{np.median(l1):.3f}"]),
            "" if method == "paper" else in_words(ratio(records["paper"], record)),
            number(pooled(record, reference(method, "changed")), ".1f"),
            number(per_fit(record, "evaluations"), ".0f"),
            number(per_fit(record, "ms"), ".1f"),
        ]


def reference(method: str, what: str) -> str:
    """Name a measure: "closest" is compared with the original, the others with their base."""
    return f"{what}_original" if method == "closest" else f"{what}_base"


def shares(share: Saved) -> list[str]:
    """Write the share of true promises over fits, with twice the standard errors."""
    mean = f"{share['mean']:.3f} ± {2 * share['error']:.3f}"
    return [mean, f"{share['p5']:.3f} ± {2 * share['error_p5']:.3f}", f"{share['least']:.3f}"]


def pooled(record: Saved, what: str) -> np.ndarray:
    """Gather a measure of all points of all fits."""
    return np.array([value for fit in record["fits"] for value in fit[what]], dtype=float)


def per_fit(record: Saved, what: str) -> np.ndarray:
    """Gather a measure of all fits."""
    return np.array([fit[what] for fit in record["fits"]], dtype=float)


def number(values: np.ndarray, form: str) -> str:
    """Write a mean, or a dash."""
    return f"{values.mean():{form}}" if values.size else "-"


def found(one: Saved, record: Saved) -> float:
    """Give the share of rows that got an answer, of those with a base."""
    return float(np.mean([len(fit["rows"]) for fit in record["fits"]]) / one["n_rows"])


def ratio(paper: Saved, record: Saved) -> tuple[float, float] | None:
    """Give the median distances of a method and of the paper's form, in the fits and rows in which both found one."""
    what = reference(record["method"], "l1")
    theirs = {fit["fit"]: dict(zip(fit["rows"], fit[what], strict=True)) for fit in paper["fits"]}
    pairs = [
        (own, theirs[fit["fit"]][row])
        for fit in record["fits"]
        for row, own in zip(fit["rows"], fit[what], strict=True)
        if row in theirs.get(fit["fit"], {})
    ]
    if not pairs:
        return None
    ours, papers = np.median(np.array(pairs), axis=0)
    return float(ours), float(papers)


def in_words(medians: tuple[float, float] | None) -> str:
    """Write a ratio of medians; half of the rows may need no move at all."""
    if medians is None:
        return "-"
    ours, papers = medians
    return f"{ours / papers:.2f}" if papers > 0 else "both 0" if ours == 0 else "from 0"


def summary(cells: Sequence[Saved]) -> str:
    """Hold the worst cells against the goals."""
    rows = []
    for method in METHODS:
        records = {cell_name(one): record for one in cells for record in one["records"] if record["method"] == method}
        known = {name: record["share"] for name, record in records.items() if record["share"]}
        if known:
            finds = {cell_name(one): found(one, records[cell_name(one)]) for one in cells}
            fewest = min(finds, key=lambda name: finds[name])
            mean = f"{np.mean(list(finds.values())):.3f} on average"
            rows += [
                [method, "true, mean over fits", *worst(known, "mean", "error", GOAL_MEAN)],
                [method, "true, 5th percentile over fits", *worst(known, "p5", "error_p5", GOAL_P5)],
                [method, "rows with an answer", f"{finds[fewest]:.3f}", fewest, "", mean],
                *distance_row(cells, method),
            ]
    return text_table(("method", "what", "worst", "cell", "goal", "all cells"), rows)


def worst(known: Mapping[str, Saved], what: str, error: str, goal: float) -> list[str]:
    """Give the smallest share, twice its standard error, its cell, the goal, and how many cells reach it."""
    name = min(known, key=lambda name: known[name][what])
    share = f"{known[name][what]:.3f} ± {2 * known[name][error]:.3f}"
    held = sum(each[what] >= goal for each in known.values())
    return [share, name, f">= {goal:g}", f"{held} of {len(known)} reach it"]


def distance_row(cells: Sequence[Saved], method: str) -> list[list[str]]:
    """Compare distances with the paper's form."""
    if method == "paper":
        return []
    ratios = {}
    for one in cells:
        records = {record["method"]: record for record in one["records"]}
        medians = ratio(records["paper"], records[method])
        if medians and medians[1] > 0:
            ratios[cell_name(one)] = medians[0] / medians[1]
    if not ratios:
        return []
    farthest = max(ratios, key=lambda name: ratios[name])
    values = list(ratios.values())
    goal, middle = "", f"median {np.median(values):.2f}"
    if method == "ours":
        goal, reached = f"<= {GOAL_RATIO:g}", sum(value <= GOAL_RATIO for value in values)
        middle = f"{reached} of {len(values)} reach it, {middle}"
    return [[method, "median L1 over the paper's", f"{ratios[farthest]:.2f}", farthest, goal, middle]]


def cell_name(one: Saved) -> str:
    """Name a cell in a table."""
    return " ".join(str(one["cell"][key]) for key in ("data", "family", "space"))
