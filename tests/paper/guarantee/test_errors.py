"""The error of the simulated share of true promises: between fits, and of the audit."""

import numpy as np
import pytest
from scipy.stats import norm

from betarce.paper.guarantee.errors import by_fit, judge, judged_again, share_over_fits

DELTA = 0.9


def votes_of(counts, n_members=100):
    """Let the first members agree: as many as each point says."""
    return np.arange(n_members)[None] < np.asarray(counts)[:, None]


def estimate(votes, fits, seed=0, **settings):
    return share_over_fits(votes, np.asarray(fits), DELTA, np.random.default_rng(seed), **settings)


def test_a_rate_of_exactly_delta_keeps_the_promise():
    for n_members in (10, 30, 500, 2000, 2048):
        at = np.ceil(round(DELTA * n_members, 6))
        assert judge(np.array([at - 1, at]), n_members, DELTA).tolist() == [False, True]


def test_mean_percentile_and_minimum_are_those_of_the_shares_of_fits():
    share = estimate(votes_of([100, 100, 50, 100, 100, 100]), [0, 0, 0, 0, 1, 1])
    assert (share.mean, share.least, share.n_fits) == (0.875, 0.75, 2)
    assert share.p5 == pytest.approx(np.quantile([0.75, 1.0], 0.05))
    assert share.error_fits == pytest.approx(np.std([0.75, 1.0], ddof=1) / np.sqrt(2))


def test_points_that_are_far_from_delta_carry_no_error_of_the_audit():
    share = estimate(votes_of([100, 100, 20, 100]), [0, 0, 1, 1])
    assert (share.error_audit, share.bias_audit) == (0, 0)
    assert share.error == share.error_fits


def test_fits_that_all_come_out_the_same_carry_no_error_of_fits():
    share = estimate(votes_of([92, 92, 92, 92]), [0, 1, 2, 3])
    assert share.error_fits == 0
    assert share.error == share.error_audit > 0


def test_more_points_do_not_remove_an_error_that_they_share():
    few, many = (estimate(votes_of([90] * n), range(n)) for n in (5, 500))
    assert many.error_audit == few.error_audit > 0.4


def test_points_judged_by_members_that_err_independently_share_no_error():
    rng = np.random.default_rng(0)
    alone = estimate(np.array([rng.permutation(row) for row in votes_of([90] * 500)]), range(500))
    # Judged again, about half of them fall below delta: that is the bias, not the spread.
    assert alone.bias_audit == pytest.approx(-0.45, abs=0.1)
    assert np.sqrt(alone.error_audit**2 - alone.bias_audit**2) < 0.06


def test_a_larger_audit_has_a_smaller_error():
    rng = np.random.default_rng(0)
    points, directions = rng.normal(norm.ppf(0.93), 0.2, 200), rng.normal(size=(200, 5))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    votes = (directions @ rng.normal(size=(5, 8000))) < points[:, None]
    fits = np.repeat(np.arange(10), 20)
    errors = [estimate(votes[:, :n], fits).error_audit for n in (125, 1000, 8000)]
    assert errors[0] > 1.5 * errors[1] > 2 * errors[2]


def test_judging_again_equals_drawing_members_one_by_one():
    votes = np.random.default_rng(0).random((7, 40)) < 0.9
    chunks = list(judged_again(votes, DELTA, np.random.default_rng(5), 7, at_once=3))
    assert [each.shape for each in chunks] == [(7, 3), (7, 3), (7, 1)]
    rng = np.random.default_rng(5)
    for chunk in chunks:
        for column, weights in zip(chunk.T, rng.multinomial(40, np.full(40, 1 / 40), size=chunk.shape[1]), strict=True):
            drawn = np.repeat(np.arange(40), weights)
            np.testing.assert_array_equal(column, votes[:, drawn].mean(axis=1) >= DELTA - 1e-9)


def test_shares_are_averaged_within_fits_of_any_size():
    kept = np.array([[True, False], [False, False], [True, True]])
    np.testing.assert_array_equal(by_fit(kept, np.array([0, 0, 1])), [[0.5, 0.0], [1.0, 1.0]])


def test_the_same_seed_gives_the_same_error():
    votes = np.random.default_rng(0).random((20, 100)) < 0.9
    assert estimate(votes, range(20)) == estimate(votes, range(20))


def test_without_any_point_there_is_no_share():
    assert estimate(np.zeros((0, 100), dtype=bool), []) is None


def test_one_fit_alone_says_nothing_of_the_error_between_fits():
    assert np.isnan(estimate(votes_of([95, 100]), [0, 0]).error)


def simulated(rng, n_fits=12, n_rows=25, n_members=400):
    """Draw fits whose points share their luck, and an audit whose members agree along five directions."""
    directions = rng.normal(size=(n_rows, 5))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    depth = norm.ppf(0.93) + 0.08 * rng.normal(size=(n_fits, 1)) + 0.08 * rng.normal(size=(n_fits, n_rows))
    scores = np.tile(directions @ rng.normal(size=(5, n_members)), (n_fits, 1))
    return scores < depth.ravel()[:, None], np.repeat(np.arange(n_fits), n_rows)


@pytest.mark.slow
def test_the_stated_error_is_about_as_large_as_the_real_one():
    truth = norm.sf((norm.ppf(DELTA) - norm.ppf(0.93)) / (0.08 * np.sqrt(2)))
    rng = np.random.default_rng(0)
    shares = [estimate(*simulated(rng), seed=i, n_resamples=100) for i in range(200)]
    real = np.sqrt(np.mean([(share.mean - truth) ** 2 for share in shares]))
    stated = np.sqrt(np.mean([share.error**2 for share in shares]))
    # The error between fits alone would be far too small: the audit is shared by all of them.
    assert np.sqrt(np.mean([share.error_fits**2 for share in shares])) < 0.6 * real
    assert 0.8 * real < stated < 1.5 * real
    # Twice the stated error covers the truth about as often as it should.
    assert np.mean([abs(share.mean - truth) <= 2 * share.error for share in shares]) >= 0.9
