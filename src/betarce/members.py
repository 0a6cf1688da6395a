"""Members drawn from a space: trained in parallel, each from its own name, with an eye on what looks odd."""

import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from joblib import delayed, effective_n_jobs

from betarce.arrays import FloatArray
from betarce.engines.processes import parallel
from betarce.ensemble import Ensemble
from betarce.errors import ConstantMembers, DegenerateSpace, MemberFailed, MemberWarning
from betarce.models.recipe import Outcome, Recipe, Retraining, Table
from betarce.progress import progress, say
from betarce.seeding import derive
from betarce.spaces import Given, Job, Seed, Space, Trainer

_ODD_ROWS = 2000


@dataclass(frozen=True, eq=False)
class Draw:
    """The models drawn for one role.

    Attributes
    ----------
    models : list
        Fitted, in the order of their names.
    redrawn : int
        Bootstrap samples that lost a class and were drawn again.
    """

    models: list[object]
    redrawn: int = 0


def draw_members(
    space: Space,
    recipe: Recipe,
    table: Table,
    sizes: Mapping[str, int],
    *,
    seed: int,
    n_jobs: int | None = None,
    verbose: int = 0,
    announce: Callable[[float], str] | None = None,
) -> dict[str, Draw]:
    """Draw and train members for one or more roles.

    Every member depends on its name, which holds its role and number, and on nothing else: neither on `n_jobs` nor
    on how many others are drawn. So members of different roles are never the same.

    Parameters
    ----------
    space : space
        What may happen.
    recipe : Recipe
        How a model is trained.
    table : Table
        The original training rows.
    sizes : mapping of str to int
        How many members each role gets.
    seed : int
        The seed of the whole computation.
    n_jobs : int or None
        Workers, as in joblib.
    verbose : int
        See `betarce.progress`.
    announce : callable, optional
        Given the seconds that all members will take, as far as the first ones tell, it returns what to say before the
        others are trained.

    Returns
    -------
    dict of str to Draw

    Raises
    ------
    MemberFailed
        If some could not be trained; the others are in its `.members`.
    """
    if isinstance(space, Given):
        return {role: Draw(models) for role, models in space.deal(sizes, seed).items()}
    jobs = {
        role: [space.plan(recipe, table, f"{role}/{i}", derive(seed, role, i)) for i in range(n)]
        for role, n in sizes.items()
    }
    everything = [job for role in jobs.values() for job in role]
    outcomes = _train(everything, table, n_jobs=n_jobs, verbose=verbose, announce=announce)
    _report_failures(everything, outcomes)
    _report_warnings(everything, outcomes)
    return {
        role: Draw([outcomes[job.retraining.name].model for job in planned], sum(job.redrawn for job in planned))
        for role, planned in jobs.items()
    }


def _train(
    jobs: Sequence[Job],
    table: Table,
    *,
    n_jobs: int | None,
    verbose: int,
    announce: Callable[[float], str] | None = None,
) -> dict[str, Outcome]:
    by_trainer: dict[Trainer, list[Retraining]] = defaultdict(list)
    for job in jobs:
        by_trainer[job.trainer].append(job.retraining)
    batches = [(trainer, batch) for trainer, work in by_trainer.items() for batch in trainer.batches(work)]
    outcomes: dict[str, Outcome] = {}
    if announce is not None and verbose >= 0:
        trainer, batch = batches.pop(0)
        started = time.perf_counter()
        first = trainer.train(table, batch)
        seconds = (time.perf_counter() - started) * len(jobs) / len(batch) / min(effective_n_jobs(n_jobs), len(jobs))
        outcomes.update((retraining.name, outcome) for retraining, outcome in zip(batch, first, strict=True))
        say(announce(seconds), verbose=verbose)
    workers = parallel(n_jobs, return_as="generator")
    with progress("Training members", total=len(jobs), verbose=verbose) as advance:
        advance(len(outcomes))
        results = workers(delayed(trainer.train)(table, batch) for trainer, batch in batches)
        for (_, batch), trained in zip(batches, results, strict=True):
            outcomes.update((retraining.name, outcome) for retraining, outcome in zip(batch, trained, strict=True))
            advance(len(batch))
    return outcomes


