"""DiCE as a base method: the contract, rules, options that reach dice-ml, and answers that are not believed."""

import random
import sys
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import betarce as brce
from betarce.ensemble import Ensemble
from betarce.errors import InvalidInput, MissingExtra
from betarce.explainers import EXPLAINERS, Dice, Problem
from betarce.explainers.dice_view import Asked, View
from betarce.features import FeatureSpace
from betarce.targets import accepted
from contract_cases import keeps_the_contract
from small_problem import (
    FEATURES,
    LABELS,
    MODEL,
    ORIGINALS,
    POINTS,
    PROBLEM,
    SEEDS,
    TABLE,
    TARGETS,
)

pytestmark = pytest.mark.dice

needs_dice = pytest.mark.skipif(find_spec("dice_ml") is None, reason='dice-ml is not installed: pip install ".[dice]"')

RANDOM = Dice("random", n_counterfactuals=2, sample_size=60)
GENETIC = Dice("genetic", n_counterfactuals=2, max_iterations=6)
KDTREE = Dice("kdtree", n_counterfactuals=2)
METHODS = pytest.mark.parametrize("explainer", [RANDOM, GENETIC, KDTREE], ids=lambda explainer: explainer.method)

test_random_keeps_the_contract = needs_dice(keeps_the_contract(RANDOM))

test_genetic_keeps_the_contract = needs_dice(keeps_the_contract(GENETIC))

test_kdtree_keeps_the_contract = needs_dice(keeps_the_contract(KDTREE))


def explain(explainer, rows=(0, 1, 2), problem=PROBLEM, originals=ORIGINALS, targets=TARGETS):
    rows = list(rows)
    box = problem.features.box(originals[rows])
    return explainer.explain(originals[rows], targets[rows], problem, box, [SEEDS[i] for i in rows])


def problem_of(table, labels, model, rules=None):
    features = FeatureSpace.infer(table, rules=rules)
    classes = np.unique(labels)
    return Problem(Ensemble([model], classes, features=features), features, features.encode(table), labels)


@pytest.fixture
def calls(monkeypatch):
    """What dice-ml is asked, call by call."""
    base = pytest.importorskip("dice_ml.explainer_interfaces.explainer_base").ExplainerBase
    real, seen = base.generate_counterfactuals, []

    def spy(self, query, **options):
        answer = real(self, query, **options)
        seen.append({**options, "query": query, "explainer": type(self).__name__, "answer": answer})
        return answer

    monkeypatch.setattr(base, "generate_counterfactuals", spy)
    return seen


# Options


@needs_dice
@pytest.mark.parametrize(
    ("explainer", "name", "expected"),
    [
        (Dice("random", n_counterfactuals=3, sample_size=50), "total_CFs", 3),
        (Dice("random", sample_size=50), "sample_size", 50),
        (Dice("random", sample_size=50, stopping_threshold=0.7), "stopping_threshold", 0.7),
        (Dice("random", sample_size=50, posthoc_sparsity=0.4), "posthoc_sparsity_param", 0.4),
        (Dice("random", sample_size=50), "posthoc_sparsity_algorithm", "binary"),
        (Dice("kdtree", posthoc_search="linear"), "posthoc_sparsity_algorithm", "linear"),
        (Dice("kdtree", sparsity_weight=0.3), "sparsity_weight", 0.3),
        (Dice("genetic", max_iterations=2, n_counterfactuals=2), "maxiterations", 2),
        (Dice("genetic", max_iterations=2, n_counterfactuals=2, loss_tolerance=0.3), "thresh", 0.3),
        (Dice("genetic", max_iterations=2, n_counterfactuals=2, proximity_weight=0.7), "proximity_weight", 0.7),
        (Dice("genetic", max_iterations=2, n_counterfactuals=2, sparsity_weight=0.9), "sparsity_weight", 0.9),
    ],
)
def test_options_reach_dice_ml(calls, explainer, name, expected):
    explain(explainer, rows=[0])
    assert calls[0][name] == expected
    assert calls[0]["explainer"].lower().startswith(f"dice{explainer.method[:2]}")
    assert calls[0]["desired_class"] == 1
    assert isinstance(calls[0]["desired_class"], int)


