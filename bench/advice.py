"""What people are told on a real mixed table: how much to change, how surely, and how many get an answer.

Run: ``make advice``. A LightGBM model is explained on customers who are about to leave (the Telco table, read from
``extra/telco.csv`` below ``BETARCE_DATA_DIR``) and on rejected applicants of the synthetic loans. Four settings: the
certified point closest to the person (`base=None`) and closest to a Growing Spheres base, with default and with few
members. Fresh audit members, which nothing has seen, say what is true.

A row counts as *answerable* if any point that some setting tried for it, certified or not, is accepted by at least
delta of the audit members. *Spare* are the changes that could be taken back one at a time while delta of the audit
members still agree.
"""

import argparse
import os
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console

import betarce as brce
from betarce.arrays import BoolArray, FloatArray
from betarce.errors import BetarceWarning
from betarce.features import Rule
from betarce.models.tabular import tabular_model
from betarce.paper.tables.markdown import text_table
from pages import replace_block

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "methods.md"
DELTA, CONFIDENCE = 0.9, 0.95
N_AUDIT = 500
N_TRAIN, N_ROWS = 2_000, 150
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "closest to the person": {},
    "closest to the person, few members": {"n_models": "few"},
    "Growing Spheres base": {"base": "growing-spheres"},
    "Growing Spheres base, few members": {"base": "growing-spheres", "n_models": "few"},
}
COLUMNS = ("data", "setting", "members", "answered", "of answerable", "L1", "changed", "spare", "true", "evaluations")
TELCO_RULES: Mapping[str, Rule] = {
    "gender": brce.immutable(),
    "SeniorCitizen": brce.immutable(),
    "Partner": brce.immutable(),
    "Dependents": brce.immutable(),
    "tenure": brce.increase_only(),
}


@dataclass(frozen=True, eq=False)
class Scene:
    """A table, the rules on it, and the rows to be explained."""

    name: str
    X: pd.DataFrame
    y: pd.Series
    rows: pd.DataFrame
    target: Any
    rules: Mapping[str, Rule]


def telco(folder: Path) -> Scene:
    """Read the Telco table: an id, 16 names, tenure and two amounts; wanted is that a customer stays."""
    X = pd.read_csv(folder / "extra" / "telco.csv", na_values=[" ", ""]).drop(columns="customerID")
    y = X.pop("Churn")
    return split("telco", X, y, "No", TELCO_RULES)


def loans() -> Scene:
    """Take the synthetic loans."""
    data = brce.datasets.load_loan()
    rules = {"age": brce.immutable(), "income": brce.increase_only(), "debt": brce.decrease_only()}
    return split("loans", data.X, data.y, 1, rules)


