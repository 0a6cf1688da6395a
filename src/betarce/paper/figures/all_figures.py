"""All figures of a reproduction, written to a folder: each as a picture, with the numbers it shows."""

import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd

from betarce.errors import BetarceWarning, InvalidInput, MissingExtra, require
from betarce.paper.figures.answers import OURS, PAPER, in_order, words
from betarce.paper.figures.bounds import bounds_frame, draw_both_bounds, draw_bounds
from betarce.paper.figures.scatter import draw_scatter, scatter_frame
from betarce.paper.figures.seconds import draw_time, time_frame
from betarce.paper.figures.sensitivity import (
    draw_confidence,
    draw_confidence_bounds,
    draw_models,
    models_frame,
    several_models,
)
from betarce.paper.figures.two_forms import draw_forms, forms_frame
from betarce.paper.prepared import check_records
from betarce.paper.tables.correlation import distance_frame
from betarce.plotting.sheet import save_png
from betarce.safe_text import csv_for_people, in_markdown
from betarce.storage.files import make_folder, write_whole

INDEX = "figures.md"
_CONFIDENCE = 0.95  # the paper's, where there is a choice
_ROWS = 7  # of panels that fit a page
_SPREAD = "bands are one standard deviation of the answers to either side"
_NO_PICTURES = 'pictures need matplotlib; install it with `pip install "betarce[plot]"`'


_Picture = tuple[str, Callable[[], Any]]


@dataclass(frozen=True, eq=False)
class _Sheet:
    """Numbers and the pictures of them; or why there are none.

    `pictures` gives for the end of a file's name the caption and how it is drawn, `missing` why it is not.
    """

    name: str
    frame: pd.DataFrame = field(default_factory=pd.DataFrame)
    pictures: Mapping[str, _Picture] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)


def write_figures(records: pd.DataFrame, folder: Path) -> list[Path]:
    """Write every figure that the records allow as PNG, its numbers as CSV, and `figures.md`, which shows them all.

    A figure that has nothing to show is left out; `figures.md` says which, and why.

    Parameters
    ----------
    records : DataFrame
        See `betarce.paper.records.records_table`; a part of a reproduction will do.
    folder : Path
        Made if it is not there.

    Returns
    -------
    list of Path
        The files written, `figures.md` first.

    Warns
    -----
    BetarceWarning
        If matplotlib is not installed: then only the numbers are written.
    """
    folder = make_folder(folder)
    table = check_records(records)
    can_draw = _can_draw()
    shown: list[str] = []
    left_out: dict[str, list[str]] = {} if can_draw else {_NO_PICTURES: ["all pictures"]}
    written: list[Path] = []
    for sheet in _sheets(records, table):
        for end, reason in sheet.missing.items():
            left_out.setdefault(reason, []).append(_joined(sheet.name, end))
        if sheet.frame.empty:
            continue
        name = re.sub(r"[^\w.-]+", "-", sheet.name)
        written.append(write_whole(folder / f"{name}.csv", csv_for_people(sheet.frame.round(6))))
        shown.append(f"## {in_markdown(sheet.name.replace('_', ', '))}\n\nThe numbers: [{name}.csv]({name}.csv)")
        for end, (caption, draw) in sheet.pictures.items() if can_draw else ():
            file = re.sub(r"[^\w.-]+", "-", _joined(sheet.name, end)) + ".png"
            written.append(save_png(draw(), folder / file))
            caption = in_markdown(caption)
            shown.append(f"![{caption.split('.')[0].split(':')[0]}]({file})\n\n{caption}")
    index = ["# Figures", *shown]
    if left_out:
        lines = [f"{', '.join(names)}: {reason}." for reason, names in left_out.items()]
        index += ["## Left out", "\n".join(f"* {in_markdown(line)}" for line in lines)]
    return [write_whole(folder / INDEX, "\n\n".join(index) + "\n"), *written]


def _joined(name: str, end: str) -> str:
    return f"{name}_{end}" if end else name


def _can_draw() -> bool:
    try:
        require("matplotlib", extra="plot", purpose="A figure")
        require("PIL", extra="plot", purpose="A figure")
    except MissingExtra:
        warnings.warn(f"Only the numbers of the figures are written: {_NO_PICTURES}.", BetarceWarning, stacklevel=3)
        return False
    return True


def _sheets(records: pd.DataFrame, table: pd.DataFrame) -> Iterator[_Sheet]:
    promised = table[table["delta"].notna() & table["found"]]
    if promised.empty:
        yield _Sheet("all figures", missing={"": "no form of BetaRCE has an answer in these records"})
        return
    families, bases = in_order(promised["family"]), in_order(promised["base"])
    for family, base in product(families, bases):
        yield _bounds(table, family, base)
    for family, base in product(families, bases):
        yield _models(table, family, base)
    yield _time(table)
    for base in bases:
        yield _forms(table, base)
    yield from _scatters(records, promised)


