"""The loan book is the same everywhere, and a bank would believe it."""

import hashlib
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from betarce.datasets import load, load_loan
from betarce.errors import InvalidInput

SHA256 = "3a1d07483275fb837a6e4eed835b3aa011e6f2a3db6497eddbf566523ec9894f"
NAMES = ["purpose", "housing", "education"]
NUMBERS = [
    *("age", "income", "debt", "savings", "employment_years", "open_credits", "late_payments", "loan_amount"),
    "term_months",
]


@pytest.fixture(scope="module")
def loan():
    return load_loan()


def as_csv(data):
    return data.X.assign(approved=data.y).to_csv(index=False, lineterminator="\n")


def logistic():
    return make_pipeline(
        make_column_transformer((StandardScaler(), NUMBERS), (OneHotEncoder(), NAMES)),
        LogisticRegression(max_iter=1000),
    )


def boosting():
    return make_pipeline(
        make_column_transformer(("passthrough", NUMBERS), (OrdinalEncoder(), NAMES)),
        HistGradientBoostingClassifier(max_iter=100, learning_rate=0.06, max_leaf_nodes=8, random_state=0),
    )


def test_the_table_is_the_same_to_the_last_digit_on_every_machine(loan):
    assert hashlib.sha256(as_csv(loan).encode()).hexdigest() == SHA256


@pytest.mark.slow
def test_the_table_is_the_same_in_another_process(loan):
    program = "from betarce.datasets import load; d = load('loan'); print(int(d.X['income'].sum()), int(d.y.sum()))"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout.split() == [str(loan.X["income"].sum()), str(loan.y.sum())]


def test_a_smaller_table_is_the_beginning_of_a_larger_one(loan):
    small = load_loan(50)
    pd.testing.assert_frame_equal(small.X, loan.X.head(50))
    pd.testing.assert_series_equal(small.y, loan.y.head(50))


def test_another_seed_gives_other_people(loan):
    assert (load_loan(seed=1).X["income"] != loan.X["income"]).mean() > 0.9


def test_it_is_labelled_synthetic_wherever_it_is_shown(loan):
    for text in (repr(loan), loan.description, loan.source, load_loan.__doc__):
        assert "SYNTHETIC" in text
    assert loan.synthetic
    assert not load("breast_cancer", download=False).synthetic


def test_the_columns_are_of_every_kind(loan):
    assert list(loan.X) == [*NUMBERS, *NAMES]
    assert [name for name in NUMBERS if loan.X[name].dtype == float] == ["employment_years"]
    assert loan.X["education"].dtype == pd.CategoricalDtype(
        ["primary", "secondary", "bachelor", "master"], ordered=True
    )
    assert set(loan.X["purpose"]) == {"car", "home", "education", "business", "other"}
    assert set(loan.X["housing"]) == {"own", "rent", "with family"}


def test_the_numbers_alone_are_a_data_set_too(loan):
    numeric = loan.numeric()
    assert list(numeric.X) == NUMBERS
    assert numeric.y is loan.y
    assert numeric.synthetic


@pytest.mark.parametrize("seed", range(5))
def test_no_row_is_absurd(seed):
    X = load_loan(4000, seed=seed).X
    assert not X.isna().any(axis=None)
    assert (X[NUMBERS] >= 0).all(axis=None)
    assert X["age"].between(20, 72).all()
    assert (X["employment_years"] <= X["age"] - 16).all()
    assert (X.loc[X["education"] == "master", "age"] >= 24).all()
    assert (X["income"] >= 4_000).all()
    assert (X["loan_amount"] >= 1_000).all()
    assert (X.loc[X["debt"] == 0, ["open_credits", "late_payments"]] == 0).all(axis=None)
    assert set(X["term_months"]) <= {12, 24, 36, 48, 60, 72, 84}


def test_amounts_are_rounded_as_a_bank_does(loan):
    for name, step in {"income": 100, "debt": 100, "savings": 100, "loan_amount": 500}.items():
        assert (loan.X[name] % step == 0).all(), name
    assert np.array_equal(loan.X["employment_years"], loan.X["employment_years"].round(1))


def test_the_columns_depend_on_each_other_as_in_life(loan):
    X = loan.X
    for one, other in [("age", "employment_years"), ("age", "income"), ("age", "savings"), ("income", "loan_amount")]:
        assert X[one].corr(X[other]) > 0.2, (one, other)
    assert X.groupby("education", observed=True)["income"].median().is_monotonic_increasing
    age = X.groupby("housing")["age"].median()
    assert age["own"] > age["rent"] > age["with family"]


@pytest.mark.parametrize("seed", range(5))
def test_two_in_five_are_rejected(seed):
    assert 0.35 <= (load_loan(seed=seed).y == 0).mean() <= 0.45


@pytest.mark.parametrize("model", [logistic(), boosting()], ids=["logistic", "boosting"])
def test_models_do_well_but_not_perfectly(loan, model):
    test = load_loan(10_000, seed=1)
    model.fit(loan.X, loan.y)
    assert 0.79 <= model.score(test.X, test.y) <= 0.86
    assert 0.85 <= roc_auc_score(test.y, model.predict_proba(test.X)[:, 1]) <= 0.91


def test_a_linear_model_finds_the_signs_that_a_bank_expects():
    data = load_loan(10_000)
    model = logistic().fit(data.X, data.y)
    weights = dict(zip(NUMBERS, model[-1].coef_[0], strict=False))
    for name in ("income", "savings", "employment_years", "term_months"):
        assert weights[name] > 0.1, name
    for name in ("debt", "late_payments", "loan_amount"):
        assert weights[name] < -0.1, name


@pytest.mark.slow
def test_the_rule_is_not_linear():
    data = load_loan(20_000)
    X_train, X_test, y_train, y_test = train_test_split(data.X, data.y, random_state=0)
    linear, trees = (model.fit(X_train, y_train).score(X_test, y_test) for model in (logistic(), boosting()))
    assert trees > linear + 0.01


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 0}, "`n` must be an int >= 1; got 0"),
        ({"n": 10.0}, r"`n` must be an int >= 1; got 10\.0"),
        ({"n": True}, "`n` must be an int >= 1; got True"),
        ({"seed": None}, "`seed` must be an int >= 0; got None"),
        ({"seed": -1}, "`seed` must be an int >= 0; got -1"),
    ],
)
def test_a_wrong_size_or_seed_is_refused(options, message):
    with pytest.raises(InvalidInput, match=message):
        load_loan(**options)
