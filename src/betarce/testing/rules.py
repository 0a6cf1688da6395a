"""What every rule keeps to."""

import tomllib
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping

import numpy as np

from betarce.arrays import FloatArray, IntArray
from betarce.errors import InvalidInput
from betarce.explainers import NearestUnlike
from betarce.features import FeatureSpace, Rule
from betarce.features.rules.protocol import RulePart, check_rule
from betarce.features.rules_file import rules_of
from betarce.features.stored import from_plain, to_plain
from betarce.rules import write_rules
from betarce.testing.cases import Case, four_cases
from betarce.testing.contract import Contract, Parts
from betarce.testing.explainers import check_on

_MOST_COLUMNS = 2  # of each case that are tried where none is named


def check_rule_contract(
    rule: Rule | RulePart,
    *,
    columns: Mapping[str, Hashable] | None = None,
    cases: Iterable[Case] | None = None,
) -> None:
    """Check that a rule keeps to its protocol.

    It says itself in words. Joined with itself it stays what it is. JSON and files of rules give it back, or a message
    says why a file cannot say it. Where values may go is the same every time, for every row alone as in company, and
    asking leaves the question alone. What is moved to allowed values obeys the rule and stays where it is when moved
    again; what breaks it is said to be a violation. Counterfactuals under it obey it, and have an accepted class under
    the model's own `predict`.

    Parameters
    ----------
    rule : Rule or RulePart
        Registered, with `betarce.rules.rule`.
    columns : mapping of case name to column, optional
        Which column it is declared for in each case that it fits; by default the first two that take it.
    cases : iterable of Case, optional
        `four_cases` by default.

    Raises
    ------
    ContractBroken
        If it does not; the message names the promise that was broken, and on which case and column.

    Examples
    --------
    >>> from betarce.rules import at_most
    >>> check_rule_contract(at_most(2))
    """
    whole = check_rule(rule, "the rule under test")
    chosen = list(four_cases() if cases is None else cases)
    name = " & ".join(type(part).__name__ for part in whole.parts)
    places = [(case, column) for case in chosen for column in _columns(whole, case, columns)]
    everywhere = Contract(name, ", ".join(case.name for case in chosen))
    everywhere.require(places, "no column of any case takes it: name one with `columns`.")
    for case, column in places:
        contract = Contract(name, f"{case.name}, column {column!r}")
        features = FeatureSpace.infer(case.X, rules={column: whole})
        _check_words(whole, contract)
        _check_files(whole, features, column, contract)
        _check_values(whole, case.under(features), column, contract)
        check_on(NearestUnlike(), case.under(features), contract)


def _columns(rule: Rule, case: Case, columns: Mapping[str, Hashable] | None) -> Iterator[Hashable]:
    """Give the columns of a case to try: those that are named, else the first that take the rule."""
    if columns is not None:
        yield from [columns[case.name]] if case.name in columns else []
        return
    found = 0
    for column in FeatureSpace.infer(case.X).names:
        try:
            FeatureSpace.infer(case.X, rules={column: rule})
        except InvalidInput:
            continue
        yield column
        found += 1
        if found == _MOST_COLUMNS:
            return


def _check_words(rule: Rule, contract: Contract) -> None:
    for part in rule.parts:
        words = part.in_words()
        contract.require(isinstance(words, str) and words.strip(), f"it must say itself in words; got {words!r}.")
        contract.require(words == part.in_words(), "it says something else the second time.")
    contract.require(rule & rule == rule, f"joined with itself it is another rule: {rule & rule!r}.")
    contract.require(hash(rule) == hash(Rule() & rule), "equal rules must have the same hash.")


def _check_files(rule: Rule, features: FeatureSpace, column: Hashable, contract: Contract) -> None:
    again = from_plain(to_plain(features)).rules.get(column)
    contract.require(again == rule, f"JSON gives back {again!r}.")
    try:
        text = write_rules(features)
    except InvalidInput as reason:
        contract.require(len(str(reason)) > len(str(column)), "a file of rules cannot say it, and no message says why.")
        return
    read = rules_of(tomllib.loads(text), what="rules.toml").get(column)
    contract.require(read == rule, f"a file of rules gives back {read!r}.")


def _check_values(rule: Rule, case: Case, column: Hashable, contract: Contract) -> None:
    features, n = case.features, len(case.subject.points)
    j, points = features.names.index(column), case.around(n)[-n:]
    run = _projector(features, case.subject.points, points, contract)
    together = contract.repeatable(run, n)
    contract.company(run, together, n, alone=(0, n - 1))
    box, moved = features.box(case.subject.points), np.asarray(together["allowed values"])
    free = np.array([not conflict for conflict in box.conflicts])
    broken, wrong = (np.asarray(features.violations(part, box)[:, j]) for part in (moved, points))
    if not features.linked:
        contract.require(not broken[free].any(), "values that were moved to what is allowed still break the rules.")
        contract.same(features.project(moved, box)[free], moved[free], "values that are allowed are moved once more.")
    before = case.subject.points[:, j]
    for part in rule.parts:
        said = _breaks(part, features, j, before, moved, contract)
        contract.require(not (said & free & ~broken).any(), "`breaks` forbids values that the rule itself allows.")
        said = _breaks(part, features, j, before, points, contract)
        contract.require(not (said & free & ~wrong).any(), "values that break the rule are not said to be violations.")


def _breaks(
    part: RulePart, features: FeatureSpace, j: int, before: FloatArray, points: FloatArray, contract: Contract
) -> FloatArray:
    asked = {"before": before.copy(), "after": points[:, j].copy()}
    with contract.untouched(asked):
        return np.asarray(part.breaks(features.columns[j], asked["before"], asked["after"]))


def _projector(
    features: FeatureSpace, originals: FloatArray, points: FloatArray, contract: Contract
) -> Callable[[IntArray], Parts]:
    """Give what moves the points of some rows to allowed values."""

    def run(rows: IntArray) -> Parts:
        own, far = originals[rows], points[rows]
        with contract.untouched({"originals": own, "points": far}):
            box = features.box(own)
            return {"allowed values": features.project(far, box), "conflicts": list(box.conflicts)}

    return run
