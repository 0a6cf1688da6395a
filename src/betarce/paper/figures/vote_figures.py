"""All figures and tables that need no experiment, written to a folder."""

from pathlib import Path

from betarce.paper.figures.votes import (
    beta_frame,
    compared_delta_table,
    draw_beta,
    draw_interval_width,
    draw_max_delta,
    interval_width_frame,
    max_delta_frame,
)
from betarce.paper.tables.markdown import markdown_table
from betarce.plotting.sheet import save_png
from betarce.storage.files import make_folder, write_whole


def write_vote_figures(folder: Path) -> list[Path]:
    """Write the figures as PNG, and the table of the largest delta as CSV and Markdown; say where they are."""
    folder = make_folder(folder)
    axes = {
        "beta_shapes": draw_beta(beta_frame()),
        "max_delta": draw_max_delta(max_delta_frame()),
        "interval_width": draw_interval_width(interval_width_frame()),
    }
    written = [save_png(ax.figure, folder / f"{name}.png") for name, ax in axes.items()]
    table = compared_delta_table()
    both = table["paper"].map("{:.3f}".format) + " / " + table["default"].map("{:.3f}".format)
    wide = table.assign(both=both).pivot(index="n_models", columns="confidence", values="both")
    head = (
        "# Largest delta by number of models and confidence\n\n"
        "Left of the slash the paper's table, which was made with the uniform prior and the two-sided tail; right of "
        "it the\nlargest delta under our defaults, the exact prior and the one-sided tail.\n\n"
    )
    return [
        *written,
        write_whole(folder / "delta_max.csv", table.round(6).to_csv(index=False)),
        write_whole(folder / "delta_max.md", head + markdown_table(wide) + "\n"),
    ]
