"""Generalisation: the matrix by hand, the paper's beside it, and parts of it."""

import pandas as pd
import pytest

from betarce.paper.tables.generalisation import generalisation_frame, generalisation_markdown, generalisation_table
from records_by_hand import record, table, whole_paper

SPHERES = {"base": "growing-spheres", "method": "betarce"}


def lines(method="betarce", spaces=("seed", "bootstrap"), **values):
    return [
        record(method, space=space, row=row, robustness_seed=0.8 + row / 10, robustness_bootstrap=row / 10, **values)
        for space in spaces
        for row in (0, 1)
    ]


def test_means_and_errors_by_hand():
    found = generalisation_table(table(*lines(), record(found=False, space="seed", row=2)), **SPHERES)
    assert found["original"].tolist() == ["bootstrap"] * 2 + ["seed"] * 2
    assert found["audited"].tolist() == ["bootstrap", "seed"] * 2
    assert found["robustness"].tolist() == pytest.approx([0.05, 0.85] * 2)
    assert found["robustness_se"].tolist() == pytest.approx([0.05] * 4)
    assert found["n"].tolist() == [2] * 4
    assert found["asked"].tolist() == [2, 2, 3, 3]
    assert found["robustness_paper"].tolist() == [0.877, 0.909, 0.866, 0.890]
    assert found["robustness_paper_se"].tolist() == [0.008, 0.007, 0.009, 0.008]


def test_other_guarantees_methods_families_and_data_sets_have_no_part():
    others = [
        *lines(delta=0.8),
        *lines("betarce-paper"),
        *lines(family="logistic"),
        *lines(base="dice"),
        *lines(data="rice"),
    ]
    found = generalisation_table(table(*others, *lines()), **SPHERES, data=["diabetes"])
    assert found["n"].tolist() == [2] * 4


@pytest.mark.slow
def test_the_frame_has_both_forms_over_the_four_and_over_all():
    frame = generalisation_frame(whole_paper(n_rows=2))
    sizes = frame.groupby(["base", "method", "data"]).size()
    assert sizes.tolist() == [9] * 8
    assert set(frame["data"]) == {
        "heloc wine diabetes breast_cancer",
        "heloc wine diabetes breast_cancer car rice",
    }
    text = generalisation_markdown(frame)
    assert "| published | four or all, unnamed | seed | 0.929 ± 0.005 | 0.805 ± 0.008 | **0.918 ± 0.005** | - |" in text
    assert text.count("\n| BetaRCE, ours |") == 12


def test_the_four_are_not_shown_twice():
    frame = generalisation_frame(table(*lines()))
    assert set(frame["data"]) == {"diabetes"}
    assert "| BetaRCE, ours | diabetes | seed | - | 0.050 ± 0.050 | **0.850 ± 0.050** | 2 of 2 |" in (
        generalisation_markdown(frame)
    )


@pytest.mark.slow
def test_records_without_other_spaces_have_nothing_to_show():
    plain = table(record(), record("betarce-paper"))
    assert generalisation_table(plain, **SPHERES).empty
    assert generalisation_frame(plain).empty
    assert generalisation_frame(plain.assign(robustness_seed=None)).empty
    assert generalisation_frame(table(*lines(family="logistic"))).empty
    assert isinstance(generalisation_frame(plain), pd.DataFrame)
