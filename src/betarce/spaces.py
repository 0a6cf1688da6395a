"""Spaces: distributions over retrained models, declared by the user."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from numbers import Real
from typing import Any, Protocol, runtime_checkable

import numpy as np

from betarce.arrays import IntArray
from betarce.errors import InvalidInput
from betarce.models.families import Ranges, draw_parameter, paper_ranges
from betarce.models.recipe import Outcome, Recipe, Retraining, Table, set_parameters
from betarce.resampling import bootstrap_rows, rows_of_every_class
from betarce.seeding import generator

__all__ = [
    "Architecture",
    "Bootstrap",
    "Custom",
    "Given",
    "Job",
    "Mixture",
    "NewData",
    "Seed",
    "Space",
    "Trainer",
]


class Trainer(Protocol):
    """Turns retrainings into models: a `Recipe`, or the user's own code."""

    def batches(self, retrainings: Sequence[Retraining]) -> list[list[Retraining]]:
        """Split retrainings into batches."""

    def train(self, table: Table, retrainings: Sequence[Retraining]) -> list[Outcome]:
        """Train one batch."""


@dataclass(frozen=True, eq=False)
class Job:
    """One retraining with its trainer, and the number of times it had to be drawn again.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> table = Table(np.array([[0.0], [1.0]]), np.array([0, 1]))
    >>> job = Bootstrap().plan(Recipe(LogisticRegression()), table, "a", seed=1)
    >>> job.redrawn
    2
    """

    trainer: Trainer
    retraining: Retraining
    redrawn: int = 0


@runtime_checkable
class Space(Protocol):
    """A distribution over retrained models."""

    def plan(self, recipe: Recipe, table: Table, name: str, seed: int) -> Job:
        """Draw the retraining of one member, from its own name and seed alone."""


@dataclass(frozen=True)
class Seed:
    """The same data and hyperparameters, another random state.

    Examples
    --------
    >>> from betarce import Seed
    >>> Seed()
    Seed()
    """

    def plan(self, recipe: Recipe, table: Table, name: str, seed: int) -> Job:
        """Change nothing but the seed."""
        return Job(recipe, Retraining(name, seed))


@dataclass(frozen=True)
class Bootstrap:
    """The training rows drawn again with replacement, as many as there are.

    Parameters
    ----------
    stratified : bool
        Whether each class keeps its number of rows.

    Examples
    --------
    >>> from betarce import Bootstrap
    >>> Bootstrap(stratified=True)
    Bootstrap(stratified=True)
    """

    stratified: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.stratified, (bool, np.bool_)):
            raise InvalidInput(f"`stratified` must be True or False; got {self.stratified!r}.")

    def plan(self, recipe: Recipe, table: Table, name: str, seed: int) -> Job:
        """Draw rows until every class is among them."""
        draw = partial(bootstrap_rows, stratified=self.stratified)
        rows, redrawn = rows_of_every_class(
            np.asarray(table.y), draw, seed=seed, advice="Use Bootstrap(stratified=True)."
        )
        return Job(recipe, Retraining(name, seed, rows=rows), redrawn)


@dataclass(frozen=True)
class NewData:
    """New rows of the same population, such as the customers of the next quarter.

    No new rows are at hand when promises are made, so a part of the training rows, drawn with replacement, stands for
    them: the fewer there are, the more members differ from the explained model, and from each other.

    Parameters
    ----------
    fraction : float
        How many rows are drawn, as a share of the training rows, above 0 and at most 1. Less is more cautious, and asks
        for larger changes. The default is meant for a next table of about the same size as this one.

    Notes
    -----
    The explained model and a new one rest on two independent samples of `n` rows. Where the variance of a model is
    :math:`\\sigma^2 / n`, that of their difference is :math:`2 \\sigma^2 / n`, which models of `n / 2` drawn rows show,
    too; `Bootstrap` shows half of it. That is right for a given point, on average over training samples. But all
    promises share the luck of one sample, which the search makes use of; a third of the rows allows for much of that,
    not for all. `docs/choose/space.md` has what was measured.

    Examples
    --------
    >>> from betarce import NewData
    >>> NewData()
    NewData(fraction=0.33)
    """

    fraction: float = 0.33

    def __post_init__(self) -> None:
        if isinstance(self.fraction, bool) or not isinstance(self.fraction, Real) or not 0 < self.fraction <= 1:
            raise InvalidInput(
                f"`fraction` must be a number above 0 and at most 1; got {self.fraction!r}. Take about a third where "
                "the next table will have about as many rows as this one."
            )
        object.__setattr__(self, "fraction", float(self.fraction))

    def plan(self, recipe: Recipe, table: Table, name: str, seed: int) -> Job:
        """Draw rows until every class is among them."""
        rows, redrawn = rows_of_every_class(
            np.asarray(table.y), self._some, seed=seed, advice="Use a larger `fraction`, or gather more of its rows."
        )
        return Job(recipe, Retraining(name, seed, rows=rows), redrawn)

    def _some(self, labels: IntArray, rng: np.random.Generator) -> IntArray:
        return rng.integers(len(labels), size=max(1, round(self.fraction * len(labels))))


