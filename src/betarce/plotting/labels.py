"""Names beside marks, placed so that none covers another."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from betarce.arrays import FloatArray
from betarce.plotting.style import GREY

_ALIGNED = {-1: ("right", "top"), 0: ("center", "center"), 1: ("left", "bottom")}
_WAYS = ((1, 0), (1, 1), (1, -1), (-1, 0), (-1, 1), (-1, -1), (0, 1), (0, -1))  # the right side first
_DISTANCES = (9, 16, 26, 38, 52)  # points
_LED = 16  # from so far on a line leads to the mark
_PAD = 1.0  # pixels


def write_labels(ax: Any, points: FloatArray, texts: Sequence[str], *, obstacles: Sequence[Any] = ()) -> None:
    """Write a name beside each mark, where there is room: close if possible, else with a line that leads to it.

    Parameters
    ----------
    ax : matplotlib axes
        With its final limits.
    points : array of shape (n, 2)
        The marks, in data coordinates.
    texts : sequence of str
    obstacles : sequence of boxes (x0, y0, x1, y1)
        In data coordinates, what no name may cover, besides the marks.
    """
    ax.figure.canvas.draw()  # the layout is known from here on
    at = ax.transData.transform(points)
    pixel = ax.figure.dpi / 72
    mark = 6 * pixel
    corners = [ax.transData.transform(np.reshape(box, (2, 2))).ravel() for box in obstacles]
    taken = [np.append(center - mark, center + mark) for center in at]
    taken += [np.append(np.minimum(box[:2], box[2:]), np.maximum(box[:2], box[2:])) for box in corners]
    room = np.ravel(ax.get_window_extent().get_points())
    for place, center, text in zip(points, at, texts, strict=True):
        label = ax.annotate(text, place, (0, 0), textcoords="offset points", fontsize=8)
        size = np.array(label.get_window_extent().size)
        (distance, way), box = _best(center, size, taken, room, pixel)
        taken.append(box)
        label.set(ha=_ALIGNED[way[0]][0], va=_ALIGNED[way[1]][1] if way[1] else "center")
        label.set_position(tuple(distance * np.array(way) / max(1.0, np.hypot(*way) * 0.8)))
        if distance >= _LED:
            ax.annotate(
                "",
                place,
                label.get_position(),
                textcoords="offset points",
                arrowprops={"arrowstyle": "-", "lw": 0.6, "color": GREY, "shrinkA": 0, "shrinkB": 4},
            )


def _best(
    center: FloatArray, size: FloatArray, taken: Sequence[FloatArray], room: FloatArray, pixel: float
) -> tuple[tuple[float, tuple[int, int]], FloatArray]:
    """Find the closest place that covers nothing, or else the one that covers least."""
    choices = []
    for distance in _DISTANCES:
        for way in _WAYS:
            start = center + pixel * distance * np.array(way) / max(1.0, np.hypot(*way) * 0.8)
            low = start + size * (np.array(way) - 1) / 2
            box = np.append(low - _PAD, low + size + _PAD)
            covered = sum(_common(box, other) for other in taken)
            outside = float(np.prod(size)) - _common(np.append(low, low + size), room)
            choices.append((covered + outside, (float(distance), way), box))
            if covered + outside < 0.5:
                return choices[-1][1:]
    least = min(range(len(choices)), key=lambda i: choices[i][0])
    return choices[least][1:]


def _common(a: FloatArray, b: FloatArray) -> float:
    """Give the area that two boxes share."""
    sides = np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2])
    return float(np.prod(np.maximum(sides, 0)))
