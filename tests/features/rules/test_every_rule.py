"""What every rule keeps to, those of the package and those from outside."""

import json

import numpy as np
import pytest

import betarce as brce
from betarce.errors import InvalidInput
from betarce.features import FeatureSpace
from betarce.features.rules.registry import RULES
from betarce.features.rules_file import rules_of
from betarce.features.stored import plain_rules, rules_of_plain
from betarce.rules import Rule
from foreign_rules import ByShare, MultiplesOf, registered
from mixed_table import TABLE

CASES = {
    "immutable": ("age", brce.immutable()),
    "increase_only": ("grade", brce.increase_only()),
    "decrease_only": ("income", brce.decrease_only()),
    "at_most": ("rate", brce.at_most(0.25)),
    "between": ("age", brce.between(30, 50)),
    "one_of": ("credits", brce.one_of([0, 2, 4])),
    "one of names": ("purpose", brce.one_of(["car", "home"])),
    "transitions": ("purpose", brce.transitions({"car": ["home"], "home": []})),
    "no_more_than": ("credits", brce.no_more_than("age")),
    "derived": ("income", brce.derived("income * 1")),
    "may_be_missing": ("visits", brce.may_be_missing()),
    "continuous": ("income", brce.continuous(step=250)),
    "integer": ("age", brce.integer(step=5)),
    "categorical": ("credits", brce.categorical()),
    "ordinal": ("purpose", brce.ordinal(["education", "car", "home"])),
    "cost": ("income", brce.cost(3)),
    "multiples_of": ("age", Rule((MultiplesOf(12),))),
    "by_share": ("income", Rule((ByShare(0.2),))),
}


@pytest.fixture(scope="module", autouse=True)
def _known():
    with registered():
        yield


@pytest.mark.parametrize("name", CASES)
class TestEveryRule:
    def test_it_has_words_and_joins_itself(self, name):
        _, rule = CASES[name]
        assert str(rule)
        assert rule & rule == rule
        assert hash(rule) == hash(rule & rule)

    def test_it_comes_back_from_json(self, name):
        column, rule = CASES[name]
        data = json.loads(json.dumps(plain_rules({column: rule}), allow_nan=False))
        assert rules_of_plain(data) == {column: rule}

    def test_it_comes_back_from_a_file_of_rules(self, name):
        column, rule = CASES[name]
        said = {key: value for part in rule.parts for key, value in part.to_toml().items()}
        assert rules_of({"columns": {column: said}}, what="rules.toml") == {column: rule}

    def test_no_projected_point_breaks_it_by_its_own_word(self, name):
        column, rule = CASES[name]
        features = FeatureSpace.infer(TABLE, {column: rule})
        j, box, wild = drawn(features, column)
        projected = features.project(wild, box)
        possible = np.array([not conflict for conflict in box.conflicts])
        for part in rule.parts:
            broken = part.breaks(features.columns[j], box.origin[:, j], projected[:, j])
            assert not broken[possible].any()

    def test_what_breaks_it_is_seen(self, name):
        column, rule = CASES[name]
        features = FeatureSpace.infer(TABLE, {column: rule})
        holds = Rule(tuple(part for part in rule.parts if part.scope == "column"))
        free = FeatureSpace.infer(TABLE, {column: holds})
        j, box, wild = drawn(features, column)
        moved = free.project(wild, free.box(box.origin))
        seen = features.violations(moved, box)[:, j]
        for part in rule.parts:
            assert not (part.breaks(features.columns[j], box.origin[:, j], moved[:, j]) & ~seen).any()
        if rule.without_limits != rule:
            assert seen.any()


def drawn(features, column):
    """Give the place of a column, a box, and points all over the place."""
    box = features.box(features.encode(TABLE))
    noise = np.random.default_rng(0).normal(size=box.origin.shape) * features.scale
    return features.names.index(column), box, box.origin + noise


def test_every_registered_rule_that_a_file_can_say_is_tried():
    tried = {type(part) for _, rule in CASES.values() for part in rule.parts}
    assert {entry.part for entry in RULES.values() if entry.keys} - tried <= {RULES["outside"].part}


def test_a_list_without_a_value_left_is_a_conflict_of_every_row_and_no_crash():
    features = FeatureSpace.infer(TABLE, {"credits": brce.one_of([1, 2]) & brce.one_of([3])})
    box = features.box(features.encode(TABLE))
    assert box.conflicts[0] == f"credits: {TABLE['credits'].iloc[0]} now, but one of nothing"
    assert features.project(box.origin, box).shape == box.origin.shape


def test_a_value_that_is_no_number_is_refused_for_a_column_of_numbers():
    for value in (None, "old", True, float("nan"), float("inf")):
        with pytest.raises(InvalidInput, match="which the column cannot hold; it holds numbers"):
            FeatureSpace.infer(TABLE, {"age": brce.one_of([30, value])})
