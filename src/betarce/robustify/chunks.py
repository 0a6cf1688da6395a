"""Answer any number of rows, chunk by chunk, on one or more cores."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import fields, replace
from typing import Any

from joblib import effective_n_jobs

from betarce.engines.engine import engine
from betarce.engines.threads import one_thread
from betarce.engines.workers import GIVEN_UP, Compute
from betarce.errors import InvalidInput
from betarce.features import FeatureSpace
from betarce.members import Members
from betarce.progress import progress
from betarce.results.counterfactual import RobustCounterfactual
from betarce.robustify.answering import Answering
from betarce.robustify.asked import Asked, Chunk
from betarce.robustify.rows import Rows, own_rules
from betarce.robustify.statuses import unreadable

Parcel = list[dict[str, Any]]
"""The answers of a chunk without the columns, which all of them share."""


def explained(
    answering: Answering, members: Members, rows: Rows, *, n_jobs: int | None, verbose: int
) -> list[RobustCounterfactual]:
    """Give every row its answer, whether it can be read or not."""
    answers: Iterator[RobustCounterfactual] = iter(())
    if rows.kept.size:
        asked = answering.asked(rows)
        answers = iter(answer_all(answering, members, asked, n_jobs=n_jobs, verbose=verbose))
    features = answering.problem.features
    return [
        unreadable(name, rows.unreadable[i], features) if i in rows.unreadable else next(answers)
        for i, name in enumerate(rows.names)
    ]


def timed(items: Sequence[RobustCounterfactual], rows: Rows, seconds: float) -> list[RobustCounterfactual]:
    """Give each answer its share of the time that all took, and the rules that held for its row alone."""
    own = own_rules(rows.overrides, len(items))
    share = seconds / len(items)
    return [replace(item, runtime_s=share, overrides=rules) for item, rules in zip(items, own, strict=True)]


def answer_all(
    answering: Answering, members: Members, asked: Asked, *, n_jobs: int | None, verbose: int
) -> list[RobustCounterfactual]:
    """Answer all rows, in their order; neither `n_jobs` nor the chunks change an answer.

    Parameters
    ----------
    answering : Answering
    members : Members
        Among them those that decide.
    asked : Asked
    n_jobs : int or None
        Workers, as in joblib. The members travel to each of them once.
    verbose : int
        See `betarce.progress`. Rows of a single chunk take no bar and no workers.
    """
    chunks = list(asked.chunks())
    if len(chunks) == 1:
        return _alone(asked, answering, members)
    with progress("Explaining rows", total=len(asked), verbose=verbose) as advance:
        if effective_n_jobs(n_jobs) == 1:
            parts = _here(chunks, answering, members)
        else:
            parts = _on_workers(chunks, answering, members, n_jobs)
        answers: dict[int, list[RobustCounterfactual]] = {}
        for number, items in parts:
            answers[number] = items
            advance(len(items))
    return [item for number in sorted(answers) for item in answers[number]]


_Answers = Iterator[tuple[int, list[RobustCounterfactual]]]


def _here(chunks: Iterable[Chunk], answering: Answering, members: Members) -> _Answers:
    for chunk in chunks:
        yield chunk.number, _alone(chunk.asked, answering, members)


def _alone(asked: Asked, answering: Answering, members: Members) -> list[RobustCounterfactual]:
    """Answer rows on one thread: they ask for many small products, which more threads make slower."""
    with one_thread():
        return answering.answers(asked, members)


def _on_workers(chunks: Sequence[Chunk], answering: Answering, members: Members, n_jobs: int | None) -> _Answers:
    with engine(n_jobs=min(effective_n_jobs(n_jobs), len(chunks)), shared=(answering, members)) as compute:
        for chunk, parcel in computed(compute, chunks, lambda chunk: answered(chunk, (answering, members))):
            yield chunk.number, unpacked(parcel, answering.problem.features)


def computed(
    compute: Compute, chunks: Sequence[Chunk], here: Callable[[Chunk], Parcel]
) -> Iterator[tuple[Chunk, Parcel]]:
    """Let workers answer chunks, as they complete.

    A chunk whose answer failed on its worker is answered `here`, so that the error, if it is one of the model or of the
    rows, is raised as it is.
    """
    with closing(compute(answered, chunks)) as outcomes:
        for outcome in outcomes:
            if outcome.error == GIVEN_UP:
                raise InvalidInput(
                    f"Rows could not be answered on workers. {outcome.error} Set `n_jobs=1`, or fewer workers."
                )
            yield outcome.item, here(outcome.item) if outcome.error else outcome.value


def answered(chunk: Chunk, shared: tuple[Answering, Members]) -> Parcel:
    """Answer a chunk on a worker."""
    return packed(_alone(chunk.asked, *shared))


def packed(items: Iterable[RobustCounterfactual]) -> Parcel:
    """Leave the columns out."""
    names = [field.name for field in fields(RobustCounterfactual) if field.name != "features"]
    return [{name: getattr(item, name) for name in names} for item in items]


def unpacked(parcel: Parcel, features: FeatureSpace) -> list[RobustCounterfactual]:
    """Put the columns back."""
    return [RobustCounterfactual(**item, features=features) for item in parcel]
