"""What votes can promise: the frames against closed forms and the paper's table, the drawings against the frames."""

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import trapezoid
from typer.testing import CliRunner

from betarce.cli import app
from betarce.errors import InvalidInput
from betarce.paper.figures.votes import (
    PAPER_CONFIDENCES,
    PAPER_MODELS,
    beta_frame,
    compared_delta_table,
    delta_table,
    draw_beta,
    draw_interval_width,
    draw_max_delta,
    interval_width_frame,
    max_delta_frame,
)
from betarce.paper.tables.markdown import markdown_table
from betarce.posterior import EXACT, max_delta
from paper_table import PAPER_ALPHAS, PAPER_TABLE

plt = pytest.importorskip("matplotlib.pyplot")


def legend_texts(ax):
    legends = [child for child in ax.get_children() if type(child).__name__ == "Legend"]
    return [text.get_text() for legend in legends for text in legend.get_texts()]


def test_the_table_has_the_papers_126_cells():
    table = delta_table()
    assert tuple(table.index) == tuple(PAPER_TABLE) == PAPER_MODELS
    assert tuple(table.columns) == PAPER_ALPHAS == PAPER_CONFIDENCES
    assert table.size == 126
    np.testing.assert_array_equal(table.round(3).to_numpy(), np.array(list(PAPER_TABLE.values())))


def test_the_compared_table_puts_the_defaults_beside_the_paper():
    both = compared_delta_table()
    assert len(both) == 126
    cell = both[(both["n_models"] == 36) & (both["confidence"] == 0.95)].iloc[0]
    assert cell["paper"].round(3) == 0.905
    assert cell["default"] == pytest.approx(float(max_delta(36, confidence=0.95, prior=EXACT)))
    assert cell["difference"] == pytest.approx(cell["default"] - cell["paper"])


def test_densities_integrate_to_one_and_leave_the_tail_below_the_bound():
    frame = beta_frame([(12, 16), (30, 32)], confidence=0.9, n_points=4000)
    for _, lines in frame.groupby("n_models"):
        rate, density = lines["rate"].to_numpy(), lines["density"].to_numpy()
        assert trapezoid(density, rate) == pytest.approx(1, abs=1e-3)
        below = rate <= lines["lower_bound"].iloc[0]
        assert trapezoid(density[below], rate[below]) == pytest.approx(0.1, abs=2e-3)


def test_the_uniform_prior_is_flat_and_promises_nothing():
    frame = beta_frame([(0, 0)], prior="uniform")
    np.testing.assert_allclose(frame["density"], 1)
    assert frame["lower_bound"].isna().all()


def test_a_prior_without_a_density_is_refused_where_nobody_agreed():
    assert len(beta_frame([(3, 4)], prior="exact"))
    with pytest.raises(InvalidInput, match=r"no density where nobody agreed; got the vote 0 of 4"):
        beta_frame([(0, 4)], prior="exact")


def test_max_delta_grows_with_models_and_falls_with_confidence():
    frame = max_delta_frame()
    for _, lines in frame.groupby(["prior", "confidence"]):
        assert (np.diff(lines["max_delta"]) > 0).all()
    wide = frame.pivot(index=["prior", "n_models"], columns="confidence", values="max_delta")
    assert (np.diff(wide.to_numpy(), axis=1) < 0).all()


def test_max_delta_of_the_exact_prior_has_its_closed_form():
    frame = max_delta_frame([5, 29], confidences=[0.95], priors=["exact"])
    np.testing.assert_allclose(frame["max_delta"], 0.05 ** (1 / np.array([5, 29])))


def test_intervals_narrow_with_models_and_widen_with_confidence_and_dissent():
    frame = interval_width_frame()
    np.testing.assert_allclose(frame["width"], frame["upper"] - frame["lower"])
    for _, lines in frame.groupby(["share", "confidence"]):
        assert (np.diff(lines["width"]) < 0).all()
    wide = frame.pivot(index=["share", "n_models"], columns="confidence", values="width")
    assert (np.diff(wide.to_numpy(), axis=1) > 0).all()
    assert (wide.loc[0.9] > wide.loc[1.0]).to_numpy().all()


