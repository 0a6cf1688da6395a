"""A reserve of error: what it asks of a vote, and what it leaves alone."""

from dataclasses import replace

import pytest
from scipy.stats import binom

from betarce import Certificate, Guarantee
from betarce.errors import InvalidInput

PLAIN = Guarantee(0.9, 0.95)
HALF = replace(PLAIN, reserve=0.5)


@pytest.mark.parametrize("n_models", [103, 298, 956])
def test_half_of_the_error_in_reserve_halves_the_chance_of_a_false_pass(n_models):
    chance = binom.sf(HALF.quorum(n_models) - 1, n_models, 0.9)
    assert chance <= 0.025
    assert binom.sf(HALF.quorum(n_models) - 2, n_models, 0.9) > 0.025


@pytest.mark.parametrize("n_models", [29, 30, 36, 46, 61, 89])
def test_where_a_reserve_would_cost_more_than_one_vote_in_a_hundred_there_is_none(n_models):
    assert HALF.quorum(n_models) == PLAIN.quorum(n_models)


def test_sizes_and_bounds_are_those_of_the_plain_guarantee():
    assert [HALF.efficient_size(n) for n in (1, 50, 100, 300)] == [29, 46, 103, 298]
    assert HALF.min_models() == 29
    assert HALF.certify(277, 298).lower_bound == PLAIN.certify(277, 298).lower_bound
    assert HALF.certify(277, 298).certified


def test_a_certificate_keeps_its_reserve_in_a_file():
    certificate = HALF.certify(279, 298, target="approved")
    assert Certificate.from_json(certificate.to_json()).guarantee == HALF


@pytest.mark.parametrize("reserve", [-0.1, 1.0, "half"])
def test_a_reserve_that_is_no_share_is_refused(reserve):
    with pytest.raises(InvalidInput, match=r"`reserve` must be a share in \[0, 1\); got"):
        Guarantee(0.9, 0.95, reserve=reserve)
