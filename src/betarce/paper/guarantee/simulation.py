"""One cell of the simulation: many fits of `BetaRCE`, and one audit of all that they hand out."""

import time
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

import betarce
from betarce.arrays import BoolArray, FloatArray
from betarce.errors import BetarceWarning
from betarce.paper.guarantee.cells import OURS, PAPER, Cell, Tables, space_of, tables
from betarce.paper.guarantee.errors import judge, share_over_fits
from betarce.results.result import Result
from betarce.robustify import BetaRCE
from betarce.seeding import derive, generator

FORMAT = 2
METHODS = ("ours", "closest", "paper")
_AUDIT_AT_ONCE = 256
_MOST_ATTEMPTS = 20


@dataclass(frozen=True, eq=False)
class Scene:
    """What all fits of a cell share: the fitted model, the rows and their bases."""

    cell: Cell
    tables: Tables
    model: Any
    auditor: BetaRCE
    rows: Any
    bases: Any
    n_base_missing: int
    n_audit: int

    def fit(self, number: int, settings: dict[str, Any]) -> BetaRCE:
        """Draw members for one fit; its number decides which."""
        rce = BetaRCE(
            self.model,
            space=space_of(self.cell),
            base=None,
            delta=self.cell.delta,
            confidence=self.cell.confidence,
            features=self.tables.rules,
            random_state=derive(self.cell.seed, self.cell.name, "fit", number),
            verbose=-1,
            **settings,
        )
        return rce.fit(self.tables.X, self.tables.y)


@dataclass(frozen=True, eq=False)
class Answers:
    """What one fit handed out by one method."""

    method: str
    fit: int
    n_models: tuple[int, ...]
    points: FloatArray
    targets: list[Any]
    record: dict[str, Any]


def simulate(cell: Cell, n_fits: int, n_audit: int | None = None) -> dict[str, Any]:
    """Run one cell.

    Parameters
    ----------
    cell : Cell
    n_fits : int
    n_audit : int, optional
        Audit members, if not as many as the cell should have.

    Returns
    -------
    dict
        Plain data: the cell, how it was run, and one record for each method.
    """
    started, started_cpu = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BetarceWarning)
        scene = prepare(cell, n_audit or cell.n_audit)
        answers = [each for number in range(n_fits) for each in one_fit(scene, number)]
        votes = audit(scene, answers)
    return {
        "format": FORMAT,
        "cell": asdict(cell),
        "asked": settings_of(cell, n_fits, n_audit),
        "version": betarce.__version__,
        "n_audit": scene.n_audit,
        "n_rows": len(scene.rows),
        "n_base_missing": scene.n_base_missing,
        "records": [summed_up(scene, method, answers, votes) for method in METHODS],
        "seconds": round(time.perf_counter() - started, 1),
        "cpu_seconds": round(time.process_time() - started_cpu, 1),
    }


def settings_of(cell: Cell, n_fits: int, n_audit: int | None) -> dict[str, Any]:
    """Say how a cell is run, as plain data."""
    return {"n_fits": n_fits, "n_audit": n_audit or cell.n_audit, **OURS}


def prepare(cell: Cell, n_audit: int) -> Scene:
    """Train the model to be explained and find a base for every row, by Growing Spheres."""
    data = tables(cell)
    scout = varied_model(cell, data)
    found = [item.points["base"] for item in scout.explain(data.rows)]
    kept = np.flatnonzero([point is not None for point in found])
    rows = data.rows.iloc[kept] if hasattr(data.rows, "iloc") else data.rows[kept]
    bases = scout.features_.decode(np.array([found[i] for i in kept]), getattr(rows, "index", None))
    return Scene(cell, data, scout.model_, scout, rows, bases, len(found) - len(kept), n_audit)


