"""Nothing that was acknowledged is lost: full disks, read-only files, other versions, many processes, killed ones."""

import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

import betarce as brce
from betarce.errors import CorruptFile, InvalidInput, NotWritten
from betarce.ledger.schema import MIGRATIONS, Migration
from betarce.ledger.store import Store
from ledger_kills import storm
from promises_by_hand import promises

HERE = Path(__file__).resolve().parents[1]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "promises.db"


@contextmanager
def largest_file(size):
    """Let no file grow beyond a size, as a disk that is full would."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextmanager
def small_disk(folder, size="1m"):
    """Mount a disk of its own, which only root can do."""
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], capture_output=True)
    if done.returncode:
        pytest.skip("no disk can be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


only_root = pytest.mark.skipif(os.geteuid() != 0 or shutil.which("mount") is None, reason="only root can mount a disk")


def test_a_full_disk_records_nothing_and_loses_nothing(path):
    with brce.Ledger(path) as ledger:
        before = ledger.record(promises(3))
        size = max(os.path.getsize(each) for each in path.parent.iterdir())
        with (
            largest_file(size),
            pytest.raises(NotWritten, match=r"the disk is full or does not answer.*Nothing of this was recorded; what"),
        ):
            ledger.record(promises(50, start=3))
        assert ledger.promises().index.tolist() == before
        assert ledger.verify().intact
        # With room again, the same call goes through.
        assert len(ledger.record(promises(50, start=3))) == 50
        assert ledger.verify().intact


@only_root
def test_a_small_disk_that_runs_full_loses_nothing(tmp_path):
    recorded = []
    with small_disk(tmp_path / "disk") as disk, brce.Ledger(disk / "promises.db") as ledger:
        with pytest.raises(NotWritten, match="the disk is full"):
            recorded.extend(name for turn in range(1000) for name in ledger.record(promises(20, start=20 * turn)))
        assert recorded
        assert ledger.promises().index.tolist() == recorded
        assert ledger.verify().intact


@only_root
def test_a_ledger_on_a_read_only_disk_can_be_read_and_says_why_not_written(tmp_path):
    with small_disk(tmp_path / "disk") as disk:
        path = disk / "promises.db"
        with brce.Ledger(path) as ledger:
            ledger.record(promises(3))
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        with brce.Ledger(path, read_only=True) as ledger:
            assert len(ledger.promises()) == 3
            assert ledger.verify().intact
        with pytest.raises(
            NotWritten,
            match=r"the file, its folder or its disk is read-only. Nothing of this was recorded.*read_only=True",
        ):
            brce.Ledger(path)


def test_a_ledger_opened_to_be_read_takes_nothing(path):
    with brce.Ledger(path) as ledger:
        ledger.record(promises(1))
    with (
        brce.Ledger(path, read_only=True) as ledger,
        pytest.raises(NotWritten, match=r"was opened to be read only. Nothing was recorded"),
    ):
        ledger.record(promises(2))


def test_a_ledger_that_is_not_there_cannot_be_read(path):
    with pytest.raises(InvalidInput, match="`path` must name a ledger; there is no file at"):
        brce.Ledger(path, read_only=True)
    assert not path.exists()


def test_paths_that_are_no_files_are_refused(tmp_path):
    with pytest.raises(InvalidInput, match="is a folder"):
        brce.Ledger(tmp_path)
    with pytest.raises(InvalidInput, match="is not a folder"):
        brce.Ledger(tmp_path / "nowhere" / "promises.db")
    with pytest.raises(InvalidInput, match=r"`path` must be a path, as text or as a pathlib.Path; got 3"):
        brce.Ledger(3)
    with pytest.raises(InvalidInput, match="is a device or a pipe"):
        brce.Ledger("/dev/null")


def test_a_foreign_file_is_left_alone(path):
    path.write_text("Dear diary, this is not a database. " * 100)
    with pytest.raises(CorruptFile, match="is not a usable ledger: it is no SQLite database"):
        brce.Ledger(path)
    assert path.read_text().startswith("Dear diary")


def test_a_database_of_something_else_is_left_alone(path):
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE cookies (name TEXT)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(CorruptFile, match="it is an SQLite database, but not a ledger of betarce"):
        brce.Ledger(path)
    assert path.read_bytes() == before


def test_an_empty_file_becomes_a_ledger_but_cannot_be_read_as_one(path):
    path.touch()
    with pytest.raises(CorruptFile, match="it is empty"):
        brce.Ledger(path, read_only=True)
    with brce.Ledger(path) as ledger:
        assert ledger.verify().intact


def test_a_damaged_file_is_found(path):
    with brce.Ledger(path) as ledger:
        ledger.record(promises(60))
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 40_000] = b"\xff" * 40_000
    path.write_bytes(bytes(content))
    with (
        brce.Ledger(path, read_only=True) as ledger,
        pytest.raises(CorruptFile, match=r"is not a usable ledger: .*malformed\. Restore it from a copy"),
    ):
        ledger.promises()


def test_a_ledger_of_a_newer_version_is_not_touched(path):
    with brce.Ledger(path) as ledger:
        ledger.record(promises(1))
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 7")
    connection.close()
    before = path.read_bytes()
    message = "it has version 7 of the tables, and this version of betarce knows up to 1. Upgrade"
    for read_only in (False, True):
        with pytest.raises(CorruptFile, match=message):
            brce.Ledger(path, read_only=read_only)
    assert path.read_bytes() == before


SECOND = Migration(2, ("ALTER TABLE remarks ADD COLUMN author TEXT NOT NULL DEFAULT ''", "CREATE TABLE extra (a TEXT)"))


def test_a_ledger_of_an_older_version_is_brought_up_and_keeps_everything(path):
    with brce.Ledger(path) as ledger:
        names = ledger.record(promises(5))
        ledger.withdraw(names[0], reason="typo")
        head = ledger.head()
    Store(path, migrations=(*MIGRATIONS, SECOND)).close()
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA user_version").fetchone() == (2,)
    assert connection.execute("SELECT text, author FROM remarks").fetchall() == [('"typo"', "")]
    assert connection.execute("SELECT count(*) FROM entries").fetchone() == (7,)
    assert connection.execute("SELECT digest FROM entries ORDER BY seq DESC").fetchone() == (head.digest,)
    connection.close()
    with pytest.raises(CorruptFile, match="it has version 2 of the tables, and this version of betarce knows up to 1"):
        brce.Ledger(path)


def test_a_migration_that_fails_leaves_the_ledger_as_it_was(path):
    with brce.Ledger(path) as ledger:
        ledger.record(promises(2))
    broken = Migration(2, ("CREATE TABLE extra (a TEXT)", "CREATE TABLE entries (a TEXT)"))
    with pytest.raises(NotWritten, match="table entries already exists"):
        Store(path, migrations=(*MIGRATIONS, broken))
    with brce.Ledger(path) as ledger:
        assert ledger.verify().intact
        assert len(ledger.promises()) == 2


def test_a_writer_of_the_old_version_stops_when_the_ledger_is_brought_up_beside_it(path):
    with brce.Ledger(path) as ledger:
        ledger.record(promises(1))
        Store(path, migrations=(*MIGRATIONS, SECOND)).close()
        with pytest.raises(CorruptFile, match="it has version 2 of the tables"):
            ledger.record(promises(1, start=1))


@pytest.mark.slow
def test_a_busy_ledger_is_waited_for_and_then_given_up(path):
    with brce.Ledger(path, timeout=0.2) as ledger:
        ledger.record(promises(1))
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(NotWritten, match=r"others were writing all the time. Nothing of this was recorded"):
            ledger.record(promises(1, start=1))
        assert len(ledger.promises()) == 1  # reading does not wait
        other.execute("ROLLBACK")
        other.close()
        assert len(ledger.record(promises(1, start=1))) == 1


@pytest.mark.slow
def test_threads_may_share_a_ledger(path):
    with brce.Ledger(path) as ledger:
        errors = []

        def work(start):
            try:
                for i in range(5):
                    ledger.record(promises(2, start=100 * start + 2 * i))
            except brce.errors.BetarceError as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        assert len(ledger.promises()) == 40
        assert ledger.verify().intact


WRITER = """
import sys, betarce as brce
from promises_by_hand import promises
with brce.Ledger(sys.argv[1]) as ledger:
    for turn in range(10):
        ledger.record(promises(3, start=int(sys.argv[2]) + 3 * turn))
"""


@pytest.mark.slow
def test_processes_may_open_and_write_one_new_ledger_at_once(path):
    search = os.pathsep.join([str(Path(brce.__file__).parents[1]), str(HERE)])
    started = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), str(1000 * i)],
            env={**os.environ, "PYTHONPATH": search},
            stderr=subprocess.PIPE,
        )
        for i in range(2)
    ]
    for process in started:
        _, said = process.communicate()
        assert process.returncode == 0, said.decode()
    with brce.Ledger(path) as ledger:
        assert len(ledger.promises()) == 60
        assert ledger.verify().intact


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="writers are forked")
def test_writers_killed_in_the_middle_lose_nothing_that_was_acknowledged(path):
    def answers(name):
        kill, turn = map(int, name.split("-")[1:])
        return promises(2, start=1_000_000 * kill + 2 * turn)

    found = storm(path, answers, kills=25, writers=3, longest=0.3)
    assert found.kills == 25
    assert found.acknowledged > 0
    assert found.lost == 0
    assert found.problems == ()
    assert found.recorded >= found.acknowledged
