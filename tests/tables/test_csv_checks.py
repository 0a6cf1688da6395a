"""What a CSV file holds is read as it is meant, or said."""

import numpy as np
import pandas as pd
import pytest

from betarce.errors import InvalidInput
from betarce.tables.csv_checks import check_csv, check_values, identifiers
from betarce.tables.csv_file import read_csv, without_label

N = 60
RNG = np.random.default_rng(0)
CLEAN = {
    "income": RNG.integers(10, 90, N) * 100,
    "rate": np.round(RNG.normal(size=N), 2),
    "work": RNG.choice(["state", "private", "none"], N),
    "grade": RNG.integers(1, 5, N),
    "approved": RNG.choice(["yes", "no"], N),
}


def findings(**columns):
    return check_values(pd.DataFrame(CLEAN | columns), label="approved")


def test_a_clean_table_gives_nothing():
    assert findings() == []


@pytest.mark.parametrize(
    ("column", "kind", "values", "n_rows"),
    [
        (["unknown", "12 or so", *["7", "8.5"] * 29], "almost-numeric", ("unknown", "12 or so"), 2),
        (["1,200", "12,345.50", *["700", "800"] * 29], "almost-numeric", ("1,200", "12,345.50"), 2),
        (["3,5", "2,25"] * 30, "almost-numeric", ("3,5", "2,25"), 60),
        (["$1,200", "$85"] * 30, "almost-numeric", ("$1,200", "$85"), 60),
        (["12%", "7.5%", "8%"] * 20, "almost-numeric", ("12%", "7.5%", "8%"), 60),
        (["12 kg", "7.5 kg", "8kg"] * 20, "almost-numeric", ("12 kg", "7.5 kg", "8kg"), 60),
        (["\u22125", "6.5", "7"] * 20, "almost-numeric", ("\u22125",), 20),
        (["00123", "98100", "01067"] * 20, "codes", ("00123", "01067"), 40),
        (["?", "a", "b"] * 20, "placeholder", ("?",), 20),
        (["own", "Own", "rent"] * 20, "spelling", ("own", "Own"), 40),
        (["own", "own ", "rent"] * 20, "spelling", ("own", "own "), 40),
        (["2024-01-02", "2024-02-03", "2024-02-04"] * 20, "dates", ("2024-01-02", "2024-02-03", "2024-02-04"), 60),
        (
            ["2024-02-04", "2024-02-04", "2024-01-02", "soon"] * 3 + ["2024-02-04"] * 48,
            "dates",
            ("2024-02-04", "2024-01-02", "soon"),
            60,
        ),
        ([None] * 60, "empty-column", (), 0),
        ([f"C{i}" for i in range(60)], "identifier", (), 0),
        (np.arange(1000, 1060), "identifier", (), 0),
        (np.arange(60)[::-1] * 17, "identifier", (), 0),
    ],
)
def test_what_was_read_as_something_else_is_found(column, kind, values, n_rows):
    [found] = findings(odd=column)
    assert (found.kind, found.columns, found.values, found.n_rows) == (kind, ("odd",), values, n_rows)
    assert "'odd'" in str(found)


@pytest.mark.parametrize(
    "column",
    [
        ["0", "1", "2", "3+", "many", "few"] * 10,
        ["20-30", "30-40", "40-50"] * 20,
        ["A1", "B2", "C3"] * 20,
        RNG.permutation(60) * 100,  # amounts that happen to differ
        np.sort(RNG.normal(size=60)),
        [True, False, None] * 20,
    ],
)
def test_what_is_meant_so_is_not_found(column):
    assert findings(odd=column) == []


@pytest.mark.parametrize("name", ["id", "customer_id", "customerId", "row no", "UUID"])
def test_a_name_tells_identifiers_that_are_in_no_order(name):
    assert identifiers(findings(**{name: RNG.permutation(60)})) == [name]


def test_columns_that_are_functions_of_each_other_are_named_together():
    work = pd.Series(CLEAN["work"])
    found = findings(
        code=work.map({"state": 1, "private": 7, "none": 3}), thousands=CLEAN["rate"] / 1000, gaps=[None] * N
    )
    found = [each for each in found if each.kind != "empty-column"]
    assert [each.columns for each in found] == [("work", "code"), ("rate", "thousands")]
    assert {each.kind for each in found} == {"same"}
    assert "--drop code" in found[0].text


def test_a_column_that_gives_the_label_away_is_named():
    [found] = findings(status=np.where(np.array(CLEAN["approved"]) == "yes", 1, 0))
    assert (found.kind, found.columns) == ("gives-label-away", ("status",))


def test_rows_without_a_label_are_counted():
    label = np.where(np.arange(N) < 3, None, CLEAN["approved"])
    [found] = findings(approved=label)
    assert str(found) == "3 of 60 rows have no value in 'approved' and are left out."


@pytest.mark.parametrize(
    ("labels", "kind", "values"),
    [
        (["yes", "no", "yes "] * 20, "spelling", ("yes", "yes ")),
        (["yes", "no", "NO"] * 20, "spelling", ("no", "NO")),
        (["yes", "no", "?"] * 20, "placeholder", ("?",)),
    ],
)
def test_classes_that_are_one_written_in_two_ways_or_none_are_found(labels, kind, values):
    [found] = findings(approved=labels)
    assert (found.kind, found.columns, found.values) == (kind, ("approved",), values)


