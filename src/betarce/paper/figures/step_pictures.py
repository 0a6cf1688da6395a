"""Eight panels on two features: how a search gets from a base counterfactual to a robust one."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from betarce.arrays import BoolArray, FloatArray, IntArray
from betarce.errors import InvalidInput, require
from betarce.plotting.sheet import NORMAL, SMALL, panels
from betarce.plotting.style import BLUE, GREEN, GREY, MARKS, ORANGE

_HEIGHT = 4.6
_BAR = 0.7  # inches more for the scale of depth
_SHELLS = 5  # panels between the base and the result
_PLACES = ["x1", "x2"]
_REGION = "#E3EEF6"  # pale BLUE
# Shape and colour both tell the kinds of candidates apart.
_KINDS: dict[str, dict[str, Any]] = {
    "the model disagrees": {"marker": "x", "color": GREY, "s": 13, "lw": 0.9},
    "valid, but short of the quorum": {"marker": "^", "color": ORANGE, "s": 13, "lw": 0},
    "robust: quorum reached": {"marker": "o", "color": GREEN, "s": 15, "lw": 0},
}
_WALK: dict[str, dict[str, Any]] = {
    "passed": {"marker": "o", "color": GREEN, "s": 16, "lw": 0, "zorder": 3},
    "missed": {"marker": "X", "color": ORANGE, "s": 26, "lw": 0, "zorder": 6},
    "not asked": {"marker": "o", "color": GREY, "s": 9, "lw": 0, "zorder": 3},
}


@dataclass(frozen=True, eq=False)
class Scene:
    """What all panels show: data, the model, its members, and the row that is explained.

    Attributes
    ----------
    points : array of shape (n, 2)
    in_target : array of bool, shape (n,)
        Which of them have the target class.
    xs, ys : arrays of shape (w,), (h,)
        The grid of the next two.
    margins : array of shape (h, w)
        The model's margin for the target: positive where it gives that class.
    n_agree : array of int, shape (h, w)
        Members that give the target class.
    n_models, quorum : int
    original, base : arrays of shape (2,)
    scale : array of shape (2,)
        The features' ranges, in which radii are measured.
    """

    points: FloatArray
    in_target: BoolArray
    xs: FloatArray
    ys: FloatArray
    margins: FloatArray
    n_agree: IntArray
    n_models: int
    quorum: int
    original: FloatArray
    base: FloatArray
    scale: FloatArray

    def __post_init__(self) -> None:
        if self.points.shape[1:] != (2,):
            raise InvalidInput(f"A step-by-step picture shows two features; got points of shape {self.points.shape}.")
        for name in ("margins", "n_agree"):
            if (shape := getattr(self, name).shape) != (len(self.ys), len(self.xs)):
                raise InvalidInput(f"`{name}` must have shape {(len(self.ys), len(self.xs))}; got {shape}.")


def candidate_kinds(hits: BoolArray, valid: BoolArray) -> list[str]:
    """Name what each candidate is: in no target class, in it without a quorum, or robust.

    Examples
    --------
    >>> candidate_kinds(np.array([True, False]), np.array([True, True]))
    ['robust: quorum reached', 'valid, but short of the quorum']
    """
    disagrees, short, robust = _KINDS
    return [robust if hit else short if own else disagrees for hit, own in zip(hits, valid, strict=True)]


def shown_shells(shells: pd.DataFrame, most: int = _SHELLS) -> pd.DataFrame:
    """Pick the shells that fit: all, or the first two and the last ones."""
    return shells if len(shells) <= most else pd.concat([shells.head(2), shells.tail(most - 2)])


def draw_shells(scene: Scene, candidates: pd.DataFrame, shells: pd.DataFrame, robust: FloatArray) -> Any:
    """Draw Growing Spheres in eight panels; gives the figure.

    Parameters
    ----------
    scene : Scene
    candidates : DataFrame
        From `RecordedPredicate.frame`, with "kind" from `candidate_kinds`.
    shells : DataFrame
        From `shells_frame`.
    robust : array of shape (2,)
        What the search gave.
    """
    figure, axes = panels(2, 4, _HEIGHT)
    away = np.abs((robust - scene.base) / scene.scale).max()
    view = scene.base, 1.1 * max(float(shells["outer"].max()), float(away))
    _opening(axes, scene)
    shown = shown_shells(shells)
    shell: Any
    for ax, shell in zip(axes[2:7], shown.itertuples(), strict=False):
        _ground(ax, scene, view=view)
        _ring(ax, scene, shell.inner, shell.outer)
        own = candidates[candidates["step"] == shell.step]
        for kind, look in _KINDS.items():
            ax.scatter(*own.loc[own["kind"] == kind, _PLACES].to_numpy().T, zorder=4, **look)
        _mark(ax, base=scene.base)
        what = "ball" if shell.inner == 0 else "shell"
        verdict = {"halve": "halve", "grow": "grow", "found": "take the closest"}[shell.then]
        _title(ax, f"{what} {shell.step}: {shell.n_hits} of {shell.n_candidates} robust\n→ {verdict}")
    for ax in axes[2 + len(shown) : 7]:
        ax.set_axis_off()
    _ground(axes[7], scene, view=view)
    for shell in shells.tail(1).itertuples():
        _ring(axes[7], scene, shell.inner, shell.outer)
    _way(axes[7], np.array([scene.base, robust]))
    _mark(axes[7], base=scene.base, robust=robust)
    _title(axes[7], f"result, {_distance(scene, robust):.2f} from the base\n(L2, in ranges)")
    _letters(axes)
    _legend(figure, scene, _KINDS)
    return figure


def draw_ladder(scene: Scene, climb: pd.DataFrame, path: pd.DataFrame, ladder: pd.DataFrame, quorum: int) -> Any:
    """Draw the frontier search and the certifying walk in eight panels; gives the figure.

    Parameters
    ----------
    scene : Scene
    climb : DataFrame
        From `climb_frame`.
    path : DataFrame
        From `path_frame`.
    ladder : DataFrame
        From `ladder_frame`.
    quorum : int
        Of the certifying members.
    """
    figure, axes = panels(2, 4, _HEIGHT + _BAR)
    shown = np.vstack([scene.base, path[_PLACES], ladder[_PLACES]])
    low, high = shown.min(axis=0), shown.max(axis=0)
    view = (low + high) / 2, 0.7 * float(((high - low) / scene.scale).max())
    maps = [*axes[2:6], axes[7]]
    for ax in maps:
        _ground(ax, scene, view=view)
    _opening(axes, scene)
    moves, placed, refined = (climb[climb["phase"] == phase] for phase in ("move", "place", "refine"))

    axes[2].scatter(moves["x1"], moves["x2"], s=6, color=ORANGE, lw=0, zorder=2)
    _way(axes[2], path[_PLACES].to_numpy(), color="black")
    _title(axes[2], f"climb: {len(moves)} moves tried,\n{len(path) - 1} taken")

    _way(axes[3], path[_PLACES].to_numpy(), color=GREY)
    _by_depth(axes[3], placed[_PLACES], placed["depth"], ladder)
    _title(axes[3], "rungs tried on the way,\nby depth")

    _by_depth(axes[4], refined[_PLACES], refined["depth"], ladder, alpha=0.6)
    _title(axes[4], f"rungs moved closer:\n{len(refined)} points tried")

    colored = _by_depth(axes[5], ladder[_PLACES], ladder["level"], ladder, line=True)
    _title(axes[5], f"ladder: the closest point\nof each of {len(ladder)} levels")
    bar = figure.colorbar(
        colored, ax=list(axes[4:]), location="bottom", shrink=0.35, pad=0.02, aspect=30, anchor=(0.08, 1)
    )
    bar.ax.tick_params(labelsize=SMALL, length=2)
    bar.set_label("depth (d, e, f)", fontsize=SMALL, labelpad=1)

    _votes(axes[6], ladder, quorum)

    for walk, look in _WALK.items():
        axes[7].scatter(*ladder.loc[ladder["walk"] == walk, _PLACES].to_numpy().T, **look)
    chosen = ladder.loc[ladder["chosen"], _PLACES].to_numpy()
    words = "no rung passes\n"
    if len(chosen):
        _mark(axes[7], robust=chosen[0])
        words = f"result, {_distance(scene, chosen[0]):.2f} from the base\n(L2, in ranges)"
    _title(axes[7], words)
    for ax in maps:
        _mark(ax, base=scene.base)
    _letters(axes)
    _legend(figure, scene, {f"rung: {walk}": look for walk, look in _WALK.items()})
    return figure


def _opening(axes: Any, scene: Scene) -> None:
    """Draw the two panels that both searches begin with."""
    _ground(axes[0], scene, members=False)
    for target, look in ((False, {"marker": "_", "color": "black"}), (True, {"marker": "+", "color": BLUE})):
        axes[0].scatter(*scene.points[scene.in_target == target].T, s=9, lw=0.8, zorder=2, **look)
    _title(axes[0], "data and model:\n+ is the target class")
    _ground(axes[1], scene)
    _way(axes[1], np.array([scene.original, scene.base]), color="black")
    _mark(axes[1], original=scene.original, base=scene.base)
    _title(axes[1], "base counterfactual; where\na quorum of members agrees")


def _ground(ax: Any, scene: Scene, *, view: tuple[FloatArray, float] | None = None, members: bool = True) -> None:
    """Shade where the model gives the target class, and draw the edge of where a quorum of members does."""
    ax.contourf(scene.xs, scene.ys, scene.margins, levels=[0, np.inf], colors=[_REGION], zorder=0)
    ax.contour(scene.xs, scene.ys, scene.margins, levels=[0], colors=["black"], linewidths=0.8, zorder=1)
    if members:
        edge = scene.quorum - 0.5
        ax.contour(
            scene.xs, scene.ys, scene.n_agree, levels=[edge], colors=[GREEN], linewidths=1, linestyles="--", zorder=1
        )
    if view is None:
        ax.set(xlim=(scene.xs[0], scene.xs[-1]), ylim=(scene.ys[0], scene.ys[-1]))
    else:
        center, half = view
        (left, bottom), (right, top) = center - half * scene.scale, center + half * scene.scale
        ax.set(xlim=(left, right), ylim=(bottom, top))
    ax.set_box_aspect(1)
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_linewidth(0.5)


def _ring(ax: Any, scene: Scene, inner: float, outer: float) -> None:
    patches = require("matplotlib.patches", extra="plot", purpose="A figure")
    look = {"fill": False, "ec": BLUE, "lw": 1.0, "zorder": 2}
    for radius in (inner, outer):
        if radius > 0:
            ax.add_patch(patches.Ellipse(tuple(scene.base), *(2 * radius * scene.scale), **look))


def _by_depth(
    ax: Any, points: pd.DataFrame, depth: "pd.Series[float]", ladder: pd.DataFrame, *, line: bool = False, **look: Any
) -> Any:
    levels = ladder["level"].to_numpy()[np.isfinite(ladder["level"])]
    if line:
        ax.plot(points["x1"], points["x2"], color="black", lw=0.5, zorder=2)
    values = np.maximum(depth.to_numpy(), levels.min() if len(levels) else 0)
    limits = {"vmin": levels.min() if len(levels) else 0, "vmax": levels.max() if len(levels) else 1}
    return ax.scatter(points["x1"], points["x2"], c=values, cmap="viridis_r", s=12, lw=0, zorder=3, **limits, **look)


def _votes(ax: Any, ladder: pd.DataFrame, quorum: int) -> None:
    """Draw the walk as votes by rung, safest first."""
    for walk, look in _WALK.items():
        own = ladder[ladder["walk"] == walk]
        ax.scatter(own["rung"], own["n_agree"], **look)
    chosen = ladder[ladder["chosen"]]
    ax.plot(chosen["rung"], chosen["n_agree"], ls="", zorder=4, **_small("robust"))
    ax.axhline(quorum, color=GREEN, lw=1, ls="--", zorder=1)
    ax.set_box_aspect(1)
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=SMALL, length=2)
    ax.set_xlabel("rung, safest first", fontsize=SMALL, labelpad=1)
    ax.yaxis.get_major_locator().set_params(integer=True)
    ax.set_ylim(ladder["n_agree"].min() - 0.7, max(ladder["n_agree"].max(), quorum) + 0.7)
    _title(ax, f"certifying votes: stop at\nthe first below {quorum}")


def _way(ax: Any, points: FloatArray, color: str = GREEN) -> None:
    ax.plot(*points.T, color=color, lw=1, marker=".", ms=3, zorder=2.5)


def _mark(ax: Any, **points: FloatArray) -> None:
    for name, point in points.items():
        ax.plot(*point, ls="", zorder=5, **_small(name))


def _small(name: str) -> dict[str, Any]:
    look = MARKS[name]
    return {**look, "ms": 0.65 * look["ms"], "mec": look["color"] if "mfc" in look else "black", "mew": 0.8}


def _title(ax: Any, text: str) -> None:
    ax.set_title(text, fontsize=SMALL, loc="left", pad=3, x=0.12)


def _letters(axes: Any) -> None:
    for letter, ax in zip("abcdefgh", axes, strict=True):
        ax.annotate(
            letter, (0, 1), (0, 3), xycoords="axes fraction", textcoords="offset points", weight="bold", fontsize=NORMAL
        )


def _distance(scene: Scene, point: FloatArray) -> float:
    return float(np.linalg.norm((point - scene.base) / scene.scale))


def _legend(figure: Any, scene: Scene, kinds: dict[str, dict[str, Any]]) -> None:
    lines, patches = (
        require(name, extra="plot", purpose="A figure") for name in ("matplotlib.lines", "matplotlib.patches")
    )
    handles = [
        lines.Line2D([], [], ls="", label={"robust": "result"}.get(name, name), **_small(name))
        for name in ("original", "base", "robust")
    ]
    handles += [
        patches.Patch(fc=_REGION, ec="black", lw=0.8, label="the model gives the target"),
        lines.Line2D(
            [], [], color=GREEN, lw=1, ls="--", label=f"≥ {scene.quorum} of {scene.n_models} search members agree"
        ),
    ]
    handles += [
        lines.Line2D([], [], ls="", marker=look["marker"], color=look["color"], ms=4, label=kind)
        for kind, look in kinds.items()
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=4, fontsize=SMALL, frameon=False)
