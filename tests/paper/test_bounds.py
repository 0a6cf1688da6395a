"""Robustness between its bounds: the frame by hand, the drawing against the frame."""

import numpy as np
import pandas as pd
import pytest

from betarce.paper.figures.bounds import bounds_frame, draw_both_bounds, draw_bounds
from figure_checks import assert_legible, legend_texts, lines_by_label
from figure_records import SIX, SPACES, bare, made_up_records, record, unanswered

pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(scope="module")
def full():
    records = made_up_records(missing_share=0.05)
    return bounds_frame(records, family="network", base="growing-spheres")


def test_the_frame_by_hand():
    records = pd.DataFrame(
        [
            record(row=0, robustness=0.8, lower_bound=0.82, upper_bound=0.96),
            record(row=1, robustness=1.0, lower_bound=0.86, upper_bound=1.0),
            unanswered(record(row=2)),
            bare(row=0, robustness=0.4),
            bare(row=1, robustness=0.5),
        ]
    )
    frame = bounds_frame(records, family="network", base="growing-spheres")
    assert frame["method"].tolist() == ["betarce", "growing-spheres"]
    assert frame[["rows", "answers"]].to_numpy().tolist() == [[3, 2], [2, 2]]
    np.testing.assert_allclose(
        frame.loc[0, ["robustness", "lower_bound", "upper_bound"]].astype(float), [0.9, 0.84, 0.98]
    )
    np.testing.assert_allclose(frame.loc[0, "lower_bound_sd"], np.sqrt(0.0008))
    assert frame.loc[1, "robustness"] == pytest.approx(0.45)
    assert frame.loc[1, ["delta", "confidence", "lower_bound"]].isna().all()


def test_other_families_bases_and_foreign_methods_stay_out():
    records = pd.DataFrame(
        [
            record(),
            record(family="logistic"),
            record(base="dice"),
            record(method="robx", delta=None, confidence=None),
            bare(method="face"),
        ]
    )
    frame = bounds_frame(records, family="network", base="growing-spheres")
    assert frame["method"].tolist() == ["betarce"]
    assert frame["rows"].tolist() == [1]


@pytest.mark.slow
def test_eighteen_panels_show_the_frame(full):
    figure = draw_bounds(full, "betarce", confidence=0.95)
    axes = figure.axes
    assert len(axes) == 18
    assert figure.get_figwidth() == 7
    assert figure.get_figheight() < 9
    panels = [(data, space) for data in SIX for space in SPACES]
    for ax, (data, space) in zip(axes, panels, strict=True):
        here = full[full["data"].eq(data) & full["space"].eq(space)]
        own = here[here["method"].eq("betarce")]
        for value in ("robustness", "lower_bound", "upper_bound"):
            line = lines_by_label(ax)[value]
            np.testing.assert_array_equal(line.get_xdata(), own["delta"])
            np.testing.assert_array_equal(line.get_ydata(), own[value])
        for base in ("growing-spheres", "dice"):
            level = here.loc[here["method"].eq(base), "robustness"].item()
            assert set(lines_by_label(ax)[base].get_ydata()) == {level}
        assert len(ax.collections) == 3, "one band a line"
        diagonal = [line for line in ax.get_lines() if line.get_linestyle() == ":"]
        np.testing.assert_array_equal(diagonal[0].get_xdata(), diagonal[0].get_ydata())
    assert [ax.get_title("left") for ax in axes[:3]] == list(SPACES)
    assert [ax.get_ylabel() for ax in axes[::3]] == ["HELOC", "wine", "diabetes", "breast cancer", "car", "rice"]
    assert {ax.get_xlabel() for ax in axes[-3:]} == {"delta"}
    assert legend_texts(figure) == [
        *("measured robustness", "lower bound", "upper bound", "delta asked for"),
        *("Growing Spheres alone", "DiCE alone"),
    ]


@pytest.mark.slow
def test_a_panel_says_how_many_rows_have_no_answer(full):
    figure = draw_bounds(full, "betarce", confidence=0.95)
    own = full[full["method"].eq("betarce") & full["data"].eq("heloc") & full["space"].eq("seed")]
    share = int(100 * own["answers"].sum() / own["rows"].sum())
    assert share < 100
    assert f"{share} % answered" in [text.get_text() for text in figure.axes[0].texts]


@pytest.mark.slow
@pytest.mark.parametrize("width", ["full", "one panel"])
def test_all_words_can_be_read(full, width):
    frame = full if width == "full" else full[full["data"].eq("car") & full["space"].eq("seed")]
    assert_legible(draw_bounds(frame, "betarce", confidence=0.95))
    assert_legible(draw_both_bounds(frame, confidence=0.95))


@pytest.mark.slow
def test_both_forms_are_drawn_in_colours_of_their_own(full):
    figure = draw_both_bounds(full, confidence=0.95)
    ax = figure.axes[0]
    here = full[full["data"].eq("heloc") & full["space"].eq("seed")]
    for method in ("betarce", "betarce-paper"):
        own = here[here["method"].eq(method)]
        np.testing.assert_array_equal(lines_by_label(ax)[method].get_ydata(), own["robustness"])
        bound = lines_by_label(ax)[f"{method} lower bound"]
        np.testing.assert_array_equal(bound.get_ydata(), own["lower_bound"])
        assert bound.get_color() == lines_by_label(ax)[method].get_color()
    assert lines_by_label(ax)["betarce"].get_color() != lines_by_label(ax)["betarce-paper"].get_color()
    assert legend_texts(figure)[:2] == ["measured, paper's", "measured, ours"]


@pytest.mark.slow
def test_a_panel_without_records_says_so_and_a_single_panel_fits_a_column():
    places = list(zip(SIX[:3], SPACES, strict=True))
    lines = [record(delta=delta, data=data, space=space) for delta in (0.8, 0.9) for data, space in places]
    frame = bounds_frame(pd.DataFrame(lines), family="network", base="growing-spheres")
    figure = draw_bounds(frame, "betarce", confidence=0.95)
    assert len(figure.axes) == 9
    assert [text.get_text() for text in figure.axes[1].texts] == ["no records"]
    assert legend_texts(figure)[-1] == "delta asked for", "no base method ran alone"
    alone = draw_bounds(frame[frame["data"].eq("heloc")], "betarce", confidence=0.95)
    assert len(alone.axes) == 1
    assert alone.get_figwidth() == pytest.approx(3.4)