def test_the_drawing_of_densities_marks_each_bound_but_none_for_the_prior():
    frame = beta_frame([(0, 0), (30, 32), (32, 32)])
    ax = draw_beta(frame)
    marked = sorted(line.get_xdata()[0] for line in ax.get_lines() if line.get_marker() == "o")
    np.testing.assert_allclose(marked, sorted(frame["lower_bound"].dropna().unique()))
    assert legend_texts(ax) == ["prior", "30 of 32: ≥ 83.7 %", "32 of 32: ≥ 94.2 %"]
    assert ax.get_xlabel() == "validity rate"
    assert ax.figure.get_size_inches()[0] == pytest.approx(3.4)


@pytest.mark.parametrize(
    ("frame", "draw", "value", "legend"),
    [
        (max_delta_frame(), draw_max_delta, "max_delta", "Jeffreys (0.5, 0.5)"),
        (interval_width_frame(), draw_interval_width, "width", "90% agree"),
    ],
    ids=["max delta", "interval width"],
)
def test_a_drawing_has_one_line_for_each_colour_and_dash(frame, draw, value, legend):
    ax = draw(frame)
    drawn = [line for line in ax.get_lines() if len(line.get_xdata())]
    keys = ["prior" if "prior" in frame else "share", "confidence"]
    expected = [lines[value].to_numpy() for _, lines in frame.groupby(keys, sort=False)]
    assert len(drawn) == len(expected)
    for line, values in zip(drawn, expected, strict=True):
        np.testing.assert_array_equal(line.get_ydata(), values)
    looks = {(line.get_color(), line.get_linestyle()) for line in drawn}
    assert len(looks) == len(drawn)
    assert legend in legend_texts(ax)
    assert "0.95" in legend_texts(ax)


@pytest.mark.parametrize("draw", [draw_beta, draw_max_delta, draw_interval_width])
def test_nothing_is_written_in_less_than_seven_points(draw):
    frames = {draw_beta: beta_frame, draw_max_delta: max_delta_frame, draw_interval_width: interval_width_frame}
    ax = draw(frames[draw]())
    ax.figure.canvas.draw()
    texts = [text for text in ax.findobj(plt.Text) if text.get_text()]
    assert texts
    assert min(text.get_fontsize() for text in texts) >= 7


def test_drawings_use_the_axes_they_are_given():
    _, ax = plt.subplots()
    assert draw_max_delta(max_delta_frame([1, 2, 4]), ax) is ax


def test_a_markdown_table_escapes_bars():
    frame = pd.DataFrame({"a|b": [0.12345], "n": ["x|y"]}, index=pd.Index([1], name="k"))
    assert markdown_table(frame, digits=2).splitlines()[2] == r"| 1 | 0.12 | x\|y |"


@pytest.mark.slow
def test_the_command_writes_small_figures_and_the_table(tmp_path):
    result = CliRunner().invoke(app, ["figures", "--out", str(tmp_path / "new")])
    assert result.exit_code == 0, result.output
    sizes = {path.name: path.stat().st_size for path in (tmp_path / "new").iterdir()}
    assert set(sizes) == {"beta_shapes.png", "max_delta.png", "interval_width.png", "delta_max.csv", "delta_max.md"}
    assert all(1000 < size < 150_000 for size in sizes.values())
    table = pd.read_csv(tmp_path / "new" / "delta_max.csv")
    np.testing.assert_array_equal(table["paper"].round(3), np.array(list(PAPER_TABLE.values())).ravel())
    assert "| 36 | 0.950 / " in (tmp_path / "new" / "delta_max.md").read_text()


def test_the_command_refuses_a_file_as_folder(tmp_path):
    (tmp_path / "taken").write_text("mine")
    result = CliRunner().invoke(app, ["figures", "--out", str(tmp_path / "taken")])
    assert result.exit_code == 2
    assert "must be a folder" in result.output
    assert (tmp_path / "taken").read_text() == "mine"