def test_a_line_of_totals_turns_no_numbers_into_names(tmp_path):
    file = tmp_path / "table.csv"
    pd.DataFrame(CLEAN).to_csv(file, index=False)
    with file.open("a") as lines:
        lines.write("Total,,,,\n")
    table, _ = without_label(read_csv(file), "approved")
    assert table["income"].dtype.kind == "i"
    assert [found.kind for found in check_csv(file, label="approved")] == ["no-label"]


def test_a_declared_placeholder_is_missing_and_nothing_is_found(tmp_path):
    file = tmp_path / "table.csv"
    pd.DataFrame(CLEAN | {"work": ["?", "a", "b"] * 20}).to_csv(file, index=False)
    assert [found.kind for found in check_csv(file, label="approved")] == ["placeholder"]
    assert check_csv(file, label="approved", missing=["?"]) == []
    assert check_csv(file, label="approved", drop=["work"]) == []


def test_leading_zeros_of_codes_were_lost_in_silence(tmp_path):
    file = tmp_path / "table.csv"
    pd.DataFrame(CLEAN | {"zip": ["00123", "98100", "", "01067"] * 15}).to_csv(file, index=False)
    assert read_csv(file)["zip"].tolist()[:2] == ["00123", "98100"]
    assert read_csv(file)["zip"].isna().sum() == 15
    [found] = check_csv(file, label="approved")
    assert (found.kind, found.values) == ("codes", ("00123", "01067"))
    with file.open("a") as lines:
        lines.write("Total,,,,,\n")
    table, _ = without_label(read_csv(file), "approved")
    assert table["zip"].dropna().unique().tolist() == ["00123", "98100", "01067"]


class TestReading:
    def read(self, folder, text, **options):
        (folder / "table.csv").write_text(text)
        return read_csv(folder / "table.csv", **options)

    def test_a_heading_that_names_a_column_twice_is_refused(self, tmp_path):
        with pytest.raises(InvalidInput, match="names 'age' more than once"):
            self.read(tmp_path, "age,debt,age\n1,2,3\n")

    def test_what_no_csv_is_says_so_in_plain_words(self, tmp_path):
        with pytest.raises(InvalidInput, match="line 3 has 3 values, but the lines before have 2"):
            self.read(tmp_path, "age,debt\n1,2\n1,2,3\n")
        with pytest.raises(InvalidInput, match="a quotation mark is opened and never closed"):
            self.read(tmp_path, 'age,debt\n"1,2\n')
        with pytest.raises(InvalidInput, match="it holds zero bytes, as binary files do"):
            self.read(tmp_path, "age,debt\n1,2\0\n")
        with pytest.raises(InvalidInput, match="in UTF-8: it is empty"):
            self.read(tmp_path, "")
        (tmp_path / "old.csv").write_bytes("âge,debt\n1,2\n".encode("latin-1"))
        with pytest.raises(InvalidInput, match=r"in UTF-8: byte 0 is 0xe2\. Save it again"):
            read_csv(tmp_path / "old.csv")

    def test_names_that_differ_in_spaces_around_them_are_the_same(self, tmp_path):
        with pytest.raises(InvalidInput, match=r"^The heading of .* names 'age' more than once"):
            self.read(tmp_path, "age,debt,age \n1,2,3\n")

    def test_spaces_after_separators_belong_to_no_value(self, tmp_path):
        table = self.read(tmp_path, "age, work\n1, state\n2, private\n")
        assert table.columns.tolist() == ["age", "work"]
        assert table["work"].tolist() == ["state", "private"]

    def test_lines_that_end_in_a_separator_keep_their_columns(self, tmp_path):
        table = self.read(tmp_path, "age,debt\n1,2,\n3,4,\n")
        assert table.to_dict("list") == {"age": [1, 3], "debt": [2, 4]}

    def test_lines_with_more_values_than_names_are_refused(self, tmp_path):
        with pytest.raises(InvalidInput, match="more values than its heading has names"):
            self.read(tmp_path, "age,debt\n1,2,3,4\n5,6,7,8\n")

    def test_rows_are_counted_from_one_unless_they_have_names(self, tmp_path):
        assert self.read(tmp_path, "age,debt\n1,2\n3,4\n").index.tolist() == [1, 2]
        assert self.read(tmp_path, "age,debt\n1,1,2\n2,3,4\n").index.tolist() == [1, 2]
        assert self.read(tmp_path, "age,debt\nAnn,1,2\nBob,3,4\n").index.tolist() == ["Ann", "Bob"]
        assert self.read(tmp_path, ",age,debt\nAnn,1,2\nBob,3,4\n").index.tolist() == ["Ann", "Bob"]

    @pytest.mark.parametrize(
        "text",
        [
            "code,debt\n007,0.5\n7,1\n",
            "code;debt\n 007;0.5\n7;1\n",
            'code,debt\n"007",0.5\n"7",1\n',
            "code,debt\nAnn,007,0.5\nBob,7,1\n",
            "code,debt\n007,0.5,\n7,1,\n",
            ",code,debt\nAnn,007,0.5\nBob,7,1\n",
        ],
    )
    def test_leading_zeros_are_kept_wherever_the_column_stands(self, tmp_path, text):
        table = self.read(tmp_path, text)
        assert table["code"].tolist() == ["007", "7"]
        assert table["debt"].tolist() == [0.5, 1]
        assert self.read(tmp_path, text, codes=False)["code"].tolist() == [7, 7]

    def test_numbers_below_one_are_no_codes(self, tmp_path):
        table = self.read(tmp_path, "debt,rate\n0,0.50\n10,00.5\n")
        assert table.to_dict("list") == {"debt": [0, 10], "rate": [0.5, 0.5]}
