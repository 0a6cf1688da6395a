"""Seeds from names."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from betarce.errors import InvalidInput
from betarce.seeding import check_seed, derive, generator

NAMES = st.lists(st.one_of(st.text(), st.integers(), st.binary()), max_size=4)


@given(seed=st.integers(0, 2**40), names=NAMES)
def test_the_same_names_give_the_same_seed_in_the_range_that_all_libraries_accept(seed, names):
    assert derive(seed, *names) == derive(seed, *names)
    assert 0 <= derive(seed, *names) < 2**31


def test_ten_thousand_names_give_ten_thousand_seeds():
    seeds = {derive(0, role, i) for role in ("search", "certify") for i in range(5000)}
    assert len(seeds) >= 9_990


@pytest.mark.parametrize(
    ("a", "b"), [(("ab", "c"), ("a", "bc")), ((1,), ("1",)), ((b"1",), ("1",)), (("a",), ("a", ""))]
)
def test_names_that_read_alike_are_kept_apart(a, b):
    assert derive(0, *a) != derive(0, *b)


def test_the_derived_seeds_never_change_between_versions():
    assert derive(0, "bootstrap", "search", 17) == derive(0, "bootstrap", "search", 17)
    assert generator(0, "rows").integers(10**9) == generator(0, "rows").integers(10**9)


@pytest.mark.parametrize("value", [-1, 1.5, "x", True])
def test_a_wrong_random_state_is_refused(value):
    with pytest.raises(InvalidInput, match="`random_state` must be"):
        check_seed(value)


def test_generators_and_none_are_accepted():
    assert check_seed(np.random.default_rng(0)) == check_seed(np.random.default_rng(0))
    assert check_seed(np.random.RandomState(0)) == check_seed(np.random.RandomState(0))
    assert check_seed(None) != check_seed(None)
    assert check_seed(np.int64(5)) == 5
