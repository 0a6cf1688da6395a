"""A rule from outside the package works wherever a rule of the package does."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import betarce as brce
from betarce.errors import CorruptFile, InvalidInput
from betarce.features import FeatureSpace
from betarce.features.rules.registry import RULES
from betarce.features.stored import from_plain, to_plain
from betarce.rules import Rule, RulePart, read_rules, rule, write_rules
from foreign_rules import ByShare, MultiplesOf, Outside, multiples_of, registered

RNG = np.random.default_rng(0)
N = 160
TABLE = pd.DataFrame(
    {
        "months": RNG.integers(6, 80, N),
        "income": RNG.integers(10, 90, N) * 100,
        "rate": RNG.uniform(0, 1, N),
    },
    index=pd.Index([f"p{i}" for i in range(N)]),
)
LABELS = (TABLE["months"] / 80 + TABLE["income"] / 9000 + 0.5 * TABLE["rate"] > 1.2).astype(int)
SMALL = {"delta": 0.7, "confidence": 0.8, "n_models": (9, 13), "random_state": 0, "verbose": -1}


@pytest.fixture(scope="module", autouse=True)
def _known():
    with registered():
        yield


@pytest.fixture(scope="module")
def rce(_known):
    return brce.BetaRCE(LogisticRegression(max_iter=2000), features={"rate": brce.immutable()}, **SMALL).fit(
        TABLE, LABELS
    )


@pytest.fixture(scope="module")
def rejected(rce):
    return TABLE[rce.model_.predict(TABLE) == 0][:10]


def explained(rce, rows, features, **options):
    return rce.set_params(features=features).explain(rows, **options)


FROZEN = {"rate": brce.immutable(), "income": brce.immutable()}


@pytest.mark.slow
def test_every_answer_obeys_it(rce, rejected):
    result = explained(rce, rejected, {**FROZEN, "months": multiples_of(12)})
    assert result.certified.sum() > 5
    assert (result.robust["months"] % 12 == 0).all()
    assert (rejected["months"] % 12 != 0).any()


def test_a_bare_object_is_a_rule_too(rce, rejected):
    bare = explained(rce, rejected, {**FROZEN, "months": MultiplesOf(12)})
    joined = explained(rce, rejected, {**FROZEN, "months": multiples_of(12)})
    pd.testing.assert_frame_equal(bare.robust, joined.robust)


def test_it_joins_rules_of_the_package_and_its_own_kind(rce, rejected):
    both = multiples_of(12) & brce.increase_only() & brce.at_most(30)
    assert repr(both) == "<rule: increase only, up by at most 30.0, a multiple of 12>"
    assert multiples_of(8) & multiples_of(12) == multiples_of(24)
    assert MultiplesOf(12) & brce.increase_only() == brce.increase_only() & MultiplesOf(12)
    assert MultiplesOf(8) & MultiplesOf(12) == multiples_of(24)
    result = explained(rce, rejected, {"rate": brce.immutable(), "months": both})
    robust, before = result.robust["months"], rejected.loc[result.robust.index, "months"]
    assert len(robust) > 5
    assert (robust % 12 == 0).all()
    assert (robust >= before).all()
    assert (robust <= before + 30).all()


def test_a_list_of_values_and_a_foreign_rule_share_what_both_have():
    space = FeatureSpace.infer(TABLE, {"months": multiples_of(12) & brce.one_of([12, 30, 36])})
    assert space.box(space.encode(TABLE)).choices[0].values.tolist() == [12.0, 36.0]


def test_single_rows_may_have_their_own(rce, rejected):
    names = rejected.index
    own = {names[1]: {"months": multiples_of(24)}, names[2]: {"months": [multiples_of(12), brce.increase_only()]}}
    features = {"rate": brce.immutable(), "months": multiples_of(12)}
    result = explained(rce, rejected, features, overrides=own)
    months = result.robust["months"]
    assert (months % 12 == 0).all()
    assert months[names[1]] % 24 == 0
    assert months[names[2]] >= rejected.loc[names[2], "months"]
    again = brce.Result.from_json(result.to_json())
    assert again[1].overrides == {"months": multiples_of(24)}


def test_it_is_told_in_words():
    space = FeatureSpace.infer(TABLE, {"months": multiples_of(12) & brce.immutable()})
    assert space.describe().loc["months", "rule"] == "immutable, a multiple of 12"
    box = space.box(space.encode(TABLE.assign(months=13)[:1]))
    assert box.conflicts == ("months: 13 now, but immutable, a multiple of 12",)


def test_a_row_that_cannot_obey_says_why(rce, rejected):
    result = explained(rce, rejected[:3].assign(months=13), {**FROZEN, "months": multiples_of(12) & brce.immutable()})
    assert [item.status for item in result] == ["infeasible"] * 3
    assert "months: 13 now, but immutable, a multiple of 12" in result[0].reason


def test_it_is_named_where_it_stands_in_the_way(rce, rejected):
    tight = {"months": multiples_of(12) & brce.at_most(13), **FROZEN}
    reasons = [item.reason for item in explained(rce, rejected, tight) if item.status == "not-found"]
    expected = "What stands in the way is the rule on 'months' (at most 13 either way, a multiple of 12)"
    assert any(expected in reason for reason in reasons)


def test_a_file_of_rules_writes_and_reads_it(rce, rejected, tmp_path):
    rules = {"months": multiples_of(12) & brce.increase_only(), "income": ByShare(0.5), "rate": Outside(0.2, 0.4)}
    path = tmp_path / "rules.toml"
    text = write_rules(FeatureSpace.infer(TABLE, rules), path)
    assert "\nincrease_only = true\nmultiples_of = 12\n" in text
    assert "\nby_share = 0.5\n" in text
    assert "\noutside = {low = 0.2, high = 0.4}\n" in text
    assert "#                                 multiples_of = 12           a multiple of this number\n" in text
    assert dict(read_rules(path)) == {name: Rule() & one for name, one in rules.items()}
    path.write_text("[columns.months]\nmultiples_of = 12\n[columns.income]\nimmutable = true\n", encoding="utf-8")
    result = explained(rce, rejected, str(path))
    assert (result.robust["months"] % 12 == 0).all()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("multiples_of = 0", r"\[columns.months\], key 'multiples_of': `base` must be a whole number >= 1; got 0"),
        ("multiples_of = {a = 1}", "key 'multiples_of': a value must be text, a number"),
        ("outside = 3", "key 'outside': must be a table with the keys low, high; got 3"),
        ("outside = {low = 3}", "key 'outside': .*missing 1 required"),
        ("multiple_of = 12", "there is no key 'multiple_of'. Did you mean 'multiples_of'"),
    ],
)
def test_a_wrong_value_in_a_file_is_named_with_its_place(text, message, tmp_path):
    path = tmp_path / "rules.toml"
    path.write_text(f"[columns.months]\n{text}\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match=message):
        read_rules(path)


def test_a_saved_result_keeps_it(rce, rejected, tmp_path):
    rules = {**FROZEN, "months": multiples_of(12) & brce.at_most(40)}
    result = explained(rce, rejected, rules)
    result.save(tmp_path / "result.json")
    again = brce.Result.load(tmp_path / "result.json")
    assert again.features.rules == result.features.rules
    assert str(again.features.rules["months"]) == "at most 40 either way, a multiple of 12"
    pd.testing.assert_frame_equal(again.to_frame(), result.to_frame())


def test_a_saved_result_that_breaks_it_is_refused(rce, rejected):
    free = explained(rce, rejected, FROZEN)
    assert (free.robust["months"] % 12 != 0).any()
    strict = FeatureSpace.infer(TABLE, {**FROZEN, "months": multiples_of(12)})
    forged = brce.Result([replace(item, features=strict) for item in free], strict)
    with pytest.raises(CorruptFile, match=r"its robust point breaks the rules: months is \d+"):
        brce.Result.from_json(forged.to_json())


def test_a_file_with_a_rule_that_nobody_registered_says_so(rce, rejected):
    text = explained(rce, rejected, {**FROZEN, "months": multiples_of(12)}).to_json()
    entry = RULES.pop("multiples_of")
    try:
        with pytest.raises(CorruptFile, match="there is no rule 'multiples_of'; if it is one of another package"):
            brce.Result.from_json(text)
    finally:
        RULES["multiples_of"] = entry


def test_a_wrong_value_in_a_saved_file_is_refused():
    data = to_plain(FeatureSpace.infer(TABLE, {"months": multiples_of(12)}))
    assert data["rules"] == [["months", {"multiples_of": {"base": 12}}]]
    for wrong in ({"base": 0}, {"base": "12"}, {}, {"base": 12, "more": 1}, 12, None):
        with pytest.raises(CorruptFile):
            from_plain({**data, "rules": [["months", {"multiples_of": wrong}]]})


def test_a_rule_that_depends_on_the_value_now_moves_each_row_by_its_own_share(rce, rejected):
    result = explained(rce, rejected, {"rate": brce.immutable(), "income": ByShare(0.2)})
    robust = result.robust["income"]
    before = rejected.loc[robust.index, "income"]
    assert len(robust)
    assert (robust <= 1.2 * before).all()
    assert (robust > before).any()


@pytest.mark.slow
def test_a_rule_that_no_box_can_say_is_obeyed_as_a_relation(rce, rejected):
    frozen = {"months": brce.immutable(), "income": brce.at_most(1000)}
    free = explained(rce, rejected, frozen).robust["rate"]
    low, high = float(free.min()) - 0.01, float(free.max()) - 0.01
    result = explained(rce, rejected, {**frozen, "rate": Outside(low, high)})
    robust = result.robust["rate"]
    assert free.between(low, high, inclusive="neither").any()
    assert len(robust)
    assert not robust.between(low, high, inclusive="neither").any()
    assert brce.Result.from_json(result.to_json()).features.rules["rate"] == Rule.of(Outside(low, high))


def test_it_is_refused_for_a_column_that_it_does_not_fit():
    with pytest.raises(InvalidInput, match=r"`features\['rate'\]` says a multiple of 12, which is for whole numbers."):
        FeatureSpace.infer(TABLE, {"rate": multiples_of(12)})


class TestRegistry:
    def test_a_name_that_is_taken_is_refused(self):
        for taken in ("between", "column", "at_most"):
            with pytest.raises(InvalidInput, match=rf"must be free; got '{taken}', which another rule has"):
                rule(taken)(Unregistered)
        with pytest.raises(InvalidInput, match="must be free; got 'low'"):
            rule("lowest", stored=("low",))(Unregistered)

    def test_an_object_of_a_class_that_nobody_registered_is_no_rule(self):
        with pytest.raises(InvalidInput, match=r"`features\['months'\]` must be a rule such as betarce.immutable\(\)"):
            FeatureSpace.infer(TABLE, {"months": Unregistered()})
        with pytest.raises(InvalidInput, match="`Unregistered` must be registered before it is used"):
            Rule.of(Unregistered())

    def test_a_class_that_is_defined_again_takes_its_own_place(self):
        entry = RULES["multiples_of"]
        rule("multiples_of")(MultiplesOf)
        assert RULES["multiples_of"] == entry


@dataclass(frozen=True)
class Unregistered(RulePart):
    def in_words(self):
        return "nothing"
