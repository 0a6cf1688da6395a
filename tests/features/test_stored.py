"""A saved feature space is the same space: columns, rules, dtypes."""

import json
from dataclasses import fields

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import betarce as brce
from betarce.errors import CorruptFile, InvalidInput
from betarce.features import Column, FeatureSpace
from betarce.features.stored import FORMAT, from_plain, to_plain
from betarce.storage.values import plain, unplain
from json_edits import changed, places
from mixed_table import TABLE, rules


def through_json(space):
    return from_plain(json.loads(json.dumps(to_plain(space), allow_nan=False)))


def same_value(a, b):
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.dtype == b.dtype and a.tolist() == b.tolist()
    return type(a) is type(b) and repr(a) == repr(b)


def assert_same_space(space, again):
    for mine, theirs in zip(space.columns, again.columns, strict=True):
        for field in fields(Column):
            assert same_value(getattr(mine, field.name), getattr(theirs, field.name)), (mine.name, field.name)
    assert again.rules == space.rules
    assert again.form.names == space.form.names
    assert type(again.form) is type(space.form)
    assert getattr(again.form, "dtypes", ()) == getattr(space.form, "dtypes", ())
    pd.testing.assert_frame_equal(again.describe(), space.describe())
    assert to_plain(again) == to_plain(space)


def test_a_mixed_table_decodes_to_the_same_dtypes_after_loading():
    space = FeatureSpace.infer(TABLE)
    again = through_json(space)
    assert_same_space(space, again)
    decoded = again.decode(space.encode(TABLE), TABLE.index)
    pd.testing.assert_frame_equal(decoded, TABLE, check_exact=True)
    assert repr(decoded.dtypes.tolist()) == repr(TABLE.dtypes.tolist())


@pytest.mark.slow
@settings(max_examples=40)
@given(rules())
def test_whatever_the_rules_the_loaded_space_projects_alike(drawn):
    space = FeatureSpace.infer(TABLE, drawn)
    again = through_json(space)
    assert_same_space(space, again)
    points = space.encode(TABLE)
    wild = points + np.random.default_rng(0).normal(size=points.shape) * space.scale
    box, other = space.box(points), again.box(points)
    assert box.conflicts == other.conflicts
    np.testing.assert_array_equal(space.project(wild, box), again.project(wild, other))


ODD_DTYPES = {
    "small": pd.array([1, None, 3], dtype="UInt8"),
    "masked": pd.array([0.1, None, 1e-300], dtype="Float32"),
    "flags": pd.array([True, None, False], dtype="boolean"),
    "text": pd.array(["a", None, "b"], dtype=pd.StringDtype("python")),
    "default text": pd.array(["a", None, "b"], dtype="str"),
    "objects": np.array(["a", None, "b"], dtype=object),
    "codes": pd.Categorical([10, 20, 10], [30, 20, 10], ordered=True),
    "halves": pd.Categorical([0.5, None, 1.5]),
    "truths": pd.Categorical([True, False, True]),
    "bins": pd.cut([1, 2, 3], [0, 1.5, 4]),
    "texts as objects": pd.Categorical(["x", "y", "x"], pd.Index(["x", "y"], dtype=object)),
    "big-endian": np.array([1, 2, 3], dtype=">i4"),
    "unsigned": np.array([1, 2, 3], dtype=np.uint16),
}


@pytest.mark.parametrize("name", ODD_DTYPES)
def test_every_dtype_of_pandas_comes_back(name):
    table = pd.DataFrame({"x": ODD_DTYPES[name], "other": [1, 2, 3]})
    space = FeatureSpace.infer(table)
    again = through_json(space)
    assert_same_space(space, again)
    before, after = space.decode(space.encode(table)), again.decode(again.encode(table))
    pd.testing.assert_frame_equal(after, before, check_exact=True)
    assert repr(after["x"].dtype) == repr(table["x"].dtype)
    assert repr(after["x"].tolist()) == repr(before["x"].tolist())


