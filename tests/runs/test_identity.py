"""What an explainer is made of, as digests: the same in every process, another for anything else."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import betarce as brce
from betarce.models.files.stored_form import restore_model, store_model
from betarce.models.recipe import Table
from betarce.runs.identity import identity
from betarce.runs.training_data import table_content, table_of_content
from mixed_models import LABELS, TABLE, fitted
from other_processes import printed_elsewhere

SETTINGS = {"n_models": (3, 30), "verbose": -1, "delta": 0.8, "confidence": 0.9}


def explainer(kind="logistic", *, seed=1, table=TABLE, labels=LABELS, **settings):
    return brce.BetaRCE(fitted(kind), random_state=seed, **SETTINGS, **settings).fit(table, labels)


@pytest.mark.slow
def test_every_part_has_a_digest_of_its_own():
    made_of = identity(explainer())
    digests = [made_of.model, made_of.data, made_of.rules, *made_of.members["search"], *made_of.members["certifying"]]
    assert len(digests) == 36
    assert len(set(digests)) == 36
    assert all(len(digest) == 64 for digest in digests)
    assert list(made_of.to_plain()) == ["model", "search_members", "certifying_members", "data", "rules"]


@pytest.mark.slow
def test_what_changes_is_what_differs():
    one = identity(explainer())
    other_seed = identity(explainer(seed=2))
    assert (one.model, one.data, one.rules) == (other_seed.model, other_seed.data, other_seed.rules)
    assert one.roles.keys() == other_seed.roles.keys()
    assert set(one.roles.values()).isdisjoint(other_seed.roles.values())
    other_rules = identity(explainer(features={"age": brce.immutable()}))
    assert (one.model, one.members, one.data) == (other_rules.model, other_rules.members, other_rules.data)
    assert one.rules != other_rules.rules
    labels = LABELS.copy()
    labels[0] = 1 - labels[0]
    assert identity(explainer(labels=labels)).data != one.data


@pytest.mark.slow
def test_a_model_that_was_trained_elsewhere_has_the_same_digest():
    alone = identity(explainer())
    together = identity(explainer(n_jobs=2))
    assert alone == together


@pytest.mark.slow
def test_the_identity_is_the_same_in_every_process():
    code = (
        "from test_identity import explainer; from betarce.runs.identity import identity;"
        "print(identity(explainer('voting')).to_plain())"
    )
    said = printed_elsewhere(code, Path(__file__).parent)
    assert said == {f"{identity(explainer('voting')).to_plain()}\n"}


@pytest.mark.parametrize(
    "labels",
    [
        LABELS,
        LABELS.astype(bool),
        np.where(LABELS, "yes", "no"),
        np.where(LABELS, "yes", "no").astype(object),
        pd.Series(LABELS, name="approved"),
        pd.Series(np.where(LABELS, "yes", "no"), dtype="str"),
        pd.Series(np.where(LABELS, "yes", "no"), dtype=pd.CategoricalDtype(["yes", "no", "never"])),
        pd.Series(LABELS.astype(bool), dtype="boolean"),
    ],
    ids=["int", "bool", "text", "object", "series", "series of text", "categories", "nullable"],
)
def test_a_training_table_comes_back_as_it_was(labels):
    features = brce.FeatureSpace.infer(TABLE)
    points = features.encode(TABLE)
    table, again = table_of_content(table_content(Table(TABLE, labels), points), features)
    pd.testing.assert_frame_equal(table.X, TABLE)
    np.testing.assert_array_equal(again, points)
    assert type(table.y) is type(labels)
    assert table.y.dtype == labels.dtype
    assert list(table.y) == list(labels)


def test_a_stored_model_is_named_by_what_its_file_holds():
    model = fitted("logistic")
    stored = store_model(model)
    assert stored.form == "arrays"
    assert store_model(restore_model(stored.content, stored.form)).digest == stored.digest