@dataclass(frozen=True)
class Architecture:
    """Other hyperparameters, drawn from ranges; the data stay the same.

    Parameters
    ----------
    ranges : mapping, callable or None
        Parameter name to (low, high) for a uniform number, whole if both ends are; to a list for a choice; or to
        anything with `rvs(random_state=...)`, such as a scipy distribution. A callable gets a numpy generator and
        returns the parameters. None takes the paper's ranges, where the model is of one of its families.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> space = Architecture({"C": (0.1, 1.0), "solver": ["lbfgs", "sag"], "max_iter": (50, 200)})
    >>> table = Table(np.array([[0.0], [1.0]]), np.array([0, 1]))
    >>> sorted(space.plan(Recipe(LogisticRegression()), table, "a", seed=1).retraining.params)
    ['C', 'max_iter', 'solver']
    """

    ranges: Ranges | None = None

    def __post_init__(self) -> None:
        drawn = callable(self.ranges) and not isinstance(self.ranges, type)
        if self.ranges is not None and not drawn and not isinstance(self.ranges, Mapping):
            raise InvalidInput(
                "`ranges` must be a mapping such as {'max_depth': (2, 6)}, a function of a random generator, or None; "
                f"got {self.ranges!r}."
            )

    def plan(self, recipe: Recipe, table: Table, name: str, seed: int) -> Job:
        """Draw every parameter independently."""
        ranges = paper_ranges(recipe.estimator) if self.ranges is None else self.ranges
        if ranges is None:
            raise InvalidInput(
                f"Architecture needs `ranges` for {type(recipe.estimator).__name__}, such as "
                'Architecture({"max_depth": (2, 6)}): the paper varies only networks, LightGBM and logistic regression.'
            )
        rng = generator(seed, "parameters")
        if callable(ranges):
            params = ranges(rng)
            if not isinstance(params, Mapping):
                raise InvalidInput(f"`ranges` must return a mapping of parameter to value; it returned {params!r}.")
        else:
            params = {parameter: draw_parameter(parameter, values, rng) for parameter, values in ranges.items()}
        retraining = Retraining(name, seed, params=params)
        set_parameters(recipe.unfitted(Retraining(name, seed)), params)
        return Job(recipe, retraining)


@dataclass(frozen=True)
class Mixture:
    """One of several spaces for each member, at random.

    Parameters
    ----------
    spaces : sequence of spaces
        Names are accepted, such as "seed".
    weights : sequence of float, optional
        Proportional to the probability of each space; equal by default.

    Examples
    --------
    >>> Mixture([Seed(), Bootstrap()], weights=[1, 3]).shares
    (0.25, 0.75)
    """

    spaces: Sequence[Any]
    weights: Sequence[float] | None = None

    def __post_init__(self) -> None:
        given = () if isinstance(self.spaces, str) else _listed("spaces", self.spaces, "spaces to draw from")
        spaces = tuple(check_space(space) for space in given)
        if not spaces or any(isinstance(space, Given) for space in spaces):
            raise InvalidInput("`spaces` must be one or more spaces that can be drawn from; Given cannot.")
        object.__setattr__(self, "spaces", spaces)
        weights = [1.0] * len(spaces) if self.weights is None else _numbers(self.weights)
        if len(weights) != len(spaces) or not min(weights) >= 0 or not 0 < sum(weights) < np.inf:
            raise InvalidInput(f"`weights` must be {len(spaces)} numbers >= 0, one a space; got {self.weights!r}.")
        object.__setattr__(self, "weights", tuple(weights))

    @property
    def shares(self) -> tuple[float, ...]:
        """The probability of each space; they sum to 1."""
        assert self.weights is not None
        return tuple(weight / sum(self.weights) for weight in self.weights)

    def plan(self, recipe: Recipe, table: Table, name: str, seed: int) -> Job:
        """Choose a space, then let it draw."""
        chosen = generator(seed, "mixture").choice(len(self.spaces), p=self.shares)
        job: Job = self.spaces[chosen].plan(recipe, table, name, seed)
        return job


