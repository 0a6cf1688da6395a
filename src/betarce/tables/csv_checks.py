"""Find what looks wrong in a CSV file, such as numbers that were read as text."""

import os
import re
import shlex
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from betarce.features.hints import DATE
from betarce.tables.csv_file import are_codes, check_column, numbers_again, read_csv

Kind = Literal[
    "empty-column",
    "no-label",
    "almost-numeric",
    "codes",
    "placeholder",
    "spelling",
    "dates",
    "identifier",
    "same",
    "gives-label-away",
]

_MOSTLY = 0.8  # of the values: then the column is meant to hold numbers
_MOST_SHOWN = 5
_LEAST_ROWS = 20  # fewer say nothing about how often values repeat
_LEAST_REPEATS = 10  # fewer may coincide in two columns by chance
_NEARLY_ALL = 0.9
_MOST_ROWS = 5000  # looked at for amounts that are the same up to their unit
_PLACEHOLDERS = ("?", "-", "--", ".", "*", "#")
_SIGNS = re.compile(r"[\s$€£¥%'_]")
_UNIT = re.compile(r"(?<=[\d\s])[^\W\d_]{0,5}$|$")
_SEPARATED = re.compile(r"[+-]?(\d{1,3}(,\d{3})+(\.\d+)?|\d{1,3}(\.\d{3})+(,\d+)?|\d*,\d+|\d+(\.\d+)?)")
_ID_NAME = re.compile(r"(^|[\W_])(id|uuid|guid|key|index|idx|no|nr|number)$|[a-z]I[dD]$", re.IGNORECASE)


@dataclass(frozen=True)
class Finding:
    """One thing in a table that is probably not intended.

    Attributes
    ----------
    kind : str
        "empty-column", "no-label" (rows without a class), "almost-numeric" (numbers, but for a few values),
        "codes" (numbers with leading zeros), "placeholder" (such as "?"), "spelling" (names that differ in spaces or
        capitals), "dates", "identifier", "same" (columns that are functions of each other), or "gives-label-away".
    columns : tuple of str
        Where it is.
    text : str
        What it is, in a sentence or two, with what to do.
    values : tuple of str
        The values in question, the most frequent first; at most five.
    n_rows : int
        In how many rows they are.
    """

    kind: Kind
    columns: tuple[str, ...]
    text: str
    values: tuple[str, ...] = ()
    n_rows: int = 0

    def __str__(self) -> str:
        return self.text


def check_csv(
    path: str | os.PathLike[str], *, label: str | None = None, drop: Sequence[str] = (), missing: Sequence[str] = ()
) -> list[Finding]:
    """Find what looks wrong in a CSV file.

    Parameters
    ----------
    path : str or path
    label : str, optional
        The column of classes.
    drop : sequence of str
        Columns to leave out.
    missing : sequence of str
        What else stands for a missing value.

    Returns
    -------
    list of Finding
        Those that concern all rows first, then by column.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "loans.csv")
    ...     _ = file.write_text("income,approved\\n" + "1000,yes\\n2000,no\\n2000,yes\\n" * 10 + "30,\\n")
    ...     for finding in check_csv(file, label="approved"):
    ...         print(finding)
    1 of 31 rows has no value in 'approved' and is left out.
    """
    table = read_csv(path, missing=missing)
    for name in drop:
        check_column(table, name)
    return check_values(table.drop(columns=list(drop)), label=label)


def check_values(table: pd.DataFrame, *, label: str | None = None) -> list[Finding]:
    """Find what looks wrong in a table from `read_csv`; see `check_csv`.

    Examples
    --------
    >>> table = pd.DataFrame({"income": ["1200", "900", "1,500", "n.n."] + ["800"] * 20})
    >>> [finding] = check_values(table)
    >>> finding.values, finding.n_rows
    (('1,500', 'n.n.'), 2)
    >>> print(finding)
    'income' holds numbers but for 2 of 24 values: '1,500', 'n.n.'. So all were read as names. Write plain numbers, or
    take the others for missing (--missing n.n.).
    """
    findings: list[Finding] = []
    labels = None
    if label is not None:
        check_column(table, label)
        known = table[label].notna()
        if n := int((~known).sum()):
            text = f"{_of(n, len(table), 'row')} no value in {label!r} and {'is' if n == 1 else 'are'} left out."
            findings.append(Finding("no-label", (label,), text, n_rows=n))
        labels = table.loc[known, label]
        table = table.drop(columns=label) if known.all() else numbers_again(table[known].drop(columns=label))
        findings += _of_labels(labels, label)
    for name in table.columns:
        findings += _of_column(table[name], str(name))
    return [*findings, *_of_columns(table, labels)]


