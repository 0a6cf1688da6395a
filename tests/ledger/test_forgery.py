"""Whoever has a ledger's file can write anything into it: what betarce could not have written is refused or found."""

import os
import sqlite3
from contextlib import closing

import pandas as pd
import pytest
from typer.testing import CliRunner

import betarce as brce
from betarce.cli import app
from betarce.errors import CorruptFile, InvalidInput
from betarce.ledger import Head, SigningKey, read_envelope, read_statement, verify
from betarce.ledger.chain import canonical
from ledger_forgery import forge
from promises_by_hand import Clock, promises

ENDLESS = (
    "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers) "
    "SELECT n AS seq, 'issued' AS kind, NULL AS promise, '' AS at, '' AS body, '' AS commitment, '' AS previous, "
    "'' AS digest FROM numbers"
)


@pytest.fixture
def path(tmp_path):
    with brce.Ledger(tmp_path / "promises.db", clock=Clock()) as ledger:
        first, second = ledger.record(promises(2), cohort="young")
        ledger.withdraw(first, reason="typo")
        ledger.recheck(pd.Series({second: "rejected"}), deployed=True)
    return tmp_path / "promises.db"


def execute(path, *statements):
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def read_everything(path):
    with brce.Ledger(path, read_only=True, clock=Clock()) as ledger:
        for name in ledger.promises().index:
            ledger.envelope(name)
        return ledger.history(), ledger.monitor(), ledger.points(), ledger.head()


def problems(path):
    with brce.Ledger(path, read_only=True, clock=Clock()) as ledger:
        return "; ".join(map(str, ledger.verify().problems))


class TestSchema:
    """A ledger has the tables, triggers and indices of its version, and nothing else."""

    @pytest.mark.parametrize("read_only", [True, False])
    @pytest.mark.parametrize(
        ("statements", "what"),
        [
            (["DROP TABLE outcomes", "CREATE VIEW outcomes AS SELECT 1 AS recheck"], "'outcomes' was changed"),
            (["DROP TRIGGER entries_update"], "'entries_update' is missing"),
            (["CREATE TRIGGER t AFTER INSERT ON entries BEGIN SELECT randomblob(1000); END"], "'t' was added"),
            (["CREATE TABLE notes (text TEXT)"], "'notes' was added"),
            (["DROP TABLE remarks", "CREATE TABLE remarks (seq, salt, text)"], "'remarks' was changed"),
            (["PRAGMA writable_schema = ON", "UPDATE sqlite_schema SET sql = 'x' WHERE name = 'remarks'"], ""),
        ],
    )
    def test_other_tables_than_those_of_betarce_are_refused(self, path, statements, what, read_only):
        execute(path, *statements)
        with pytest.raises(CorruptFile, match=f"is not a usable ledger: .*{what}"):
            brce.Ledger(path, read_only=read_only)

    def test_a_view_that_never_ends_is_not_read(self, path):
        execute(path, *(f"DROP TABLE {table}" for table in ("outcomes", "remarks", "promises", "entries")))
        execute(path, f"CREATE VIEW entries AS {ENDLESS}")
        with pytest.raises(CorruptFile, match="its tables are not those of a ledger: 'entries' was changed"):
            brce.Ledger(path, read_only=True)

    def test_what_the_database_counts_for_itself_does_no_harm(self, path):
        execute(path, "ANALYZE", "VACUUM")
        assert not problems(path)


UNREADABLE = [
    ("promises", "name", "'Anna'", "strict JSON"),
    ("promises", "name", """'{"timestamp":"x","unit":"s"}'""", "name cannot be read"),
    ("promises", "name", "'[1]'", "stands for no value"),
    ("promises", "name", f"'{'[' * 100_000}'", "levels"),
    ("promises", "name", f"'{'9' * 5000}'", "digits"),
    ("promises", "name", "'1e999'", "more than a number can be"),
    ("promises", "target", "'null'", "its target is none"),
    ("promises", "target", "'[1,1]'", "no target is"),
    ("promises", "cohort", "'3'", "its cohort is no text"),
    ("promises", "point", "x'00'", "its point is no list of numbers"),
    ("promises", "point", "x''", "different lengths"),
    ("promises", "original", f"x'{'ff' * 8}'", "different lengths"),
    ("promises", "signatures", "'{}'", "its signatures are no list"),
    ("promises", "signatures", "'[3]'", "one of its `signatures` does not have"),
    ("promises", "statement", "'{'", "strict JSON"),
    ("remarks", "text", "'[]'", "its remark is no text"),
    ("remarks", "text", "CAST(x'22ff22' AS TEXT)", "Could not decode to UTF-8"),
    ("entries", "at", "'yesterday'", "is not a time"),
    ("entries", "body", "'[]'", "entry cannot say"),
    ("entries", "body", """'{"delta": 2}'""", "laid out otherwise"),
]


@pytest.mark.parametrize(("table", "column", "value", "message"), UNREADABLE)
def test_what_cannot_be_read_ends_in_an_error_of_our_own(path, table, column, value, message):
    forge(path, lambda connection: connection.execute(f"UPDATE {table} SET {column} = {value}"), anew=False)
    assert message in said(path)


