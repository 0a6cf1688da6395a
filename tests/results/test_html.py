"""Answers in notebooks and as small tables: what is shown, and that nothing of it is taken for markup."""

import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import betarce as brce
from answers_by_hand import FEATURES, GUARANTEE, HOUSING, answer, batch, failure
from betarce.errors import InvalidInput
from betarce.features import FeatureSpace
from betarce.results.changes import written

VOID = {"br"}


class Reader(HTMLParser):
    """Read the cells of all table rows, all text, and check that every tag is closed."""

    def __init__(self, html):
        super().__init__()
        self.rows, self.text, self.tags, self._open, self._cell = [], "", set(), [], None
        self.feed(html)
        assert not self._open, f"not closed: {self._open}"

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag not in VOID:
            self._open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
            self._cell = True

    def handle_endtag(self, tag):
        assert self._open.pop() == tag
        self._cell = None if tag in ("td", "th") else self._cell

    def handle_data(self, data):
        if self._open and self._open[-1] == "style":
            return
        self.text += data
        if self._cell:
            self.rows[-1][-1] += data


def read(shown):
    return Reader(shown._repr_html_())


def test_an_answer_shows_only_what_changes_in_original_units():
    page = read(answer(base={"income": 15_000.0}, robust={"income": 16_250.5, "purpose": "home"}))
    assert page.rows == [
        ["feature", "from", "→ base", "→ to"],
        ["income", "12,000.00", "15,000.00", "16,250.50"],
        ["purpose", "car", "car", "home"],
    ]
    assert "row 17: certified to class approved" in page.text
    assert "37 of 38 fresh models agree: valid for >= 90.1 % with 95 % confidence" in page.text
    assert "2 of 9 features change; L1 distance, in ranges of the features: 1.04 from the original" in page.text


def test_the_same_features_are_listed_as_by_changes():
    item = answer(base={"age": 70}, robust={"income": 1.5, "visits": None, "grade": "high"})
    assert [row[0] for row in read(item).rows[1:]] == item.changes()["feature"].tolist()


def test_a_value_that_only_the_base_had_moved_is_said_to_stay():
    page = read(answer(base={"age": 70}, robust={"income": 13_000.0}))
    assert ["age", "30", "70", "30 (as it is)"] in page.rows


def test_missing_values_and_one_hot_groups_are_words():
    page = read(answer(robust={"visits": None, **dict(zip(HOUSING, (1, 0, 0), strict=True))}))
    assert page.rows[1:] == [["visits", "1", "1", "missing"], ["housing", "rent", "rent", "own"]]


def test_nothing_that_a_table_holds_becomes_markup():
    evil = "<script>alert('x')</script>"
    item = answer(
        robust={"<script>alert(1)</script>": "you & me"}, name=evil, target=[evil, "b"], note=f"{evil} & 'so' \"on\""
    )
    for shown in (item, batch(item, failure(reason=evil, name=evil))):
        html = shown._repr_html_()
        assert "script" not in Reader(html).tags
        assert "<script" not in html.lower()
        assert "<b>bold</b>" in Reader(html).text
        assert f"to class {evil} or b" in Reader(html).text
        assert not re.search(r"\son\w+=|javascript:", re.sub(r">[^<]*<", "><", html))


def test_the_page_takes_the_colours_of_the_notebook():
    html = batch(answer(robust={"age": 31}), failure())._repr_html_()
    assert set(re.findall(r"background[a-z-]*:\s*([^;}]+)", html)) == {"transparent"}
    assert set(re.findall(r"(?<![a-z-])color:\s*([^;}\"]+)", html)) == {"inherit"}


def test_a_rounded_number_keeps_its_digits_for_who_points_at_it():
    html = answer(robust={"cost in $ per $": 1 / 3})._repr_html_()
    assert '<td title="0.3333333333333333"><b>0.33333</b></td>' in html
    assert "<td>0.25</td>" in html


def test_an_answer_without_a_point_says_why_and_has_no_table():
    page = read(failure(reason="The rules leave nothing.", status="infeasible"))
    assert "row 18: infeasible" in page.text
    assert "The rules leave nothing." in page.text
    assert page.rows == []


def test_a_vote_that_fell_short_is_quoted_once():
    vote = GUARANTEE.certify(30, 38)
    page = read(failure(reason=f"Even the safest candidate did not pass: {vote}. Draw more.", certificate=vote))
    assert page.text.count("30 of 38 fresh models agree") == 1


def test_the_note_is_shown():
    assert "The base broke a rule." in read(answer(robust={"age": 31}, note="The base broke a rule.")).text


def test_a_batch_shows_each_row_with_its_status():
    page = read(batch(answer(robust={"age": 31}), failure(name="B-7")))
    assert page.text.startswith("\n2 rows: 1 certified, 1 not-found")
    assert [row[0] for row in page.rows] == [
        "feature",
        "row 17: certified to class approved37 of 38 fresh models agree: valid for >= 90.1 % with 95 % confidence",
        "age",
        "B-7: not-found to class approvedNothing passed.",
    ]


