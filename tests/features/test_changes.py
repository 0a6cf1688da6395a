"""Few changes: `max_changes` and `cost` wherever they can be said, and wherever they must be obeyed."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import betarce as brce
from betarce.errors import CorruptFile, InvalidInput
from betarce.features import FeatureSpace
from betarce.features.stored import from_plain, to_plain
from betarce.robustify import Result
from betarce.rules import cost, derived, read_rules, write_rules
from betarce.testing import rule_case

MIXED = rule_case("none")
TABLE, LABELS = MIXED.X, MIXED.y
SMALL = {"delta": 0.7, "confidence": 0.8, "n_models": (9, 13), "random_state": 0, "verbose": -1}


def changed(result):
    """Count the columns that each certified answer changes."""
    features = result.features
    return [
        int(features.differs(item.points["robust"], item.points["original"]).sum())
        for item in result
        if item.status == "certified"
    ]


@pytest.fixture(scope="module")
def rce():
    return brce.BetaRCE(MIXED.pipeline(), **SMALL).fit(TABLE, LABELS)


@pytest.fixture(autouse=True)
def _as_it_was(rce):
    yield
    rce.set_params(max_changes=None, features=None, base=None)


@pytest.mark.slow
@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("base", [None, "growing-spheres", "closest", "nearest"])
def test_no_answer_changes_more_than_may(rce, most, base):
    result = rce.set_params(max_changes=most, base=base).explain(TABLE[:12])
    assert changed(result)
    assert max(changed(result)) <= most
    for item in result:
        if item.points["base"] is not None:
            assert rce.features_.differs(item.points["base"], item.points["original"]).sum() <= most


def test_ready_made_base_points_that_change_more_are_moved_and_told_so(rce):
    rows = TABLE[rce.model_.predict(TABLE) == 0][:6]
    bases = TABLE[rce.model_.predict(TABLE) == 1][:6].set_axis(rows.index)
    result = rce.set_params(max_changes=2).explain(rows, base_points=bases)
    for item in result:
        assert item.note.startswith("The base method's point was not allowed (")
        assert rce.features_.differs(item.points["base"], item.points["original"]).sum() <= 2
    assert all(n <= 2 for n in changed(result))


def test_a_parameter_comes_before_a_file(rce, tmp_path):
    path = tmp_path / "rules.toml"
    path.write_text("max_changes = 3\n")
    assert rce.set_params(features=str(path)).explain(TABLE[:1]).features.max_changes == 3
    assert rce.set_params(max_changes=1).explain(TABLE[:1]).features.max_changes == 1


@pytest.mark.parametrize("suffix", [".toml", ".yaml"])
def test_files_say_how_many_and_how_dear(tmp_path, suffix):
    text = {
        ".toml": "max_changes = 2\n[columns.b]\ncost = 3\n",
        ".yaml": "max_changes: 2\ncolumns:\n  b:\n    cost: 3\n",
    }[suffix]
    path = tmp_path / f"rules{suffix}"
    path.write_text(text)
    rules = read_rules(path)
    assert rules.max_changes == 2
    assert rules == {"b": cost(3)}


def test_what_is_written_reads_back(tmp_path):
    space = FeatureSpace.infer(TABLE, {"b": cost(3) & brce.decrease_only(), "k": cost(0.25)}, max_changes=2)
    path = tmp_path / "rules.toml"
    write_rules(space, path)
    assert "max_changes = 2" in path.read_text()
    assert "cost = 3" in path.read_text()
    again = read_rules(path)
    assert again.max_changes == 2
    assert again["b"].weight == 3
    assert again["k"].weight == 0.25


@pytest.mark.parametrize("value", ["0", "-1", "2.5", "true", '"two"'])
def test_a_file_that_allows_no_change_or_half_of_one_is_refused(tmp_path, value):
    path = tmp_path / "rules.toml"
    path.write_text(f"max_changes = {value}\n")
    with pytest.raises(InvalidInput, match=r"rules.toml, max_changes: must be a whole number >= 1; got"):
        read_rules(path)


@pytest.mark.parametrize("value", ["0", "-3", '"dear"', "true"])
def test_a_cost_that_is_none_is_refused_with_its_place(tmp_path, value):
    path = tmp_path / "rules.toml"
    path.write_text(f"[columns.b]\ncost = {value}\n")
    with pytest.raises(InvalidInput, match=r"rules.toml.*\[columns.b\].*cost.*must be a number > 0"):
        read_rules(path)


@pytest.mark.parametrize("most", [0, -1, 1.5, True, "2"])
def test_a_wrong_number_is_refused_wherever_it_is_said(most):
    with pytest.raises(InvalidInput, match="`max_changes` must be a whole number >= 1, or None for no limit; got"):
        FeatureSpace.infer(TABLE, max_changes=most)
    with pytest.raises(InvalidInput, match="`max_changes` must be a whole number >= 1, or None for no limit; got"):
        brce.BetaRCE(LogisticRegression(), max_changes=most, **SMALL).fit(TABLE[["a", "b"]], LABELS)


def test_a_feature_space_keeps_both_in_a_file():
    space = FeatureSpace.infer(TABLE, {"b": cost(3)}, max_changes=2)
    again = from_plain(to_plain(space))
    assert again.max_changes == 2
    np.testing.assert_array_equal(again.weight, space.weight)


@pytest.mark.slow
@pytest.mark.parametrize(
    "rules", [{"b": cost(3)}, {"sum": derived("a + 2 * b"), "b": cost(0.5)}], ids=["cost", "derived"]
)
def test_a_result_keeps_both_in_a_file(rce, tmp_path, rules):
    result = rce.set_params(features=rules, max_changes=2).explain(TABLE[:12])
    assert result.certified.any()
    result.save(tmp_path / "result.json")
    again = Result.load(tmp_path / "result.json")
    assert again.features.max_changes == 2
    assert again.features.rules["b"].weight == rules["b"].weight
    pd.testing.assert_frame_equal(again.to_frame(), result.to_frame())


def test_a_file_whose_answers_change_more_than_may_is_refused(rce, tmp_path):
    result = rce.explain(TABLE[:12])
    assert max(changed(result)) > 1
    strict = replace(result.features, max_changes=1)
    with pytest.raises(CorruptFile, match=r"its robust point changes \d columns, not 1 at most"):
        Result.from_json(Result([replace(item, features=strict) for item in result], strict).to_json())


def test_what_a_rule_costs_is_told_in_words():
    assert "costs 3 times as much" in FeatureSpace.infer(TABLE, {"b": cost(3)}).describe().loc["b", "rule"]
