"""The comparison with programs of others: which of their settings is shown, and what counts as an answer."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import others
from betarce import Ensemble
from others_problem import Common, Score


@pytest.fixture(scope="module")
def common():
    """One feature in 0..1: the model accepts from 0.5 on, each of ten judges from somewhere between 0.5 and 0.6."""
    X = np.linspace(0, 1, 200)[:, None]
    model, *judges = (
        LogisticRegression(C=1e6).fit(X, X[:, 0] > edge) for edge in (0.5, *np.linspace(0.501, 0.601, 10))
    )
    made = Common("line", X, (X[:, 0] > 0.5).astype(int), model, np.full((4, 1), 0.3), np.full((4, 1), 0.3))
    made.__dict__["proxies"] = made.__dict__["audit"] = Ensemble(judges, np.array([False, True]))
    return made


def files(folder, *tuning):
    """Write the answers of one method, one file per setting."""
    for i, points in enumerate(tuning):
        np.savez(folder / f"way-{i}.npz", tuning=np.array(points, float)[:, None])
    return [folder / f"way-{i}.npz" for i in range(len(tuning))]


CLOSE, FAR, FARTHER, NONE = [0.55] * 4, [0.7] * 4, [0.9] * 4, [np.nan] * 4


def test_a_point_that_the_model_rejects_or_that_is_missing_is_no_answer(common):
    assert common.answered(np.array([[0.7], [np.nan], [0.4]])).tolist() == [True, False, False]


def test_distances_and_truth_are_means_over_the_answers(common):
    score = common.scored(np.array([[0.7], [0.55], [np.nan], [0.7]]), common.rows, common.audit)
    assert (score.answered, score.covered, score.lowest) == (0.75, pytest.approx(2 / 3), 0.5)
    assert score.l1 == pytest.approx((0.4 + 0.25 + 0.4) / 3)
    assert score.changed == 1


def test_the_setting_of_a_robust_program_is_the_closest_that_is_robust(common, tmp_path):
    held = files(tmp_path, FARTHER, CLOSE, FAR, NONE)
    assert others.chosen(common, held, robust=True) == [held[0], held[2]]


def test_the_setting_of_a_plain_program_is_the_closest(common, tmp_path):
    held = files(tmp_path, FARTHER, CLOSE, FAR, NONE)
    assert others.chosen(common, held, robust=False) == [held[0], held[1]]


def test_a_row_without_an_answer_does_not_make_a_setting_better(common, tmp_path):
    held = files(tmp_path, FARTHER, [0.7, np.nan, np.nan, np.nan])
    assert others.chosen(common, held, robust=True) == [held[0]]


def test_settings_are_gathered_by_method_with_the_documented_one_first(tmp_path):
    names = ["way-10.npz", "way-2.npz", "way-0.npz", "as released-0.npz"]
    gathered = others.methods([tmp_path / name for name in names])
    assert [file.name for file in gathered["way"]] == ["way-0.npz", "way-2.npz", "way-10.npz"]
    assert list(gathered) == ["way", "as released"]


def test_a_method_that_answers_nothing_has_a_line_without_numbers():
    assert others.cells(Score(0.0, *[np.nan] * 4)) == ["0.00", "-", "-", "-", "-"]