def said(path):
    """What reading everything ends in, or what `verify` finds."""
    try:
        read_everything(path)
        return problems(path)
    except CorruptFile as error:
        return str(error)


FORGED = [
    ("UPDATE promises SET name = '77' WHERE seq = 3", "entry 3: the key of its content is not that of its content"),
    ("UPDATE promises SET target = '\"rejected\"' WHERE seq = 3", "its statement has another target than the ledger"),
    ("UPDATE promises SET point = original WHERE seq = 3", "its statement has another point than the ledger"),
    ("UPDATE promises SET key = 'x' WHERE seq = 3", "the key of its content is not that of its content"),
    ("UPDATE promises SET salt = x'00' WHERE seq = 3", "its content was changed"),
    ('UPDATE promises SET signatures = \'[{"keyid":"x","sig":""}]\' WHERE seq = 3', "has another signer than"),
    ("UPDATE promises SET statement = (SELECT statement FROM promises WHERE seq = 2)", "another name of its promise"),
    ("UPDATE entries SET body = replace(body, '0.9', '0.8') WHERE kind = 'issued'", "another delta than the ledger"),
    ("UPDATE entries SET body = replace(body, '0.95', '0.5') WHERE kind = 'issued'", "another confidence than the"),
    (
        "UPDATE entries SET body = replace(body, 'identity\":\"', 'identity\":\"0') WHERE seq = 3",
        "another identity than",
    ),
    (
        "UPDATE entries SET body = replace(body, 'null', '\"2030-01-01T00:00:00.000000Z\"') WHERE kind = 'issued'",
        "another end than the ledger",
    ),
    ("UPDATE entries SET kind = 'kept' WHERE kind = 'broken'", "is of no kind that a ledger has: 'kept'"),
    ("UPDATE entries SET kind = 'honoured' WHERE kind = 'broken'", "a 'honoured' entry cannot say"),
    ("UPDATE entries SET promise = (SELECT promise FROM entries WHERE seq = 2) WHERE kind = 'broken'", "was withdrawn"),
    ("UPDATE entries SET promise = 'nobody' WHERE kind = 'broken'", "which was never issued"),
    ("UPDATE entries SET body = replace(body, '5', '4') WHERE kind = 'broken'", "no re-check before it says that the"),
    ("UPDATE entries SET commitment = 'x' WHERE kind = 'broken'", "no 'broken' entry has such content"),
    ("UPDATE entries SET body = replace(body, ':1', ':7') WHERE kind = 'rechecked'", "its counts are not those of its"),
    ("UPDATE outcomes SET outcome = 'held'", "its counts are not those of its outcomes"),
    ("UPDATE outcomes SET promise = 'nobody'", "about the promise nobody, which was never issued"),
    ("UPDATE outcomes SET outcome = 'kept'", "its counts are not those of its outcomes"),
    ("UPDATE documents SET content = '{}'", "does not match its digest"),
]


@pytest.mark.parametrize(("statement", "message"), FORGED)
def test_a_forged_ledger_with_its_chain_computed_anew_must_still_add_up(path, statement, message):
    forge(path, lambda connection: connection.execute(statement))
    assert message in found_by_verify(path)


def found_by_verify(path):
    try:
        return problems(path)
    except CorruptFile as error:
        return str(error)


def test_a_ledger_that_nobody_forged_adds_up(path):
    forge(path, lambda connection: None)
    assert problems(path) == ""


def test_a_value_that_is_too_long_is_not_read(path, monkeypatch):
    forge(path, lambda connection: connection.execute("UPDATE remarks SET text = zeroblob(1) || hex(zeroblob(50000))"))
    monkeypatch.setattr("betarce.ledger.store.MOST_BYTES", 50_000)
    assert "string or blob too big" in said(path)


@pytest.mark.parametrize("n_entries", [10**90, -(10**90), 2**63, 0, -1])
def test_a_head_of_any_number_of_entries_is_compared(path, n_entries):
    with brce.Ledger(path, read_only=True, clock=Clock()) as ledger:
        head = ledger.head()
        found = ledger.verify(Head(head.ledger, n_entries, head.digest, head.at))
    assert not found.intact