def _of_labels(labels: "pd.Series[Any]", name: str) -> Iterator[Finding]:
    """Find classes that are none, or the same one written in two ways."""
    if not pd.api.types.is_numeric_dtype(labels.dtype):
        counts = labels.astype(str).value_counts()
        yield from _placeholders(counts, name)
        yield from _variants(counts, name)


def identifiers(findings: Sequence[Finding]) -> list[str]:
    """Give the names of the columns that look like identifiers."""
    return [finding.columns[0] for finding in findings if finding.kind == "identifier"]


def _of_column(values: "pd.Series[Any]", name: str) -> Iterator[Finding]:
    present = values.dropna()
    if present.empty:
        if len(values):
            yield Finding("empty-column", (name,), f"{name!r} holds no value at all and is left out.")
        return
    if not pd.api.types.is_numeric_dtype(values.dtype):
        yield from _of_texts(present.astype(str), name)
    elif len(values) >= _LEAST_ROWS and _numbers_identify(present, values, name):
        yield _identifier(name, f"a number of its own in each of {len(values):,} rows")


def _of_texts(present: "pd.Series[Any]", name: str) -> Iterator[Finding]:
    counts = present.value_counts()
    if stray := _stray(counts, name):
        yield stray
        return
    yield from _codes(counts, name)
    yield from _placeholders(counts, name)
    yield from _variants(counts, name)
    if len(present) >= _LEAST_ROWS and present.str.fullmatch(DATE).mean() >= _MOSTLY:
        text = (
            f"{name!r} looks like dates, which were read as names without an order. Turn them into numbers (days "
            f"since ...), or leave the column out (--drop {shlex.quote(name)})."
        )
        yield Finding("dates", (name,), text, tuple(counts.index[:_MOST_SHOWN]), len(present))
    elif len(present) >= _LEAST_ROWS and _texts_identify(counts, len(present), name):
        yield _identifier(name, f"{len(counts):,} different texts in {len(present):,} rows")


def _stray(counts: "pd.Series[Any]", name: str) -> Finding | None:
    """Find the few values that prevent a column from being numeric."""
    plain = pd.to_numeric(pd.Series(counts.index), errors="coerce").notna().to_numpy()
    unit = _unit(counts)
    separated = np.array([_is_written_number(value.removesuffix(unit)) for value in counts.index])
    n, total = int(counts[~plain].sum()), int(counts.sum())
    if n == 0 or counts[plain | separated].sum() < _MOSTLY * total:
        return None
    odd = counts.index[~plain]
    words = counts.index[~plain & ~separated]
    if plain.any() and len(words):
        text = (
            f"{name!r} holds numbers but for {n:,} of {total:,} values: {_quoted(odd)}. So all were read as names. "
            f"Write plain numbers, or take the others for missing (--missing {shlex.quote(words[0])})."
        )
    else:
        text = (
            f"{name!r} holds numbers in a notation that was read as names: {_quoted(odd)}. Write plain numbers, such "
            "as 1200.5 for 1,200.50 or 1200,5."
        )
    return Finding("almost-numeric", (name,), text, tuple(odd[:_MOST_SHOWN]), n)


def _codes(counts: "pd.Series[Any]", name: str) -> Iterator[Finding]:
    if are_codes(pd.Series(counts.index)):
        zeros = counts[counts.index.str.match(r"\s*0\d")]
        text = (
            f"{name!r} holds numbers with leading zeros: {_quoted(zeros.index)}. All were read as names, since the "
            "zeros of a code would get lost. If they are amounts, write them without."
        )
        yield Finding("codes", (name,), text, tuple(zeros.index[:_MOST_SHOWN]), int(zeros.sum()))


def _unit(counts: "pd.Series[Any]") -> str:
    """Give the letters that most values end in, such as "kg"; "" where there are none."""
    ends = counts.groupby([_UNIT.search(value).group() for value in counts.index]).sum()  # type: ignore[union-attr]
    return str(ends.idxmax()) if ends.max() >= _MOSTLY * counts.sum() else ""


def _is_written_number(text: str) -> bool:
    return bool(_SEPARATED.fullmatch(_SIGNS.sub("", text).replace("\u2212", "-")))