@needs_dice
def test_more_counterfactuals_bring_the_closest_one_closer():
    few, many = (explain(Dice(sample_size=100, n_counterfactuals=n), rows=range(6)) for n in (1, 20))
    assert few.found.all()
    assert many.found.all()
    distances = [FEATURES.distance(result.points, ORIGINALS[:6]).mean() for result in (few, many)]
    assert distances[1] < 0.9 * distances[0]


@needs_dice
@METHODS
def test_the_stopping_threshold_holds_for_what_is_handed_out(explainer):
    result = explain(replace(explainer, stopping_threshold=0.9))
    assert result.found.any()
    sure = MODEL.predict_proba(FEATURES.decode(result.points))[TARGETS[:3]]
    assert (sure[result.found] >= 0.9).all()


@needs_dice
@pytest.mark.parametrize(
    ("less", "more"),
    [
        (Dice(sample_size=20), Dice(sample_size=200)),
        (Dice(sample_size=50, posthoc_sparsity=0), Dice(sample_size=50, posthoc_sparsity=1)),
        (
            Dice(sample_size=50, n_counterfactuals=5, posthoc_sparsity=1, posthoc_search="binary"),
            Dice(sample_size=50, n_counterfactuals=5, posthoc_sparsity=1, posthoc_search="linear"),
        ),
        (replace(GENETIC, max_iterations=1), replace(GENETIC, max_iterations=8)),
    ],
    ids=["sample_size", "posthoc_sparsity", "posthoc_search", "max_iterations"],
)
def test_options_that_mean_more_work_spend_more_evaluations(less, more):
    assert explain(less).n_evaluations.sum() < explain(more).n_evaluations.sum()


@needs_dice
def test_weights_of_the_genetic_method_change_what_it_breeds(calls):
    for weights in ({}, {"proximity_weight": 50.0}, {"sparsity_weight": 50.0}):
        explain(Dice("genetic", n_counterfactuals=3, max_iterations=15, **weights), rows=[0])
    bred = [call["answer"].cf_examples_list[0].final_cfs_df.to_numpy().tolist() for call in calls]
    assert bred[0] != bred[1]
    assert bred[0] != bred[2]


@needs_dice
def test_the_genetic_method_of_dice_ml_still_ignores_what_is_not_offered(calls, monkeypatch):
    plain = explain(GENETIC, rows=[0]).points
    own = Dice.options
    ignored = {"diversity_weight": 1e6, "categorical_penalty": 1e6, "posthoc_sparsity_param": 1.0}
    monkeypatch.setattr(Dice, "options", lambda self, view: own(self, view) | ignored)
    np.testing.assert_array_equal(explain(GENETIC, rows=[0]).points, plain)
    assert calls[-1]["diversity_weight"] == 1e6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "magic"}, "`method` must be one of 'random' or 'genetic' or 'kdtree'; got 'magic'.$"),
        ({"method": "gradient"}, "got 'gradient'. Gradient methods of DiCE need a bare network"),
        ({"method": "kdtree", "sample_size": 9}, "`sample_size` has no effect on method 'kdtree' of DiCE; .* 'random'"),
        ({"method": "genetic", "posthoc_sparsity": 0.1}, "it belongs to 'random' or 'kdtree'. Leave it out"),
        ({"n_counterfactuals": 0}, "`n_counterfactuals` must be a whole number >= 1; got 0"),
        ({"max_calls": 1.5}, "`max_calls` must be a whole number >= 1; got 1.5"),
        ({"stopping_threshold": 0.3}, "`stopping_threshold` must be a number from 0.5 to 1; got 0.3"),
        ({"posthoc_sparsity": 2}, "`posthoc_sparsity` must be a number from 0 to 1; got 2"),
        ({"method": "genetic", "proximity_weight": -1}, "`proximity_weight` must be a number from 0 to inf; got -1"),
        ({"posthoc_search": "ternary"}, "`posthoc_search` must be 'binary' or 'linear'; got 'ternary'"),
    ],
)
def test_options_that_cannot_be_used_are_refused(options, message):
    with pytest.raises(InvalidInput, match=message):
        Dice(**options)


# Rules


