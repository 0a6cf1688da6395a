"""BetaRCE as its users meet it."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.dummy import DummyClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import betarce as brce
from betarce.errors import InvalidInput, MemberFailed, UnreachableGuarantee, UnusableModel
from betarce.members import Draw, Members, Origin
from betarce.models.recipe import Table
from betarce.robustify.subject import Subject

X, Y = make_classification(n_samples=300, n_features=5, n_informative=4, n_redundant=0, flip_y=0.1, random_state=3)
FRAME = pd.DataFrame(X, columns=list("abcde")).assign(e=lambda table: (table["e"] * 10).round().astype(int))
LABELS = pd.Series(np.where(Y == 1, "approved", "rejected"))
LOOSE = {"delta": 0.7, "confidence": 0.8, "n_models": (9, 13), "random_state": 0, "verbose": -1}


@pytest.fixture(scope="module")
def rce():
    model = make_pipeline(StandardScaler(), LogisticRegression())
    return brce.BetaRCE(model, **LOOSE).fit(FRAME[:200], LABELS[:200])


@pytest.fixture(scope="module")
def rejected(rce):
    rows = FRAME[200:]
    return rows[rce.model_.predict(rows) == "rejected"][:12]


@pytest.fixture(scope="module")
def result(rce, rejected):
    return rce.explain(rejected)


@pytest.mark.slow
def test_what_is_handed_out_is_what_the_real_model_and_the_members_were_asked_about(rce, result):
    for item in result:
        if item.status != "certified":
            continue
        row = item.robust.to_frame().T.astype(FRAME.dtypes)
        assert rce.model_.predict(row)[0] == "approved"
        votes = sum(member.predict(row)[0] == "approved" for member in rce.members_.certifying.models)
        assert votes == item.certificate.n_agree
        [verdict] = rce.certify(row, target="approved")
        assert verdict.certificate == item.certificate


def test_rows_that_are_not_certified_say_why(result):
    assert result.certified.any()
    for item in result:
        assert bool(item.reason) == (item.status != "certified")
        assert (item.robust is None) == (item.status != "certified")


def test_types_columns_and_row_names_come_back(result, rejected):
    item = result[int(np.flatnonzero(result.certified)[0])]
    assert list(item.robust.index) == list("abcde")
    assert isinstance(item.robust["e"], (int, np.integer))
    assert isinstance(item.robust["a"], float)
    frame = result.to_frame()
    assert list(frame.index) == list(rejected.index)
    assert list(frame.columns.get_level_values(0).unique()) == ["original", "base", "robust", "result"]
    pd.testing.assert_frame_equal(frame["original"], rejected, check_dtype=False)


def test_the_index_of_a_result_is_that_of_the_rows_explained(result, rejected):
    assert result.index.equals(rejected.index)
    assert result.to_frame().index.equals(rejected.index)


def test_whole_numbers_stay_whole_beside_fractions_in_the_list_of_changes(result):
    changes = result.changes()
    whole, fractions = (changes[(changes["feature"] == "e") == own]["to"] for own in (True, False))
    assert len(whole)
    assert len(fractions)
    assert all(isinstance(value, (int, np.integer)) for value in whole)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_answer_whatever_the_workers_and_the_batch(rce, rejected, result):
    again = clone(rce).set_params(n_jobs=2).fit(FRAME[:200], LABELS[:200])
    other = again.explain(rejected[::-1][:4])
    for a, b in zip(other, list(result)[::-1], strict=False):
        assert a.status == b.status
        assert a.n_evaluations == b.n_evaluations
        assert (a.robust is None and b.robust is None) or a.robust.equals(b.robust)


def test_rows_of_both_classes_in_one_batch_do_not_disturb_each_other(rce):
    rows = FRAME[200:212]
    together = rce.explain(rows)
    assert len({item.target for item in together}) == 2
    for i in (0, 5, 11):
        [alone] = rce.explain(rows[i : i + 1])
        assert alone.n_evaluations == together[i].n_evaluations
        assert (alone.robust is None and together[i].robust is None) or alone.robust.equals(together[i].robust)


def test_certifying_members_are_never_those_that_steered(rce):
    steering = {id(model) for model in rce.members_.search.models}
    deciding = {id(model) for model in rce.members_.certifying.models}
    assert not steering & deciding


def test_the_papers_way_certifies_with_the_search_members_and_says_so(rejected):
    model = make_pipeline(StandardScaler(), LogisticRegression())
    paper = brce.BetaRCE(model, certify_on="search", **LOOSE).fit(FRAME[:200], LABELS[:200])
    result = paper.explain(rejected)
    assert paper.members_.certifying is None
    assert result.certified.all()
    assert result[0].certificate.members == "search"
    assert "optimistic" in str(result[0].certificate)


@pytest.mark.slow
@pytest.mark.parametrize(("n_models", "sizes"), [((5, 9), (5, 9)), (9, (9, 9)), ("few", (15, 9))], ids=str)
def test_so_many_members_are_drawn_as_were_asked_for(rce, n_models, sizes):
    drawn = clone(rce).set_params(n_models=n_models).fit(FRAME, LABELS)
    assert (len(drawn.members_.search), len(drawn.members_.certifying)) == sizes


def test_plain_arrays_are_first_class():
    rce = brce.BetaRCE(LogisticRegression(), **LOOSE).fit(X[:200], Y[:200])
    result = rce.explain(X[200:205])
    assert isinstance(result[0].original, np.ndarray)
    assert list(result.points("robust").columns) == ["x0", "x1", "x2", "x3", "x4"]


def test_a_single_row_may_be_a_series_or_a_flat_array(rce, rejected):
    one = rce.explain(rejected.iloc[0])
    assert len(one) == 1
    assert one.to_frame().index[0] == rejected.index[0]


@pytest.mark.slow
def test_rules_hold_for_every_answer(rejected):
    rules = {"a": brce.immutable(), "b": brce.increase_only(), "c": brce.decrease_only(), "e": brce.at_most(3)}
    model = make_pipeline(StandardScaler(), LogisticRegression())
    rce = brce.BetaRCE(model, features=rules, **LOOSE).fit(FRAME[:200], LABELS[:200])
    result = rce.explain(rejected)
    assert result.certified.any()
    for item in result:
        if item.robust is not None:
            change = item.robust.astype(float) - item.original.astype(float)
            assert change["a"] == 0
            assert change["b"] >= 0
            assert change["c"] <= 0
            assert abs(change["e"]) <= 3


def test_nothing_to_change_is_infeasible(rejected):
    rules = {name: brce.immutable() for name in FRAME.columns}
    rce = brce.BetaRCE(LogisticRegression(max_iter=500), features=rules, **LOOSE).fit(FRAME[:200], LABELS[:200])
    rows = FRAME[200:][rce.model_.predict(FRAME[200:]) == "rejected"][:2]
    assert [item.status for item in rce.explain(rows)] == ["infeasible"] * 2


@pytest.mark.slow
def test_a_spent_budget_is_a_status_not_an_error(rejected):
    search = brce.GrowingSpheresSearch(max_evaluations=2)
    model = make_pipeline(StandardScaler(), LogisticRegression())
    rce = brce.BetaRCE(model, search=search, base=None, **LOOSE).fit(FRAME[:200], LABELS[:200])
    result = rce.explain(rejected)
    assert {item.status for item in result} == {"budget-spent"}
    assert "max_evaluations" in result[0].reason


def test_a_point_that_fails_the_vote_is_not_found_with_the_bound_it_reached():
    always = [DummyClassifier(strategy="constant", constant=1).fit(X, Y) for _ in range(8)]
    mixed = [DummyClassifier(strategy="constant", constant=i % 2).fit(X, Y) for i in range(8)]
    subject = Subject(LogisticRegression().fit(X, Y), Table(X, Y), brce.FeatureSpace.infer(X))
    draws = {
        role: Draw(models, tuple(Origin(f"{role}/{i}") for i in range(8)))
        for role, models in {"search": always, "certify": mixed}.items()
    }
    members = Members.of(draws, subject.ensemble, space=brce.Given(always + mixed), seed=0)
    rce = brce.BetaRCE(subject.model, space=members.space, **LOOSE).fit_with(subject, members, seed=0)
    [item] = rce.explain(X[rce.model_.predict(X) == 0][:1])
    assert item.status == "not-found"
    assert item.certificate.n_agree == 4
    assert "4 of 8 fresh models agree" in item.reason


def test_by_default_the_base_is_the_closest_plain_counterfactual_for_contrast(rce, result):
    assert rce.base is None
    for item in result:
        row = item.base.to_frame().T.astype(FRAME.dtypes)
        assert rce.model_.predict(row)[0] == "approved"
    certified = [item for item in result if item.status == "certified"]
    to_base = [rce.features_.distance(item.points["base"], item.points["original"]) for item in certified]
    # The price of robustness: what is plain lies nearer.
    assert np.median(to_base) < np.median([item.distance_to_original for item in certified])


@pytest.mark.slow
def test_by_default_the_robust_point_is_closer_to_the_person_than_around_a_base(rce, rejected, result):
    around = clone(rce).set_params(base="growing-spheres").fit(FRAME[:200], LABELS[:200]).explain(rejected)
    both = result.certified & around.certified
    assert both.sum() > 5
    near, far = (np.array([item.distance_to_original for item in found])[both] for found in (result, around))
    assert np.median(near) < np.median(far)
    # With a base, what is close to it is what counts.
    near, far = (np.array([item.distance_to_base for item in found])[both] for found in (around, result))
    assert np.median(near) <= np.median(far)


def test_ready_made_base_points_are_used_and_rescored(rce, rejected, result):
    bases = result.points("base").astype(FRAME.dtypes)
    wrong = bases.copy()
    wrong.iloc[0] = rejected.iloc[0]
    other = rce.explain(rejected, base_points=wrong)
    assert other[0].status == "base-not-found"
    assert "not in class 'approved'" in other[0].reason
    assert other[1].base.equals(result[1].base)


@pytest.mark.slow
def test_any_callable_is_a_base(rejected):
    train = FRAME[:200]

    def nearest(x, model, target):
        rows = train[model.predict(train) == target]
        return rows.iloc[np.abs(rows - x).sum(axis=1).argmin()]

    model = make_pipeline(StandardScaler(), LogisticRegression())
    rce = brce.BetaRCE(model, base=nearest, **LOOSE).fit(train, LABELS[:200])
    result = rce.explain(rejected)
    assert result.certified.any()
    assert all(
        any(item.base.astype(float).equals(row.astype(float).rename(item.base.name)) for _, row in train.iterrows())
        for item in result[:3]
    )


def test_foreign_points_get_a_verdict(rce, rejected):
    verdicts = rce.certify(
        pd.concat([rejected[:2], FRAME[rce.model_.predict(FRAME) == "approved"][:2]]), target="approved"
    )
    assert len(verdicts) == 4
    assert not verdicts[0].certified
    assert not verdicts[0].model_agrees
    assert "not a counterfactual" in str(verdicts[0])
    table = verdicts.to_frame()
    assert list(table["model_agrees"]) == [False, False, True, True]


@pytest.mark.slow
def test_an_audit_draws_members_that_nothing_has_seen(rce, result):
    audit = rce.audit(result, n_models=30)
    assert list(audit.columns) == ["promised", "robust", "base"]
    certified = result.certified
    assert (audit["robust"][certified] >= audit["promised"][certified] - 0.25).all()
    assert audit["robust"][~certified].isna().all()
    assert audit["robust"].mean() > audit["base"].mean()


def test_given_models_cannot_be_audited_for_none_of_them_is_fresh():
    models = [LogisticRegression(C=c).fit(X, Y) for c in np.geomspace(0.01, 10, 20)]
    rce = brce.BetaRCE(LogisticRegression(), space=brce.Given(models), **{**LOOSE, "n_models": "auto"}).fit(X, Y)
    assert (len(rce.members_.search), len(rce.members_.certifying)) == (6, 14)
    result = rce.explain(X[:2])
    with pytest.raises(InvalidInput, match="An audit needs fresh models"):
        rce.audit(result)


@pytest.mark.parametrize(
    ("n_models", "search"), [("auto", brce.FrontierSearch()), ("many", brce.FrontierSearch.thorough())]
)
def test_many_members_come_with_a_thorough_search(n_models, search):
    models = [DecisionTreeClassifier(max_depth=4, random_state=i).fit(X[i::3], Y[i::3]) for i in range(30)]
    chosen = {**LOOSE, "n_models": n_models}
    rce = brce.BetaRCE(models[0], space=brce.Given(models), **chosen).fit(X, Y)
    by_name = rce.explain(X[:4])
    by_hand = rce.set_params(search=search).explain(X[:4])
    assert [item.n_evaluations for item in by_name] == [item.n_evaluations for item in by_hand]
    pd.testing.assert_frame_equal(by_name.points("robust"), by_hand.points("robust"))


def test_families_can_be_mixed_in_one_space():
    def either(X, y, seed):
        model = SVC(random_state=seed) if seed % 2 else DecisionTreeClassifier(max_depth=3, random_state=seed)
        rows = np.random.default_rng(seed).integers(len(X), size=len(X))
        return model.fit(X[rows], y[rows])

    space = brce.Mixture([brce.Bootstrap(), brce.Custom(either)])
    rce = brce.BetaRCE(LogisticRegression(), space=space, **LOOSE).fit(X[:200], Y[:200])
    result = rce.explain(X[200:206])
    assert result.certified.any()


def test_more_classes_need_a_target_and_reach_it():
    X3, y3 = make_classification(
        n_samples=300, n_features=4, n_informative=4, n_redundant=0, n_classes=3, random_state=0
    )
    rce = brce.BetaRCE(LogisticRegression(), **LOOSE).fit(X3, y3)
    rows = X3[rce.model_.predict(X3) == 0][:4]
    with pytest.raises(InvalidInput, match="which of the 3 classes is wanted"):
        rce.explain(rows)
    result = rce.explain(rows, target=[1, 2, 1, 2])
    assert result.certified.any()
    for item in result:
        if item.robust is not None:
            assert rce.model_.predict([item.robust])[0] == item.target


@pytest.mark.slow
@pytest.mark.parametrize("model", [SVC(), KNeighborsClassifier(), DecisionTreeClassifier(max_depth=3)])
def test_any_classifier_will_do(model):
    rce = brce.BetaRCE(model, **LOOSE).fit(X[:200], Y[:200])
    result = rce.explain(X[200:204])
    assert {item.status for item in result} <= {"certified", "not-found"}


class HomeMade:
    """A model with nothing but fit and predict."""

    def fit(self, X, y):
        self.center = np.asarray(X)[np.asarray(y) == 1].mean(axis=0) - np.asarray(X)[np.asarray(y) == 0].mean(axis=0)
        self.threshold = (np.asarray(X) @ self.center).mean()

    def predict(self, X):
        return (np.asarray(X) @ self.center > self.threshold).astype(int)


def test_a_home_made_model_with_labels_only_will_do():
    rce = brce.BetaRCE(HomeMade(), **LOOSE).fit(X[:200], Y[:200])
    assert rce.explain(X[200:206]).certified.any()


def test_a_fitted_model_is_explained_as_it_is_and_a_frozen_one_survives_clone():
    fitted = LogisticRegression(C=0.01).fit(X, Y)
    rce = brce.BetaRCE(fitted, **LOOSE).fit(X, Y)
    assert rce.model_ is fitted
    frozen = clone(brce.BetaRCE(FrozenEstimator(fitted), **LOOSE)).fit(X, Y)
    assert frozen.model_ is fitted
    assert frozen.members_.search.models[0].C == 0.01


def test_scikit_learn_manners():
    rce = brce.BetaRCE(LogisticRegression(), delta=0.8, n_models=20, verbose=-1)
    assert clone(rce).get_params()["delta"] == 0.8
    assert "BetaRCE" in rce._repr_html_()
    assert rce.fit(X, Y) is rce
    with pytest.raises(Exception, match="not fitted"):
        brce.BetaRCE(LogisticRegression()).explain(X)


def fit(model=None, X=X, y=Y, **options):
    return brce.BetaRCE(model or LogisticRegression(), **{**LOOSE, **options}).fit(X, y)


BAD = X.copy()
BAD[3, 2] = np.nan


class NoPredict:
    def fit(self, X, y):
        return self


class Scores(HomeMade):
    def predict(self, X):
        return np.asarray(X) @ self.center


class TwoColumns(HomeMade):
    def predict(self, X):
        return np.zeros((len(X), 2))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: fit(X=BAD), UnusableModel, "could not be trained on this table: ValueError: Input X contains NaN"),
        (lambda: fit(X=np.where(np.isnan(BAD), np.inf, BAD)), InvalidInput, "is inf"),
        (lambda: fit(y=Y[:10]), InvalidInput, "one label per row"),
        (lambda: fit(y=np.zeros(len(X))), InvalidInput, r"at least two classes; got only 0\.0\."),
        (lambda: fit(y=X[:, 0]), InvalidInput, "numbers with fractions"),
        (lambda: fit(y=np.where(Y == 1, 1.0, np.nan)), InvalidInput, "no missing labels"),
        (lambda: fit(X=X[:0], y=Y[:0]), InvalidInput, "at least one row"),
        (lambda: fit(delta=1.0), InvalidInput, "`delta` must be strictly between 0 and 1; got 1.0"),
        (lambda: fit(confidence=95), InvalidInput, "`confidence` must be strictly between 0 and 1; got 95"),
        (lambda: fit(delta=0.9, confidence=0.95, n_models=10), UnreachableGuarantee, "at least 29 are needed"),
        (lambda: fit(n_models="plenty"), InvalidInput, "`n_models` must be 'few', 'auto', 'many', a whole number"),
        (lambda: fit(n_models=0), InvalidInput, "`n_models` must be"),
        (lambda: fit(n_models=True), InvalidInput, "`n_models` must be"),
        (lambda: fit(n_models=10**9), InvalidInput, "`n_models` must be at most 1,000,000 for each role"),
        (lambda: fit(max_changes=0), InvalidInput, "`max_changes` must be a whole number >= 1, or None"),
        (lambda: fit(max_changes=1.5), InvalidInput, "`max_changes` must be a whole number >= 1, or None"),
        (lambda: fit(n_models=(1, 2, 3)), InvalidInput, "`n_models` must be"),
        (lambda: fit(certify_on="both"), InvalidInput, "`certify_on` must be"),
        (lambda: fit(search="magic"), InvalidInput, "`search` must be"),
        (lambda: fit(base="magic"), InvalidInput, "`base` must be"),
        (lambda: fit(space="magic"), InvalidInput, "`space` must be"),
        (lambda: fit(prior="magic"), InvalidInput, "`prior` must be"),
        (lambda: fit(features="magic"), InvalidInput, "`features` must be"),
        (lambda: fit(random_state="magic"), InvalidInput, "`random_state` must be"),
        (lambda: fit(LogisticRegression), UnusableModel, "pass LogisticRegression\\(\\)"),
        (lambda: fit(NoPredict()), UnusableModel, "must have `predict`"),
        (lambda: fit(LinearRegression()), UnusableModel, "is a regressor"),
        (lambda: fit(Scores()), UnusableModel, "none of the classes"),
        (lambda: fit(TwoColumns()), UnusableModel, "must give one label per row"),
        (lambda: fit(space=brce.Custom(lambda X, y, seed: 1 / 0)), MemberFailed, "ZeroDivisionError"),
        (lambda: fit(X=FRAME.assign(e="text"), y=LABELS), UnusableModel, "could not convert string to float"),
    ],
)
def test_bad_input_to_fit_gets_a_clear_error(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda rce, rows: rce.explain(rows, target="maybe"),
            r"one of the classes \['approved', 'rejected'\]; got 'maybe'",
        ),
        (lambda rce, rows: rce.explain(rows, target=["approved"]), "one class, or one a row"),
        (lambda rce, rows: rce.explain(rows[:0]), "at least one row"),
        (lambda rce, rows: rce.explain(rows.drop(columns="a")), "lacks 'a'"),
        (lambda rce, rows: rce.explain(rows.to_numpy()[:, :3]), "must have the 5 columns"),
        (lambda rce, rows: rce.explain(rows, base_points=rows[:1].to_numpy()), r"one row per row of `X` \(12\); got 1"),
        (lambda rce, rows: rce.certify(rows, target=7), "one of the classes"),
    ],
)
def test_bad_input_to_explain_and_certify_gets_a_clear_error(rce, rejected, call, message):
    with pytest.raises(InvalidInput, match=message):
        call(rce, rejected)


def test_a_list_of_unequal_rows_is_refused(rce):
    with pytest.raises(InvalidInput, match="rows all have the same length"):
        rce.explain([[1.0, 2.0], [3.0]])


@pytest.mark.slow
@pytest.mark.parametrize("n_models", [6, 9, 38])
def test_identical_members_are_seen_through_the_rounding_of_matrix_products(n_models):
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    rce = brce.BetaRCE(LogisticRegression(), space="seed", delta=0.6, confidence=0.6, n_models=n_models, verbose=-1)
    with pytest.warns(brce.errors.DegenerateSpace, match=f"All {2 * n_models} members are the same model"):
        rce.fit(X[:379], y[:379])
