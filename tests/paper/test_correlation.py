"""Distance to base against what becomes of other metrics: changes and coefficients by hand."""

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

from betarce.paper.tables.correlation import correlation_markdown, correlation_table, distance_frame
from records_by_hand import record, table, whole_paper

DISTANCES = np.array([0.0, 1.0, 2.0, 4.0])
LOSSES = np.array([0.0, 1.0, 3.0, 2.0])


def robust(row, **values):
    return record(row=row, distance_to_base=DISTANCES[row], proximity_l1=5.0 + LOSSES[row], **values)


def test_changes_are_taken_against_the_base_of_the_same_cell_and_row():
    lines = [
        record("growing-spheres", row=1, proximity_l1=5.0, proximity_l2=2.0, plausibility=0.5),
        record("growing-spheres", row=1, fold=1, proximity_l1=50.0),
        record("dice", row=1, proximity_l1=70.0),
        robust(1, proximity_l2=1.5, plausibility=0.7),
        robust(2),  # its base has no record
        record("robx-0.5-0.1", base="dice", row=1, proximity_l1=80.0, distance_to_base=3.0),
        record("betarce-paper", row=1, found=False),
    ]
    frame = distance_frame(table(*lines))
    assert frame["method"].tolist() == ["betarce", "robx-0.5-0.1"]
    first = frame.iloc[0]
    assert first[["data", "family", "space", "fold", "row", "base", "delta"]].tolist() == [
        *("diabetes", "network", "bootstrap", 0, 1, "growing-spheres", 0.9)
    ]
    assert first["distance_to_base"] == 1.0
    assert first[["change_l1", "change_l2", "change_plausibility"]].tolist() == pytest.approx([1.0, -0.5, 0.2])
    assert frame["change_l1"].iloc[1] == pytest.approx(10.0)


def test_coefficients_by_hand():
    bases = [record("growing-spheres", row=row, proximity_l1=5.0) for row in range(4)]
    found = correlation_table(table(*bases, *map(robust, range(4)))).set_index(["metric", "kind"])
    assert found["method"].unique().tolist() == ["betarce"]
    # Deviations -1.75, -0.75, 0.25, 2.25 against 1.5, 0.5, -1.5, -0.5.
    assert found.loc[("proximity_l1", "pearson"), "rho"] == pytest.approx(-4.5 / np.sqrt(8.75 * 5.0))
    assert found.loc[("proximity_l1", "spearman"), "rho"] == pytest.approx(-0.8)
    assert found.loc[("proximity_l1", "pearson"), "p"] == pytest.approx(pearsonr(DISTANCES, LOSSES).pvalue)
    assert found.loc[("proximity_l1", "spearman"), "p"] == pytest.approx(spearmanr(DISTANCES, LOSSES).pvalue)
    assert found["paper"].tolist() == [-0.31, -0.7, -0.31, -0.73, -0.31, -0.02]
    assert found["n"].tolist() == [4] * 6
    # The other metrics never change, and four points are too few for a group of their own.
    assert found.loc[["proximity_l2", "plausibility"], "rho"].isna().all()
    assert (found["groups"] == 0).all()
    text = correlation_markdown(found.reset_index())
    assert "| BetaRCE, ours | Proximity L1 | Spearman | -0.80 | -0.70 | 0.200 | 4 | - | 0 |" in text


def test_pooling_can_hide_what_happens_within():
    """In each of two data sets more distance means less loss; together it is the other way round."""
    lines = []
    for data, offset in (("rice", 0.0), ("heloc", 100.0)):
        for row in range(12):
            lines.append(record("growing-spheres", data=data, row=row, proximity_l1=0.0))
            lines.append(record(data=data, row=row, distance_to_base=offset + row, proximity_l1=offset - row))
    found = correlation_table(table(*lines)).set_index(["metric", "kind"]).loc[("proximity_l1", "pearson")]
    assert found["rho"] < -0.9
    assert found["within"] == pytest.approx(1.0)
    assert found["groups"] == 2


@pytest.mark.slow
def test_methods_are_told_apart_and_taken_together():
    found = correlation_table(whole_paper(n_rows=2))
    assert found["method"].drop_duplicates().tolist() == ["betarce-paper", "betarce", "robx", "all"]
    sizes = found.groupby("method")["n"].first()
    assert sizes["all"] == sizes.drop("all").sum()
    assert "nan" not in correlation_markdown(found)


def test_nothing_to_correlate_is_an_empty_table():
    assert correlation_table(table(record("growing-spheres"), record("face"))).empty
    assert correlation_table(table(record())).empty
    assert correlation_table(table(record(found=False))).empty
