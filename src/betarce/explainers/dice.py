"""DiCE as a base method: the closest of several diverse counterfactuals (Mothilal, Sharma and Tan, 2020)."""

import io
import random
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.special import expit

from betarce.arrays import AnyArray, BoolArray, FloatArray
from betarce.errors import InvalidInput, require
from betarce.explainers.protocol import Explained, Problem
from betarce.explainers.registry import register
from betarce.features import Box, Column
from betarce.targets import named

# What each method of dice-ml 0.12 reads: our name -> its name. Its genetic method also accepts `diversity_weight`,
# `categorical_penalty` and the post-hoc options, and never looks at them.
_POSTHOC = {"posthoc_sparsity": "posthoc_sparsity_param", "posthoc_search": "posthoc_sparsity_algorithm"}
_OPTIONS: Mapping[str, Mapping[str, str]] = {
    "random": {"sample_size": "sample_size", **_POSTHOC},
    "genetic": {
        "proximity_weight": "proximity_weight",
        "sparsity_weight": "sparsity_weight",
        "max_iterations": "maxiterations",
        "loss_tolerance": "thresh",
    },
    "kdtree": {"sparsity_weight": "sparsity_weight", **_POSTHOC},
}
_OUTCOME = "outcome"
_DECIMALS = 4  # of a column's range: the finest that DiCE proposes
_SAME = 1e-6  # of a column's range: what rounding to float32, which DiCE does, may add


