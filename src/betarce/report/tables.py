"""Frames as Markdown."""

import pandas as pd


def markdown_table(frame: pd.DataFrame, *, digits: int = 3) -> str:
    """Write a frame as a Markdown table, its index first; floats get so many digits, and what is missing a dash.

    Examples
    --------
    >>> print(markdown_table(pd.DataFrame({"delta": [0.5, float("nan")]}, index=pd.Index([1, 2], name="n_models"))))
    | n_models | delta |
    |---:|---:|
    | 1 | 0.500 |
    | 2 | - |
    """

    def written(value: object) -> str:
        if isinstance(value, float):
            return "-" if value != value else f"{value:.{digits}f}"
        return str(value).replace("|", r"\|")

    head = [str(frame.index.name or ""), *map(str, frame.columns)]
    lines = [[str(name), *map(written, row)] for name, row in zip(frame.index, frame.to_numpy(object), strict=True)]
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, *lines]).replace(
        "\n", "\n" + "|" + "---:|" * len(head) + "\n", 1
    )
