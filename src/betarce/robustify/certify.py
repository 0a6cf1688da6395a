"""Votes on points: who may vote, and what the vote says."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
import pandas as pd

from betarce.arrays import AnyArray, BoolArray, FloatArray, IntArray
from betarce.ensemble import Ensemble
from betarce.members import Members
from betarce.posterior import Certificate, Guarantee
from betarce.posterior.certificate_fields import fingerprint
from betarce.search import Ladders
from betarce.targets import named, plain

_STRIDE = 64  # rungs that are put to the vote at a time: the ladders of a frontier search have fewer


def certify_points(points: FloatArray, targets: BoolArray, members: Members, guarantee: Guarantee) -> list[Certificate]:
    """Let those that decide vote once on each point.

    Parameters
    ----------
    points : array of shape (n, d)
    targets : array of bool, shape (n, classes)
        The classes that each point may have.
    members : Members
        Among them the voters.
    guarantee : Guarantee
        What the vote is about.
    """
    certificate = certificates_by(members, guarantee)
    votes = members.voters.votes(points, targets)
    return [
        certificate(point, target, int(n_agree)) for point, target, n_agree in zip(points, targets, votes, strict=True)
    ]


def certificate_of(
    point: FloatArray,
    target: Any,
    n_agree: int,
    n_models: int,
    guarantee: Guarantee,
    *,
    steered: bool,
    space: str,
    varied: bool,
) -> Certificate:
    """Put on record how a vote on one point went, and who voted."""
    return guarantee.certify(
        n_agree,
        n_models,
        members="search" if steered else "fresh",
        target=plain(target),
        space=space,
        point=fingerprint(point),
        varied=varied,
    )


def certificates_by(members: Members, guarantee: Guarantee) -> Callable[[FloatArray, BoolArray, int], Certificate]:
    """Give what puts on record how those that decide voted on a point: (point, target, n_agree) -> certificate."""

    def certificate(point: FloatArray, target: BoolArray, n_agree: int) -> Certificate:
        return certificate_of(
            point,
            named(target, members.voters.classes),
            n_agree,
            len(members.voters),
            guarantee,
            steered=members.steered,
            space=repr(members.space),
            varied=members.varied,
        )

    return certificate


@dataclass(frozen=True, eq=False)
class Walk:
    """How far down its ladder one row got.

    Attributes
    ----------
    agree : array of bool, shape (rungs, members)
        Who agreed at each rung of the row that was asked about, safest first.
    passed : int
        Rungs passed before the first miss; 0 if the safest one missed already.
    """

    agree: BoolArray
    passed: int

    @property
    def votes(self) -> IntArray:
        """Agreeing members at each rung."""
        return np.asarray(self.agree.sum(axis=1))


def walk_ladders(
    ladders: Ladders, targets: AnyArray, members: Ensemble, guarantee: Guarantee, *, least: int | None = None
) -> list[Walk]:
    """Walk each ladder from its safest rung and stop at the first that misses the quorum.

    With `least`, a lower quorum, the members are asked on until a rung misses that one too, so that the walks of lower
    deltas are on record; what is passed stays the same.

    Fixed-sequence testing: the order of the rungs was fixed without looking at these members, and the walk stops at
    the first miss, so the chance of passing a point that is not delta-robust stays at most 1 - confidence, however
    many rungs there are (Angelopoulos et al., *Learn then test*). Walking again after a miss would break that.
    """
    quorum = guarantee.quorum(len(members))
    enough = quorum if least is None else min(quorum, least)
    rungs = [ladder[there] for ladder, there in zip(ladders.points, ladders.exists, strict=True)]
    agree = [np.zeros((0, len(members)), dtype=bool) for _ in rungs]
    walking = [i for i, ladder in enumerate(rungs) if len(ladder)]
    while walking:
        steps = [rungs[i][len(agree[i]) : len(agree[i]) + _STRIDE] for i in walking]
        owners = np.repeat(walking, [len(part) for part in steps])
        ends = np.cumsum([len(part) for part in steps])[:-1]
        votes = np.split(members.agrees(np.concatenate(steps), targets[owners]), ends)
        for i, part in zip(walking, votes, strict=True):
            agree[i] = np.concatenate([agree[i], part])
        # Who has missed, or has no rung left, stops here. Votes on rungs below a miss count for nothing.
        walking = [
            i
            for i, part in zip(walking, votes, strict=True)
            if (part.sum(axis=1) >= enough).all() and len(agree[i]) < len(rungs[i])
        ]
    return [Walk(part, rungs_passed(part.sum(axis=1), quorum)) for part in agree]


def rungs_passed(votes: IntArray, quorum: int) -> int:
    """Count the rungs before the first miss.

    Examples
    --------
    >>> rungs_passed(np.array([38, 37, 36, 38]), quorum=37)
    2
    """
    misses = np.flatnonzero(votes < quorum)
    return int(misses[0]) if misses.size else len(votes)


@dataclass(frozen=True)
class Verdict:
    """What the members say about one point that came from elsewhere.

    Attributes
    ----------
    certificate : Certificate
        The vote.
    model_agrees : bool
        Whether the explained model itself gives the point its target class.
    """

    certificate: Certificate
    model_agrees: bool

    @property
    def certified(self) -> bool:
        """Whether the point is a counterfactual now and is certified to stay one."""
        return self.model_agrees and self.certificate.certified

    def __str__(self) -> str:
        if self.model_agrees:
            return str(self.certificate)
        return (
            f"not a counterfactual: the model itself does not answer {self.certificate.target!r} ({self.certificate})"
        )


class Verdicts(Sequence[Verdict]):
    """Verdicts on a batch of points, in their order.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.linear_model import LogisticRegression
    >>> from betarce import BetaRCE
    >>> X, y = make_moons(80, noise=0.2, random_state=0)
    >>> rce = BetaRCE(LogisticRegression(), delta=0.8, confidence=0.9, n_models=(6, 18), random_state=0).fit(X, y)
    >>> verdicts = rce.certify(X[y == 1][:4], target=1)
    >>> list(verdicts.to_frame()["n_models"])
    [18, 18, 18, 18]
    """

    def __init__(self, items: Sequence[Verdict], row_names: "pd.Index[Any]") -> None:
        self._items = list(items)
        self.row_names = row_names

    @overload
    def __getitem__(self, i: int) -> Verdict: ...

    @overload
    def __getitem__(self, i: slice) -> "Verdicts": ...

    def __getitem__(self, i: int | slice) -> "Verdict | Verdicts":
        return Verdicts(self._items[i], self.row_names[i]) if isinstance(i, slice) else self._items[i]

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Verdict]:
        return iter(self._items)

    def __repr__(self) -> str:
        passed = sum(verdict.certified for verdict in self)
        return f"Verdicts({len(self)} points: {passed} certified, {len(self) - passed} not)"

    def to_frame(self) -> pd.DataFrame:
        """Put the verdicts in a table, one line per point."""
        return pd.DataFrame(
            [
                {
                    "certified": verdict.certified,
                    "model_agrees": verdict.model_agrees,
                    "lower_bound": verdict.certificate.lower_bound,
                    "n_agree": verdict.certificate.n_agree,
                    "n_models": verdict.certificate.n_models,
                }
                for verdict in self
            ],
            index=self.row_names,
        )
