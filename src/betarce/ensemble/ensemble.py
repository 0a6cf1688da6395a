"""Many members answering as one."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from betarce.arrays import AnyArray, BoolArray, FloatArray, IntArray
from betarce.engines.threads import one_thread
from betarce.ensemble.families import Family, families
from betarce.ensemble.generic import GenericPart, label_codes
from betarce.ensemble.kernel import Kind
from betarce.ensemble.preprocessing.probe_points import Witness
from betarce.ensemble.preprocessing.unwrap import Peeled, peel, unwrap
from betarce.ensemble.stacked import StackedPart, turning_points
from betarce.ensemble.unreadable import Unreadable, reading
from betarce.errors import InvalidInput, SlowMembers
from betarce.features.readings import Readable

_CHUNK = 1 << 22  # floats that one step of an evaluation may hold: 32 MiB
_BLOCK = 8  # members asked between two looks at which points are still in the running


class Part(Protocol):
    """Some members of an ensemble that are evaluated together."""

    models: list[object]

    @property
    def kind(self) -> Kind:
        """What the members are."""

    @property
    def width(self) -> int:
        """How many floats are held at once for each point and member."""

    @property
    def has_slopes(self) -> bool:
        """Whether the margins have a gradient."""

    def labels(self, X: FloatArray, members: slice) -> IntArray:
        """Give the class codes, shape (n, m)."""

    def margins(self, X: FloatArray, wanted: BoolArray, members: slice) -> FloatArray:
        """Give the margins for the wanted classes, shape (n, m)."""

    def slopes(self, X: FloatArray, wanted: BoolArray, weights: FloatArray) -> FloatArray:
        """Give the gradient of the weighted sum of the margins, shape (n, d)."""


class Ensemble:
    """Fitted models that vote on points.

    Members of one family are evaluated together by a kernel, all others one by one; either way the answers are
    those of the members' own `predict`, to the label.

    Parameters
    ----------
    models : sequence of fitted classifiers
        The members.
    classes : array
        The labels, sorted.
    features : feature space, optional
        Says how the table that the models predict on is read off points of shape (n, d); by default a point is a row
        of the table.
    probe : array of shape (n, d), optional
        Points on which every kernel is checked once against its members; a kernel that fails is not used.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    >>> ensemble = Ensemble([LogisticRegression(C=c).fit(X, y) for c in (0.1, 1, 10)], classes=[0, 1])
    >>> ensemble.votes(np.array([[0.5], [2.5]]), target=1)
    array([0, 3])
    >>> ensemble.reaches(np.array([[0.5], [2.5]]), target=1, quorum=3)
    array([False,  True])
    """

    def __init__(
        self,
        models: Sequence[object],
        classes: object,
        *,
        features: Readable | None = None,
        probe: FloatArray | None = None,
    ) -> None:
        if len(models) == 0:
            raise InvalidInput("An ensemble must have at least one member; got none.")
        self.models = list(models)
        self.classes = np.asarray(classes)
        self._parts: list[tuple[IntArray, Part]] = []
        decode: Callable[[FloatArray], Any] = np.asarray if features is None else features.decode
        witness = None
        if features is not None:
            width = 1 + max(each.source for each in features.readings)
            witness = Witness(tuple(features.readings), decode, width, probe)
        peeled = [peel(model, witness or _plain(model, decode, probe)) for model in self.models]
        self._whys: list[str] = []
        for family in families(peeled, self.models, self.classes):
            part, why = self._part(family, peeled, decode, probe)
            self._parts.append((family.indices, part))
            self._whys.append(why)
        self._names = sorted({type(each.core).__name__ for each in peeled})
        if any(self._whys) and len(self) > 1:
            warnings.warn(_slow(self._whys), SlowMembers, stacklevel=2)

    def _part(
        self, family: Family, peeled: Sequence[Peeled], decode: Callable[[FloatArray], Any], probe: FloatArray | None
    ) -> tuple[Part, str]:
        """Give the part that answers for a family, and why it is not a kernel, if it is not."""
        members = [self.models[i] for i in family.indices]
        thresholds = [peeled[i].threshold for i in family.indices]
        why = family.why
        if family.kernel is not None:
            turns = turning_points(thresholds, [peeled[i].turn or 0.0 for i in family.indices])
            part = StackedPart(members, self.classes, decode, family.kernel, **turns)
            try:
                _check_faithful(part, probe, self.classes, decode, name=type(peeled[family.indices[0]].core).__name__)
            except Unreadable as reason:
                why = str(reason)
            else:
                return part, ""
        return GenericPart(members, self.classes, decode, thresholds), why

    def __len__(self) -> int:
        return len(self.models)

    @property
    def kind(self) -> Kind:
        """What the members are: "linear", "network" or "trees" if all of them are, else "other"."""
        kinds = {part.kind for _, part in self._parts}
        return kinds.pop() if len(kinds) == 1 else "other"

    def __repr__(self) -> str:
        return f"Ensemble({len(self)} x {' | '.join(self._names)}, classes={self.classes.tolist()}, {self.path})"

    @property
    def path(self) -> str:
        """How members are asked: "stacked", all at once, or "generic: ...", one by one, and why."""
        whys = list(dict.fromkeys(why for why in self._whys if why))
        if not whys:
            return "stacked"
        slow = sum(len(indices) for (indices, _), why in zip(self._parts, self._whys, strict=True) if why)
        some = "" if slow == len(self) else f"stacked, and {slow} members "
        return f"{some}generic: {'; '.join(whys)}"

    def labels(self, X: FloatArray) -> AnyArray:
        """Give each member's label at each point, shape (n, members)."""
        return np.asarray(self.classes[self._all_codes(X)])

    def margins(self, X: FloatArray, target: object) -> FloatArray:
        """Give each member's signed log-odds for the target, shape (n, members).

        Positive exactly where the target accepts the member's label; +1 or -1 for members that give labels only. Of
        several classes that a target accepts, or does not, the one with the best score counts.
        """
        wanted = self._wanted(target, len(X))
        margins = np.empty((len(X), len(self)))
        for indices, part in self._parts:
            for rows in _chunks(len(X), len(indices), part.width):
                flat = rows.ravel()
                margins[rows, indices] = part.margins(X[flat], wanted[flat], slice(None))
        return margins

    def agrees(self, X: FloatArray, target: object) -> BoolArray:
        """Say which members give each point a label that the target accepts, shape (n, members)."""
        wanted = self._wanted(target, len(X))
        return np.asarray(_accepted(wanted, np.arange(len(X)), self._all_codes(X)))

    def votes(self, X: FloatArray, target: object) -> IntArray:
        """Count the members that give each point a label which the target accepts, shape (n,)."""
        return np.asarray(self.agrees(X, target).sum(axis=1))

    def reaches(self, X: FloatArray, target: object, quorum: int) -> BoolArray:
        """Say at which points at least `quorum` members give a label which the target accepts, shape (n,).

        Members are asked in blocks, and a point is dropped as soon as its quorum is out of reach.
        """
        wanted = self._wanted(target, len(X))
        spare = np.full(len(X), len(self) - quorum)
        alive = np.flatnonzero(spare >= 0)
        for _, part in self._parts:
            for start in range(0, len(part.models), _BLOCK):
                block = slice(start, start + _BLOCK)
                for rows in _chunks(len(alive), _BLOCK, part.width):
                    points = alive[rows.ravel()]
                    agree = _accepted(wanted, points, part.labels(X[points], block))
                    spare[points] -= agree.shape[1] - agree.sum(axis=1)
                alive = alive[spare[alive] >= 0]
        reached = np.zeros(len(X), dtype=bool)
        reached[alive] = True
        return reached

    @property
    def has_slopes(self) -> bool:
        """Whether the margins of all members have a gradient."""
        return all(part.has_slopes for _, part in self._parts)

    def slopes(self, X: FloatArray, target: object, weights: FloatArray) -> FloatArray:
        """Give the gradient of a weighted sum of the margins, shape (n, d).

        Parameters
        ----------
        X : array of shape (n, d)
        target : label, array of labels, or mask of classes
        weights : array of shape (n, members)
        """
        wanted = self._wanted(target, len(X))
        slopes = np.zeros(X.shape)
        for indices, part in self._parts:
            for rows in _chunks(len(X), len(indices), part.width):
                flat = rows.ravel()
                slopes[flat] += part.slopes(X[flat], wanted[flat], weights[rows, indices])
        return slopes

    def _all_codes(self, X: FloatArray) -> IntArray:
        codes = np.empty((len(X), len(self)), dtype=np.intp)
        for indices, part in self._parts:
            for rows in _chunks(len(X), len(indices), part.width):
                codes[rows, indices] = part.labels(X[rows.ravel()], slice(None))
        return codes

    def _wanted(self, target: object, n: int) -> BoolArray:
        """Say which classes each of n rows accepts, shape (n, classes)."""
        asked = np.asarray(target)
        if asked.ndim == 2 and asked.dtype == bool:
            if asked.shape != (n, len(self.classes)):
                raise InvalidInput(
                    f"`target` must be a label, one label a row, or a mask of shape ({n}, {len(self.classes)}); "
                    f"got a mask of shape {asked.shape}."
                )
            return asked
        labels = np.broadcast_to(asked, (n,))
        codes = np.searchsorted(self.classes, labels).clip(max=len(self.classes) - 1)
        unknown = self.classes[codes] != labels
        if unknown.any():
            raise InvalidInput(
                f"`target` must be one of the classes {self.classes.tolist()}; got {labels[unknown][0]!r}."
            )
        return np.asarray(codes[:, None] == np.arange(len(self.classes)))


