"""The tables of a ledger, version by version.

`entries` is the chain: nothing in it is personal, and nothing in it ever changes. `promises` and `remarks` lie beside
it and hold what is personal; the chain holds a salted commitment to each of their rows, so that a row can be erased and
the chain stays valid. The database itself refuses every change but an erasure that is on record.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache

from betarce.errors import CorruptFile

APPLICATION = 0x62726365
"""What tells a ledger from other SQLite files: "brce"."""

KINDS = (
    *("opened", "issued", "superseded", "honoured", "broken", "expired", "withdrawn"),
    *("referred", "rechecked", "erased"),
)
"""What an entry can be: the seven of the first line make up a promise's state, but for "opened"."""


@dataclass(frozen=True)
class Migration:
    """The way from one version of the tables to the next.

    Attributes
    ----------
    version : int
        The version that it leads to.
    statements : tuple of str
        SQL, run in one transaction.
    """

    version: int
    statements: tuple[str, ...]


def _refuse(event: str, table: str, why: str, when: str = "") -> str:
    condition = f" WHEN {when}" if when else ""
    return (
        f"CREATE TRIGGER {table}_{event.lower()} BEFORE {event} ON {table}{condition} "
        f"BEGIN SELECT RAISE(ABORT, '{why}'); END"
    )


_ERASED = (
    "NOT EXISTS (SELECT 1 FROM entries AS erasure JOIN entries AS entry ON entry.promise = erasure.promise "
    "WHERE erasure.kind = 'erased' AND entry.seq = OLD.seq)"
)
_UNCHAINED = (
    "NEW.seq <> (SELECT coalesce(max(seq), 0) + 1 FROM entries) OR NEW.previous <> "
    "coalesce((SELECT digest FROM entries WHERE seq = NEW.seq - 1), '')"
)

VERSION_1 = Migration(
    1,
    (
        f"""CREATE TABLE entries (
            seq INTEGER PRIMARY KEY,
            kind TEXT NOT NULL CHECK (kind IN ({", ".join(map(repr, KINDS))})),
            promise TEXT CHECK ((promise IS NULL) = (kind IN ('opened', 'rechecked'))),
            at TEXT NOT NULL,
            body TEXT NOT NULL,
            commitment TEXT NOT NULL,
            previous TEXT NOT NULL,
            digest TEXT NOT NULL UNIQUE
        ) STRICT""",
        "CREATE INDEX entries_by_promise ON entries (promise, seq)",
        "CREATE UNIQUE INDEX promises_once ON entries (promise) WHERE kind = 'issued'",
        "CREATE INDEX entries_by_kind ON entries (kind)",
        """CREATE TABLE promises (
            seq INTEGER PRIMARY KEY REFERENCES entries (seq),
            salt BLOB NOT NULL,
            name TEXT NOT NULL,
            target TEXT NOT NULL,
            cohort TEXT NOT NULL,
            original BLOB NOT NULL,
            point BLOB NOT NULL,
            features TEXT NOT NULL REFERENCES documents (digest),
            statement TEXT NOT NULL,
            signatures TEXT NOT NULL,
            key TEXT NOT NULL
        ) STRICT""",
        "CREATE INDEX promises_by_key ON promises (key)",
        """CREATE TABLE remarks (
            seq INTEGER PRIMARY KEY REFERENCES entries (seq),
            salt BLOB NOT NULL,
            text TEXT NOT NULL
        ) STRICT""",
        """CREATE TABLE outcomes (
            recheck INTEGER NOT NULL REFERENCES entries (seq),
            promise TEXT NOT NULL,
            outcome TEXT NOT NULL CHECK (outcome IN ('held', 'broken', 'expired', 'unscored')),
            PRIMARY KEY (recheck, promise)
        ) STRICT, WITHOUT ROWID""",
        "CREATE TABLE documents (digest TEXT PRIMARY KEY, content TEXT NOT NULL) STRICT",
        _refuse("INSERT", "entries", "entries must be appended to the end of the chain", _UNCHAINED),
        *(
            _refuse(event, table, "a ledger is append-only")
            for table in ("entries", "outcomes", "documents")
            for event in ("UPDATE", "DELETE")
        ),
        *(
            sql
            for table in ("promises", "remarks")
            for sql in (
                _refuse("UPDATE", table, "a ledger is append-only"),
                _refuse("DELETE", table, "only an erasure on record deletes", _ERASED),
                _refuse(
                    "INSERT", table, "content is written once", f"EXISTS (SELECT 1 FROM {table} WHERE seq = NEW.seq)"
                ),
            )
        ),
        _refuse(
            "INSERT",
            "documents",
            "documents are written once",
            "EXISTS (SELECT 1 FROM documents WHERE digest = NEW.digest)",
        ),
    ),
)

MIGRATIONS: tuple[Migration, ...] = (VERSION_1,)
"""All of them, in order."""


def version_of(connection: sqlite3.Connection) -> int:
    """Say which version the tables of a database have; 0 for a new one.

    Raises
    ------
    CorruptFile
        If the database is not a ledger.
    """
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    application = int(connection.execute("PRAGMA application_id").fetchone()[0])
    n_tables = int(connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0])
    if (application, version) == (0, 0) and n_tables == 0:
        return 0
    if application != APPLICATION or version < 1:
        raise CorruptFile("it is an SQLite database, but not a ledger of betarce")
    return version


def check_version(version: int, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Refuse a ledger that a newer version of betarce has written."""
    newest = migrations[-1].version
    if version > newest:
        raise CorruptFile(
            f"it has version {version} of the tables, and this version of betarce knows up to {newest}. Upgrade "
            "betarce to use it; nothing in it was touched"
        )


def check_tables(connection: sqlite3.Connection, version: int, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Refuse a database whose tables, views and triggers are not exactly those that betarce makes.

    A view in place of a table can compute for ever, and a trigger of somebody else runs with every promise recorded.

    Raises
    ------
    CorruptFile
        With the first that differs.
    """
    made = _tables_of(tuple(migration for migration in migrations if migration.version <= version))
    found = dict(_tables(connection))
    for name in sorted(made.keys() | found.keys()):
        if made.get(name) != found.get(name):
            what = "is missing" if name not in found else "was changed" if name in made else "was added"
            raise CorruptFile(f"its tables are not those of a ledger: {name[:80]!r} {what}. Restore it from a copy")


@lru_cache
def _tables_of(migrations: tuple[Migration, ...]) -> dict[str, tuple[str, str, str]]:
    """Give what a new database has after some migrations."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrate(connection, migrations)
        return dict(_tables(connection))


def _tables(connection: sqlite3.Connection) -> Iterator[tuple[str, tuple[str, str, str]]]:
    """Give everything in a database by its name: its kind, its table, and its SQL with single spaces.

    What `ANALYZE` counts is left out: it says nothing of the content.
    """
    for kind, name, table, sql in connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema"):
        if not str(name).startswith("sqlite_stat"):
            yield str(name), (str(kind), str(table), " ".join(str(sql).split()))


def migrate(connection: sqlite3.Connection, migrations: Sequence[Migration] = MIGRATIONS) -> int:
    """Bring the tables to the newest version, inside the transaction of the caller; give the version found."""
    found = version_of(connection)
    check_version(found, migrations)
    for migration in migrations:
        if migration.version > found:
            for statement in migration.statements:
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {migration.version}")
    return found