def split(name: str, X: pd.DataFrame, y: pd.Series, target: Any, rules: Mapping[str, Rule]) -> Scene:
    """Shuffle, then keep rows apart for the model, and rows of the other class to be explained."""
    X = X.astype(dict.fromkeys(X.select_dtypes(exclude=["number", "bool"]).columns, "category"))
    order = np.random.default_rng(0).permutation(len(X))
    n = min(N_TRAIN, 4 * len(X) // 5)
    train, rest = order[:n], order[n:]
    return Scene(name, X.iloc[train], y.iloc[train], X.iloc[rest], target, rules)


@dataclass(frozen=True, eq=False)
class Answers:
    """What one setting handed out; NaN where there is no answer."""

    setting: str
    members: str
    points: FloatArray
    evaluations: FloatArray

    @property
    def found(self) -> BoolArray:
        """The rows with an answer."""
        return np.asarray([not row.all() for row in np.isnan(self.points)])


def explain(scene: Scene, model: Any, rows: pd.DataFrame, seed: int) -> Iterator[tuple[Answers, brce.BetaRCE]]:
    """Explain all rows under each setting."""
    for name, settings in SETTINGS.items():
        rce = brce.BetaRCE(
            model, features=dict(scene.rules), delta=DELTA, confidence=CONFIDENCE, random_state=seed, **settings
        ).fit(scene.X, scene.y)
        result = rce.explain(rows, target=scene.target)
        points = np.full((len(rows), len(rce.features_)), np.nan)
        found = [i for i, item in enumerate(result) if item.status == "certified"]
        points[found] = rce.features_.encode(result.robust.loc[rows.index[found]])
        evaluations = np.array([item.n_evaluations for item in result], dtype=float)
        sizes = [len(part) for part in (rce.members_.search, rce.members_.certifying) if part is not None]
        yield Answers(name, " + ".join(map(str, sizes)), points, evaluations), rce


def measure(scene: Scene, seed: int) -> list[list[str]]:
    """Give a line of the table for every setting."""
    model = tabular_model("lightgbm", scene.X).set_params(random_state=0).fit(scene.X, scene.y)
    rows = scene.rows[model.predict(scene.rows) != scene.target].iloc[:N_ROWS]
    rows = rows.set_axis(range(len(rows)), axis=0)
    pairs = list(explain(scene, model, rows, seed))
    rce = pairs[0][1]
    audit, features = rce.fresh_members(N_AUDIT, role="audit"), rce.features_
    originals = features.encode(rows)
    accepts = np.array([label == scene.target for label in rce.classes_])

    def true_rate(points: FloatArray) -> FloatArray:
        return np.asarray(audit.votes(points, np.tile(accepts, (len(points), 1))) / N_AUDIT)

    rates = []
    for answers, _ in pairs:
        rate = np.full(len(rows), np.nan)
        rate[answers.found] = true_rate(answers.points[answers.found])
        rates.append(rate)
    with np.errstate(invalid="ignore"):
        answerable = np.any([rate >= DELTA for rate in rates], axis=0) | deep_rows(rce, originals, scene, true_rate)
    return [
        line(scene, a, rate, answerable, originals, features, true_rate)
        for (a, _), rate in zip(pairs, rates, strict=True)
    ]


def deep_rows(rce: brce.BetaRCE, originals: FloatArray, scene: Scene, true_rate: Any) -> BoolArray:
    """Say for which rows a training row, moved to where the rules allow, is accepted by delta of the audit members."""
    features = rce.features_
    box = features.box(originals)
    anchors = features.encode(scene.X)[true_rate(features.encode(scene.X)) >= 0.97]
    anchors = anchors[np.random.default_rng(0).permutation(len(anchors))[:40]]
    reached = np.zeros(len(originals), dtype=bool)
    for anchor in anchors:
        points = features.project(np.tile(anchor, (len(originals), 1)), box)
        reached |= (true_rate(points) >= DELTA) & rce.problem_.is_target(points, target_of(rce, scene, len(points)))
    return reached


def target_of(rce: brce.BetaRCE, scene: Scene, n: int) -> BoolArray:
    """Give the class that all rows want, as the explainer has it."""
    return np.tile(np.array([label == scene.target for label in rce.classes_]), (n, 1))


def line(
    scene: Scene,
    answers: Answers,
    rate: FloatArray,
    answerable: BoolArray,
    originals: FloatArray,
    features: brce.FeatureSpace,
    true_rate: Any,
) -> list[str]:
    """Put the figures of one setting in words."""
    found = answers.found
    gaps = features.gaps(answers.points[found], originals[found])
    changed = gaps > 0
    which, columns = np.nonzero(changed)
    back = answers.points[found][which]
    back[np.arange(len(which)), columns] = originals[found][which, columns]
    spare = float((true_rate(back) >= DELTA).mean()) if len(which) else 0.0
    return [
        scene.name,
        answers.setting,
        answers.members,
        f"{found.mean():.3f}",
        f"{(found & answerable).sum() / max(answerable.sum(), 1):.3f}",
        f"{gaps.sum(axis=1).mean():.3f}",
        f"{changed.sum(axis=1).mean():.2f}",
        f"{spare:.3f}",
        f"{(rate[found] >= DELTA).mean():.3f}",
        f"{answers.evaluations.mean():.0f}",
    ]


def main() -> None:
    """Measure, print, and write the table into its page."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-page", action="store_true", help="print only")
    arguments = parser.parse_args()
    folder = Path(os.environ.get("BETARCE_DATA_DIR", ROOT.parent / "shared" / "data"))
    scenes = [loans()]
    if (folder / "extra" / "telco.csv").exists():
        scenes.append(telco(folder))
    lines = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BetarceWarning)
        for scene in scenes:
            lines += measure(scene, arguments.seed)
    text = text_table(COLUMNS, lines)
    Console(soft_wrap=True).print(text, markup=False, highlight=False)
    if not arguments.no_page:
        replace_block(PAGE, "advice", text)


if __name__ == "__main__":
    main()