def _placeholders(counts: "pd.Series[Any]", name: str) -> Iterator[Finding]:
    odd = counts[counts.index.isin(_PLACEHOLDERS)]
    if len(odd):
        shown = _quoted(odd.index)
        text = (
            f"{shown} stands in {int(odd.sum()):,} rows of {name!r} and was read as a name like any other. If it means "
            f"that the value is missing, say so: --missing {shlex.quote(odd.index[0])}."
        )
        yield Finding("placeholder", (name,), text, tuple(odd.index), int(odd.sum()))


def _variants(counts: "pd.Series[Any]", name: str) -> Iterator[Finding]:
    spelled = defaultdict(list)
    for value in counts.index:
        spelled[" ".join(value.split()).casefold()].append(value)
    groups = [group for group in spelled.values() if len(group) > 1]
    if groups and len(groups) <= len(counts) / 2:
        shown = "; ".join(" and ".join(map(repr, group)) for group in groups[:_MOST_SHOWN])
        values = tuple(value for group in groups for value in group)
        text = f"{name!r} has names that differ in spaces or capitals alone: {shown}. They count as different names."
        yield Finding("spelling", (name,), text, values[:_MOST_SHOWN], int(counts[list(values)].sum()))


def _numbers_identify(present: "pd.Series[Any]", values: "pd.Series[Any]", name: str) -> bool:
    whole = bool((present % 1 == 0).all())
    ordered = present.is_monotonic_increasing or present.is_monotonic_decreasing
    return len(present) == len(values) and whole and present.is_unique and (ordered or bool(_ID_NAME.search(name)))


def _texts_identify(counts: "pd.Series[Any]", n: int, name: str) -> bool:
    distinct = len(counts)
    return distinct >= _NEARLY_ALL * n or (distinct >= n / 2 and bool(_ID_NAME.search(name)))


def _identifier(name: str, why: str) -> Finding:
    text = (
        f"{name!r} looks like an identifier ({why}): it is treated as immutable. Better leave it out "
        f"(--drop {shlex.quote(name)}); if it may change, give it a rule in the file of --features."
    )
    return Finding("identifier", (name,), text)


def _of_columns(table: pd.DataFrame, labels: "pd.Series[Any] | None") -> Iterator[Finding]:
    """Find columns that are functions of each other, or of the label."""
    alike: dict[bytes, list[str]] = defaultdict(list)
    for name in table.columns:
        if len(table) - table[name].nunique() >= _LEAST_REPEATS and table[name].nunique() > 1:
            # Numbered by first appearance, columns that rename each other's values are the same.
            alike[pd.factorize(table[name])[0].tobytes()].append(str(name))
    given_away = [] if labels is None else alike.pop(pd.factorize(labels)[0].tobytes(), [])
    for name in given_away:
        text = (
            f"{name!r} gives the label away: every value of one goes with one value of the other. Leave it out "
            f"(--drop {shlex.quote(name)}), unless it is known before the decision."
        )
        yield Finding("gives-label-away", (name,), text)
    for names in [*alike.values(), *_lines(table, {name for group in alike.values() for name in group[1:]})]:
        if len(names) > 1:
            others = " ".join(f"--drop {shlex.quote(name)}" for name in names[1:])
            text = (
                f"{_listed(names)} say the same: every value of one goes with one value of the other. An answer may "
                f"change one alone. Leave out all but one ({others})."
            )
            yield Finding("same", tuple(names), text)


def _lines(table: pd.DataFrame, known: set[str]) -> Iterator[list[str]]:
    """Find amounts that are the same up to their unit."""
    numbers = table.select_dtypes("number").iloc[:_MOST_ROWS]
    numbers = numbers.loc[:, [name for name in numbers if numbers[name].nunique() > 2 and str(name) not in known]]
    ties = numbers.corr(min_periods=_LEAST_ROWS).abs().to_numpy() > 1 - 1e-9
    taken: set[int] = set()
    for j in range(len(ties)):
        group = [int(k) for k in np.flatnonzero(ties[j]) if k not in taken]
        if len(group) > 1:
            taken |= set(group)
            yield [str(numbers.columns[k]) for k in group]


def _of(n: int, total: int, what: str) -> str:
    return f"{n:,} of {total:,} {what}s {'has' if n == 1 else 'have'}"


def _quoted(values: "pd.Index[Any]") -> str:
    shown = ", ".join(repr(value) for value in values[:_MOST_SHOWN])
    return shown + (f", ... ({len(values):,} different ones)" if len(values) > _MOST_SHOWN else "")


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(map(repr, names[:-1]))} and {names[-1]!r}"
