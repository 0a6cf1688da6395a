"""Members: roles that share no model, and a record of how each member was drawn."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

import betarce as brce
from betarce.ensemble import Ensemble
from betarce.errors import InvalidInput
from betarce.members import Draw, Members, Origin, deal, draw_members
from betarce.models.recipe import Recipe, Table
from betarce.seeding import derive

X, Y = make_classification(n_samples=200, n_features=4, flip_y=0.1, random_state=3)
LOOSE = {"delta": 0.6, "confidence": 0.8, "n_models": (9, 13), "random_state": 0, "verbose": -1}


def assemble(models):
    return Ensemble(models, [0, 1])


def drawn(**sizes):
    return draw_members(brce.Bootstrap(), Recipe(LogisticRegression()), Table(X, Y), sizes, seed=5, verbose=-1)


def members(**sizes):
    return Members.of(drawn(**sizes), assemble, space=brce.Bootstrap(), seed=5)


def test_every_member_has_its_name_and_seed():
    made = members(search=3, certify=4)
    assert made.sizes == {"search": 3, "certifying": 4}
    assert [origin.name for origin in made.origins["certifying"]] == [f"certify/{i}" for i in range(4)]
    assert [origin.seed for origin in made.origins["search"]] == [derive(5, "search", i) for i in range(3)]
    assert repr(made) == "Members(3 search, 4 certifying, space=Bootstrap(stratified=False), seed=5)"


def test_those_that_decide_are_the_certifying_members_or_in_the_papers_form_the_search_members():
    ours, paper = members(search=3, certify=4), members(search=3)
    assert ours.voters is ours.certifying
    assert not ours.steered
    assert paper.voters is paper.search
    assert paper.steered


def test_redrawn_bootstrap_samples_are_counted():
    rare = np.r_[np.zeros(48, int), np.ones(2, int)]
    table = Table(X[:50], rare)
    draws = draw_members(brce.Bootstrap(), Recipe(LogisticRegression()), table, {"search": 30}, seed=0, verbose=-1)
    made = Members.of(draws, assemble, space=brce.Bootstrap(), seed=0)
    assert made.n_redrawn == draws["search"].n_redrawn > 0


@pytest.mark.parametrize("role", ["certifying", "audit"])
def test_a_model_that_steered_gets_no_other_role(role):
    made, stranger = members(search=5, certify=5), drawn(other=2)["other"]
    mixed = Draw([*stranger.models, made.search.models[3]], (*stranger.origins, Origin("search/3")))
    change = {"certifying": made.with_certifying, "audit": made.with_audit}[role]
    with pytest.raises(InvalidInput, match=f"1 of 3 {role} members are search members too. Draw them anew"):
        change(assemble(mixed.models), mixed.origins)


def test_origins_that_leave_members_out_are_refused():
    made = members(search=3, certify=4)
    with pytest.raises(InvalidInput, match=r"`origins` must name every member, .*'certifying': 4.*; got .*: 2"):
        made.with_certifying(made.certifying, made.origins["certifying"][:2])
    with pytest.raises(InvalidInput, match="`origins` must be one per model \\(2\\); got 1"):
        Draw([object(), object()], (Origin("given/0"),))


def test_new_certifying_members_have_not_been_looked_at_and_the_old_value_stays():
    made = members(search=3, certify=4).looked_at()
    fresh = drawn(**{"certify/1": 2})["certify/1"]
    changed = made.with_certifying(assemble(fresh.models), fresh.origins)
    assert (made.looked, made.n_extensions, made.sizes["certifying"]) == (True, 0, 4)
    assert (changed.looked, changed.n_extensions, changed.sizes["certifying"]) == (False, 1, 2)
    assert changed.search is made.search


def test_models_are_dealt_at_random_and_none_twice():
    there = Draw(list("abcdefgh"), tuple(Origin(f"given/{i}") for i in range(8)))
    dealt = deal(there, {"search": 3, "certify": 5}, seed=1)
    assert sorted(dealt["search"].models + dealt["certify"].models) == list("abcdefgh")
    assert dealt["search"].models != list("abc")
    for draw in dealt.values():
        assert [there.models[int(origin.name.removeprefix("given/"))] for origin in draw.origins] == draw.models
    with pytest.raises(InvalidInput, match="`models` must be at least 9, 4 to search and 5 to certify; got 8"):
        deal(there, {"search": 4, "certify": 5}, seed=1)


# What `fit` leaves behind is enough to explain again


@pytest.mark.parametrize(
    "options",
    [{}, {"certify_on": "search", "n_models": 20}, {"base": "growing-spheres", "search": "growing-spheres"}],
    ids=["default", "the paper's way", "spheres"],
)
def test_a_model_and_members_that_exist_explain_to_the_same_bits(options):
    rce = brce.BetaRCE(LogisticRegression(), **{**LOOSE, **options}).fit(X, Y)
    again = brce.BetaRCE(rce.model_, **{**LOOSE, **options, "random_state": None})
    again.fit_with(rce.subject_, rce.members_, seed=rce.seed_)
    for one, other in zip(rce.explain(X[:5]), again.explain(X[:5]), strict=True):
        assert (one.status, one.votes, one.certificate) == (other.status, other.votes, other.certificate)
        assert one.points["robust"].tobytes() == other.points["robust"].tobytes()


def test_members_must_suit_how_the_explainer_certifies():
    rce = brce.BetaRCE(LogisticRegression(), **LOOSE).fit(X, Y)
    paper = brce.BetaRCE(rce.model_, **{**LOOSE, "certify_on": "search", "n_models": 9})
    with pytest.raises(InvalidInput, match="exactly if `certify_on` is 'holdout'; got 13 with certify_on='search'"):
        paper.fit_with(rce.subject_, rce.members_, seed=0)


def test_explaining_notes_that_votes_were_looked_at():
    rce = brce.BetaRCE(LogisticRegression(), **LOOSE).fit(X, Y)
    assert not rce.members_.looked
    rce.explain(X[:1])
    assert rce.members_.looked


def test_an_audit_keeps_its_members_and_asks_them_again():
    rce = brce.BetaRCE(LogisticRegression(), **LOOSE).fit(X, Y)
    result = rce.explain(X[:3])
    first = rce.audit(result, n_models=7)
    audit = rce.members_.audit
    assert [origin.name for origin in rce.members_.origins["audit"]] == [f"audit/{i}" for i in range(7)]
    again = rce.audit(result, n_models=7)
    assert rce.members_.audit is audit
    assert first.equals(again)
    rce.audit(result, n_models=8)
    assert len(rce.members_.audit) == 8