@register("dice")
@dataclass(frozen=True)
class Dice:
    """Let dice-ml propose counterfactuals, and take the closest that is valid.

    Every proposal is moved to allowed values and scored by the model itself before one is chosen; what dice-ml says
    about its own answers is not believed. Needs the extra `dice`.

    Parameters
    ----------
    method : {"random", "genetic", "kdtree"}
        "random" changes one column at a time, then two, and so on, to values drawn at random; "genetic" breeds training
        rows of the target class; "kdtree" takes the nearest ones, moved to where the row may go.
    n_counterfactuals : int
        How many to ask for; more of them cost time and bring the closest one closer.
    stopping_threshold : float
        The least probability of the target, from 0.5 to 1.
    proximity_weight : float, optional
        "genetic": what distance costs.
    sparsity_weight : float, optional
        "genetic", "kdtree": what each changed column costs.
    sample_size : int, optional
        "random": how many points are drawn for each number of columns.
    max_iterations : int, optional
        "genetic": the most generations.
    loss_tolerance : float, optional
        "genetic": it stops when the best loss changes by no more than this, five times in a row.
    posthoc_sparsity : float, optional
        "random", "kdtree": afterwards, numbers that moved by less than this quantile of their deviations are taken
        back as far as possible; 0 leaves them.
    posthoc_search : {"binary", "linear"}, optional
        "random", "kdtree": how far they can be taken back is found by halving (the default) or step by step, which asks
        the model far more often.
    max_calls : int
        How often the model may be asked for one row, each time about many points. dice-ml itself has no limit: its
        genetic method draws until it meets the target class.

    Notes
    -----
    What is None is left to dice-ml; what a method does not read is refused. So are its gradient methods: they move the
    inputs of a bare network in a coding of their own, and a fitted model takes the user's table.

    Numbers reach DiCE in units of their training range, since its own weights, inverse deviations rounded to two
    decimals, would be zero for a column of incomes. What it asks about is moved to allowed values before the model
    answers, so rules that it cannot express (steps, derived columns, transitions) hold during its search.

    Examples
    --------
    >>> Dice("genetic", proximity_weight=1.0).method
    'genetic'
    >>> Dice("random", proximity_weight=1.0)
    Traceback (most recent call last):
    betarce.errors.InvalidInput: `proximity_weight` has no effect on method 'random' of DiCE; it belongs to 'genetic'.
    Leave it out.
    """

    method: Literal["random", "genetic", "kdtree"] = "random"
    n_counterfactuals: int = 8
    stopping_threshold: float = 0.5
    proximity_weight: float | None = None
    sparsity_weight: float | None = None
    sample_size: int | None = None
    max_iterations: int | None = None
    loss_tolerance: float | None = None
    posthoc_sparsity: float | None = None
    posthoc_search: Literal["binary", "linear"] | None = None
    max_calls: int = 5_000

    def __post_init__(self) -> None:
        if self.method not in _OPTIONS:
            hint = (
                " Gradient methods of DiCE need a bare network in DiCE's own coding, not a model that takes a table."
                if self.method in ("gradient", "gradientdescent")
                else ""
            )
            raise InvalidInput(f"`method` must be one of {_listed(_OPTIONS)}; got {self.method!r}.{hint}")
        for name in sorted({name for options in _OPTIONS.values() for name in options}):
            if getattr(self, name) is not None and name not in _OPTIONS[self.method]:
                owners = _listed([method for method, options in _OPTIONS.items() if name in options])
                raise InvalidInput(
                    f"`{name}` has no effect on method {self.method!r} of DiCE; it belongs to {owners}. Leave it out."
                )
        for name in ("n_counterfactuals", "sample_size", "max_iterations", "max_calls"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
                raise InvalidInput(f"`{name}` must be a whole number >= 1; got {value!r}.")
        for name, low, high in _RANGES:
            value = getattr(self, name)
            if value is not None and not low <= value <= high:
                raise InvalidInput(f"`{name}` must be a number from {low:g} to {high:g}; got {value!r}.")
        if self.posthoc_search not in (None, "binary", "linear"):
            raise InvalidInput(f"`posthoc_search` must be 'binary' or 'linear'; got {self.posthoc_search!r}.")

    @staticmethod
    def library() -> Any:
        """Import dice-ml, or say how to install it."""
        return require("dice_ml", extra="dice", purpose="The base method DiCE")

    def explain(
        self, originals: FloatArray, targets: AnyArray, problem: Problem, box: Box, seeds: Sequence[int]
    ) -> Explained:
        """Find a counterfactual for each row."""
        dice_ml = self.library()
        view = _View.of(problem)
        points = originals.copy()
        reasons = []
        n_evaluations = np.zeros(len(originals), dtype=np.intp)
        for i, (target, seed) in enumerate(zip(targets, seeds, strict=True)):
            asked = _Asked(view, problem, box.take(np.array([i])), target, self.max_calls)
            try:
                with _seeded(int(seed)), _silenced():
                    proposed = self._proposed(dice_ml, asked)
                points[i], reason = self._closest(proposed, asked)
            except _Spent:
                reason = f"DiCE asked the model {self.max_calls} times without an answer. Raise `max_calls`."
            except Exception as error:  # noqa: BLE001 - foreign code may fail in any way; the row says how
                reason = _reason(error)
            reasons.append(reason)
            n_evaluations[i] = asked.n_evaluations
        return Explained(points, np.array([not reason for reason in reasons], dtype=bool), reasons, n_evaluations)

    def _proposed(self, dice_ml: Any, asked: "_Asked") -> FloatArray:
        """Ask dice-ml about one row and give all that it returns as allowed points, shape (k, d)."""
        frame = asked.neighbours() if self.method == "kdtree" else None
        data = asked.view.data(dice_ml, frame)
        ranges = asked.ranges(data.permitted_range)
        if not ranges:
            return np.empty((0, len(asked.origin)))
        model = dice_ml.Model(model=asked, backend="sklearn", model_type="classifier")
        found = dice_ml.Dice(data, model, method=self.method).generate_counterfactuals(
            asked.query,
            total_CFs=self.n_counterfactuals,
            desired_class=_Asked.TARGET,
            features_to_vary=list(ranges),
            permitted_range=ranges,
            stopping_threshold=self.stopping_threshold,
            **self._options(asked.view),
        )
        answer = found.cf_examples_list[0]
        # Taking values back may lose the class, so what stood before is a proposal too.
        frames = [frame for frame in (answer.final_cfs_df, answer.final_cfs_df_sparse) if frame is not None]
        return np.concatenate([asked.points(frame) for frame in frames])

    def _options(self, view: "_View") -> dict[str, Any]:
        given = {theirs: getattr(self, ours) for ours, theirs in _OPTIONS[self.method].items()}
        options = {name: value for name, value in given.items() if value is not None}
        if "posthoc_search" in _OPTIONS[self.method]:
            options.setdefault("posthoc_sparsity_algorithm", "binary")
        if self.method == "genetic" and not view.numbers.any():
            options["proximity_weight"] = 0.0  # dice-ml divides by the number of numbers
        return options

    def _closest(self, proposed: FloatArray, asked: "_Asked") -> tuple[FloatArray, str]:
        """Choose among proposals the closest that the model accepts; the original and a reason if there is none."""
        if not len(proposed):
            return asked.origin, "No column may change to a value that DiCE knows. Loosen `features`."
        good = asked.is_target(proposed) & (asked.probability(proposed) >= self.stopping_threshold)
        if not good.any():
            wanted = named(asked.target, asked.problem.model.classes)
            return asked.origin, (
                f"DiCE returned {len(proposed)} points, but none has class {wanted!r} once moved to allowed values. "
                "Raise `n_counterfactuals`."
            )
        distance = asked.problem.features.distance(proposed, asked.origin[None])
        return proposed[np.where(good, distance, np.inf).argmin()], ""


_RANGES = (
    ("stopping_threshold", 0.5, 1.0),
    ("posthoc_sparsity", 0.0, 1.0),
    ("proximity_weight", 0.0, np.inf),
    ("sparsity_weight", 0.0, np.inf),
    ("loss_tolerance", 0.0, np.inf),
)


class _Spent(Exception):
    """The model was asked often enough."""


@dataclass(frozen=True, eq=False)
class _View:
    """A table as dice-ml wants it: numbers in units of their training range, names as the text of their codes.

    Attributes
    ----------
    columns : tuple of Column
    points : array of shape (n, d)
        The training rows.
    numbers : array of bool, shape (d,)
        Which columns are numbers to DiCE; names and yes-or-no are not.
    seen : list of array
        The codes that each other column has in the training rows.
    """

    columns: tuple[Column, ...]
    points: FloatArray
    numbers: BoolArray
    seen: list[FloatArray]
    _data: dict[str, Any]

    @classmethod
    def of(cls, problem: Problem) -> "_View":
        """Look at the training rows of a problem, once."""

        def look() -> _View:
            columns, points = problem.features.columns, problem.X_train
            numbers = np.array([not column.is_nominal and column.kind != "binary" for column in columns])
            seen = [np.unique(values[~np.isnan(values)]) for values in points.T]
            return cls(columns, points, numbers, seen, {})

        return problem.cached("dice", look)

    @property
    def names(self) -> list[str]:
        """What the columns are called, numbers first: dice-ml looks decimals up by the place among the numbers."""
        return [str(j) for j in np.argsort(~self.numbers, kind="stable")]

    def data(self, dice_ml: Any, frame: pd.DataFrame | None) -> Any:
        """Give dice-ml's data object, of all training rows if none are given."""
        if frame is None and "all" in self._data:
            return self._data["all"]
        rows = self.frame(self.values(self.points)) if frame is None else frame
        continuous = [name for name in self.names if self.numbers[int(name)]]
        data = dice_ml.Data(
            dataframe=rows.assign(**{_OUTCOME: 0}),  # it must be there, and nobody looks at it
            continuous_features=continuous,
            continuous_features_precision=dict.fromkeys(continuous, _DECIMALS),
            outcome_name=_OUTCOME,
        )
        if frame is None:
            self._data["all"] = data
        return data

    def values(self, points: FloatArray) -> FloatArray:
        """Turn points into what DiCE sees; what it cannot know (missing values, new names) becomes the most common."""
        values = points.copy()
        for j, column in enumerate(self.columns):
            unknown = np.isnan(values[:, j])
            if not self.numbers[j]:
                unknown |= ~np.isin(values[:, j], self.seen[j])
            values[unknown, j] = column.common[0]
            if self.numbers[j]:
                values[:, j] = (values[:, j] - column.lower) / column.scale
        return values

    def frame(self, values: FloatArray) -> pd.DataFrame:
        """Write values as a frame for dice-ml."""
        return pd.DataFrame({name: self._column(values[:, int(name)], int(name)) for name in self.names})

    def _column(self, values: FloatArray, j: int) -> Any:
        return values if self.numbers[j] else np.array([_text(value) for value in values], dtype=object)


class _Asked:
    """One row's question to the model, as dice-ml puts it: is this the target, or not?"""

    TARGET = 1

    def __init__(self, view: _View, problem: Problem, box: Box, target: AnyArray, max_calls: int) -> None:
        self.view = view
        self.problem = problem
        self.box = box
        self.target = target
        self.origin = box.origin[0]
        self.n_evaluations = 0
        self._calls_left = max_calls
        self._start = view.values(box.origin)
        self.query = view.frame(self._start)

    def predict_proba(self, frame: pd.DataFrame) -> FloatArray:
        """Give the probabilities of "not the target" and "the target", shape (n, 2)."""
        if not self._calls_left:
            raise _Spent
        self._calls_left -= 1
        self.n_evaluations += len(frame)
        p = self.probability(self.points(frame))
        return np.stack([1 - p, p], axis=1)

    def predict(self, frame: pd.DataFrame) -> AnyArray:
        """Give 1 for the target, else 0."""
        return np.asarray(self.predict_proba(frame).argmax(axis=1))

    def probability(self, points: FloatArray) -> FloatArray:
        """Give the target's probability; at least one half exactly where the model's label is accepted."""
        margins = self.problem.model.margins(points, self._targets(len(points)))[:, 0]
        p = expit(margins)
        return np.asarray(np.where(margins > 0, np.maximum(p, 0.5), np.minimum(p, np.nextafter(0.5, 0))))

    def is_target(self, points: FloatArray) -> BoolArray:
        """Say which points the model puts in the target class."""
        return self.problem.is_target(points, self._targets(len(points)))

    def _targets(self, n: int) -> AnyArray:
        return np.repeat(np.asarray(self.target)[None], n, axis=0)

    def points(self, frame: pd.DataFrame) -> FloatArray:
        """Turn what DiCE proposes into points that could be handed out."""
        names = self.view.names
        values = np.empty((len(frame), len(names)))
        values[:, [int(name) for name in names]] = frame[names].to_numpy(dtype=object).astype(float)
        same = np.abs(values - self._start) <= _SAME
        for j in np.flatnonzero(self.view.numbers):
            values[:, j] = self.view.columns[j].lower + values[:, j] * self.view.columns[j].scale
        return self._allowed(np.where(same, self.origin, values))

    def neighbours(self) -> pd.DataFrame:
        """Give the training rows as what this row could become, and the row itself."""
        moved = self._allowed(self.view.points)
        rows = np.concatenate([self.box.origin, np.where(self.box.free, moved, self.origin)])
        return self.view.frame(self.view.values(rows))

    def ranges(self, known: Mapping[str, Any]) -> dict[str, Any]:
        """Give the values that each column may take, of those that DiCE knows; without columns that must stay."""
        ranges: dict[str, Any] = {}
        for j in map(int, np.flatnonzero(self.box.free[0])):
            name, column = str(j), self.view.columns[j]
            low, high = self.box.lower[0, j], self.box.upper[0, j]
            if self.view.numbers[j]:
                low, high = (low if np.isfinite(low) else column.lower), (high if np.isfinite(high) else column.upper)
                # A little wider: DiCE compares in float32, and what it finds is moved to allowed values anyway.
                ranges[name] = [
                    (low - column.lower) / column.scale - _SAME,
                    (high - column.lower) / column.scale + _SAME,
                ]
                continue
            codes = [code for code in self.view.seen[j] if low <= code <= high and _text(code) in known[name]]
            if j in self.box.choices:
                choice = self.box.choices[j]
                codes = [code for code in codes if code in choice.values[choice.allowed[0]]]
            if any(code != self._start[0, j] for code in codes):
                ranges[name] = [_text(code) for code in codes]
        return ranges

    def _allowed(self, points: FloatArray) -> FloatArray:
        return self.problem.features.project(points, self.box.take(np.zeros(len(points), dtype=np.intp)))


def _text(code: float) -> str:
    return str(int(code))


def _listed(names: Any) -> str:
    return " or ".join(map(repr, names))


def _reason(error: Exception) -> str:
    if "No counterfactuals found" in str(error):
        return "DiCE found no counterfactual. Raise `n_counterfactuals`, try another `method`, or loosen `features`."
    return f"DiCE failed: {type(error).__name__}: {error}"


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Seed the global generators that dice-ml draws from, and give them back as they were.

    Its own `random_seed` would not do: it seeds anew for every column, so that all columns get the same draws.
    """
    before, before_numpy = random.getstate(), np.random.get_state()  # noqa: NPY002 - dice-ml knows no other
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(before)
        np.random.set_state(before_numpy)  # noqa: NPY002


@contextmanager
def _silenced() -> Iterator[None]:
    """Keep dice-ml's progress bars, prints and warnings to itself."""
    sink = io.StringIO()
    with warnings.catch_warnings(), np.errstate(all="ignore"), redirect_stdout(sink), redirect_stderr(sink):
        warnings.simplefilter("ignore")
        yield
