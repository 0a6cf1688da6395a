"""Kernels that break one promise each: the contract names the one that is broken."""

import lightgbm
import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier

from betarce.ensemble.linear import LinearKernel
from betarce.errors import ContractBroken
from betarce.models import Network
from betarce.testing import check_kernel_contract, four_cases
from contract_cases import FOUR, case_named

KERNELS = {
    "linear": (LogisticRegression(), True),
    "network": (Network(hidden_layers=1, neurons=6, max_epochs=20), True),
    "MLP": (MLPClassifier((6,), activation="tanh", max_iter=30, random_state=0), True),
    "forest": (RandomForestClassifier(5, max_depth=4, random_state=0), False),
    "LightGBM": (lightgbm.LGBMClassifier(n_estimators=5, n_jobs=1, verbose=-1, random_state=0), False),
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("case", FOUR)
@pytest.mark.parametrize("name", KERNELS)
def test_kernels_keep_their_contract(name, case):
    estimator, sloped = KERNELS[name]
    check_kernel_contract(estimator, cases=[case_named(case)], has_slopes=sloped)


SCORES, SLOPES = LinearKernel.scores, LinearKernel.slopes


def mirrored(self, X, members):
    return -SCORES(self, X, members)


def first_of_the_batch(self, X, members):
    return SCORES(self, X, members) + 1e-6 * np.arange(len(X))[:, None]


def steep(self, X, weights):
    return 2 * SLOPES(self, X, weights)


@pytest.mark.parametrize(
    ("method", "wrong", "message"),
    [
        ("scores", mirrored, "the kernel's labels differ from `predict` of member 0"),
        ("scores", first_of_the_batch, r"margins at point \d+ depend on the others"),
        ("slopes", steep, "slopes along column 0 are not those of the margins"),
    ],
    ids=["mirrored", "by place", "steep"],
)
def test_a_broken_kernel_is_caught_by_the_promise_that_it_breaks(monkeypatch, method, wrong, message):
    monkeypatch.setattr(LinearKernel, method, wrong)
    with pytest.raises(ContractBroken, match=f"LogisticRegression on binary logistic: {message}"):
        check_kernel_contract(LogisticRegression(), cases=[four_cases()[0]])


def test_a_family_without_a_kernel_and_slopes_that_are_not_there_are_said():
    case = [four_cases()[0]]
    with pytest.raises(ContractBroken, match=r"KNeighborsClassifier on .*: members are asked one by one"):
        check_kernel_contract(KNeighborsClassifier(), cases=case)
    with pytest.raises(ContractBroken, match="`has_slopes` must be False"):
        check_kernel_contract(LogisticRegression(), cases=case, has_slopes=False)
