"""The ledger keeps what was promised, and shows every change."""

import re
import sqlite3
from datetime import UTC, date, datetime, timedelta

import pandas as pd
import pytest

import betarce as brce
from betarce.errors import ClockSkew, CorruptFile, InvalidInput
from betarce.ledger import Head, PublicKey, SigningKey, load_head, read_statement, save_head
from betarce.results.result import Result
from promises_by_hand import FEATURES, NOON, Clock, failure, promised, promises


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def ledger(tmp_path, clock):
    with brce.Ledger(tmp_path / "promises.db", clock=clock) as opened:
        yield opened


def edit(ledger_path, *statements):
    """Change a ledger behind its back, triggers and all, as whoever has the file can."""
    connection = sqlite3.connect(ledger_path)
    triggers = connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
    for name, _ in triggers:
        connection.execute(f"DROP TRIGGER {name}")
    for statement in statements:
        connection.execute(statement)
    for _, sql in triggers:
        connection.execute(sql)
    connection.commit()
    connection.close()


def test_certified_rows_are_recorded_and_the_others_promise_nothing(ledger):
    names = ledger.record(promises(3), cohort="young")
    frame = ledger.promises()
    assert list(frame.index) == names
    assert frame["name"].tolist() == [0, 1, 2]
    assert frame["state"].tolist() == ["issued"] * 3
    assert frame["cohort"].tolist() == ["young"] * 3
    assert frame["target"].tolist() == ["approved"] * 3
    assert frame["delta"].tolist() == [0.9] * 3
    assert frame["issued"].tolist() == [pd.Timestamp(NOON)] * 3
    assert frame["expires"].isna().all()


def test_a_ledger_says_what_it_is(ledger):
    ledger.record(promises(2))
    assert repr(ledger).endswith("promises.db': 2 promises, 3 entries)")


def test_a_result_without_any_certified_row_records_nothing(ledger):
    assert ledger.record(Result([failure()], FEATURES)) == []
    assert ledger.promises().empty


def test_what_is_no_result_is_refused(ledger):
    with pytest.raises(InvalidInput, match="`result` must be what `explain` returned; got list"):
        ledger.record([promised("a")])


def test_recording_the_same_answer_again_does_no_harm(ledger):
    first = ledger.record(promises(3))
    assert ledger.record(promises(3)) == first
    assert ledger.head().n_entries == 4


def test_an_answer_that_was_withdrawn_can_be_promised_again(ledger):
    [first] = ledger.record(promises(1))
    ledger.withdraw(first)
    [second] = ledger.record(promises(1))
    assert second != first
    assert ledger.promises()["state"].tolist() == ["withdrawn", "issued"]


def test_points_and_names_come_back_to_the_bit(ledger):
    result = Result([promised(name, income=40_000.1 + i) for i, name in enumerate(["Zoë", 7, ("a", 1)])], FEATURES)
    for item, name in zip(result, ledger.record(result), strict=True):
        promise = ledger.promise(name)
        assert promise.name == item.name
        assert promise.point.tobytes() == item.points["robust"].tobytes()
        assert promise.original.tobytes() == item.points["original"].tobytes()


def test_hostile_text_is_kept_as_text(ledger):
    names = ["'; DROP TABLE entries; --", "\x00\x1b[31m", "\ud800 lone", "<script>", "=cmd()", "\u202eright to left"]
    ids = ledger.record(Result([promised(name) for name in names], FEATURES), cohort=names)
    assert ledger.promises()["name"].tolist() == names
    assert ledger.promises()["cohort"].tolist() == names
    ledger.withdraw(ids, reason="\ud800 ' \" \x00")
    assert set(ledger.history()["remark"]) == {"", "\ud800 ' \" \x00"}
    assert ledger.verify().intact


@pytest.mark.parametrize(
    ("cohort", "expected"),
    [
        (["a", "b", "c"], ["a", "b"]),
        (pd.Series({2: "z", 1: "y", 0: "x"}), ["x", "y"]),
        (5, ["5", "5"]),
        (None, ["", ""]),
    ],
)
def test_cohorts_are_given_for_all_by_row_or_by_name(ledger, cohort, expected):
    ledger.record(promises(2), cohort=cohort)
    assert ledger.promises()["cohort"].tolist() == expected


