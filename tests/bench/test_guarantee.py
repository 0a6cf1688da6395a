"""The promise itself, by simulation: over fits, against a truth that is known exactly.

The space is a pool of trained models, and a member is one of them at random. So the share of the pool that gives a
point its target class *is* the true validity rate of the point, without the error of an audit.
"""

from copy import copy
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from betarce import BetaRCE, Custom, Ensemble, Guarantee

pytestmark = pytest.mark.slow

N_POOL, N_FITS, N_ROWS = 400, 20, 30
GUARANTEE = Guarantee(0.8, 0.9, "exact")
N_MODELS = GUARANTEE.min_models(allowed_dissent=1)
FAMILIES = {"logistic": LogisticRegression(C=10), "tree": DecisionTreeClassifier(max_depth=4)}
# A single tree is a hard case: its members disagree widely, and the paper's search hides that.
MOST_DISTANCE = {"logistic": 0.6, "tree": 0.9}  # as a share of the paper's
OURS = {"search": "frontier", "certify_on": "holdout"}
STEERED = {"search": "frontier", "certify_on": "search"}
PAPER = {"search": "growing-spheres", "certify_on": "search"}


@dataclass(frozen=True, eq=False)
class World:
    """A model, all models that it may become, and rows with their bases."""

    family: str
    X: np.ndarray
    y: np.ndarray
    model: object
    pool: list
    truth: Ensemble
    rows: np.ndarray

    def fit(self, seed, **settings):
        """Draw members from the pool, by a seed."""

        def draw(X, y, seed):
            return copy(self.pool[np.random.default_rng(seed).integers(len(self.pool))])

        asked = {"base": "growing-spheres", "delta": GUARANTEE.delta, "confidence": GUARANTEE.confidence}
        asked |= {"prior": "exact", "n_models": N_MODELS, "random_state": seed, "verbose": -1, **settings}
        return BetaRCE(self.model, space=Custom(draw), **asked).fit(self.X, self.y)

    def rates(self, points, targets):
        """Give the true validity rates of points."""
        return self.truth.votes(np.asarray(points), np.asarray(targets)) / len(self.pool)


@pytest.fixture(scope="module", params=FAMILIES)
def world(request):
    X, y = make_classification(n_samples=400, n_features=6, n_informative=5, n_redundant=0, flip_y=0.15, random_state=1)
    train, labels = X[:300], y[:300]
    estimator = FAMILIES[request.param]
    pool = []
    for seed in range(N_POOL):
        chosen = np.random.default_rng(seed).integers(0, 300, 300)
        pool.append(clone(estimator).set_params(random_state=seed).fit(train[chosen], labels[chosen]))
    model = clone(estimator).set_params(random_state=0).fit(train, labels)
    return World(request.param, train, labels, model, pool, Ensemble(pool, [0, 1]), X[300 : 300 + N_ROWS])


def handed_out(world, n_fits=N_FITS, **settings):
    """Give the share of true promises in each fit, the share of rows found, and the median distance to base."""
    bases = np.array([item.base for item in world.fit(N_FITS, **settings).explain(world.rows)])
    true, found, distances = [], [], []
    for seed in range(n_fits):
        result = world.fit(seed, **settings).explain(world.rows, base_points=bases)
        items = [item for item in result if item.status == "certified"]
        rates = world.rates([item.robust for item in items], [item.target for item in items])
        true.append((rates >= GUARANTEE.delta).mean())
        found.append(len(items) / len(result))
        distances += [item.distance_to_base for item in items]
    return np.array(true), np.mean(found), np.median(distances)


@pytest.fixture(scope="module")
def ours(world):
    return handed_out(world, **OURS)


def test_hold_out_certificates_keep_their_promise_over_fits_below_the_papers_distance(world, ours):
    true, found, distance = ours
    _, _, papers_distance = handed_out(world, 8, **PAPER)
    # All 30 rows of a fit share its members, so it is the 20 fits that count: about 0.02 of standard error.
    assert true.mean() >= GUARANTEE.confidence - 0.04
    assert found >= 0.9
    assert distance <= MOST_DISTANCE[world.family] * papers_distance


@pytest.mark.parametrize("world", ["tree"], indirect=True)
def test_certifying_with_the_members_that_steered_a_tight_search_breaks_the_promise(world, ours):
    # The more members disagree, the more there is to gain by choosing what these members like.
    steered, _, _ = handed_out(world, **STEERED)
    assert steered.mean() < GUARANTEE.confidence
    assert steered.mean() < ours[0].mean() - 0.05


def test_the_simulation_is_the_same_every_time(world):
    once, again = handed_out(world, 1, **OURS), handed_out(world, 1, **OURS)
    np.testing.assert_array_equal(once[0], again[0])
    assert once[1:] == again[1:]


@pytest.mark.parametrize("delta", [0.5, 0.8, 0.9, 0.95])
@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_a_point_just_below_delta_passes_an_exact_vote_in_at_most_the_stated_share_of_draws(delta, confidence):
    guarantee = Guarantee(delta, confidence, "exact")
    sizes = np.arange(guarantee.min_models(), 400)
    quorums = np.array([guarantee.quorum(int(n)) for n in sizes])
    passes = binom.sf(quorums - 1, sizes, delta - 1e-9)
    assert passes.max() <= 1 - confidence
    # One vote less would break the promise: the quorum asks for no more than it must.
    assert binom.sf(quorums - 2, sizes, delta).min() > 1 - confidence


def test_the_jeffreys_prior_lets_a_point_just_below_delta_pass_more_often_than_stated():
    assert binom.sf(Guarantee(0.9, 0.95, "jeffreys").quorum(38) - 1, 38, 0.9 - 1e-9) > 0.09


def point_just_below_delta(world):
    """Walk from a row to another that all models call the other class, up to where the pool is not sure enough."""
    start, end = (world.X[np.argmax(world.truth.votes(world.X, label))] for label in (0, 1))
    line = start + np.linspace(0, 1, 2001)[:, None] * (end - start)
    rates = world.rates(line, np.ones(len(line), dtype=int))
    agrees = world.model.predict(line) == 1
    best = np.argmax(np.where(agrees & (rates < GUARANTEE.delta), rates, 0))
    assert GUARANTEE.delta - 0.03 < rates[best] < GUARANTEE.delta
    return line[[best]], rates[best]


@pytest.mark.parametrize("world", ["logistic"], indirect=True)
def test_fits_certify_a_point_just_below_delta_as_often_as_the_binomial_says(world):
    point, rate = point_just_below_delta(world)
    n_fits, n_certify = 150, 40
    passed = [world.fit(seed, n_models=(N_MODELS, n_certify)).certify(point, 1)[0].certified for seed in range(n_fits)]
    expected = binom.sf(GUARANTEE.quorum(n_certify) - 1, n_certify, rate)
    assert expected <= 1 - GUARANTEE.confidence
    # Three standard errors of a share of 150 independent fits.
    tolerance = 3 * np.sqrt(expected * (1 - expected) / n_fits)
    assert np.mean(passed) == pytest.approx(expected, abs=tolerance)
    assert np.mean(passed) <= 1 - GUARANTEE.confidence + tolerance
