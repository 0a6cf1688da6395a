"""What `explain` hands out: the answers for a batch of rows, as a sequence and as a table."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, get_args, overload

import numpy as np
import pandas as pd

from betarce.arrays import BoolArray, IntArray
from betarce.errors import InvalidInput
from betarce.features import FeatureSpace
from betarce.results.counterfactual import RobustCounterfactual, Which
from betarce.results.files import from_json, load, to_json
from betarce.results.frames import as_pandas, changes, whole_frame
from betarce.results.html import result_html
from betarce.results.page.document import write_page
from betarce.results.plots import draw_votes
from betarce.results.summary import By, by_feature, by_measure
from betarce.storage.files import write_whole


class Result(Sequence[RobustCounterfactual]):
    """Robust counterfactuals for a batch of rows, in their order.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.linear_model import LogisticRegression
    >>> from betarce import BetaRCE
    >>> X, y = make_moons(80, noise=0.2, random_state=0)
    >>> rce = BetaRCE(LogisticRegression(), delta=0.8, confidence=0.9, n_models=(6, 18), random_state=0).fit(X, y)
    >>> result = rce.explain(X[y == 0][:3], target=1)
    >>> result
    Result(3 rows: 3 certified)
    >>> len(result), result[0].status
    (3, 'certified')
    >>> list(result.changes().columns)
    ['row', 'feature', 'from', 'base', 'to']
    """

    def __init__(
        self,
        items: Sequence[RobustCounterfactual],
        features: FeatureSpace,
        made_with: Mapping[str, str | int] | None = None,
    ) -> None:
        given: list[Any] = list(items) if isinstance(items, Iterable) else [items]
        if not all(isinstance(item, RobustCounterfactual) for item in given):
            raise InvalidInput(f"`items` must be a list of RobustCounterfactual, as a result holds; got {items!r}.")
        self._items: list[RobustCounterfactual] = given
        self._features = features
        self._made_with = dict(made_with or {})

    @overload
    def __getitem__(self, i: int) -> RobustCounterfactual: ...

    @overload
    def __getitem__(self, i: slice) -> "Result": ...

    def __getitem__(self, i: int | slice) -> "RobustCounterfactual | Result":
        if isinstance(i, slice):
            return Result(self._items[i], self._features, self._made_with)
        if not hasattr(i, "__index__"):
            raise InvalidInput(f"The rows of a result are found by their place, from 0 to {len(self) - 1}; got {i!r}.")
        return self._items[i]

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[RobustCounterfactual]:
        return iter(self._items)

    def __repr__(self) -> str:
        counts = Counter(item.status for item in self)
        return f"Result({len(self)} rows: {', '.join(f'{n} {status}' for status, n in counts.most_common())})"

    @property
    def features(self) -> FeatureSpace:
        """How points become rows of the user's table."""
        return self._features

    @property
    def made_with(self) -> Mapping[str, str | int]:
        """What it was made with: model, space, numbers of members, versions; empty for a result made by hand."""
        return dict(self._made_with)

    @property
    def index(self) -> "pd.Index[Any]":  # type: ignore[override]  # as of a table: a position is no use here
        """What the rows are called, as in the table that was explained; the index of `to_frame`, too."""
        return pd.Index([item.name for item in self])

    @property
    def row_names(self) -> "pd.Index[Any]":
        """What the rows are called: the same as `index`."""
        return self.index

    @property
    def certified(self) -> BoolArray:
        """Which rows have a certified point."""
        return np.array([item.status == "certified" for item in self])

    @property
    def robust(self) -> Any:
        """The certified points as a table of the user's own kind and dtypes; rows without one are left out."""
        return self._table("robust", np.flatnonzero(self.certified))

    @property
    def base(self) -> Any:
        """The base counterfactuals, in the form of `robust`: what rows would be told without this package."""
        return self._table("base", np.flatnonzero([item.points["base"] is not None for item in self]))

    def points(self, which: Which) -> pd.DataFrame:
        """Give the originals, bases or robust points, one line per row; missing ones are blank."""
        if not isinstance(which, str) or which not in get_args(Which):
            raise InvalidInput(f"`which` must be 'original', 'base' or 'robust'; got {which!r}.")
        rows = np.flatnonzero([item.points[which] is not None for item in self])
        frame = as_pandas(self._table(which, rows), self._features).set_axis(rows)
        return frame.reindex(range(len(self))).set_axis(self.row_names)

    def _table(self, which: Which, rows: IntArray) -> Any:
        points = [self._items[i].points[which] for i in rows]
        stacked = np.array(points, dtype=float).reshape(len(rows), len(self._features))
        return self._features.decode(stacked, self.row_names[rows])

    def changes(self) -> pd.DataFrame:
        """Show what to change in every row, in original units.

        Returns
        -------
        DataFrame
            One line for each row and feature that differs: "row", "feature", "from", "base", "to".
        """
        return changes(self._items)

    def summary(self, by: By = "measure") -> pd.DataFrame:
        """Sum the batch up in a small table.

        Parameters
        ----------
        by : {"measure", "feature"}
            "measure": how many rows have which status, and what the answers are like. "feature": which features change
            most often.

        Returns
        -------
        DataFrame
            By measure, one line each for all rows, for every status met, and for every measure: "rows" (that are so,
            or that have it), "median", "mean", "min" and "max". Distances (L1, in ranges of the features), features
            changed and lower bound are those of the certified rows; evaluations and ms (milliseconds) are per row.

            By feature, one line per feature that changes in some certified row, the most frequent first: "rows",
            "share" (of the certified rows), "up" and "down" (rows in which it grows or falls; blank for names without
            an order), "median_change" (in ranges, where it changes; 1 for another name).

        Examples
        --------
        >>> from sklearn.linear_model import LogisticRegression
        >>> from betarce import BetaRCE
        >>> X = pd.DataFrame({"debt": np.arange(200) * 100, "age": np.arange(200) * 7 % 60})
        >>> y = np.arange(200) < 100
        >>> rce = BetaRCE(LogisticRegression(), base=None, delta=0.8, random_state=0, verbose=-1).fit(X, y)
        >>> result = rce.explain(X[150:153])
        >>> result.summary().loc[["all", "certified", "features_changed"], ["rows", "median", "max"]]
                          rows  median  max
        all                  3     NaN  NaN
        certified            3     NaN  NaN
        features_changed     3     1.0  1.0
        >>> result.summary(by="feature")[["rows", "share", "up", "down"]]
                 rows  share  up  down
        feature
        debt        3    1.0   0     3
        """
        if not isinstance(by, str) or by not in get_args(By):
            raise InvalidInput(f"`by` must be 'measure' or 'feature'; got {by!r}.")
        return by_measure(self._items) if by == "measure" else by_feature(self._items, self._features)

    def plot_votes(self, ax: Any = None) -> Any:
        """Draw who voted how: one line per row, one cell per member that certifies, the outcome in words at the right.

        A column is a member: one that dissents on many rows shows. The first 40 rows are drawn; for the next,
        ``result[40:80].plot_votes()``.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; new ones of a fitting size by default.

        Returns
        -------
        matplotlib axes
        """
        return draw_votes(self._items, ax)

    def _repr_html_(self) -> str:
        return result_html(self._items)

    def to_frame(self) -> pd.DataFrame:
        """Put everything in one table: original, base and robust side by side, then the item.

        Returns
        -------
        DataFrame
            One line per row, columns in two levels (or more, if those of the table have several): "original", "base",
            "robust" by feature, and "result".
        """
        return whole_frame({which: self.points(which) for which in get_args(Which)}, self._items)

    def to_html(
        self,
        path: str | os.PathLike[str],
        *,
        title: str | None = None,
        texts: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    ) -> None:
        """Write a page for people to one HTML file: what each row has to change, how sure that is, and what it costs.

        The file needs no connection and loads nothing; it can be mailed, printed (one row per sheet) and archived. It
        holds the rows, so it is as confidential as the table.

        Parameters
        ----------
        path : str or path
            What is there already is replaced.
        title : str, optional
            What the page is called.
        texts : mapping or path of a JSON file, optional
            A translation of the page; English by default. See `docs/page.md`.
        """
        write_page(self, path, title=title, texts=texts)

    def to_json(self) -> str:
        """Write everything as strict JSON that people can read; see `save`."""
        return to_json(self._items, self._features, self._made_with)

    @classmethod
    def from_json(cls, text: str) -> "Result":
        """Read what `to_json` wrote; see `load`."""
        if not isinstance(text, str):
            raise InvalidInput(f"`text` must be the JSON of a result, as text; got {type(text).__name__}.")
        return cls(*from_json(text))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a JSON file, whole or not at all.

        Each row is there in original units (column and value), with its certificate, its votes and its exact point. Row
        names may be text, numbers, truth values, dates, timestamps, and tuples of them.

        Parameters
        ----------
        path : str or path
            What is there already is replaced.
        """
        write_whole(path, self.to_json())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Result":
        """Read what `save` wrote: the same values, dtypes, row names and certificates.

        What is loaded is a result that `explain` could have written: a digest finds damage and careless edits, and
        certificates, votes, distances, dtypes and rules are computed again and compared. There is no secret in it, so
        it does not prove who wrote the file.

        Raises
        ------
        CorruptFile
            If the file is damaged, something else, contradicts itself, or was written by another version's format.
        """
        return cls(*load(path))
