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
from betarce.posterior import Guarantee, Prior
from betarce.robustify import Result
from betarce.robustify.certify import certificate_of, fingerprint
from betarce.storage.files import digest, seal, unseal
from json_edits import changed, places
from mixed_table import TABLE
from stored_results import STATUSES, item, result_of


def assert_same_result(a, b):
    assert len(a) == len(b)
    assert a.row_names.equals(b.row_names)
    assert a.row_names.dtype == b.row_names.dtype
    for one, other in zip(a, b, strict=True):
        for part in ("name", "target", "status", "reason", "note", "certificate", "votes", "n_evaluations"):
            assert getattr(one, part) == getattr(other, part), part
        for part in ("points", "n_agree", "n_least"):
            mine, theirs = getattr(one.ladder, part), getattr(other.ladder, part)
            assert len(mine) == len(theirs) == 0 or np.array_equal(mine, theirs, equal_nan=True), part
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


def explained_table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=60).round(2), "b": rng.integers(0, 9, 60)}, index=np.arange(100, 160))
    return X, np.where(X["a"] + X["b"] / 4 > 1, "yes", "no")


@pytest.fixture(scope="module")
def explained():
    """Real answers: two numbers and a name, some rows certified."""
    X, y = explained_table()
    rce = brce.BetaRCE(LogisticRegression(), delta=0.6, confidence=0.8, random_state=0, n_jobs=1).fit(X, y)
    return rce, rce.explain(X[rce.model_.predict(X) == "no"][:4], target="yes")


@pytest.mark.slow
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


@pytest.mark.slow
def test_an_answer_that_only_the_rules_of_its_row_allow_can_be_saved():
    fixed = brce.BetaRCE(
        LogisticRegression(), delta=0.6, confidence=0.8, random_state=0, n_jobs=1, features={"a": brce.immutable()}
    )
    X, y = explained_table()
    fixed.fit(X, y)
    rows = X[fixed.model_.predict(X) == "no"][:2]
    own = {"a": brce.between(-9, 9), "b": brce.immutable()}
    result = fixed.explain(rows, target="yes", overrides={rows.index[0]: own})
    assert [item.overrides for item in result] == [own, {}]
    assert result[0].robust["a"] != result[0].original["a"]
    assert_same_result(result, Result.from_json(result.to_json()))


def test_bases_come_as_a_table_of_the_users_own_kind_like_robust_points():
    result = result_of(TABLE)
    assert list(result.base.index) == [item.name for item in result if item.base is not None]
    assert result.base.dtypes.equals(result.robust.dtypes)
    pd.testing.assert_series_equal(result.base.iloc[0], result[0].base, check_names=False)


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
    assert document["betarce_result"] == 3
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
    assert_same_result(result, Result.from_json(result.to_json()))


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
    assert_same_result(result, Result.from_json(result.to_json()))


def test_a_name_that_cannot_be_kept_is_refused_before_anything_is_written(tmp_path):
    result = result_of(TABLE, [b"raw"], ["certified"])
    with pytest.raises(InvalidInput, match=r"b'raw' \(bytes\) cannot be saved as the name of a row"):
        result.save(tmp_path / "result.json")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("target", [1, 0.5, True, "yes", ["good", "top"]], ids=str)
def test_targets_keep_their_type(target):
    result = result_of(TABLE, target=target, statuses=STATUSES[:-1])  # what could not be read wants nothing
    again = Result.from_json(result.to_json())
    assert [type(each.target) for each in again] == [type(target)] * len(result)
    assert_same_result(result, again)


def test_an_empty_result_and_rules_come_back():
    assert len(Result.from_json(result_of(TABLE, statuses=[]).to_json())) == 0
    result = result_of(TABLE, rules={"age": brce.immutable(), "income": brce.between(0, np.inf)})
    assert Result.from_json(result.to_json()).features.rules == result.features.rules


FLOATS = st.floats(-1e100, 1e100)


@pytest.mark.slow
@settings(max_examples=40)
@given(
    st.lists(st.tuples(FLOATS, st.text(max_size=5)), min_size=3, max_size=6, unique=True),
    st.lists(st.one_of(st.integers(-(2**53), 2**53), st.text()), min_size=1, max_size=5),
    st.data(),
)
def test_any_result_comes_back_to_the_last_bit(rows, names, data):
    names = [name for name in names if type(name) is type(names[0])]
    statuses = [data.draw(st.sampled_from(STATUSES)) for _ in names]
    result = result_of(pd.DataFrame(rows, columns=["x", "level"]), names, statuses)
    text = result.to_json()
    again = Result.from_json(text)
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


