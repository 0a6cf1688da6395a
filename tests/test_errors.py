"""Errors are sentences, however large the value is that they are about."""

import pytest

import betarce as brce
from betarce.errors import BetarceError, InvalidInput


def test_a_message_stays_short_and_keeps_its_advice():
    with pytest.raises(InvalidInput) as caught:
        brce.rules.between(0, "9" * 1_000_000)
    assert str(caught.value).startswith("`low` and `high` must be numbers with low <= high; got 0 and '999")
    assert len(str(caught.value)) < 2000
    assert str(BetarceError("x" * 5000 + " Do this instead.")).endswith(" Do this instead.")


def test_a_message_of_usual_length_is_left_alone():
    assert str(InvalidInput("`delta` must be a share; got 2.")) == "`delta` must be a share; got 2."
    assert str(InvalidInput()) == ""
