"""Odd input is refused at the edge, by an error of our own that says what to do."""

import errno
import os
from datetime import date, datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

import betarce as brce
from betarce.checks import check_n_jobs
from betarce.errors import BetarceError, InvalidInput, NotWritten
from betarce.features import FeatureSpace, check_table
from betarce.models.recipe import check_labels
from betarce.posterior import Guarantee
from betarce.storage.files import make_folder, write_whole
from betarce.tables.csv_file import read_csv
from betarce.targets import accepted

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame({"a": RNG.normal(size=40), "b": RNG.normal(size=40)})
LABELS = (TABLE["a"] + TABLE["b"] > 0).astype(int)
SMALL = {"delta": 0.6, "confidence": 0.7, "n_models": 6, "prior": "jeffreys", "random_state": 0, "verbose": -1}


def fitted(X=TABLE, y=LABELS, **options):
    return brce.BetaRCE(LogisticRegression(), **{**SMALL, **options}).fit(X, y)


# Masked arrays


def test_masked_arrays_lose_their_mask():
    masked = np.ma.masked_array(TABLE.to_numpy(), mask=np.eye(40, 2) > 0)
    with pytest.raises(InvalidInput, match=r"`X` must not be a masked array; 2 of its values are masked"):
        fitted(masked)
    with pytest.raises(InvalidInput, match=r"`X` must not be a masked array; 2 of its values are masked"):
        fitted(list(masked))
    with pytest.raises(InvalidInput, match="`points` must not be a masked array"):
        fitted().certify(masked, target=1)
    with pytest.raises(InvalidInput, match="`y` must not be a masked array; 1 of its values"):
        fitted(y=np.ma.masked_array(LABELS, mask=[True] + [False] * 39))
    with pytest.raises(InvalidInput, match="`target` must not be a masked array"):
        accepted(np.ma.masked_array([1, 1], mask=[True, False]), np.array([0, 1]), 2)


def test_a_masked_array_that_hides_nothing_is_an_array():
    assert check_table(np.ma.masked_array(TABLE.to_numpy())).shape == (40, 2)
    assert len(check_labels(np.ma.masked_array(LABELS.to_numpy()), 40)) == 40


# Tables


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (TABLE.to_records(index=False), r"got recarray\. Pass pandas\.DataFrame\(X\)"),
        (TABLE.to_records(index=False).view(np.ndarray), r"got ndarray\. Pass pandas\.DataFrame\(X\)"),
        (TABLE.to_dict("records"), r"got list\. Pass pandas\.DataFrame\(X\)"),
        (TABLE.to_dict("list"), r"column 'a' has 40\. For several rows: pandas\.DataFrame\(X\)"),
        ({"a": TABLE["a"], "b": TABLE["b"]}, r"column 'a' has 40\. For several rows: pandas\.DataFrame\(X\)"),
        (csr_matrix(TABLE.to_numpy()), r"got csr_matrix\. Pass X\.toarray\(\)"),
        (pl.LazyFrame({"a": [1]}), r"got LazyFrame\. Pass X\.collect\(\)"),
        (None, "got NoneType of shape"),
        ("data.csv", "got str of shape"),
        (TABLE.assign(c=[[1]] * 40), r"row 0, column 'c' holds \[1\] \(list\)"),
        (TABLE.assign(c=[*["x"] * 39, {"k": 1}]), r"row 39, column 'c' holds \{'k': 1\} \(dict\)"),
        (pl.DataFrame({"a": [[1], [2]]}), r"row 0, column 'a' holds \[1\] \(list\)"),
    ],
    ids=[
        "recarray",
        "structured",
        "dicts",
        "lists",
        "dict",
        "sparse",
        "lazy",
        "none",
        "path",
        "list",
        "cell",
        "polars",
    ],
)
def test_what_is_no_table_is_refused_with_the_way_to_one(X, message):
    with pytest.raises(InvalidInput, match=message):
        FeatureSpace.infer(X)


