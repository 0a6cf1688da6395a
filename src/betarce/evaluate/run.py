"""A plan, carried out: every cell that is not finished yet becomes one file of records.

The protocol of a cell:

* The rows of the data set are shuffled, by the plan's seed and the data set's name alone, and cut into `folds` parts,
  without regard to their classes. One part is explained, the others train; all families and spaces share the cut, and
  the first `rows` of the part are the rows explained.
* Every column is scaled to [0, 1] by its range in the training parts; all columns are real numbers, as in the paper.
* A model of the family is trained; it keeps 20 % of its rows aside for validation, and so does every member. Members
  that search, certify, tune and audit are separate draws from the space.
* Every row is explained towards the class that the model does not give it. Both forms of BetaRCE run for each base
  method, delta and confidence on the same pool of members, of which smaller guarantees take a part; other methods run
  once, or once a base method where they start from one.
* A method that cannot run, for instance for want of an extra, has a record for every row all the same, with the status
  "failed" and the reason. No row is ever dropped.

Every cell gets its seeds from the plan's seed and its own name, so it comes out the same, up to the time taken, in any
order, beside any others, on any number of workers. Members are trained anew in each run of a cell: keeping them would
take pickle, and a folder of results should be safe to pass on.
"""

import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from typing import Any, Literal

import numpy as np
from threadpoolctl import threadpool_limits

from betarce.arrays import AnyArray, FloatArray, IntArray
from betarce.data import load
from betarce.ensemble import Ensemble
from betarce.errors import BetarceWarning, CorruptFile, InvalidInput
from betarce.evaluate import engines
from betarce.evaluate.contest import Answer, Arena
from betarce.evaluate.plan import Cell, Method, Plan
from betarce.evaluate.records import Record, path_of, read_cell, write_cell
from betarce.evaluate.scene import Scene
from betarce.models.families import paper_model
from betarce.posterior import Certificate, Guarantee
from betarce.progress import progress
from betarce.robustify import BetaRCE
from betarce.seeding import generator
from betarce.spaces import Given

State = Literal["finished", "missing", "damaged"]
_SCORES = ("robustness", "proximity_l1", "proximity_l2", "plausibility", "distance_to_base", "changed")


@dataclass(frozen=True)
class Report:
    """What became of the cells of a plan.

    Attributes
    ----------
    done, skipped : list of str
        Names of cells that were run, and of those that had been run before.
    damaged : list of str
        Of those done, the ones whose file was damaged.
    failed : dict of str to str
        Names of cells that could not be run, and why.
    """

    done: list[str]
    skipped: list[str]
    damaged: list[str]
    failed: dict[str, str]


def choose_cells(plan: Plan, only: str = "") -> list[Cell]:
    """Give the cells whose name holds `only`."""
    cells = [cell for cell in plan.cells if only in cell.name]
    if not cells:
        raise InvalidInput(f"`only` must be part of the name of a cell, such as {plan.cells[0].name!r}; got {only!r}.")
    return cells


def survey(plan: Plan, out: str | os.PathLike[str], cells: Sequence[Cell]) -> dict[Cell, State]:
    """Say which cells are finished; refuse a folder that holds cells of another plan."""
    return {cell: _state(cell, plan, out) for cell in cells}


def run_plan(
    plan: Plan,
    out: str | os.PathLike[str],
    *,
    only: str = "",
    n_jobs: int | None = None,
    engine: str = "local",
    address: str | None = None,
    verbose: int = 0,
) -> Report:
    """Run the cells of a plan that are not finished.

    Parameters
    ----------
    plan : Plan
    out : path
        The folder of results; finished cells in it are kept, damaged ones run again. It may be killed at any moment
        and run again.
    only : str
        Run only cells whose name holds this.
    n_jobs : int or None
        Cells at a time on this machine, as in joblib.
    engine, address : str
        Where cells are computed, see `betarce.evaluate.engines`. The files are written here in any case.
    verbose : int
        See `betarce.progress`.

    Raises
    ------
    InvalidInput
        If the folder holds the same cells of another plan or version, or the engine cannot be used; nothing was done.
    """
    cells = choose_cells(plan, only)
    states = survey(plan, out, cells)
    open_cells = [cell for cell, state in states.items() if state != "finished"]
    try:
        path_of(cells[0], out).parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise InvalidInput(f"`out` must be a folder; {os.fspath(out)!r} is a file.") from None
    failed: dict[str, str] = {}
    if open_cells:  # a cluster is not started for nothing
        with (
            engines.engine(engine, address=address, n_jobs=n_jobs) as compute,
            progress("Running cells", total=len(open_cells), verbose=verbose) as advance,
            closing(compute(partial(run_cell, plan=plan), open_cells)) as outcomes,
        ):
            for cell, content, error in outcomes:
                error = error or _write(cell, plan, out, content)
                if error:
                    failed[cell.name] = error
                advance(1)
    done = [cell.name for cell in open_cells if cell.name not in failed]
    return Report(
        done,
        [cell.name for cell in cells if cell not in open_cells],
        [cell.name for cell in open_cells if states[cell] == "damaged" and cell.name in done],
        {cell.name: failed[cell.name] for cell in open_cells if cell.name in failed},
    )


