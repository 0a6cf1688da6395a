"""The comparison: means and errors by hand, the paper's numbers beside them, and nothing dropped in silence."""

import numpy as np
import pandas as pd
import pytest

from betarce.errors import InvalidInput
from betarce.paper.prepared import mean_and_error
from betarce.paper.tables.comparison import METRICS, comparison_markdown, comparison_table
from records_by_hand import record, table, whole_paper

NETWORK = {"family": "network", "base": "growing-spheres"}


def only(frame, **values):
    for name, value in values.items():
        frame = frame[frame[name] == value]
    assert len(frame) == 1
    return frame.iloc[0]


def test_a_method_without_a_space_has_one_line_and_its_robustness_is_that_of_each_space():
    lines = [
        record("face", space=space, row=row, proximity_l1=l1, robustness=robustness)
        for space, row, l1, robustness in [
            ("seed", 1, 1.0, 0.9),
            ("seed", 2, 3.0, 0.7),
            ("bootstrap", 1, 2.0, 0.5),
            ("bootstrap", 2, 6.0, 0.1),
        ]
    ]
    found = only(comparison_table(table(*lines), **NETWORK), method="face")
    assert found["proximity_l1"] == 3.0
    # Row 1 deviates by -2 - 1, row 2 by 0 + 3: sqrt((9 + 9) * 2 / 1) / 4.
    assert found["proximity_l1_se"] == pytest.approx(1.5)
    assert found["robustness_seed"] == pytest.approx(0.8)
    assert found["robustness_seed_se"] == pytest.approx(0.1)
    assert found["robustness_bootstrap"] == pytest.approx(0.3)
    assert np.isnan(found["robustness_architecture"])
    assert np.isnan(found["distance_to_base"])
    assert (found["asked"], found["found"], found["failed"], found["space"]) == (4, 4, 0, "")
    assert found["proximity_l1_paper"] == 0.88
    assert found["robustness_architecture_paper"] == 0.869


def test_the_error_is_the_usual_one_where_every_point_has_one_value():
    values = pd.Series(np.random.default_rng(0).normal(size=20))
    mean, error, n = mean_and_error(values, pd.Series(range(20)))
    assert (mean, n) == (pytest.approx(values.mean()), 20)
    assert error == pytest.approx(values.sem())
    # Three copies of everything are no more evidence than one.
    thrice = mean_and_error(pd.concat([values] * 3), pd.Series(list(range(20)) * 3))
    assert thrice == (pytest.approx(mean), pytest.approx(error), 60)
    assert np.isnan(mean_and_error(values[:1], pd.Series([0]))[1])


def test_betarce_has_a_line_for_each_space_delta_and_form_beside_the_same_published_number():
    lines = [
        record(method, space=space, delta=delta, row=row, distance_to_base=row + delta, robustness=0.9)
        for method in ("betarce", "betarce-paper")
        for space in ("seed", "architecture")
        for delta in (0.5, 0.8, 0.9)
        for row in (1, 2)
    ]
    found = comparison_table(table(*lines), **NETWORK)
    assert found[["space", "delta", "method"]].to_numpy().tolist() == [
        [space, delta, method]
        for space in ("architecture", "seed")
        for delta in (0.8, 0.9)
        for method in ("betarce-paper", "betarce")
    ]
    for method in ("betarce", "betarce-paper"):
        line = only(found, method=method, space="seed", delta=0.9)
        assert line["distance_to_base"] == pytest.approx(2.4)
        assert (line["distance_to_base_paper"], line["distance_to_base_paper_se"]) == (0.315, 0.006)
        assert (line["robustness_seed"], line["robustness_seed_paper"]) == (pytest.approx(0.9), 0.902)
        assert np.isnan(line["robustness_architecture"])
        assert np.isnan(line["robustness_architecture_paper"])


def test_robx_is_matched_by_its_setting_and_by_base():
    lines = [
        record(f"robx-{tau}-{variance}", base=base, distance_to_base=2.0)
        for tau in (0.5, 0.6)
        for variance in (0.01, 0.1)
        for base in ("growing-spheres", "dice")
    ]
    spheres = comparison_table(table(*lines), **NETWORK)
    assert spheres[["tau", "variance"]].to_numpy().tolist() == [[0.5, 0.01], [0.5, 0.1], [0.6, 0.01], [0.6, 0.1]]
    assert spheres["distance_to_base_paper"].iloc[:2].tolist() == [0.429, 1.224]
    assert spheres["distance_to_base_paper"].iloc[2:].isna().all()
    dice = comparison_table(table(*lines), family="network", base="dice")
    assert dice["distance_to_base_paper"].dropna().tolist() == [0.6, 0.814]
    assert dice["asked"].tolist() == [1] * 4