def _accepted(wanted: BoolArray, rows: IntArray, codes: IntArray) -> BoolArray:
    """Look codes of shape (rows, members) up in the masks of these rows."""
    # One flat look-up: pairs of indices take three times as long.
    return np.asarray(wanted.ravel().take(rows[:, None] * wanted.shape[1] + codes))


def _plain(model: object, decode: Callable[[FloatArray], Any], probe: FloatArray | None) -> Witness:
    """Take points for rows of the table that a model was trained on."""
    try:
        with reading(model):
            core, steps, _ = unwrap(model)
    except Unreadable:
        core, steps = model, []
    known = [step for step in [*steps, core] if hasattr(step, "n_features_in_")]
    width = int(known[0].n_features_in_) if known else 0
    return Witness.of_numbers(width, decode, probe if probe is not None and probe.shape[1] == width else None)


def _check_faithful(
    part: StackedPart, probe: FloatArray | None, classes: AnyArray, decode: Callable[[FloatArray], Any], *, name: str
) -> None:
    """Check a kernel against its members once: libraries change how they store their models."""
    if probe is None:
        return
    table = decode(probe)
    # One thread: some members start their threads anew for every tree, which costs more than so few rows take.
    with one_thread():
        own = np.stack([label_codes(model, table, classes) for model in part.models], axis=1)
    with reading(part.models[0]):
        labels = part.labels(probe, slice(None))
    if not np.array_equal(labels, own):
        raise Unreadable(f"what was read of {name} gives other labels than its own `predict`")


def _slow(whys: Sequence[str]) -> str:
    reasons = "; ".join(dict.fromkeys(why for why in whys if why))
    return (
        f"Members are asked one by one, which gives the same answers many times more slowly. The reason: {reasons}. "
        "Fast are linear models, networks, trees and boosted trees of the known libraries, pipelines of the usual "
        "transformers before them, and calibrated, voting and stacking models made of them."
    )


def _chunks(n: int, members: int, width: int) -> Iterator[IntArray]:
    """Cut rows so that a chunk stays within `_CHUNK` floats; column vectors, to be paired with members."""
    size = max(1, _CHUNK // (members * width))
    for start in range(0, n, size):
        yield np.arange(start, min(n, start + size))[:, None]