def _bounds(table: pd.DataFrame, family: str, base: str) -> _Sheet:
    name = f"bounds_{family}_{base}"
    frame = bounds_frame(table, family=family, base=base)
    answered = frame[frame["delta"].notna() & frame["answers"].gt(0)]
    if answered.empty:
        return _Sheet(name, missing={"": "no form of BetaRCE has an answer"})
    about = f"{words(family)}, from points of {words(base)}"
    confidence = _one_confidence(answered)
    pictures: dict[str, _Picture] = {}
    missing: dict[str, str] = {}
    for method in in_order(answered["method"]):
        lines = answered[answered["method"].eq(method)]
        if lines.loc[lines["confidence"].eq(confidence), "delta"].nunique() > 1:
            pictures[method] = (
                f"Robustness between its bounds against delta: {words(method)}, {about}, confidence {confidence:g}; "
                f"{_SPREAD}. Means are over answers.",
                partial(draw_bounds, frame, method, confidence=confidence),
            )
        else:
            missing[method] = "only one delta was run"
        if lines["confidence"].nunique() == 1:
            missing[f"{method}_confidence"] = "only one confidence was run"
            continue
        pictures[f"{method}_confidence"] = (
            f"Robustness against confidence: {words(method)}, {about}. Means are over answers.",
            partial(draw_confidence, frame, method),
        )
        for delta in sorted(lines["delta"].unique()):
            pictures[f"{method}_confidence_{delta:g}"] = (
                f"Robustness between its bounds against confidence: {words(method)}, {about}, delta {delta:g}; "
                f"{_SPREAD}.",
                partial(draw_confidence_bounds, frame, method, delta=delta),
            )
    if {OURS, PAPER} <= set(pictures):
        pictures["both"] = (
            f"Both forms of BetaRCE against delta: {about}, confidence {confidence:g}. Means are over answers.",
            partial(draw_both_bounds, frame, confidence=confidence),
        )
    return _Sheet(name, frame, pictures, missing)


def _models(table: pd.DataFrame, family: str, base: str) -> _Sheet:
    name = f"models_{family}_{base}"
    frame = models_frame(table, family=family, base=base)
    varied = several_models(frame)
    if varied.empty:
        return _Sheet(name, missing={"": "no delta and confidence was run with several numbers of models"})
    confidence = _one_confidence(varied)
    caption = (
        f"What the number of models changes: {words(family)}, from points of {words(base)}, confidence {confidence:g}; "
        "bands are one standard deviation of the width. Means are over answers."
    )
    parts = {"": frame}
    if len(varied.drop_duplicates(["data", "space"])) > _ROWS:
        parts = {space: frame[frame["space"].eq(space)] for space in in_order(varied["space"])}
    pictures = {end: (caption, partial(draw_models, part, confidence=confidence)) for end, part in parts.items()}
    return _Sheet(name, frame, pictures)


def _time(table: pd.DataFrame) -> _Sheet:
    frame = time_frame(table)
    timed = frame[frame["delta"].notna() & frame["ms"].notna()]
    if timed.empty:
        return _Sheet("time", missing={"": "no time was recorded"})
    confidence = _one_confidence(timed)
    if timed.loc[timed["confidence"].eq(confidence), "delta"].nunique() < 2:
        return _Sheet("time", frame, missing={"": "only one delta was run"})
    caption = (
        f"Time a row takes against delta: median over data sets, spaces and folds, confidence {confidence:g}; bands "
        "are quartiles. It is BetaRCE's own time, without that of its base method and the training of members."
    )
    return _Sheet("time", frame, {"": (caption, partial(draw_time, frame, confidence=confidence))})


def _forms(table: pd.DataFrame, base: str) -> _Sheet:
    name = f"forms_{base}"
    frame = forms_frame(table, base=base)
    moved = frame[frame["moved"].gt(0)]
    if moved.empty:
        return _Sheet(
            name, missing={"": f"there is no row where both {OURS} and {PAPER} answer and one leaves its base"}
        )
    confidence = _one_confidence(moved)
    delta = moved.loc[moved["confidence"].eq(confidence), "delta"].max()
    caption = (
        f"Our form against the paper's: from points of {words(base)}, delta {delta:g}, confidence {confidence:g}. "
        "Ratios are over rows that both answer and where at least one leaves its base point; robustness is over all "
        "rows that both answer. A line that ends at the edge goes on beyond it."
    )
    return _Sheet(name, frame, {"": (caption, partial(draw_forms, frame, delta=delta, confidence=confidence))})


def _scatters(records: pd.DataFrame, promised: pd.DataFrame) -> Iterator[_Sheet]:
    try:
        distances = distance_frame(records)
    except InvalidInput as error:
        yield _Sheet("distance", missing={"": str(error).rstrip(".")})
        return
    for base, method in product(in_order(promised["base"]), (PAPER, OURS)):
        name = f"distance_{base}_{method}"
        frame = scatter_frame(distances, base=base, method=method)
        if frame.empty:
            yield _Sheet(name, missing={"": "there is no answer of this form with a base point to compare it with"})
            continue
        caption = (
            f"Distance to base against what else changes: {words(method)}, from points of {words(base)}, all data "
            "sets, spaces and deltas. Changes are of the robust point less its base point, more is worse. A dot stands "
            "at the mean of the answers near it; r is Pearson's correlation over all answers."
        )
        yield _Sheet(name, frame, {"": (caption, partial(draw_scatter, frame))})


def _one_confidence(frame: pd.DataFrame) -> float:
    """Choose a confidence where a figure shows one: the paper's if it is there, else the highest."""
    found = set(frame["confidence"].dropna())
    return _CONFIDENCE if _CONFIDENCE in found else float(max(found))