def test_rows_without_an_answer_count_as_asked_and_have_no_part_in_means():
    found = comparison_table(
        table(record("rbr", row=1, proximity_l1=4.0), record("rbr", row=2, found=False, reason="No point.")), **NETWORK
    )
    line = only(found, method="rbr")
    assert (line["asked"], line["found"], line["failed"], line["proximity_l1"]) == (2, 1, 0, 4.0)
    assert "| RBR | 1/2 | - | 4.000<br>paper 0.714 |" in comparison_markdown(found, **NETWORK)


def test_a_method_that_failed_shows_as_failed_with_its_reason_below():
    failed = {"found": False, "status": "failed", "reason": "MissingExtra: dice-ml\nis missing"}
    found = comparison_table(
        table(
            record("dice", **failed),
            record("face", fold=0),
            record("face", fold=1, **failed),
            record("growing-spheres", family="logistic"),
        ),
        **NETWORK,
    )
    assert only(found, method="dice")[["asked", "found", "failed"]].tolist() == [1, 0, 1]
    text = comparison_markdown(found, **NETWORK)
    assert "| DiCE | failed (1) | - | -<br>paper 1.002 |" in text
    assert "| FACE | 1/2 (2) |" in text
    assert "\n(1) DiCE failed on 1 of 1 rows: MissingExtra: dice-ml is missing\n" in text
    assert "\n(2) FACE failed on 1 of 2 rows: MissingExtra: dice-ml is missing\n" in text
    assert "Growing Spheres |" not in text


def test_the_order_is_the_papers_and_unknown_methods_follow_the_simple_ones():
    names = ["betarce", "robx", "roar", "nice", "face", "growing-spheres", "dice", "rbr", "robx-0.5-0.1"]
    lines = [record(name, data=data) for data in ("rice", "heloc") for name in names]
    found = comparison_table(table(*lines), **NETWORK)
    order = ["dice", "growing-spheres", "face", "nice", "rbr", "roar", "robx-0.5-0.1", "robx", "betarce"]
    assert found["data"].tolist() == ["heloc"] * 9 + ["rice"] * 9
    assert found["method"].tolist() == order * 2


@pytest.mark.slow
def test_markdown_has_a_section_a_data_set_and_every_line_of_a_table_the_same_cells():
    found = comparison_table(whole_paper(n_rows=2), family="lightgbm", base="growing-spheres")
    text = comparison_markdown(found, family="lightgbm", base="growing-spheres")
    heads = [line for line in text.splitlines() if line.startswith("## ")]
    assert heads == [
        "## BetaRCE at a glance, delta 0.9",
        *(f"## {name}" for name in ("heloc", "wine", "diabetes", "breast_cancer", "car", "rice")),
    ]
    assert "all 44 lines" in text
    assert "No records of" not in text
    for block in text.split("\n\n"):
        if block.startswith("| "):
            assert len({line.replace(r"\|", "").count("|") for line in block.splitlines()}) == 1
    # Rice is in no table of the paper for LightGBM.
    rice = text.split("## rice")[1]
    assert "paper -" in rice
    assert "paper 0" not in rice
    assert "nan" not in text
    assert all(head in text for head in METRICS.values())


def test_partial_records_name_what_is_missing_and_empty_ones_are_refused():
    found = comparison_table(table(record("face")), **NETWORK)
    text = comparison_markdown(found, **NETWORK)
    assert "No records of: heloc, wine, breast_cancer, car, rice." in text
    assert "at a glance" not in text
    assert comparison_table(table(record("face")), family="logistic", base="dice").empty
    with pytest.raises(InvalidInput, match=r"at least one record; got none.*betarce reproduce"):
        comparison_table(pd.DataFrame(), **NETWORK)
    with pytest.raises(InvalidInput, match="it lacks plausibility"):
        comparison_table(table(record("face")).drop(columns="plausibility"), **NETWORK)
