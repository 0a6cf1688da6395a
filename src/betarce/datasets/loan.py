"""A synthetic loan table for examples."""

from numbers import Integral
from typing import Final

import numpy as np
import pandas as pd

from betarce.arrays import AnyArray, BoolArray, FloatArray, IntArray
from betarce.datasets.dataset import Dataset
from betarce.errors import InvalidInput
from betarce.seeding import generator

_COLUMNS: Final = (
    *("age", "income", "debt", "savings", "employment_years", "open_credits", "late_payments"),
    *("loan_amount", "term_months", "purpose", "housing", "education"),
)
_EDUCATION: Final = ("primary", "secondary", "bachelor", "master")
_FIRST_JOB: Final = np.array([17, 18, 22, 24])  # the age at which each education is over
_FIRST_PAY: Final = np.array([19_000.0, 23_000.0, 28_000.0, 33_000.0])
_PURPOSES: Final = ("car", "home", "education", "business", "other")
_SIZE: Final = np.array([0.45, 0.65, 0.30, 0.80, 0.25])  # usual loan for each purpose, in yearly incomes
_TERMS: Final = np.array([12, 24, 36, 48, 60, 72, 84])
_UNIFORMS_PER_NORMAL: Final = 6


def load_loan(n: int = 2000, *, seed: int = 0) -> Dataset:
    """Draw a SYNTHETIC table of loan applications: no row describes a real person or bank.

    It is made for examples and tests: columns with familiar units, of every kind (whole numbers, decimals,
    categories, ordered categories), which depend on each other as they would in a bank.

    Parameters
    ----------
    n : int, default=2000
        Number of applications. A smaller table is the beginning of a larger one.
    seed : int, default=0
        Another seed gives other applications under the same rules.

    Returns
    -------
    Dataset
        With ``y`` 1 for approved and 0 for rejected, and these columns:

        ======================  =====================================================================
        ``age``                 years, 20 to 72
        ``income``              a year, in euros, to the 100
        ``debt``                owed elsewhere, in euros, to the 100
        ``savings``             in euros, to the 100
        ``employment_years``    with the present employer, to the 0.1; 0 for those without work
        ``open_credits``        credit lines in use
        ``late_payments``       in the last two years
        ``loan_amount``         asked for, in euros, to the 500
        ``term_months``         12 to 84
        ``purpose``             car, home, education, business or other
        ``housing``             own, rent or with family
        ``education``           primary < secondary < bachelor < master, an ordered category
        ======================  =====================================================================

    Notes
    -----
    An application is approved if its score plus noise is positive. The score falls with the share that repayments
    would take of the income left after living costs, ever faster above a third; with late payments, the more so
    where that share is high; with less than two years of employment, unless savings cover half the loan; and
    for a business. It rises with savings and a home of one's own. Age and education have no effect of their own.

    Only uniform draws, arithmetic and rounding are used, so every platform gives the same table.

    Examples
    --------
    >>> data = load_loan()
    >>> data
    Dataset 'loan' (SYNTHETIC): 2000 rows x 12 features; class 0: 746 (37 %), class 1: 1254 (63 %)
    >>> data.X[["age", "income", "loan_amount", "term_months"]].iloc[0].tolist()
    [28, 16400, 11500, 72]
    >>> data.numeric().X.shape
    (2000, 9)
    """
    n = _at_least("n", n, 1)
    seed = _at_least("seed", seed, 0)
    draws = _Draws(n, seed)
    people = _people(draws)
    columns = {**people, **_accounts(people, draws), **_requests(people, draws)}
    X = pd.DataFrame({name: columns[name] for name in _COLUMNS})
    return Dataset(
        name="loan",
        X=X,
        y=pd.Series(_approved(X, draws.normal()).astype("int64"), name="approved"),
        description="SYNTHETIC loan applications, drawn by rules; 1 = approved, 0 = rejected.",
        source=f"SYNTHETIC: betarce.datasets.load_loan(n={n}, seed={seed})",
        synthetic=True,
    )


class _Draws:
    """Columns of random numbers; every row has its own part of the random stream."""

    def __init__(self, n: int, seed: int) -> None:
        self._columns = generator(seed, "loan").random((n, 64)).T
        self._next = 0

    def uniform(self) -> FloatArray:
        self._next += 1
        column: FloatArray = self._columns[self._next - 1]
        return column

    def normal(self) -> FloatArray:
        # The library's normals take logarithms, whose last bit depends on the platform; a sum does not.
        total = self.uniform().copy()
        for _ in range(_UNIFORMS_PER_NORMAL - 1):
            total += self.uniform()
        normal: FloatArray = (total - _UNIFORMS_PER_NORMAL / 2) * np.sqrt(12 / _UNIFORMS_PER_NORMAL)
        return normal


def _people(draws: _Draws) -> pd.DataFrame:
    talent = draws.normal()  # never seen, as is `care` below: what makes the columns of one person agree
    age = np.floor(20 + 53 * (0.5 * draws.uniform() + 0.5 * draws.uniform() * draws.uniform()))
    education = _education(talent + 0.8 * draws.normal(), age)
    career = age - _FIRST_JOB[education]
    works = draws.uniform() > 0.05
    tenure = draws.uniform()
    employment = np.where(works, np.floor(10 * np.minimum(career, 35) * tenure * np.sqrt(tenure)) / 10, 0.0)
    pay = _FIRST_PAY[education] * (1 + 0.022 * np.minimum(career, 25) + 0.010 * np.minimum(employment, 15))
    spread = 1 + 0.10 * talent + 0.22 * draws.normal()
    skewed = np.clip(spread + 0.12 * spread * spread, 0.55, None)
    income = _to(100, pay * skewed * np.where(works, 1.0, 0.45))
    return pd.DataFrame(
        {
            "age": age.astype("int64"),
            "income": income.astype("int64"),
            "employment_years": employment,
            "housing": _housing(age, income, draws),
            "education": pd.Categorical(np.array(_EDUCATION)[education], list(_EDUCATION), ordered=True),
        }
    )