@needs_dice
@METHODS
def test_rules_reach_dice_row_by_row(calls, explainer):
    originals = ORIGINALS[:2]
    overrides = [{"b": brce.immutable()}, {"a": brce.increase_only() & brce.at_most(0.25)}]
    box = FEATURES.box(originals, overrides)
    explainer.explain(originals, TARGETS[:2], PROBLEM, box, SEEDS[:2])
    assert all("2" not in call["features_to_vary"] for call in calls)  # c is immutable
    assert "1" not in calls[0]["features_to_vary"]
    assert "1" in calls[1]["features_to_vary"]
    assert set(calls[0]["permitted_range"]["3"]) <= {"0", "1"}  # x and y, never z
    low, high = calls[1]["permitted_range"]["0"]
    assert high - low == pytest.approx(0.25 / FEATURES.scale[0], abs=1e-5)


def rich_table():
    rng = np.random.default_rng(5)
    n = 150
    table = pd.DataFrame(
        {
            "city": rng.choice(["Bonn", "Oslo", "Rome"], n),
            "income": rng.integers(10, 90, n) * 1000,
            "debt": rng.integers(0, 40, n) * 1000,
            "level": pd.Categorical(rng.choice(["low", "mid", "top"], n), ["low", "mid", "top"], ordered=True),
            "owner": rng.random(n) < 0.5,
            "years": rng.integers(0, 20, n).astype(float),
        }
    )
    table["burden"] = (table["debt"] / table["income"]).round(3)
    table.loc[::7, "years"] = np.nan
    score = 0.4 - table["burden"] + 0.3 * (table["level"] == "top") + 0.2 * table["owner"]
    labels = np.array(["bad", "fair", "good"])[np.digitize(score, np.quantile(score, [0.4, 0.7]))]
    names = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    encode = ColumnTransformer([("names", names, ["city", "level"])], remainder="passthrough")
    return table, labels, make_pipeline(encode, DecisionTreeClassifier(max_depth=6, random_state=0)).fit(table, labels)


@needs_dice
@METHODS
def test_real_tables_and_several_accepted_classes(explainer):
    table, labels, model = rich_table()
    rules = {
        "burden": brce.derived(lambda t: (t["debt"] / t["income"]).round(3)),
        "debt": brce.decrease_only() & brce.integer(step=500),
        "income": brce.increase_only() & brce.at_most(30_000),
        "level": brce.increase_only(),
        "city": brce.transitions({"Bonn": ["Oslo"]}),
    }
    problem = problem_of(table, labels, model, rules)
    rows = np.flatnonzero(model.predict(table) == "bad")[:4]
    originals = problem.X_train[rows]
    assert np.isnan(problem.X_train[::7]).any()
    targets = accepted({"fair", "good"}, problem.model.classes, len(rows))
    box = problem.features.box(originals)
    result = explainer.explain(originals, targets, problem, box, list(range(len(rows))))
    assert result.found.any(), result.reasons
    found = result.points[result.found]
    assert not problem.features.violations(found, box.take(np.flatnonzero(result.found))).any()
    assert set(model.predict(problem.features.decode(found))) <= {"fair", "good"}


@needs_dice
def test_a_missing_value_stays_missing_unless_a_rule_says_otherwise():
    table, labels, model = rich_table()
    row = np.flatnonzero(table["years"].isna() & (model.predict(table) == "bad"))[:1]
    for rules, stays in (({}, True), ({"years": brce.may_be_missing()}, False)):
        problem = problem_of(table, labels, model, rules)
        targets = accepted("good", problem.model.classes, 1)
        result = explain(RANDOM, rows=[0], problem=problem, originals=problem.X_train[row], targets=targets)
        assert result.found.all(), result.reasons
        if stays:
            assert np.isnan(result.points[0, list(table.columns).index("years")])


