"""What every explainer keeps to."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from betarce.ensemble import Ensemble
from betarce.explainers import Problem
from betarce.features import FeatureSpace, immutable, one_of
from every_rule import MODEL as MIXED_MODEL
from every_rule import RULES, assert_alone_is_together_is_shuffled, problem_under
from every_rule import TABLE as MIXED_TABLE

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "a": RNG.random(200),
        "b": RNG.integers(0, 10, 200),
        "c": RNG.random(200) * 100,
        "d": RNG.choice(["x", "y", "z"], 200),
    }
)
LABELS = (TABLE["a"] + TABLE["b"] / 10 + 0.3 * (TABLE["d"] == "y") > 1.1).astype(int)
ENCODER = ColumnTransformer([("names", OneHotEncoder(), ["d"])], remainder="passthrough")
MODEL = make_pipeline(ENCODER, LogisticRegression(C=100, max_iter=1000)).fit(TABLE, LABELS)
FEATURES = FeatureSpace.infer(TABLE, rules={"c": immutable(), "d": one_of(["x", "y"])})
POINTS = FEATURES.encode(TABLE)
PROBLEM = Problem(Ensemble([MODEL], [0, 1], features=FEATURES), FEATURES, POINTS, LABELS.to_numpy())
ORIGINALS = POINTS[:12]
TARGETS = MODEL.predict(TABLE[:12])[:, None] != np.array([0, 1])
SEEDS = list(range(12))


class ExplainerContract:
    """Inherit and set `explainer`."""

    explainer = None

    def run(self, rows=slice(None)):
        originals = ORIGINALS[rows]
        seeds = list(np.array(SEEDS)[rows])
        return self.explainer.explain(originals, TARGETS[rows], PROBLEM, FEATURES.box(originals), seeds)

    def test_the_same_seed_gives_the_same_answer(self):
        np.testing.assert_array_equal(self.run().points, self.run().points)

    def test_a_row_does_not_depend_on_the_batch_it_is_in(self):
        together = self.run().points
        for i in (0, 7):
            np.testing.assert_array_equal(self.run(rows=[i]).points[0], together[i])

    def test_what_is_found_has_the_target_class_under_the_real_model(self):
        result = self.run()
        assert result.found.any()
        labels = MODEL.predict(FEATURES.decode(result.points))
        assert TARGETS[np.arange(len(labels)), labels][result.found].all()

    def test_rules_and_bounds_hold(self):
        result, box = self.run(), FEATURES.box(ORIGINALS)
        assert not FEATURES.violations(result.points, box)[result.found].any()
        np.testing.assert_array_equal(FEATURES.encode(FEATURES.decode(result.points)), result.points)

    def test_inputs_are_left_alone(self):
        before = ORIGINALS.copy()
        self.run()
        np.testing.assert_array_equal(ORIGINALS, before)

    def test_reasons_are_given_exactly_where_nothing_was_found(self):
        result = self.run()
        assert [bool(reason) for reason in result.reasons] == list(~result.found)


N_MIXED = 10
MIXED_TARGETS = MIXED_MODEL.predict(MIXED_TABLE[:N_MIXED])[:, None] != np.array([0, 1])


class RulesContract:
    """Inherit and set `explainer`: a mixed table, under the rules of every kind."""

    explainer = None

    def run_mixed(self, kind, rows):
        problem = problem_under(kind)
        originals = problem.X_train[rows]
        return self.explainer.explain(
            originals, MIXED_TARGETS[rows], problem, problem.features.box(originals), [int(row) for row in rows]
        )

    @pytest.mark.parametrize("kind", RULES)
    def test_company_changes_nothing_and_rules_hold(self, kind):
        problem, everyone = problem_under(kind), np.arange(N_MIXED)

        def run(rows):
            result = self.run_mixed(kind, rows)
            return [result.points, result.found, result.n_evaluations, result.reasons]

        together = assert_alone_is_together_is_shuffled(run, N_MIXED, alone=(0, 7))
        points, found, _, _ = together
        assert found.any()
        box = problem.features.box(problem.X_train[everyone])
        assert not problem.features.violations(points, box)[found].any()
        labels = MIXED_MODEL.predict(problem.features.decode(points))
        assert MIXED_TARGETS[everyone, labels][found].all()

    @pytest.mark.parametrize("most", [1, 2])
    def test_no_more_features_change_than_may(self, most):
        problem = problem_under("none", most)
        originals = problem.X_train[:N_MIXED]
        result = self.explainer.explain(
            originals, MIXED_TARGETS, problem, problem.features.box(originals), list(range(N_MIXED))
        )
        changed = problem.features.differs(result.points, originals).sum(axis=1)
        assert (changed[result.found] <= most).all()
        assert (changed[~result.found] == 0).all()
