"""The rows of one call: each is answered as if it were alone, and one that cannot be answered spoils no other."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import betarce as brce
from betarce.errors import InvalidInput
from betarce.robustify import Result
from betarce.testing import RULE_SETS, rule_case

MIXED = rule_case("none")
TABLE, LABELS = MIXED.X, MIXED.y
LOOSE = {"delta": 0.7, "confidence": 0.8, "n_models": (15, 14), "random_state": 0, "verbose": -1}


def three_columns(n=120, seed=0):
    """Whole numbers, two decimals and names: the table on which company once mattered."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {"a": rng.integers(0, 20, n), "b": rng.uniform(0, 3, n).round(2), "k": rng.choice(["u", "v", "w"], n)}
    )
    score = table["a"] / 20 + table["b"] / 3 + 0.4 * (table["k"] == "v") + 0.1 * rng.normal(size=n)
    return table, (score > 1.1).astype(int)


THREE, THREE_LABELS = three_columns()
FRONT = ColumnTransformer([("k", OneHotEncoder(handle_unknown="ignore"), ["k"]), ("n", StandardScaler(), ["a", "b"])])
TRANSITIONS = {"k": brce.transitions({"u": ["v"], "v": ["u"]})}


def assert_same_answer(one, other):
    """Compare everything about two answers but the time they took, bit for bit."""
    for part in ("name", "target", "status", "reason", "note", "certificate", "votes", "n_evaluations"):
        assert getattr(one, part) == getattr(other, part), part
    for which in ("original", "base", "robust"):
        a, b = one.points[which], other.points[which]
        assert (a is None) == (b is None), which
        assert a is None or a.tobytes() == b.tobytes(), which


def assert_company_changes_nothing(rce, rows, alone):
    together = rce.explain(rows)
    order = np.random.default_rng(1).permutation(len(rows))
    shuffled = rce.explain(rows.iloc[order])
    for place, i in enumerate(order):
        assert_same_answer(shuffled[place], together[int(i)])
    for i in alone:
        assert_same_answer(rce.explain(rows[i : i + 1])[0], together[i])
    return together


@pytest.mark.slow
@pytest.mark.parametrize(
    "estimator", [LogisticRegression(), DecisionTreeClassifier(max_depth=4)], ids=["linear", "tree"]
)
@pytest.mark.parametrize("base", [None, "growing-spheres", "nice"])
def test_a_row_is_answered_alone_as_in_any_company(base, estimator):
    model = make_pipeline(FRONT, estimator)
    rce = brce.BetaRCE(model, features=TRANSITIONS, base=base, **LOOSE).fit(THREE, THREE_LABELS)
    together = assert_company_changes_nothing(rce, THREE[:20], alone=range(0, 20, 4))
    assert together.certified.any()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::betarce.errors.SlowMembers")
@pytest.mark.parametrize("estimator", [brce.Network(), KNeighborsClassifier(7)], ids=["network", "neighbours"])
def test_so_it_is_for_networks_and_for_members_that_are_asked_one_by_one_on_any_number_of_workers(estimator):
    model, few = make_pipeline(FRONT, estimator), {**LOOSE, "n_models": (6, 8)}
    rce = brce.BetaRCE(model, features=TRANSITIONS, n_jobs=2, **few).fit(THREE, THREE_LABELS)
    together = assert_company_changes_nothing(rce, THREE[:6], alone=(0, 4))
    alone = brce.BetaRCE(model, features=TRANSITIONS, **few).fit(THREE, THREE_LABELS).explain(THREE[:6])
    for one, other in zip(together, alone, strict=True):
        assert_same_answer(one, other)


@pytest.mark.slow
@pytest.mark.parametrize("search", ["growing-spheres", brce.FrontierSearch(norm=0.4)], ids=["spheres", "mixed norm"])
def test_so_it_is_by_any_search(search):
    model = make_pipeline(FRONT, LogisticRegression())
    rce = brce.BetaRCE(model, features=TRANSITIONS, search=search, **LOOSE).fit(THREE, THREE_LABELS)
    assert_company_changes_nothing(rce, THREE[:12], alone=(0, 5, 9))


@pytest.fixture(scope="module")
def members():
    """Train once; what follows only changes the rules."""
    return brce.BetaRCE(MIXED.pipeline(), **LOOSE).fit(TABLE, LABELS)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind in RULE_SETS if kind != "one_hot"])
def test_so_it_is_under_every_kind_of_rule(members, kind):
    case = rule_case(kind)
    rules = {name: rule for name, rule in RULE_SETS[kind].items() if isinstance(name, str)}
    members.set_params(features=rules, max_changes=case.features.max_changes)
    together = assert_company_changes_nothing(members, case.X[:10], alone=(0, 4))
    assert together.certified.any()


# Rows that cannot be answered


@pytest.fixture(scope="module")
def rce():
    return brce.BetaRCE(make_pipeline(FRONT, LogisticRegression()), **LOOSE).fit(THREE, THREE_LABELS)


@pytest.fixture(scope="module")
def rows(rce):
    return THREE[rce.model_.predict(THREE) == 0][:8].set_axis([f"r{i}" for i in range(8)])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("column", "value", "reason"),
    [("k", "never seen", "never seen"), ("b", np.nan, "no value in column 'b'"), ("k", None, "no value in column 'k'")],
)
def test_a_row_that_cannot_be_read_says_so_and_the_others_are_answered_as_without_it(rce, rows, column, value, reason):
    odd = rows.copy()
    odd.loc["r3", column] = value
    result = rce.explain(odd)
    assert [item.name for item in result] == list(odd.index)
    assert result[3].status == "unreadable"
    assert reason in result[3].reason
    assert result[3].original is None
    assert result[3].certificate is None
    without = rce.explain(rows.drop(index="r3"))
    for one, other in zip([item for item in result if item.name != "r3"], without, strict=True):
        assert_same_answer(one, other)


