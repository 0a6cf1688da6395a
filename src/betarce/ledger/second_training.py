"""The members again: trained once more from the data and the seeds of a run, and compared with those that voted."""

from collections.abc import Sequence

import numpy as np

from betarce.ensemble import Ensemble
from betarce.member_training import train_members
from betarce.members import Draw, Role
from betarce.models.files.stored_form import store_model
from betarce.models.recipe import Outcome, Recipe, Table
from betarce.robustify import BetaRCE
from betarce.robustify.model import explained_model
from betarce.runs.identity import digests_of, identity
from betarce.runs.training_data import table_digest
from betarce.seeding import derive
from betarce.spaces import Given

_SHOWN = 5


def train_again(run: BetaRCE, *, data: Table | None = None, n_jobs: int | None = None) -> tuple[list[str], list[str]]:
    """Train the model and the members of a run again, and compare them bit for bit.

    Parameters
    ----------
    run : BetaRCE
        Fitted or loaded.
    data : Table, optional
        The training table from its own source, which is compared with that of the run.
    n_jobs : int, optional
        Workers; those of the run by default.

    Returns
    -------
    problems : list of str
        What came out otherwise.
    notes : list of str
        What could not be trained again.
    """
    problems: list[str] = []
    notes: list[str] = []
    if data is not None:
        problems += _other_data(run, data)
        if problems:
            return problems, notes
    if run.model is run.model_:
        notes.append("the model was trained before it came to betarce, so it is not trained again")
    else:
        again = explained_model(run.model, run.subject_.table, derive(run.seed_, "model"))
        if store_model(again).digest != identity(run).model:
            problems.append("the model, trained again, is another one")
    if isinstance(run.members_.space, Given):
        return problems, [*notes, "the members were given as they are, so they are not trained again"]
    workers = run.n_jobs if n_jobs is None else n_jobs
    for role, ensemble in run.members_.ensembles.items():
        if role != "audit":
            problems += _others(run, role, ensemble, workers)
    return problems, notes


def _other_data(run: BetaRCE, data: Table) -> list[str]:
    subject = run.subject_
    points = subject.features.encode(data.X)
    if table_digest(data, points) == identity(run).data:
        return []
    if points.shape != subject.points.shape:
        return [f"the training table has {len(points):,} rows, that of the run {len(subject.points):,}"]
    labels = np.asarray(data.y) != np.asarray(subject.table.y)
    rows = subject.features.differs(points, subject.points).any(axis=1) | labels
    if not rows.any():
        return []  # the same values, held in another way
    return [f"{int(rows.sum()):,} rows of the training table differ from those of the run, first row {rows.argmax()}"]


def _others(run: BetaRCE, role: Role, ensemble: Ensemble, n_jobs: int | None) -> list[str]:
    members = run.members_
    draw = members.draw_of(role)
    planted = [origin.name for origin in draw.origins if origin.seed != _seed_of(origin.name, members.seed)]
    if planted:
        return [f"the {role} members {_listed(planted)} have seeds that do not follow from that of the run"]
    outcomes = _trained(run, draw, n_jobs)
    stored = digests_of(ensemble)
    others = [
        origin.name
        for origin, digest in zip(draw.origins, stored, strict=True)
        if (model := outcomes[origin.name].model) is None or store_model(model).digest != digest
    ]
    if not others:
        return []
    return [f"{len(others)} of {len(stored)} {role} members, trained again, are others: {_listed(others)}"]


def _trained(run: BetaRCE, draw: Draw, n_jobs: int | None) -> dict[str, Outcome]:
    recipe, table = Recipe(run.model_), run.subject_.table
    jobs = [run.members_.space.plan(recipe, table, each.name, each.seed or 0) for each in draw.origins]
    return train_members(jobs, table, n_jobs=n_jobs, verbose=run.verbose)


def _seed_of(name: str, seed: int) -> int | None:
    """Derive the seed of a member from its name, such as "certify/17"."""
    role, _, number = name.rpartition("/")
    return derive(seed, role, int(number)) if number.isdecimal() else None


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:_SHOWN]) + ", ..." * (len(names) > _SHOWN)
