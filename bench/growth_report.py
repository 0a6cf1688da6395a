"""Exponents, table and picture of the growth benchmark."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from betarce.paper.tables.markdown import text_table
from betarce.plotting.sheet import SERIES, panels, save_png, tidy
from betarce.storage.files import write_whole
from pages import replace_block

DOCS = Path(__file__).parents[1] / "docs"
PAGE, POINTS, PICTURE = DOCS / "performance.md", DOCS / "results" / "growth.csv", DOCS / "figures" / "growth.png"
LAST = 3  # values that an exponent is read off


@dataclass(frozen=True)
class Point:
    """One measurement: milliseconds at a value of what grows."""

    what: str
    family: str
    value: int
    ms: float


@dataclass(frozen=True)
class Kernel:
    """What a kernel reaches, and the machine's limit, in the same unit."""

    family: str
    unit: str
    reached: float
    limit: float


def grouped(points: Sequence[Point]) -> dict[tuple[str, str], list[Point]]:
    """Give the curves, by what grows and family."""
    curves: dict[tuple[str, str], list[Point]] = {}
    for point in points:
        curves.setdefault((point.what, point.family), []).append(point)
    return curves


def exponent(curve: Sequence[Point]) -> float:
    """Give the slope of log cost over log value at the far end of a curve."""
    end = curve[-LAST:]
    return float(np.polyfit(np.log([p.value for p in end]), np.log([p.ms for p in end]), 1)[0])


def table(points: Sequence[Point]) -> str:
    """Give one line per curve: its ends, and its exponent."""
    lines = [
        (
            what,
            family,
            f"{curve[0].value:,} to {curve[-1].value:,}",
            f"{curve[0].ms:.3g}",
            f"{curve[-1].ms:.3g}",
            f"{exponent(curve):.2f}",
        )
        for (what, family), curve in sorted(grouped(points).items())
    ]
    return text_table(("what grows", "family", "from, to", "ms at first", "ms at last", "exponent"), lines)


def roofline_table(kernels: Sequence[Kernel]) -> str:
    """Give one line per kernel: what it reaches of the machine's limit."""
    lines = [(k.family, k.unit, f"{k.reached:.1f}", f"{k.limit:.1f}", f"{k.reached / k.limit:.0%}") for k in kernels]
    return text_table(("kernel", "unit", "reached", "limit of the machine", "share"), lines)


def draw(points: Sequence[Point]) -> None:
    """Draw all curves, one panel for each thing that grows."""
    whats = list(dict.fromkeys(point.what for point in points))
    families = list(dict.fromkeys(point.family for point in points))
    figure, axes = panels(2, (len(whats) + 1) // 2, 4.4)
    for ax, what in zip(axes, whats, strict=False):
        for (name, family), curve in grouped(points).items():
            if name == what:
                colour = SERIES[families.index(family)]
                ax.plot([p.value for p in curve], [p.ms for p in curve], "o-", ms=3, lw=1, color=colour, label=family)
        ax.set(xscale="log", yscale="log")
        values = sorted({p.value for p in points if p.what == what})
        ax.set_xticks(values[:: max(1, len(values) // 3)], minor=False)
        ax.xaxis.set_major_formatter(
            FuncFormatter(lambda value, _: f"{value / 1e3:g}k" if value >= 1e4 else f"{value:,.0f}")
        )
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_minor_formatter(NullFormatter())
        ax.yaxis.set_major_locator(LogLocator(subs=(1, 3)))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
        tidy(ax, xlabel=what, ylabel="ms in all" if what in ("rows", "candidates") else "ms per row")
    for ax in axes[len(whats) :]:
        ax.axis("off")
    handles, names = axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=len(names), fontsize=8, frameon=False)
    save_png(figure, PICTURE)


def write_growth(points: Sequence[Point]) -> None:
    """Store the points, draw them, and write their table into the page."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(("what", "family", "value", "ms"))
    lines.writerows((p.what, p.family, p.value, f"{p.ms:.6g}") for p in points)
    write_whole(POINTS, text.getvalue())
    draw(points)
    replace_block(PAGE, "growth", table(points))


def write_roofline(kernels: Sequence[Kernel]) -> None:
    """Write the table of kernels into the page."""
    replace_block(PAGE, "roofline", roofline_table(kernels))


def read() -> list[Point]:
    """Read the stored points."""
    with POINTS.open(newline="") as file:
        return [Point(p["what"], p["family"], int(p["value"]), float(p["ms"])) for p in csv.DictReader(file)]
