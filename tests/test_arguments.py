"""Whatever is passed for an argument, what comes back is an answer or an error of our own."""

import warnings
from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression

import betarce as brce
from betarce import explainers, metrics
from betarce.errors import BetarceError, InvalidInput

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame({"a": RNG.integers(0, 12, 40), "b": RNG.normal(size=40).round(2)})
LABELS = (TABLE["a"] / 12 + TABLE["b"] > 0.5).astype(int).to_numpy()


class Contrary:
    """Compares with nothing, and cannot be a key."""

    __hash__ = None

    def __eq__(self, other):
        raise RuntimeError

    def __repr__(self):
        return "Contrary()"


ODD = [
    *[None, True, False, 0, -1, 3.5, np.nan, np.inf, 10**400, "", "x", "é\x00\ud800", b"a", [], [1], ["a"], {}, {1: 2}],
    *[(), (1, 2), {1}, object(), Contrary(), Contrary, len, np.float32(0.5), np.array(1), np.array([]), np.eye(2)],
    *[np.array(["a", None], dtype=object), [[1], [1, 2]], pd.Series([1, 2]), pd.DataFrame(), TABLE[:2], pd.NA, pd.NaT],
    *[TABLE[:2].to_records(), pl.DataFrame({"a": [1], "b": [1.0]}), Decimal("0.9"), 1j, date(2024, 1, 1), range(3)],
    *[LogisticRegression(), brce.immutable, brce.immutable(), brce.Bootstrap(), "/nowhere/x"],
]
OPTIONS = {"n_models": (2, 6), "delta": 0.6, "confidence": 0.7, "random_state": 0, "n_jobs": 1, "verbose": -1}


@pytest.fixture(scope="module")
def fitted():
    return brce.BetaRCE(LogisticRegression(), **OPTIONS).fit(TABLE, LABELS)


def only_own_errors(call, values=ODD):
    found = []
    for value in values:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                repr(call(value))
        except BetarceError:
            continue
        except Exception as error:  # noqa: BLE001 - that is what is asked
            found.append(f"{value!r}: {type(error).__name__}: {error}"[:200])
    assert not found, "\n".join(found)


def rule_for_a(rule):
    return brce.FeatureSpace.infer(TABLE, rules={"a": rule})


RULES = {
    **{name: (lambda v, n=name: rule_for_a(getattr(brce, n)(v))) for name in ("at_most", "cost", "one_of", "ordinal")},
    **{
        name: (lambda v, n=name: rule_for_a(getattr(brce, n)(v))) for name in ("transitions", "no_more_than", "derived")
    },
    "between": lambda v: rule_for_a(brce.between(v, 5)),
    "integer": lambda v: rule_for_a(brce.integer(step=v)),
    "categorical": lambda v: rule_for_a(brce.categorical(v)),
    "transitions from one": lambda v: rule_for_a(brce.transitions({1: v})),
    "a rule and": lambda v: None if hasattr(v, "__rand__") else brce.immutable() & v,
    "rules": lambda v: brce.FeatureSpace.infer(TABLE, rules=v),
    "more rules": lambda v: brce.FeatureSpace.infer(TABLE).with_rules(v),
    "decode": lambda v: brce.FeatureSpace.infer(TABLE).decode(v),
    "write_rules": brce.write_rules,
}


@pytest.mark.parametrize("name", RULES)
def test_rules_of_the_wrong_kind_ended_in_errors_of_python(name):
    only_own_errors(RULES[name])


