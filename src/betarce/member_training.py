"""Train planned members in parallel, each from its own name."""

import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from joblib import delayed, effective_n_jobs

from betarce.engines.processes import parallel
from betarce.errors import MemberFailed, MemberWarning
from betarce.models.recipe import Outcome, Retraining, Table
from betarce.progress import progress, say
from betarce.spaces import Job, Trainer


class MemberStore(Protocol):
    """Where models are stored as they are trained, so that work that was stopped can go on."""

    def read(self, name: str) -> Outcome | None:
        """Give what became of a model; None if it is not stored yet."""

    def write(self, name: str, outcome: Outcome) -> None:
        """Store what became of a model."""


def train_members(
    jobs: Sequence[Job],
    table: Table,
    *,
    n_jobs: int | None,
    verbose: int,
    announce: Callable[[float], str] | None = None,
    store: MemberStore | None = None,
) -> dict[str, Outcome]:
    """Train what was planned, each member by its own seed; give what became of each, by name.

    Parameters
    ----------
    jobs : sequence of Job
    table : Table
        The original training rows.
    n_jobs, verbose, announce, store :
        As in `betarce.members.draw_members`.
    """
    by_trainer: dict[Trainer, list[Retraining]] = defaultdict(list)
    for job in jobs:
        by_trainer[job.trainer].append(job.retraining)
    batches = [(trainer, batch) for trainer, work in by_trainer.items() for batch in trainer.batches(work)]
    outcomes, batches = _stored(batches, store)

    def take(batch: Sequence[Retraining], trained: Sequence[Outcome]) -> None:
        for retraining, outcome in zip(batch, trained, strict=True):
            outcomes[retraining.name] = outcome
            if store is not None and outcome.model is not None:
                store.write(retraining.name, outcome)

    if announce is not None and verbose >= 0 and batches:
        left = len(jobs) - len(outcomes)
        trainer, batch = batches.pop(0)
        started = time.perf_counter()
        first = trainer.train(table, batch)
        seconds = (time.perf_counter() - started) * left / len(batch) / min(effective_n_jobs(n_jobs), left)
        take(batch, first)
        say(announce(seconds), verbose=verbose)
    workers = parallel(n_jobs, return_as="generator")
    with progress("Training members", total=len(jobs), verbose=verbose) as advance:
        advance(len(outcomes))
        results = workers(delayed(trainer.train)(table, batch) for trainer, batch in batches)
        for (_, batch), trained in zip(batches, results, strict=True):
            take(batch, trained)
            advance(len(batch))
    return outcomes


_Batch = tuple[Trainer, list[Retraining]]


def _stored(batches: list[_Batch], store: MemberStore | None) -> tuple[dict[str, Outcome], list[_Batch]]:
    """Give what is stored already, and the batches that are left; one that is not stored whole is trained whole."""
    outcomes: dict[str, Outcome] = {}
    left = []
    for trainer, batch in batches:
        found = {} if store is None else {retraining.name: store.read(retraining.name) for retraining in batch}
        known = {name: outcome for name, outcome in found.items() if outcome is not None}
        if len(known) == len(batch):
            outcomes.update(known)
        else:
            left.append((trainer, batch))
    return outcomes, left


def report_failures(jobs: Sequence[Job], outcomes: Mapping[str, Outcome]) -> None:
    """Raise MemberFailed if some members could not be trained."""
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


def report_warnings(jobs: Sequence[Job], outcomes: Mapping[str, Outcome]) -> None:
    """Warn once if some members were trained with warnings."""
    warned = [job.retraining for job in jobs if outcomes[job.retraining.name].warning]
    if warned:
        warnings.warn(
            f"{len(warned)} of {len(jobs)} members were trained with warnings. The first, of {warned[0].name} "
            f"(seed {warned[0].seed}): {outcomes[warned[0].name].warning}",
            MemberWarning,
            stacklevel=4,
        )
