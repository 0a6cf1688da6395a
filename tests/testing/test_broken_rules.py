"""Rules that break one promise each: the contract names the one that is broken."""

from dataclasses import dataclass

import numpy as np
import pytest

from betarce.errors import ContractBroken
from betarce.features.rules.registry import RULES
from betarce.rules import Moves, RulePart, at_most, rule
from betarce.testing import check_rule_contract


@dataclass(frozen=True)
class Near(RulePart):
    """Keeps every promise: a value moves by no more than a distance."""

    far: float = 1.0

    def in_words(self):
        return f"no farther than {self.far:g}"

    def moves(self, column, origin):
        return Moves(origin - self.far, origin + self.far)


class Mute(Near):
    def in_words(self):
        return ""


class Fickle(Near):
    said = []  # noqa: RUF012

    def in_words(self):
        self.said.append(1)
        return f"no farther than {len(self.said)}"


class Forgetful(Near):
    @classmethod
    def from_value(cls, value):
        return cls()


class Careless(Near):
    @classmethod
    def from_json(cls, data):
        return cls(3.0)

    def to_json(self):
        return {"near": {}}


class Meddler(Near):
    def breaks(self, column, before, after):
        before[:] = after
        return np.zeros(len(after), dtype=bool)


class Lucky(Near):
    def moves(self, column, origin):
        far = self.far * (1 + np.random.random())  # noqa: NPY002
        return Moves(origin - far, origin + far)


class Crowded(Near):
    def moves(self, column, origin):
        return Moves(origin - self.far * len(origin), origin + self.far * len(origin))


class Strict(Near):
    def breaks(self, column, before, after):
        return np.abs(after - before) > self.far / 2


class Blind(Near):
    def moves(self, column, origin):
        return None

    def breaks(self, column, before, after):
        return np.abs(after - before) > 5 * self.far


def checked(part):
    rule("near")(type(part))
    try:
        check_rule_contract(part)
    finally:
        RULES.pop("near")


@pytest.mark.slow
def test_a_rule_that_keeps_all_promises_passes():
    checked(Near(2.0))


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (Mute(2.0), "it must say itself in words; got ''"),
        (Fickle(2.0), "it says something else the second time"),
        (Forgetful(2.0), "a file of rules gives back <rule: no farther than 1>"),
        (Careless(2.0), "JSON gives back <rule: no farther than 3>"),
        (Meddler(2.0), "`before` was changed in place"),
        (Lucky(2.0), "the same seeds gave other allowed values the second time"),
        (Crowded(0.01), "allowed values of row 0 depend on which other rows"),
        (Strict(2.0), "`breaks` forbids values that the rule itself allows"),
        (Blind(0.1), "`breaks` forbids values that the rule itself allows|not said to be violations"),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "in_words") else "",
)
def test_a_broken_rule_is_caught_by_the_promise_that_it_breaks(part, message):
    with pytest.raises(ContractBroken, match=rf"{type(part).__name__} on .*, column .*: ({message})"):
        checked(part)


def test_a_rule_that_no_column_takes_is_said():
    with pytest.raises(ContractBroken, match="no column of any case takes it: name one with `columns`"):
        check_rule_contract(at_most(2), columns={})
