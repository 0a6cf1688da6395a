"""The front door: which names are public, where they are, and that editors see them."""

import subprocess
import sys
from importlib import import_module

import pytest

import betarce
import stub
from betarce.exports import HOMES, NAMESPACES

RULES = [
    "at_most",
    "between",
    "categorical",
    "continuous",
    "cost",
    "decrease_only",
    "derived",
    "immutable",
    "increase_only",
    "integer",
    "may_be_missing",
    "no_more_than",
    "one_hot",
    "one_of",
    "ordinal",
    "transitions",
]
OWN_RULES = ["Ends", "Guide", "Moves", "Relation", "Rule", "RulePart", "rule"]
SPACES = ["Architecture", "Bootstrap", "Custom", "Given", "Mixture", "NewData", "Seed"]
TOP_LEVEL = [
    *RULES,
    *SPACES,
    "BetaRCE",
    "Certificate",
    "Comparison",
    "Ensemble",
    "FeatureSpace",
    "Frontier",
    "FrontierSearch",
    "GrowingSpheresSearch",
    "Guarantee",
    "Ledger",
    "Network",
    "Prior",
    "Result",
    "RobustCounterfactual",
    "Verdicts",
    "compare",
    "load",
    "read_rules",
    "write_rules",
]
IN_NAMESPACES = {
    "datasets": ["Dataset", "NAMES", "PAPER_NAMES", "load", "load_loan"],
    "errors": [
        "BetarceError",
        "BetarceWarning",
        "ClockSkew",
        "ConstantMembers",
        "ContractBroken",
        "CorruptFile",
        "DataUnavailable",
        "DegenerateSpace",
        "InvalidInput",
        "MemberFailed",
        "MemberWarning",
        "MissingExtra",
        "NotWritten",
        "SlowMembers",
        "UnreachableGuarantee",
        "UnusableModel",
    ],
    "explainers": [
        "Closest",
        "Dice",
        "EXPLAINERS",
        "Explained",
        "Explainer",
        "Face",
        "FromCallable",
        "GrowingSpheres",
        "NearestUnlike",
        "Nice",
        "Problem",
        "Rbr",
        "RobX",
        "Roar",
        "RobustNearest",
        "StabilityHistogram",
        "TRex",
        "Wachter",
        "check_explainer",
        "register",
        "stability",
        "stability_histogram",
    ],
    "ledger": [
        "Condition",
        "Disagreement",
        "Envelope",
        "Gate",
        "Head",
        "Integrity",
        "Ledger",
        "Monitor",
        "Problem",
        "Promise",
        "PublicKey",
        "Recheck",
        "Region",
        "Signature",
        "SigningKey",
        "Statement",
        "Verification",
        "load_head",
        "rank",
        "read_envelope",
        "read_predictions",
        "read_statement",
        "save_head",
        "verify",
    ],
    "metrics": [
        "SampledShifts",
        "distance_to_base",
        "empirical_robustness",
        "interval_margin",
        "interval_robust",
        "plausibility",
        "proximity",
        "robustness",
        "sampled_robust",
        "sparsity",
        "validity",
    ],
    "models": [
        "Network",
        "ValidationSplit",
        "network_from_torch",
        "network_to_torch",
        "paper_model",
        "paper_ranges",
    ],
    "posterior": [
        "Certificate",
        "EXACT",
        "Guarantee",
        "JEFFREYS",
        "PRIORS",
        "Prior",
        "Tail",
        "UNIFORM",
        "check_prior",
        "check_vote_decides",
        "interval",
        "lower_bound",
        "max_delta",
        "percent",
    ],
    "rules": [*RULES, *OWN_RULES, "read_rules", "write_rules"],
    "search": [
        "Depth",
        "FrontierSearch",
        "Goal",
        "GrowingSpheresSearch",
        "Ladders",
        "Predicate",
        "Search",
        "SearchResult",
        "Task",
        "check_search",
    ],
    "spaces": [*SPACES, "Job", "Space", "Trainer"],
    "testing": [
        "Case",
        "RULE_SETS",
        "check_explainer_contract",
        "check_kernel_contract",
        "check_rule_contract",
        "check_search_contract",
        "check_space_contract",
        "four_cases",
        "rule_case",
        "rule_cases",
    ],
}


def run(code):
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def test_the_top_level_holds_these_names_and_no_others():
    assert sorted(betarce.__all__) == sorted([*TOP_LEVEL, *IN_NAMESPACES])
    assert len(TOP_LEVEL) <= 42


@pytest.mark.parametrize("name", betarce.__all__)
def test_every_public_name_resolves_and_is_listed(name):
    assert getattr(betarce, name) is not None
    assert name in dir(betarce)


@pytest.mark.parametrize(("home", "name"), [(home, name) for home, names in HOMES.items() for name in names])
def test_a_name_of_the_top_level_is_the_one_of_its_home(home, name):
    assert getattr(betarce, name) is getattr(import_module(home), name)


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_a_namespace_holds_these_names_and_no_others(namespace):
    module = import_module(f"betarce.{namespace}")
    assert getattr(betarce, namespace) is module
    assert sorted(module.__all__) == sorted(IN_NAMESPACES[namespace])
    for name in module.__all__:
        assert getattr(module, name) is not None
    assert module.__doc__


@pytest.mark.slow
def test_namespaces_are_reached_without_importing_them_first():
    assert run("import betarce; print(len(betarce.datasets.load_loan(50).X))") == "50\n"
    assert run("from betarce.rules import immutable; print(immutable())").startswith("immutable")
    assert run("import betarce.metrics as m; print(m.sparsity([[1.0, 2.0]], [[1.0, 0.0]]))") == "[1]\n"


def test_the_stubs_are_what_the_list_of_names_gives():
    for path, text in stub.stubs().items():
        assert path.read_text() == text, "run `python tools/stub.py`"


def test_completion_offers_the_public_names_alone():
    assert sorted(dir(betarce)) == sorted([*betarce.__all__, "__version__"])


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = betarce.nonsense
    with pytest.raises(ImportError, match="nonsense"):
        from betarce import nonsense  # noqa: F401


def test_importing_betarce_is_cheap_and_loads_no_other_library():
    code = (
        "import time, sys, numpy; t = time.perf_counter(); import betarce; "
        "print(time.perf_counter() - t); "
        "print(*[m for m in ('sklearn', 'pandas', 'scipy', 'torch', 'numba') if m in sys.modules])"
    )
    seconds, loaded = run(code).split("\n")[:2]
    assert float(seconds) < 0.5
    assert loaded == ""
