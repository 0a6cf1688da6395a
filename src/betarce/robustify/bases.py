"""Base counterfactuals, from wherever they come: moved to what is allowed, and scored by the model itself."""

from collections.abc import Sequence

import numpy as np

from betarce.arrays import BoolArray, FloatArray, IntArray
from betarce.explainers import Closest, Explained, Explainer, Problem
from betarce.features import Box
from betarce.search import Ladders
from betarce.targets import named


def given_points(points: FloatArray, reasons: Sequence[str]) -> Explained:
    """Take points as bases without asking any method; those that could not be read say why."""
    found = np.array([not reason for reason in reasons], dtype=bool)
    return Explained(points, found, list(reasons), np.zeros(len(points), dtype=np.intp))


def with_fallback(
    based: Explained,
    problem: Problem,
    originals: FloatArray,
    targets: BoolArray,
    box: Box,
    seeds: Sequence[int],
    rows: IntArray,
) -> tuple[Explained, dict[int, str]]:
    """Look for another base where a method found none, by the search for the closest plain counterfactual.

    Returns
    -------
    Explained
    dict of int to str
        For each row that was helped, a note that says so.
    """
    lost = rows[~based.found[rows]]
    if not lost.size:
        return based, {}
    other = find_bases(Closest(), problem, originals, targets, box, seeds, lost)
    helped = lost[other.found[lost]]
    said = "The base method found nothing ({}) The closest plain counterfactual took its place."
    notes = {int(row): said.format(based.reasons[row]) for row in helped}
    return _with_points(based, helped, other.points[helped], based.n_evaluations + other.n_evaluations), notes


def with_lowest_rungs(
    based: Explained, ladders: Ladders, originals: FloatArray, targets: BoolArray, problem: Problem
) -> Explained:
    """Take the rung closest to the person where it is closer than the base: it is a plain counterfactual too.

    So what is shown for contrast is never farther than the certified point, and there is a base where none was found.
    """
    candidates = np.flatnonzero(ladders.exists.any(axis=1))
    last = ladders.exists.shape[1] - 1 - ladders.exists[candidates, ::-1].argmax(axis=1)
    rungs = ladders.points[candidates, last]

    def effort(points: FloatArray) -> FloatArray:
        gaps = problem.features.gaps(points, originals[candidates])
        return np.asarray((gaps * problem.features.weight).sum(axis=1))

    closer = ~based.found[candidates] | (effort(rungs) < effort(based.points[candidates]))
    candidates, rungs = candidates[closer], rungs[closer]
    if not candidates.size:
        return based
    good = problem.is_target(rungs, targets[candidates])
    return _with_points(based, candidates[good], rungs[good], based.n_evaluations)


def _with_points(based: Explained, rows: IntArray, points: FloatArray, n_evaluations: IntArray) -> Explained:
    """Give some rows other points."""
    all_points, found = based.points.copy(), based.found.copy()
    all_points[rows], found[rows] = points, True
    reasons = list(based.reasons)
    for row in rows:
        reasons[row] = ""
    return Explained(all_points, found, reasons, n_evaluations)


def find_bases(
    explainer: Explainer,
    problem: Problem,
    originals: FloatArray,
    targets: BoolArray,
    box: Box,
    seeds: Sequence[int],
    rows: IntArray,
) -> Explained:
    """Let a method find the bases of some rows; the others have none."""
    n = len(originals)
    whole = Explained(originals.copy(), np.zeros(n, dtype=bool), [""] * n, np.zeros(n, dtype=np.intp))
    if rows.size:
        found = explainer.explain(originals[rows], targets[rows], problem, box.take(rows), [seeds[i] for i in rows])
        whole.points[rows], whole.found[rows], whole.n_evaluations[rows] = (
            found.points,
            found.found,
            found.n_evaluations,
        )
        for row, reason in zip(rows, found.reasons, strict=True):
            whole.reasons[row] = reason
    return whole


def settle(based: Explained, targets: BoolArray, problem: Problem, box: Box) -> tuple[Explained, list[str]]:
    """Believe no base method: move its points to what is allowed, and ask the model about them.

    Returns
    -------
    Explained
        A point that kept the rules but missed its class counts as not found. One that broke a rule is moved, and the
        search goes on from there whatever its class.
    list of str
        For each row, which rules its base broke; "" if none.
    """
    features = problem.features
    points = np.where(based.found[:, None], based.points, box.origin)
    broken = features.violations(points, box) & based.found[:, None]
    moved = broken.any(axis=1)
    points[moved] = features.project(points[moved], box.take(np.flatnonzero(moved)))
    valid = problem.is_target(points, targets)
    notes = [
        _note([column.title for column, bad in zip(features.columns, row, strict=True) if bad], bool(good))
        for row, good in zip(broken, valid, strict=True)
    ]
    reasons = [
        reason
        or (
            "" if good or note else f"The base method's point is not in class {named(target, problem.model.classes)!r}."
        )
        for reason, good, note, target in zip(based.reasons, valid, notes, targets, strict=True)
    ]
    found = based.found & np.array([not reason for reason in reasons], dtype=bool)
    return Explained(points, found, reasons, based.n_evaluations), notes


def _note(broken: list[str], valid: bool) -> str:
    if not broken:
        return ""
    shown = ", ".join(broken[:5]) + ", ..." * (len(broken) > 5)
    lost = "" if valid else ", where the model no longer gives the target class; the search went on from there"
    return f"The base method's point was not allowed ({shown}) and was moved to the nearest allowed one{lost}."
