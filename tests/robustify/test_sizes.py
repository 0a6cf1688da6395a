"""How many members search and how many certify."""

import numpy as np
import pytest
from lightgbm import LGBMClassifier
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from betarce import Ensemble
from betarce.errors import InvalidInput, UnreachableGuarantee
from betarce.posterior import EXACT, JEFFREYS, Guarantee
from betarce.robustify.sizes import role_sizes
from betarce.spaces import Given, Seed

GUARANTEE = Guarantee(0.9, 0.95)
KINDS = ["linear", "network", "trees", "other"]


def given(n):
    return Given([DummyClassifier() for _ in range(n)])


def sizes(n_models, guarantee=GUARANTEE, kind="other", *, certify_on="holdout", space=None):
    found = role_sizes(n_models, certify_on, guarantee, space or Seed(), kind)
    return found["search"], found.get("certify", 0)


@pytest.mark.parametrize(
    ("n_models", "kind", "expected"),
    [
        ("few", "linear", (15, 46)),
        ("few", "network", (20, 46)),
        ("few", "trees", (61, 46)),
        ("few", "other", (38, 46)),
        ("auto", "linear", (15, 298)),
        ("auto", "network", (20, 103)),
        ("auto", "trees", (61, 103)),
        ("auto", "other", (38, 103)),
        ("many", "network", (38, 298)),
        ("many", "trees", (110, 298)),
        ("many", "other", (110, 298)),
    ],
)
def test_the_sizes_of_each_kind_of_model(n_models, kind, expected):
    assert sizes(n_models, kind=kind) == expected


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("delta", [0.5, 0.7, 0.9, 0.95, 0.99])
def test_more_is_asked_for_by_each_next_name_and_no_vote_is_wasted(kind, delta):
    guarantee = Guarantee(delta, 0.95)
    certifying = [sizes(name, guarantee, kind)[1] for name in ("few", "auto", "many")]
    assert certifying == sorted(certifying)
    for n in certifying:
        assert guarantee.min_models(allowed_dissent=n - guarantee.quorum(n)) == n


@pytest.mark.parametrize("delta", [0.5, 0.6, 0.7, 0.8, 0.9])
def test_about_a_hundred_certify_up_to_a_delta_of_nine_tenths(delta):
    assert 85 <= sizes("auto", Guarantee(delta, 0.95))[1] <= 115


def test_above_five_may_dissent_as_long_as_a_thousand_models_allow_it():
    for delta, dissent in ((0.95, 5), (0.98, 5), (0.99, 4)):
        guarantee = Guarantee(delta, 0.95)
        _, n = sizes("auto", guarantee)
        assert n - guarantee.quorum(n) == dissent
        assert n <= 1000


@pytest.mark.parametrize("name", ["few", "auto", "many"])
@pytest.mark.parametrize(("delta", "needed"), [(0.999, 2995), (0.999999, 2995731)])
def test_beyond_a_thousand_models_the_number_must_be_asked_for(name, delta, needed):
    with pytest.raises(
        UnreachableGuarantee, match=rf"takes {needed:,} certifying models even if all of them agree"
    ) as e:
        sizes(name, Guarantee(delta, 0.95))
    assert f"n_models=({sizes(name)[0]}, {needed})" in str(e.value)


def test_a_number_that_is_asked_for_is_what_is_drawn():
    assert sizes((7, 3000), Guarantee(0.999, 0.95)) == (7, 3000)
    assert sizes(np.int64(40)) == (40, 40)
    assert sizes([5, 46]) == (5, 46)


def test_few_members_may_search_but_not_certify():
    assert sizes((1, 29)) == (1, 29)
    with pytest.raises(UnreachableGuarantee, match="28 models cannot certify"):
        sizes((100, 28))
    with pytest.raises(UnreachableGuarantee, match="28 models cannot certify"):
        sizes((28, 100), certify_on="search")


def test_the_papers_form_takes_the_fewest_that_allow_one_dissent():
    assert sizes("auto", Guarantee(0.9, 0.95, JEFFREYS), certify_on="search") == (38, 0)
    assert sizes((32, 99), Guarantee(0.9, 0.95, JEFFREYS), certify_on="search") == (32, 0)


@pytest.mark.parametrize("there", [30, 47, 60, 100, 141, 500])
@pytest.mark.parametrize("name", ["few", "auto", "many"])
def test_of_models_that_exist_all_are_used_and_certifying_comes_first(there, name):
    search, certify = sizes(name, space=given(there))
    assert search + certify == there
    assert search >= 1
    assert certify >= 29
    assert GUARANTEE.min_models(allowed_dissent=certify - GUARANTEE.quorum(certify)) == certify


def test_too_few_models_that_exist_are_refused_with_what_is_needed():
    with pytest.raises(UnreachableGuarantee, match="at least 29 are needed"):
        sizes("auto", space=given(29))


@pytest.mark.parametrize("n_models", ["plenty", 0, -3, 2.0, True, (1, 2, 3), (5,), (5, 0), (5, 6.0), None, ("a", 3)])
def test_what_is_no_number_of_models_is_refused(n_models):
    with pytest.raises(InvalidInput, match="`n_models` must be 'few', 'auto', 'many', a whole number >= 1, or a pair"):
        sizes(n_models)


def test_an_absurd_number_is_refused_before_anything_is_trained():
    with pytest.raises(InvalidInput, match="`n_models` must be at most 1,000,000 for each role; got 1000000000"):
        sizes(10**9)


def test_exact_takes_more_than_the_papers_prior():
    assert sizes("few", Guarantee(0.9, 0.95, JEFFREYS))[1] < sizes("few", Guarantee(0.9, 0.95, EXACT))[1]


X = np.random.default_rng(0).random((60, 3))
Y = (X[:, 0] + X[:, 1] > 1).astype(int)


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        (LogisticRegression(), "linear"),
        (make_pipeline(StandardScaler(), LogisticRegression()), "linear"),
        (MLPClassifier((4,), max_iter=3, tol=10.0, n_iter_no_change=1), "network"),
        (RandomForestClassifier(3), "trees"),
        (LGBMClassifier(n_estimators=3, min_child_samples=5, verbose=-1), "trees"),
        (KNeighborsClassifier(), "other"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_an_ensemble_knows_what_its_members_are(model, kind):
    assert Ensemble([model.fit(X, Y)], [0, 1]).kind == kind


def test_members_of_several_kinds_are_others():
    models = [LogisticRegression().fit(X, Y), RandomForestClassifier(3).fit(X, Y)]
    assert Ensemble(models, [0, 1]).kind == "other"
