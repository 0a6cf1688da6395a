"""One column in every storage that pandas and polars have for it."""

import importlib.util

import numpy as np
import pandas as pd

HAS_ARROW = importlib.util.find_spec("pyarrow") is not None
HAS_STR = pd.__version__ >= "3"  # before, text was an object unless asked for otherwise


def _arrow(name):
    import pyarrow

    return pd.ArrowDtype(getattr(pyarrow, name)())


TEXT = {
    "object": lambda values: pd.Series(values, dtype=object),
    "string[python]": lambda values: pd.Series(values, dtype="string[python]"),
    "category": lambda values: pd.Series(values, dtype=object).astype("category"),
}
NUMBERS = {
    "float64": lambda values: pd.Series(values, dtype="float64"),
    "object": lambda values: pd.Series(values, dtype=object),
    "Float64": lambda values: pd.Series(values, dtype="Float64"),
}
WHOLE = {
    "Int32": lambda values: pd.Series(values, dtype="Int32"),
    "Int64": lambda values: pd.Series(values, dtype="Int64"),
}
FLAGS = {
    "boolean": lambda values: pd.Series(values, dtype="boolean"),
    "object": lambda values: pd.Series(values, dtype=object),
}
if HAS_STR:
    TEXT["str"] = lambda values: pd.Series(values, dtype="str")  # pandas chooses the storage: Arrow where it can
    TEXT["str in python"] = lambda values: pd.Series(values, dtype=pd.StringDtype("python", na_value=np.nan))
    TEXT["category of str"] = lambda values: pd.Series(values, dtype="str").astype("category")
if HAS_ARROW:
    TEXT["string[pyarrow]"] = lambda values: pd.Series(values, dtype="string[pyarrow]")
    TEXT["text of Arrow"] = lambda values: pd.Series(values, dtype=_arrow("string"))
    TEXT["large text of Arrow"] = lambda values: pd.Series(values, dtype=_arrow("large_string"))
    TEXT["category of Arrow"] = lambda values: pd.Series(values, dtype="string[pyarrow]").astype("category")
    NUMBERS["double of Arrow"] = lambda values: pd.Series(values, dtype="double[pyarrow]")
    WHOLE["int64 of Arrow"] = lambda values: pd.Series(values, dtype="int64[pyarrow]")
    FLAGS["bool of Arrow"] = lambda values: pd.Series(values, dtype="bool[pyarrow]")
