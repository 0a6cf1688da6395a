"""Votes and walks: who may vote, and that stopping at the first miss keeps the promise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from betarce import Ensemble, Guarantee
from betarce.members import Members, Origin
from betarce.posterior import EXACT, JEFFREYS
from betarce.robustify.certify import certify_points, fingerprint, rungs_passed, walk_ladders
from betarce.search import Ladders
from betarce.spaces import Seed


class Threshold:
    """A member that says 1 above its threshold."""

    def __init__(self, threshold):
        self.threshold = threshold

    def predict(self, X):
        return (np.asarray(X)[:, 0] > self.threshold).astype(int)


def ladders_of(rungs):
    """Ladders for several rows over one feature; NaN marks a rung that is not there."""
    points = np.array(rungs, dtype=float)[..., None]
    n = len(points)
    exists = ~np.isnan(points[..., 0])
    return Ladders(np.nan_to_num(points), exists, np.zeros(exists.shape), np.zeros(n, int), np.zeros(n, bool))


def members(n, rng):
    return Ensemble([Threshold(value) for value in rng.random(n)], [0, 1])


def test_the_walk_stops_at_the_first_miss_even_if_a_later_rung_would_pass():
    ensemble = Ensemble([Threshold(0.5) for _ in range(38)], [0, 1])
    [walk] = walk_ladders(ladders_of([[0.9, 0.4, 0.8]]), np.array([1]), ensemble, Guarantee(0.9, 0.95))
    assert walk.passed == 1
    np.testing.assert_array_equal(walk.votes, [38, 0, 38])


def test_missing_rungs_are_skipped_and_rows_kept_apart():
    ensemble = Ensemble([Threshold(0.5) for _ in range(38)], [0, 1])
    ladders = ladders_of([[np.nan, 0.9, 0.8], [np.nan, np.nan, np.nan], [0.2, np.nan, 0.9]])
    walks = walk_ladders(ladders, np.array([1, 1, 1]), ensemble, Guarantee(0.9, 0.95))
    assert [walk.passed for walk in walks] == [2, 0, 0]
    assert [len(walk.votes) for walk in walks] == [2, 0, 2]


@given(votes=st.lists(st.integers(0, 10), max_size=12), quorum=st.integers(0, 11))
def test_a_larger_quorum_never_passes_more_rungs(votes, quorum):
    assert rungs_passed(np.array(votes), quorum + 1) <= rungs_passed(np.array(votes), quorum) <= len(votes)


@pytest.mark.parametrize("delta", [0.8, 0.9])
@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_with_the_exact_prior_the_promise_survives_the_finest_ladder(delta, confidence):
    # The worst case: thresholds uniform in (0, 1), so the rung at x has true validity x, and rungs as dense as can be.
    rng = np.random.default_rng(0)
    guarantee = Guarantee(delta, confidence, EXACT)
    n = guarantee.min_models(allowed_dissent=1)
    rungs = np.linspace(1, 0.5, 400)
    broken, trials = 0, 3000
    for _ in range(trials):
        voters = np.sort(rng.random(n))
        votes = np.searchsorted(voters, rungs, side="left")
        passed = rungs_passed(votes, guarantee.quorum(n))
        broken += passed > 0 and rungs[passed - 1] < delta
    error = 3 * np.sqrt((1 - confidence) * confidence / trials)
    assert broken / trials <= 1 - confidence + error


def test_certifying_on_the_steering_members_breaks_the_promise_and_fresh_ones_keep_it():
    # Points are chosen to please the steering members: each is the closest that all of them accept.
    rng = np.random.default_rng(0)
    guarantee = Guarantee(0.9, 0.95, EXACT)
    n = guarantee.min_models()
    own = fresh = trials = 0
    for _ in range(400):
        many = rng.random((40, n))  # forty features to choose from, each with its own thresholds
        best = many.max(axis=1).min()  # the cheapest point that all steering members accept
        trials += 1
        own += best < 0.9
        fresh += best < 0.9 and rng.random() < best**n
    assert own / trials > 0.5
    assert fresh / trials <= 0.05 + 0.03


def test_certificates_name_their_voters_and_their_point():
    ensemble = Ensemble([Threshold(0.5) for _ in range(20)], [0, 1])
    origins = {"search": tuple(Origin(f"search/{i}", seed=i) for i in range(20))}
    paper = Members(search=ensemble, certifying=None, space=Seed(), seed=0, origins=origins)
    points, targets = np.array([[0.9], [0.1]]), np.array([[False, True]] * 2)
    good, bad = certify_points(points, targets, paper, Guarantee(0.8, 0.9))
    assert (good.space, good.target) == ("Seed()", 1)
    assert good.certified
    assert good.members == "search"
    assert good.point == fingerprint(points[0])
    assert not bad.certified
    assert bad.n_agree == 0


def test_one_ladder_serves_several_deltas():
    rng = np.random.default_rng(1)
    ensemble = members(60, rng)
    ladders = ladders_of([np.linspace(1, 0, 50)])
    passed = [
        walk_ladders(ladders, np.array([1]), ensemble, Guarantee(d, 0.9, JEFFREYS))[0].passed for d in (0.9, 0.8, 0.5)
    ]
    assert passed[0] < passed[1] < passed[2]