def _report_failures(jobs: Sequence[Job], outcomes: Mapping[str, Outcome]) -> None:
    failed = [job.retraining for job in jobs if outcomes[job.retraining.name].model is None]
    if not failed:
        return
    first = failed[0]
    seeds = [retraining.seed for retraining in failed]
    shown = ", ".join(f"{retraining.name} (seed {retraining.seed})" for retraining in failed[:5])
    raise MemberFailed(
        f"{len(failed)} of {len(jobs)} members could not be trained: {shown}{', ...' * (len(failed) > 5)}. "
        f"The first said: {outcomes[first.name].error}. The {len(jobs) - len(failed)} others are in `error.members`; "
        "to go on with them alone pass space=betarce.Given(error.members).",
        members=[outcome.model for outcome in outcomes.values() if outcome.model is not None],
        seeds=seeds,
    )


def _report_warnings(jobs: Sequence[Job], outcomes: Mapping[str, Outcome]) -> None:
    warned = [job.retraining for job in jobs if outcomes[job.retraining.name].warning]
    if warned:
        warnings.warn(
            f"{len(warned)} of {len(jobs)} members were trained with warnings. The first, of {warned[0].name} "
            f"(seed {warned[0].seed}): {outcomes[warned[0].name].warning}",
            MemberWarning,
            stacklevel=4,
        )


def warn_of_odd_members(roles: Sequence[Ensemble], points: FloatArray, space: object, estimator: object) -> bool:
    """Say so if all members are the same model, or if some answer one class everywhere.

    Returns
    -------
    bool
        Whether the members differ from each other at all, as far as more than one can.

    Parameters
    ----------
    roles : sequence of Ensemble
        The members drawn, for each role.
    points : array of shape (n, d)
        Training rows; the first 2,000 are looked at.
    space, estimator : object
        What they were drawn from, for the message.
    """
    n = sum(map(len, roles))
    if n < 2:
        return True
    points = points[:_ODD_ROWS]
    margins = np.hstack([members.margins(points, members.classes[1]) for members in roles])
    # Equal members may differ in the last bit: a matrix product rounds its last few columns in another way.
    scale = np.abs(margins[np.isfinite(margins)]).max(initial=0.0)
    if np.isclose(margins, margins[:, :1], rtol=1e-10, atol=1e-10 * scale).all():
        warnings.warn(_why_degenerate(n, space, estimator), DegenerateSpace, stacklevel=3)
        return False
    labels = np.hstack([members.labels(points) for members in roles])
    constant = (labels == labels[:1]).all(axis=0)
    if constant.any():
        shown = ", ".join(f"{label!r}" for label in np.unique(labels[0, constant]).tolist())
        warnings.warn(
            f"{int(constant.sum())} of {n} members answer one class ({shown}) for every training row. "
            "They are part of the declared space and vote like all others, so some targets may be out of reach. "
            "Train longer, or declare a space without them.",
            ConstantMembers,
            stacklevel=3,
        )
    return True


def _why_degenerate(n: int, space: object, estimator: object) -> str:
    name = type(estimator).__name__
    if isinstance(space, Seed):
        why = f"training {name} uses no randomness, so another seed changes nothing"
        if name == "LGBMClassifier":
            why += " (LightGBM samples rows only with subsample < 1 and subsample_freq >= 1)"
    else:
        why = f"the changes that {space!r} declares do not reach {name}"
    return (
        f"All {n} members are the same model: {why}. A certificate from them would say nothing about retraining. "
        "Use betarce.Bootstrap(), or wrap the model in betarce.models.ValidationSplit."
    )
