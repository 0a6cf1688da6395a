"""Spaces: the contract for each, and what is particular to one."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import loguniform
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from betarce import (
    Architecture,
    Bootstrap,
    Custom,
    Ensemble,
    Given,
    Mixture,
    Network,
    NewData,
    Seed,
)
from betarce.errors import ConstantMembers, DegenerateSpace, InvalidInput, MemberFailed, MemberWarning
from betarce.members import draw_members
from betarce.models import ValidationSplit, paper_model
from betarce.models.recipe import Recipe, Table
from betarce.resampling import bootstrap_rows
from betarce.robustify.odd_members import warn_of_odd_members
from betarce.runs.methods import MethodWriter, read_method
from betarce.spaces import check_space
from betarce.testing import check_space_contract
from contract_cases import FOUR, case_named

X, Y = make_classification(n_samples=120, n_features=4, flip_y=0.2, random_state=0)
SMALL = Network(hidden_layers=1, neurons=8, max_epochs=30, learning_rate=0.01)
NUMBERS = [FOUR[0], FOUR[2]]  # cases whose table needs no preprocessing


def shuffled_tree(X, y, seed):
    rows = np.random.default_rng(seed).permutation(len(X))[: len(X) // 2]
    tree = DecisionTreeClassifier(random_state=seed)
    if not isinstance(X, pd.DataFrame):
        return tree.fit(X[rows], y[rows])
    encode = ColumnTransformer(
        [("names", OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number"))],
        remainder=SimpleImputer(),
    )
    return make_pipeline(encode, tree).fit(X.iloc[rows], y[rows])


OF_TREES = {
    "seed": Seed(),
    "bootstrap": Bootstrap(),
    "stratified": Bootstrap(stratified=True),
    "new data": NewData(),
    "architecture": Architecture({"model__max_depth": (2, 9), "model__min_samples_leaf": [1, 2, 5, 9]}),
    "mixture": Mixture([Seed(), "bootstrap", Custom(shuffled_tree)], weights=[1, 2, 1]),
    "custom": Custom(shuffled_tree),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", FOUR)
@pytest.mark.parametrize("name", OF_TREES)
def test_spaces_keep_their_contract(name, case):
    check_space_contract(OF_TREES[name], cases=[case_named(case)])


OF_OTHERS = {
    "networks, seed": (Seed(), SMALL),
    "networks, bootstrap": (Bootstrap(), SMALL),
    "networks, new data": (NewData(), SMALL),
    "networks, architecture": (Architecture({"hidden_layers": (1, 2), "neurons": (4, 8)}), SMALL),
    "paper's logistic": (Bootstrap(), paper_model("logistic")),
    "paper's LightGBM": (Architecture(), paper_model("lightgbm")),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "case"),
    # The paper's LightGBM is for two classes.
    [(name, case) for name in OF_OTHERS for case in NUMBERS[: 1 if "LightGBM" in name else None]],
)
def test_spaces_of_other_families_keep_their_contract(name, case):
    space, estimator = OF_OTHERS[name]
    check_space_contract(space, model=lambda case: estimator, cases=[case_named(case)])


def draw(space, estimator, sizes, X=X, y=Y, **options):
    return draw_members(space, Recipe(estimator), Table(X, y), sizes, seed=0, **{"verbose": -1, **options})


def test_every_bootstrap_is_drawn_from_the_original_rows():
    seen = []

    class Spy(DummyClassifier):
        def fit(self, X, y):
            seen.append(np.asarray(X)[:, 0])
            return super().fit(X, y)

    rows = np.arange(200.0)[:, None]
    draw(Bootstrap(), Spy(), {"search": 3}, X=rows, y=np.arange(200) % 2)
    for sample in seen:
        assert len(sample) == 200
        # A bootstrap holds about 63 % of the rows; one of a bootstrap would hold about 47 %.
        assert 0.55 < len(np.unique(sample)) / 200 < 0.72


def test_a_stratified_bootstrap_keeps_the_size_of_every_class():
    labels = np.array([0] * 90 + [1] * 10)
    rows = bootstrap_rows(labels, np.random.default_rng(0), stratified=True)
    np.testing.assert_array_equal(np.bincount(labels[rows]), [90, 10])


def test_new_data_draws_a_part_of_the_rows_with_replacement():
    [job, other] = [
        NewData(fraction=0.25).plan(Recipe(None), Table(X, Y), name, seed) for seed, name in enumerate("ab")
    ]
    assert len(job.retraining.rows) == 30
    assert not np.array_equal(job.retraining.rows, other.retraining.rows)
    full = np.concatenate([NewData(1.0).plan(Recipe(None), Table(X, Y), "a", i).retraining.rows for i in range(50)])
    assert len(full) == 50 * 120
    assert set(full) == set(range(120))


def test_members_of_half_the_rows_differ_from_the_model_by_twice_the_variance_of_a_bootstrap():
    class Mean(DummyClassifier):
        """A model whose variance is known: it keeps the mean of its rows."""

        def fit(self, X, y):
            self.mean_ = float(np.mean(X))
            return super().fit(X, y)

    rows = np.random.default_rng(0).normal(size=(200, 1))
    labels = np.arange(200) % 2

    def spread(space):
        models = draw(space, Mean(), {"search": 800}, X=rows, y=labels)["search"].models
        return np.var([model.mean_ for model in models])

    assert spread(NewData(0.5)) / spread(Bootstrap()) == pytest.approx(2.0, rel=0.2)


def test_new_data_that_loses_a_class_is_drawn_again_or_refused():
    y = np.array([0] * 29 + [1])
    drawn = draw(NewData(), DecisionTreeClassifier(), {"search": 20}, X=X[:30], y=y)["search"]
    assert all(len(model.classes_) == 2 for model in drawn.models)
    assert drawn.n_redrawn > 5
    with pytest.raises(InvalidInput, match="1000 samples of 1 rows in a row lost a class"):
        draw(NewData(fraction=0.01), DecisionTreeClassifier(), {"search": 1}, X=X[:30], y=y)


@pytest.mark.parametrize("fraction", [0, -1, 1.5, float("nan"), "half", True, None])
def test_new_data_refuses_a_fraction_that_is_none(fraction):
    with pytest.raises(InvalidInput, match="`fraction` must be a number above 0 and at most 1; got"):
        NewData(fraction)


def test_spaces_of_old_runs_read_and_show_as_before():
    assert repr(Bootstrap()) == "Bootstrap(stratified=False)"
    assert MethodWriter().write(Bootstrap(), "space") == {
        "method": "betarce.spaces:Bootstrap",
        "parameters": {"stratified": False},
    }
    assert read_method(MethodWriter().write(NewData(1 / 3), "space")) == NewData(1 / 3)


def test_a_bootstrap_that_loses_a_class_is_drawn_again_and_counted():
    y = np.array([0] * 29 + [1])
    drawn = draw(Bootstrap(), DecisionTreeClassifier(), {"search": 40}, X=X[:30], y=y)["search"]
    assert all(len(model.classes_) == 2 for model in drawn.models)
    assert drawn.n_redrawn > 5


def test_every_random_state_inside_a_pipeline_is_set():
    pipeline = make_pipeline(StandardScaler(), RandomForestClassifier(n_estimators=3, n_jobs=2))
    a, b = draw(Seed(), pipeline, {"search": 2})["search"].models
    seeds = [model[-1].random_state for model in (a, b)]
    assert None not in seeds
    assert seeds[0] != seeds[1]
    assert a[-1].n_jobs == 1
    assert pipeline[-1].random_state is None


def test_scipy_distributions_and_callables_are_ranges_too():
    space = Architecture({"C": loguniform(0.01, 100)})
    models = draw(space, LogisticRegression(), {"search": 5})["search"].models
    assert len({model.C for model in models}) == 5
    models = draw(Architecture(lambda rng: {"C": rng.uniform(1, 2)}), LogisticRegression(), {"search": 3})[
        "search"
    ].models
    assert all(1 <= model.C <= 2 for model in models)


def test_whole_ranges_give_whole_numbers_with_both_ends():
    models = draw(Architecture({"max_depth": (2, 4)}), DecisionTreeClassifier(), {"search": 40})["search"].models
    assert {model.max_depth for model in models} == {2, 3, 4}


@pytest.mark.parametrize("family", ["logistic", "lightgbm", "network"])
def test_the_paper_varies_its_own_families_without_being_told_how(family):
    estimator = paper_model(family)
    if family == "network":
        estimator.set_params(max_epochs=1)
    models = draw(Architecture(), estimator, {"search": 3})["search"].models
    parameters = [{k: v for k, v in m.get_params().items() if "random_state" not in k} for m in models]
    assert str(parameters[0]) != str(parameters[1])


@pytest.mark.slow
def test_a_mixture_draws_each_space_in_proportion():
    models = draw(
        Mixture([Architecture({"max_depth": [1]}), Seed()], weights=[3, 1]), DecisionTreeClassifier(), {"a": 200}
    )
    share = np.mean([model.max_depth == 1 for model in models["a"].models])
    assert share == pytest.approx(0.75, abs=0.1)


def test_given_models_are_dealt_to_one_role_each():
    models = [DummyClassifier(random_state=i).fit(X, Y) for i in range(10)]
    dealt = draw(Given(models), None, {"search": 4, "certify": 6})
    assert {id(m) for part in dealt.values() for m in part.models} == {id(m) for m in models}


def test_members_are_trained_on_the_users_own_table():
    frame = pd.DataFrame(X, columns=list("abcd"))
    [model] = draw(Bootstrap(), DecisionTreeClassifier(), {"search": 1}, X=frame)["search"].models
    assert list(model.feature_names_in_) == list("abcd")


def test_a_member_that_fails_is_named_with_its_seed_and_the_others_are_kept():
    def moody(X, y, seed):
        if seed % 3 == 0:
            raise RuntimeError("out of luck")
        return DecisionTreeClassifier(random_state=seed).fit(X, y)

    with pytest.raises(MemberFailed, match=r"search/\d+ \(seed \d+\).*RuntimeError: out of luck") as caught:
        draw(Custom(moody), None, {"search": 12})
    assert len(caught.value.members) + len(caught.value.seeds) == 12
    assert all(seed % 3 == 0 for seed in caught.value.seeds)
    assert len(Given(caught.value.members)) == len(caught.value.members)


def test_a_custom_draw_that_returns_no_model_is_reported():
    with pytest.raises(MemberFailed, match="must return a fitted model"):
        draw(Custom(lambda X, y, seed: 3), None, {"search": 2})


def test_warnings_of_members_are_summed_up_in_one():
    with pytest.warns(MemberWarning, match=r"3 of 3 members .* ConvergenceWarning"):
        draw(Seed(), LogisticRegression(solver="sag", max_iter=1), {"search": 3})


def warn_about(space, estimator, n=4):
    drawn = draw(space, estimator, {"search": n})["search"].models
    warn_of_odd_members([Ensemble(drawn, [0, 1])], X, space, estimator)


def test_a_space_of_identical_members_warns_and_says_why():
    with pytest.warns(DegenerateSpace, match="LogisticRegression uses no randomness"):
        warn_about(Seed(), LogisticRegression())


def test_a_validation_split_makes_deterministic_learners_differ():
    warn_about(Seed(), ValidationSplit(LogisticRegression()))


def test_lightgbm_without_bagging_is_told_what_is_missing():
    lightgbm = pytest.importorskip("lightgbm")
    with pytest.warns(DegenerateSpace, match="subsample_freq"):
        warn_about(Seed(), lightgbm.LGBMClassifier(n_estimators=3, verbosity=-1))


def test_constant_members_are_reported_not_dropped():
    def sometimes_lazy(X, y, seed):
        lazy = seed % 2
        return (DummyClassifier(strategy="constant", constant=1) if lazy else DecisionTreeClassifier()).fit(X, y)

    with pytest.warns(ConstantMembers, match="answer one class"):
        warn_about(Custom(sometimes_lazy), None, n=8)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: check_space("weekly"), "`space` must be one of"),
        (lambda: check_space(Bootstrap), "`space` must be one of"),
        (lambda: Mixture([]), "`spaces` must be"),
        (lambda: Mixture([Seed()], weights=[1, 2]), "`weights` must be 1 numbers"),
        (lambda: Mixture([Seed()], weights=[-1]), "`weights` must be"),
        (lambda: Given([]), "`models` must be fitted models"),
        (lambda: Given([object()]), "`models` must be fitted models"),
        (lambda: draw(Architecture(), DecisionTreeClassifier(), {"a": 1}), "Architecture needs `ranges`"),
        (lambda: draw(Architecture({"depth": (1, 2)}), DecisionTreeClassifier(), {"a": 1}), "no parameter 'depth'"),
        (
            lambda: draw(Architecture({"max_depth": (3, 1)}), DecisionTreeClassifier(), {"a": 1}),
            "must be \\(low, high\\)",
        ),
        (lambda: draw(Given([DummyClassifier()]), None, {"search": 1, "certify": 1}), "at least 2"),
    ],
)
def test_wrong_spaces_are_refused_with_a_clear_word(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()


def test_the_same_model_cannot_be_given_twice():
    model = DummyClassifier()
    with pytest.raises(InvalidInput, match="distinct"):
        Given([model, model])