@pytest.mark.parametrize(
    "table",
    [
        np.array([[1.5, 2.0], [3.25, 0.1]], dtype=np.float32),
        np.array([[1, 2], [3, 0]], dtype=np.int16),
        np.array([[1, "a"], [3, "b"]], dtype=object),
        np.array([[True, False], [False, True]]),
    ],
    ids=["float32", "int16", "object", "bool"],
)
def test_arrays_come_back_in_their_dtype(table):
    again = through_json(FeatureSpace.infer(table))
    decoded = again.decode(again.encode(table))
    assert decoded.dtype == table.dtype
    assert decoded.tolist() == table.tolist()


def test_a_polars_table_comes_back_with_its_schema():
    table = pl.DataFrame(
        {
            "a": [1, 2, None],
            "b": ["x", "y", None],
            "c": [1.5, 2.5, None],
            "d": [True, False, True],
            "e": pl.Series(["l", "h", "l"], dtype=pl.Enum(["l", "h"])),
            "f": pl.Series(["l", "h", "l"], dtype=pl.Categorical),
            "g": pl.Series([1, 2, 3], dtype=pl.Int8),
            "h": pl.Series([1.5, 2, 3], dtype=pl.Float32),
        }
    )
    again = through_json(FeatureSpace.infer(table))
    decoded = again.decode(again.encode(table))
    assert decoded.schema == table.schema
    assert_frame_equal(decoded, table)


@pytest.mark.parametrize(
    "columns",
    [pd.Index([0, 1]), pd.Index(["a", 1]), pd.MultiIndex.from_tuples([("money", "in"), ("money", "out")])],
    ids=["int", "mixed", "levels"],
)
def test_names_of_columns_need_not_be_text(columns):
    table = pd.DataFrame([[1, 2.5], [3, 4.5]]).set_axis(columns, axis=1)
    space = FeatureSpace.infer(table, {columns[0]: brce.immutable()})
    again = through_json(space)
    assert_same_space(space, again)
    pd.testing.assert_frame_equal(again.decode(again.encode(table)), space.decode(space.encode(table)))


def test_one_hot_groups_and_links_come_back():
    table = pd.DataFrame({"a": [1, 0, 0], "b": [0, 1, 0], "low": [1.0, 2.0, 3.0], "high": [4.0, 5.0, 6.0]})
    group = ("a", "b")
    drawn = {group: brce.one_hot() & brce.one_of(["a", None]), "low": brce.no_more_than("high")}
    space = FeatureSpace.infer(table, drawn)
    again = through_json(space)
    assert_same_space(space, again)
    assert again.links.relations == space.links.relations


@pytest.mark.slow
@settings(max_examples=60)
@given(
    st.lists(st.floats(-1e100, 1e100), min_size=2, max_size=20),
    st.lists(st.one_of(st.text(), st.integers(-(2**40), 2**40), st.booleans()), min_size=1, max_size=8),
)
def test_floats_and_levels_survive_to_the_last_bit(numbers, levels):
    levels = [level for level in levels if type(level) is type(levels[0])]  # True equals 1 in Python
    table = pd.DataFrame({"x": numbers, "level": pd.Series([levels[i % len(levels)] for i in range(len(numbers))])})
    space = FeatureSpace.infer(table, {"level": brce.categorical()})
    again = through_json(space)
    assert_same_space(space, again)
    assert again.encode(table).tobytes() == space.encode(table).tobytes()


VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.dates()),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=5,
)


@given(VALUES)
def test_every_value_comes_back_with_its_type(value):
    again = unplain(json.loads(json.dumps(plain(value, what="it"), allow_nan=False)))
    assert type(again) is type(value)
    assert repr(again) == repr(value)