def test_a_list_in_a_cell_is_refused_later_too():
    words = pd.DataFrame({"k": ["u", "v"] * 5})
    for features in (FeatureSpace.infer(words), FeatureSpace.infer(words, {"k": brce.categorical(["u", "v"])})):
        with pytest.raises(InvalidInput, match=r"`rows` must hold one number or name in each cell; row 1, column 'k'"):
            features.encode(pd.DataFrame({"k": ["u", ["v"]]}), what="rows")
    with pytest.raises(InvalidInput, match="row 0, column 'k' holds"):
        FeatureSpace.infer(pd.DataFrame({"k": [["u"], "v"]}), {"k": brce.categorical(["u", "v"])})


def test_a_dict_is_a_single_row():
    assert FeatureSpace.infer(TABLE).encode({"a": 0.5, "b": 1}).tolist() == [[0.5, 1.0]]


def test_column_names_of_several_levels_have_them_all_in_to_frame():
    names = pd.MultiIndex.from_tuples([("money", "in"), ("money", "out")])
    table = TABLE.set_axis(names, axis=1)
    result = fitted(table).explain(table[:4])
    frame = result.to_frame()
    assert frame.columns.nlevels == 3
    assert frame["original"].columns.tolist() == names.tolist()
    np.testing.assert_array_equal(frame["original"], table[:4])
    assert frame["result", "status", ""].tolist() == [item.status for item in result]


def test_column_names_of_one_level_have_two_in_to_frame():
    result = fitted().explain(TABLE[:4])
    assert result.to_frame().columns.tolist()[:2] == [("original", "a"), ("original", "b")]
    assert result.to_frame()["result", "status"].tolist() == [item.status for item in result]


@pytest.mark.parametrize("rules", ["x", ["x"], 3, brce.immutable()], ids=repr)
def test_overrides_that_are_no_rules_by_column_are_refused(rules):
    with pytest.raises(InvalidInput, match=r"`overrides` must map each row to its rules by column.*; got .* for a row"):
        fitted().explain(TABLE[:2], overrides={1: rules})


# Labels


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1, "a"], r"`y` must hold labels of one kind; got int \(1\) and str \('a'\)"),
        (pd.Series([1, "a"], dtype=object), "`y` must hold labels of one kind"),
        (np.array([True, "a"], dtype=object), "`y` must hold labels of one kind; got bool"),
        (pd.to_datetime(["2020-01-01", "2021-01-01"]), "must hold class labels: text, whole numbers or truth values"),
        (np.array([datetime(2020, 1, 1), datetime(2021, 1, 1)], dtype=object), r"got datetime.datetime\(2021"),
        (np.array([date(2020, 1, 1), date(2021, 1, 1)], dtype=object), r"\(date\)\. Turn them into text first"),
        (pd.Series([(1,), (2,)]), r"got \(2,\) \(tuple\)"),
        (np.array([1 + 1j, 2]), "got complex128"),
    ],
    ids=["list", "objects", "truth", "times", "datetimes", "dates", "tuples", "complex"],
)
def test_labels_of_mixed_or_odd_kinds_are_refused(y, message):
    with pytest.raises(InvalidInput, match=message):
        check_labels(y, 2)


@pytest.mark.parametrize(
    "y",
    [
        ["b", "a"],
        [np.str_("b"), "a"],
        (1, 0),
        pd.Series(["b", "a"], dtype=object),
        pd.Series(["b", "a"]).astype("category"),
        pd.Series([True, False], dtype="boolean"),
        pd.Series([1, 0], dtype="Int64"),
        np.array([2.0, 1.0]),
    ],
    ids=str,
)
def test_labels_of_one_kind_are_taken(y):
    assert len(np.unique(np.asarray(check_labels(y, 2)))) == 2