@pytest.mark.slow
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
        (b'{"a": 1, "a": 2}', "has the key 'a' twice"),
        (b'{"rows": []}', "no digest"),
        (b'{"digest": "blake2b:0"}', "does not match its digest"),
        (b"[" * 100_000, "not strict JSON"),
        (b"\x80\x04\x95\x10\x00", "not text in UTF-8"),
        (seal({"something": "else"}).encode(), "holds no result"),
        (seal({"betarce_result": 4}).encode(), "has format 4, but this version of betarce reads format 3. Upgrade"),
        (seal({"betarce_result": 2}).encode(), "has format 2, of an older version of betarce.* Make it again"),
        (seal({"betarce_result": "1"}).encode(), "unknown format '1'"),
        (seal({"betarce_result": 3}).encode(), "its result cannot be read: KeyError"),
        (b'{"x": 1e999}', "1e999 is more than a number can be"),
        (b'{"x": ' + b"1" * 5000 + b"}", "more than 100 digits"),
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


@pytest.mark.slow
@pytest.mark.parametrize("wrong", [{"x": 1}, [], "?", -1.5, 7, True, None], ids=str)
def test_a_part_of_the_wrong_type_is_refused_even_under_a_right_digest(wrong):
    document = unseal(TEXT)
    for path in places(document):
        edited = changed(document, path, lambda inner, key: inner.__setitem__(key, wrong))
        try:
            again = Result.from_json(seal(edited))
        except CorruptFile:
            continue
        # What was read is exactly what the file says.
        written = unseal(again.to_json())
        written["written_by"] = edited["written_by"]
        assert json.dumps(written, sort_keys=True) == json.dumps(edited, sort_keys=True), path


def forged(edit, row=0):
    document = copy.deepcopy(unseal(TEXT))
    edit(document["rows"][row])
    certificate = document["rows"][row].get("certificate")
    if isinstance(certificate, dict):
        certificate.pop("digest", None)
        certificate["digest"] = digest(certificate)
    return seal(document)


def with_robust(**values):
    """Say that the robust point has other values, wherever a row says so."""

    def edit(row):
        for name, value in values.items():
            row["points"]["robust"][list(row["robust"]).index(name)] = value
            row["robust"][name] = int(value) if name == "age" else value
        pairs = enumerate(zip(row["points"]["original"], row["points"]["robust"], strict=True))
        row["ladder"][0][2] = [[j, after] for j, (before, after) in pairs if before != after]
        row["certificate"]["point"] = fingerprint(np.array(row["points"]["robust"], dtype=float))

    return edit


def with_guarantee(n_agree=9, n_models=9, **parts):
    """Say that another guarantee was given, with the bound that follows."""

    def edit(row):
        guarantee = row["certificate"]["guarantee"]
        guarantee.update(parts)
        prior = Prior(**guarantee["prior"])
        given = Guarantee(guarantee["delta"], guarantee["confidence"], prior).certify(n_agree, n_models)
        row["certificate"].update(
            n_agree=n_agree, n_models=n_models, lower_bound=given.lower_bound, certified=given.certified
        )

    return edit


def rung(n_least=9, n_agree=9, changes=()):
    """Give one rung of a ladder, as a file has it."""
    return [n_least, n_agree, [list(change) for change in changes]]