@pytest.mark.parametrize(
    ("cohort", "message"),
    [
        (["a"], r"`cohort` must have one value per row of the result \(3\); got 1"),
        (pd.Series({0: "x"}), "`cohort` must have one value for each row of the result; 1 has none"),
        (pd.Series(["x"] * 4, index=[0, 0, 1, 2]), "`cohort` must have each row name once"),
    ],
)
def test_cohorts_that_do_not_fit_are_refused(ledger, cohort, message):
    with pytest.raises(InvalidInput, match=message):
        ledger.record(promises(2), cohort=cohort)
    assert ledger.promises().empty


@pytest.mark.parametrize(
    ("expires", "moment"),
    [
        ("2026-12-31", datetime(2027, 1, 1, tzinfo=UTC)),
        (date(2026, 12, 31), datetime(2027, 1, 1, tzinfo=UTC)),
        ("2026-12-31T18:00+01:00", datetime(2026, 12, 31, 17, tzinfo=UTC)),
        (timedelta(days=1), NOON + timedelta(days=1)),
        (NOON + timedelta(hours=1), NOON + timedelta(hours=1)),
    ],
)
def test_promises_expire_when_they_were_said_to(ledger, clock, expires, moment):
    [name] = ledger.record(promises(1), expires=expires)
    assert ledger.promise(name).expires == moment
    clock.at = moment - timedelta(microseconds=1)
    assert ledger.promise(name).state == "issued"
    clock.at = moment
    assert ledger.promise(name).state == "expired"
    assert ledger.promises(state="expired").index.tolist() == [name]


@pytest.mark.parametrize(
    "expires", ["tomorrow", 90, "2026-13-01", datetime(2027, 1, 1), "2027-01-01T12:00:00", timedelta.max]
)
def test_an_expiry_that_is_no_moment_is_refused(ledger, expires):
    with pytest.raises(InvalidInput, match="`expires` must be a date such as '2026-12-31'"):
        ledger.record(promises(1), expires=expires)


def test_an_expiry_before_the_issue_is_refused(ledger):
    with pytest.raises(InvalidInput, match=r"`expires` must be later than the issue .*; got '2026-02-28'"):
        ledger.record(promises(1), expires="2026-02-28")


def test_states_follow_from_what_happened(ledger):
    a, b, c = ledger.record(promises(3))
    ledger.withdraw(a, reason="sent by mistake")
    ledger.honour([b])
    ledger.refer(c, reason="to the credit committee")
    assert ledger.promises()["state"].tolist() == ["withdrawn", "honoured", "issued"]
    assert ledger.promise(c).open
    history = ledger.history(a)
    assert history["kind"].tolist() == ["issued", "withdrawn"]
    assert history["remark"].tolist() == ["", "sent by mistake"]


def test_a_promise_that_is_closed_stays_closed(ledger):
    a, b = ledger.record(promises(2))
    ledger.withdraw(a)
    with pytest.raises(InvalidInput, match=rf"must be open to be honoured; {a} is withdrawn already. Nothing was"):
        ledger.honour([b, a])
    assert ledger.promise(b).state == "issued"


def test_promises_are_found_by_the_beginning_of_their_name(ledger):
    [name] = ledger.record(promises(1))
    assert ledger.promise(name[:6]).id == name
    for wrong, message in [
        ("zzzz", "there is none whose name begins with 'zzzz'"),
        ("ab", "first 4 characters"),
        (17, "must be a name on record"),
        ("ab%_", "must be a name on record"),
    ]:
        with pytest.raises(InvalidInput, match=message):
            ledger.promise(wrong)


def test_no_promises_at_all_is_wrong_use(ledger):
    with pytest.raises(InvalidInput, match="`promises` must name at least one promise"):
        ledger.withdraw([])
    with pytest.raises(InvalidInput, match="`erase` must be given either `promises` or `name`"):
        ledger.erase()
    with pytest.raises(InvalidInput, match="there is none called 'nobody'"):
        ledger.erase(name="nobody")
    with pytest.raises(InvalidInput, match="`state` must be one of issued"):
        ledger.promises(state="lost")
    with pytest.raises(InvalidInput, match="`reason` must be text; got 3"):
        ledger.withdraw(ledger.record(promises(1)), reason=3)


def test_the_statement_of_a_promise_can_be_handed_out_and_checked(ledger):
    key = SigningKey.new()
    [name] = ledger.record(promises(1), key=key, expires="2026-12-31")
    envelope = ledger.envelope(name)
    envelope.check_signatures([key.public])
    statement = read_statement(envelope.payload)
    assert statement.promise == name
    assert statement.signer == key.public.keyid
    assert statement.point["values"]["income"] == 40_000.0
    assert statement.certificate.target == "approved"