GUARANTEES = {
    **{name: (lambda v, n=name: brce.Guarantee(**{n: v}).quorum(60)) for name in ("delta", "confidence", "prior")},
    **{name: (lambda v, n=name: brce.Guarantee(**{n: v}).quorum(60)) for name in ("tail", "reserve")},
    **{name: getattr(brce.Guarantee(), name) for name in ("quorum", "max_delta", "min_models", "efficient_size")},
    "at_most": lambda v: brce.Guarantee().efficient_size(60, at_most=v),
    "n_agree": lambda v: brce.Guarantee().certify(v, 40),
    "votes": lambda v: brce.Guarantee().lower_bound(v, 40),
    "votes enough": lambda v: brce.Guarantee().certifies(v, 40),
    **{
        name: (lambda v, n=name: brce.Guarantee().certify(3, 40, **{n: v}).to_json())
        for name in ("space", "point", "members", "target")
    },
    "prior a": lambda v: brce.Prior(v, 1),
    "prior b": lambda v: brce.Prior(1, v),
    "certificate": brce.Certificate.from_json,
}


@pytest.mark.parametrize("name", GUARANTEES)
def test_guarantees_of_the_wrong_kind_ended_in_errors_of_python(name):
    only_own_errors(GUARANTEES[name])


SPACES = {
    "Bootstrap": brce.Bootstrap,
    "Architecture": brce.Architecture,
    "Mixture": brce.Mixture,
    "Given": brce.Given,
    "weights": lambda v: brce.Mixture([brce.Seed(), brce.Bootstrap()], v),
}


@pytest.mark.parametrize("name", SPACES)
def test_spaces_of_the_wrong_kind_ended_in_errors_of_python(name):
    only_own_errors(SPACES[name])


def parameters(kind):
    return [(kind, name) for name in kind.__dataclass_fields__]


METHODS = [brce.FrontierSearch, brce.GrowingSpheresSearch, explainers.Closest, explainers.Face, explainers.Nice]
METHODS += [explainers.RobustNearest, explainers.NearestUnlike, explainers.Roar, explainers.Rbr, explainers.Wachter]
METHODS += [explainers.RobX, explainers.TRex]


@pytest.mark.parametrize(("kind", "name"), [pair for kind in METHODS for pair in parameters(kind)])
def test_parameters_of_methods_of_the_wrong_kind_ended_in_errors_of_python(kind, name):
    only_own_errors(lambda value: kind(**{name: value}))


@pytest.mark.parametrize("name", ["certify_on", "n_models", "n_audit", "store", "X", "y"])
def test_arguments_of_fit_of_the_wrong_kind_ended_in_errors_of_python(name):
    def fit(value):
        own = {name: value} if name in ("certify_on", "n_models") else {}
        tables = {"X": TABLE, "y": LABELS, **({} if own else {name: value})}
        return brce.BetaRCE(LogisticRegression(), **{**OPTIONS, **own}).fit(**tables)

    only_own_errors(fit, [value for value in ODD if not isinstance(value, int) or abs(value) > 10])


def test_arguments_after_fit_of_the_wrong_kind_ended_in_errors_of_python(fitted):
    result = fitted.explain(TABLE[:2])
    only_own_errors(lambda value: fitted.explain(TABLE[:2], target=value))
    only_own_errors(lambda value: fitted.certify(TABLE[:2], target=value))
    only_own_errors(lambda value: fitted.fresh_members(2, role=value), [None, 3, b"a", "é\x00\ud800", Contrary()])
    only_own_errors(lambda value: fitted.fresh_members(value), [10**400, 0, "x"])
    only_own_errors(lambda value: result[value], [None, "x", 1.0, (0, 1), Contrary()])
    only_own_errors(result.points)
    only_own_errors(result.summary)
    only_own_errors(brce.Result.from_json)
    only_own_errors(
        lambda value: fitted.save("/nowhere/run", n_audit=value),
        [value for value in ODD if type(value) not in (int, bool)],
    )
    only_own_errors(lambda value: brce.load("/nowhere/run", trust=value))


def compared(**arguments):
    options = {"n_audit": 4, "delta": 0.6, "confidence": 0.7, "random_state": 0, "n_jobs": 1, "verbose": -1}
    given = {"methods": ["nearest"], "model": LogisticRegression(), "space": "bootstrap", "X_train": TABLE}
    return brce.compare(**{**given, "y_train": LABELS, "rows": TABLE[:2], **options, **arguments})