@pytest.mark.parametrize("target", [[1, [2, 3], 1], [{1}, [1], 1], pd.NA, [[1], [1], [1]], {pd.NA}, {0: 1}], ids=repr)
def test_an_odd_target_is_refused(target):
    with pytest.raises(InvalidInput, match="`target` must"):
        accepted(target, np.array([0, 1]), 3)


# Numbers


@pytest.mark.parametrize("n_jobs", [0, "x", 1.5, True, [1]])
def test_workers_must_be_a_whole_number_other_than_zero(n_jobs):
    with pytest.raises(InvalidInput, match="`n_jobs` must be None or a whole number other than 0; got"):
        check_n_jobs(n_jobs)


def test_a_billion_models_are_refused_before_any_memory_is_taken():
    with pytest.raises(InvalidInput, match="`n_models` must be at most 10,000,000; got 1,000,000,000"):
        Guarantee(0.9, 0.95).quorum(10**9)


# Files

RESULT = fitted().explain(TABLE[:2])
WRITERS = {
    "result": RESULT.save,
    "rules": lambda path: brce.write_rules(RESULT.features, path),
    "file": lambda path: write_whole(path, "text"),
    "folder": make_folder,
}
READERS = {"result": brce.Result.load, "rules": brce.read_rules, "table": read_csv}


@pytest.mark.parametrize("path", ["a\0b.toml", "/nowhere\0.toml", "\ud800.toml", 3, None, b"raw.toml"], ids=repr)
@pytest.mark.parametrize("use", [*WRITERS.values(), *READERS.values()])
def test_what_can_be_no_path_is_refused(use, path):
    if use is WRITERS["rules"] and path is None:
        return  # without a path, the rules come back as text
    with pytest.raises(InvalidInput, match="must be a path"):
        use(path)


@pytest.mark.parametrize("use", READERS.values(), ids=READERS)
@pytest.mark.parametrize("name", ["x" * 300 + ".toml", "file.toml/inside.toml", "folder.toml"])
def test_what_cannot_be_read_says_so(use, name, tmp_path):
    (tmp_path / "file.toml").write_text("")
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(BetarceError):
        use(tmp_path / name)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EIO], ids=errno.errorcode.get)
@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("write", ["result", "rules", "file"])
def test_a_full_or_read_only_disk_is_an_error_of_our_own_and_leaves_what_was_there(
    write, step, code, tmp_path, monkeypatch
):
    path = tmp_path / "kept.toml"
    path.write_text("before")

    def fail(*args, **options):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(NotWritten, match=rf"kept.toml' could not be written: {os.strerror(code)}"):
        WRITERS[write](path)
    assert path.read_text() == "before"
    assert [each.name for each in tmp_path.iterdir()] == ["kept.toml"]


def test_a_name_too_long_is_an_error_of_our_own(tmp_path):
    with pytest.raises(NotWritten, match="could not be written: File name too long"):
        RESULT.save(tmp_path / ("x" * 300))
    with pytest.raises(NotWritten, match="could not be made: File name too long"):
        make_folder(tmp_path / ("x" * 300))


def test_a_device_or_a_pipe_is_never_replaced_by_a_file(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(InvalidInput, match="is a device or a pipe"):
        RESULT.save(pipe)
    assert pipe.is_fifo()


def test_an_audit_of_what_is_no_result_of_this_table_raised_a_foreign_error():
    rce = fitted()
    with pytest.raises(InvalidInput, match="`result` must be what `explain` returned; got str"):
        rce.audit("result")
    other = fitted(TABLE.assign(c=1.5)).explain(TABLE.assign(c=1.5)[:1])
    with pytest.raises(InvalidInput, match="`result` must come from a table with the columns"):
        rce.audit(other)


def test_a_pipe_for_a_csv_file_was_said_to_be_missing_and_then_suggested(tmp_path):
    os.mkfifo(tmp_path / "rows.csv")
    with pytest.raises(InvalidInput, match=r"rows\.csv' is a device or a pipe, no file"):
        read_csv(tmp_path / "rows.csv")