def everything(*edits):
    return lambda row: [edit(row) for edit in edits]


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (lambda row: row["robust"].update(age=99), "readable part and its exact part differ"),
        (lambda row: row["points"]["robust"].__setitem__(0, 40.0), "certificate is not for its point"),
        (lambda row: row["certificate"].update(n_agree=8), "does not add up"),
        (lambda row: row["certificate"].update(lower_bound=0.99), "does not add up"),
        (lambda row: row["certificate"].update(point=""), "certificate names no point"),
        (lambda row: row["certificate"].update(space=""), "certificate names no space"),
        (lambda row: row["certificate"].update(target=None), "its certificate is for None, not for 'yes'"),
        (lambda row: row["votes"].__setitem__(0, False), "votes are not those of its certificate"),
        (lambda row: row["votes"].clear(), "votes are not those of its certificate"),
        (lambda row: row.update(status="not-found"), "status 'not-found' does not fit its points"),
        (lambda row: row.update(status="wonderful"), "no row has the status 'wonderful'"),
        (lambda row: row.update(target="no"), "its certificate is for 'yes', not for 'no'"),
        (lambda row: row.update(target=None), "no row wants None"),
        (
            everything(lambda row: row.update(target=None), lambda row: row["certificate"].update(target=None)),
            "wants None",
        ),
        (lambda row: row.update(target=["yes"]), r"no target is \['yes'\]"),
        (lambda row: row.update(target=["yes", "yes"]), "no target is"),
        (lambda row: row.update(certificate=None), "its certificate is missing"),
        (lambda row: row.update(reason="Perhaps."), "its reason 'Perhaps.' does not fit its status"),
        (lambda row: row["points"]["base"].pop(), "3 values for 4 columns"),
        (lambda row: row.update(extra=1), "readable part and its exact part differ"),
        (lambda row: row.update(distance_to_base=-1.0), r"its distance to the base is [\d.]+, not -1.0"),
        (lambda row: row.update(distance_to_original=0.0), "its distance to the original is"),
        (lambda row: row.update(distance_to_original=None), "its distance to the original is .*, not nan"),
        (lambda row: row.update(n_evaluations=-1), "its evaluations are -1"),
        (lambda row: row.update(runtime_s=-1.0), "its time is -1.0"),
        (lambda row: row.update(runtime_s={"float": "inf"}), "its time is inf"),
        (with_robust(age=70.5), "column 'age' cannot hold 70.5"),
        (with_robust(age=40.0, income=-1e6), "its robust point breaks the rules: income is -1000000"),
        (with_robust(age=5000.0), "its robust point breaks the rules: age is 5000"),
        (with_guarantee(10**6, 10**6), "its votes are not those of its certificate"),
        (with_guarantee(prior={"a": 1e9, "b": 1}), "must leave the verdict to the vote"),
        (with_guarantee(confidence=1e-300), "must leave the verdict to the vote"),
        (with_guarantee(delta=0.99), "its certificate says False, its status 'certified'"),
        (lambda row: row.update(overrides=[["age", {"down": 0, "up": 0}]]), "its robust point breaks the rules: age"),
        (lambda row: row.update(overrides=[["nobody", {"down": 0}]]), "names the column 'nobody'"),
        (lambda row: row.update(overrides=[["age", {"down": -1}]]), "no rule says down = -1"),
        (lambda row: row.update(overrides=[["age", {"down": 0}], ["age", {}]]), "has rules twice"),
        (lambda row: row["ladder"].clear(), "its ladder does not lead to its status"),
        (lambda row: row["ladder"][0].__setitem__(2, []), "its ladder leads to another point"),
        (lambda row: row["ladder"].__setitem__(0, rung(9, 8)), "its ladder has votes that do not fit"),
        (lambda row: row["ladder"].__setitem__(0, rung(10, 10)), "its ladder has votes that do not fit"),
        (lambda row: row["ladder"][0].__setitem__(0, 9.0), "9.0 is not a int"),
        (lambda row: row["ladder"].append(rung(9, 9)), "its ladder has votes that do not fit"),
        (lambda row: row["ladder"].append(rung(2, 9)), "its ladder has votes that do not fit"),
        (lambda row: row["ladder"].append(rung(7, 7, [[0, 5000.0]])), "breaks the rules: age"),
        (lambda row: row["ladder"].insert(0, rung(10, 9)), "its ladder has votes that do not fit"),
        (lambda row: row["ladder"].append(rung(7, 7, [[0, 41.5]])), "'age' cannot hold 41.5"),
        (lambda row: row["ladder"].append(rung(6, 7, [[99, 1.0]])), "cannot be read: IndexError"),
        (lambda row: row["ladder"].append(rung(6, 7, [[2, 99.0]])), "column 'purpose' cannot hold 99.0"),
        (lambda row: row["ladder"].append([6, 7]), "cannot be read: ValueError"),
    ],
)
def test_a_forged_row_is_refused_even_under_a_right_digest(edit, reason):
    with pytest.raises(CorruptFile, match=reason):
        Result.from_json(forged(edit))


@pytest.mark.parametrize(
    ("row", "edit", "reason"),
    [
        (1, lambda row: row.update(votes=[True]), "it has votes, but no certificate"),
        (1, lambda row: row["points"].update(base=[30.0, 1000.0, 0.0, 0.0]), "it has a base, but was not to have one"),
        (1, lambda row: row.update(reason=""), "its reason '' does not fit its status 'base-not-found'|its reason ''"),
        (1, lambda row: row.update(distance_to_base=1.0), "its distance to the base is nan, not 1.0"),
        (2, everything(with_guarantee(delta=0.1), lambda row: row.update(votes=[True] * 9)), "says True, its status"),
        (1, lambda row: row["ladder"].append(rung(7, 7)), "it has a ladder, but no vote that says something"),
        (2, lambda row: row["ladder"].append(rung(7, 7)), "its ladder has more votes than its cert|does not lead to"),
        (2, lambda row: row.update(status="infeasible"), "its status allows no certificate"),
        (2, lambda row: row.update(status="certified", reason=""), "status 'certified' does not fit its points"),
    ],
)
def test_a_row_without_an_answer_is_no_place_for_forgery_either(row, edit, reason):
    with pytest.raises(CorruptFile, match=reason):
        Result.from_json(forged(edit, row))


