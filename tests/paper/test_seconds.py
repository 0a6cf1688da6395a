"""Time a row takes: the frame by hand, the drawing against the frame."""

import numpy as np
import pandas as pd
import pytest

from betarce.paper.figures.seconds import draw_time, time_frame
from figure_checks import assert_legible, legend_texts, lines_by_label
from figure_records import bare, made_up_records, record, unanswered

pytest.importorskip("matplotlib.pyplot")


def test_the_frame_by_hand():
    lines = [
        *(record(fold=0, row=row, ms=1.0) for row in range(3)),
        record(fold=1, ms=2.0),
        unanswered(record(fold=2, ms=6.0)),
        unanswered(record(fold=3, ms=None)),
        bare(ms=0.5),
    ]
    frame = time_frame(pd.DataFrame(lines))
    assert frame["method"].tolist() == ["betarce", "growing-spheres"]
    assert frame["base"].tolist() == ["growing-spheres", "growing-spheres"]
    ours = frame.iloc[0]
    assert ours[["rows", "timed", "answers", "cells"]].tolist() == [6, 5, 4, 3]
    # Each cell counts once, and the first is 1 less 0.5 for its base: quartiles of 0.5, 2 and 6.
    assert ours[["ms_low", "ms", "ms_high"]].tolist() == [1.25, 2.0, 4.0]
    assert frame.loc[1, "ms"] == 0.5
    assert np.isnan(frame.loc[1, "delta"])


def test_methods_that_are_no_form_of_betarce_and_no_base_stay_out():
    lines = [record(), bare(method="face"), record(method="robx", delta=None, confidence=None)]
    assert time_frame(pd.DataFrame(lines))["method"].tolist() == ["betarce"]


@pytest.mark.slow
def test_bases_by_families_on_a_log_scale():
    families = ("network", "lightgbm", "logistic")
    frame = time_frame(made_up_records(families=families, n_rows=2))
    figure = draw_time(frame, confidence=0.95)
    assert len(figure.axes) == 6
    assert {ax.get_yscale() for ax in figure.axes} == {"log"}
    assert [ax.get_title("left") for ax in figure.axes[:3]] == ["neural network", "LightGBM", "logistic regression"]
    assert [ax.get_ylabel() for ax in figure.axes[::3]] == ["Growing Spheres", "DiCE"]
    for ax, (base, family) in zip(
        figure.axes, [(base, family) for base in ("growing-spheres", "dice") for family in families], strict=True
    ):
        lines = lines_by_label(ax)
        here = frame[frame["base"].eq(base) & frame["family"].eq(family)]
        for method in ("betarce", "betarce-paper"):
            np.testing.assert_array_equal(lines[method].get_ydata(), here.loc[here["method"].eq(method), "ms"])
        assert set(lines[base].get_ydata()) == {here.loc[here["method"].eq(base), "ms"].item()}
    assert legend_texts(figure) == ["the paper's form", "our form", "the base method alone"]
    assert_legible(figure)


@pytest.mark.slow
def test_methods_of_other_names_are_told_apart():
    names = {f"betarce-{n}": "fresh" for n in (16, 20, 32, 48, 64, 128)}
    frame = time_frame(made_up_records(data=("car",), spaces=("seed",), bases=("dice",), forms=names))
    figure = draw_time(frame, confidence=0.95)
    lines = lines_by_label(figure.axes[0])
    assert len({(lines[name].get_color(), lines[name].get_linestyle()) for name in names}) == len(names)
    assert_legible(figure)
