"""Our form against the paper's: pairs by hand, dots against the frame."""

import numpy as np
import pandas as pd
import pytest

from betarce.paper.figures.two_forms import draw_forms, forms_frame
from figure_checks import assert_legible, legend_texts, lines_by_label
from figure_records import SIX, made_up_records, record, unanswered

pytest.importorskip("matplotlib.pyplot")


def pair(row, paper, ours):
    """Give the records of both forms for one row: their distances to base, None for no answer."""
    lines = [record(row=row, method="betarce-paper", members="search"), record(row=row)]
    return [
        unanswered(line) if distance is None else line | {"distance_to_base": distance}
        for line, distance in zip(lines, (paper, ours), strict=True)
    ]


def compared(*distances):
    lines = [line for row, both in enumerate(distances) for line in pair(row, *both)]
    return forms_frame(pd.DataFrame(lines), base="growing-spheres")


def test_the_frame_by_hand():
    frame = compared((0.4, 0.1), (0.2, 0.1), (0.1, 0.1), (0.0, 0.0), (0.3, None), (None, None))
    assert len(frame) == 1
    line = frame.iloc[0]
    assert line[["rows", "answers_paper", "answers_ours", "pairs", "moved"]].tolist() == [6, 5, 4, 4, 3]
    assert line[["ratio_low", "ratio", "ratio_high"]].tolist() == [0.25, 0.5, 1.0]
    assert line["distance_paper"] == pytest.approx(0.7 / 4)
    assert line["distance_ours"] == pytest.approx(0.3 / 4)
    assert line["robustness_ours"] == pytest.approx(0.9)


def test_where_ours_alone_leaves_the_base_the_ratio_is_infinite():
    line = compared((0.0, 0.2), (0.2, 0.1), (0.2, 0.1)).iloc[0]
    assert line[["ratio_low", "ratio", "ratio_high"]].tolist() == [0.5, 0.5, np.inf]


def test_where_neither_moves_there_is_no_ratio_but_a_line():
    line = compared((0.0, 0.0)).iloc[0]
    assert (line["pairs"], line["moved"]) == (1, 0)
    assert np.isnan(line["ratio"])


def test_a_form_that_was_not_run_leaves_an_empty_frame():
    frame = forms_frame(pd.DataFrame([record()]), base="growing-spheres")
    assert frame.empty
    assert {"ratio", "moved"} <= set(frame)


@pytest.mark.slow
def test_dots_and_quartiles_for_every_data_set_and_family():
    frame = forms_frame(made_up_records(families=("network", "lightgbm", "logistic")), base="dice")
    figure = draw_forms(frame, delta=0.9, confidence=0.95)
    left, right = figure.axes
    own = frame[frame["delta"].eq(0.9)]
    assert len(own) == 18
    for line in own.to_dict("records"):
        name = f"{line['data']} {line['family']}"
        assert lines_by_label(left)[name].get_xdata().item() == line["ratio"]
        assert lines_by_label(right)[f"{name} paper"].get_xdata().item() == line["robustness_paper"]
        assert lines_by_label(right)[f"{name} ours"].get_xdata().item() == line["robustness_ours"]
        assert lines_by_label(left)[name].get_ydata() == lines_by_label(right)[f"{name} ours"].get_ydata()
    heights = [lines_by_label(left)[f"{data} network"].get_ydata().item() for data in SIX]
    assert heights == sorted(heights)
    assert left.get_ylim()[0] > left.get_ylim()[1], "the first data set is on top"
    assert legend_texts(figure) == ["neural network", "LightGBM", "logistic regression"]
    assert_legible(figure)


@pytest.mark.parametrize(("pairs", "marker"), [([(0.0, 0.2)] * 3, ">"), ([(0.2, 0.0)] * 3, "<")])
def test_a_median_beyond_the_scale_is_an_arrow_at_its_edge(pairs, marker):
    figure = draw_forms(compared(*pairs), delta=0.8, confidence=0.95)
    dot = lines_by_label(figure.axes[0])["car network"]
    assert dot.get_marker() == marker
    assert dot.get_xdata().item() in figure.axes[0].get_xlim()
    assert_legible(figure)


def test_rows_that_never_moved_still_show_their_robustness():
    figure = draw_forms(compared((0.0, 0.0)), delta=0.8, confidence=0.95)
    assert lines_by_label(figure.axes[1])["car network ours"].get_xdata().item() == 0.9
    assert_legible(figure)