@pytest.mark.slow
def test_a_long_batch_shows_twenty_rows_and_says_how_many_more_there_are():
    items = [answer(robust={"age": 31}, name=i) for i in range(23)]
    page = read(batch(*items))
    assert sum(row[0].startswith("row ") for row in page.rows) == 20
    assert "and 3 more rows" in page.text
    assert "more row" not in read(batch(*items[:20])).text


def test_a_wide_row_of_a_batch_shows_its_largest_changes():
    table = pd.DataFrame(np.array([np.zeros(12), np.ones(12)]), columns=[f"f{j}" for j in range(12)])
    features = FeatureSpace.infer(table)
    robust = np.linspace(0.01, 0.12, 12)
    points = {"original": np.zeros(12), "base": np.zeros(12), "robust": robust}
    page = read(batch(answer(features=features, points=points), features=features))
    assert [row[0] for row in page.rows[2:]] == [*(f"f{j}" for j in range(4, 12)), "and 4 smaller changes"]
    assert len(read(answer(features=features, points=points)).rows) == 13


@pytest.mark.parametrize("items", [[], [failure(), failure(status="infeasible")]], ids=["no row", "none certified"])
def test_batches_without_answers_are_shown_and_summed_up(items):
    result = batch(*items)
    assert f"{len(items)} rows" in read(result).text
    summary = result.summary()
    assert summary.loc["certified", "rows"] == 0
    assert summary.loc["all", "rows"] == len(items)
    assert summary.loc["distance_to_base"].drop("rows").isna().all()
    assert result.summary(by="feature").empty


def test_the_summary_counts_rows_and_measures_the_certified_ones():
    items = [answer(robust={"age": 30 + 31 * i}, name=i, n_agree=38 - i) for i in (0, 1)]
    summary = batch(*items, failure(certificate=GUARANTEE.certify(1, 38), n_evaluations=4000)).summary()
    assert summary.index.tolist() == [
        *("all", "certified", "not-found", "distance_to_base", "distance_to_original", "features_changed"),
        *("lower_bound", "n_evaluations", "ms"),
    ]
    assert summary["rows"].tolist() == [3, 2, 1, 2, 2, 2, 2, 3, 3]
    assert summary.loc["distance_to_original", ["median", "mean", "min", "max"]].tolist() == [0.25, 0.25, 0, 0.5]
    assert summary.loc["features_changed", "max"] == 1
    assert summary.loc["lower_bound", "min"] == items[1].certificate.lower_bound
    assert summary.loc["n_evaluations", "mean"] == 2000
    assert summary.loc["ms", "median"] == 20


def test_the_summary_by_feature_says_which_change_most_often():
    items = [
        answer(robust={"age": 61, "purpose": "home"}),
        answer(robust={"age": 18}),
        answer(base={"income": 3.0}, robust={"age": 61}),
        failure(),
    ]
    summary = batch(*items).summary(by="feature")
    assert summary.index.tolist() == ["age", "purpose"]
    assert summary["rows"].tolist() == [3, 1]
    assert summary.loc["age", ["share", "up", "down", "median_change"]].tolist() == [1, 2, 1, 0.5]
    assert summary.loc["purpose", ["up", "down"]].isna().all()
    assert summary.loc["purpose", "median_change"] == 1


def test_an_unknown_part_of_the_summary_is_refused():
    with pytest.raises(InvalidInput, match="`by` must be 'measure' or 'feature'; got 'row'"):
        batch().summary(by="row")


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([0.1, 1e7 + 0.5], ("0.1", "10,000,000")),  # far apart: five digits do
        ([1.00000001, 1.00000002], ("1.00000001", "1.00000002")),
        ([1e-9, 2e20], ("1e-09", "2e+20")),
        ([-0.0, np.nan, 3.0], ("0", "missing", "3")),
        ([0.1 + 0.2, 0.3], ("0.30000000000000004", "0.3")),
    ],
)
def test_numbers_get_the_digits_that_tell_them_apart(values, texts):
    assert written(FEATURES.columns[FEATURES.names.index("cost in $ per $")], values) == texts


@pytest.mark.slow
@pytest.mark.parametrize("as_frame", [True, False], ids=["frame", "array"])
def test_what_explain_returns_is_shown(as_frame):
    X, y = make_classification(n_samples=200, n_features=4, random_state=0)
    X = pd.DataFrame(X, columns=list("abcd")) if as_frame else X
    model = make_pipeline(StandardScaler(), LogisticRegression())
    rce = brce.BetaRCE(model, delta=0.8, confidence=0.9, n_models=18, random_state=0, verbose=-1).fit(X, y)
    result = rce.explain(X[:2])
    page = read(result)
    names = set(result.changes()["feature"])
    assert names <= {*"abcd"} if as_frame else names <= {"x0", "x1", "x2", "x3"}
    assert {row[0] for row in page.rows if len(row) == 4} == {"feature", *names}
    assert result.summary().loc["certified", "rows"] == result.certified.sum() == 2
    assert result.summary(by="feature")["rows"].max() <= 2