def varied_model(cell: Cell, data: Tables) -> BetaRCE:
    """Train the model until it knows two classes: one that answers one class everywhere has nothing to explain.

    The explainer around it has two members and promises next to nothing; it finds bases, and draws the audit members
    under a seed of its own.
    """
    for attempt in range(_MOST_ATTEMPTS):
        scout = BetaRCE(
            data.model,
            space=space_of(cell),
            base="growing-spheres",
            search="growing-spheres",
            certify_on="search",
            prior="jeffreys",
            delta=0.5,
            confidence=0.5,
            n_models=2,
            features=data.rules,
            random_state=derive(cell.seed, cell.name, "audit", attempt),
            verbose=-1,
        ).fit(data.X, data.y)
        if len(np.unique(scout.model_.predict(data.X))) > 1:
            return scout
    raise RuntimeError(f"{cell.name}: {_MOST_ATTEMPTS} models in a row answer one class everywhere")


def one_fit(scene: Scene, number: int) -> Iterator[Answers]:
    """Draw members once and explain all rows: from their bases, from the rows themselves, and in the paper's form."""
    rce = scene.fit(number, OURS)
    yield answers_of("ours", number, rce, rce.explain(scene.rows, base_points=scene.bases))
    yield answers_of("closest", number, rce, rce.explain(scene.rows))
    if number < scene.cell.n_paper_fits:
        paper = scene.fit(number, PAPER)
        yield answers_of("paper", number, paper, paper.explain(scene.rows, base_points=scene.bases))


def answers_of(method: str, fit: int, rce: BetaRCE, result: Result) -> Answers:
    """Keep the points that were handed out, and what they cost; a row without an answer counts as not found."""
    rows = np.flatnonzero(result.certified)
    items = [result[int(i)] for i in rows]
    record = {
        "fit": fit,
        "rows": rows.tolist(),
        "l1_base": rounded([item.distance_to_base for item in items]),
        "l1_original": rounded([item.distance_to_original for item in items]),
        "changed_base": [n_changed(item.base, item.robust) for item in items],
        "changed_original": [n_changed(item.original, item.robust) for item in items],
        "evaluations": float(np.mean([item.n_evaluations for item in result])),
        "ms": float(1000 * np.mean([item.runtime_s for item in result])),
    }
    points = np.array([item.points["robust"] for item in items]).reshape(len(items), -1)
    sizes = tuple(rce.members_.sizes.values())
    return Answers(method, fit, sizes, points, [item.target for item in items], record)


def n_changed(before: Any, after: Any) -> int:
    """Count the features that differ."""
    return int((np.asarray(before, dtype=object) != np.asarray(after, dtype=object)).sum())


def rounded(values: list[float]) -> list[float]:
    """Keep five digits."""
    return [float(f"{value:.5g}") for value in values]


def audit(scene: Scene, answers: list[Answers]) -> list[BoolArray]:
    """Ask the same fresh members about all points of all fits; give who agrees, one array for each of the answers."""
    some = [each for each in answers if len(each.points)]
    votes = np.zeros((sum(len(each.points) for each in some), scene.n_audit), dtype=bool)
    if some:
        points = np.concatenate([each.points for each in some])
        targets = np.array([target for each in some for target in each.targets])
        for start in range(0, scene.n_audit, _AUDIT_AT_ONCE):
            size = min(_AUDIT_AT_ONCE, scene.n_audit - start)
            members = scene.auditor.fresh_members(size, role=f"audit from {start}")
            votes[:, start : start + size] = members.agrees(points, targets)
    return np.split(votes, np.cumsum([len(each.points) for each in answers])[:-1])


def summed_up(scene: Scene, method: str, answers: list[Answers], votes: list[BoolArray]) -> dict[str, Any]:
    """Put all fits of one method together."""
    cell = scene.cell
    chosen = [(each, agree) for each, agree in zip(answers, votes, strict=True) if each.method == method]
    runs = []
    for each, agree in chosen:
        kept = judge(agree.sum(axis=1), scene.n_audit, cell.delta)
        own = float(kept.mean()) if len(kept) else None
        runs.append({**each.record, "votes": agree.sum(axis=1).tolist(), "share": own})
    fits = np.repeat([each.fit for each, _ in chosen], [len(agree) for _, agree in chosen])
    rng = generator(cell.seed, cell.name, "audit again", method)
    share = share_over_fits(np.concatenate([agree for _, agree in chosen]), fits, cell.delta, rng)
    n_models = list(chosen[0][0].n_models)
    return {"method": method, "n_models": n_models, "share": None if share is None else asdict(share), "fits": runs}
