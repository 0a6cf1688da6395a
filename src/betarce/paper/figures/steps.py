"""What a search did, step by step: recorders to hand to the public searches, and frames of what they saw."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from betarce.arrays import BoolArray, FloatArray, IntArray
from betarce.errors import InvalidInput
from betarce.robustify.certify import rungs_passed
from betarce.search import Depth, Ladders, Predicate


class RecordedPredicate:
    """A predicate that remembers every point it was asked about; pass it to `GrowingSpheresSearch.find`.

    Parameters
    ----------
    predicate : callable
        What is sought.

    Examples
    --------
    >>> recorded = RecordedPredicate(lambda points, rows: points[:, 0] > 0.5)
    >>> recorded(np.array([[0.2, 0.1], [0.7, 0.3]]), np.array([0, 0]))
    array([False,  True])
    >>> recorded.frame()
       step  row   x1   x2    hit
    0     0    0  0.2  0.1  False
    1     0    0  0.7  0.3   True
    """

    def __init__(self, predicate: Predicate) -> None:
        self._predicate = predicate
        self._batches: list[pd.DataFrame] = []

    def __call__(self, points: FloatArray, rows: IntArray) -> BoolArray:
        hits = self._predicate(points, rows)
        self._batches.append(_batch(len(self._batches), points, rows).assign(hit=np.array(hits)))
        return hits

    def frame(self) -> pd.DataFrame:
        """Give one line per point: "step" (the call; 0 asks about the centres), "row", "x1" to "xd", "hit"."""
        return _joined(self._batches)


class RecordedDepth:
    """A depth that remembers every point it was asked about; pass it to `FrontierSearch.climb`.

    Parameters
    ----------
    depth : Depth
        What is climbed.
    """

    def __init__(self, depth: Depth) -> None:
        self._depth = depth
        self._batches: list[pd.DataFrame] = []

    def __call__(self, points: FloatArray, rows: IntArray) -> tuple[FloatArray, BoolArray]:
        depth, valid = self._depth(points, rows)
        batch = _batch(len(self._batches), points, rows)
        self._batches.append(batch.assign(asked="depth", depth=np.array(depth), valid=np.array(valid)))
        return depth, valid

    def slopes(self, points: FloatArray, rows: IntArray) -> FloatArray | None:
        """Pass on the slopes, and remember where they were asked for."""
        batch = _batch(len(self._batches), points, rows)
        self._batches.append(batch.assign(asked="slopes", depth=np.nan, valid=False))
        return self._depth.slopes(points, rows)

    def frame(self) -> pd.DataFrame:
        """Give one line per point: "step" (the call), "row", "x1" to "xd", "asked" ("depth", "slopes"), the answer."""
        return _joined(self._batches)


def shells_frame(record: pd.DataFrame, *, initial_radius: float, row: int = 0) -> pd.DataFrame:
    """Say from which ball or shell each step of Growing Spheres drew, and what came of it.

    Parameters
    ----------
    record : DataFrame
        From `RecordedPredicate.frame`.
    initial_radius : float
        That of the search.
    row : int

    Returns
    -------
    DataFrame
        One line per step: "step", "inner" and "outer" radius in units of the features' ranges, "n_candidates", "n_hits"
        and "then": "halve", "grow" or "found". Without lines if the centre itself was what was sought.

    Notes
    -----
    The paper's Algorithm 2: while a ball holds a hit its radius is halved; then shells of the last radius grow outward
    until one holds a hit.
    """
    own = record[record["row"] == row]
    batches = [batch for _, batch in own.groupby("step")][1:]  # the first asks about the centre alone
    inner, outer, width, halving = 0.0, initial_radius, initial_radius, True
    lines = []
    for batch in batches:
        n_hits = int(batch["hit"].sum())
        then = "grow" if not n_hits else "halve" if halving else "found"
        lines.append([batch["step"].iloc[0], inner, outer, len(batch), n_hits, then])
        if then == "halve":
            width /= 2
            outer = width
        else:
            halving = False
            inner, outer = outer, outer + width
    return pd.DataFrame(lines, columns=["step", "inner", "outer", "n_candidates", "n_hits", "then"])


def climb_frame(record: pd.DataFrame, *, row: int = 0, calls_a_move: int = 1) -> pd.DataFrame:
    """Say what each point of a frontier search was asked for.

    Parameters
    ----------
    record : DataFrame
        From `RecordedDepth.frame`, of a search without anchors.
    row : int
    calls_a_move : int
        Calls in which the search tries the moves of one climb: along single features, then, unless its norm is "l1",
        along several at once.

    Returns
    -------
    DataFrame
        The row's lines of `record` with "phase": "base", "stand" (the climb stood here and looked for the next move),
        "move" (a move that was tried), "place" (a rung that was tried on the way), "refine" (closer to the base, then
        between two rungs).

    Notes
    -----
    The climb asks for slopes at one point per row, the refinement at many: that is how they are told apart.
    """
    own = record[record["row"] == row]
    phases: dict[Any, str] = {}
    phase, left = "base", 1
    for step, batch in own.groupby("step"):
        if batch["asked"].iloc[0] == "slopes":
            climbing = len(batch) == 1 and phase != "refine"
            phase, left = ("move", calls_a_move) if climbing else ("refine", -1)
            phases[step] = "stand" if climbing else "slopes"
            continue
        if left == 0:
            phase = "place"
        phases[step] = phase
        left -= 1
    named = own.assign(phase=own["step"].map(phases))
    return named[named["phase"] != "slopes"].drop(columns="asked").reset_index(drop=True)


def path_frame(climb: pd.DataFrame) -> pd.DataFrame:
    """Give the places where a climb stood, base first and deepest last, with their depth.

    Parameters
    ----------
    climb : DataFrame
        From `climb_frame`.

    Returns
    -------
    DataFrame
        One line a place: "x1" to "xd", "depth".

    Notes
    -----
    A climb that is deep enough asks for no further slopes, so its end is read off the rungs: it is the shortest of the
    last moves on whose way most of them were tried.
    """
    places = _coordinates(climb)
    asked = climb[climb["depth"].notna()].drop_duplicates(places)
    stood = climb.loc[climb["phase"] == "stand", [*places, "step"]]
    path = stood.merge(asked[[*places, "depth"]], on=places, how="left")
    moves = climb[(climb["phase"] == "move") & (climb["step"] > stood["step"].max())]
    if len(path) and len(moves):
        start, ends = path[places].iloc[-1].to_numpy(), moves[places].to_numpy()
        n_rungs = _on_the_way(start, ends, climb.loc[climb["phase"] == "place", places].to_numpy())
        shortest_first = np.lexsort([np.linalg.norm(ends - start, axis=1), -n_rungs])
        if n_rungs.max():
            path = pd.concat([path, moves.iloc[shortest_first[:1]]])
    return path[[*places, "depth"]].reset_index(drop=True)


def _on_the_way(start: FloatArray, ends: FloatArray, points: FloatArray) -> IntArray:
    """Count the points on the straight way to each end."""
    ways, offsets = ends - start, points - start
    shares = offsets @ ways.T / np.maximum(np.square(ways).sum(axis=1), 1e-300)
    gaps = np.abs(offsets[:, None] - shares[..., None] * ways).max(axis=2)
    return np.asarray(((gaps < 1e-9) & (shares > 0) & (shares < 1)).sum(axis=0))


def ladder_frame(ladders: Ladders, n_agree: Sequence[int] | IntArray, *, quorum: int, row: int = 0) -> pd.DataFrame:
    """Say how the certifying walk went down one ladder.

    Parameters
    ----------
    ladders : Ladders
        From `FrontierSearch.climb`.
    n_agree : sequence of int
        Certifying members that agree at each rung that exists, safest first.
    quorum : int
        How many must.
    row : int

    Returns
    -------
    DataFrame
        One line per rung, safest first: "rung", "level" (the depth it has at least), "x1" to "xd", "n_agree", "walk"
        ("passed", "missed", or "not asked" below the first miss) and "chosen".
    """
    exists = ladders.exists[row]
    points, votes = ladders.points[row, exists], np.asarray(n_agree)
    if len(votes) != len(points):
        raise InvalidInput(f"`n_agree` must have one count for each of the {len(points)} rungs; got {len(votes)}.")
    passed = rungs_passed(votes, quorum)
    place = np.arange(len(points))
    frame = pd.DataFrame({"rung": place, "level": ladders.levels[row, exists]})
    return frame.assign(
        **_named(points),
        n_agree=votes,
        walk=np.select([place < passed, place == passed], ["passed", "missed"], "not asked"),
        chosen=place == passed - 1,
    )


def _batch(step: int, points: FloatArray, rows: IntArray) -> pd.DataFrame:
    return pd.DataFrame({"step": step, "row": np.array(rows), **_named(np.array(points))})


def _named(points: FloatArray) -> dict[str, FloatArray]:
    return {f"x{j + 1}": values for j, values in enumerate(points.T)}


def _coordinates(frame: pd.DataFrame) -> list[str]:
    return [name for name in frame.columns if name[0] == "x" and name[1:].isdigit()]


def _joined(batches: list[pd.DataFrame]) -> pd.DataFrame:
    if not batches:
        raise InvalidInput("Nothing was recorded yet. Pass the recorder to a search first.")
    return pd.concat(batches, ignore_index=True)
