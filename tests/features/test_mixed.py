"""Mixed tables: every kind of column survives the round trip, every rule holds after a projection."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import betarce as brce
from betarce.errors import InvalidInput
from betarce.features import FeatureSpace
from mixed_table import TABLE, N, rules
from rule_content import said

FEATURES = FeatureSpace.infer(TABLE)


def random_points(features, box, seed, wild=2.0):
    rng = np.random.default_rng(seed)
    points = box.origin + rng.normal(size=box.origin.shape) * features.scale * wild
    return np.where(rng.random(points.shape) < 0.3, box.origin, points)


def test_kinds_are_inferred():
    assert FEATURES.describe()["kind"].tolist() == [
        *("integer", "continuous", "integer", "binary", "categorical", "ordinal", "categorical", "continuous"),
        *("integer", "categorical"),
    ]


def test_a_mixed_table_comes_back_as_it_went_in_with_dtypes_levels_and_index():
    again = FEATURES.decode(FEATURES.encode(TABLE), TABLE.index)
    pd.testing.assert_frame_equal(again, TABLE, check_exact=True)


def test_a_level_that_was_never_seen_is_known_but_not_recommended():
    row = TABLE[:1].copy()
    row["region"] = pd.Categorical(["never seen"], TABLE["region"].cat.categories)
    assert FEATURES.decode(FEATURES.encode(row))["region"].iloc[0] == "never seen"
    box = FEATURES.box(FEATURES.encode(TABLE))
    points = box.origin.copy()
    points[:, FEATURES.names.index("region")] = 2
    projected = FEATURES.decode(FEATURES.project(points, box))
    assert not (projected["region"] == "never seen").any()


def test_decimals_are_kept_as_the_training_table_writes_them():
    box = FEATURES.box(FEATURES.encode(TABLE))
    projected = FEATURES.decode(FEATURES.project(random_points(FEATURES, box, 0), box))
    assert (projected["income"].round(2) == projected["income"]).all()


def test_missing_values_pass_through_and_are_never_invented():
    box = FEATURES.box(FEATURES.encode(TABLE))
    points = random_points(FEATURES, box, 1)
    points[:, :3] = np.nan
    projected = FEATURES.project(points, box)
    np.testing.assert_array_equal(np.isnan(projected), np.isnan(box.origin))


def test_missing_may_be_allowed():
    features = FeatureSpace.infer(TABLE, {"visits": brce.may_be_missing()})
    j = features.names.index("visits")
    box = features.box(features.encode(TABLE))
    points = box.origin.copy()
    points[:, j] = np.where(np.isnan(points[:, j]), 2, np.nan)
    projected = features.project(points, box)
    np.testing.assert_array_equal(projected[:, j], points[:, j])
    assert box.free[:, j].all()


def test_a_missing_value_where_training_has_none_is_refused():
    with pytest.raises(InvalidInput, match="has no value in column 'purpose', row 'row 1'"):
        FEATURES.encode(TABLE.assign(purpose=["car", None, *["home"] * (N - 2)]))


def test_an_unknown_category_is_refused_with_the_known_ones():
    with pytest.raises(
        InvalidInput, match="'boat' in column 'purpose', row 'row 0'; the training table knows only 'car'"
    ):
        FEATURES.encode(TABLE.assign(purpose="boat"))


def test_names_count_zero_or_one_and_missing_counts_like_another_name():
    a, b = FEATURES.encode(TABLE)[:1].copy(), FEATURES.encode(TABLE)[:1].copy()
    b[0, FEATURES.names.index("purpose")] = (a[0, FEATURES.names.index("purpose")] + 2) % 3
    assert FEATURES.distance(a, b) == 1
    b[0, FEATURES.names.index("grade")] = abs(a[0, FEATURES.names.index("grade")] - 1)
    assert FEATURES.distance(a, b) == 1.5  # one of two places
    b[0, FEATURES.names.index("note")] = 1.0  # it is missing in row 0
    assert FEATURES.distance(a, b) == 2.5


def obeys(rule, column, before, after):
    """Check one value against one rule, on raw values and without the code under test."""
    rule = said(rule)
    if pd.isna(before) or pd.isna(after):
        return bool(rule.missing) or (pd.isna(before) and pd.isna(after))
    order = {"grade": ["low", "mid", "high"].index, "owner": int}.get(column, lambda value: value)
    if column in ("purpose", "region", "note"):
        moves = dict(rule.moves or {})
        return (
            not (rule.down == 0 and before != after)
            and (rule.values is None or after in rule.values)
            and (rule.moves is None or before == after or after in moves.get(before, ()))
        )
    a, b = order(before), order(after)
    slack = 1e-6 if column == "rate" else 0
    return (
        (rule.down is None or b >= a - rule.down - slack)
        and (rule.up is None or b <= a + rule.up + slack)
        and (rule.low is None or rule.low - slack <= b <= rule.high + slack)
        and (rule.values is None or after in rule.values)
        and (rule.step is None or b == a or b % rule.step == 0)
    )


@pytest.mark.slow
@settings(max_examples=60)
@given(rules(), st.integers(0, 1000))
def test_whatever_is_projected_obeys_every_rule_and_decodes_to_the_original_dtypes(drawn, seed):
    features = FeatureSpace.infer(TABLE, drawn)
    box = features.box(features.encode(TABLE))
    projected = features.project(random_points(features, box, seed), box)
    possible = np.array([not conflict for conflict in box.conflicts])
    assert not features.violations(projected, box)[possible].any()
    np.testing.assert_array_equal(features.project(projected, box)[possible], projected[possible])
    table = features.decode(projected, TABLE.index)
    assert (table.dtypes == TABLE.dtypes).all()
    np.testing.assert_array_equal(features.encode(table), projected)
    for column, rule in drawn.items():
        kept = [obeys(rule, column, a, b) for a, b in zip(TABLE[column], table[column], strict=True)]
        assert all(np.array(kept)[possible]), (column, rule)


@pytest.mark.slow
@settings(max_examples=30)
@given(rules(), st.integers(0, 1000))
def test_a_broken_rule_is_seen_whatever_broke_it(drawn, seed):
    features = FeatureSpace.infer(TABLE, drawn)
    box = features.box(features.encode(TABLE))
    points = random_points(features, box, seed)
    untouched = features.differs(features.project(points, box), points)
    possible = np.array([not conflict for conflict in box.conflicts])
    # float32 values are rounded by the projection, which is no violation.
    checked = [j for j, column in enumerate(features.columns) if not column.single]
    assert (features.violations(points, box) == untouched)[possible][:, checked].all()


def test_rules_that_collide_are_named_row_by_row():
    features = FeatureSpace.infer(TABLE, {"age": brce.immutable() & brce.between(30, 50)})
    box = features.box(features.encode(TABLE))
    inside = TABLE["age"].between(30, 50).to_numpy()
    assert [not conflict for conflict in box.conflicts] == inside.tolist()
    first = int(np.flatnonzero(~inside)[0])
    assert box.conflicts[first] == f"age: {TABLE['age'].iloc[first]} now, but immutable, between 30 and 50"


def test_overrides_take_the_place_of_the_general_rule_in_one_row():
    features = FeatureSpace.infer(TABLE, {"age": brce.immutable(), "purpose": brce.one_of(["car"])})
    overrides = [{"age": brce.increase_only(), "purpose": brce.one_of(["home"])}] + [None] * (N - 1)
    box = features.box(features.encode(TABLE), overrides)
    assert box.free[:, 0].tolist() == [True] + [False] * (N - 1)
    projected = features.decode(features.project(box.origin, box))
    assert projected["purpose"].tolist() == ["home"] + ["car"] * (N - 1)


class TestLinks:
    TABLE = pd.DataFrame(
        {
            "used": [10.0, 50.0, 30.0] * 10,
            "limit": [100.0, 60.0, 40.0] * 10,
            "share": np.array([0.1, 50 / 60, 0.75] * 10),
        }
    )

    @staticmethod
    def share(table):
        return table["used"] / table["limit"]

    def features(self):
        return FeatureSpace.infer(self.TABLE, {"used": brce.no_more_than("limit"), "share": brce.derived(self.share)})

    def test_linked_columns_agree_after_a_projection(self):
        features = self.features()
        box = features.box(features.encode(self.TABLE))
        projected = features.project(random_points(features, box, 3), box)
        table = features.decode(projected)
        assert (table["used"] <= table["limit"]).all()
        unchanged = (projected == box.origin).all(axis=1)
        expected = np.where(unchanged, self.TABLE["share"], features.snap(self.share(table).to_numpy(), 2))
        np.testing.assert_array_equal(table["share"], expected)
        assert not features.violations(projected, box).any()
        assert not box.free[:, 2].any()

    def test_a_derived_column_that_is_something_else_is_refused(self):
        with pytest.raises(InvalidInput, match="disagrees with the training table in 30 of 30 rows"):
            FeatureSpace.infer(self.TABLE, {"share": brce.derived(lambda table: table["used"] * 2)})

    def test_a_derived_column_whose_function_fails_is_named(self):
        with pytest.raises(InvalidInput, match="derived column 'share' failed: KeyError"):
            FeatureSpace.infer(self.TABLE, {"share": brce.derived(lambda table: table["nothing"])})

    def test_a_ceiling_out_of_reach_is_a_conflict(self):
        features = FeatureSpace.infer(
            self.TABLE, {"used": [brce.no_more_than("limit"), brce.increase_only()], "limit": brce.immutable()}
        )
        rows = features.encode(self.TABLE[:1].assign(used=120.0))
        assert "must not exceed" in features.box(rows).conflicts[0]


class TestOneHotGroups:
    TABLE = pd.DataFrame({"x": [0.5, 1.5, 2.5], "is_a": [1, 0, 0], "is_b": [0, 1, 0], "is_c": [0, 0, 1]})
    GROUP = ("is_a", "is_b", "is_c")

    def test_a_group_is_one_column_of_a_point_and_comes_back(self):
        features = FeatureSpace.infer(self.TABLE, {self.GROUP: brce.one_hot()})
        assert len(features) == 2
        np.testing.assert_array_equal(features.encode(self.TABLE)[:, 1], [0, 1, 2])
        pd.testing.assert_frame_equal(features.decode(features.encode(self.TABLE)), self.TABLE)
        assert features.describe().index.tolist() == ["x", "is"]

    def test_two_ones_are_refused(self):
        features = FeatureSpace.infer(self.TABLE, {self.GROUP: brce.one_hot()})
        with pytest.raises(InvalidInput, match="exactly one 1 among the one-hot columns"):
            features.encode(self.TABLE.assign(is_a=1))

    def test_a_dropped_level_is_a_level_of_its_own(self):
        features = FeatureSpace.infer(self.TABLE.drop(columns="is_c"), {("is_a", "is_b"): brce.one_hot()})
        again = features.decode(features.encode(self.TABLE.drop(columns="is_c")))
        pd.testing.assert_frame_equal(again, self.TABLE.drop(columns="is_c"))

    def test_a_group_keeps_its_rule(self):
        features = FeatureSpace.infer(self.TABLE, {self.GROUP: brce.one_hot() & brce.one_of(["is_a", "is_b"])})
        box = features.box(features.encode(self.TABLE))
        points = box.origin.copy()
        points[:, 1] = 2
        assert set(features.project(points, box)[:, 1]) <= {0, 1}


@pytest.mark.parametrize(
    ("drawn", "message"),
    [
        ({"purpose": brce.increase_only()}, "its values have no order. Declare one"),
        ({"purpose": brce.between(0, 1)}, "which is for numbers; use betarce.one_of"),
        ({"purpose": brce.one_of(["boat"])}, "names 'boat', which the column cannot hold"),
        ({"age": brce.transitions({1: [2]})}, "but it holds numbers"),
        ({"age": brce.one_of(["old"])}, "names 'old', which the column cannot hold"),
        ({"income": brce.integer()}, "says integer, but the column holds fractions"),
        ({"purpose": brce.continuous()}, "says continuous, but the column holds"),
        ({"grade": brce.ordinal(["low", "high"])}, "the training table also has 'mid'"),
        ({"age": brce.no_more_than("wealth")}, "no more than another column of the table; got 'wealth'"),
        ({"age": [brce.integer(), brce.continuous()]}, "contradicts itself"),
        ({("age", "wealth"): brce.one_hot()}, "the column 'wealth', which the table lacks"),
    ],
)
def test_a_rule_that_does_not_fit_its_column_is_refused(drawn, message):
    with pytest.raises(InvalidInput, match=message):
        FeatureSpace.infer(TABLE, drawn)


def test_numbers_may_be_declared_names_and_names_may_be_ordered():
    features = FeatureSpace.infer(
        TABLE, {"credits": brce.categorical(), "purpose": brce.ordinal(["education", "car", "home"])}
    )
    again = features.decode(features.encode(TABLE), TABLE.index)
    pd.testing.assert_frame_equal(again, TABLE)
    assert features.is_nominal[features.names.index("credits")]
    assert not features.is_nominal[features.names.index("purpose")]


def test_dates_are_refused_with_advice():
    with pytest.raises(InvalidInput, match="neither number nor category"):
        FeatureSpace.infer(TABLE.assign(since=pd.Timestamp("2020-01-01")))


class TestPolars:
    pl = pytest.importorskip("polars")

    def table(self):
        pl = self.pl
        return pl.DataFrame(
            {
                "age": [20, 30, None, 50],
                "debt": [0.5, None, 1.25, 3.0],
                "owner": [True, False, None, True],
                "purpose": ["car", None, "home", "car"],
                "whole": [1, 2, 3, 4],
            }
        ).with_columns(
            pl.Series("grade", ["low", "high", None, "low"], dtype=pl.Enum(["low", "high"])),
            pl.Series("region", ["n", "s", "n", None], dtype=pl.Categorical),
            pl.Series("small", [1, 2, 3, 4], dtype=pl.Int8),
            pl.Series("rate", [0.1, 0.2, 0.3, 0.4], dtype=pl.Float32),
        )

    def test_a_table_comes_back_as_it_went_in_with_dtypes_and_nulls(self):
        table = self.table()
        features = FeatureSpace.infer(table)
        again = features.decode(features.encode(table))
        assert again.schema == table.schema
        assert again.equals(table)
        assert features.describe()["kind"].tolist() == [
            *("integer", "continuous", "binary", "categorical", "integer", "ordinal", "categorical", "integer"),
            "continuous",
        ]

    def test_a_row_is_a_dict_and_may_come_back_as_one(self):
        features = FeatureSpace.infer(self.table())
        row = features.row(features.encode(self.table())[1])
        assert row["age"] == 30
        assert row["debt"] is None
        np.testing.assert_array_equal(features.encode(row), features.encode(self.table())[1:2])

    def test_rows_of_pandas_are_understood_by_name(self):
        features = FeatureSpace.infer(self.table().select("whole", "small"))
        rows = pd.DataFrame({"small": [4], "whole": [1]})
        np.testing.assert_array_equal(features.encode(rows), [[1.0, 4.0]])
