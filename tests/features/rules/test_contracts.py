"""Every rule keeps its contract, those of other packages too."""

import pytest

import betarce as brce
from betarce.features.rules.registry import RULES
from betarce.testing import check_rule_contract
from foreign_rules import ByShare, MultiplesOf, Outside, registered

MIXED, GAPS = "mixed table", "gaps and links"
GROUP = ("g_x", "g_y", "g_z")

ANYWHERE = {
    "immutable": brce.immutable(),
    "increase_only": brce.increase_only(),
    "decrease_only": brce.decrease_only(),
    "at_most": brce.at_most(2),
    "increase by at most": brce.increase_only() & brce.at_most(3),
    "cost": brce.cost(2.5),
    "continuous": brce.continuous(),
    "integer": brce.integer(step=2),
    "categorical": brce.categorical(),
}
SOMEWHERE = {
    "between": (brce.between(2, 9), {GAPS: "a"}),
    "between decimals": (brce.between(0.5, 4.25) & brce.decrease_only(), {GAPS: "b", MIXED: "debt"}),
    "one_of names": (brce.one_of(["car", "house"]), {MIXED: "purpose"}),
    "one_of numbers": (brce.one_of([12, 36]), {MIXED: "term"}),
    "transitions": (brce.transitions({"u": ["v"], "v": ["u", "w"]}), {GAPS: "k"}),
    "ordinal": (brce.ordinal(["travel", "car", "house"]) & brce.increase_only(), {MIXED: "purpose"}),
    "may_be_missing": (brce.may_be_missing(), {GAPS: "m"}),
    "no_more_than": (brce.no_more_than("limit"), {GAPS: "c"}),
    "derived": (brce.derived("a + 2 * b"), {GAPS: "sum"}),
    "one_hot": (brce.one_hot(), {GAPS: GROUP}),
}
FOREIGN = {
    "multiples_of": (MultiplesOf(3), {GAPS: "a", MIXED: "age"}),
    "by_share": (ByShare(0.5), {MIXED: "income", "binary logistic": "x0"}),
    "outside": (Outside(0.2, 0.4), {GAPS: "c"}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ANYWHERE)
def test_a_rule_for_any_column_keeps_its_contract(name):
    check_rule_contract(ANYWHERE[name])


@pytest.mark.parametrize("name", SOMEWHERE)
def test_a_rule_for_some_columns_keeps_its_contract(name):
    rule, columns = SOMEWHERE[name]
    check_rule_contract(rule, columns=columns)


@pytest.mark.slow
@pytest.mark.parametrize("name", FOREIGN)
def test_a_rule_of_another_package_keeps_its_contract(name):
    rule, columns = FOREIGN[name]
    with registered():
        check_rule_contract(rule, columns=columns)


def test_no_rule_is_left_out():
    rules = [*ANYWHERE.values(), *(rule for rule, _ in SOMEWHERE.values())]
    assert {type(part) for rule in rules for part in rule.parts} == {entry.part for entry in RULES.values()}
