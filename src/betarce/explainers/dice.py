"""DiCE as a base method: the closest of several diverse counterfactuals (Mothilal, Sharma and Tan, 2020)."""

import io
import random
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from betarce.arrays import AnyArray, FloatArray
from betarce.errors import InvalidInput, require
from betarce.explainers.dice_view import Asked, Spent, View
from betarce.explainers.protocol import Explained, Problem
from betarce.explainers.registry import register
from betarce.features import Box
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
        view = View.of(problem)
        points = originals.copy()
        reasons = []
        n_evaluations = np.zeros(len(originals), dtype=np.intp)
        for i, (target, seed) in enumerate(zip(targets, seeds, strict=True)):
            asked = Asked(view, problem, box.take(np.array([i])), target, self.max_calls)
            try:
                with _seeded(int(seed)), _silenced():
                    proposed = self._proposed(dice_ml, asked)
                points[i], reason = self._closest(proposed, asked)
            except Spent:
                reason = f"DiCE asked the model {self.max_calls} times without an answer. Raise `max_calls`."
            except Exception as error:  # noqa: BLE001 - foreign code may fail in any way; the row says how
                reason = _reason(error)
            reasons.append(reason)
            n_evaluations[i] = asked.n_evaluations
        return Explained(points, np.array([not reason for reason in reasons], dtype=bool), reasons, n_evaluations)

    def _proposed(self, dice_ml: Any, asked: Asked) -> FloatArray:
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
            desired_class=Asked.TARGET,
            features_to_vary=list(ranges),
            permitted_range=ranges,
            stopping_threshold=self.stopping_threshold,
            **self.options(asked.view),
        )
        answer = found.cf_examples_list[0]
        # Taking values back may lose the class, so what stood before is a proposal too.
        frames = [frame for frame in (answer.final_cfs_df, answer.final_cfs_df_sparse) if frame is not None]
        return np.concatenate([asked.points(frame) for frame in frames])

    def options(self, view: View) -> dict[str, Any]:
        given = {theirs: getattr(self, ours) for ours, theirs in _OPTIONS[self.method].items()}
        options = {name: value for name, value in given.items() if value is not None}
        if "posthoc_search" in _OPTIONS[self.method]:
            options.setdefault("posthoc_sparsity_algorithm", "binary")
        if self.method == "genetic" and not view.numbers.any():
            options["proximity_weight"] = 0.0  # dice-ml divides by the number of numbers
        return options

    def _closest(self, proposed: FloatArray, asked: Asked) -> tuple[FloatArray, str]:
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
