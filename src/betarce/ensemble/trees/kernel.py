"""Evaluate many tree ensembles of one family at once."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from betarce.arrays import BoolArray, FloatArray, IntArray
from betarce.ensemble.intervals import Interval
from betarce.ensemble.kernel import Kind
from betarce.ensemble.preprocessing.columns import Preprocessing
from betarce.ensemble.preprocessing.raw_splits import SplitColumns, rewrite_splits
from betarce.ensemble.preprocessing.unwrapped import UnwrappedModel
from betarce.ensemble.trees import traversal
from betarce.ensemble.trees.forest_arrays import ForestArrays, TreeMember, assemble
from betarce.ensemble.trees.masks import MaskedForest, mask_places, masked_form
from betarce.ensemble.trees.places import Cuts
from betarce.ensemble.trees.readers import read_member
from betarce.ensemble.trees.walk import PackedForest, packed_form, walk_places
from betarce.ensemble.unreadable import Unreadable

# Probabilities closer than this to 0 or 1 look alike on the log scale: a forest's own resolution is coarser.
CLIP = 1e-6
_CHUNK = 1 << 23  # places held at once: 16 MiB

_Form = tuple[ForestArrays, SplitColumns]


@dataclass(frozen=True, eq=False)
class TreeKernel:
    """Scores of many tree ensembles: `stack` makes it.

    Attributes
    ----------
    forest : ForestArrays
        The trees of all members.
    columns : SplitColumns
        The columns that their splits compare.
    probability : bool
        Whether a member's sum is a probability (forests) or on the log scale already (boosting).
    rounding : array of float, shape (members,)
        A bound on how far a score may lie from the member's own.
    refused : dict of int to array of bool
        By column of the points: which codes, the last of them for "missing", some member may refuse. One entry, for
        "missing", if it holds numbers.
    """

    kind: ClassVar[Kind] = "trees"

    forest: ForestArrays
    columns: SplitColumns
    probability: bool
    rounding: FloatArray
    refused: dict[int, BoolArray]

    @property
    def width(self) -> int:
        """The number of floats per point and member: each output's sum, and two logarithms of it."""
        return 3 * int(self.forest.base.shape[1])

    def __len__(self) -> int:
        return len(self.forest.base)

    def scores(self, X: FloatArray, members: slice) -> FloatArray:
        """Score points of shape (n, d) with a slice of the members, taken without steps.

        Two classes: shape (n, m), the log-odds. More: shape (n, m, classes); the largest wins. NaN where a member may
        refuse to answer.
        """
        sums = self._sums(X, members)
        binary = sums.shape[2] == 1
        if self.probability:
            np.clip(sums, CLIP, 1 - CLIP, out=sums)
            sums = np.log(sums) - np.log1p(-sums) if binary else np.log(sums)
        return sums[:, :, 0] if binary else sums

    @property
    def gives_probabilities(self) -> bool:
        """Whether the sums are probabilities: those of forests are."""
        return self.probability

    def probabilities(self, X: FloatArray, members: slice) -> Interval:
        """Give the mean probabilities of forests; see `ProbabilityKernel`."""
        sums = self._sums(X, members)
        return Interval(sums, sums).widened(self.rounding[members][:, np.newaxis])

    def _sums(self, X: FloatArray, members: slice) -> FloatArray:
        """Add up leaves, shape (n, m, outputs); NaN where a member may refuse to answer."""
        first, last, _ = members.indices(len(self))
        last = max(first, last)
        X = np.ascontiguousarray(X, dtype=np.float64)
        sums = np.empty((len(X), last - first, self.forest.base.shape[1]))
        holed = bool(np.isnan(X).any())
        step = max(1, _CHUNK // max(self.columns.width, 1))
        for start in range(0, len(X), step):
            self._write_sums(X[start : start + step], holed, first, last, sums[start : start + step])
        sums += self.forest.base[first:last]
        if self.refused:
            sums[self._refusals(X)] = np.nan
        return sums

    def replayed(self, X: FloatArray, member: int) -> IntArray | None:
        """Give the codes that a forest's own arithmetic comes to, shape (n,); see `ReplayedKernel`."""
        form = self._shares
        if form is None or (self.refused and self._refusals(X).any()):
            return None
        sums = np.empty((len(X), 1, form.base.shape[1]))
        X = np.ascontiguousarray(X, dtype=np.float64)
        functions = traversal.compiled()
        if functions is None or self._packed_shares is None:
            sums[:] = traversal.plain_sums(self.columns.values(X), form, member, member + 1)
        else:
            cuts, packed = self._packed_shares
            places = functions.places(X, self.columns, cuts, walk_places(len(X), self.columns.width))
            functions.walked_sums(places, packed, member, member + 1, sums)
        n_trees = form.member_start[member + 1] - form.member_start[member]
        return np.asarray((sums[:, 0] / n_trees).argmax(axis=1))

    def doubt(self, X: FloatArray, members: slice) -> FloatArray:
        """Bound the rounding error of a sum of so many leaves, shape (m,): it is the same at every point."""
        return self.rounding[members]

    def _write_sums(self, X: FloatArray, holed: bool, first: int, last: int, sums: FloatArray) -> None:
        functions = traversal.compiled()
        forest, columns = (self.forest, self.columns) if holed else self._whole
        masked = self.masked if holed else self.masked_whole
        packed = (self.packed if holed else self.packed_whole) if functions and masked is None else None
        if functions and masked is not None:
            cuts, masks = masked
            places = functions.places(X, columns, cuts, mask_places(len(X), columns.width))
            functions.masked_sums(places, masks, first, last, sums)
        elif functions and packed is not None:
            cuts, words = packed
            places = functions.places(X, columns, cuts, walk_places(len(X), columns.width))
            functions.walked_sums(places, words, first, last, sums)
        else:
            sums[:] = traversal.plain_sums(columns.values(X), forest, first, last)

    def _refusals(self, X: FloatArray) -> BoolArray:
        rows = np.zeros(len(X), dtype=bool)
        for source, codes in self.refused.items():
            x = X[:, source]
            code = np.where(np.isnan(x), len(codes) - 1, x if len(codes) > 1 else -1).astype(np.intp)
            rows |= codes[code] & ((code >= 0) | np.isnan(x))
        return rows

    @cached_property
    def _shares(self) -> ForestArrays | None:
        """The forest with what the library adds up, one output for each class."""
        shares = self.forest.shares
        if shares is None:
            return None
        base = np.zeros((len(self), shares.shape[1]))
        return replace(self.forest, value=shares, output=np.zeros_like(self.forest.output), base=base)

    @cached_property
    def _whole(self) -> _Form:
        """The forest for points with nothing missing: one column for each number."""
        columns, place = self.columns.without_missing()
        feature = place[self.forest.feature] if len(place) else self.forest.feature
        return replace(self.forest, feature=feature.astype(np.int32)), columns

    @cached_property
    def masked_whole(self) -> tuple[Cuts, MaskedForest] | None:
        return masked_form(*self._whole)

    @cached_property
    def masked(self) -> tuple[Cuts, MaskedForest] | None:
        return masked_form(self.forest, self.columns)

    @cached_property
    def packed_whole(self) -> tuple[Cuts, PackedForest] | None:
        return packed_form(*self._whole)

    @cached_property
    def packed(self) -> tuple[Cuts, PackedForest] | None:
        return packed_form(self.forest, self.columns)

    @cached_property
    def _packed_shares(self) -> tuple[Cuts, PackedForest] | None:
        return None if self._shares is None else packed_form(self._shares, self.columns)


def stack(models: Sequence[UnwrappedModel]) -> TreeKernel | None:
    """Stack fitted tree classifiers of one family.

    Parameters
    ----------
    models : sequence of UnwrappedModel
        LightGBM's, XGBoost's, CatBoost's or scikit-learn's classifiers, all of one class, fitted on the same classes.
        Their numbers of trees and leaves may differ, and so may their preprocessing.

    Returns
    -------
    TreeKernel or None
        None if they are not of one such family.

    Raises
    ------
    Unreadable
        If they hold something that the kernel cannot say exactly: categories in a column of numbers, linear leaves, an
        initial estimator, dropout, a zero that means missing.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import GradientBoostingClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> fitted = [GradientBoostingClassifier(n_estimators=5, random_state=i).fit(X, y) for i in range(3)]
    >>> models = [UnwrappedModel(model) for model in fitted]
    >>> stack(models).scores(X[:2], slice(None)).shape
    (2, 3)
    >>> stack([*models, UnwrappedModel("a model of another kind")]) is None
    True
    """
    estimators = [model.estimator for model in models]
    if not estimators or len({type(estimator) for estimator in estimators}) > 1:
        return None
    members = []
    for model in models:
        member = read_member(model.estimator, model.probes)
        if member is None:
            return None
        if not member.trees or not _same_task(model, models[0]):
            raise Unreadable(f"{type(model.estimator).__name__} without trees, or of other columns than its siblings")
        if model.preprocessing is not None and model.preprocessing.sparse and not member.sparse:
            raise Unreadable(f"{type(model.estimator).__name__} on sparse matrices")
        members.append(member)
    rewritten = rewrite_splits(members, [model.preprocessing for model in models])
    if rewritten is None:
        raise Unreadable(f"{type(estimators[0]).__name__} with categories in a column of numbers")
    return TreeKernel(
        forest=assemble(rewritten[0]),
        columns=rewritten[1],
        probability=members[0].probability,
        rounding=np.array([_rounding(member) for member in members]),
        refused=_refused(models, members),
    )


def _same_task(model: UnwrappedModel, other: UnwrappedModel) -> bool:
    one, two = model.estimator, other.estimator
    preprocessed = model.preprocessing is not None or other.preprocessing is not None
    same_columns = preprocessed or one.n_features_in_ == two.n_features_in_
    return len(one.classes_) > 1 and same_columns and np.array_equal(one.classes_, two.classes_)


def _refused(models: Sequence[UnwrappedModel], members: Sequence[TreeMember]) -> dict[int, BoolArray]:
    """Find the codes and missing values that a member may refuse, though its trees would have an answer."""
    refused: dict[int, BoolArray] = {}
    for model, member in zip(models, members, strict=True):
        before = model.preprocessing or Preprocessing.identity(int(model.estimator.n_features_in_))
        accepts = member.missing and (member.sparse_missing or not before.sparse)
        for output in before.outputs:
            values = np.array([output.missing]) if output.lookup is None else output.lookup
            bad = np.zeros(len(values), dtype=bool) if accepts else np.isnan(values)
            bad[-1] |= output.source in before.refuses_missing
            if bad.any():
                refused[output.source] = refused.get(output.source, False) | bad
    return refused


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
