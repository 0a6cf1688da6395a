"""What is explained: a trained model, the table that it was trained on, and what may change in it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from betarce.arrays import AnyArray, FloatArray
from betarce.ensemble import Ensemble
from betarce.ensemble.ensemble import KnownKernel
from betarce.errors import BetarceError, InvalidInput, UnusableModel
from betarce.explainers import Problem
from betarce.features import FeatureSpace
from betarce.member_training import MemberStore
from betarce.members import Draw, Members, draw_members
from betarce.models.recipe import Recipe, Table
from betarce.robustify.odd_members import warn_of_odd_members
from betarce.spaces import Space

_PROBE_ROWS = 64
_MOST_LEVELS = 256


@dataclass(frozen=True, eq=False)
class Subject:
    """A model to be explained, before any member is asked.

    Attributes
    ----------
    model : classifier
        Fitted.
    table : Table
        The training rows and their labels, in the user's own form.
    features : FeatureSpace
        How the table is read, and what may change.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    >>> subject = Subject(LogisticRegression().fit(X, y), Table(X, y), FeatureSpace.infer(X))
    >>> subject.problem.model
    Ensemble(1 x LogisticRegression, classes=[0, 1], stacked)
    """

    model: Any
    table: Table
    features: FeatureSpace

    @cached_property
    def classes(self) -> AnyArray:
        """The labels, sorted."""
        return np.unique(np.asarray(getattr(self.model, "classes_", self.table.y)))

    @cached_property
    def points(self) -> FloatArray:
        """The training rows as points, shape (n, d)."""
        return self.features.encode(self.table.X)

    @cached_property
    def problem(self) -> Problem:
        """What explainers are told."""
        return Problem(self.ensemble([self.model]), self.features, self.points, np.asarray(self.table.y))

    def under(self, features: FeatureSpace) -> "Subject":
        """Give the same model under other rules, which must read the table as before."""
        if not features.reads_like(self.features):
            raise InvalidInput(
                "`features` was changed after `fit` and says that columns are something else than the members were "
                "trained with: call `fit` again. Rules on how values may move can be changed without it."
            )
        return replace(self, features=features)

    def ensemble(self, models: Sequence[object], *, known: KnownKernel | None = None) -> Ensemble:
        """Let models vote together on points of this table, once each has answered for some training rows."""
        with _answering():
            ensemble = Ensemble(models, self.classes, features=self.features, probe=self.probe, known=known)
            ensemble.labels(self.probe)
        return ensemble

    def members(self, draws: Mapping[str, Draw], *, space: Space, seed: int) -> Members:
        """Put the draws named "search" and "certify" into their roles; warn if they cannot say much.

        Parameters
        ----------
        draws : mapping of str to Draw
            Without "certify", the search members decide, as in the paper.
        space : space
            What they were drawn from.
        seed : int
            The seed that they were derived from.
        """
        members = Members.of(draws, self.ensemble, space=space, seed=seed)
        varied = warn_of_odd_members(members.ensembles.values(), self.points, space, self.model)
        return replace(members, varied=varied)

    def draw(
        self,
        space: Space,
        sizes: Mapping[str, int],
        *,
        seed: int,
        n_jobs: int | None,
        verbose: int,
        announce: Callable[[float], str] | None = None,
        store: MemberStore | None = None,
    ) -> dict[str, Draw]:
        """Draw and train members of the model; see `betarce.members.draw_members`."""
        how: dict[str, Any] = {"n_jobs": n_jobs, "verbose": verbose, "announce": announce, "store": store}
        return draw_members(space, Recipe(self.model), self.table, sizes, seed=seed, **how)

    @cached_property
    def probe(self) -> FloatArray:
        """Training rows that show every category at least once, to try models on."""
        points = self.points
        some = [np.linspace(0, len(points) - 1, min(_PROBE_ROWS, len(points))).astype(int)]
        for j, column in enumerate(self.features.columns):
            if column.levels is not None:
                some.append(np.unique(points[:, j], return_index=True)[1][:_MOST_LEVELS])
        return np.asarray(points[np.unique(np.concatenate(some))])


@contextmanager
def _answering() -> Iterator[None]:
    """Turn what models say that cannot answer for some training rows into an error of our own, before any search."""
    try:
        yield
    except (BetarceError, Warning):  # warnings may be errors
        raise
    except Exception as error:
        raise UnusableModel(
            f"A model could not answer for rows of the training table: {type(error).__name__}: {error}. If it does not "
            "know a category that its own sample lacked, let its encoder ignore such categories, for instance "
            'OneHotEncoder(handle_unknown="ignore").'
        ) from error