def test_a_private_statement_tells_no_point_but_the_ledger_knows_it(ledger):
    [name] = ledger.record(promises(1), private=True)
    assert read_statement(ledger.envelope(name).payload).point is None
    assert ledger.promise(name).point is not None


def test_erasure_deletes_what_is_personal_and_keeps_the_chain(ledger, tmp_path):
    result = Result([promised("Anna Karenina"), promised("Konstantin Levin")], FEATURES)
    anna, levin = ledger.record(result, cohort="Karenin family")
    ledger.withdraw(anna, reason="Karenina has moved")
    head = ledger.head()
    assert ledger.erase(name="Anna Karenina") == 1
    assert ledger.erase(anna) == 0
    promise = ledger.promise(anna)
    assert (promise.erased, promise.name, promise.point, promise.state) == (True, None, None, "withdrawn")
    assert ledger.promise(levin).name == "Konstantin Levin"
    found = ledger.verify(head)
    assert found.intact
    assert found.n_erased == 1
    with pytest.raises(InvalidInput, match="was erased; there is no statement any more"):
        ledger.envelope(anna)
    on_disk = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"Karenina" not in on_disk
    assert b"Konstantin" in on_disk


def test_what_is_read_is_valid_after_everything(ledger):
    names = ledger.record(promises(5))
    ledger.erase(names[:2])
    ledger.honour(names[3])
    assert str(ledger.verify()) == "9 entries, 2 promises erased on request: intact"


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (
            "UPDATE entries SET body = '{\"delta\": 0.5}' WHERE seq = 2",
            "entry 2: it was changed: its 'issued' does not",
        ),
        ("UPDATE entries SET at = '2026-03-02T12:00:00.000000Z' WHERE seq = 3", "entry 3: it was changed"),
        ("UPDATE entries SET previous = 'ab' WHERE seq = 3", "entry 3: it does not follow the entry before it"),
        ("UPDATE entries SET kind = 'expired' WHERE kind = 'withdrawn'", "entry 5: it was changed: its 'expired'"),
        ("UPDATE promises SET target = '\"rejected\"' WHERE seq = 2", "entry 2: its content was changed"),
        ("UPDATE promises SET statement = replace(statement, '0.9', '0.8') WHERE seq = 3", "entry 3: its content was"),
        ("UPDATE remarks SET text = '\"else\"'", "entry 5: its content was changed"),
        ("DELETE FROM remarks", "entry 5: its content is gone, and no erasure is on record"),
        ("DELETE FROM promises WHERE seq = 4", "entry 4: its content is gone, and no erasure is on record"),
        ("UPDATE documents SET content = content || ' '", r"the document [0-9a-f]{16}\.\.\. was changed"),
    ],
)
def test_every_change_behind_the_back_of_the_ledger_is_found(tmp_path, statement, message):
    path = tmp_path / "promises.db"
    with brce.Ledger(path) as ledger:
        names = ledger.record(promises(3))
        ledger.withdraw(names[0], reason="typo")
        assert ledger.verify().intact
    edit(path, statement)
    with brce.Ledger(path, read_only=True) as ledger:
        found = ledger.verify()
    assert not found.intact
    assert re.search(message, str(found))


def test_a_missing_entry_is_found(tmp_path):
    path = tmp_path / "promises.db"
    with brce.Ledger(path) as ledger:
        ledger.record(promises(3))
    edit(path, "DELETE FROM promises WHERE seq = 3", "DELETE FROM entries WHERE seq = 3")
    with brce.Ledger(path, read_only=True) as ledger:
        found = ledger.verify()
    assert "entry 4: the entries from 3 to 3 are missing" in str(found)


