"""What confidence and the number of models change: frames by hand, drawings against the frames."""

import numpy as np
import pandas as pd
import pytest

from betarce.paper.figures.bounds import bounds_frame
from betarce.paper.figures.sensitivity import (
    draw_confidence,
    draw_confidence_bounds,
    draw_models,
    models_frame,
    several_models,
)
from figure_checks import assert_legible, legend_texts, lines_by_label
from figure_records import made_up_records, record, unanswered

pytest.importorskip("matplotlib.pyplot")

WHERE = {"family": "network", "base": "growing-spheres"}


@pytest.fixture(scope="module")
def by_confidence():
    records = made_up_records(data=("heloc", "car"), deltas=(0.7, 0.9), confidences=(0.8, 0.9, 0.95, 0.99))
    return bounds_frame(records, family="network", base="growing-spheres")


@pytest.fixture(scope="module")
def by_models():
    parts = []
    for n_models in (20, 32, 64):
        forms = {f"betarce-{n_models}": "fresh", f"betarce-paper-{n_models}": "search"}
        parts.append(
            made_up_records(data=("heloc", "car"), spaces=("seed",), forms=forms, n_models=n_models, deltas=(0.7, 0.8))
        )
    return models_frame(pd.concat(parts).drop_duplicates(["data", "space", "method", "base", "delta", "row"]), **WHERE)


@pytest.mark.slow
def test_robustness_against_confidence_has_a_line_for_each_delta(by_confidence):
    figure = draw_confidence(by_confidence, "betarce")
    assert len(figure.axes) == 6
    own = by_confidence[by_confidence["method"].eq("betarce")]
    here = own[own["data"].eq("car") & own["space"].eq("architecture")]
    lines = lines_by_label(figure.axes[-1])
    for delta in (0.7, 0.9):
        part = here[here["delta"].eq(delta)]
        np.testing.assert_array_equal(lines[f"{delta}"].get_xdata(), [0.8, 0.9, 0.95, 0.99])
        np.testing.assert_array_equal(lines[f"{delta}"].get_ydata(), part["robustness"])
    assert lines["0.7"].get_color() != lines["0.9"].get_color()
    assert lines["0.7"].get_marker() != lines["0.9"].get_marker()
    assert legend_texts(figure) == ["delta 0.7", "delta 0.9", "delta asked for"]
    assert_legible(figure)
    assert [tick.get_text() for tick in figure.axes[-1].get_xticklabels()] == ["0.99", "0.95", "0.9", "0.8"]


@pytest.mark.slow
def test_robustness_between_its_bounds_against_confidence(by_confidence):
    figure = draw_confidence_bounds(by_confidence, "betarce", delta=0.9)
    own = by_confidence[by_confidence["method"].eq("betarce") & by_confidence["delta"].eq(0.9)]
    here = own[own["data"].eq("heloc") & own["space"].eq("seed")]
    lines = lines_by_label(figure.axes[0])
    for value in ("robustness", "lower_bound", "upper_bound"):
        np.testing.assert_array_equal(lines[value].get_ydata(), here[value])
    goal = next(line for line in figure.axes[0].get_lines() if line.get_linestyle() == ":")
    assert set(goal.get_ydata()) == {0.9}
    assert figure.axes[-1].get_xlabel() == "confidence"
    assert_legible(figure)


def test_the_frame_of_models_by_hand():
    lines = [
        record(method="small", row=0, n_models=20, lower_bound=0.8, upper_bound=0.98, distance_to_base=0.1),
        record(method="small", row=1, n_models=20, lower_bound=0.84, upper_bound=1.0, distance_to_base=0.3),
        unanswered(record(method="small", row=2)),
        record(method="large", row=0, n_models=80, lower_bound=0.85, upper_bound=0.95, distance_to_base=0.1),
        record(method="theirs", row=0, n_models=20, members="search"),
        unanswered(record(method="betarce-paper", row=0)),
    ]
    frame = models_frame(pd.DataFrame(lines), **WHERE)
    assert frame[["form", "n_models", "rows", "answers"]].to_numpy().tolist()[0] == ["betarce-paper", 20, 1, 1]
    unknown = frame[frame["n_models"].isna()]
    assert unknown[["form", "rows", "answers"]].to_numpy().tolist() == [["betarce-paper", 1, 0]]
    small = frame[frame["form"].eq("betarce") & frame["n_models"].eq(20)].iloc[0]
    assert (small["rows"], small["answers"]) == (3, 2)
    assert small["width"] == pytest.approx(0.17)
    assert small["width_sd"] == pytest.approx(0.02 / np.sqrt(2))
    assert small["distance_to_base"] == pytest.approx(0.2)
    assert several_models(frame)[["form", "n_models"]].to_numpy().tolist() == [["betarce", 20], ["betarce", 80]]


def test_numbers_of_models_that_follow_from_delta_are_not_compared():
    lines = [record(delta=0.8, n_models=20), record(delta=0.9, n_models=38)]
    assert several_models(models_frame(pd.DataFrame(lines), **WHERE)).empty


@pytest.mark.slow
def test_three_measures_against_the_number_of_models(by_models):
    figure = draw_models(by_models, confidence=0.95)
    assert len(figure.axes) == 6
    assert [ax.get_ylabel() for ax in figure.axes[::3]] == ["HELOC\nseed", "car\nseed"]
    assert [ax.get_title("left") for ax in figure.axes[:3]] == [
        "width of the interval",
        "measured robustness",
        "distance to base (L1)",
    ]
    for ax, measure in zip(figure.axes[3:], ("width", "robustness", "distance_to_base"), strict=True):
        lines = lines_by_label(ax)
        for form in ("betarce", "betarce-paper"):
            own = by_models[by_models["data"].eq("car") & by_models["form"].eq(form) & by_models["delta"].eq(0.7)]
            np.testing.assert_array_equal(lines[f"{form} 0.7"].get_xdata(), [20, 32, 64])
            np.testing.assert_array_equal(lines[f"{form} 0.7"].get_ydata(), own[measure])
        assert lines["betarce 0.7"].get_linestyle() != lines["betarce-paper 0.7"].get_linestyle()
        assert ax.get_xlabel() == "number of models"
    assert legend_texts(figure) == ["delta 0.7", "delta 0.8", "the paper's form", "our form", "delta asked for"]
    assert_legible(figure)


def test_ticks_that_would_touch_are_left_out():
    lines = [record(method=f"m{n}", n_models=n) for n in (16, 17, 18, 32, 64)]
    figure = draw_models(models_frame(pd.DataFrame(lines), **WHERE), confidence=0.95)
    assert [tick.get_text() for tick in figure.axes[0].get_xticklabels()] == ["64", "32", "18"]
    assert figure.axes[0].get_lines()[0].get_xdata().tolist() == [16, 17, 18, 32, 64]


def test_with_one_delta_the_forms_have_colours_of_their_own(by_models):
    figure = draw_models(by_models[by_models["delta"].eq(0.8)], confidence=0.95)
    lines = lines_by_label(figure.axes[0])
    assert lines["betarce 0.8"].get_color() != lines["betarce-paper 0.8"].get_color()
    assert legend_texts(figure) == ["the paper's form", "our form", "delta asked for"]