COMPARISONS = {
    "methods": lambda v: compared(methods=v),
    "a method": lambda v: compared(methods=[v]),
    "a named method": lambda v: compared(methods=[("mine", v)]),
    "the name of a method": lambda v: compared(methods=[(v, "nearest")]),
    "base": lambda v: compared(base=v),
    "features": lambda v: compared(features=v),
    "delta": lambda v: compared(delta=v),
    "grids": lambda v: compared(grids=v),
    "a grid": lambda v: compared(methods=["face"], grids={"face": v}),
    "values of a grid": lambda v: compared(methods=["face"], grids={"face": {"fraction": v}}),
    "a parameter of a grid": lambda v: compared(methods=["face"], grids={"face": {"x": [v]}}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_of_the_wrong_kind_ended_in_errors_of_python(name):
    only_own_errors(COMPARISONS[name])


def test_a_grid_without_end_is_refused_before_anything_is_trained():
    with pytest.raises(
        InvalidInput, match=r"`grids` must give 1 to 10,000 configurations for each method; got 1,000,0"
    ):
        compared(methods=["face"], grids={"face": dict.fromkeys("abcdef", range(10))})


def test_measures_of_the_wrong_kind_ended_in_errors_of_python(fitted):
    rows, model, points = TABLE[:2], fitted.model_, TABLE[:2].to_numpy(dtype=float)
    for measure in (metrics.proximity, metrics.plausibility, metrics.sparsity):
        only_own_errors(lambda value, f=measure: f(value, rows))
        only_own_errors(lambda value, f=measure: f(rows, value))
        only_own_errors(lambda value, f=measure: f(rows, rows, scale=value))
    only_own_errors(lambda value: metrics.proximity(rows, rows, p=value))
    only_own_errors(lambda value: metrics.plausibility(rows, TABLE, n_neighbors=value))
    only_own_errors(lambda value: metrics.sparsity(rows, rows, tolerance=value))
    only_own_errors(lambda value: metrics.validity(value, rows, 1))
    only_own_errors(lambda value: metrics.validity(model, value, 1))
    only_own_errors(lambda value: metrics.validity(model, rows, value))
    only_own_errors(lambda value: metrics.robustness(value, rows, 1))
    only_own_errors(lambda value: metrics.empirical_robustness(model, value, rows))
    only_own_errors(lambda value: metrics.empirical_robustness(model, [model], value))
    for measure in (metrics.interval_margin, metrics.interval_robust, metrics.sampled_robust):
        only_own_errors(lambda value, f=measure: f(model, value, 1, radius=0.1))
        only_own_errors(lambda value, f=measure: f(model, points, 1, radius=value))
        only_own_errors(lambda value, f=measure: f(model, points, 1, radius=0.1, norm=value))


def test_arguments_of_a_ledger_of_the_wrong_kind_ended_in_errors_of_python(fitted, tmp_path):
    result = fitted.explain(TABLE[:2])
    with brce.Ledger(tmp_path / "promises.db") as ledger:
        ledger.record(result)
        for name in ("cohort", "key", "private"):
            only_own_errors(lambda value, n=name: ledger.record(result, **{n: value}))
        for name in ("run", "name", "deployed", "dry_run"):
            only_own_errors(lambda value, n=name: ledger.recheck(fitted.model_, **{n: value}))
        for method in (ledger.honour, ledger.withdraw, ledger.refer, ledger.erase, ledger.promises, ledger.verify):
            only_own_errors(method)
        only_own_errors(ledger.record_recheck)
    for name in ("read_only", "timeout"):
        only_own_errors(lambda value, n=name: brce.Ledger(tmp_path / "promises.db", **{n: value}).close())
    only_own_errors(lambda value: brce.Ledger(tmp_path / "other.db", clock=value).close())
