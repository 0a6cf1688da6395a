"""The database under a ledger: one writer at a time, any number of readers, and errors in plain words.

SQLite does the work: write-ahead logging, full synchronisation, foreign keys. What is committed survives a killed
process and a lost power supply; what is not committed leaves no trace.
"""

import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from betarce.checks import check_flag, is_number
from betarce.errors import BetarceError, CorruptFile, InvalidInput, NotWritten
from betarce.ledger.schema import MIGRATIONS, Migration, check_tables, check_version, migrate, version_of
from betarce.storage.files import check_path

_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_FULL = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)
_PRIMARY = 0xFF  # SQLite adds details to an error's code above its lowest byte
_PAUSE = 0.01
MOST_SECONDS = 86_400
MOST_BYTES = 2**26
"""Most bytes of one value: the feature space of a table with a million names takes half of it."""
_MAGIC = b"SQLite format 3\0"


class Store:
    """An open ledger file.

    Parameters
    ----------
    path : str or path
        The file; it is made if it is not there, unless `read_only`.
    read_only : bool
        Only look.
    timeout : float
        Seconds to wait for other writers.
    migrations : sequence of Migration
        All versions of the tables that are known.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        read_only: bool = False,
        timeout: float = 60.0,
        migrations: Sequence[Migration] = MIGRATIONS,
    ) -> None:
        self.path = _check_place(path, read_only)
        self.read_only = read_only
        self._timeout = timeout
        self._migrations = tuple(migrations)
        self._lock = threading.RLock()
        check_flag("read_only", read_only)
        if not is_number(timeout) or not 0 <= timeout <= MOST_SECONDS:
            raise InvalidInput(f"`timeout` must be a number of seconds from 0 to {MOST_SECONDS:,}; got {timeout!r}.")
        with self._errors("opened"):
            self._connection = self._open()
            try:
                self._prepare()
            except BaseException:
                self._connection.close()
                raise

    def close(self) -> None:
        """Close the file; the store cannot be used any more."""
        with self._lock:
            self._connection.close()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Look at the ledger as it is now: what others write meanwhile is not seen."""
        with self._lock, self._errors("read"):
            self._begin("BEGIN")
            try:
                yield self._connection
            finally:
                self._connection.execute("ROLLBACK")

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Change the ledger, whole or not at all: once this is left, the change is on the disk."""
        if self.read_only:
            raise NotWritten(f"{str(self.path)!r} was opened to be read only. Nothing was recorded.")
        with self._lock, self._errors("written to"):
            self._begin("BEGIN IMMEDIATE")
            try:
                check_version(version_of(self._connection), self._migrations)
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                # SQLite has rolled back already where the disk was full.
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def forget_deleted(self) -> bool:
        """Overwrite what was deleted: in the file at once, in the log as soon as nobody else reads from it."""
        with self._lock, self._errors("written to"):
            busy, *_ = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return not busy

    def _open(self) -> sqlite3.Connection:
        uri = self.path.absolute().as_uri()
        if not self.read_only:
            return self._connect(f"{uri}?mode=rwc")
        connection = self._connect(f"{uri}?mode=ro")
        try:
            connection.execute("SELECT 1 FROM sqlite_schema").fetchone()
        except sqlite3.OperationalError as error:
            connection.close()
            # A file in a folder that cannot be written to has no room for the log; without a log it needs none.
            if error.sqlite_errorcode & _PRIMARY != sqlite3.SQLITE_CANTOPEN or _has_log(self.path):
                raise
            return self._connect(f"{uri}?mode=ro&immutable=1")
        return connection

    def _connect(self, uri: str) -> sqlite3.Connection:
        connection = sqlite3.connect(
            uri, uri=True, timeout=self._timeout, isolation_level=None, check_same_thread=False, cached_statements=64
        )
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_BYTES)
        return connection

    def _prepare(self) -> None:
        for pragma in (
            "page_size = 16384",
            "foreign_keys = ON",
            "secure_delete = ON",
            "synchronous = FULL",
            "trusted_schema = OFF",
            "cell_size_check = ON",
        ):
            self._connection.execute(f"PRAGMA {pragma}")
        if self.read_only:
            version = version_of(self._connection)
            if version == 0:
                raise CorruptFile("it is empty")
            self._check(version)
            return
        self._check(version_of(self._connection))
        self._write_ahead()
        self._begin("BEGIN IMMEDIATE")
        try:
            migrate(self._connection, self._migrations)
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def _check(self, version: int) -> None:
        check_version(version, self._migrations)
        if version:
            check_tables(self._connection, version, self._migrations)

    def _write_ahead(self) -> None:
        """Switch the log on; of many processes that do so at once, SQLite turns some away without waiting."""
        last = time.monotonic() + self._timeout
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & _PRIMARY not in _BUSY or time.monotonic() > last:
                    raise
                time.sleep(_PAUSE)

    def _begin(self, statement: str) -> None:
        self._connection.execute(statement)

    @contextmanager
    def _errors(self, done: str) -> Iterator[None]:
        """Say in plain words what SQLite has to complain of."""
        name = str(self.path)
        try:
            yield
        except CorruptFile as error:
            raise CorruptFile(f"{name!r} is not a usable ledger: {error}.") from error
        except BetarceError:
            raise
        except sqlite3.Error as error:
            raise _in_words(error, name, done) from error
        except UnicodeDecodeError as error:  # SQLite tells of damage in the bytes that are damaged
            raise CorruptFile(f"{name!r} is not a usable ledger: it is damaged. Restore it from a copy.") from error


def _in_words(error: sqlite3.Error, name: str, done: str) -> BetarceError:
    if isinstance(error, sqlite3.ProgrammingError):
        return InvalidInput(f"The ledger {name!r} is closed. Open it again with betarce.Ledger({name!r}).")
    # Text that is not UTF-8 has no code: it is found when a value is read, not by SQLite.
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & _PRIMARY
    if code in _DAMAGED or (code == sqlite3.SQLITE_TOOBIG and done != "written to"):
        return CorruptFile(f"{name!r} is not a usable ledger: {error}. Restore it from a copy.")
    kept = "Nothing of this was recorded; what was on record still is."
    if code in _BUSY:
        return NotWritten(
            f"The ledger {name!r} could not be {done}: others were writing all the time. {kept} Try again."
        )
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN):
        return NotWritten(
            f"The ledger {name!r} could not be {done}: the file, its folder or its disk is read-only. {kept} "
            "To look at it, pass read_only=True; if that fails, too, copy it with its log (the file ending in -wal)."
        )
    if code in _FULL:
        return NotWritten(
            f"The ledger {name!r} could not be {done}: the disk is full or does not answer ({error}). {kept}"
        )
    return NotWritten(f"The ledger {name!r} could not be {done}: {error}. {kept}")


def _check_place(path: str | os.PathLike[str], read_only: bool) -> Path:
    place = Path(check_path(path))
    if place.is_dir():
        raise InvalidInput(f"`path` must name a file; {str(place)!r} is a folder.")
    if not place.exists():
        if read_only:
            raise InvalidInput(f"`path` must name a ledger; there is no file at {str(place)!r}.")
        if not place.parent.is_dir():
            raise InvalidInput(f"`path` must name a file in an existing folder; {str(place.parent)!r} is not a folder.")
        return place
    if not place.is_file():
        raise InvalidInput(f"`path` must name a file; {str(place)!r} is a device or a pipe.")
    if not os.access(place, os.R_OK):
        raise InvalidInput(f"`path` must name a file that can be read; {str(place)!r} cannot.")
    with place.open("rb") as file:
        start = file.read(len(_MAGIC))
    if start not in (b"", _MAGIC):
        raise CorruptFile(f"{str(place)!r} is not a usable ledger: it is no SQLite database.")
    return place


def _has_log(path: Path) -> bool:
    log = path.with_name(path.name + "-wal")
    return log.exists() and log.stat().st_size > 0