@needs_dice
@METHODS
def test_a_table_of_names_alone_can_be_explained(explainer):
    rng = np.random.default_rng(2)
    table = pd.DataFrame({name: rng.choice(list("uvwx"), 80) for name in ("p", "q", "r")})
    labels = ((table["p"] == "u") | (table["q"] == "v")).astype(int).to_numpy()
    model = make_pipeline(OneHotEncoder(), LogisticRegression(C=100)).fit(table, labels)
    problem = problem_of(table, labels, model)
    rows = np.flatnonzero(model.predict(table) == 0)[:3]
    targets = accepted(1, problem.model.classes, 3)
    result = explain(explainer, problem=problem, originals=problem.X_train[rows], targets=targets)
    assert result.found.all(), result.reasons
    assert (model.predict(problem.features.decode(result.points)) == 1).all()


@needs_dice
def test_a_level_that_the_training_rows_lack_is_no_obstacle():
    table, labels, model = rich_table()
    levels = ["Bonn", "Lima", "Oslo", "Rome"]
    problem = problem_of(table, labels, model, {"city": brce.categorical(levels)})
    original = problem.X_train[np.flatnonzero(model.predict(table) == "bad")[:1]].copy()
    original[0, 0] = levels.index("Lima")
    targets = accepted("good", problem.model.classes, 1)
    for explainer in (RANDOM, GENETIC, KDTREE):
        result = explain(explainer, rows=[0], problem=problem, originals=original, targets=targets)
        assert result.found.all(), result.reasons


@needs_dice
def test_a_decision_threshold_is_part_of_the_model():
    strict = FixedThresholdClassifier(MODEL, threshold=0.9).fit(FEATURES.decode(POINTS), PROBLEM.y_train)
    problem = Problem(Ensemble([strict], [0, 1], features=FEATURES), FEATURES, POINTS, PROBLEM.y_train)
    rows = np.flatnonzero(strict.predict(FEATURES.decode(POINTS)) == 0)[:3]
    targets = accepted(1, problem.model.classes, 3)
    result = explain(RANDOM, problem=problem, originals=POINTS[rows], targets=targets)
    assert result.found.any()
    found = FEATURES.decode(result.points[result.found])
    assert (strict.predict(found) == 1).all()
    assert (strict.predict_proba(found)[:, 1] >= 0.9).all()


@needs_dice
@METHODS
def test_a_row_that_may_not_change_says_so(explainer):
    problem = Problem(PROBLEM.model, FEATURES.with_rules({n: brce.immutable() for n in "abd"}), POINTS, PROBLEM.y_train)
    result = explain(explainer, rows=[0], problem=problem)
    assert not result.found.any()
    assert result.reasons == ["No column may change to a value that DiCE knows. Loosen `features`."]


@needs_dice
@METHODS
def test_a_target_out_of_reach_ends_with_a_reason(explainer):
    features = FEATURES.with_rules({"a": brce.at_most(1e-3), "b": brce.immutable(), "d": brce.immutable()})
    problem = Problem(PROBLEM.model, features, POINTS, PROBLEM.y_train)
    far = np.abs(PROBLEM.model.margins(ORIGINALS, TARGETS)[:, 0]).argmax()
    result = explain(replace(explainer, max_calls=200), rows=[far], problem=problem)
    assert not result.found.any()
    assert "`max_calls`" in result.reasons[0] or "DiCE found no counterfactual" in result.reasons[0]
    np.testing.assert_array_equal(result.points, ORIGINALS[[far]])
    assert result.n_evaluations[0] > 0


# What dice-ml says is not believed


@needs_dice
def test_invalid_answers_are_caught(monkeypatch):
    from dice_ml.explainer_interfaces.explainer_base import ExplainerBase

    real = ExplainerBase.generate_counterfactuals

    def liar(self, query, **options):
        answer = real(self, query, **options)
        example = answer.cf_examples_list[0]
        example.final_cfs_df = pd.concat([query] * 2)  # the row itself, which is of the other class
        example.final_cfs_df_sparse = None
        return answer

    monkeypatch.setattr(ExplainerBase, "generate_counterfactuals", liar)
    result = explain(RANDOM)
    assert not result.found.any()
    assert result.reasons[0] == (
        f"DiCE returned 2 points, but none has class {int(TARGETS[0].argmax())} once moved to allowed values. "
        "Raise `n_counterfactuals`."
    )


