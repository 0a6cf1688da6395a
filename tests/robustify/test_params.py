"""Parameters that change after `fit`: honoured, or refused by name; never half."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

import betarce as brce
from betarce.errors import InvalidInput, UnreachableGuarantee
from betarce.posterior import JEFFREYS, Certificate
from betarce.robustify.params import HONOURED, NEED_FIT

X, Y = make_classification(n_samples=300, n_features=5, n_informative=4, n_redundant=0, flip_y=0.1, random_state=3)
TRAIN, LABELS, ROWS = X[:200], Y[:200], X[200:206]
SMALL = {"delta": 0.7, "confidence": 0.8, "n_models": (9, 30), "random_state": 0, "verbose": -1}


@pytest.fixture(scope="module")
def trained():
    return brce.BetaRCE(LogisticRegression(), **SMALL).fit(TRAIN, LABELS)


@pytest.fixture
def rce(trained):
    """Give a fitted one as it was, whatever another test did to its parameters."""
    yield trained
    trained.set_params(base=None, search="frontier", delta=0.7, confidence=0.8, prior="exact", features=None)
    trained.set_params(max_changes=None)


def fitted_with(**options):
    return brce.BetaRCE(LogisticRegression(), **{**SMALL, **options}).fit(TRAIN, LABELS)


def assert_same_points(one, other):
    for a, b in zip(one, other, strict=True):
        assert a.status == b.status
        assert a.certificate == b.certificate
        for which in ("base", "robust"):
            assert (a.points[which] is None) == (b.points[which] is None)
            assert a.points[which] is None or a.points[which].tobytes() == b.points[which].tobytes()


CHANGES = {
    "base": "nice",
    "search": brce.FrontierSearch(norm="l2"),
    "delta": 0.85,
    "confidence": 0.9,
    "prior": "jeffreys",
    "features": {name: brce.immutable() for name in ("x0", "x1", "x2")},
    "max_changes": 1,
}


def test_every_parameter_is_honoured_or_refused():
    others = {"n_jobs", "verbose"}  # how, not what
    assert {*HONOURED, *NEED_FIT, *others} == set(brce.BetaRCE(LogisticRegression()).get_params(deep=False))
    assert set(CHANGES) == set(HONOURED)


@pytest.mark.slow
@pytest.mark.parametrize("name", HONOURED)
def test_what_needs_no_new_members_is_answered_as_after_a_new_fit(rce, name):
    change = {name: CHANGES[name]}
    before = rce.explain(ROWS)
    after = rce.set_params(**change).explain(ROWS)
    assert_same_points(after, fitted_with(**change).explain(ROWS))
    assert any(
        a.certificate != b.certificate or repr(a.points) != repr(b.points) for a, b in zip(before, after, strict=True)
    )


def test_certificates_carry_the_delta_that_is_asked_for_now(rce):
    result = rce.set_params(delta=0.85, confidence=0.9).explain(ROWS)
    for item in result:
        if item.certificate is not None:
            assert (item.certificate.guarantee.delta, item.certificate.guarantee.confidence) == (0.85, 0.9)
    [verdict] = rce.certify(ROWS[:1], target=1)
    assert verdict.certificate.guarantee.delta == 0.85


def test_a_delta_that_the_members_cannot_give_is_refused_and_nothing_is_half_changed(rce):
    rce.explain(ROWS[:1])
    rce.set_params(delta=0.99, base="nice")
    with pytest.raises(UnreachableGuarantee, match=r"30 models cannot certify delta=0\.99"):
        rce.explain(ROWS)
    with pytest.raises(UnreachableGuarantee, match=r"30 models cannot certify delta=0\.99"):
        rce.explain(ROWS)
    assert rce.guarantee_.delta == 0.7


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"search": "magic"}, "`search` must be"),
        ({"base": "magic"}, "`base` must be"),
        ({"prior": "magic"}, "`prior` must be"),
        ({"features": {"nothing": brce.immutable()}}, "names the column 'nothing'"),
        ({"max_changes": 0}, "`max_changes` must be a whole number >= 1"),
    ],
)
def test_nonsense_is_refused_as_often_as_it_is_asked_for(rce, change, message):
    rce.set_params(**change)
    for _ in range(2):
        with pytest.raises(InvalidInput, match=message):
            rce.explain(ROWS)


def test_rules_that_say_what_a_column_is_need_new_members(rce):
    rce.set_params(features={"x1": brce.categorical(levels=sorted(set(X[:, 1])))})
    with pytest.raises(InvalidInput, match="columns are something else than the members were trained with: call `fit`"):
        rce.explain(ROWS)


@pytest.mark.slow
def test_rules_that_are_edited_in_place_are_honoured(rce):
    rules = {"x0": [brce.immutable()], "x1": brce.immutable()}
    rce.set_params(features=rules).explain(ROWS)
    rules["x2"] = brce.immutable()
    assert_same_points(rce.explain(ROWS), fitted_with(features=dict(rules)).explain(ROWS))
    rules["x0"].append(brce.rules.cost(2))
    assert_same_points(rce.explain(ROWS), fitted_with(features=dict(rules)).explain(ROWS))


@pytest.mark.slow
def test_a_file_of_rules_that_is_edited_is_read_again_and_one_that_is_gone_still_holds(rce, tmp_path):
    path = tmp_path / "rules.toml"
    path.write_text("[columns.x0]\nimmutable = true\n")
    rce.set_params(features=path).explain(ROWS)
    path.write_text("[columns.x0]\nimmutable = true\n[columns.x1]\nimmutable = true\n")
    edited = rce.explain(ROWS)
    assert_same_points(edited, fitted_with(features={"x0": brce.immutable(), "x1": brce.immutable()}).explain(ROWS))
    path.unlink()
    assert_same_points(rce.explain(ROWS), edited)


@pytest.mark.slow
def test_a_table_that_is_edited_after_fit_changes_nothing():
    train, labels = TRAIN.copy(), LABELS.copy()
    rce = brce.BetaRCE(LogisticRegression(), **SMALL).fit(train, labels)
    result = rce.explain(ROWS)
    train[:], labels[:] = 0, 1 - labels
    untouched = fitted_with()
    assert_same_points(rce.set_params(max_changes=2).explain(ROWS), untouched.set_params(max_changes=2).explain(ROWS))
    assert rce.audit(result, n_models=5).equals(untouched.audit(result, n_models=5))


@pytest.mark.parametrize(("name", "value"), [("n_jobs", 0), ("n_jobs", "two"), ("verbose", "much")])
def test_nonsense_about_how_to_work_is_refused_by_every_method(rce, name, value):
    result = rce.explain(ROWS[:1])
    before = getattr(rce, name)
    with pytest.raises(InvalidInput, match=f"`{name}` must be"):
        brce.BetaRCE(LogisticRegression(), **{**SMALL, name: value}).fit(TRAIN, LABELS)
    try:
        rce.set_params(**{name: value})
        for call in (lambda: rce.explain(ROWS), lambda: rce.audit(result, 2), lambda: rce.fresh_members(2)):
            with pytest.raises(InvalidInput, match=f"`{name}` must be"):
                call()
    finally:
        rce.set_params(**{name: before})


OTHERS = {
    "model": LogisticRegression(C=0.1),
    "space": "seed",
    "certify_on": "search",
    "n_models": 40,
    "random_state": 1,
}


@pytest.mark.parametrize("name", NEED_FIT)
@pytest.mark.parametrize("method", ["explain", "certify", "frontier", "audit", "extend", "fresh_members"])
def test_what_needs_new_members_is_refused_by_name(trained, name, method):
    result = trained.explain(ROWS[:1])
    before = getattr(trained, name)
    calls = {
        "explain": lambda: trained.explain(ROWS),
        "certify": lambda: trained.certify(ROWS, target=1),
        "frontier": lambda: trained.frontier(ROWS[0]),
        "audit": lambda: trained.audit(result, n_models=2),
        "extend": lambda: trained.extend(30),
        "fresh_members": lambda: trained.fresh_members(2),
    }
    try:
        trained.set_params(**{name: OTHERS[name]})
        with pytest.raises(InvalidInput, match=f"`{name}` was changed after `fit`.*: call `fit` again"):
            calls[method]()
    finally:
        trained.set_params(**{name: before})


def test_a_parameter_of_the_model_counts_as_the_model(trained):
    try:
        trained.set_params(model__C=0.5)
        with pytest.raises(InvalidInput, match="`model` was changed after `fit`"):
            trained.explain(ROWS)
    finally:
        trained.set_params(model__C=1.0)
    assert len(trained.explain(ROWS[:1])) == 1


def test_two_are_named_both(trained):
    try:
        trained.set_params(n_models=40, random_state=1)
        with pytest.raises(InvalidInput, match="`n_models` and `random_state` were changed after `fit`"):
            trained.explain(ROWS)
    finally:
        trained.set_params(n_models=SMALL["n_models"], random_state=0)


@pytest.mark.slow
def test_fitting_again_is_all_it_takes(trained):
    other = clone(trained).fit(TRAIN, LABELS).set_params(random_state=1, n_models=(5, 12))
    assert len(other.fit(TRAIN, LABELS).explain(ROWS)[0].votes) == 12


# Further certifying members


def extendable(**options):
    return fitted_with(**{"n_models": (9, 13), **options})


def test_before_a_look_further_members_join():
    rce = extendable()
    first = list(rce.members_.certifying.models)
    assert rce.extend(10) is rce
    assert rce.members_.certifying.models[:13] == first
    assert len(rce.members_.certifying) == 23
    assert len(rce.explain(ROWS[:1])[0].votes) == 23


@pytest.mark.slow
@pytest.mark.parametrize("look", ["explain", "certify", "frontier"])
def test_after_a_look_further_members_replace_those_that_were_looked_at(look):
    rce = extendable()
    first = {id(model) for model in rce.members_.certifying.models}
    {
        "explain": lambda: rce.explain(ROWS[:1]),
        "certify": lambda: rce.certify(ROWS[:1], target=1),
        "frontier": lambda: rce.frontier(ROWS[0]),
    }[look]()
    rce.extend(20)
    assert len(rce.members_.certifying) == 20
    assert not first & {id(model) for model in rce.members_.certifying.models}
    rce.extend(5)  # nobody has looked at the new ones yet
    assert len(rce.members_.certifying) == 25


@pytest.mark.slow
def test_every_extension_draws_members_of_its_own():
    rce = extendable().extend(10).extend(10)
    weights = {model.coef_.tobytes() for model in [*rce.members_.certifying.models, *rce.members_.search.models]}
    assert len(weights) == 9 + 13 + 10 + 10
    again = extendable().extend(10).extend(10)
    for one, other in zip(rce.members_.certifying.models, again.members_.certifying.models, strict=True):
        np.testing.assert_array_equal(one.coef_, other.coef_)


@pytest.mark.parametrize("n_models", [0, -1, 2.5, True, "many", None])
def test_a_wrong_number_of_further_members_is_refused(trained, n_models):
    with pytest.raises(InvalidInput, match="`n_models` must be a whole number >= 1; got"):
        trained.extend(n_models)


def test_too_few_to_certify_alone_are_refused_before_they_are_trained():
    rce = extendable()
    rce.explain(ROWS[:1])
    with pytest.raises(UnreachableGuarantee, match="2 models cannot certify"):
        rce.extend(2)
    assert len(rce.members_.certifying) == 13


def test_where_none_can_be_drawn_none_can_be_added():
    models = [LogisticRegression(C=c).fit(TRAIN, LABELS) for c in np.geomspace(0.01, 10, 22)]
    with pytest.raises(InvalidInput, match=r"`extend` needs a space to draw .*Given\(models\) has none left"):
        fitted_with(space=brce.Given(models), n_models=(9, 13)).extend(5)
    with pytest.raises(InvalidInput, match=r"`extend` needs a space to draw .*the search members certify"):
        fitted_with(certify_on="search", n_models=20).extend(5)


# The prior


def test_the_papers_form_has_the_papers_prior_unless_another_is_insisted_on():
    assert fitted_with(certify_on="search", n_models=20).guarantee_.prior == JEFFREYS
    assert fitted_with(certify_on="search", n_models=20, prior=brce.Prior(0, 1)).guarantee_.prior == brce.Prior(0, 1)


# Spaces that do not vary


@pytest.fixture(scope="module")
def constant():
    rce = brce.BetaRCE(LogisticRegression(), space="seed", **SMALL)
    with pytest.warns(brce.errors.DegenerateSpace, match="All 39 members are the same model"):
        return rce.fit(TRAIN, LABELS)


def test_where_all_members_are_one_model_nothing_is_certified(constant):
    result = constant.explain(ROWS)
    assert {item.status for item in result} == {"not-varied"}
    assert not result.certified.any()
    for item in result:
        assert item.robust is None
        assert "All members are the same model, so their votes say nothing about retraining" in item.reason
        assert str(item.certificate) == (
            "30 of 30 models agree, but all of them are the same model: this says nothing about retraining"
        )
        assert not item.certificate.certified
        again = Certificate.from_json(item.certificate.to_json())
        assert again == item.certificate
        assert not again.varied


def test_so_it_is_for_points_of_others(constant):
    deep = TRAIN[constant.model_.predict(TRAIN) == 1][:3]
    verdicts = constant.certify(deep, target=1)
    assert all(verdict.model_agrees for verdict in verdicts)
    assert not any(verdict.certified for verdict in verdicts)
    assert "say nothing" in str(verdicts[0]) or "says nothing" in str(verdicts[0])


def test_so_it_is_for_the_frontier(constant):
    frontier = constant.frontier(ROWS[0])
    assert "models, all of them the same, so none handed out)" in repr(frontier)
    assert not frontier.to_frame()["chosen"].any()
    assert frontier.at(0.5) is None


def test_such_a_result_survives_a_file(constant, tmp_path):
    result = constant.explain(ROWS)
    result.save(tmp_path / "result.json")
    again = brce.Result.load(tmp_path / "result.json")
    assert [item.status for item in again] == ["not-varied"] * len(ROWS)
    assert [item.certificate for item in again] == [item.certificate for item in result]
