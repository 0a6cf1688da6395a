"""A table with its labels."""

from dataclasses import dataclass, replace

import pandas as pd

from betarce.errors import InvalidInput


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A table of features with its labels and its source.

    Attributes
    ----------
    name : str
        Its name in :func:`betarce.datasets.load`.
    X : pandas.DataFrame of shape (rows, features)
        The features, in the units of the source.
    y : pandas.Series of shape (rows,)
        The class of each row, 0 or 1, on the index of `X`.
    description : str
        One sentence on what a row is and what the classes mean.
    source : str
        Where the table was published, and where this copy was read.
    synthetic : bool
        True if no row describes anything real.

    Examples
    --------
    >>> X = pd.DataFrame({"income": [30_000, 50_000, 70_000], "housing": ["rent", "own", "own"]})
    >>> data = Dataset("toy", X, pd.Series([0, 1, 1]), "Three loans; 1 = repaid.", "made up", synthetic=True)
    >>> data
    Dataset 'toy' (SYNTHETIC): 3 rows x 2 features; class 0: 1 (33 %), class 1: 2 (67 %)
    >>> list(data.numeric().X)
    ['income']
    """

    name: str
    X: pd.DataFrame
    y: pd.Series
    description: str
    source: str
    synthetic: bool = False

    def __post_init__(self) -> None:
        if not self.X.index.equals(self.y.index):
            raise InvalidInput(
                f"`y` must have the index of `X`; got {len(self.y)} labels for {len(self.X)} rows. "
                "Reset the index of both, or take `y` from the same rows."
            )

    def __repr__(self) -> str:
        label = f"{self.name!r} (SYNTHETIC)" if self.synthetic else f"{self.name!r}"
        counts = self.y.value_counts().sort_index()
        classes = ", ".join(f"class {c}: {n} ({n / len(self.y):.0%})" for c, n in counts.items())
        rows, features = self.X.shape
        return f"Dataset {label}: {rows} rows x {features} features; {classes}".replace("%", " %")

    def numeric(self) -> "Dataset":
        """Give the same rows with numeric columns only."""
        return replace(self, X=self.X.select_dtypes("number"))