def test_content_that_should_be_erased_and_is_not_is_found(tmp_path):
    path = tmp_path / "promises.db"
    with brce.Ledger(path) as ledger:
        ledger.record(promises(1))
    content = sqlite3.connect(path).execute("SELECT * FROM promises").fetchone()
    with brce.Ledger(path) as ledger:
        ledger.erase(name=0)
    connection = sqlite3.connect(path)
    connection.execute(f"INSERT INTO promises VALUES ({', '.join('?' * len(content))})", content)
    connection.commit()
    connection.close()
    with brce.Ledger(path) as ledger:
        assert "its content is still there, though it was erased" in str(ledger.verify())


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET body = '{}'",
        "DELETE FROM entries WHERE seq = 2",
        "INSERT OR REPLACE INTO entries SELECT * FROM entries WHERE seq = 2",
        "INSERT INTO entries SELECT seq + 9, kind, 'x', at, body, '', previous, 'y' FROM entries WHERE seq = 2",
        "UPDATE promises SET name = '1'",
        "DELETE FROM promises",
        "INSERT OR REPLACE INTO promises SELECT * FROM promises",
        "UPDATE documents SET content = ''",
        "DELETE FROM documents",
        "INSERT OR REPLACE INTO documents SELECT digest, '{}' FROM documents",
        "UPDATE remarks SET text = ''",
        "DELETE FROM remarks",
    ],
)
def test_the_database_itself_refuses_every_change(ledger, tmp_path, statement):
    [name] = ledger.record(promises(1))
    ledger.withdraw(name, reason="typo")
    connection = sqlite3.connect(tmp_path / "promises.db")
    with pytest.raises(sqlite3.IntegrityError):
        connection.execute(statement)
    connection.close()
    assert ledger.verify().intact


def test_a_head_that_was_kept_elsewhere_shows_a_ledger_that_was_rewritten(tmp_path):
    path, head_path, key = tmp_path / "promises.db", tmp_path / "head.json", SigningKey.new()
    with brce.Ledger(path) as ledger:
        ledger.record(promises(3))
        save_head(ledger.head(), head_path, key=key)
        ledger.record(promises(2, start=3))
        assert ledger.verify(load_head(head_path, keys=[key.public])).intact
    edit(path, *(f"DELETE FROM {table} WHERE seq > 3" for table in ("promises", "entries")))
    with brce.Ledger(path) as ledger:
        assert ledger.verify().intact  # a chain that was cut short is still a chain
        found = ledger.verify(load_head(head_path))
    assert str(found.problems[-1]) == "the entries from 4 to 4 are missing: the head has them"


def test_a_chain_that_was_written_anew_does_not_lead_to_the_head(tmp_path):
    path = tmp_path / "promises.db"
    with brce.Ledger(path) as ledger:
        ledger.record(promises(3))
        head = ledger.head()
    edit(path, *(f"DELETE FROM {table} WHERE seq > 1" for table in ("promises", "entries")))
    with brce.Ledger(path) as ledger:
        ledger.record(promises(4, start=7))
        assert ledger.verify().intact
        assert "the chain was rewritten at or before entry 4" in str(ledger.verify(head).problems[-1])


def test_the_head_of_another_ledger_is_told_apart(ledger, tmp_path):
    with brce.Ledger(tmp_path / "other.db") as other:
        found = ledger.verify(other.head())
    assert "the head is that of another ledger" in str(found)


def test_a_head_on_file_is_checked(ledger, tmp_path):
    path, key = tmp_path / "head.json", SigningKey.new()
    head = ledger.head()
    assert str(head) == f"{head.ledger} 1 {head.digest} {head.at}"
    save_head(head, path, key=key)
    assert load_head(path, keys=[key.public]) == head
    with pytest.raises(CorruptFile, match="none of the given keys has signed it"):
        load_head(path, keys=[SigningKey.new().public])
    save_head(Head("x", 1, "y", "later"), path)
    with pytest.raises(CorruptFile, match="'later' is not a time"):
        load_head(path)
    path.write_text("{}")
    with pytest.raises(CorruptFile, match="is not a usable head of a ledger: it is not a DSSE envelope"):
        load_head(path)
    with pytest.raises(InvalidInput, match="there is none at"):
        load_head(tmp_path / "nowhere.json")


def test_a_clock_that_is_behind_loses_nothing_and_is_spoken_of(ledger, clock):
    ledger.record(promises(1))
    clock.advance(days=-3)
    with pytest.warns(ClockSkew, match=r"says 2026-02-26T12.*last entry of the ledger is of 2026-03-01T12"):
        ledger.record(promises(1, start=1))
    assert len(ledger.promises()) == 2
    found = ledger.verify()
    assert found.intact
    assert [note.entry for note in found.notes] == [3]


def test_a_clock_without_a_zone_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match="`clock` must give a time with its zone"):
        brce.Ledger(tmp_path / "promises.db", clock=lambda: datetime(2026, 1, 1))


def test_a_ledger_that_was_closed_says_so(tmp_path):
    with brce.Ledger(tmp_path / "promises.db") as ledger:
        pass
    with pytest.raises(InvalidInput, match=r"is closed. Open it again"):
        ledger.promises()


def test_public_keys_are_named_by_their_content():
    key = SigningKey.new()
    assert isinstance(key.public, PublicKey)
    assert len(key.public.keyid) == 64