def test_several_rows_that_cannot_be_read_in_one_batch(rce, rows):
    odd = rows.copy()
    odd.loc[["r0", "r1", "r6"], "k"] = "never seen"
    odd.loc["r7", "b"] = np.nan
    result = rce.explain(odd)
    assert [item.status == "unreadable" for item in result] == [True, True, False, False, False, False, True, True]
    for one, other in zip(result[2:6], rce.explain(rows[2:6]), strict=True):
        assert_same_answer(one, other)


def test_a_row_that_cannot_be_read_needs_no_company(rce, rows):
    odd = rows[:1].copy()
    odd["k"] = "never seen"
    [item] = rce.explain(odd)
    assert item.status == "unreadable"
    assert not rce.explain(odd).certified.any()


def test_rows_that_cannot_be_read_come_with_targets_and_base_points_of_others(rce, rows):
    bases = THREE[rce.model_.predict(THREE) == 1][:8].set_axis(rows.index)
    odd = rows.copy()
    odd.loc["r2", "k"] = "never seen"
    result = rce.explain(odd, target=[1] * 8, base_points=bases)
    without = rce.explain(rows.drop(index="r2"), target=[1] * 7, base_points=bases.drop(index="r2"))
    for one, other in zip([item for item in result if item.name != "r2"], without, strict=True):
        assert_same_answer(one, other)


def test_a_table_with_other_columns_is_still_an_error(rce, rows):
    odd = rows.drop(columns="a")
    odd.loc["r3", "k"] = "never seen"
    with pytest.raises(InvalidInput, match="lacks 'a'"):
        rce.explain(odd)


def test_a_row_that_has_its_class_already_is_told_so_and_the_others_are_answered_as_without_it(rce, rows):
    there = THREE[rce.model_.predict(THREE) == 1][:2].set_axis(["x", "y"])
    mixed = pd.concat([there[:1], rows, there[1:]])
    result = rce.explain(mixed, target=1)
    assert [item.name for item in result if item.status == "already-there"] == ["x", "y"]
    for item in (result[0], result[-1]):
        assert item.reason == "The model gives this row the class that is wanted: there is nothing to change."
        assert item.robust is None
        assert item.base is None
        assert item.certificate is None
    for one, other in zip(result[1:-1], rce.explain(rows, target=1), strict=True):
        assert_same_answer(one, other)


def test_a_batch_of_rows_that_all_have_their_class_is_answered(rce):
    rows = THREE[rce.model_.predict(THREE) == 1][:3]
    assert [item.status for item in rce.explain(rows, target=1)] == ["already-there"] * 3


def test_such_rows_are_shown_saved_and_loaded_like_any_other(rce, rows, tmp_path):
    odd = pd.concat([rows, THREE[rce.model_.predict(THREE) == 1][:1].set_axis(["x"])])
    odd.loc["r3", "k"] = "never seen"
    result = rce.explain(odd, target=1)
    assert "1 unreadable" in repr(result)
    assert "1 already-there" in repr(result)
    assert list(result.to_frame().index) == list(odd.index)
    result.save(tmp_path / "result.json")
    again = Result.load(tmp_path / "result.json")
    for one, other in zip(again, result, strict=True):
        assert_same_answer(one, other)
    assert rce.audit(result, n_models=3)["robust"].isna().tolist() == (~result.certified).tolist()
    assert "unreadable" in result._repr_html_()


@pytest.mark.slow
@pytest.mark.parametrize("spent", [20, 120])
def test_a_certified_row_has_a_base_and_changes_to_show_even_if_the_search_for_its_base_failed(spent):
    rce = brce.BetaRCE(
        MIXED.pipeline(), features=RULE_SETS["all"], search=brce.FrontierSearch(max_evaluations=spent), **LOOSE
    )
    result = rce.fit(TABLE, LABELS).explain(TABLE[:12])
    assert result.certified.any()
    for item in np.array(list(result), dtype=object)[result.certified]:
        assert rce.model_.predict(rce.features_.decode(item.points["base"][None])) == item.target
        assert len(item.changes()) >= 1


@pytest.mark.slow
def test_one_base_point_that_cannot_be_read_spoils_no_other():
    rce = brce.BetaRCE(MIXED.pipeline(), **LOOSE).fit(TABLE, LABELS)
    rows = TABLE[rce.model_.predict(TABLE) == 0][:4].set_axis(list("stuv"))
    bases = rows.assign(a=11.0, b=5.0, c=0.9)
    bases.loc["t", "a"] = np.nan  # how other tools say that they found none
    bases.loc["u", "k"] = "never seen"
    result = rce.explain(rows, base_points=bases)
    assert [result[i].status for i in (1, 2)] == ["base-not-found"] * 2
    assert "`base_points` has no value in column 'a', row 't'" in result[1].reason
    assert "'never seen'" in result[2].reason
    good = rce.explain(rows.loc[["s", "v"]], base_points=bases.loc[["s", "v"]])
    for one, other in zip((result[0], result[3]), good, strict=True):
        assert_same_answer(one, other)


@pytest.mark.slow
@pytest.mark.parametrize("many", [list, np.array, lambda sets: pd.Series(sets, index=TABLE.index[:2])])
def test_sets_of_classes_may_come_in_any_sequence(many):
    table, labels = three_columns()
    rce = brce.BetaRCE(make_pipeline(FRONT, LogisticRegression()), **LOOSE).fit(table, labels)
    result = rce.explain(table[:2], target=many([frozenset({1}), frozenset({0})]))
    assert [item.target for item in result] == [1, 0]