def twice(edit):
    """Forge the first row of a file that has it twice."""
    document = copy.deepcopy(unseal(TEXT))
    rows = [copy.deepcopy(document["rows"][0]), copy.deepcopy(document["rows"][0])]
    edit(rows[0])
    for row in rows:
        row["certificate"].pop("digest")
        row["certificate"]["digest"] = digest(row["certificate"])
    return seal({**document, "rows": rows})


def other_votes(row):
    with_guarantee(8, 9)(row)
    row["votes"] = [False] + [True] * 8
    row["ladder"][0][:2] = [8, 8]


def test_two_counts_of_votes_about_one_point_are_refused():
    Result.from_json(twice(lambda row: None))
    with pytest.raises(CorruptFile, match=r"row 1 .*its members vote otherwise than in row 0 about the same point"):
        Result.from_json(twice(other_votes))


def test_another_count_of_votes_for_a_base_that_is_the_answer_is_refused():
    def edit(row):
        row["points"]["base"], row["base"] = row["points"]["robust"], row["robust"]
        row["distance_to_base"] = 0.0

    Result.from_json(forged(everything(edit, lambda row: row.update(base_agree=9))))
    with pytest.raises(CorruptFile, match=r"row 0 .*5 and 9 agree with its base"):
        Result.from_json(forged(edit))


def test_what_held_for_one_row_alone_is_kept_and_checked():
    freed = {"age": brce.between(0, 200)}
    rules = {"age": brce.immutable()}
    result = result_of(TABLE, statuses=["certified"], rules=rules, overrides=freed)
    assert result[0].points["robust"][0] != result[0].points["original"][0]
    again = Result.from_json(result.to_json())
    assert_same_result(result, again)
    assert again[0].overrides == freed
    with pytest.raises(CorruptFile, match="its robust point breaks the rules: age"):
        Result.from_json(Result([replace(result[0], overrides={})], result.features).to_json())


def test_derived_columns_are_computed_again():
    table = pd.DataFrame({"debt": [10.0, 50.0, 30.0], "income": [100.0, 80.0, 40.0], "share": [0.1, 0.625, 0.75]})
    result = result_of(table, statuses=["certified"], rules={"share": brce.derived("debt / income")})
    text = result.to_json()
    assert_same_result(result, Result.from_json(text))
    wrong = result[0].points["robust"].copy()
    wrong[2] = 0.5
    votes = result[0].certificate
    moved = replace(
        result[0],
        points={**result[0].points, "robust": wrong},
        certificate=certificate_of(wrong, "yes", 9, 9, votes.guarantee, steered=False, space="Seed()", varied=True),
        distance_to_base=float(result.features.distance(wrong, result[0].points["base"])),
        distance_to_original=float(result.features.distance(wrong, result[0].points["original"])),
        ladder=replace(result[0].ladder, points=wrong[None]),
    )
    with pytest.raises(CorruptFile, match=r"its robust point breaks the rules: share is 0\.5"):
        Result.from_json(Result([moved], result.features).to_json())