@pytest.mark.parametrize(
    "moment",
    [
        pd.Timestamp("2024-03-31"),
        pd.Timestamp("2024-03-31 12:34:56.789012345"),
        pd.Timestamp("2024-10-27 01:30", tz="UTC").tz_convert("Europe/Warsaw"),
        pd.Timestamp("2024-01-01", tz="UTC"),
        pd.Timestamp("2024-01-01").as_unit("s"),
    ],
)
def test_timestamps_come_back_with_unit_and_zone(moment):
    again = unplain(json.loads(json.dumps(plain(moment, what="it"))))
    assert again == moment
    assert (again.unit, str(again.tz)) == (moment.unit, str(moment.tz))


@pytest.mark.parametrize("value", [b"bytes", {1}, pd.NaT, pd.Timedelta(1), 1j, object()])
def test_what_cannot_be_saved_is_refused_by_name(value):
    with pytest.raises(InvalidInput, match="cannot be saved as the name of a row"):
        plain(value, what="the name of a row")


class TestDerived:
    TABLE = pd.DataFrame({"used": [10.0, 50.0, 30.0], "limit": [100.0, 80.0, 40.0], "share": [0.1, 0.625, 0.75]})

    def test_a_formula_is_kept(self):
        space = FeatureSpace.infer(self.TABLE, {"share": brce.derived("used / limit")})
        again = through_json(space)
        assert_same_space(space, again)
        box = again.box(again.encode(self.TABLE))
        moved = again.project(box.origin + np.array([10.0, 0.0, 0.0]), box)
        np.testing.assert_array_equal(moved[:, 2], moved[:, 0] / moved[:, 1])
        assert (moved[:, 2] != box.origin[:, 2]).any()

    def test_a_lost_function_is_missed_only_when_it_is_needed(self):
        def share(table):
            return table["used"] / table["limit"]

        again = through_json(FeatureSpace.infer(self.TABLE, {"share": brce.derived(share)}))
        points = again.encode(self.TABLE)
        pd.testing.assert_frame_equal(again.decode(points), self.TABLE)
        assert again.describe()["rule"].tolist() == ["", "", "derived"]
        box = again.box(points)
        np.testing.assert_array_equal(again.project(points, box), points)
        with pytest.raises(InvalidInput, match=r"'share' is derived. Its function \(.*share\) is not part of the file"):
            again.project(points + 1, box)
        assert to_plain(through_json(again)) == to_plain(again)


def test_a_newer_format_is_refused_with_advice():
    data = to_plain(FeatureSpace.infer(TABLE))
    with pytest.raises(CorruptFile, match=r"has format 2, but this version of betarce reads format 1\. Upgrade"):
        from_plain({**data, "betarce_features": FORMAT + 1})


@pytest.mark.parametrize("data", [None, [], 1, "x", {}, {"betarce_features": True}, {"betarce_features": "1"}])
def test_something_else_is_refused(data):
    with pytest.raises(CorruptFile):
        from_plain(data)


SMALL = to_plain(
    FeatureSpace.infer(TABLE[["age", "grade", "visits", "note"]], {"age": brce.between(0, 99) & brce.immutable()})
)


@pytest.mark.parametrize("path", [path for path in places(SMALL) if isinstance(path[-1], str)], ids=str)
def test_a_missing_part_is_corrupt_or_optional_never_another_error(path):
    data = changed(SMALL, path, lambda inner, key: inner.pop(key))
    if path[0] == "rules" and len(path) > 1:  # a rule with less in it may still be one
        assert to_plain(from_plain(data)) == data
    else:
        with pytest.raises(CorruptFile):
            from_plain(data)


@pytest.mark.parametrize("wrong", [{"x": 1}, [], "?", -1.5, None], ids=str)
def test_a_part_of_the_wrong_type_is_corrupt_or_read_as_it_is(wrong):
    for path in places(SMALL):
        data = changed(SMALL, path, lambda inner, key: inner.__setitem__(key, wrong))
        try:
            space = from_plain(data)
        except CorruptFile:
            continue
        assert json.dumps(to_plain(space), sort_keys=True) == json.dumps(data, sort_keys=True), path
