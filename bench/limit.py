"""How far from the limit are we? Our points against the closest point that really is delta-robust.

Run: ``make limit``. Every cell (data set x model family) is saved as one file under ``docs/results/limit`` when it is
done, and skipped when it is there (``--again`` computes it anew); the tables in ``docs/limits.md`` are made from the
files. Data sets other than breast cancer are read from ``BETARCE_DATA_DIR``.
"""

import argparse
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import betarce as brce
import limit_oracle
import limit_trees
from betarce.arrays import AnyArray, FloatArray
from betarce.errors import DataUnavailable
from betarce.storage.files import make_folder, write_whole
from limit_oracle import Closest
from limit_report import write_report
from limit_scene import Scene, own_votes, prepare

ROOT = Path(__file__).parents[1]
RESULTS = Path(os.environ.get("BETARCE_RESULTS", ROOT / "docs" / "results")) / "limit"
CELLS = (("diabetes", "logistic"), ("breast_cancer", "logistic"), ("heloc", "logistic"), ("diabetes", "lightgbm"))
DELTA, CONFIDENCE = 0.9, 0.95
DRAWS = (0, 1, 2)

OURS: Mapping[str, Any] = {}  # the defaults
PAPER = {"search": "growing-spheres", "certify_on": "search", "prior": "jeffreys", "n_models": 32}
SETTINGS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "logistic": {
        "default": {**OURS, "n_models": "auto"},
        "300 + 956": {**OURS, "n_models": (300, 956)},
        "few": {**OURS, "n_models": "few"},
        "paper": PAPER,
    },
    "lightgbm": {
        "default": {**OURS, "n_models": "auto"},
        "many": {**OURS, "n_models": "many"},
        "few": {**OURS, "n_models": "few"},
        "paper": PAPER,
    },
}


@dataclass(frozen=True, eq=False)
class Answers:
    """What one setting handed out under one draw of members; `points` has NaN where there is no answer.

    `votes` counts the oracle's members that accept each point; `validity` is the share of the audit members that do.
    """

    random_state: int
    n_models: list[int]
    status: list[str]
    points: FloatArray
    validity: FloatArray
    votes: AnyArray
    seconds: float

    @property
    def found(self) -> AnyArray:
        """The rows with an answer."""
        return np.flatnonzero(~np.isnan(self.points).any(axis=1))


def answer(scene: Scene, random_state: int, settings: Mapping[str, Any]) -> Answers:
    """Explain all rows from their bases, through the public interface, and ask fresh members about the answers."""
    started = time.perf_counter()
    rce = scene.explainer(random_state, delta=DELTA, confidence=CONFIDENCE, **settings)
    result = rce.explain(scene.originals, base_points=scene.bases)
    seconds = time.perf_counter() - started
    points = result.points("robust").to_numpy(float)
    rows = np.flatnonzero(result.certified)
    validity, votes = np.full(len(points), np.nan), np.zeros(len(points), dtype=int)
    if rows.size:
        validity[rows] = own_votes(scene.audit.models, points[rows], scene.targets[rows]) / scene.n_audit
        votes[rows] = own_votes(scene.members.models, points[rows], scene.targets[rows])
    n_models = list(rce.members_.sizes.values())
    return Answers(random_state, n_models, [item.status for item in result], points, validity, votes, seconds)


def linear_oracle(scene: Scene, row: int, levels: Sequence[int], starts: FloatArray) -> dict[int, Closest]:
    """Find the closest points by votes, and prove it."""
    inner = [model.estimator_ for model in (scene.model, *scene.members.models)]
    positive = bool(scene.targets[row] == scene.model.classes_[1])
    coefficients, intercepts = np.vstack([m.coef_ for m in inner]), np.concatenate([m.intercept_ for m in inner])
    model, members = (
        limit_oracle.HalfSpaces.of(coefficients[part], intercepts[part], positive=positive)
        for part in (slice(0, 1), slice(1, None))
    )
    place = limit_oracle.Place(scene.bases[row], scene.lower[row], scene.upper[row], model, members)
    return limit_oracle.closest_by_votes(place, levels, starts)


def tree_oracle(scene: Scene, row: int, levels: Sequence[int], starts: FloatArray) -> dict[int, Closest]:
    """Find close points by votes: nothing is proven."""
    base, target = scene.bases[row], scene.targets[row]
    model = brce.Ensemble([scene.model], scene.members.classes)

    def votes(points: FloatArray) -> AnyArray:
        return scene.members.votes(points, target) * model.votes(points, target)

    grid = limit_trees.Grid.around(base, scene.lower[row], scene.upper[row], scene.thresholds)
    starts = np.vstack([starts, scene.X])
    found = limit_trees.closest_by_votes(grid, votes, levels, starts, most=scene.n_members, seed=row)
    return {k: Closest(point, float(np.abs(point - base).sum()), bound=0.0) for k, point in found.items()}


