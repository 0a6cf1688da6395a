"""A kernel for models made of other models, which uses the kernels of their parts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from betarce.arrays import FloatArray
from betarce.ensemble.composites.combination import Combiner, Scored
from betarce.ensemble.composites.responses import Response, response_of
from betarce.ensemble.intervals import Interval
from betarce.ensemble.kernel import Kernel, Kind, SlopedKernel, has_slopes
from betarce.ensemble.preprocessing.unwrapped import UnwrappedModel
from betarce.ensemble.unreadable import Unreadable


@dataclass(frozen=True, eq=False)
class PartKernel:
    """The kernel of all parts of one family, member after member.

    Attributes
    ----------
    kernel : Kernel
    response : Response
        How the answers of the parts are computed from their scores.
    slots : list of int
        The places of these parts among all parts of a member.
    """

    kernel: Kernel
    response: Response
    slots: list[int]

    def answers(self, X: FloatArray, first: int, last: int) -> list[Interval]:
        """Give the answers of members `first` to `last`: one entry per slot, shape (n, members, outputs)."""
        n = len(self.slots)
        low, high = self.response.ask(self.kernel, X, slice(first * n, last * n))
        return [Interval(low[:, i::n], high[:, i::n]) for i in range(n)]


@dataclass(frozen=True, eq=False)
class CompositeKernel:
    """Scores of many models that are made of others; `stack` makes it."""

    part_kernels: list[PartKernel]
    combiner: Combiner
    n_members: int
    n_outputs: int

    @property
    def kind(self) -> Kind:
        """The kind of the parts, if they are all alike."""
        kinds = {each.kernel.kind for each in self.part_kernels}
        return kinds.pop() if len(kinds) == 1 else "other"

    @property
    def width(self) -> int:
        """The floats of the kernels of the parts, and both ends of each answer, before and after."""
        return sum(len(each.slots) * (each.kernel.width + 4 * self.n_outputs) for each in self.part_kernels)

    @property
    def is_smooth(self) -> bool:
        """Whether there are gradients: for two classes, where the combination and all parts have them."""
        smooth = (has_slopes(each.kernel) and each.response.is_smooth for each in self.part_kernels)
        return self.n_outputs == 1 and self.combiner.is_smooth and all(smooth)

    @property
    def gives_probabilities(self) -> bool:
        """Whether the models have `predict_proba`."""
        return self.combiner.gives_probabilities

    def __len__(self) -> int:
        return self.n_members

    def scores(self, X: FloatArray, members: slice) -> FloatArray:
        """Score points; see `Kernel.scores`."""
        return self.scored(X, members)[0]

    def doubt(self, X: FloatArray, members: slice) -> FloatArray:
        """Bound the rounding of all parts and of the combination; see `Kernel.doubt`."""
        return self.scored(X, members)[1]

    def scored(self, X: FloatArray, members: slice) -> Scored:
        """Give scores and doubt; see `ScoredKernel`."""
        return self.combiner.scored(self._answers(X, members), X, members)

    def probabilities(self, X: FloatArray, members: slice) -> Interval:
        """Give what `predict_proba` would; see `ProbabilityKernel`."""
        return self.combiner.probabilities(self._answers(X, members), X, members)

    def slopes(self, X: FloatArray, weights: FloatArray) -> FloatArray:
        """Give the gradient of the weighted sum of all scores; see `SlopedKernel.slopes`."""
        middles = [answer.middle for answer in self._answers(X, slice(None))]
        gradients = self.combiner.gradients(middles)
        slopes = np.zeros(X.shape) + self.combiner.slopes(X, weights)
        for each in self.part_kernels:
            assert isinstance(each.kernel, SlopedKernel)
            # Member after member, and within a member slot after slot.
            upstream = np.stack(
                [weights * gradients[slot] * each.response.gradient(middles[slot]) for slot in each.slots],
                axis=2,
            ).reshape(len(X), -1, 1)
            slopes += each.kernel.slopes(X, upstream)
        return slopes

    def _answers(self, X: FloatArray, members: slice) -> list[Interval]:
        first, last, _ = members.indices(self.n_members)
        found: dict[int, Interval] = {}
        for each in self.part_kernels:
            found.update(zip(each.slots, each.answers(X, first, max(first, last)), strict=True))
        return [found[slot] for slot in range(len(found))]


def stack(
    members: Sequence[UnwrappedModel], kernel_of: Callable[[Sequence[UnwrappedModel]], Kernel]
) -> CompositeKernel:
    """Stack models that are made of others in the same way.

    Parameters
    ----------
    members : sequence of UnwrappedModel
        All of one `family`.
    kernel_of : callable
        Makes a kernel of parts of one family, or raises `Unreadable`.

    Returns
    -------
    CompositeKernel

    Raises
    ------
    Unreadable
        If a part has no kernel, or one that does not give what the combination needs.
    """
    first = members[0]
    assert first.combination is not None
    groups: dict[tuple[str, str], list[int]] = {}
    for slot, (part, method) in enumerate(zip(first.parts, first.methods, strict=True)):
        groups.setdefault((part.family, method), []).append(slot)
    for member in members:
        for part in member.parts:
            _check(part, member)
    part_kernels = []
    for (_, method), slots in groups.items():
        parts = [member.parts[slot] for member in members for slot in slots]
        kernel = kernel_of(parts)
        response = response_of(kernel, [part.estimator for part in parts], method, _labels(parts[0], method))
        part_kernels.append(PartKernel(kernel, response, slots))
    n_classes = len(first.estimator.classes_)
    combinations = [member.combination for member in members if member.combination is not None]
    combiner = first.combination.stacked(combinations, max(each.response.unit for each in part_kernels))
    return CompositeKernel(part_kernels, combiner, len(members), 1 if n_classes == 2 else n_classes)


def _check(part: UnwrappedModel, whole: UnwrappedModel) -> None:
    name = type(whole.estimator).__name__
    if part.threshold is not None:
        raise Unreadable(f"{name} of a model with a threshold")
    # Voting and stacking classifiers number the classes before they train their parts.
    own, given = np.asarray(part.estimator.classes_), np.asarray(whole.estimator.classes_)
    if not np.array_equal(own, given) and not np.array_equal(own, np.arange(len(given))):
        raise Unreadable(f"{name} of models that know other classes")


def _labels(part: UnwrappedModel, method: str) -> FloatArray:
    """Give the numbers that stand for the classes of a part, where labels are asked for."""
    if method != "predict":
        return np.empty(0)
    return np.asarray(part.estimator.classes_, dtype=np.float64)
