"""Mutants of ledgers and of what they hand out: refused by one of our own errors, found, or read as they say."""

import json
import shutil
import sqlite3

import numpy as np
import pandas as pd
import pytest

import betarce as brce
from betarce.ledger import SigningKey, load_head, read_envelope, read_predictions, read_statement, save_head, verify
from betarce.ledger.chain import canonical, sha256
from betarce.ledger.keys import PublicKey
from ledger_forgery import forge
from mutants import TIMES, TOKENS, WRONG, byte_mutants, data_mutants
from promises_by_hand import Clock, promises

KEY = SigningKey.new()
TABLES = ("entries", "promises", "promises", "remarks", "outcomes", "documents")


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    """A ledger in which everything has happened that can happen."""
    path = tmp_path_factory.mktemp("ledger") / "promises.db"
    with brce.Ledger(path, clock=Clock()) as ledger:
        names = ledger.record(promises(4), cohort="young", expires="2027-01-01", key=KEY)
        names += ledger.record(promises(2, start=10), private=True)
        ledger.withdraw(names[0], reason="typo")
        ledger.refer(names[1], reason="a judge shall decide")
        predicted = {name: "approved" if i % 2 else "rejected" for i, name in enumerate(names)}
        ledger.recheck(pd.Series(predicted), name="2026-04", deployed=True)
        ledger.erase(names[2])
        ledger.honour(names[3])
    return path


def whole(path):
    """Read everything that a ledger says; and whether it says that it is intact."""
    with brce.Ledger(path, read_only=True, clock=Clock()) as ledger:
        found = ledger.promises()
        there = list(found.index[~found["erased"].astype(bool)])
        envelopes = [ledger.envelope(name).to_plain() for name in there]
        ledger.recheck(pd.Series(dict.fromkeys(found.index, "approved"), dtype=object)).to_plain()
        assert repr(ledger)
        beside = [ledger.history().to_csv(), ledger.monitor().to_plain(), ledger.points().to_csv()]
        promised = found[["name", "target", "delta", "confidence", "expires", "erased"]].to_csv()
        return ledger.verify().intact, (promised, envelopes), (beside, found.to_csv(), ledger.head())


def read_as(count, path, honest):
    with count.refusals():
        intact, promised, others = whole(path)
        if not intact:
            count.read("found by `verify`")
            return
        _, true, true_others = whole(honest)
        assert promised == true
        count.read("equal" if others == true_others else "read as they say")


@pytest.mark.slow
def test_a_ledger_with_other_bytes_is_refused_or_found_or_equal(honest, tally, tmp_path):
    count = tally("ledgers, bytes")
    path = tmp_path / "promises.db"
    for content in byte_mutants(honest.read_bytes(), 1500, seed=11):
        path.write_bytes(content)
        read_as(count, path, honest)


@pytest.mark.slow
def test_a_ledger_that_says_something_else_in_a_right_chain_is_refused_or_found_or_read_as_it_says(
    honest, tally, tmp_path
):
    count = tally("ledgers, data in a right chain")
    rng = np.random.default_rng(12)
    path = tmp_path / "promises.db"
    for _ in range(500 * TIMES):
        shutil.copy(honest, path)
        forge(path, lambda connection: change_a_value(connection, rng))
        read_as(count, path, honest)


def change_a_value(connection, rng):
    """Write something else into one cell of one table."""
    while True:
        table = str(rng.choice(TABLES))
        columns = [name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})")]
        rows = connection.execute(f"SELECT * FROM {table}").fetchall()
        row, j = rows[int(rng.integers(len(rows)))], int(rng.integers(len(columns)))
        same = " AND ".join(f"{column} IS ?" for column in columns)
        try:
            connection.execute(f"UPDATE {table} SET {columns[j]} = ? WHERE {same}", (other(row[j], rng), *row))
        except (sqlite3.IntegrityError, UnicodeEncodeError):
            continue  # SQLite has no place for it
        return


