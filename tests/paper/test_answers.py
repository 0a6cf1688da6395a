"""Records as figures read them: nothing lost, nothing counted twice."""

import numpy as np
import pandas as pd
import pytest

from betarce.errors import InvalidInput
from betarce.paper.figures.answers import in_order, over_answers
from betarce.paper.figures.grid import legend_columns
from betarce.paper.prepared import check_records
from figure_records import bare, made_up_records, record, unanswered


def test_names_come_in_the_papers_order_and_unknown_ones_last():
    assert in_order(["mine", "architecture", "seed", "architecture"]) == ["seed", "architecture", "mine"]
    assert in_order(["betarce", "betarce-paper"]) == ["betarce-paper", "betarce"]


def test_columns_of_missing_values_become_numbers_and_empty_words():
    table = check_records(pd.DataFrame([bare(), unanswered(record(row=1))]))
    assert table["base"].tolist() == ["", "growing-spheres"]
    assert table["found"].tolist() == [True, False]
    assert table["lower_bound"].dtype == float
    assert table[["lower_bound", "upper_bound"]].isna().all(axis=None)


def test_what_is_checked_can_be_checked_again():
    table = check_records(made_up_records(data=("car",), missing_share=0.2))
    pd.testing.assert_frame_equal(check_records(table), table)


def test_the_same_answer_twice_is_refused():
    with pytest.raises(InvalidInput, match=r"1 records are there twice, the first: data car, .*row 3\. Give methods"):
        check_records(pd.DataFrame([record(row=3), record(row=3)]))


def test_means_are_over_answers_and_rows_without_one_are_counted():
    lines = [record(row=0, robustness=0.8), record(row=1, robustness=1.0), unanswered(record(row=2))]
    frame = over_answers(check_records(pd.DataFrame(lines)), ["data"], ["robustness"])
    assert frame.to_dict("records") == [
        {"data": "car", "rows": 3, "answers": 2, "robustness": 0.9, "robustness_sd": pytest.approx(np.sqrt(0.02))}
    ]


def test_a_group_without_an_answer_keeps_its_line():
    frame = over_answers(check_records(pd.DataFrame([unanswered(record())])), ["data"], ["robustness"])
    assert frame.loc[0, ["rows", "answers"]].tolist() == [1, 0]
    assert np.isnan(frame.loc[0, "robustness"])


def test_legends_are_balanced_and_never_wider_than_the_figure():
    labels = ["measured robustness", "lower bound", "upper bound", "delta asked for", "a base alone", "another alone"]
    assert legend_columns(labels, 20) == 6
    assert legend_columns(labels, 7) == 3
    assert legend_columns(labels, 1) == 1