def test_a_function_that_the_file_cannot_keep_does_not_keep_it_from_loading():
    table = pd.DataFrame({"debt": [10.0, 50.0, 30.0], "income": [100.0, 80.0, 40.0], "share": [0.1, 0.625, 0.75]})
    result = result_of(table, statuses=["certified"], rules={"share": brce.derived(lambda t: t["debt"] / t["income"])})
    assert_same_result(result, Result.from_json(result.to_json()))


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        (("columns", 0, "scale"), 0.0, "column 'age' has no scale"),
        (("columns", 0, "scale"), 1000.0, "column 'age' has a scale that is not its range"),
        (("columns", 0, "lower"), 1e9, "column 'age' has an empty range"),
        (("columns", 0, "step"), -1.0, "column 'age' has a step that is not above zero"),
        (("columns", 0, "kind"), "categorical", "column 'age' holds names, but has no levels"),
        (("columns", 2, "levels"), ["car"] * 3, "column 'purpose' has a level twice|levels and those seen"),
        (("columns", 2, "upper"), 17.0, "column 'purpose' has a range that is not its levels"),
        (("columns", 2, "common"), [99.0], "column 'purpose' has levels that it lacks"),
        (("form", "names"), ["age", "income", "purpose", "age"], "its columns are not those of its table"),
        (("form", "dtypes", 0), {"numpy": "|O"}, "readable part and its exact part differ"),
        (("form", "dtypes", 1), {"numpy": "<i8"}, "column 'income' does not fit its dtype"),
        (("form", "dtypes", 0), {"numpy": "|S3"}, "cannot be read|does not fit its dtype"),
        (("rules",), [["age", {"down": "x"}]], "no rule says down = 'x'"),
        (("rules",), [["age", {"kind": "continuous"}]], "column 'age' is of another kind than its rule says"),
        (("rules",), [["who", {"down": 0}]], "there is a rule for 'who', but no such column"),
    ],
)
def test_features_that_no_table_has_are_refused_even_under_a_right_digest(path, value, reason):
    document = unseal(TEXT)
    edited = changed(document, ("features", *path), lambda inner, key: inner.__setitem__(key, value))
    with pytest.raises(CorruptFile, match=reason):
        Result.from_json(seal(edited))


def test_what_a_result_was_made_with_comes_back(explained, tmp_path):
    rce, result = explained
    result.save(tmp_path / "result.json")
    again = Result.load(tmp_path / "result.json")
    assert again.made_with == result.made_with == result[:2].made_with
    assert again.made_with["model"] == "LogisticRegression"
    assert again.made_with["certifying_members"] == len(rce.members_.certifying)
    assert again.made_with["training_rows"] == 60
    assert again.made_with["betarce"] == brce.__version__


def test_a_record_that_the_certificates_contradict_is_refused(explained):
    for entry, reason in (
        ({"space": "Seed()"}, r"its space is Bootstrap\(stratified=False\), not Seed\(\)"),
        ({"certifying_members": 10_000}, "members voted, 10000 were there"),
        ({"certify_on": "search", "search_members": len(explained[1][0].votes)}, "its voters are not of 'search'"),
    ):
        document = unseal(explained[1].to_json())
        document["made_with"].update(entry)
        with pytest.raises(CorruptFile, match=reason):
            Result.from_json(seal(document))


def with_digest(certificate):
    fields = {name: value for name, value in certificate.items() if name != "digest"}
    return {**fields, "digest": digest(fields)}


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (lambda vote: vote["guarantee"].update(confidence=0.75), "about another vote than that of row 0"),
        (lambda vote: vote.update(space="Seed()"), "about another vote than that of row 0"),
        (lambda vote: vote.update(members="search"), "about another vote than that of row 0"),
    ],
)
def test_a_row_with_a_guarantee_of_its_own_is_refused(edit, reason, explained):
    document = unseal(explained[1].to_json())
    row = document["rows"][1]
    edit(row["certificate"])
    given = row["certificate"]["guarantee"]
    guarantee = brce.Guarantee(**{**given, "prior": brce.Prior(**given["prior"])})
    bound = guarantee.certify(row["certificate"]["n_agree"], row["certificate"]["n_models"]).lower_bound
    row["certificate"] = with_digest({**row["certificate"], "lower_bound": bound})
    with pytest.raises(CorruptFile, match=reason):
        Result.from_json(seal(document))


def test_an_answer_that_changes_nothing_is_refused():
    features = FeatureSpace.infer(TABLE)
    start, base = features.encode(TABLE)[:2]
    unmoved = Result([item(features, (start, base, start))], features)
    with pytest.raises(CorruptFile, match="it has nothing to change, though it is not there yet"):
        Result.from_json(unmoved.to_json())


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (lambda record: record.update(model=7), "it cannot be made with model = 7"),
        (lambda record: record.update(search_members=-1), "it cannot be made with search_members = -1"),
        (lambda record: record.update(training_rows=True), "it cannot be made with training_rows = True"),
        (lambda record: record.update(colour="blue"), "what it was made with has the wrong entries"),
        (lambda record: record.pop("numpy"), "what it was made with has the wrong entries"),
    ],
)
def test_a_forged_record_of_how_a_result_was_made_is_refused(edit, reason, explained):
    document = unseal(explained[1].to_json())
    edit(document["made_with"])
    with pytest.raises(CorruptFile, match=reason):
        Result.from_json(seal(document))


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
    assert_same_result(noted, Result.from_json(noted.to_json()))
