"""Methods side by side: the same model, the same rows, and the same fresh members that measure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from betarce.comparison.forms import FORMS
from betarce.comparison.grids import Grid, check_grids, configurations
from betarce.comparison.scores import MEANS, ExplainedRows
from betarce.comparison.tuning import TUNING_MEMBERS, OtherMethods, answer_of, configured
from betarce.errors import InvalidInput
from betarce.explainers import EXPLAINERS, check_explainer
from betarce.explainers.protocol import NeedsLibrary
from betarce.members import deal
from betarce.plotting.labels import write_labels
from betarce.plotting.style import BLUE, GREEN, GREY, ORANGE, new_axes
from betarce.progress import progress
from betarce.robustify import BetaRCE
from betarce.seeding import check_seed
from betarce.spaces import Given


@dataclass(frozen=True, eq=False)
class Comparison:
    """What each method did for each row.

    Attributes
    ----------
    per_row : DataFrame
        One line per method and row: "found", "robustness" (the share of fresh members that keep the class), "covered"
        (whether that is at least delta), "proximity_l1" and "proximity_l2" (to the original), "plausibility" (mean L2
        to the 15 nearest training rows), "distance_to_base" (L1, for methods that have a base), "changed" (features),
        "evaluations", "ms" and "reason". Blank where there is no answer.
    chosen : mapping of method to mapping
        The parameters that tuning chose.
    delta : float

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.linear_model import LogisticRegression
    >>> from betarce import compare
    >>> X, y = make_moons(80, noise=0.2, random_state=0)
    >>> comparison = compare(
    ...     ["nearest", "nice"], LogisticRegression(), "bootstrap", X, y, rows=X[y == 0][:4], n_audit=10, random_state=0
    ... )
    >>> comparison
    Comparison(2 methods, 4 rows)
    >>> comparison.summary()["found"].to_dict()
    {'nearest': 1.0, 'nice': 1.0}
    """

    per_row: pd.DataFrame
    chosen: Mapping[str, Mapping[str, Any]]
    delta: float

    def __repr__(self) -> str:
        return f"Comparison({self.per_row['method'].nunique()} methods, {self.per_row['row'].nunique()} rows)"

    def __str__(self) -> str:
        """Lay the means out for a terminal of 80 columns."""
        table = self.summary()
        shown = pd.DataFrame(
            {
                "found": [f"{share:.0%}" for share in table["found"]],
                "robustness": [
                    "-" if np.isnan(mean) else f"{mean:.3f} ± {error:.3f}"
                    for mean, error in zip(table["robustness"], table["robustness_se"], strict=True)
                ],
                "L1": _short(table["proximity_l1"]),
                "to base": _short(table["distance_to_base"]),
                "changed": _short(table["changed"]),
                "ms": _short(table["ms"]),
            },
            index=table.index.rename(None),
        )
        return f"{self!r}, delta {self.delta:g}\n{shown.to_string()}"

    def summary(self) -> pd.DataFrame:
        """Give one line per method: means, and the standard error of the robustness.

        A row without an answer lowers "found" and has no part in the other means; read them together. `print` of the
        comparison itself shows the most important ones, rounded.
        """
        groups = self.per_row.groupby("method", sort=False)
        table = groups[list(MEANS)].mean()
        table.insert(0, "robustness_se", groups["robustness"].sem())
        table.insert(0, "rows", groups.size())
        # A narrow terminal hides the middle of a table: what matters most stands at its ends.
        first, last = ["robustness", "proximity_l1", "found", "robustness_se"], ["distance_to_base", "changed", "ms"]
        return table[[*first, *table.columns.difference([*first, *last], sort=False), *last]]

    def plot(self, ax: Any = None) -> Any:
        """Draw robustness against distance, one mark per method; gives the matplotlib axes."""
        ax = new_axes(ax, 6.4, 4.4)
        table = self.summary().dropna(subset="proximity_l1")
        for name, line in table.iterrows():
            ours = str(name).startswith("betarce")
            color = GREEN if ours else BLUE if np.isnan(line["distance_to_base"]) else ORANGE
            at = (line["proximity_l1"], line["robustness"])
            ax.errorbar(
                *at, yerr=line["robustness_se"], fmt="*" if ours else "o", ms=13 if ours else 7, color=color, lw=1
            )
        ax.axhline(self.delta, color=GREY, lw=0.8, ls="--")
        place = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "xytext": (-4, 3)}
        ax.annotate(f"delta = {self.delta:g}", (1, self.delta), ha="right", fontsize=8, **place)
        ax.margins(x=0.2, y=0.1)
        ax.set(
            xlabel="L1 distance to the original (in ranges of the features)",
            ylabel="share of fresh models that keep the class",
            title="Robustness against distance",
        )
        self._write_names(ax, table)
        return ax

    def _write_names(self, ax: Any, table: pd.DataFrame) -> None:
        (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
        ax.set(xlim=(left, right), ylim=(low, high))  # what is written does not move them
        x, y, error = (table[name].to_numpy() for name in ("proximity_l1", "robustness", "robustness_se"))
        thick = (right - left) / 300
        bars = np.stack([x - thick, y - np.nan_to_num(error), x + thick, y + np.nan_to_num(error)], axis=1)
        line = (left, self.delta - (high - low) / 300, right, self.delta + (high - low) / 300)
        word = (right - 0.2 * (right - left), self.delta, right, self.delta + 0.06 * (high - low))
        names = [f"{name}{'' if found == 1 else f' ({found:.0%} found)'}" for name, found in table["found"].items()]
        write_labels(ax, np.stack([x, y], axis=1), names, obstacles=[*bars, line, word])


def _short(means: "pd.Series[Any]") -> list[str]:
    return ["-" if np.isnan(mean) else f"{mean:.3g}" for mean in means]


def compare(
    methods: Iterable[Any],
    model: Any,
    space: Any,
    X_train: Any,
    y_train: Any,
    *,
    rows: Any,
    target: Any = None,
    base: Any = "growing-spheres",
    features: Any = None,
    delta: float = 0.9,
    confidence: float = 0.95,
    n_audit: int = 100,
    grids: str | Mapping[str, Grid] | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Comparison:
    """Compare methods on the same rows, and let the same fresh members judge all of them.

    Parameters
    ----------
    methods : iterable of str, explainer, callable, or pair (name, any of these)
        Explainers by name ("face", "roar", ...), "betarce" (frontier search, fresh certifying members) and
        "betarce-paper" (the paper's search, certified by the members that steered it).
    model, space, features, delta, confidence, random_state, n_jobs, verbose
        As in `BetaRCE`.
    X_train, y_train
        The training table.
    rows : DataFrame or array of shape (n, d)
        What to explain; apart from the training table.
    target : label, set of labels, or one of either per row, optional
        As in `BetaRCE.explain`.
    base : str, explainer or callable
        What both forms of BetaRCE start from.
    n_audit : int
        Fresh members that measure the robustness; no method sees them.
    grids : "paper", mapping of method to grid, or None
        Methods that have a grid are first tried with each of its configurations on some training rows, against members
        that serve for nothing else; the one of highest empirical robustness is then compared. "paper" takes the grids
        of the paper's appendix.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), LogisticRegression())
    >>> comparison = compare(
    ...     ["growing-spheres", "betarce"], model, "bootstrap", X[:400], y[:400], rows=X[400:410],
    ...     delta=0.8, confidence=0.9, n_audit=20, random_state=0,
    ... )
    >>> comparison
    Comparison(2 methods, 10 rows)
    >>> robustness = comparison.summary()["robustness"]
    >>> bool(robustness["betarce"] > robustness["growing-spheres"])
    True
    """
    chosen_methods = _named(methods)
    grid_of = check_grids(grids, chosen_methods)
    for name, grid in grid_of.items():
        for parameters in configurations(grid):
            configured(chosen_methods[name], parameters)  # refused before anything is trained
    settings: dict[str, Any] = {
        "delta": delta,
        "confidence": confidence,
        "random_state": check_seed(random_state),
        "n_jobs": n_jobs,
    }
    ours = BetaRCE(model, space=space, base=base, features=features, verbose=verbose, **settings)
    ours.fit(X_train, y_train)
    others = OtherMethods(
        ours.problem_, settings["random_state"], lambda: ours.fresh_members(TUNING_MEMBERS, role="tune")
    )
    chosen = others.tune(chosen_methods, grid_of, verbose)
    audit = ours.fresh_members(n_audit)
    batch = ExplainedRows.of(ours.problem_, rows, target)
    tables = []
    with progress("Comparing methods", total=len(chosen_methods), verbose=verbose) as advance:
        for name, method in chosen_methods.items():
            if isinstance(method, str) and method in FORMS:
                rce = ours if method == "betarce" else _paper(ours, settings)
                answer = answer_of(rce, batch)
            else:
                answer = others.run(method, name, chosen.get(name, {}), batch)
            tables.append(batch.measure(name, answer.explained, answer.seconds, audit, delta))
            advance(1)
    return Comparison(pd.concat(tables, ignore_index=True), chosen, delta)


def _paper(ours: BetaRCE, settings: Mapping[str, Any]) -> BetaRCE:
    """Give the paper's form, on as many members as it needs."""
    form, space, seed = FORMS["betarce-paper"], ours.members_.space, settings["random_state"]
    n, _ = form.sizes("auto", form.guarantee(settings["delta"], settings["confidence"]))
    there = ours.members_.draw_of("search") if isinstance(space, Given) else ours.fresh_draw(n, role="paper")
    draws = deal(there, {"search": len(there)}, seed=seed)
    members = ours.subject_.members(draws, space=space, seed=seed)
    paper = BetaRCE(
        ours.model_,
        space=space,
        base=ours.base,
        features=ours.features_,
        search=form.searching({}),
        certify_on=form.certify_on,
        prior=form.prior,
        n_models=len(there),
        verbose=-1,
        **settings,
    )
    return paper.fit_with(ours.subject_, members, seed=seed)


def _named(methods: Iterable[Any]) -> dict[str, Any]:
    if isinstance(methods, str):
        methods = [methods]
    if not isinstance(methods, Iterable) or isinstance(methods, (bytes, Mapping)) or getattr(methods, "ndim", 1) != 1:
        raise InvalidInput(f"`methods` must be a list of methods, each by name or as an explainer; got {methods!r}.")
    chosen: dict[str, Any] = {}
    for method in methods:
        name, value = method if isinstance(method, tuple) and len(method) == 2 else (None, method)
        if isinstance(value, str) and value not in (*EXPLAINERS, *FORMS):
            raise InvalidInput(
                f"`methods` names {value!r}, which is unknown. Known: {', '.join((*FORMS, *EXPLAINERS))}."
            )
        if value is None or (name is not None and not _is_name(name)):
            raise InvalidInput(f"`methods` must be methods, or pairs of a name and a method; got {method!r}.")
        checked = None if isinstance(value, str) and value in FORMS else check_explainer(value)
        if isinstance(checked, NeedsLibrary):
            checked.library()  # a missing library is found before anything is trained
        if not isinstance(value, str):
            value = checked
        name = name or (value if isinstance(value, str) else type(value).__name__)
        if name in chosen:
            raise InvalidInput(f"`methods` has {name!r} twice. Give one of them another name: ('my name', method).")
        chosen[name] = value
    if not chosen:
        raise InvalidInput("`methods` must name at least one method; got none.")
    return chosen


def _is_name(name: Any) -> bool:
    # Seeds are derived from names, and a lone surrogate has no bytes.
    return isinstance(name, str) and bool(name) and name.encode("utf-8", "ignore").decode() == name
