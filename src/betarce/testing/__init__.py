"""Contract kits: what a third implementation of a protocol must keep to, as functions to call from its tests.

Each kit runs over four small problems (`four_cases`): binary logistic, LightGBM on a mixed table with rules, three
classes, gaps and links. It returns nothing, or raises `betarce.errors.ContractBroken` with a message that names the
promise that was broken and the case on which it was.
"""

from betarce.testing.cases import RULE_SETS, Case, four_cases, rule_case, rule_cases
from betarce.testing.explainers import check_explainer_contract
from betarce.testing.kernels import check_kernel_contract
from betarce.testing.rules import check_rule_contract
from betarce.testing.searches import check_search_contract
from betarce.testing.spaces import check_space_contract

__all__ = [
    "RULE_SETS",
    "Case",
    "check_explainer_contract",
    "check_kernel_contract",
    "check_rule_contract",
    "check_search_contract",
    "check_space_contract",
    "four_cases",
    "rule_case",
    "rule_cases",
]
