"""Goals: the rule of misses against simulation, medians and ratios by hand, and what cannot be judged."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from betarce.errors import InvalidInput
from betarce.paper.tables.goals import GOALS, goals_markdown, goals_summary, goals_table, limits
from records_by_hand import record, table, whole_paper


def pair(row, *, paper=1.0, ours=0.4, counts=(30, 30), **values):
    return [
        record("betarce-paper", row=row, distance_to_base=paper, robustness=counts[0] / 30, ms=4.0, **values),
        record("betarce", row=row, distance_to_base=ours, robustness=counts[1] / 30, ms=2.0, **values),
    ]


def test_medians_ratio_and_coverage_by_hand():
    lines = [
        *pair(1, paper=1.0, ours=0.1, counts=(30, 27)),
        *pair(2, paper=2.0, ours=0.5, counts=(26, 30)),
        *pair(3, paper=4.0, ours=3.0, counts=(23, 24)),
        # Only one form answers: no part in distances.
        record("betarce-paper", row=4, distance_to_base=50.0, robustness=0.8, ms=4.0),
        record("betarce", row=4, found=False, ms=2.0),
    ]
    (line,) = goals_table(table(*lines)).to_dict("records")
    assert (line["asked"], line["found_paper"], line["found_ours"], line["both"]) == (4, 4, 3, 3)
    assert (line["l1_paper"], line["l1_ours"], line["l1_ratio"]) == (2.0, 0.5, 0.25)
    assert (line["coverage_paper"], line["coverage_ours"]) == pytest.approx((1 / 4, 2 / 3))
    assert (line["robustness_paper"], line["robustness_ours"]) == pytest.approx((103 / 120, 81 / 90))
    assert (line["misses_paper"], line["misses_ours"]) == (1, 0)
    assert (line["ms_paper"], line["ms_ours"], line["ms_ratio"]) == (4.0, 2.0, 0.5)
    assert line["closer"]
    assert not line["as_many"]
    q = limits(0.9, 0.95, 30)["misses"][1]
    assert line["bound_paper"] == pytest.approx(4 * q)


def test_the_limits_are_those_of_the_binomial():
    for delta, confidence, members in [(0.9, 0.95, 30), (0.8, 0.9, 30), (0.5, 0.95, 10), (0.9, 0.95, 3)]:
        rules = limits(delta, confidence, members)
        count, q = rules["misses"]
        assert binom.cdf(count, members, delta) <= 0.05 < binom.cdf(count + 1, members, delta)
        assert q == pytest.approx(1 - confidence + confidence * binom.cdf(count, members, delta))
        below = rules["below"][0]
        assert below / members < delta <= (below + 1) / members + 1e-12


@pytest.mark.slow
@pytest.mark.parametrize(("rates", "least", "most"), [((0.9, 0.5), 0.0, 0.08), ((0.8, 0.8), 0.9, 1.0)])
def test_a_promise_just_kept_is_seldom_called_broken_and_a_broken_one_is_seen(rates, least, most):
    """Five points in a hundred are hopeless and the rest exactly at delta: the worst that the promise allows."""
    rng = np.random.default_rng(0)
    lines = []
    for trial in range(200):
        hopeless = rng.random(90) < 0.05
        counts = rng.binomial(30, np.where(hopeless, rates[1], rates[0]))
        for row, count in enumerate(counts):
            lines += pair(row, counts=(30, int(count)), data=f"trial {trial}")
    broken = 1 - goals_table(table(*lines))["promise_ours"].astype(float).mean()
    assert least <= broken <= most


def test_an_unmoved_base_is_no_division_by_zero():
    (line,) = goals_table(table(*pair(1, paper=0.0, ours=0.0))).to_dict("records")
    assert np.isnan(line["l1_ratio"])
    assert line["closer"]


def test_groups_without_answers_are_not_judged_and_count_in_no_goal():
    failed = {"found": False, "status": "failed", "reason": "x"}
    lines = [*pair(1), *(record(name, base="dice", **failed) for name in ("betarce", "betarce-paper"))]
    found = goals_table(table(*lines))
    assert found["base"].tolist() == ["growing-spheres", "dice"]
    assert found.loc[1, list(GOALS)].isna().all()
    summary = goals_summary(found)
    assert summary["judged"].tolist() == [1] * len(GOALS)
    assert summary["holds"].tolist() == [1] * len(GOALS)
    text = goals_markdown(found)
    assert "* ours keeps its promise: 1 of 1 groups" in text
    assert (
        "| diabetes | bootstrap | 0 / 0 of 1 | - / - | - / - | 0 / 0 | - / - | - / - | - / - | - | - | - / - |" in text
    )
    assert "| diabetes | bootstrap | 1 / 1 of 1 | 1.000 / 1.000 | 1.00 / 1.00 | 0 / 0 |" in text


def test_other_guarantees_and_lonely_forms_have_no_part():
    lines = [*pair(1), *pair(1, delta=0.8), record("betarce", family="logistic"), record("face")]
    found = goals_table(table(*lines))
    assert found["asked"].tolist() == [1]
    assert goals_table(table(record("betarce"))).empty
    assert goals_table(table(record("face"))).empty


@pytest.mark.slow
def test_the_whole_paper_gives_a_section_for_each_family_and_base():
    found = goals_table(whole_paper(n_rows=2))
    assert len(found) == 6 * 3 * 3 * 2
    text = goals_markdown(found)
    assert text.count("\n## ") == 6
    assert "nan" not in text
    assert "NA" not in text


def test_shares_must_be_those_of_the_audit():
    with pytest.raises(InvalidInput, match="`audit_members` must be the number of members"):
        goals_table(table(*pair(1, counts=(29, 30))), audit_members=20)
    with pytest.raises(InvalidInput, match="strictly between 0 and 1"):
        goals_table(table(*pair(1)), delta=1.0)
    with pytest.raises(InvalidInput, match="at least one record"):
        goals_table(pd.DataFrame())
