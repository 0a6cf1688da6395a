"""A saved result is the same result, or it is refused."""

import copy
import json
import os
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

import betarce as brce
from betarce.errors import CorruptFile, InvalidInput
from betarce.features import FeatureSpace
from betarce.files import seal, unseal
from betarce.posterior import Guarantee
from betarce.robustify import Result, RobustCounterfactual
from betarce.robustify.certify import certificate_of
from betarce.robustify.saved import from_json
from test_features_mixed import TABLE
from test_features_saved import changed, places

GUARANTEE = Guarantee(0.6, 0.8)
STATUSES = ["certified", "base-not-found", "not-found", "infeasible", "budget-spent"]


def item(features, points, status="certified", name=0, target="yes", seed=0, **parts):
    """Make one row of a result without a search."""
    rng = np.random.default_rng(seed)
    original, base, robust = points
    if status != "certified":
        robust = None
    votes = () if status in ("base-not-found", "infeasible") else tuple([True] * 7 + [status == "certified"] * 2)
    certificate = None
    if votes:
        voted = base if robust is None else robust
        certificate = certificate_of(voted, target, sum(votes), len(votes), GUARANTEE, steered=False, space="Seed()")
    fields = {
        "name": name,
        "target": target,
        "status": status,
        "reason": "" if status == "certified" else "No way. ✗",
        "note": "",
        "certificate": certificate,
        "votes": votes,
        "distance_to_base": np.nan if robust is None else float(features.distance(robust, base)),
        "distance_to_original": np.nan if robust is None else float(features.distance(robust, original)),
        "n_evaluations": int(rng.integers(1000)),
        "features": features,
        "points": {"original": original, "base": None if status == "base-not-found" else base, "robust": robust},
        "runtime_s": float(rng.random()),
    }
    return RobustCounterfactual(**(fields | parts))


def result_of(table, names=None, statuses=STATUSES, rules=None, **parts):
    features = FeatureSpace.infer(table, rules)
    points = features.encode(table)
    names = list(range(len(statuses))) if names is None else names
    n = len(points)
    items = [
        item(features, (points[i % n], points[(i + 1) % n], points[(i + 2) % n]), status, name, seed=i, **parts)
        for i, (status, name) in enumerate(zip(statuses, names, strict=True))
    ]
    return Result(items, features)


def assert_same_result(a, b):
    assert len(a) == len(b)
    assert a.row_names.equals(b.row_names)
    assert a.row_names.dtype == b.row_names.dtype
    for one, other in zip(a, b, strict=True):
        for part in ("name", "target", "status", "reason", "note", "certificate", "votes", "n_evaluations"):
            assert getattr(one, part) == getattr(other, part), part
        for part in ("distance_to_base", "distance_to_original", "runtime_s"):
            np.testing.assert_array_equal(getattr(one, part), getattr(other, part))
        for which in ("original", "base", "robust"):
            mine, theirs = one.points[which], other.points[which]
            assert (mine is None) == (theirs is None)
            assert mine is None or mine.tobytes() == theirs.tobytes()
        if one.certificate is not None:
            assert one.certificate.lower_bound == other.certificate.lower_bound
    assert_same_table(a.robust, b.robust)
    pd.testing.assert_frame_equal(a.changes(), b.changes(), check_exact=True)
    if not any(isinstance(name, tuple) for name in a.features.form.names):
        pd.testing.assert_frame_equal(a.to_frame(), b.to_frame(), check_exact=True)


def assert_same_table(a, b):
    assert type(a) is type(b)
    if isinstance(a, pd.DataFrame):
        pd.testing.assert_frame_equal(a, b, check_exact=True)
        assert repr(a.dtypes.tolist()) == repr(b.dtypes.tolist())
    elif isinstance(a, np.ndarray):
        assert a.dtype == b.dtype
        assert repr(a.tolist()) == repr(b.tolist())
    else:
        assert a.equals(b)
        assert a.schema == b.schema