@dataclass(frozen=True)
class Custom:
    """Models drawn by the user's own function.

    Parameters
    ----------
    draw : callable (X, y, seed) -> fitted model
        Gets the training table and labels as they were passed to `fit`, and a seed of its own.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> def newest_rows(X, y, seed):
    ...     cut = np.random.default_rng(seed).integers(0, len(X) // 2)
    ...     return DecisionTreeClassifier(random_state=seed).fit(X[cut:], y[cut:])
    >>> space = Custom(newest_rows)
    """

    draw: Callable[[Any, Any, int], object]

    def plan(self, recipe: Recipe, table: Table, name: str, seed: int) -> Job:
        """Leave everything to the user's code."""
        return Job(CustomTrainer(self.draw), Retraining(name, seed))


@dataclass(frozen=True, eq=False)
class CustomTrainer:
    """Trains members by the user's own function."""

    draw: Callable[[Any, Any, int], object]

    def batches(self, retrainings: Sequence[Retraining]) -> list[list[Retraining]]:
        """Make one batch per member."""
        return [[retraining] for retraining in retrainings]

    def train(self, table: Table, retrainings: Sequence[Retraining]) -> list[Outcome]:
        """Call the function once per member."""
        return [self._train_one(table, retraining) for retraining in retrainings]

    def _train_one(self, table: Table, retraining: Retraining) -> Outcome:
        try:
            model = self.draw(table.X, table.y, retraining.seed)
        except Exception as error:  # noqa: BLE001 - the user's own code may fail in any way; it is reported
            return Outcome(None, error=f"{type(error).__name__}: {error}")
        if not hasattr(model, "predict"):
            return Outcome(None, error=f"`draw` must return a fitted model with `predict`; got {model!r}")
        return Outcome(model)


@dataclass(frozen=True)
class Given:
    """Models that exist already: last year's, or those of another team.

    They are assigned to roles at random, each to one role only, and taken as a random sample of future models.

    Parameters
    ----------
    models : sequence of fitted models
        Anything with `predict`.

    Examples
    --------
    >>> from betarce import Given
    >>> from sklearn.linear_model import LogisticRegression
    >>> models = [LogisticRegression(C=c).fit([[0.0], [1.0]], [0, 1]) for c in (0.1, 1.0, 10.0)]
    >>> len(Given(models))
    3
    """

    models: Sequence[object] = field(repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "models", _listed("models", self.models, "fitted models with `predict`"))
        without = [model for model in self.models if not hasattr(model, "predict")]
        if without or not self.models:
            what = f"got {type(without[0]).__name__}" if without else "got none"
            raise InvalidInput(f"`models` must be fitted models with `predict`; {what}.")
        if len({id(model) for model in self.models}) < len(self.models):
            raise InvalidInput("`models` must be distinct; the same object is in the list more than once.")

    def __len__(self) -> int:
        return len(self.models)

    def plan(self, recipe: Recipe, table: Table, name: str, seed: int) -> Job:
        """Refuse: nothing new can be drawn."""
        raise InvalidInput(
            "Given(models) cannot draw fresh models. Keep some of yours aside, or declare how models are retrained."
        )


SPACES: Mapping[str, Callable[[], Space]] = {
    "seed": Seed,
    "bootstrap": Bootstrap,
    "new-data": NewData,
    "architecture": Architecture,
}


def check_space(space: object) -> Space:
    """Turn a name or a space into a space.

    Examples
    --------
    >>> check_space("bootstrap")
    Bootstrap(stratified=False)
    """
    if isinstance(space, str) and space in SPACES:
        return SPACES[space]()
    if isinstance(space, Space) and not isinstance(space, type):
        return space
    raise InvalidInput(
        f"`space` must be one of {', '.join(map(repr, SPACES))}, or a space such as betarce.Bootstrap(); got {space!r}."
    )


def _listed(name: str, values: Any, what: str) -> list[Any]:
    try:
        return list(values)
    except TypeError:
        raise InvalidInput(f"`{name}` must be a list of {what}; got {values!r}.") from None


def _numbers(values: Any) -> list[float]:
    """Give a list of numbers; none if it is anything else."""
    try:
        return [float(value) for value in values]
    except (TypeError, ValueError, OverflowError):
        return []