@needs_dice
def test_the_closest_valid_answer_is_taken(calls):
    result = explain(Dice(n_counterfactuals=10, sample_size=100), rows=[0])
    view = View.of(PROBLEM)
    asked = Asked(view, PROBLEM, FEATURES.box(ORIGINALS[:1]), TARGETS[0], 10)
    answer = calls[0]["answer"].cf_examples_list[0]
    points = asked.points(pd.concat([answer.final_cfs_df, answer.final_cfs_df_sparse]))
    valid = points[asked.is_target(points)]
    assert len(valid) > 5
    assert FEATURES.distance(result.points, ORIGINALS[:1]) == FEATURES.distance(valid, ORIGINALS[:1]).min()


@needs_dice
def test_a_row_on_which_dice_fails_spoils_no_other(monkeypatch):
    from dice_ml.explainer_interfaces.dice_random import DiceRandom

    real, rows = DiceRandom._generate_counterfactuals, []

    def moody(self, *args, **options):
        rows.append(1)
        if len(rows) == 2:
            raise ZeroDivisionError("no idea")
        return real(self, *args, **options)

    monkeypatch.setattr(DiceRandom, "_generate_counterfactuals", moody)
    result = explain(RANDOM)
    assert result.found.tolist() == [True, False, True]
    assert result.reasons[1] == "DiCE failed: ZeroDivisionError: no idea"
    np.testing.assert_array_equal(result.points[1], ORIGINALS[1])


# Manners


@needs_dice
@METHODS
def test_the_global_random_state_is_given_back(explainer):
    before, before_numpy = random.getstate(), np.random.get_state()  # noqa: NPY002 - what dice-ml draws from
    explain(explainer, rows=[0])
    after_numpy = np.random.get_state()  # noqa: NPY002
    assert random.getstate() == before
    assert str(after_numpy) == str(before_numpy)
    np.testing.assert_array_equal(after_numpy[1], before_numpy[1])


@needs_dice
def test_columns_are_drawn_independently(monkeypatch):
    from dice_ml.explainer_interfaces.dice_random import DiceRandom

    real, drawn = DiceRandom.get_samples, []
    monkeypatch.setattr(DiceRandom, "get_samples", lambda *a, **k: drawn.append(real(*a, **k)) or drawn[-1])
    explain(RANDOM, rows=[0])
    assert abs(np.corrcoef(drawn[0]["0"], drawn[0]["1"])[0, 1]) < 0.5  # its own `random_seed` gives 1


@needs_dice
@METHODS
def test_nothing_is_printed(explainer, capfd):
    explain(explainer, rows=[0])
    assert capfd.readouterr() == ("", "")


@needs_dice
def test_the_data_object_is_made_once_for_a_problem(monkeypatch):
    import dice_ml

    problem = Problem(PROBLEM.model, FEATURES, POINTS, PROBLEM.y_train)
    made, real = [], dice_ml.Data
    monkeypatch.setattr(dice_ml, "Data", lambda **k: made.append(1) or real(**k))
    explain(RANDOM, problem=problem)
    explain(GENETIC, rows=[3], problem=problem)
    assert len(made) == 1


def test_without_dice_ml_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "dice_ml", None)
    with pytest.raises(MissingExtra, match=r'DiCE needs `dice_ml`. Install it with: pip install "betarce\[dice\]"'):
        explain(Dice())


def test_dice_has_a_name():
    assert EXPLAINERS["dice"]() == Dice()


@needs_dice
def test_a_base_of_dice_is_made_robust():
    table, labels = FEATURES.decode(POINTS), PROBLEM.y_train
    rce = brce.BetaRCE(
        MODEL, base=RANDOM, delta=0.7, confidence=0.8, features={"c": brce.immutable()}, random_state=0, verbose=-1
    ).fit(table, labels)
    result = rce.explain(table[:2])
    assert [item.status for item in result] == ["certified"] * 2
    bases = pd.DataFrame([item.base for item in result]).astype(table.dtypes)
    assert (rce.model_.predict(bases) != rce.model_.predict(table[:2])).all()


def test_a_comparison_finds_a_missing_library_before_anything_is_trained(monkeypatch):
    monkeypatch.setitem(sys.modules, "dice_ml", None)
    with pytest.raises(MissingExtra):
        brce.compare(["dice"], LogisticRegression(), "bootstrap", TABLE, LABELS, rows=TABLE)
