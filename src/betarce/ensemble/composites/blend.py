"""Models made of other models, evaluated through the kernels of their parts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from betarce.arrays import FloatArray
from betarce.ensemble.composites.combining import Combiner, Scored
from betarce.ensemble.composites.responses import Response, response_of
from betarce.ensemble.intervals import Interval
from betarce.ensemble.kernel import Kernel, Kind, SlopedKernel, has_slopes
from betarce.ensemble.preprocessing.unwrapped import Peeled
from betarce.ensemble.unreadable import Unreadable


@dataclass(frozen=True, eq=False)
class Source:
    """Parts of one family, of all members: those of the first member first.

    Attributes
    ----------
    kernel : Kernel
    response : Response
        What they are asked for.
    slots : list of int
        Which parts of each member they are.
    """

    kernel: Kernel
    response: Response
    slots: list[int]

    def answers(self, X: FloatArray, first: int, last: int) -> list[Interval]:
        """Ask the parts of members `first` to `last`; one entry a slot, of shape (n, members, outputs)."""
        n = len(self.slots)
        low, high = self.response.ask(self.kernel, X, slice(first * n, last * n))
        return [Interval(low[:, i::n], high[:, i::n]) for i in range(n)]


@dataclass(frozen=True, eq=False)
class BlendKernel:
    """Scores of many models that are made of others; `stack` makes it."""

    sources: list[Source]
    combiner: Combiner
    n_members: int
    n_outputs: int

    @property
    def kind(self) -> Kind:
        """What the parts are, if they are all alike."""
        kinds = {source.kernel.kind for source in self.sources}
        return kinds.pop() if len(kinds) == 1 else "other"

    @property
    def width(self) -> int:
        """What the parts' kernels hold, and both ends of each answer, before and after."""
        return sum(len(source.slots) * (source.kernel.width + 4 * self.n_outputs) for source in self.sources)

    @property
    def is_smooth(self) -> bool:
        """Whether there are gradients: for two classes, where rule and parts have them."""
        smooth = (has_slopes(source.kernel) and source.response.is_smooth for source in self.sources)
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
        """Bound the rounding of all parts and of the rule; see `Kernel.doubt`."""
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
        for source in self.sources:
            assert isinstance(source.kernel, SlopedKernel)
            # Member after member, and within a member slot after slot.
            upstream = np.stack(
                [weights * gradients[slot] * source.response.gradient(middles[slot]) for slot in source.slots],
                axis=2,
            ).reshape(len(X), -1, 1)
            slopes += source.kernel.slopes(X, upstream)
        return slopes

    def _answers(self, X: FloatArray, members: slice) -> list[Interval]:
        first, last, _ = members.indices(self.n_members)
        found: dict[int, Interval] = {}
        for source in self.sources:
            found.update(zip(source.slots, source.answers(X, first, max(first, last)), strict=True))
        return [found[slot] for slot in range(len(found))]


def stack(members: Sequence[Peeled], kernel_of: Callable[[Sequence[Peeled]], Kernel]) -> BlendKernel:
    """Bring models together that are made of others in the same way.

    Parameters
    ----------
    members : sequence of Peeled
        All of one `family`.
    kernel_of : callable
        Makes a kernel of parts of one family, or raises `Unreadable`.

    Raises
    ------
    Unreadable
        If a part has no kernel, or one that does not give what the rule asks for.
    """
    first = members[0]
    assert first.rule is not None
    groups: dict[tuple[str, str], list[int]] = {}
    for slot, (part, method) in enumerate(zip(first.parts, first.methods, strict=True)):
        groups.setdefault((part.family, method), []).append(slot)
    for member in members:
        for part in member.parts:
            _check(part, member)
    sources = []
    for (_, method), slots in groups.items():
        parts = [member.parts[slot] for member in members for slot in slots]
        kernel = kernel_of(parts)
        response = response_of(kernel, [part.core for part in parts], method, _labels(parts[0], method))
        sources.append(Source(kernel, response, slots))
    n_classes = len(first.core.classes_)
    rules = [member.rule for member in members if member.rule is not None]
    combiner = first.rule.stacked(rules, max(source.response.unit for source in sources))
    return BlendKernel(sources, combiner, len(members), 1 if n_classes == 2 else n_classes)


def _check(part: Peeled, whole: Peeled) -> None:
    name = type(whole.core).__name__
    if part.threshold is not None:
        raise Unreadable(f"{name} of a model with a threshold")
    # Voting and stacking classifiers number the classes before they train their parts.
    own, given = np.asarray(part.core.classes_), np.asarray(whole.core.classes_)
    if not np.array_equal(own, given) and not np.array_equal(own, np.arange(len(given))):
        raise Unreadable(f"{name} of models that know other classes")


def _labels(part: Peeled, method: str) -> FloatArray:
    """Give the numbers that stand for the classes of a part, where they are asked for."""
    if method != "predict":
        return np.empty(0)
    return np.asarray(part.core.classes_, dtype=np.float64)