class TestAfterOthers:
    """What was closed meanwhile stays closed."""

    def test_a_withdrawn_promise_is_not_opened_again_by_a_recheck_that_began_before(self, tmp_path):
        with brce.Ledger(tmp_path / "promises.db") as ledger:
            [name] = ledger.record(promises(1))
            found = ledger.recheck(pd.Series({name: "rejected"}), dry_run=True)
            ledger.withdraw(name)
            ledger.record_recheck(found, deployed=True)
            assert ledger.promise(name).state == "withdrawn"
            assert ledger.verify().intact

    def test_what_has_expired_is_noted_once_although_two_rechecks_saw_it(self, tmp_path):
        clock = Clock()
        with brce.Ledger(tmp_path / "promises.db", clock=clock) as ledger:
            [name] = ledger.record(promises(1), expires="2026-03-02")
            clock.advance(days=9)
            found = [ledger.recheck(pd.Series({name: "approved"}), dry_run=True) for _ in range(2)]
            for each in found:
                ledger.record_recheck(each, deployed=True)
            assert ledger.history()["kind"].tolist().count("expired") == 1
            assert ledger.verify().intact

    def test_a_recheck_of_another_ledger_is_not_put_on_record(self, tmp_path):
        with brce.Ledger(tmp_path / "one.db") as one, brce.Ledger(tmp_path / "other.db") as other:
            [name] = one.record(promises(1))
            found = one.recheck(pd.Series({name: "approved"}), dry_run=True)
            with pytest.raises(InvalidInput, match="`found` must be a re-check of this ledger; it is about promises"):
                other.record_recheck(found)
            assert other.head().n_entries == 1

    def test_nothing_is_written_about_what_was_erased(self, tmp_path):
        with brce.Ledger(tmp_path / "promises.db") as ledger:
            [name] = ledger.record(promises(1))
            ledger.erase(name)
            with pytest.raises(InvalidInput, match="`reason` must be empty for what was erased"):
                ledger.withdraw(name, reason="Anna Smith asked for it")
            ledger.withdraw(name)
            assert ledger.verify().intact


class TestStatements:
    """A statement or an envelope with everything computed anew must still say one thing."""

    def test_a_certificate_for_another_point_is_found(self, path, tmp_path):
        with brce.Ledger(path, read_only=True) as ledger:
            one, other = (read_statement(ledger.envelope(name).payload) for name in ledger.promises().index)
        forged = one.__class__(**{**vars(one), "certificate": other.certificate})
        with pytest.raises(CorruptFile, match="`certificate` is not for `point`"):
            read_statement(forged.to_bytes())

    @pytest.mark.parametrize("kind", ["text/plain", "", "application/vnd.in-toto+json "])
    def test_signatures_over_another_kind_of_content_sign_no_statement(self, path, tmp_path, kind):
        key = SigningKey.new()
        with brce.Ledger(path, read_only=True) as ledger:
            plain = ledger.envelope(ledger.promises().index[0])
        signed = plain.__class__(plain.payload, kind).signed(key)
        written = tmp_path / "statement.json"
        written.write_text(canonical(signed.to_plain()))
        [problem] = verify(written, keys=[key.public]).problems
        assert "its `payloadType` is" in problem

    def test_a_kind_that_no_file_can_hold_is_refused(self):
        with pytest.raises(CorruptFile, match="its `payloadType` is no media type"):
            read_envelope({"payload": "", "payloadType": "\ud800", "signatures": []})


COMMANDS = [
    *(["ledger", name, "--ledger", "promises.db"] for name in ("head", "list")),
    ["ledger", "points", "--ledger", "promises.db", "--out", "points.csv"],
    ["ledger", "export", "--ledger", "promises.db", "--out", "statements.jsonl"],
    ["ledger", "show", "--ledger", "promises.db", "0000"],
    ["ledger", "withdraw", "--ledger", "promises.db", "0000"],
    ["ledger", "erase", "--ledger", "promises.db", "0000"],
    ["monitor", "--ledger", "promises.db"],
    ["verify", "promises.db"],
    ["verify", "promises.db", "--public-key", "promises.db"],
    ["ledger", "head", "--ledger", "good.db", "--compare", "promises.db"],
]


IN_PLACE = ["folder", "link", "bytes", "view", "cell", "empty"]
# Another file than a ledger may be a pipe, as in `betarce verify <(gpg --decrypt ...)`.
PAIRS = [(words, "pipe") for words in COMMANDS[:8]] + [(words, each) for words in COMMANDS for each in IN_PLACE]


@pytest.mark.parametrize(("words", "content"), PAIRS, ids=str)
def test_no_command_ends_in_a_traceback_whatever_is_in_place_of_a_ledger(words, content, path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.rename("promises.db", "good.db")
    make(content, "promises.db")
    done = CliRunner().invoke(app, words)
    assert done.exit_code in (1, 2), done.output
    assert isinstance(done.exception, SystemExit), done.exception
    assert done.stderr.startswith(("Error: ", "Usage: ")) or "is not as it is claimed to be" in done.stdout


def make(content, name):
    if content == "folder":
        os.mkdir(name)
    elif content == "pipe":
        os.mkfifo(name)
    elif content == "link":
        os.symlink("nowhere", name)
    elif content in ("view", "cell"):
        with open("good.db", "rb") as good, open(name, "wb") as bad:
            bad.write(good.read())
        if content == "view":
            execute(name, "DROP TABLE outcomes", f"CREATE VIEW outcomes AS {ENDLESS}")
        else:
            forge(name, lambda connection: connection.execute("UPDATE entries SET body = '[' || body"), anew=False)
    else:
        with open(name, "wb") as file:
            file.write(b"\x00\xff" * 5000 if content == "bytes" else b"")
