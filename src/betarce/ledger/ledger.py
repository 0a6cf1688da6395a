"""Ledger: promises on record, append-only, with a chain that shows every change."""

import os
import warnings
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from types import TracebackType
from typing import Any, get_args

import pandas as pd

from betarce.checks import is_one_of
from betarce.errors import ClockSkew, InvalidInput
from betarce.features.stored import to_plain
from betarce.ledger import moments
from betarce.ledger.chain import Head
from betarce.ledger.entries import Appender, open_chain, read_head
from betarce.ledger.envelope import Envelope
from betarce.ledger.events import close_promises, erase_promises
from betarce.ledger.grounds import grounds_of, versions
from betarce.ledger.heads import check_head
from betarce.ledger.integrity import Integrity, check_chain
from betarce.ledger.keys import SigningKey
from betarce.ledger.monitor import Monitor, read_monitor
from betarce.ledger.promises import (
    Promise,
    State,
    find_promise,
    history_frame,
    points_frame,
    promises_frame,
    promises_to_check,
    read_envelope_of,
    read_features_of,
    read_promises,
)
from betarce.ledger.recheck import Recheck, check_found, check_recheck, hold_against, write_recheck
from betarce.ledger.recording import Terms, cohorts_of, draft_promises, write_promises
from betarce.ledger.repair import answers_for, repair_frame
from betarce.ledger.store import Store
from betarce.results.result import Result
from betarce.robustify import BetaRCE


