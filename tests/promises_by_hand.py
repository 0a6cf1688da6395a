"""Certified answers made by hand, ready to be recorded in a ledger."""

from datetime import UTC, datetime, timedelta

from answers_by_hand import FEATURES, GUARANTEE, answer, failure, point
from betarce.results.result import Result
from betarce.robustify.certify import fingerprint

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
BASE = point()
INCOME = next(j for j, column in enumerate(FEATURES.columns) if column.name == "income")
SPACE = "Bootstrap(stratified=False)"


def promised(name, *, income=50_000.0, n_agree=37, n_models=38, target="approved"):
    """Make a certified answer whose certificate says what `explain` writes."""
    robust = BASE.copy()
    robust[INCOME] = income
    vote = GUARANTEE.certify(n_agree, n_models, target=target, space=SPACE, point=fingerprint(robust))
    return answer(
        robust, robust, original=BASE, name=name, certificate=vote, target=target, n_agree=n_agree, n_models=n_models
    )


def promises(n=3, *, start=0, **fields):
    """Make a result of n certified rows, and one that failed."""
    rows = [promised(start + i, income=40_000.0 + 10 * (start + i), **fields) for i in range(n)]
    return Result([*rows, failure(name=start + n)], FEATURES)


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self, at=NOON):
        self.at = at

    def __call__(self):
        return self.at

    def advance(self, **span):
        self.at += timedelta(**span)
