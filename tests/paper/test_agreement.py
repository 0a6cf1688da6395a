"""Ours over published: ratios and means by hand."""

import pytest

from betarce.paper.tables.agreement import agreement_markdown, agreement_table
from records_by_hand import record, table


@pytest.mark.slow
def test_ratios_and_gaps_by_hand():
    lines = [
        # Published for diabetes, the network and Growing Spheres: to base 0.583, robustness 0.937 under bootstrap.
        *(record("betarce", row=row, distance_to_base=0.2915, robustness=0.9) for row in range(2)),
        # Published: L1 0.8, robustness 0.852 under bootstrap; the other spaces have no records.
        record("growing-spheres", proximity_l1=1.6, robustness=0.5),
        record("nice"),  # not in the paper
    ]
    found = agreement_table(table(*lines)).set_index(["family", "base", "method"])
    assert set(found.index) == {
        ("network", "growing-spheres", "betarce"),
        ("network", "growing-spheres", "growing-spheres"),
        ("network", "dice", "growing-spheres"),
    }
    ours = found.loc[("network", "growing-spheres", "betarce")]
    assert (ours["delta"], ours["lines"]) == (0.9, 1)
    assert ours["distance_to_base_ratio"] == pytest.approx(0.5)
    assert ours["gap"] == pytest.approx(0.9 - 0.937)
    bare = found.loc[("network", "growing-spheres", "growing-spheres")]
    assert bare["proximity_l1_ratio"] == pytest.approx(2.0)
    assert (bare["robustness"], bare["robustness_paper"]) == (pytest.approx(0.5), pytest.approx(0.852))
    text = agreement_markdown(found.reset_index())
    assert "| BetaRCE, ours (0.9) | 1 | 0.50 |" in text
    assert "| Growing Spheres | 1 | - | 2.00 |" in text


def test_ratios_are_medians_over_data_sets():
    # Published L1 of Growing Spheres: 0.8 for diabetes, 2.782 for HELOC.
    lines = [record("growing-spheres", proximity_l1=0.8), record("growing-spheres", data="heloc", proximity_l1=8.346)]
    found = agreement_table(table(*lines)).set_index("base").loc["growing-spheres"]
    assert found["lines"] == 2
    assert found["proximity_l1_ratio"] == pytest.approx(2.0)


def test_what_the_paper_does_not_have_gives_no_line():
    assert agreement_table(table(record("nice"))).empty