def oracle(scene: Scene, family: str, answers: Sequence[Answers]) -> Iterator[dict[int, Closest]]:
    """Give the oracle's distances of every row, at delta and at the votes that each of our points has."""
    closest_points = tree_oracle if family == "lightgbm" else linear_oracle
    for row, base in enumerate(scene.bases):
        found = [each for each in answers if row in each.found]
        levels = {least_votes(scene), *(int(each.votes[row]) for each in found)}
        starts = np.array([base, *(each.points[row] for each in found)])
        yield closest_points(scene, row, sorted(levels), starts)
        print(f"  row {row + 1} of {len(scene.bases)}: {len(levels)} oracles", flush=True)


def least_votes(scene: Scene) -> int:
    """Say how many of the oracle's members are a share of delta."""
    return int(np.ceil(DELTA * scene.n_members - 1e-9))


def run_cell(
    scene: Scene, family: str, settings: Mapping[str, Mapping[str, Any]], draws: Sequence[int] = DRAWS
) -> dict[str, Any]:
    """Compute one cell: our answers first, for the oracle is asked at their votes, too."""
    clock = [time.perf_counter()]
    _ = scene.members, scene.audit
    clock.append(time.perf_counter())
    answers = {name: [answer(scene, draw, each) for draw in draws] for name, each in settings.items()}
    clock.append(time.perf_counter())
    distances = list(oracle(scene, family, [each for runs in answers.values() for each in runs]))
    clock.append(time.perf_counter())
    return {
        "family": family,
        "version": brce.__version__,
        "delta": DELTA,
        "confidence": CONFIDENCE,
        "n_rows": len(scene.bases),
        "n_base_missing": scene.n_base_missing,
        "n_members": scene.n_members,
        "n_audit": scene.n_audit,
        "votes": least_votes(scene),
        "exact": family != "lightgbm",
        "seconds": dict(zip(("members", "ours", "oracle"), np.diff(clock).round(1).tolist(), strict=True)),
        "oracle": oracle_records(scene, distances),
        "settings": {name: [draw_record(scene, each, distances) for each in runs] for name, runs in answers.items()},
    }


def oracle_records(scene: Scene, distances: Sequence[Mapping[int, Closest]]) -> list[dict[str, Any]]:
    """Write the oracle down by row, its points scored again by the models themselves."""
    records = []
    for row, by_votes in enumerate(distances):
        levels = sorted(k for k, each in by_votes.items() if each.point is not None)
        points = np.array([by_votes[k].point for k in levels])
        own = own_votes(scene.members.models, points, scene.targets[row]) if levels else np.array([])
        model = own_votes([scene.model], points, scene.targets[row]) if levels else np.array([])
        if (own < levels).any() or (model < 1).any():
            raise RuntimeError(f"Row {row}: a point of the oracle has {own} votes where {levels} were required.")
        record: dict[str, Any] = {
            "largest_gap": max((by_votes[k].gap for k in levels), default=0.0),
            "levels": {str(k): by_votes[k].distance for k in levels},
        }
        if least_votes(scene) in levels:
            place = levels.index(least_votes(scene))
            best, audited = by_votes[levels[place]], own_votes(scene.audit.models, points[[place]], scene.targets[row])
            record |= {"l1": best.distance, "bound": best.bound, "validity": float(audited[0] / scene.n_audit)}
        records.append(record)
    return records


def draw_record(scene: Scene, answers: Answers, distances: Sequence[Mapping[int, Closest]]) -> dict[str, Any]:
    """Write one draw down, row by row, with the oracle's distance at as many votes."""
    rows = []
    for row, status in enumerate(answers.status):
        record: dict[str, Any] = {"status": status}
        if row in answers.found:
            votes = int(answers.votes[row])
            record |= {
                "l1": float(np.abs(answers.points[row] - scene.bases[row]).sum()),
                "votes": votes,
                "validity": float(answers.validity[row]),
                "oracle_at_votes": distances[row][votes].distance,
            }
        rows.append(record)
    return {
        "random_state": answers.random_state,
        "n_models": answers.n_models,
        "seconds": round(answers.seconds, 2),
        "rows": rows,
    }


def main() -> None:
    """Run what is missing, then write the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", nargs="*", default=sorted({data for data, _ in CELLS}))
    parser.add_argument("--family", nargs="*", default=list(SETTINGS))
    parser.add_argument("--again", action="store_true", help="compute cells anew that are there already")
    parser.add_argument("--jobs", type=int, default=None, help="workers that train members")
    arguments = parser.parse_args()
    make_folder(RESULTS)
    for data, family in CELLS:
        path = RESULTS / f"{data}-{family}.json"
        if data not in arguments.data or family not in arguments.family or (path.exists() and not arguments.again):
            continue
        print(f"{data}, {family}", flush=True)
        try:
            with threadpool_limits(1):
                cell = run_cell(prepare(data, family, arguments.jobs), family, SETTINGS[family])
            write_whole(path, json.dumps({"data": data, **cell}, allow_nan=False) + "\n")
        except DataUnavailable as error:
            print(f"{data}, {family}: skipped. {error}")
    write_report(RESULTS, ROOT / "docs" / "limits.md")


if __name__ == "__main__":
    main()