def _accounts(people: pd.DataFrame, draws: _Draws) -> pd.DataFrame:
    age, income = people["age"].to_numpy(), people["income"].to_numpy()
    owns, with_family = (people["housing"].to_numpy() == kind for kind in ("own", "with family"))
    care = draws.normal()
    thrift = np.clip(draws.uniform() * draws.uniform() - 0.03, 0, None) * np.clip(1 + 0.4 * care, 0.05, None)
    savings = _to(100, income * thrift * (0.2 + 0.035 * (age - 20)) * np.where(owns, 1.3, 1.0))
    appetite = draws.uniform() * draws.uniform() * np.clip(1 - 0.35 * care, 0.1, None)
    borrows = draws.uniform() > 0.15
    debt = np.where(borrows, _to(100, income * appetite * np.where(with_family, 0.6, 1.0)), 0.0)
    lines = 1 + np.floor(5 * draws.uniform() * (0.35 + debt / income))
    strain = 1.2 * debt / income - 0.9 * care + 0.8 * draws.normal()
    late = np.clip(np.floor(1.6 * strain - 0.2), 0, 9)
    return pd.DataFrame(
        {
            "debt": debt.astype("int64"),
            "savings": savings.astype("int64"),
            "open_credits": np.where(debt > 0, lines, 0).astype("int64"),
            "late_payments": np.where(debt > 0, late, 0).astype("int64"),
        }
    )


def _requests(people: pd.DataFrame, draws: _Draws) -> pd.DataFrame:
    age, income = people["age"].to_numpy(), people["income"].to_numpy()
    purpose = _purpose(age, people["housing"].to_numpy() == "own", draws.uniform())
    size = _SIZE[purpose] * (0.4 + draws.uniform() + draws.uniform() * draws.uniform())
    amount = np.maximum(_to(500, np.minimum(income, 90_000) * size), 1_000)
    years = (14 + 50 * amount / income + 14 * draws.normal()) / 12
    term = _TERMS[np.clip(np.rint(years) - 1, 0, len(_TERMS) - 1).astype(int)]
    return pd.DataFrame(
        {
            "loan_amount": amount.astype("int64"),
            "term_months": term.astype("int64"),
            "purpose": np.array(_PURPOSES)[purpose],
        }
    )


def _education(level: FloatArray, age: FloatArray) -> IntArray:
    reached = (level > -1.3).astype(int) + (level > 0.3) + (level > 1.3)
    finished = 1 + (age >= _FIRST_JOB[2]).astype(int) + (age >= _FIRST_JOB[3])
    education: IntArray = np.minimum(reached, finished)
    return education


def _housing(age: FloatArray, income: FloatArray, draws: _Draws) -> AnyArray:
    means = 0.1 + 0.014 * (age - 22) + 0.006 * (np.minimum(income, 80_000) - 30_000) / 1000
    owns = draws.uniform() < np.clip(means, 0.02, 0.85)
    stays = draws.uniform() < np.clip(0.75 - 0.05 * (age - 20), 0.06, None)
    return np.where(owns, "own", np.where(stays, "with family", "rent"))


def _purpose(age: AnyArray, owns: BoolArray, u: FloatArray) -> IntArray:
    home = np.where(owns, 0.34, 0.10)
    education = np.clip(0.30 - 0.015 * (age - 20), 0.04, None)
    weights = (0.34, home, education, 0.12, 0.20)  # in the order of _PURPOSES
    left = u * (0.66 + home + education)
    purpose = np.zeros(len(age), dtype="int64")
    for weight in weights[:-1]:
        left = left - weight
        purpose += left >= 0
    return purpose


def _approved(X: pd.DataFrame, noise: FloatArray) -> BoolArray:
    column = {name: X[name].to_numpy() for name in X}
    repayments = 12 * 1.08 * column["loan_amount"] / column["term_months"] + 0.30 * column["debt"]
    burden = np.minimum(repayments / np.maximum(column["income"] - 8_000, 4_000), 1.33)
    over = np.maximum(burden - 0.33, 0)
    cover = np.minimum(column["savings"] / column["loan_amount"], 1)
    short = np.maximum(2 - column["employment_years"], 0)
    score = 1.18 - 2.2 * burden - 2.0 * over - 4.0 * over * over
    score = score - np.minimum(column["late_payments"], 4) * (0.30 + 0.60 * np.minimum(burden, 1))
    score = score - np.where(cover >= 0.5, 0, 0.45) * short + 0.9 * cover
    score = score + 0.25 * (column["housing"] == "own") - 0.4 * (column["purpose"] == "business")
    approved: BoolArray = score + 0.68 * noise > 0
    return approved


def _to(step: int, values: FloatArray) -> FloatArray:
    return np.rint(values / step) * step


def _at_least(name: str, value: object, least: int) -> int:
    if isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least:
        return int(value)
    raise InvalidInput(f"`{name}` must be an int >= {least}; got {value!r}. Pass a whole number.")