def other(value, rng):
    """Give another value of the same type, as the strict tables want it."""
    seed = int(rng.integers(2**31))
    match value:
        case bytes():
            odd = np.full(len(value) // 8, rng.choice([np.nan, np.inf, 1e300, -1.0]))
            return [value[:-3], value + b"\xff" * 8, odd.tobytes(), b""][seed % 4]
        case int():
            return [-1, 0, value + 1, 2**40][seed % 4]
        case str() if value[:1] in ("{", "[") and value not in ("{}", "[]") and seed % 4:
            return json.dumps(next(data_mutants(json.loads(value), 1, seed)), sort_keys=True, separators=(",", ":"))
        case str():
            odd = json.dumps(WRONG[int(rng.integers(len(WRONG)))])
            token = TOKENS[int(rng.integers(len(TOKENS)))].decode("utf-8", "replace")
            return [odd, token, value + "x", value[:-1]][int(rng.integers(4))]
    return "0123456789abcdef"


@pytest.fixture(scope="module")
def envelopes(honest):
    with brce.Ledger(honest, read_only=True, clock=Clock()) as ledger:
        frame = ledger.promises()
        return [ledger.envelope(name) for name in frame.index[~frame["erased"].astype(bool)]]


@pytest.mark.slow
def test_statements_with_other_bytes_are_refused_or_equal(envelopes, tally, tmp_path):
    count = tally("statements, bytes")
    path = tmp_path / "statements.jsonl"
    for each in (envelopes[0], envelopes[-1]):
        for content in byte_mutants(json.dumps(each.to_plain()).encode(), 700, seed=13):
            path.write_bytes(content)
            with count.refusals():
                if not verify(path).holds:
                    raise brce.errors.CorruptFile("found")
                assert read_envelope(content.decode()).payload == each.payload
                count.read("equal")


@pytest.mark.slow
def test_a_statement_that_says_something_else_under_right_digests_is_refused_or_read_as_it_says(envelopes, tally):
    count = tally("statements, data under right digests")
    for each in (envelopes[0], envelopes[-1]):
        for mutant in data_mutants(json.loads(each.payload), 700, seed=14):
            payload = with_digests(mutant)
            with count.refusals():
                again = read_statement(payload)
                assert again.to_bytes() == payload
                count.read("equal" if payload == each.payload else "read as they say")


def with_digests(document):
    """Give the parts of a statement the digests that they would have had."""
    predicate = document.get("predicate")
    if isinstance(predicate, dict) and "subject" in document:
        parts = {**predicate, "subject": document["subject"]}
        parts.pop("digests", None)
        digests = {name: sha256(canonical(part).encode())[:16] for name, part in parts.items()}
        document = {**document, "predicate": {**predicate, "digests": digests}}
    return canonical(document).encode()


@pytest.mark.slow
def test_no_mutant_of_a_signed_statement_passes_as_signed(envelopes, tally):
    count = tally("signed statements, bytes")
    [text] = [json.dumps(each.to_plain()) for each in envelopes[:1]]
    for content in byte_mutants(text.encode(), 1500, seed=15):
        with count.refusals():
            envelope = read_envelope(content.decode("utf-8", "replace"))
            envelope.check_signatures([KEY.public])
            assert envelope == envelopes[0]
            count.read("equal")


@pytest.mark.slow
def test_a_head_with_other_bytes_is_refused_or_fits_the_ledger_or_does_not(honest, tally, tmp_path):
    count = tally("heads of ledgers, bytes")
    path = tmp_path / "head.json"
    with brce.Ledger(honest, read_only=True, clock=Clock()) as ledger:
        save_head(ledger.head(), path)
        text = path.read_bytes()
        for content in byte_mutants(text, 1000, seed=16):
            path.write_bytes(content)
            with count.refusals():
                head = load_head(path)
                count.read("equal" if head == ledger.head() else "read as they say")
                assert ledger.verify(head).intact == (
                    (head.ledger, head.n_entries, head.digest)
                    == (ledger.head().ledger, ledger.head().n_entries, ledger.head().digest)
                )


@pytest.mark.slow
def test_a_key_with_other_bytes_is_refused_or_is_a_key(tally, tmp_path):
    count = tally("keys, bytes")
    private, public = KEY.save(tmp_path / "key.pem")
    for path, public_of in ((private, lambda path: SigningKey.load(path).public), (public, PublicKey.load)):
        for content in byte_mutants(path.read_bytes(), 500, seed=17):
            path.write_bytes(content)
            with count.refusals():
                count.read("equal" if public_of(path).pem == KEY.public.pem else "another key")


@pytest.mark.slow
def test_predictions_with_other_bytes_are_refused_or_read_as_they_say(honest, tally, tmp_path):
    count = tally("predictions, bytes")
    path = tmp_path / "scores.csv"
    with brce.Ledger(honest, read_only=True, clock=Clock()) as ledger:
        known = ledger.open_promises()
        text = "promise,prediction\n" + "".join(f"{each.id},approved\n" for each in known)
        for content in byte_mutants(text.encode(), 400, seed=18):
            path.write_bytes(content)
            with count.refusals():
                found = read_predictions(path, known)
                assert set(found.index) <= {each.id for each in known}
                ledger.recheck(found)
                count.read("equal" if list(found) == ["approved"] * len(known) else "read as they say")