@pytest.fixture(scope="module")
def explained():
    """Real answers: two numbers and a name, some rows certified."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=60).round(2), "b": rng.integers(0, 9, 60)}, index=np.arange(100, 160))
    y = np.where(X["a"] + X["b"] / 4 > 1, "yes", "no")
    rce = brce.BetaRCE(LogisticRegression(), delta=0.6, confidence=0.8, random_state=0, n_jobs=1).fit(X, y)
    return rce, rce.explain(X[rce.model_.predict(X) == "no"][:4], target="yes")


def test_what_explain_returns_comes_back_equal(explained, tmp_path):
    rce, result = explained
    result.save(tmp_path / "result.json")
    again = Result.load(tmp_path / "result.json")
    assert again.certified.any()
    assert_same_result(result, again)
    assert repr(again) == repr(result)
    pd.testing.assert_frame_equal(rce.audit(again, n_models=4), rce.audit(result, n_models=4))
    verdicts = rce.certify(again.robust, target="yes")
    assert all(verdict.certified for verdict in verdicts)


def test_every_status_and_every_kind_of_column_comes_back(tmp_path):
    result = result_of(TABLE)
    result.save(str(tmp_path / "result.json"))
    assert_same_result(result, Result.load(str(tmp_path / "result.json")))


def test_the_file_is_strict_json_that_people_can_read():
    result = result_of(TABLE, statuses=["certified"])
    text = result.to_json()
    document = json.loads(text, parse_constant=pytest.fail)
    [row] = document["rows"]
    assert list(row)[:8] == ["name", "target", "status", "reason", "note", "original", "base", "robust"]
    first = TABLE.iloc[0]
    assert row["original"]["purpose"] == first["purpose"]
    assert row["original"]["age"] == first["age"]
    assert row["original"]["visits"] is None
    assert row["certificate"]["n_agree"] == 9
    assert document["betarce_result"] == 1
    assert '"purpose": "' in text  # on a line of its own, not in one long line
    assert max(map(len, text.splitlines())) < 200


@pytest.mark.parametrize(
    "table",
    [
        np.array([[1.5, 2.0], [3.25, 0.1], [7.0, 8.0]], dtype=np.float32),
        np.array([[1, "a"], [3, "b"], [5, "a"]], dtype=object),
        pl.DataFrame({"a": [1, None, 3], "b": ["x", "y", None], "c": [True, False, True], "d": [0.5, 1.5, None]}),
        pd.DataFrame({0: [1, 2, 3], "0": [1.5, 2.5, 3.5]}),
        pd.DataFrame([[1, 2], [3, 4], [5, 6]], columns=pd.MultiIndex.from_tuples([("money", "in"), ("money", "out")])),
    ],
    ids=["float32", "object", "polars", "int names", "levels of names"],
)
def test_tables_of_every_kind_come_back(table):
    result = result_of(table)
    assert_same_result(result, from_json(result.to_json()))


@pytest.mark.parametrize(
    "names",
    [
        [3, 1, 2],
        list(np.array([3, 1, 2])),
        ["x", "Zażółć", ""],
        [1.5, 2.0, -0.0],
        [("a", 1), ("b", 2), ("c", 3)],
        [None, None, None],
        list(pd.date_range("2024-01-01", periods=3)),
        list(pd.date_range("2024-03-30", periods=3, tz="Europe/Warsaw")),
        ["2024-01-01", "2024-01-02", "2024-01-03"],
        [True, False, True],
    ],
    ids=["int", "numpy", "text", "float", "tuple", "none", "time", "zone", "time as text", "bool"],
)
def test_rows_keep_their_names(names):
    result = result_of(TABLE, names, ["certified", "not-found", "certified"])
    assert_same_result(result, from_json(result.to_json()))


def test_a_name_that_cannot_be_kept_is_refused_before_anything_is_written(tmp_path):
    result = result_of(TABLE, [b"raw"], ["certified"])
    with pytest.raises(InvalidInput, match=r"b'raw' \(bytes\) cannot be saved as the name of a row"):
        result.save(tmp_path / "result.json")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("target", [1, 0.5, True, "yes", ["good", "top"]], ids=str)
def test_targets_keep_their_type(target):
    result = result_of(TABLE, target=target)
    again = from_json(result.to_json())
    assert [type(each.target) for each in again] == [type(target)] * len(result)
    assert_same_result(result, again)


def test_an_empty_result_and_rules_come_back():
    assert len(from_json(result_of(TABLE, statuses=[]).to_json())) == 0
    result = result_of(TABLE, rules={"age": brce.immutable(), "income": brce.between(0, np.inf)})
    assert from_json(result.to_json()).features.rules == result.features.rules


FLOATS = st.floats(-1e100, 1e100)


@settings(max_examples=40)
@given(
    st.lists(st.tuples(FLOATS, st.text(max_size=5)), min_size=3, max_size=6),
    st.lists(st.one_of(st.integers(-(2**53), 2**53), st.text()), min_size=1, max_size=5),
    st.data(),
)
def test_any_result_comes_back_to_the_last_bit(rows, names, data):
    names = [name for name in names if type(name) is type(names[0])]
    statuses = [data.draw(st.sampled_from(STATUSES)) for _ in names]
    result = result_of(pd.DataFrame(rows, columns=["x", "level"]), names, statuses)
    text = result.to_json()
    again = from_json(text)
    assert_same_result(result, again)
    assert again.to_json() == text


# Files that are not what they claim to be

TEXT = result_of(TABLE[["age", "income", "purpose", "note"]], statuses=STATUSES[:3]).to_json()


@pytest.mark.parametrize("tenth", range(10))
def test_a_truncated_file_is_refused_by_name(tenth, tmp_path):
    path = tmp_path / "result.json"
    path.write_text(TEXT[: len(TEXT) * tenth // 10], encoding="utf-8")
    with pytest.raises(CorruptFile, match=r"result.json' is not a usable result: it is not strict JSON"):
        Result.load(path)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.integers(0, len(TEXT.encode()) - 1), bit=st.integers(0, 7))
def test_a_flipped_bit_never_gives_another_result(place, bit, tmp_path):
    content = bytearray(TEXT.encode())
    content[place] ^= 1 << bit
    path = tmp_path / "result.json"
    path.write_bytes(bytes(content))
    try:
        again = Result.load(path)
    except CorruptFile:
        return
    assert again.to_json() == TEXT  # white space, or an escape of the same letter


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "not strict JSON"),
        (b"\xff\x00", "not text in UTF-8"),
        (b"[]", "no digest"),
        (b"3", "no digest"),
        (b'{"a": NaN}', "NaN is not JSON"),
        (b'{"a": 1, "a": 2}', "same key twice"),
        (b'{"rows": []}', "no digest"),
        (b'{"digest": "blake2b:0"}', "does not match its digest"),
        (b"[" * 100_000, "not strict JSON"),
        (b"\x80\x04\x95\x10\x00", "not text in UTF-8"),
        (seal({"something": "else"}).encode(), "holds no result"),
        (
            seal({"betarce_result": 2}).encode(),
            "has format 2, but this version of betarce reads up to format 1. Upgrade",
        ),
        (seal({"betarce_result": "1"}).encode(), "unknown format '1'"),
        (seal({"betarce_result": 1}).encode(), "its result cannot be read: KeyError"),
    ],
)
def test_another_file_is_refused_with_the_reason(content, reason, tmp_path):
    path = tmp_path / "other.json"
    path.write_bytes(content)
    with pytest.raises(CorruptFile, match=reason) as caught:
        Result.load(path)
    assert "other.json" in str(caught.value)


def test_a_missing_file_says_so(tmp_path):
    with pytest.raises(InvalidInput, match=r"there is none at .*nothing.json"):
        Result.load(tmp_path / "nothing.json")


@pytest.mark.parametrize("wrong", [{"x": 1}, [], "?", -1.5, 7, True, None], ids=str)
def test_a_part_of_the_wrong_type_is_refused_even_under_a_right_digest(wrong):
    document = unseal(TEXT)
    for path in places(document):
        edited = changed(document, path, lambda inner, key: inner.__setitem__(key, wrong))
        try:
            again = from_json(seal(edited))
        except CorruptFile:
            continue
        # What was read is exactly what the file says.
        written = unseal(again.to_json())
        written["written_by"] = edited["written_by"]
        assert json.dumps(written, sort_keys=True) == json.dumps(edited, sort_keys=True), path


def forged(edit):
    document = copy.deepcopy(unseal(TEXT))
    edit(document["rows"][0])
    return seal(document)


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (lambda row: row["robust"].update(age=99), "readable part and its exact part differ"),
        (lambda row: row["points"]["robust"].__setitem__(0, 40.0), "certificate is not for its point"),
        (lambda row: row["certificate"].update(n_agree=8), "does not add up"),
        (lambda row: row["certificate"].update(lower_bound=0.99), "does not add up"),
        (lambda row: row["votes"].__setitem__(0, False), "votes are not those of its certificate"),
        (lambda row: row.update(status="not-found"), "status 'not-found' does not fit its points"),
        (lambda row: row.update(status="wonderful"), "no row has the status 'wonderful'"),
        (lambda row: row.update(target="no"), "its certificate is for 'yes', not for 'no'"),
        (lambda row: row.update(certificate=None), "its certificate is missing"),
        (lambda row: row["points"]["base"].pop(), "3 values for 4 columns"),
        (lambda row: row.update(extra=1), "readable part and its exact part differ"),
    ],
)
def test_a_forged_row_is_refused_even_under_a_right_digest(edit, reason):
    with pytest.raises(CorruptFile, match=reason):
        from_json(forged(edit))


def test_a_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "result.json"
    result = result_of(TABLE)
    result.save(path)
    before = path.read_bytes()

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        result_of(TABLE, statuses=["certified"]).save(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["result.json"]


def test_saving_again_replaces_the_file_and_keeps_its_permissions(tmp_path):
    path = tmp_path / "result.json"
    result_of(TABLE).save(path)
    path.chmod(0o640)
    result_of(TABLE, statuses=["certified"]).save(path)
    assert len(Result.load(path)) == 1
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "latest.json").symlink_to(tmp_path / "result.json")
    result_of(TABLE).save(tmp_path / "latest.json")
    assert (tmp_path / "latest.json").is_symlink()
    assert len(Result.load(tmp_path / "result.json")) == len(STATUSES)


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InvalidInput, match=r"must name a file in an existing folder; .*result.json' is in .*nowhere"):
        result_of(TABLE).save(tmp_path / "nowhere" / "result.json")
    with pytest.raises(InvalidInput, match="is a folder"):
        result_of(TABLE).save(tmp_path)


def test_text_that_unicode_cannot_hold_is_escaped(tmp_path):
    result = result_of(TABLE, ["\ud800"], ["certified"])
    result.save(tmp_path / "result.json")
    assert Result.load(tmp_path / "result.json")[0].name == "\ud800"


def test_a_note_and_a_missing_runtime_come_back():
    result = result_of(TABLE, statuses=["certified"])
    noted = Result([replace(result[0], note="The base broke a rule.", runtime_s=np.nan)], result.features)
    assert_same_result(noted, from_json(noted.to_json()))
