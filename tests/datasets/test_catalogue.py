"""The tables are those of the paper, or they are turned down."""

import os
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from betarce.datasets import NAMES, PAPER_NAMES, Dataset, load
from betarce.datasets.catalogue import CATALOGUE
from betarce.errors import CorruptFile, DataUnavailable, InvalidInput

ROOT = Path(__file__).parents[2]
SHARED = Path(os.environ.get("BETARCE_DATA_DIR") or ROOT.parent / "shared" / "data")

# METHOD.md, section 5: rows, features, imbalance of the larger to the smaller class.
PAPER = {
    "heloc": (2502, 23, 1.66),
    "wine": (6497, 11, 1.73),
    "diabetes": (768, 8, 1.87),
    "breast_cancer": (569, 30, 1.68),
    "car": (1728, 6, 2.34),
    "rice": (3810, 7, 1.34),
}


@pytest.fixture(autouse=True)
def _nothing_from_outside(monkeypatch, tmp_path):
    monkeypatch.delenv("BETARCE_DATA_DIR", raising=False)
    monkeypatch.setenv("BETARCE_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def shared():
    if not SHARED.is_dir():
        pytest.skip(f"the csv files of the paper are not in {SHARED}")
    return SHARED


@pytest.fixture
def car():
    """All cars there are, with made-up verdicts in the right numbers."""
    levels = {
        "buying": ["low", "med", "high", "vhigh"],
        "maint": ["low", "med", "high", "vhigh"],
        "doors": ["2", "3", "4", "5more"],
        "persons": ["2", "4", "more"],
        "lug_boot": ["small", "med", "big"],
        "safety": ["low", "med", "high"],
    }
    table = pd.DataFrame(list(product(*levels.values())), columns=list(levels))
    return table.assign(acceptability=["unacc"] * 1210 + ["acc"] * 384 + ["good"] * 69 + ["vgood"] * 65)


def save(table, folder, file="car_eval.csv"):
    folder.mkdir(exist_ok=True)
    table.to_csv(folder / file, index=False)
    return folder


@pytest.mark.parametrize("name", PAPER)
def test_the_files_give_the_rows_features_and_imbalance_of_the_paper(name, shared):
    rows, features, imbalance = PAPER[name]
    data = load(name, data_dir=shared, download=False)
    counts = data.y.value_counts()
    assert data.X.shape == (rows, features)
    assert counts.max() / counts.min() == pytest.approx(imbalance, abs=0.005)
    assert all(pd.api.types.is_numeric_dtype(dtype) for dtype in data.X.dtypes)
    assert data.X.index.equals(pd.RangeIndex(rows))


def test_the_catalogue_states_the_rows_features_and_imbalance_of_the_paper():
    stated = {
        name: (sum(entry.counts), len(entry.features), round(max(entry.counts) / min(entry.counts), 2))
        for name, entry in CATALOGUE.items()
    }
    assert stated == PAPER
    assert tuple(PAPER) == PAPER_NAMES
    assert list(NAMES) == [*PAPER_NAMES, "loan"]


def test_breast_cancer_needs_neither_files_nor_network():
    data = load("breast_cancer", download=False)
    assert isinstance(data, Dataset)
    assert data.X.shape == (569, 30)
    assert data.y.value_counts().to_dict() == {0: 357, 1: 212}
    assert data.source.endswith("read from scikit-learn")


def test_malignant_is_class_1():
    data = load("breast_cancer", download=False)
    larger = data.X["radius1"].groupby(data.y).mean()
    assert larger[1] > larger[0], "malignant nuclei are larger"


def test_breast_cancer_of_scikit_learn_is_that_of_the_file(shared):
    bundled, read = load("breast_cancer", download=False), load("breast_cancer", data_dir=shared)
    pd.testing.assert_frame_equal(bundled.X, read.X, check_exact=True)
    pd.testing.assert_series_equal(bundled.y, read.y)


def test_heloc_drops_every_row_with_a_negative_feature():
    columns = CATALOGUE["heloc"].features
    table = pd.DataFrame(1.0, index=range(4), columns=list(columns)).assign(
        RiskPerformance=["Good", "Bad", "Good", "Bad"]
    )
    table.loc[0, columns[5]] = -8
    table.loc[3, columns[0]] = 0
    cleaned = CATALOGUE["heloc"].clean(table)
    assert cleaned["RiskPerformance"].tolist() == [0, 1, 0]
    assert cleaned.index.tolist() == [0, 1, 2]
    assert set(cleaned.dtypes) == {np.dtype("int64")}


@pytest.mark.parametrize("quality", [[3, 5, 6, 9], [False, False, True, True]])
def test_wine_takes_grades_and_verdicts_alike(quality):
    cleaned = CATALOGUE["wine"].clean(pd.DataFrame({"quality": quality}))
    assert cleaned["quality"].tolist() == [0, 0, 1, 1]


def test_diabetes_keeps_its_zeros():
    table = pd.DataFrame(0.0, index=range(2), columns=list(CATALOGUE["diabetes"].features)).assign(Outcome=[0.0, 1.0])
    cleaned = CATALOGUE["diabetes"].clean(table)
    assert len(cleaned) == 2
    assert cleaned["BMI"].dtype == float
    assert cleaned["Glucose"].dtype == np.dtype("int64")
    assert cleaned["Outcome"].tolist() == [0, 1]


def test_car_codes_follow_the_meaning_not_the_alphabet(car, tmp_path):
    data = load("car", data_dir=save(car, tmp_path))
    assert data.X.iloc[0].tolist() == [0, 0, 0, 0, 0, 0]
    assert data.X.iloc[-1].tolist() == [3, 3, 3, 2, 2, 2]
    verdicts = pd.Series(data.y.to_numpy(), index=car["acceptability"]).groupby(level=0).first()
    assert verdicts.to_dict() == {"unacc": 0, "acc": 1, "good": 1, "vgood": 1}


def test_osmancik_is_class_1():
    cleaned = CATALOGUE["rice"].clean(pd.DataFrame({"class": ["Cammeo", "Osmancik"]}))
    assert cleaned["class"].tolist() == [0, 1]


def test_an_unknown_name_lists_the_known_ones_and_the_closest():
    with pytest.raises(InvalidInput) as caught:
        load("diabetis")
    assert str(caught.value) == (
        "`name` must be one of heloc, wine, diabetes, breast_cancer, car, rice, loan; got 'diabetis'. "
        "Did you mean 'diabetes'?"
    )


@pytest.mark.parametrize("name", ["zzz", None, ["zzz"]])
def test_a_name_that_resembles_none_gets_no_hint(name):
    with pytest.raises(InvalidInput, match=r"^`name` must be one of .*; got .*\.$"):
        load(name)


@pytest.mark.parametrize(
    ("spoil", "difference"),
    [
        (lambda t: t.iloc[1:], r"1727 rows after cleaning, expected 1728"),
        (lambda t: t.drop(columns="safety"), r"column 'safety' is missing"),
        (lambda t: t.assign(colour="red"), r"column 'colour' does not belong there"),
        (lambda t: t.assign(doors=t["doors"].where(t.index > 0)), r"column 'doors' has empty cells"),
        (lambda t: t.replace({"doors": {"5more": "7"}}), r"column 'doors' holds '7', which is none of 2, 3, 4, 5more"),
        (lambda t: t.replace("good", "unacc"), r"\(1279, 449\) rows of class 0 and 1, expected \(1210, 518\)"),
    ],
)
def test_a_wrong_table_is_turned_down_with_what_differs(car, tmp_path, spoil, difference):
    folder = save(spoil(car), tmp_path)
    with pytest.raises(CorruptFile, match=difference) as caught:
        load("car", data_dir=folder)
    assert str(folder / "car_eval.csv") in str(caught.value)
    assert "set BETARCE_DATA_DIR" in str(caught.value)


def test_text_in_a_column_of_numbers_is_turned_down(tmp_path):
    table = load("breast_cancer").X.assign(diagnosis=["M"] * 212 + ["B"] * 357)
    save(table.assign(radius1="large"), tmp_path, "breast_cancer.csv")
    with pytest.raises(CorruptFile, match="column 'radius1' holds text where numbers are expected"):
        load("breast_cancer", data_dir=tmp_path)


def test_text_that_the_cleaning_rule_cannot_compare_is_turned_down(tmp_path):
    columns = [*CATALOGUE["heloc"].features, "RiskPerformance"]
    save(pd.DataFrame([["?"] * len(columns)], columns=columns), tmp_path, "fico.csv")
    with pytest.raises(CorruptFile, match="is not the 'heloc' data"):
        load("heloc", data_dir=tmp_path)


def test_a_file_that_is_no_table_is_turned_down(tmp_path):
    (tmp_path / "car_eval.csv").write_bytes(b"")
    with pytest.raises(CorruptFile, match=r"car_eval\.csv is not a csv table"):
        load("car", data_dir=tmp_path)


def test_a_given_folder_must_exist(tmp_path):
    with pytest.raises(InvalidInput, match="`data_dir` must be a folder that exists"):
        load("car", data_dir=tmp_path / "nowhere")


def test_a_given_folder_must_hold_the_file(tmp_path):
    with pytest.raises(DataUnavailable, match=r"`data_dir` must hold breast_cancer\.csv"):
        load("breast_cancer", data_dir=tmp_path)


def test_the_folder_of_the_environment_must_exist(monkeypatch, tmp_path):
    monkeypatch.setenv("BETARCE_DATA_DIR", str(tmp_path / "nowhere"))
    with pytest.raises(InvalidInput, match="`BETARCE_DATA_DIR` must be a folder that exists"):
        load("car")


def test_the_folder_of_the_environment_may_hold_some_files_only(monkeypatch, tmp_path):
    monkeypatch.setenv("BETARCE_DATA_DIR", str(tmp_path))
    assert load("breast_cancer").source.endswith("read from scikit-learn")


def test_the_argument_wins_over_the_environment_and_the_environment_over_the_cache(car, monkeypatch, tmp_path):
    load("car", fetch=lambda: car)
    assert str(tmp_path / "cache") in load("car").source
    monkeypatch.setenv("BETARCE_DATA_DIR", str(save(car, tmp_path / "environment")))
    assert str(tmp_path / "environment") in load("car").source
    assert str(tmp_path / "argument") in load("car", data_dir=save(car, tmp_path / "argument")).source


def test_without_download_the_network_is_never_touched():
    def fetch():
        raise AssertionError("the network was touched")

    with pytest.raises(DataUnavailable) as caught:
        load("car", download=False, fetch=fetch)
    message = str(caught.value)
    assert "`download` is False" in message
    for way in ("connect to the network", "set BETARCE_DATA_DIR", "pass that folder as `data_dir`"):
        assert way in message


def test_loading_twice_gives_tables_that_share_nothing(car, tmp_path):
    folder = save(car, tmp_path)
    first = load("car", data_dir=folder)
    first.X.loc[:, "doors"] = 99
    assert load("car", data_dir=folder).X["doors"].max() == 3


def test_a_data_set_shows_itself_on_one_line():
    shown = repr(load("breast_cancer"))
    assert shown == "Dataset 'breast_cancer': 569 rows x 30 features; class 0: 357 (63 %), class 1: 212 (37 %)"


def test_labels_of_other_rows_are_refused():
    with pytest.raises(InvalidInput, match="`y` must have the index of `X`; got 2 labels for 3 rows"):
        Dataset("toy", pd.DataFrame({"a": [1, 2, 3]}), pd.Series([0, 1]), "Toy.", "made up")
