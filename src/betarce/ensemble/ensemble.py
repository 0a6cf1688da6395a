"""Evaluate many fitted models as one ensemble."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from betarce.arrays import AnyArray, BoolArray, FloatArray, IntArray
from betarce.engines.threads import one_thread
from betarce.ensemble.families import Family, families
from betarce.ensemble.generic import GenericGroup, label_codes
from betarce.ensemble.kernel import Kind
from betarce.ensemble.packed_models import PackedModels
from betarce.ensemble.preprocessing.probe_points import ProbePoints
from betarce.ensemble.preprocessing.unwrap import UnwrappedModel, strip_wrappers, unwrap
from betarce.ensemble.stacked import StackedGroup, threshold_arrays
from betarce.ensemble.trees.kernel import TreeKernel
from betarce.ensemble.unreadable import Unreadable, reading
from betarce.errors import InvalidInput, SlowMembers
from betarce.features.readings import Readable

CHUNK = 1 << 22  # floats that one chunk of an evaluation may hold: 32 MiB
BLOCK = 8  # members asked between two looks at which points are still in the running


class KnownKernel(NamedTuple):
    """A kernel that was made before, and the class codes of its members at the probe, shape (n, members)."""

    kernel: TreeKernel
    answers: IntArray


class Group(Protocol):
    """Members of an ensemble that are evaluated together."""

    models: Sequence[object]

    @property
    def kind(self) -> Kind:
        """The kind of the members."""

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
    known : KnownKernel, optional
        The kernel of all members, and what they are known to answer at the probe, for instance from a file; if the two
        do not agree, the members are read anew.

    Attributes
    ----------
    models : sequence of fitted classifiers
    classes : array
    groups : list of (array of int, Group)
        The members that are evaluated together: their places, and what evaluates them.

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
        known: "KnownKernel | None" = None,
    ) -> None:
        if len(models) == 0:
            raise InvalidInput("An ensemble must have at least one member; got none.")
        self.models: Sequence[object] = list(models)
        self.classes = np.asarray(classes)
        self.groups: list[tuple[IntArray, Group]] = []
        self._reasons: list[str] = []
        decode: Callable[[FloatArray], Any] = np.asarray if features is None else features.decode
        if known is not None and probe is not None:
            stacked = StackedGroup(self.models, self.classes, decode, known.kernel)
            if np.array_equal(stacked.labels(probe, slice(None)), known.answers):
                self.groups, self._reasons = [(np.arange(len(self)), stacked)], [""]
                self._names = [type(strip_wrappers(self.models[0])[0]).__name__]
                return
        probes = None
        if features is not None:
            width = 1 + max(each.source for each in features.readings)
            probes = ProbePoints(tuple(features.readings), decode, width, probe)
        unwrapped = [unwrap(model, probes or _numeric_probes(model, decode, probe)) for model in self.models]
        for family in families(unwrapped, self.models, self.classes):
            group, reason = self._group(family, unwrapped, decode, probe)
            self.groups.append((family.indices, group))
            self._reasons.append(reason)
        self._names = sorted({type(each.estimator).__name__ for each in unwrapped})
        if any(self._reasons) and len(self) > 1:
            warnings.warn(_slow(self._reasons), SlowMembers, stacklevel=2)

    def _group(
        self,
        family: Family,
        unwrapped: Sequence[UnwrappedModel],
        decode: Callable[[FloatArray], Any],
        probe: FloatArray | None,
    ) -> tuple[Group, str]:
        """Give the group that evaluates a family, and the reason if it has no kernel."""
        models = [self.models[i] for i in family.indices]
        members = [unwrapped[i] for i in family.indices]
        thresholds = [member.threshold for member in members]
        reason = family.reason
        if family.kernel is not None:
            arrays = threshold_arrays(thresholds, [member.score_threshold or 0.0 for member in members])
            group = StackedGroup(models, self.classes, decode, family.kernel, **arrays)
            try:
                _check_faithful(group, probe, self.classes, decode, name=type(members[0].estimator).__name__)
            except Unreadable as error:
                reason = str(error)
            else:
                return group, ""
        return GenericGroup(models, self.classes, decode, thresholds), reason

    def __len__(self) -> int:
        return len(self.models)

    def __getstate__(self) -> dict[str, Any]:
        """Pack members that a kernel evaluates, so that whoever unpickles the ensemble unpacks them one by one."""
        state = self.__dict__.copy()
        stacked = [(places, group) for places, group in self.groups if isinstance(group, StackedGroup)]
        if len(stacked) == len(self.groups):
            models = PackedModels.of(self.models)
            state["models"] = models
            state["groups"] = [(places, group.with_models(models.take(places))) for places, group in stacked]
        return state

    @property
    def kind(self) -> Kind:
        """The kind of the members: "linear", "network" or "trees" if all of them are, else "other"."""
        kinds = {group.kind for _, group in self.groups}
        return kinds.pop() if len(kinds) == 1 else "other"

    def __repr__(self) -> str:
        return f"Ensemble({len(self)} x {' | '.join(self._names)}, classes={self.classes.tolist()}, {self.path})"

    @property
    def path(self) -> str:
        """How members are evaluated: "stacked", all at once, or "generic: ...", one by one for this reason."""
        reasons = list(dict.fromkeys(reason for reason in self._reasons if reason))
        if not reasons:
            return "stacked"
        slow = sum(len(indices) for (indices, _), reason in zip(self.groups, self._reasons, strict=True) if reason)
        some = "" if slow == len(self) else f"stacked, and {slow} members "
        return f"{some}generic: {'; '.join(reasons)}"

    @property
    def tree_kernel(self) -> TreeKernel | None:
        """The kernel of trees that evaluates all members in their order; None if something else does."""
        [(indices, group), *others] = self.groups
        if others or not isinstance(group, StackedGroup) or not isinstance(group.kernel, TreeKernel):
            return None
        in_order = np.array_equal(indices, np.arange(len(self)))
        return group.kernel if in_order and group.at_even_odds else None

    def labels(self, X: FloatArray) -> AnyArray:
        """Give each member's label at each point, shape (n, members)."""
        return np.asarray(self.classes[self._all_codes(X)])

    def margins(self, X: FloatArray, target: object) -> FloatArray:
        """Give each member's signed log-odds for the target, shape (n, members).

        Positive exactly where the target accepts the member's label; +1 or -1 for members that give labels only. Of
        several classes that a target accepts, or does not, the one with the best score counts.
        """
        wanted = self._wanted(target, len(X))
        if (alone := self._alone(len(X))) is not None:
            return alone.margins(X, wanted, slice(None))
        margins = np.empty((len(X), len(self)))
        for indices, group in self.groups:
            for rows in _chunks(len(X), len(indices), group.width):
                flat = rows.ravel()
                margins[rows, indices] = group.margins(X[flat], wanted[flat], slice(None))
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
        if len(self) <= BLOCK and (alone := self._alone(len(X))) is not None:
            agree = _accepted(wanted, np.arange(len(X)), alone.labels(X, slice(None)))
            return np.asarray(agree.sum(axis=1) >= quorum)
        spare = np.full(len(X), len(self) - quorum)
        alive = np.flatnonzero(spare >= 0)
        for _, group in self.groups:
            for start in range(0, len(group.models), BLOCK):
                block = slice(start, start + BLOCK)
                for rows in _chunks(len(alive), BLOCK, group.width):
                    points = alive[rows.ravel()]
                    agree = _accepted(wanted, points, group.labels(X[points], block))
                    spare[points] -= agree.shape[1] - agree.sum(axis=1)
                alive = alive[spare[alive] >= 0]
        reached = np.zeros(len(X), dtype=bool)
        reached[alive] = True
        return reached

    @property
    def has_slopes(self) -> bool:
        """Whether the margins of all members have a gradient."""
        return all(group.has_slopes for _, group in self.groups)

    def slopes(self, X: FloatArray, target: object, weights: FloatArray) -> FloatArray:
        """Give the gradient of a weighted sum of the margins, shape (n, d).

        Parameters
        ----------
        X : array of shape (n, d)
        target : label, array of labels, or mask of classes
        weights : array of shape (n, members)
        """
        wanted = self._wanted(target, len(X))
        if (alone := self._alone(len(X))) is not None:
            return alone.slopes(X, wanted, weights)
        slopes = np.zeros(X.shape)
        for indices, group in self.groups:
            for rows in _chunks(len(X), len(indices), group.width):
                flat = rows.ravel()
                slopes[flat] += group.slopes(X[flat], wanted[flat], weights[rows, indices])
        return slopes

    def linearized(self, X: FloatArray, target: object) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
        """Give the margins, and a function from weights of them to `slopes`, at the cost of the slopes alone.

        Parameters
        ----------
        X : array of shape (n, d)
        target : label, array of labels, or mask of classes
        """
        wanted = self._wanted(target, len(X))
        alone = self._alone(len(X))
        if isinstance(alone, StackedGroup):
            return alone.linearized(X, wanted)
        return self.margins(X, wanted), partial(self.slopes, X, wanted)

    def _alone(self, n: int) -> Group | None:
        """Give the group of all members if there is one and can take so many points at once; nothing is copied then."""
        [_, group] = self.groups[0]
        return group if len(self.groups) == 1 and 0 < n * len(self) * group.width <= CHUNK else None

    def _all_codes(self, X: FloatArray) -> IntArray:
        if (alone := self._alone(len(X))) is not None:
            return alone.labels(X, slice(None))
        codes = np.empty((len(X), len(self)), dtype=np.intp)
        for indices, group in self.groups:
            for rows in _chunks(len(X), len(indices), group.width):
                codes[rows, indices] = group.labels(X[rows.ravel()], slice(None))
        return codes

    def _wanted(self, target: object, n: int) -> BoolArray:
        """Say which classes each of n rows accepts, shape (n, classes)."""
        asked = np.asarray(target)
        if asked.ndim == 2 and asked.dtype == bool:
            if asked.shape != (n, len(self.classes)):
                raise InvalidInput(
                    f"`target` must be a label, one label per row, or a mask of shape ({n}, {len(self.classes)}); "
                    f"got a mask of shape {asked.shape}."
                )
            return asked
        try:
            labels = np.broadcast_to(asked, (n,))
            codes = np.searchsorted(self.classes, labels).clip(max=len(self.classes) - 1)
        except (TypeError, ValueError):  # another number of labels, or labels of another kind than the classes
            raise InvalidInput(
                f"`target` must be one of the classes {self.classes.tolist()}, or one per row ({n}); got {target!r}."
            ) from None
        unknown = self.classes[codes] != labels
        if unknown.any():
            raise InvalidInput(
                f"`target` must be one of the classes {self.classes.tolist()}; got {labels[unknown][0]!r}."
            )
        return np.asarray(codes[:, None] == np.arange(len(self.classes)))


