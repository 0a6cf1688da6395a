"""A value is the same value in whatever storage a table keeps it."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import betarce as brce
from betarce.errors import InvalidInput
from betarce.features import FeatureSpace
from betarce.features.stored import from_plain, to_plain
from storages import FLAGS, HAS_ARROW, NUMBERS, TEXT, WHOLE

N = 120
RNG = np.random.default_rng(0)
WORDS = RNG.choice(["car", "home", "other"], N)
INCOME = RNG.integers(10, 60, N)
LABELS = np.where(INCOME + 10 * (WORDS == "home") + RNG.normal(0, 4, N) > 38, "yes", "no")
LOOSE = {"delta": 0.7, "confidence": 0.8, "n_models": 8, "prior": "jeffreys", "base": None, "search": "frontier"}


def fitted(table):
    encode = ColumnTransformer(
        [("names", OneHotEncoder(handle_unknown="ignore"), ["purpose"])], remainder=StandardScaler()
    )
    model = make_pipeline(encode, LogisticRegression())
    return brce.BetaRCE(model, random_state=0, verbose=-1, **LOOSE).fit(table, LABELS)


def refused(table, rce, n=6):
    no = np.flatnonzero(np.asarray(rce.model_.predict(table)) == "no")[:n]
    return table[no.tolist()] if isinstance(table, pl.DataFrame) else table.iloc[no]


EXPECTED = {}


def expected():
    """What the plainest storage gives."""
    if not EXPECTED:
        table = pd.DataFrame({"income": INCOME, "purpose": WORDS.astype(object)})
        rce = fitted(table)
        EXPECTED["points"] = rce.explain(refused(table, rce), target="yes").points("robust")
    return EXPECTED["points"]


@pytest.mark.slow
@pytest.mark.parametrize("storage", TEXT)
def test_pandas_3_with_pyarrow_breaks_text_columns(storage, tmp_path):
    table = pd.DataFrame({"income": INCOME, "purpose": TEXT[storage](list(WORDS))}).set_axis(np.arange(N) + 1000)
    rce = fitted(table)
    rows = refused(table, rce)
    result = rce.explain(rows, target="yes")
    assert result.certified.any()
    assert (result.robust.dtypes == table.dtypes).all()
    assert result.robust.index.tolist() == rows.index[result.certified].tolist()
    pd.testing.assert_frame_equal(result.points("original"), rows, check_index_type=False)
    assert result.points("robust").to_numpy().tolist() == expected().to_numpy().tolist()
    assert result.to_frame()["robust", "purpose"].dtype == table["purpose"].dtype
    result.save(tmp_path / "result.json")
    again = brce.Result.load(tmp_path / "result.json")
    pd.testing.assert_frame_equal(again.robust, result.robust)
    pd.testing.assert_frame_equal(again.to_frame(), result.to_frame())
    assert [verdict.certified for verdict in rce.certify(again.robust, "yes")] == [True] * int(result.certified.sum())


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [pl.String, pl.Categorical, pl.Enum(["car", "home", "other"])], ids=str)
def test_text_of_polars_gives_the_same_answers(dtype, tmp_path):
    table = pl.DataFrame({"income": INCOME, "purpose": pl.Series(WORDS.tolist(), dtype=dtype)})
    rce = fitted(table)
    result = rce.explain(refused(table, rce), target="yes")
    assert result.robust.schema == table.schema
    if not isinstance(dtype, pl.Enum):  # an Enum has an order, which changes distances
        assert result.points("robust").to_numpy().tolist() == expected().to_numpy().tolist()
    result.save(tmp_path / "result.json")
    again = brce.Result.load(tmp_path / "result.json")
    assert again.robust.equals(result.robust)
    assert again.robust.schema == table.schema


@pytest.mark.parametrize("storage", TEXT)
def test_missing_text_comes_back_missing_in_its_storage(storage):
    table = pd.DataFrame({"purpose": TEXT[storage](["car", None, "home", "car"])}).set_axis(list("abcd"))
    features = FeatureSpace.infer(table)
    points = features.encode(table)
    np.testing.assert_array_equal(points[:, 0], [0, np.nan, 1, 0])
    for space in (features, from_plain(to_plain(features))):
        pd.testing.assert_frame_equal(space.decode(points, table.index), table)


def test_a_frame_of_objects_stays_one():
    table = pd.DataFrame(
        {"text": ["a", None, "b"], "number": [1.5, None, 2.5], "flag": [True, None, False]}, dtype=object
    )
    features = FeatureSpace.infer(table)
    again = features.decode(features.encode(table))
    assert again.to_numpy().tolist() == table.to_numpy().tolist()
    assert again.dtypes.tolist() == [np.dtype(object)] * 3


# Any table


def with_gaps(values):
    return st.lists(st.one_of(values, st.none()), min_size=3, max_size=14)


def spaces(values, storages):
    """Build one column in every storage; leave out what has no value at all."""
    return {name: pd.DataFrame({"x": make(list(values))}) for name, make in storages.items()}


def assert_same_in_all(values, storages):
    """Every storage gives the same points, and gets its own dtype and values back."""
    points = {}
    for name, table in spaces(values, storages).items():
        features = FeatureSpace.infer(table)
        points[name] = features.encode(table)
        again = features.decode(points[name], table.index)
        pd.testing.assert_frame_equal(again, table, check_exact=True)
        loaded = from_plain(to_plain(features))
        pd.testing.assert_frame_equal(loaded.decode(points[name], table.index), table, check_exact=True)
        box = features.box(points[name])
        wild = np.random.default_rng(0).normal(size=points[name].shape) * features.scale + points[name]
        projected = features.project(wild, box)
        handed_out = features.decode(projected)
        assert (handed_out.dtypes == table.dtypes).all()
        np.testing.assert_array_equal(features.encode(handed_out), projected)
    first = next(iter(points.values()))
    for name, other in points.items():
        np.testing.assert_array_equal(other, first, err_msg=name)


@pytest.mark.slow
@settings(max_examples=25)
@given(with_gaps(st.text(max_size=4)).filter(lambda values: any(value is not None for value in values)))
def test_any_text_is_the_same_point_in_any_storage(values):
    known = {value for value in values if value is not None}
    if any("\ud800" <= letter <= "\udfff" or letter == "\0" for value in known for letter in value):
        return  # no UTF-8 for half a character
    assert_same_in_all(values, TEXT)


@pytest.mark.slow
@settings(max_examples=40)
@given(with_gaps(st.floats(-1e9, 1e9)).filter(lambda values: any(value is not None for value in values)))
def test_any_number_is_the_same_point_in_any_storage(values):
    assert_same_in_all([None if value is None else value + 0.0 for value in values], NUMBERS)


@pytest.mark.slow
@settings(max_examples=30)
@given(with_gaps(st.integers(-(2**31), 2**31 - 1)).filter(lambda values: any(value is not None for value in values)))
def test_any_whole_number_is_the_same_point_in_any_storage(values):
    assert_same_in_all(values, {**WHOLE, **NUMBERS})


@pytest.mark.slow
@settings(max_examples=20)
@given(with_gaps(st.booleans()).filter(lambda values: any(value is not None for value in values)))
def test_any_truth_value_is_the_same_point_in_any_storage(values):
    assert_same_in_all(values, FLAGS)


@pytest.mark.slow
@settings(max_examples=30)
@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=3, max_size=14), st.integers(0, 99))
def test_what_is_handed_out_of_float32_is_what_was_projected(values, seed):
    for table in (
        pd.DataFrame({"x": np.array(values, dtype=np.float32)}),
        pl.DataFrame({"x": pl.Series(values, dtype=pl.Float32)}),
        np.array(values, dtype=np.float32)[:, None],
    ):
        features = FeatureSpace.infer(table)
        points = features.encode(table)
        wild = points + np.random.default_rng(seed).normal(size=points.shape) * features.scale
        projected = features.project(wild, features.box(points))
        np.testing.assert_array_equal(features.encode(features.decode(projected)), projected)


# What cannot be carried


@pytest.mark.parametrize(
    "column",
    [
        np.float16,
        pytest.param("halffloat[pyarrow]", marks=pytest.mark.skipif(not HAS_ARROW, reason="needs pyarrow")),
    ],
    ids=["numpy", "arrow"],
)
def test_half_precision_is_refused_since_certified_points_would_be_rounded(column):
    halves = np.array([0.5, 1.5, 2.0], dtype=np.float16)
    values = pd.Series(halves, dtype=column)
    with pytest.raises(InvalidInput, match=r"column 'x' is of type (float16|halffloat\[pyarrow\])\. Cast it first"):
        FeatureSpace.infer(pd.DataFrame({"x": values}))


@pytest.mark.skipif(np.dtype(np.longdouble).itemsize == 8, reason="this machine has no longer numbers")
def test_numbers_longer_than_a_float_are_refused_since_no_answer_about_them_can_be_saved():
    values = np.array([0.5, 1.5, 2.0], dtype=np.longdouble)
    with pytest.raises(InvalidInput, match=r"column 'x' is of type float(96|128)\. Cast it first"):
        FeatureSpace.infer(pd.DataFrame({"x": values}))


def test_decimals_are_refused_and_not_taken_for_names():
    from decimal import Decimal

    amounts = [Decimal("1.50"), Decimal("2.25"), None]
    for table in (pd.DataFrame({"x": amounts}), pl.DataFrame({"x": amounts})):
        with pytest.raises(InvalidInput, match=r"column 'x' is of type Decimal\. Cast it first"):
            FeatureSpace.infer(table)


@pytest.mark.skipif(not HAS_ARROW, reason="needs pyarrow")
@pytest.mark.parametrize("name", ["string_view", "date32", "binary", "null"])
def test_types_of_arrow_that_are_neither_number_nor_name_are_refused(name):
    import pyarrow

    column = pd.array([None, None, None], dtype=pd.ArrowDtype(getattr(pyarrow, name)()))
    with pytest.raises(InvalidInput, match=r"column 'x' of type .*, which is neither number nor category"):
        FeatureSpace.infer(pd.DataFrame({"x": column}))
