"""Many tree ensembles of one family, evaluated as one."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from betarce.arrays import FloatArray, IntArray
from betarce.ensemble import traversal
from betarce.ensemble.forest_arrays import ForestArrays, TreeMember, assemble, read_member
from betarce.ensemble.peeling import Peeled

# Probabilities closer than this to 0 or 1 look alike on the log scale: a forest's own resolution is coarser.
CLIP = 1e-6


@dataclass(frozen=True, eq=False)
class TreeKernel:
    """Scores of many tree ensembles: `stack` makes it.

    Attributes
    ----------
    forest : ForestArrays
        The trees of all members.
    n_features : int
        Columns of the points.
    probability : bool
        Whether a member's sum is a probability (forests) or on the log scale already (boosting).
    rounding : array of float, shape (members,)
        How far a score may lie from the member's own.
    """

    forest: ForestArrays
    n_features: int
    probability: bool
    rounding: FloatArray

    @property
    def width(self) -> int:
        """Each output's sum, and two logarithms of it in a forest."""
        return 3 * int(self.forest.base.shape[1])

    def __len__(self) -> int:
        return len(self.forest.base)

    def scores(self, X: FloatArray, members: slice) -> FloatArray:
        """Score points of shape (n, d) with a slice of the members, taken without steps.

        Two classes: shape (n, m), the log-odds. More: shape (n, m, classes); the largest wins.
        """
        first, last, _ = members.indices(len(self))
        last = max(first, last)
        X = np.ascontiguousarray(X, dtype=np.float64)
        sums = self._sums(X, first, last)
        sums += self.forest.base[first:last]
        binary = sums.shape[2] == 1
        if self.probability:
            np.clip(sums, CLIP, 1 - CLIP, out=sums)
            sums = np.log(sums) - np.log1p(-sums) if binary else np.log(sums)
        return sums[:, :, 0] if binary else sums

    def doubt(self, X: FloatArray, members: slice) -> FloatArray:
        """Bound the rounding error of a sum of so many leaves, shape (m,): it is the same at every point."""
        return self.rounding[members]

    def _sums(self, X: FloatArray, first: int, last: int) -> FloatArray:
        functions = traversal.compiled()
        if functions is None:
            return traversal.plain_sums(X, self.forest, first, last)
        place_among_cuts, masked_sums, walked_sums = functions
        sums = np.empty((len(X), last - first, self.forest.base.shape[1]))
        if self._masked is None:
            walked_sums(X, traversal.walked_form(self.forest), first, last, sums)
        else:
            cuts, masked = self._masked
            places = _blocks(len(X), self.n_features)
            place_among_cuts(X, cuts, places)
            masked_sums(places, masked, first, last, sums)
        return sums

    @cached_property
    def _masked(self) -> tuple[traversal.Cuts, traversal.MaskedForest] | None:
        return traversal.masked_form(self.forest, self.n_features)


def stack(models: Sequence[Peeled]) -> TreeKernel | None:
    """Bring fitted tree classifiers of one family together.

    Parameters
    ----------
    models : sequence of Peeled
        LightGBM's, XGBoost's or scikit-learn's classifiers, all of one class, fitted on the same columns and classes.
        Their numbers of trees and leaves may differ.

    Returns
    -------
    TreeKernel or None
        None if they are not of one such family, or hold something that the kernel cannot say exactly: a scaler in
        front, categorical splits, linear leaves, an initial estimator, dropout, a zero that means missing.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import GradientBoostingClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> fitted = [GradientBoostingClassifier(n_estimators=5, random_state=i).fit(X, y) for i in range(3)]
    >>> models = [Peeled(model) for model in fitted]
    >>> stack(models).scores(X[:2], slice(None)).shape
    (2, 3)
    >>> stack([*models, Peeled("a model of another kind")]) is None
    True
    """
    cores = [model.core for model in models]
    # A scaler's rounding decides on which side of a threshold a point falls; no bound on a score can make up for that.
    if not cores or len({type(core) for core in cores}) > 1 or any(model.front is not None for model in models):
        return None
    members = []
    for core in cores:
        member = read_member(core)
        if member is None or not member.trees or not _same_task(core, cores[0]):
            return None
        members.append(member)
    return TreeKernel(
        forest=assemble(members),
        n_features=int(cores[0].n_features_in_),
        probability=members[0].probability,
        rounding=np.array([_rounding(member) for member in members]),
    )


def _same_task(model: Any, other: Any) -> bool:
    return (
        len(model.classes_) > 1
        and model.n_features_in_ == other.n_features_in_
        and np.array_equal(model.classes_, other.classes_)
    )


def _rounding(member: TreeMember) -> float:
    """Bound the gap between two sums of the same leaves, the library's and ours."""
    size, count = np.abs(member.base), np.ones(len(member.base))
    for tree in member.trees:
        outputs = slice(tree.output, tree.output + tree.value.shape[1])
        size[outputs] += np.abs(tree.value).max(axis=0)
        count[outputs] += 1
    # A few units more: the library's label comes from a probability, whose own rounding hides the smallest scores.
    bound = member.rounding * float(np.max(count * size) + 8)
    # A logarithm stretches what lies between two probabilities by one over the larger, so by the classes at most.
    return bound * 2 * (len(member.base) + 1) if member.probability else bound


def _blocks(n: int, n_features: int) -> IntArray:
    """Make room for places, in blocks as even as can be: what pads the last one is computed in vain."""
    n_blocks = -(-n // traversal.BLOCK)
    block = 16 * -(-n // (16 * max(n_blocks, 1)))
    return np.zeros((n_blocks, n_features, block), dtype=np.int16)