def _accepted(wanted: BoolArray, rows: IntArray, codes: IntArray) -> BoolArray:
    """Look up codes of shape (rows, members) in the masks of these rows."""
    # One flat look-up: pairs of indices take three times as long.
    return np.asarray(wanted.ravel().take(rows[:, None] * wanted.shape[1] + codes))


def _numeric_probes(model: object, decode: Callable[[FloatArray], Any], probe: FloatArray | None) -> ProbePoints:
    """Take points for rows of the table that a model was trained on."""
    try:
        with reading(model):
            estimator, transformers, _ = strip_wrappers(model)
    except Unreadable:
        estimator, transformers = model, []
    known = [step for step in [*transformers, estimator] if hasattr(step, "n_features_in_")]
    width = int(known[0].n_features_in_) if known else 0
    return ProbePoints.numeric(width, decode, probe if probe is not None and probe.shape[1] == width else None)


def _check_faithful(
    group: StackedGroup, probe: FloatArray | None, classes: AnyArray, decode: Callable[[FloatArray], Any], *, name: str
) -> None:
    """Check a kernel against its members once: libraries change how they store their models."""
    if probe is None:
        return
    table = decode(probe)
    # One thread: some members start their threads anew for every tree, which costs more than so few rows take.
    with one_thread():
        own = np.stack([label_codes(model, table, classes) for model in group.models], axis=1)
    with reading(group.models[0]):
        labels = group.labels(probe, slice(None))
    if not np.array_equal(labels, own):
        raise Unreadable(f"what was read of {name} gives other labels than its own `predict`")


def _slow(reasons: Sequence[str]) -> str:
    joined = "; ".join(dict.fromkeys(reason for reason in reasons if reason))
    return (
        f"Members are asked one by one, which gives the same answers many times more slowly. The reason: {joined}. "
        "Fast are linear models, networks, trees and boosted trees of the known libraries, pipelines of the usual "
        "transformers before them, and calibrated, voting and stacking models made of them."
    )


def _chunks(n: int, members: int, width: int) -> Iterator[IntArray]:
    """Split rows so that a chunk stays within `CHUNK` floats; column vectors, to be paired with members."""
    size = max(1, CHUNK // (members * width))
    for start in range(0, n, size):
        yield np.arange(start, min(n, start + size))[:, None]
