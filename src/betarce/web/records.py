"""Promises on record, as the page shows them."""

import os
from typing import Any

import pandas as pd

from betarce.errors import InvalidInput
from betarce.ledger import Ledger
from betarce.results.changes import row_title
from betarce.web.refusals import Refusal

_PAGE = 50


class Records:
    """Reads a ledger for the page; nothing is ever written.

    Parameters
    ----------
    path : str or path
        The ledger.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = path
        with Ledger(path, read_only=True) as ledger:
            ledger.head()

    def page(self, start: int) -> dict[str, Any]:
        """Give a page of promises, the latest first."""
        with Ledger(self._path, read_only=True) as ledger:
            frame = ledger.promises()
        latest = frame.iloc[::-1].iloc[start : start + _PAGE]
        counts = frame["state"].value_counts()
        return {
            "n": len(frame),
            "from": start,
            "size": _PAGE,
            "states": {str(state): int(n) for state, n in counts.items()},
            "promises": [_promise(str(name), line) for name, line in latest.iterrows()],
        }

    def one(self, name: str) -> dict[str, Any]:
        """Give what happened to one promise."""
        with Ledger(self._path, read_only=True) as ledger:
            try:
                history = ledger.history(name)
                [line] = [line for _, line in ledger.promises().loc[[name]].iterrows()]
            except (InvalidInput, KeyError):
                raise Refusal("promise", status=404) from None
        events = [
            {"at": _day(line["at"]), "kind": str(line["kind"]), "remark": str(line["remark"])}
            for _, line in history.iterrows()
        ]
        return {**_promise(name, line), "events": events}


def _promise(name: str, line: "pd.Series[Any]") -> dict[str, Any]:
    target = line["target"]
    targets = target if isinstance(target, list) else [] if target is None else [target]
    return {
        "id": name,
        "name": "" if line["erased"] else row_title(line["name"]),
        "erased": bool(line["erased"]),
        "target": [str(each) for each in targets],
        "cohort": str(line["cohort"] or ""),
        "state": str(line["state"]),
        "delta": float(line["delta"]),
        "confidence": float(line["confidence"]),
        "issued": _day(line["issued"]),
        "expires": _day(line["expires"]),
    }


def _day(moment: Any) -> str:
    return "" if pd.isna(moment) else moment.strftime("%Y-%m-%d %H:%M UTC")
