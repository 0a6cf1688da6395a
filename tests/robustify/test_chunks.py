"""Rows are answered chunk by chunk, on any number of workers, to the same bits."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from betarce import BetaRCE, FrontierSearch, immutable
from betarce.engines.shared_file import shared_file
from betarce.robustify.asked import chunk_size
from same_answers import same_answers
from small_problem import ENCODER, LABELS, TABLE

WIDE = pd.concat([TABLE, TABLE[:70].assign(a=TABLE["a"] ** 2)], ignore_index=True)  # more rows than a chunk holds


class Sulking(FrontierSearch):
    """A search that fails at a single row."""

    def ladders(self, task, goal):
        if (task.starts[:, 0] == task.features.encode(WIDE[269:])[0, 0]).any():
            raise ZeroDivisionError("not this one")
        return super().ladders(task, goal)


@pytest.fixture(scope="module")
def fitted():
    model = make_pipeline(ENCODER, LogisticRegression(C=100, max_iter=1000))
    rules = {"c": immutable()}
    return BetaRCE(model, features=rules, n_models=(8, 46), random_state=0, verbose=-1).fit(TABLE, LABELS)


@pytest.fixture(scope="module")
def together(fitted):
    return fitted.explain(WIDE)


def test_the_size_of_a_chunk_depends_on_the_columns_alone():
    assert len(WIDE) > chunk_size(WIDE.shape[1])
    assert chunk_size(10_000) == 16


def test_pieces_of_any_size_get_the_answers_of_the_whole(fitted, together):
    for size in (1, 7, 40):
        assert same_answers(fitted.explain(WIDE[230 : 230 + size]), together[230 : 230 + size])


def test_rows_that_cannot_be_read_keep_their_place_among_chunks(fitted, together):
    table = WIDE.copy()
    table.loc[[3, 269], "d"] = "unheard of"
    result = fitted.explain(table)
    assert [i for i, item in enumerate(result) if item.status == "unreadable"] == [3, 269]
    assert same_answers(result[4:269], together[4:269])


def test_targets_bases_and_rules_of_single_rows_go_with_their_chunk(fitted):
    targets = 1 - fitted.model_.predict(WIDE)
    overrides = {268: {"a": immutable()}}
    bases = WIDE.assign(a=np.where(targets == 1, 1.0, 0.0))
    whole = fitted.explain(WIDE, targets, bases, overrides=overrides)
    tail = WIDE[260:]
    alone = fitted.explain(tail, targets[260:], bases[260:], overrides=overrides)
    assert same_answers(whole[260:], alone)
    assert whole[268].overrides == {"a": immutable()}
    assert all(item.robust["a"] == item.original["a"] for item in whole[268:269] if item.status == "certified")


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_workers_give_the_answers_of_one_process(fitted, together, backend):
    with parallel_config(backend=backend):
        spread = BetaRCE(**{**fitted.get_params(deep=False), "n_jobs": 2}).fit_with(
            fitted.subject_, fitted.members_, seed=fitted.seed_
        )
        assert same_answers(spread.explain(WIDE), together)


@pytest.mark.slow
def test_an_error_on_a_worker_is_raised_as_it_is(fitted):
    rce = BetaRCE(**{**fitted.get_params(deep=False), "n_jobs": 2, "search": Sulking()}).fit_with(
        fitted.subject_, fitted.members_, seed=fitted.seed_
    )
    with pytest.raises(ZeroDivisionError, match="not this one"):
        rce.explain(WIDE)


def test_a_shared_value_is_read_once_and_changes_of_it_stay_private():
    value = {"weights": np.arange(100.0).reshape(20, 5), "empty": np.zeros(0), "text": "x"}
    with shared_file(value) as shared:
        opened = shared.open()
        assert shared.open() is opened
        assert np.array_equal(opened["weights"], value["weights"])
        assert opened["empty"].size == 0
        opened["weights"][0] = -1
        assert value["weights"][0, 0] == 0
    assert not Path(shared.folder).exists()
