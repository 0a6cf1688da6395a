"""Distance to base against changes: bins by hand, dots against the frame."""

import numpy as np
import pandas as pd
import pytest

from betarce.paper.figures.scatter import draw_scatter, scatter_frame
from figure_checks import assert_legible

pytest.importorskip("matplotlib.pyplot")


def distances(x, y, **changes):
    plain = {"data": "car", "family": "network", "space": "seed", "fold": 0, "method": "betarce", "base": "dice"}
    return pd.DataFrame(
        {
            "row": np.arange(len(x)),
            "distance_to_base": x,
            "change_l1": y,
            "change_l2": np.asarray(y) / 2,
            "change_plausibility": 0.1,
        }
    ).assign(**(plain | {"delta": 0.9} | changes))


def many(n=3000):
    rng = np.random.default_rng(0)
    x = rng.gamma(2, 0.3, n)
    return distances(x, x + rng.normal(0, 0.1, n))


def test_answers_of_one_bin_are_averaged_and_counted():
    frame = scatter_frame(distances([0, 0.1, 1], [0, 0.1, 2]), base="dice", method="betarce", bins=2)
    l1 = frame[frame["change"].eq("change_l1")]
    np.testing.assert_allclose(l1[["distance_to_base", "by", "count"]], [[0.05, 0.05, 2], [1, 2, 1]])
    assert set(l1["answers"]) == {3}
    assert l1["correlation"].iloc[0] == pytest.approx(np.corrcoef([0, 0.1, 1], [0, 0.1, 2])[0, 1])


def test_a_constant_change_has_no_correlation():
    frame = scatter_frame(distances([0, 1], [0, 1]), base="dice", method="betarce")
    assert frame.loc[frame["change"].eq("change_plausibility"), "correlation"].isna().all()


def test_lines_without_numbers_are_counted_but_not_drawn():
    frame = scatter_frame(distances([0, 1, np.nan], [0, 1, np.nan]), base="dice", method="betarce")
    assert set(frame["rows"]) == {3}
    assert set(frame["answers"]) == {2}


def test_every_answer_is_in_one_bin():
    frame = scatter_frame(many(), base="dice", method="betarce")
    assert frame.groupby("change")["count"].sum().tolist() == [3000] * 3
    l1 = frame[frame["change"].eq("change_l1")]
    assert np.average(l1["distance_to_base"], weights=l1["count"]) == pytest.approx(many()["distance_to_base"].mean())


def test_other_bases_and_methods_stay_out():
    frame = scatter_frame(distances([0, 1], [0, 1]), base="growing-spheres", method="betarce")
    assert frame.empty
    assert "correlation" in frame


@pytest.mark.slow
def test_families_by_changes_with_one_dot_a_bin():
    both = pd.concat([many(), many(200).assign(family="logistic")])
    frame = scatter_frame(both, base="dice", method="betarce")
    figure = draw_scatter(frame)
    panels = figure.axes[:6]
    titles = ["change of proximity, L1", "change of proximity, L2", "change of plausibility"]
    assert [ax.get_title("left") for ax in panels[:3]] == titles
    for ax, (_, lines) in zip(panels, frame.groupby(["family", "change"], sort=False), strict=True):
        np.testing.assert_allclose(ax.collections[0].get_offsets(), lines[["distance_to_base", "by"]])
        np.testing.assert_allclose(ax.collections[0].get_array(), lines["count"])
    assert panels[0].texts[0].get_text().endswith("n = 3,000")
    assert panels[2].texts[0].get_text() == "n = 3,000", "no correlation with what does not vary"
    assert figure.axes[6].get_ylabel() == "answers in a dot"
    assert_legible(figure)


@pytest.mark.slow
def test_a_single_answer_can_be_drawn():
    assert_legible(draw_scatter(scatter_frame(distances([0.5], [0.1]), base="dice", method="betarce")))
