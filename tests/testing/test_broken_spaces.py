"""Spaces that break one promise each: the contract names the one that is broken."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from betarce.errors import ContractBroken
from betarce.models.recipe import Retraining
from betarce.spaces import Custom, Job, Seed
from betarce.testing import check_space_contract, four_cases


class Lucky(Seed):
    def plan(self, recipe, table, name, seed):
        return Job(recipe, Retraining(name, int(np.random.randint(10_000))))  # noqa: NPY002


class Counting(Seed):
    """Numbers its members as they come."""

    def __init__(self):
        object.__setattr__(self, "drawn", [])

    def plan(self, recipe, table, name, seed):
        self.drawn.append(name)
        return Job(recipe, Retraining(name, seed + len(self.drawn)))


class Stuck(Seed):
    def plan(self, recipe, table, name, seed):
        return Job(recipe, Retraining(name, int(name.split("/")[1]) + 100 * name.startswith("search")))


class Nameless(Seed):
    def plan(self, recipe, table, name, seed):
        return Job(recipe, Retraining(name.split("/")[1], seed))


class OneSeed(Seed):
    def plan(self, recipe, table, name, seed):
        return Job(recipe, Retraining(name, 4, rows=np.random.default_rng(seed).integers(0, len(table), len(table))))


class Meddler(Seed):
    def plan(self, recipe, table, name, seed):
        table.y[:10] = table.y[0]
        return super().plan(recipe, table, name, seed)


def one_class(X, y, seed):
    rows = np.flatnonzero(y == y[0])[: 20 + seed % 20]
    return DecisionTreeClassifier(random_state=seed).fit(X[rows], y[rows])


ONE_MODEL = []


def shared(X, y, seed):
    if not ONE_MODEL:
        ONE_MODEL.append(DecisionTreeClassifier(random_state=0).fit(X, y))
    return ONE_MODEL[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("space", "message"),
    [
        (Lucky(), "the same seed gave other members the second time"),
        (Counting(), "the same seed gave other members the second time"),
        (Stuck(), "another seed gave the same members"),
        (Nameless(), "two members have the same name"),
        (OneSeed(), "two members have the same seed"),
        (Meddler(), "`y` was changed in place"),
        (Custom(one_class), "a member does not know every class"),
        (Custom(shared), "two roles share a model"),
    ],
    ids=["lucky", "counting", "stuck", "nameless", "one seed", "meddler", "one class", "shared"],
)
def test_a_broken_space_is_caught_by_the_promise_that_it_breaks(space, message):
    case = four_cases()[0]
    own = replace(case, X=case.X.copy(), y=case.y.copy())
    with pytest.raises(ContractBroken, match=f"{type(space).__name__} on binary logistic: {message}"):
        check_space_contract(space, cases=[own])