def _state(cell: Cell, plan: Plan, out: str | os.PathLike[str]) -> State:
    try:
        read_cell(cell, plan, out)
    except (FileNotFoundError, NotADirectoryError):
        return "missing"
    except CorruptFile:
        return "damaged"
    return "finished"


def _write(cell: Cell, plan: Plan, out: str | os.PathLike[str], content: dict[str, Any]) -> str:
    """Write the records of a cell; say why if that failed."""
    try:
        write_cell(cell, plan, out, content)
    except Exception as error:  # noqa: BLE001 - one cell must not stop the others; its error is reported
        return f"{type(error).__name__}: {error}"
    return ""


def run_cell(cell: Cell, plan: Plan) -> dict[str, Any]:
    """Run one cell, on one thread.

    Returns
    -------
    dict
        "records", one a method and row; "accuracy" of the model on the whole part that is explained; "n_train";
        "data_digest", of the data set as it was read; "warnings" of this package about the members.
    """
    with threadpool_limits(1), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", BetarceWarning)
        stage = _Stage.prepare(cell, plan)
        # What follows takes parts of the same members: its warnings would repeat those of the whole.
        warnings.simplefilter("ignore", BetarceWarning)
        records = list(stage.records())
    said = [str(warning.message) for warning in caught if issubclass(warning.category, BetarceWarning)]
    return {
        "data_digest": stage.fold.data_digest,
        "n_train": len(stage.fold.X_train),
        "accuracy": stage.accuracy,
        "warnings": list(dict.fromkeys(said)),
        "records": records,
    }


@dataclass(frozen=True, eq=False)
class Fold:
    """A data set cut in two: what trains, and what is explained.

    `names` are the row numbers of the latter; `data_digest` tells copies of the data set apart, whose order may differ.
    """

    X_train: FloatArray
    y_train: AnyArray
    X_test: FloatArray
    y_test: AnyArray
    names: IntArray
    data_digest: str


def cut(cell: Cell, plan: Plan) -> Fold:
    """Cut the data set of a cell, and scale it by its training part."""
    data = load(cell.data)
    X, y = data.X.to_numpy(float), data.y.to_numpy()
    data_digest = (
        "blake2b:" + blake2b(X.astype("<f8").tobytes() + y.astype("<i8").tobytes(), digest_size=16).hexdigest()
    )
    parts = np.array_split(generator(plan.seed, cell.data, "folds").permutation(len(X)), plan.folds)
    test = parts[cell.fold]
    train = np.sort(np.concatenate([part for fold, part in enumerate(parts) if fold != cell.fold]))
    low, high = X[train].min(axis=0), X[train].max(axis=0)
    X = (X - low) / np.where(high > low, high - low, 1.0)
    return Fold(X[train], y[train], X[test], y[test], test, data_digest)


