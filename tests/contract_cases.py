"""The contract of explainers, one test per case: the four problems, and a mixed table under every kind of rule."""

import pytest

from betarce.explainers import Explainer
from betarce.testing import RULE_SETS, check_explainer_contract, four_cases, rule_case

FOUR = ["binary logistic", "mixed table", "three classes", "gaps and links"]
RULES = [f"rules {kind!r}" for kind in RULE_SETS] + ["at most 1 change", "at most 2 changes"]

AT_ONCE = ["mixed table", "rules 'all'"]  # the two that ask for most; the others take their time


def case_named(name):
    if name in FOUR:
        return four_cases()[FOUR.index(name)]
    if name.startswith("at most"):
        return rule_case("none", name=name, max_changes=int(name.split()[2]))
    return rule_case(name.removeprefix("rules '").removesuffix("'"))


def keeps_the_contract(explainer, *, rules=False, **options):
    """Make the test of one explainer, or of one that a function makes for each case."""

    names = FOUR + (RULES if rules else [])

    @pytest.mark.parametrize("name", [n if n in AT_ONCE else pytest.param(n, marks=pytest.mark.slow) for n in names])
    def test(name):
        case = case_named(name)
        made = explainer if isinstance(explainer, Explainer) else explainer(case)
        check_explainer_contract(made, cases=[case], **options)

    return test