class Ledger:
    """Promises on record: what was handed out to whom on what grounds, and what became of it.

    A ledger is one SQLite file. Entries are only ever added, each is tied to all before it by a hash chain, and what a
    method has returned for is on the disk. Many processes may write and read at once.

    Parameters
    ----------
    path : str or path
        The file; made if it is not there.
    read_only : bool
        Only look; works on a disk that cannot be written to.
    timeout : float
        Seconds to wait for other writers.
    clock : callable, optional
        Gives the time, with its zone; that of this machine by default.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from betarce import BetaRCE
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> rce = BetaRCE(LogisticRegression(max_iter=5000), n_models=(10, 46), random_state=0, verbose=-1)
    >>> result = rce.fit(X[:, :4], y).explain(X[:3, :4])
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "promises.db"
    >>> with Ledger(path) as ledger:
    ...     promises = ledger.record(result, cohort="clinic A")
    ...     print(ledger.promises()[["name", "state", "delta"]].reset_index(drop=True))
       name   state  delta
    0     0  issued    0.9
    1     1  issued    0.9
    2     2  issued    0.9
    >>> with Ledger(path, read_only=True) as ledger:
    ...     print(ledger.verify())
    4 entries, 0 promises erased on request: intact
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        read_only: bool = False,
        timeout: float = 60.0,
        clock: Callable[[], datetime] = moments.now,
    ) -> None:
        if not callable(clock):
            raise InvalidInput(f"`clock` must be a function that gives the time; got {clock!r}.")
        self._clock = clock
        self._store = Store(path, read_only=read_only, timeout=timeout)
        if not read_only:
            with self._store.writing() as connection:
                open_chain(connection, self._now())

    def __enter__(self) -> "Ledger":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        with self._store.reading() as connection:
            [(n_promises,)] = connection.execute("SELECT count(*) FROM entries WHERE kind = 'issued'").fetchall()
            head = read_head(connection)
        return f"Ledger({str(self._store.path)!r}: {n_promises:,} promises, {head.n_entries:,} entries)"

    def close(self) -> None:
        """Close the file; the ledger object cannot be used any more."""
        self._store.close()

    # Writing

    def record(
        self,
        result: Result,
        *,
        run: BetaRCE | None = None,
        expires: Any = None,
        cohort: Any = None,
        private: bool = False,
        key: SigningKey | None = None,
    ) -> list[str]:
        """Put the certified answers of a result on record.

        Once this returns, they are on the disk: all of them, or none if it raises. An answer that is on record and
        open already is not recorded twice, so calling this again after a crash does no harm.

        Parameters
        ----------
        result : Result
            What `explain` returned; rows without a certified point promise nothing and are left out.
        run : BetaRCE, optional
            The fitted explainer that the result comes from; the statements then carry digests of its model, members,
            data and rules.
        expires : date, datetime with a zone, timedelta, text or None
            Until when the promises bind; a date counts to its end.
        cohort : text, sequence or Series, optional
            A group to report on later: one for all rows, one per row, or by row name.
        private : bool
            Let the statements commit to the points, with a salt that stays in the ledger, instead of telling them.
        key : SigningKey, optional
            Signs every statement.

        Returns
        -------
        list of str
            The names of the promises, one per certified row.
        """
        if not isinstance(result, Result):
            raise InvalidInput(f"`result` must be what `explain` returned; got {type(result).__name__}.")
        issued = self._now()
        grounds = {} if run is None else grounds_of(run, result)
        terms = Terms(grounds, versions(), issued, moments.check_expiry(expires, issued), private, key)
        drafts = draft_promises(result, terms, cohorts=cohorts_of(cohort, result))
        with self._appending() as (connection, appender):
            return write_promises(connection, appender, drafts, [to_plain(result.features), dict(terms.identity)])

    def withdraw(self, promises: str | Sequence[str], *, reason: str = "") -> None:
        """Take promises back: they bind no longer. All of them are on record as withdrawn, or none."""
        self._close_promises(promises, "withdrawn", reason)

    def honour(self, promises: str | Sequence[str], *, reason: str = "") -> None:
        """Put on record that promises were kept to those who relied on them, whatever the model says."""
        self._close_promises(promises, "honoured", reason)

    def refer(self, promises: str | Sequence[str], *, reason: str = "") -> None:
        """Put on record that people shall decide on promises; they stay open until that has happened."""
        self._close_promises(promises, "referred", reason)

    def repair(
        self,
        promises: str | Sequence[str] = (),
        *,
        run: BetaRCE,
        expires: Any = None,
        private: bool = False,
        key: SigningKey | None = None,
    ) -> pd.DataFrame:
        """Make broken promises good: promise the nearest point that the models of today certify.

        Parameters
        ----------
        promises : str or sequence of str
            Names of open promises; all that are broken by default.
        run : BetaRCE
            An explainer that is fitted to the model in use now.
        expires, private, key :
            As in `record`.

        Returns
        -------
        DataFrame
            One line per promise: "by" the new promise, which supersedes it; or "status" and "reason" of its having
            none, and it stays as it was.
        """
        with self._store.reading() as connection:
            if len(promises):
                chosen = [find_promise(connection, each, self._now()) for each in _listed(promises)]
            else:
                everyone = read_promises(connection, self._now())
                chosen = [each for each in everyone if each.state == "broken" and not each.erased]
            features = read_features_of(connection, chosen)
        answers, issued = answers_for(run, chosen, features.__getitem__), self._now()
        terms = Terms(grounds_of(run, answers), versions(), issued, moments.check_expiry(expires, issued), private, key)
        earlier = {i: promise.id for i, promise in enumerate(chosen)}
        cohorts = cohorts_of([promise.cohort for promise in chosen], answers)
        drafts = draft_promises(answers, terms, cohorts=cohorts, supersedes=earlier)
        with self._appending() as (connection, appender):
            documents = [to_plain(answers.features), dict(terms.identity)]
            names = write_promises(connection, appender, drafts, documents)
        return repair_frame(chosen, answers, names)

    def erase(self, promises: str | Sequence[str] = (), *, name: Hashable = None) -> int:
        """Delete all that is personal of some promises, and put on record that this was done.

        What stays is the chain: that a promise was made, when, at which delta, and what became of it. The chain stays
        valid, and says nothing about who it was.

        Parameters
        ----------
        promises : str or sequence of str
            Names of promises.
        name : hashable, optional
            Instead of these: what the row is called; all its promises are erased.

        Returns
        -------
        int
            How many promises had something to erase.
        """
        if (name is None) == (isinstance(promises, (str, list, tuple)) and len(promises) == 0):
            raise InvalidInput("`erase` must be given either `promises` or `name`.")
        with self._appending() as (connection, appender):
            if name is None:
                chosen = [find_promise(connection, each, self._now()) for each in _listed(promises)]
            else:
                everyone = read_promises(connection, self._now())
                chosen = [promise for promise in everyone if not promise.erased and promise.name == name]
                if not chosen:
                    raise InvalidInput(f"`name` must be that of a row on record; there is none called {name!r}.")
            n_erased = erase_promises(connection, appender, chosen)
        self._store.forget_deleted()
        return n_erased

    def recheck(
        self,
        model: Any,
        *,
        run: BetaRCE | None = None,
        name: str = "",
        deployed: bool | None = None,
        dry_run: bool = False,
    ) -> Recheck:
        """Hold a new model against all promises that still bind, and put what came of it on record.

        Parameters
        ----------
        model : classifier or Series
            The new model, or the classes that any scoring system gave, by name of promise or of row.
        run : BetaRCE, optional
            A fitted explainer with audit members; the share of broken promises is ranked among theirs.
        name : str
            What the new model is called on record; no personal data.
        deployed : bool, optional
            Whether the model is in use, so that what it breaks is broken. By default it is, unless its rank says that
            the change was not of the declared kind: such a model is to be looked at before it is deployed.
        dry_run : bool
            Only look: nothing is put on record. A ledger that was opened to be read always does so.

        Returns
        -------
        Recheck
        """
        check_recheck(run, name, deployed, dry_run)
        with self._store.reading() as connection:
            chosen = promises_to_check(connection, self._now())
            features = read_features_of(connection, chosen)
        found = hold_against(chosen, model, run, features.__getitem__, name=name or type(model).__name__)
        return found if dry_run or self._store.read_only else self.record_recheck(found, deployed=deployed)

    def record_recheck(self, found: Recheck, *, deployed: bool | None = None) -> Recheck:
        """Put a re-check on record that was only a look until now; see `recheck`."""
        check_found(found, deployed)
        found = replace(found, deployed=not found.beyond if deployed is None else deployed)
        with self._appending() as (connection, appender):
            write_recheck(connection, appender, found)
        return found

    # Reading

    def promises(self, state: State | None = None) -> pd.DataFrame:
        """List the promises, one line each, in the order of their issue.

        Parameters
        ----------
        state : {"issued", "broken", "superseded", "honoured", "expired", "withdrawn"}, optional
            Only those in this state now.
        """
        if state is not None and not is_one_of(state, get_args(State)):
            raise InvalidInput(f"`state` must be one of {', '.join(get_args(State))}; got {state!r}.")
        with self._store.reading() as connection:
            found = [each for each in read_promises(connection, self._now()) if state in (None, each.state)]
        return promises_frame(found)

    def open_promises(self) -> list[Promise]:
        """Give the promises that a new model is held against: those that bind, and whose content is there."""
        with self._store.reading() as connection:
            return [each for each in promises_to_check(connection, self._now()) if each.open]

    def points(self) -> pd.DataFrame:
        """Give the points of the promises that bind as one table, by promise: what another system is to score."""
        with self._store.reading() as connection:
            chosen = [each for each in promises_to_check(connection, self._now()) if each.open]
            return points_frame(chosen, read_features_of(connection, chosen))

    def promise(self, promise: str) -> Promise:
        """Give one promise, by its name or the first characters of it."""
        with self._store.reading() as connection:
            return find_promise(connection, promise, self._now())

    def envelope(self, promise: str) -> Envelope:
        """Give the statement of a promise in its envelope, to be handed out."""
        with self._store.reading() as connection:
            return read_envelope_of(connection, find_promise(connection, promise, self._now()))

    def history(self, promise: str | None = None) -> pd.DataFrame:
        """List what happened, one line per entry: all of it, or what concerns one promise."""
        with self._store.reading() as connection:
            chosen = None if promise is None else find_promise(connection, promise, self._now()).id
            return history_frame(connection, chosen)

    def monitor(self) -> Monitor:
        """Compare what was promised with what models in use have kept; each of their re-checks is one deployment."""
        with self._store.reading() as connection:
            return read_monitor(connection, self._now())

    def head(self) -> Head:
        """Give the end of the chain: keep it elsewhere, and `verify` can tell later whether anything was changed."""
        with self._store.reading() as connection:
            return read_head(connection)

    def verify(self, head: Head | None = None) -> Integrity:
        """Compute every digest of the chain again, and compare it with what is on record.

        Parameters
        ----------
        head : Head, optional
            An earlier end of the chain; whoever rewrote the whole ledger since then is found out by it.
        """
        with self._store.reading() as connection:
            found = check_chain(connection, read_head(connection))
            return found if head is None else check_head(connection, found, head)

    # Within

    def _now(self) -> datetime:
        try:
            moment = self._clock()
        except TypeError as error:
            raise InvalidInput(f"`clock` must give the time without arguments; {error}.") from error
        if not isinstance(moment, datetime) or moment.tzinfo is None:
            raise InvalidInput(f"`clock` must give a time with its zone; got {moment!r}.")
        return moment

    @contextmanager
    def _appending(self) -> "Iterator[tuple[Any, Appender]]":
        with self._store.writing() as connection:
            at = self._now()  # after whoever wrote before
            appender = Appender(connection, at)
            behind = appender.behind
            yield connection, appender
        if behind:
            warnings.warn(
                f"The clock of this machine says {moments.written(at)}, but the last entry of the ledger is of "
                f"{behind}. It was recorded all the same, after that entry. Set the clock right: expiry depends on it.",
                ClockSkew,
                stacklevel=4,
            )

    def _close_promises(self, promises: str | Sequence[str], kind: str, reason: str) -> None:
        with self._appending() as (connection, appender):
            chosen = [find_promise(connection, each, self._now()) for each in _listed(promises)]
            close_promises(connection, appender, chosen, kind, reason)


def _listed(promises: str | Sequence[str]) -> list[str]:
    names = [promises] if isinstance(promises, str) else promises
    if not isinstance(names, (list, tuple)) or not names or not all(isinstance(name, str) for name in names):
        raise InvalidInput(f"`promises` must name at least one promise; got {promises!r}.")
    return list(dict.fromkeys(names))
