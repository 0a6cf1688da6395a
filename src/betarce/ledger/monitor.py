"""Promised against realised, over generations of models, with each deployment as the unit of evidence.

All promises meet the same new model, so a thousand promises that meet one model are one piece of evidence about how
models change, not a thousand. Every deployment gives one share of promises held, and the mean of these shares is
bounded as if each deployment were one yes or no: a share varies less than that, so the bounds are on the safe side.
"""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from betarce.errors import CorruptFile, InvalidInput
from betarce.ledger import moments
from betarce.ledger.contents import read_facts, read_remark
from betarce.ledger.promises import Promise, read_promises
from betarce.safe_text import in_picture, in_terminal

By = Literal["cohort", "delta", "age"]
_AGES = (30, 90, 180, 365)
_CONFIDENCE = 0.95


@dataclass(frozen=True, eq=False)
class Monitor:
    """What became of promises, deployment by deployment.

    Attributes
    ----------
    outcomes : DataFrame
        One line per deployment and promise that it could score: "deployment" (its entry), "model", "at", "promise",
        "held", "delta", "cohort" ("(erased)" if the promise was) and "age" in days at the deployment.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.linear_model import LogisticRegression
    >>> from betarce import BetaRCE, Ledger
    >>> X, y = make_moons(80, noise=0.2, random_state=0)
    >>> rce = BetaRCE(LogisticRegression(), delta=0.8, confidence=0.9, n_models=(6, 18), random_state=0).fit(X, y)
    >>> result = rce.explain(X[y == 0][:3], target=1)
    >>> ledger = Ledger(pathlib.Path(tempfile.mkdtemp()) / "promises.db")
    >>> names = ledger.record(result)
    >>> found = ledger.recheck(rce.model_, name="2026-07", deployed=True)
    >>> monitor = ledger.monitor()
    >>> len(monitor.outcomes), bool(monitor.outcomes["held"].all())
    (3, True)
    >>> ledger.close()
    """

    outcomes: pd.DataFrame

    def deployments(self) -> pd.DataFrame:
        """Give one line per deployment: the model, when, how many promises, promised and realised share."""
        groups = self.outcomes.groupby("deployment", sort=True)
        columns = {"model": ("model", "first"), "at": ("at", "first"), "promises": ("held", "size")}
        return groups.agg(**columns, promised=("delta", "mean"), realised=("held", "mean"))

    def by(self, what: By) -> pd.DataFrame:
        """Give one line per group: deployments, promises, promised, realised, and bounds on what is realised.

        Parameters
        ----------
        what : {"cohort", "delta", "age"}

        Returns
        -------
        DataFrame
            "realised" is the mean over deployments of the share held, "lower" and "upper" bound it with 95 %
            confidence each, and "verdict" says whether it is below what was promised, as promised, or not known yet.
        """
        if what not in get_args(By):
            raise InvalidInput(f"`what` must be one of {', '.join(get_args(By))}; got {what!r}.")
        keys = self.outcomes["age"].map(_age_group) if what == "age" else self.outcomes[what]
        lines = {key: _line(part) for key, part in self.outcomes.groupby(keys, sort=True)}
        return pd.DataFrame.from_dict(lines, orient="index", columns=list(_COLUMNS)).rename_axis(what)

    def to_plain(self) -> dict[str, Any]:
        """Give all tables as strict JSON has them."""
        deployments = self.deployments().reset_index()
        deployments["at"] = [moments.written(at) for at in deployments["at"]]
        tables = {what: self.by(what).reset_index() for what in get_args(By)}
        return {
            "deployments": json.loads(deployments.to_json(orient="records")),
            **{f"by_{what}": json.loads(table.to_json(orient="records")) for what, table in tables.items()},
        }

    def plot(self, ax: Any = None) -> Any:
        """Draw the share of promises held by each deployment, beside what was promised (extra `plot`)."""
        from betarce.plotting.sheet import column_axes, tidy

        axes, table = column_axes(ax), self.deployments()
        places = np.arange(len(table))
        axes.plot(places, table["realised"], marker="o", label="realised")
        axes.plot(places, table["promised"], linestyle="--", label="promised")
        axes.set_xticks(places, [in_picture(in_terminal(str(name))) for name in table["model"]])
        axes.set_ylim(0, 1.02)
        axes.legend()
        tidy(axes, xlabel="model in use", ylabel="share of promises that hold")
        return axes


_COLUMNS = ("deployments", "promises", "promised", "realised", "lower", "upper", "verdict")


def _line(part: pd.DataFrame) -> list[Any]:
    shares = part.groupby("deployment")["held"].mean().to_numpy(dtype=float)
    promised = float(part["delta"].mean())
    lower, upper = bounds(shares)
    verdict = "below what was promised" if upper < promised else "as promised" if lower >= promised else "not known yet"
    return [len(shares), len(part), promised, float(shares.mean()), lower, upper, verdict]


def bounds(shares: "np.ndarray[Any, np.dtype[np.float64]]") -> tuple[float, float]:
    """Bound the mean of shares from below and from above, each with 95 % confidence.

    Clopper and Pearson's bounds, with the sum of the shares as the number of successes.

    Examples
    --------
    >>> [round(bound, 3) for bound in bounds(np.array([1.0, 1.0, 1.0]))]
    [0.368, 1.0]
    """
    from scipy.special import betaincinv

    n, hits = len(shares), float(shares.sum())
    misses = max(0.0, n - hits)
    lower = 0.0 if hits <= 0 else float(betaincinv(hits, misses + 1, 1 - _CONFIDENCE))
    upper = 1.0 if misses <= 0 else float(betaincinv(hits + 1, misses, _CONFIDENCE))
    return lower, upper


def _age_group(days: float) -> str:
    least = 0
    for most in _AGES:
        if days <= most:
            return f"{least:03d} to {most} days"
        least = most + 1
    return f"{least:03d} days or more"


def read_monitor(connection: sqlite3.Connection, at: datetime) -> Monitor:
    """Gather what became of promises under every model that was in use."""
    promises = {promise.id: promise for promise in read_promises(connection, at)}
    lines = []
    for seq, when, body in connection.execute(
        "SELECT seq, at, body FROM entries WHERE kind = 'rechecked' ORDER BY seq"
    ):
        facts = read_facts("rechecked", body)
        if facts["deployed"]:
            rows = connection.execute("SELECT promise, outcome FROM outcomes WHERE recheck = ?", (seq,)).fetchall()
            lines += _lines(seq, moments.read(when), read_remark(facts["model"], "model"), rows, promises)
    columns = ["deployment", "model", "at", "promise", "held", "delta", "cohort", "age"]
    frame = pd.DataFrame(lines, columns=columns, dtype=object)
    kinds = {"deployment": int, "held": bool, "delta": float, "age": float}
    return Monitor(frame.astype(kinds).assign(at=pd.to_datetime(frame["at"], utc=True)))


def _lines(
    seq: int, when: datetime, model: str, rows: Sequence[tuple[str, str]], promises: dict[str, Promise]
) -> list[list[Any]]:
    found = []
    for name, outcome in rows:
        if outcome in ("held", "broken"):
            promise = promises.get(name)
            if promise is None:
                raise CorruptFile(f"entry {seq} is about the promise {str(name)[:40]}, which was never issued")
            cohort = "(erased)" if promise.erased else promise.cohort
            age = max(0.0, (when - promise.issued).total_seconds() / 86400)
            found.append([seq, model, when, name, outcome == "held", promise.delta, cohort, age])
    return found