@dataclass(frozen=True, eq=False)
class _Stage:
    """A cell, trained and ready: all methods find here what they need."""

    plan: Plan
    seed: int
    root: BetaRCE
    fold: Fold
    scene: Scene
    audit: Ensemble
    accuracy: float

    @classmethod
    def prepare(cls, cell: Cell, plan: Plan) -> "_Stage":
        fold, seed = cut(cell, plan), plan.seed_of(cell)
        sizes = [plan.sizes(guarantee) for guarantee in plan.guarantees]
        root = BetaRCE(
            paper_model(cell.family),
            space=cell.space,
            n_models=tuple(map(max, zip(*sizes, strict=True))),
            random_state=seed,
            verbose=-1,
            delta=plan.deltas[0],
            confidence=plan.confidences[0],
        ).fit(fold.X_train, fold.y_train)
        return cls(
            plan,
            seed,
            root,
            fold,
            Scene.of(root, fold.X_test[: plan.rows], None),
            root.fresh_members(plan.audit_members),
            float(np.mean(root.model_.predict(fold.X_test) == fold.y_test)),
        )

    @property
    def names(self) -> IntArray:
        """The numbers of the rows explained."""
        return self.fold.names[: self.plan.rows]

    def records(self) -> Iterator[Record]:
        """Let every method answer for every row."""
        arena = self._arena(self.root)
        for method in self.plan.methods:
            if not method.ours:
                for base in self.plan.bases if method.based else [None]:
                    yield from self._entry(arena, method, base, None)
        for base in self.plan.bases:
            for guarantee in self.plan.guarantees:
                ours = [method for method in self.plan.methods if method.ours]
                arena = self._arena(self._fitted(base, guarantee)) if ours else arena
                for method in ours:
                    yield from self._entry(arena, method, base, guarantee)

    def _arena(self, rce: BetaRCE) -> Arena:
        settings = {name: getattr(rce, name) for name in ("delta", "confidence", "random_state", "n_jobs")}
        return Arena(
            rce, self.fold.X_train, self.fold.y_train, settings, self.plan.tuning_rows, self.plan.tuning_members
        )

    def _fitted(self, base: str, guarantee: Guarantee) -> BetaRCE:
        """Give BetaRCE for one guarantee, on members that are trained already."""
        n_search, n_certify = self.plan.sizes(guarantee)
        certifying = self.root.certifying_members_
        assert certifying is not None
        return BetaRCE(
            self.root.model_,
            space=Given([*self.root.search_members_.models[:n_search], *certifying.models[:n_certify]]),
            base=base,
            n_models=(n_search, n_certify),
            features=self.root.features_,
            random_state=self.seed,
            verbose=-1,
            delta=guarantee.delta,
            confidence=guarantee.confidence,
        ).fit(self.fold.X_train, self.fold.y_train)

    def _entry(self, arena: Arena, method: Method, base: str | None, guarantee: Guarantee | None) -> list[Record]:
        """Run one method; a method that breaks down leaves a record for every row, and the others alone."""
        start = {} if base is None or method.ours else {"base": base}
        parameters: dict[str, Any] = dict(method.parameters)
        try:
            if method.grid:
                grid = {**method.full_grid, **{name: (value,) for name, value in start.items()}}
                parameters = arena.best(method.method, method.name, grid)
            answer = arena.run(method.method, method.name, {**parameters, **start}, self.scene)
            lines = self._lines(method.name, answer)
        except Exception as error:  # noqa: BLE001 - methods may fail in any way; their rows say how
            lines = [_blank(f"{type(error).__name__}: {error}") for _ in self.names]
        head = {
            "method": method.name,
            "base": base,
            "parameters": {name: value for name, value in parameters.items() if name != "base"},
            "delta": guarantee.delta if guarantee else None,
            "confidence": guarantee.confidence if guarantee else None,
        }
        return [{**head, "row": int(name), **line} for name, line in zip(self.names, lines, strict=True)]

    def _lines(self, name: str, answer: Answer) -> list[Record]:
        table = self.scene.measure(name, answer.explained, answer.seconds, self.audit, np.nan)
        lines = []
        for i, row in enumerate(table.to_dict("records")):
            item = answer.result[i] if answer.result is not None else None
            found = bool(row["found"])
            status = "found" if found else "not-found"
            if item is not None and found == (item.status == "certified"):
                status = item.status
            lines.append(
                {
                    "found": found,
                    "status": status,
                    "reason": row["reason"],
                    **{score: _number(row[score]) for score in _SCORES},
                    "evaluations": int(row["evaluations"]),
                    "ms": float(row["ms"]),
                    **_vote(item.certificate if item is not None else None),
                }
            )
        return lines


def _blank(reason: str) -> Record:
    scores = dict.fromkeys((*_SCORES, "evaluations", "ms"))
    return {"found": False, "status": "failed", "reason": reason, **scores, **_vote(None)}


def _vote(certificate: Certificate | None) -> Record:
    names = ("n_agree", "n_models", "lower_bound", "members")
    return {name: getattr(certificate, name) if certificate is not None else None for name in names}


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
