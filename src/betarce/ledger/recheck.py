"""A new model against all promises that still bind: held, broken, expired, or not to be scored."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal
from xml.sax.saxutils import quoteattr

import numpy as np
import pandas as pd

from betarce.arrays import BoolArray
from betarce.checks import check_flag
from betarce.errors import InvalidInput
from betarce.ledger.chain import canonical
from betarce.ledger.departure import Departures, labels_on_training_rows
from betarce.ledger.disagreement import Disagreement
from betarce.ledger.entries import Appender
from betarce.ledger.gate import Gate, rank
from betarce.ledger.integrity import outcomes_digest
from betarce.ledger.old_and_new import where_models_differ, where_promises_break
from betarce.ledger.promises import OPEN, Promise, states_on_record
from betarce.ledger.scoring import FeaturesOf, Scores, audit_breaks, score_with_model, score_with_predictions
from betarce.robustify import BetaRCE
from betarce.safe_text import in_terminal
from betarce.spaces import Architecture, Bootstrap, Mixture, Seed
from betarce.storage.values import plain

Outcome = Literal["held", "broken", "expired", "unscored"]
_NEW_ROWS = (
    "If the new model was trained on new rows, the declared space does not cover that: it trains on the old ones "
    'again. Fit a run with space="new-data", which does; its answers ask for larger changes.'
)


@dataclass(frozen=True, eq=False)
class Recheck:
    """What a new model does to the promises on record.

    Attributes
    ----------
    model : str
        What the new model was called.
    promises : tuple of Promise
        Those that were open, or have expired since the last look.
    outcomes : tuple of str
        "held", "broken", "expired" or "unscored", one per promise.
    reasons : tuple of str
        Why a promise could not be scored; "" otherwise.
    gate : Gate or None
        How the share of broken promises ranks among audit members; None without a run, or without promises to rank.
    deployed : bool
        Whether it is on record as a model in use, so that what it breaks is broken.
    where : Disagreement or None
        The rows and features where the old and the new model disagree most; None without a run.
    advice : str
        What would help if the model is beyond a space that declares the old training rows again; "" otherwise.

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
    >>> found = ledger.recheck(rce.model_, name="2026-07", dry_run=True)
    >>> found.outcomes
    ('held', 'held', 'held')
    >>> ledger.close()
    """

    model: str
    promises: tuple[Promise, ...]
    outcomes: tuple[Outcome, ...]
    reasons: tuple[str, ...]
    gate: Gate | None
    deployed: bool = False
    where: Disagreement | None = None
    advice: str = ""

    @property
    def counts(self) -> dict[str, int]:
        """How many promises had which outcome."""
        return {name: self.outcomes.count(name) for name in ("held", "broken", "expired", "unscored")}

    @property
    def share(self) -> float:
        """Of the promises that could be scored, those that are broken; 0 without any."""
        counts = self.counts
        return counts["broken"] / max(1, counts["held"] + counts["broken"])

    @property
    def beyond(self) -> bool:
        """Whether the change was not of the declared kind, as far as can be told."""
        return self.gate is not None and self.gate.beyond

    def __str__(self) -> str:
        counts = ", ".join(f"{n:,} {name}" for name, n in self.counts.items() if n or name in ("held", "broken"))
        return f"{counts}. {self.gate or 'Not ranked: there is no run with audit members, or no promise to rank.'}"

    def __repr__(self) -> str:
        return f"Recheck({self.model!r}: {self})"

    def to_frame(self) -> pd.DataFrame:
        """Give one line per promise: name, target, cohort, outcome, and why it could not be scored."""
        lines = [
            [promise.name, promise.target, promise.cohort, outcome, reason]
            for promise, outcome, reason in zip(self.promises, self.outcomes, self.reasons, strict=True)
        ]
        index = pd.Index([promise.id for promise in self.promises], name="promise", dtype=object)
        return pd.DataFrame(lines, index=index, columns=["name", "target", "cohort", "outcome", "reason"], dtype=object)

    def to_plain(self) -> dict[str, Any]:
        """Give everything as strict JSON has it."""
        gate = self.gate
        return {
            "model": self.model,
            "deployed": self.deployed,
            "counts": self.counts,
            "share_broken": self.share,
            "gate": None
            if gate is None
            else {
                "share": gate.share,
                "audit_shares": gate.audit_shares.tolist(),
                "promises": gate.n_promises,
                "departure": gate.departure,
                "audit_departures": None if gate.audit_departures is None else gate.audit_departures.tolist(),
                "p": gate.p,
                "beyond": gate.beyond,
                "in_words": str(gate),
            },
            "where": None if self.where is None else self.where.to_plain(),
            "advice": self.advice,
            "promises": [
                {
                    "promise": promise.id,
                    "name": plain(promise.name, what="the name of a row"),
                    "cohort": promise.cohort,
                    "outcome": outcome,
                    "reason": reason,
                }
                for promise, outcome, reason in zip(self.promises, self.outcomes, self.reasons, strict=True)
            ],
        }

    def to_junit(self) -> str:
        """Write JUnit XML, for CI: broken promises are failures only where the gate has failed.

        Within what was promised they are skipped tests, so that a report does not cry wolf.
        """
        failed = self.beyond
        counts = self.counts
        failures = (counts["broken"] + 1) if failed else 0
        skipped = counts["expired"] + counts["unscored"] + (0 if failed else counts["broken"])
        lines = [
            '<?xml version="1.0" encoding="UTF-8"?>',
            f'<testsuite name="betarce recheck" tests="{len(self.promises) + 1}" failures="{failures}" '
            f'errors="0" skipped="{skipped}">',
            _case("gate", self.model, "failure" if failed else "", str(self)),
        ]
        for promise, outcome, reason in zip(self.promises, self.outcomes, self.reasons, strict=True):
            kind = "" if outcome == "held" else "failure" if outcome == "broken" and failed else "skipped"
            lines.append(_case(promise.id, str(promise.name), kind, reason or outcome))
        return "\n".join([*lines, "</testsuite>", ""])


def outcomes_of(promises: Sequence[Promise], scores: Scores) -> tuple[tuple[Outcome, ...], tuple[str, ...]]:
    """Say what became of each promise; one that has expired binds no longer, whatever the model says."""
    outcomes: list[Outcome] = []
    for promise, held, reason in zip(promises, scores.held.tolist(), scores.reasons, strict=True):
        if promise.state == "expired":
            outcomes.append("expired")
        else:
            outcomes.append("unscored" if reason else "held" if held else "broken")
    reasons = ["" if outcome == "expired" else why for outcome, why in zip(outcomes, scores.reasons, strict=True)]
    return tuple(outcomes), tuple(reasons)


def check_recheck(run: Any, name: Any, deployed: Any, dry_run: Any) -> None:
    """Refuse arguments of `Ledger.recheck` that cannot be put on record."""
    if run is not None and not isinstance(run, BetaRCE):
        raise InvalidInput(f"`run` must be a fitted BetaRCE, such as betarce.load gives, or None; got {run!r}.")
    if not isinstance(name, str):
        raise InvalidInput(f"`name` must be text; got {name!r}.")
    if deployed is not None:
        check_flag("deployed", deployed)
    check_flag("dry_run", dry_run)


def check_found(found: Any, deployed: Any) -> None:
    """Refuse what `Ledger.record_recheck` cannot put on record."""
    if not isinstance(found, Recheck):
        raise InvalidInput(f"`found` must be what `recheck` gave; got {found!r}.")
    if deployed is not None:
        check_flag("deployed", deployed)


def hold_against(
    promises: Sequence[Promise], model: Any, run: BetaRCE | None, features_of: FeaturesOf, *, name: str
) -> Recheck:
    """Ask a new model about promises, rank it among the audit members of a run, and compare it with the old one.

    Parameters
    ----------
    promises : sequence of Promise
        Those that are open, or have expired since the last look.
    model : classifier or Series
        The new model, or what it predicts.
    run : BetaRCE or None
    features_of : callable
        Gives the feature space of a promise.
    name : str
        What the new model is called.
    """
    told = isinstance(model, pd.Series)
    scores = score_with_predictions(model, promises) if told else score_with_model(model, promises, features_of)
    outcomes, reasons = outcomes_of(promises, scores)
    rows = [i for i, outcome in enumerate(outcomes) if outcome in ("held", "broken")]
    ranked = [promises[i] for i in rows]
    broken = np.array([outcomes[i] == "broken" for i in rows], dtype=bool)
    gate, where, advice = None, None, ""
    if run is not None and rows:
        gate, where = _compared(run, None if told else model, ranked, broken, features_of)
        advice = _NEW_ROWS if gate is not None and gate.beyond and _old_rows(run.members_.space) else ""
    return Recheck(name, tuple(promises), outcomes, reasons, gate, where=where, advice=advice)


def _compared(
    run: BetaRCE, model: Any, promises: Sequence[Promise], broken: BoolArray, features_of: FeaturesOf
) -> tuple[Gate | None, Disagreement | None]:
    """Rank the new model among the audit members, and compare it with the old one; the model is asked once."""
    audit_broken, known = audit_breaks(run, promises, features_of)
    if not known.any():
        return None, None
    audit = run.members_.audit
    if model is None or audit is None:
        return rank(broken[known], audit_broken[known]), where_promises_break(promises, broken, features_of)
    labels, departures = labels_on_training_rows(run, model), Departures(run)
    gate = rank(
        broken[known],
        audit_broken[known],
        departure=departures.of_labels(labels),
        audit_departures=departures.of_members(audit),
    )
    return gate, where_models_differ(run, model, promises, labels)


def _old_rows(space: object) -> bool:
    """Say whether a space trains on the old rows only, as far as they are known."""
    if isinstance(space, Mixture):
        return all(map(_old_rows, space.spaces))
    return isinstance(space, (Architecture, Bootstrap, Seed))


def write_recheck(connection: sqlite3.Connection, appender: Appender, found: Recheck) -> None:
    """Put a re-check on record; what a model in use breaks is broken, and what has expired is expired."""
    outcomes = {promise.id: outcome for promise, outcome in zip(found.promises, found.outcomes, strict=True)}
    states = states_on_record(connection)
    if not outcomes.keys() <= states.keys():
        raise InvalidInput("`found` must be a re-check of this ledger; it is about promises that are not in it.")
    body = {
        "model": canonical(found.model),
        "deployed": found.deployed,
        "counts": found.counts,
        "p": None if found.gate is None else found.gate.p,
        "audit_share": None if found.gate is None else float(found.gate.audit_shares.mean()),
    }
    entry = appender.append("rechecked", None, body, outcomes_digest(outcomes))
    connection.executemany(
        "INSERT INTO outcomes (recheck, promise, outcome) VALUES (?, ?, ?)",
        [(entry.seq, promise, outcome) for promise, outcome in outcomes.items()],
    )
    for promise, outcome in outcomes.items():
        # Others may have closed it since it was read: what was withdrawn is never open again.
        state = states[promise]
        if (outcome == "expired" and state in OPEN) or (found.deployed and outcome == "broken" and state == "issued"):
            appender.append(outcome, promise, {"recheck": entry.seq})


def _case(name: str, classname: str, kind: str, text: str) -> str:
    attributes = f"name={quoteattr(_in_xml(name))} classname={quoteattr(_in_xml(classname))}"
    if not kind:
        return f"  <testcase {attributes}/>"
    return f"  <testcase {attributes}><{kind} message={quoteattr(_in_xml(text))}/></testcase>"


def _in_xml(text: str) -> str:
    """Write what XML cannot hold as escapes."""
    return in_terminal(text).replace("\ufffe", "\\ufffe").replace("\uffff", "\\uffff")
