"""Real tables: whatever is handed out obeys every rule, has its class under the real model, and certifies again."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lightgbm import LGBMClassifier
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

import betarce as brce
from betarce.errors import InvalidInput, UnusableModel
from rule_content import said

N = 300
LOOSE = {"delta": 0.7, "confidence": 0.8, "n_models": 9, "random_state": 0, "verbose": -1}


def make_table(seed=0, n=N):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "age": rng.integers(20, 70, n),
            "income": np.round(rng.lognormal(10, 0.4, n), -2),
            "debt": np.round(rng.exponential(4000, n), 2),
            "limit": 0.0,
            "credits": rng.integers(0, 6, n),
            "owner": rng.random(n) > 0.5,
            "purpose": rng.choice(["car", "home", "education", "other"], n, p=[0.4, 0.3, 0.25, 0.05]),
            "grade": pd.Categorical(rng.choice(["low", "mid", "high"], n), ["low", "mid", "high"], ordered=True),
            "visits": np.where(rng.random(n) < 0.15, np.nan, rng.integers(0, 9, n)),
        },
        index=pd.Index([f"c{i}" for i in range(n)], name="client"),
    )
    table["limit"] = np.round(table["debt"] + rng.exponential(2000, n), 2)
    table["share"] = np.round(table["debt"] / table["limit"], 4)
    score = (
        (table["income"] / 22_000)
        - table["debt"] / 5000
        + 0.8 * table["owner"]
        + 0.7 * (table["purpose"] == "home")
        + 0.5 * table["grade"].cat.codes
        - 0.1 * table["visits"].fillna(4)
        + rng.normal(0, 0.4, n)
    )
    return table, pd.Series(np.where(score > score.median(), "yes", "no"), index=table.index)


TABLE, LABELS = make_table()
NUMBERS, NAMES = make_column_selector(dtype_include="number"), make_column_selector(dtype_exclude="number")


def one_hot_pipeline(model):
    encode = ColumnTransformer(
        [
            ("names", OneHotEncoder(handle_unknown="ignore"), NAMES),
            ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), NUMBERS),
        ]
    )
    return make_pipeline(encode, model)


def ordinal_pipeline(model):
    encode = ColumnTransformer(
        [("names", OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), NAMES)],
        remainder=SimpleImputer(),
    )
    return make_pipeline(encode, model)


MODELS = {
    "logistic": lambda: one_hot_pipeline(LogisticRegression(max_iter=300)),
    "lightgbm": lambda: one_hot_pipeline(
        LGBMClassifier(n_estimators=12, num_leaves=7, min_child_samples=5, verbose=-1)
    ),
    "forest": lambda: ordinal_pipeline(RandomForestClassifier(15, max_depth=5)),
    "threshold": lambda: FixedThresholdClassifier(one_hot_pipeline(LogisticRegression(max_iter=300)), threshold=0.7),
}
RULES = {
    "age": [brce.immutable(), brce.increase_only(), brce.at_most(3)],
    "income": [brce.increase_only(), brce.between(10_000, 60_000), brce.continuous(step=500) & brce.at_most(20_000)],
    "debt": [brce.decrease_only(), brce.no_more_than("limit"), brce.decrease_only() & brce.no_more_than("limit")],
    "credits": [brce.one_of([0, 2, 4]), brce.at_most(1), brce.immutable()],
    "owner": [brce.increase_only(), brce.immutable()],
    "purpose": [brce.one_of(["car", "home"]), brce.transitions({"car": ["home", "other"]}), brce.immutable()],
    "grade": [brce.increase_only(), brce.at_most(1), brce.one_of(["low", "high"])],
    "visits": [brce.immutable(), brce.may_be_missing(), brce.decrease_only()],
    "share": [brce.derived(lambda table: table["debt"] / table["limit"])],
}
FITTED = {}


def fitted(name):
    """Train the members of a model once; the rules are no part of the training."""
    if name not in FITTED:
        FITTED[name] = brce.BetaRCE(MODELS[name](), **LOOSE).fit(TABLE[:200], LABELS[:200])
    rce = FITTED[name]
    members = [*rce.members_.search.models, *rce.members_.certifying.models]
    return rce.model_, brce.Given(members)


def obeys(rule, column, before, after):
    """Check one value against one rule, on raw values and without the code under test."""
    rule = said(rule)
    if pd.isna(before) or pd.isna(after):
        return bool(rule.missing) or (pd.isna(before) and pd.isna(after))
    if column == "purpose":
        moves = dict(rule.moves or {})
        return (
            not (rule.down == 0 and before != after)
            and (rule.values is None or after in rule.values)
            and (rule.moves is None or before == after or after in moves.get(before, ()))
        )
    order = {"grade": ["low", "mid", "high"].index, "owner": int}.get(column, lambda value: value)
    a, b = order(before), order(after)
    return (
        (rule.down is None or b >= a - rule.down)
        and (rule.up is None or b <= a + rule.up)
        and (rule.low is None or rule.low <= b <= rule.high)
        and (rule.values is None or after in rule.values)
        and (rule.step is None or b == a or b % rule.step == 0)
    )


@st.composite
def rules(draw):
    chosen = draw(st.sets(st.sampled_from(sorted(RULES)), max_size=6))
    return {name: draw(st.sampled_from(RULES[name])) for name in sorted(chosen)}


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    name=st.sampled_from(sorted(MODELS)),
    drawn=rules(),
    base=st.sampled_from(["growing-spheres", None]),
    start=st.integers(200, 290),
)
def test_whatever_is_handed_out_obeys_every_rule_and_certifies_again(name, drawn, base, start):
    model, space = fitted(name)
    rce = brce.BetaRCE(model, space=space, features=drawn, base=base, **LOOSE).fit(TABLE[:200], LABELS[:200])
    rows = TABLE[start : start + 6]
    result = rce.explain(rows)
    for item in result:
        assert bool(item.reason) == (item.status != "certified"), item
    robust = result.robust
    if not len(robust):
        return
    assert (robust.dtypes == TABLE.dtypes).all()
    assert robust.index.tolist() == rows.index[result.certified].tolist()
    assert robust["grade"].cat.ordered
    targets = [item.target for item in result if item.status == "certified"]
    assert model.predict(robust).tolist() == targets
    again = rce.certify(robust, targets)
    assert [v.certificate for v in again] == [item.certificate for item in result if item.status == "certified"]
    for column, rule in drawn.items():
        before, after = rows.loc[robust.index, column], robust[column]
        if column == "share":
            moved = (robust.drop(columns="share") != rows.loc[robust.index].drop(columns="share")).any(axis=1)
            expected = np.round(robust["debt"] / robust["limit"], 4)
            np.testing.assert_array_equal(after[moved], expected[moved])
            continue
        kept = [obeys(rule, column, a, b) for a, b in zip(before, after, strict=True)]
        assert all(kept), (column, rule, before.tolist(), after.tolist())
        if said(rule).ceilings:
            assert (robust["debt"] <= robust["limit"]).all()
    missing = rows.loc[robust.index, "visits"].isna()
    if "visits" not in drawn or not said(drawn["visits"]).missing:
        np.testing.assert_array_equal(robust["visits"].isna(), missing)


@pytest.mark.slow
def test_rules_that_collide_make_a_row_infeasible_and_say_why():
    model, space = fitted("logistic")
    rules = {"age": brce.immutable() & brce.between(30, 40)}
    rce = brce.BetaRCE(model, space=space, features=rules, **LOOSE).fit(TABLE[:200], LABELS[:200])
    result = rce.explain(TABLE[200:220])
    outside = ~TABLE["age"][200:220].between(30, 40).to_numpy()
    assert [item.status == "infeasible" for item in result] == outside.tolist()
    first = result[int(np.flatnonzero(outside)[0])]
    assert first.reason.startswith("Rules collide: age: ")
    assert "immutable, between 30 and 40" in first.reason


@pytest.mark.slow
def test_rules_of_a_single_row():
    model, space = fitted("logistic")
    rce = brce.BetaRCE(model, space=space, base=None, **LOOSE).fit(TABLE[:200], LABELS[:200])
    rows = TABLE[200:203]
    frozen = {name: brce.immutable() for name in ("income", "debt", "purpose", "grade", "owner")}
    result = rce.explain(rows, overrides={"c200": frozen})
    moved = result.changes()
    assert not set(moved.loc[moved["row"] == "c200", "feature"]) & set(frozen)
    untouched = rce.explain(rows)
    assert [a.status for a in result][1:] == [b.status for b in untouched][1:]
    with pytest.raises(InvalidInput, match="names the row 'nobody'"):
        rce.explain(rows, overrides={"nobody": frozen})


@pytest.mark.slow
def test_a_foreign_base_that_breaks_a_rule_is_moved_and_reported():
    model, space = fitted("logistic")
    rules = {"age": brce.immutable(), "purpose": brce.one_of(["car", "home"])}
    rce = brce.BetaRCE(model, space=space, features=rules, **LOOSE).fit(TABLE[:200], LABELS[:200])
    rows = TABLE[200:210][model.predict(TABLE[200:210]) == "no"]
    foreign = rows.assign(income=rows["income"].max() * 3, age=rows["age"] + 1, purpose="other", debt=0.0)
    result = rce.explain(rows, base_points=foreign)
    assert result.certified.any()
    for item in result:
        assert "age" in item.note
        assert "purpose" in item.note
        assert item.base["age"] == item.original["age"]
        assert item.base["purpose"] in ("car", "home")


@pytest.mark.slow
def test_members_that_lack_a_category_are_refused_before_the_search_with_advice():
    rare = TABLE.assign(purpose=["boat", *TABLE["purpose"][1:]])
    encode = ColumnTransformer([("names", OneHotEncoder(), ["purpose"])], remainder="drop")
    model = make_pipeline(encode, LogisticRegression())
    with pytest.raises(UnusableModel, match="handle_unknown"):
        brce.BetaRCE(model, **LOOSE).fit(rare, LABELS)


class TestClasses:
    GRADES = pd.Series(
        pd.qcut(TABLE["income"] - 3 * TABLE["debt"], 4, labels=["bad", "fair", "good", "top"]).astype(str)
    )

    def rce(self, **options):
        model = one_hot_pipeline(LogisticRegression(max_iter=500))
        return brce.BetaRCE(model, **LOOSE, **options).fit(TABLE[:200], self.GRADES[:200])

    @pytest.mark.slow
    def test_a_set_of_classes_accepts_any_of_them(self):
        rce = self.rce()
        rows = TABLE[200:230]
        rows = rows[rce.model_.predict(rows) == "bad"]
        result = rce.explain(rows, target={"good", "top"})
        assert result.certified.any()
        assert set(rce.model_.predict(result.robust)) <= {"good", "top"}
        assert all(item.target == ["good", "top"] for item in result)
        members = rce.members_.certifying.models
        share = np.mean([np.isin(member.predict(result.robust), ["good", "top"]) for member in members], axis=0)
        bounds = [item.certificate.n_agree / len(members) for item in result if item.status == "certified"]
        np.testing.assert_allclose(share, bounds)
        one = rce.explain(rows, target="top")
        near, far = (np.nanmedian([item.distance_to_original for item in r]) for r in (result, one))
        assert near <= far

    @pytest.mark.slow
    def test_a_target_a_row_may_be_a_class_or_a_set(self):
        rce = self.rce()
        rows = TABLE[200:230]
        rows = rows[rce.model_.predict(rows) == "bad"][:2]
        result = rce.explain(rows, target=["fair", {"good", "top"}])
        assert [item.target for item in result] == ["fair", ["good", "top"]]

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("target", "message"),
        [
            (None, "must say which of the 4 classes"),
            ({"bad", "fair", "good", "top"}, "must leave some class out"),
            ({"best"}, "must name some of the classes"),
            ("best", "must be one of the classes"),
        ],
    )
    def test_a_wrong_target_is_refused(self, target, message):
        rce = self.rce()
        rows = TABLE[200:230]
        with pytest.raises(InvalidInput, match=message):
            rce.explain(rows[rce.model_.predict(rows) == "bad"], target=target)

    @pytest.mark.slow
    def test_a_row_that_has_one_of_its_classes_is_there_already(self):
        rce = self.rce()
        rows = TABLE[200:230]
        now = rce.model_.predict(rows)
        rows = pd.concat([rows[now == "bad"][:2], rows[now == "top"][:2]])
        result = rce.explain(rows, target={"good", "top"})
        assert [item.status == "already-there" for item in result] == [False, False, True, True]


@pytest.mark.slow
def test_a_tuned_threshold_is_what_is_explained():
    model = TunedThresholdClassifierCV(one_hot_pipeline(LogisticRegression(max_iter=300)), cv=3)
    labels = (LABELS == "yes").astype(int)
    rce = brce.BetaRCE(model, **LOOSE).fit(TABLE[:200], labels[:200])
    rows = TABLE[200:220]
    rows = rows[rce.model_.predict(rows) == 0]
    result = rce.explain(rows)
    assert result.certified.any()
    assert (rce.model_.predict(result.robust) == 1).all()


@pytest.mark.slow
def test_native_categories_and_missing_values_need_no_pipeline():
    table = TABLE.astype({"purpose": "category"})
    model = HistGradientBoostingClassifier(max_iter=15, categorical_features="from_dtype")
    rce = brce.BetaRCE(model, base=None, **LOOSE).fit(table[:200], LABELS[:200])
    result = rce.explain(table[200:206])
    assert result.certified.any()
    assert (result.robust.dtypes == table.dtypes).all()
    np.testing.assert_array_equal(result.robust["visits"].isna(), table.loc[result.robust.index, "visits"].isna())


@pytest.mark.slow
@pytest.mark.parametrize(
    "model", [LogisticRegression(max_iter=500), RandomForestClassifier(15, max_depth=4)], ids=["logistic", "forest"]
)
def test_a_model_that_eats_one_hot_columns_gets_whole_groups(model):
    table = pd.get_dummies(TABLE[["income", "debt", "purpose"]], columns=["purpose"], dtype=int)
    group = tuple(name for name in table if name.startswith("purpose_"))
    table["income"] /= 1000
    table["debt"] /= 1000
    rules = {group: brce.one_hot() & brce.one_of(group[:3])}
    rce = brce.BetaRCE(model, features=rules, base=None, **LOOSE).fit(table[:200], LABELS[:200])
    result = rce.explain(table[200:212])
    assert result.certified.any()
    robust = result.robust
    assert (robust.dtypes == table.dtypes).all()
    assert (robust[list(group)].sum(axis=1) == 1).all()
    assert (robust[group[3]] == 0).all()
    assert (rce.model_.predict(robust) == [item.target for item in result if item.status == "certified"]).all()


@pytest.mark.slow
def test_polars_in_polars_out():
    pl = pytest.importorskip("polars")
    columns = {name: TABLE[name].to_list() for name in ("age", "income", "debt", "owner", "purpose")}
    table = pl.DataFrame(columns)
    encode = ColumnTransformer(
        [("names", OneHotEncoder(handle_unknown="ignore"), ["purpose"])], remainder=StandardScaler()
    )
    model = make_pipeline(encode, LogisticRegression(max_iter=300))
    rules = {"age": brce.immutable(), "purpose": brce.transitions({"car": ["home"]})}
    rce = brce.BetaRCE(model, features=rules, **LOOSE).fit(table[:200], pl.Series(LABELS[:200].to_list()))
    rows = table[200:206]
    result = rce.explain(rows)
    assert isinstance(result.robust, pl.DataFrame)
    assert result.robust.schema == table.schema
    assert result[0].original["purpose"] == rows["purpose"][0]
    kept = np.flatnonzero(result.certified)
    assert result.robust["age"].to_list() == [rows["age"][int(i)] for i in kept]
    assert set(result.changes()["feature"]) <= {"income", "debt", "owner", "purpose"}
