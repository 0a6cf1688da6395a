"""A statement is what a stranger can check: every change is found and named."""

import hashlib
import json
from dataclasses import replace
from datetime import timedelta

import pytest

from betarce.errors import CorruptFile, InvalidInput
from betarce.ledger.chain import canonical, new_salt, sha256
from betarce.ledger.statement import PROMISE, STATEMENT, make_statement, read_statement, space_in_words
from betarce.results.files import plain_point
from promises_by_hand import NOON, SPACE, promised

ITEM = promised("Zoë <b>", income=48_000.0)
POINT = {"values": {"income": 48_000.0}, "exact": plain_point(ITEM.points["robust"])}
IDENTITY = {"model": "sha256:ab", "members": "sha256:cd", "data": "sha256:ef", "rules": "sha256:01"}


def statement(**changes):
    given = {
        "identity": IDENTITY,
        "versions": {"betarce": "0.1.0"},
        "issued": NOON,
        "expires": NOON + timedelta(days=90),
        **changes,
    }
    return make_statement("f00d", ITEM.certificate, ITEM.votes, POINT, **given)


def resealed(document, **parts):
    """Change parts, and compute all digests anew, as whoever forges a statement would."""
    predicate = {**document["predicate"], **parts}
    names = [name for name in predicate if name != "digests"]
    digests = {name: sha256(canonical(predicate[name]).encode())[:16] for name in names}
    digests["subject"] = sha256(canonical(document["subject"]).encode())[:16]
    return canonical({**document, "predicate": {**predicate, "digests": digests}}).encode()


def test_a_statement_is_an_in_toto_statement_about_one_point():
    document = json.loads(statement().to_bytes())
    assert document["_type"] == STATEMENT == "https://in-toto.io/Statement/v1"
    assert document["predicateType"] == PROMISE
    [subject] = document["subject"]
    digest = hashlib.sha256(canonical(POINT).encode()).hexdigest()
    assert subject == {"name": "promise/f00d", "digest": {"sha256": digest}}
    assert document["predicate"]["identity"] == IDENTITY
    assert document["predicate"]["space"] == f"{SPACE}: trained again on the training rows drawn with replacement"
    assert document["predicate"]["in_words"] == (
        "At this point, at least 90 % of all models that may replace the present one answer 'approved', with 95 % "
        "confidence. 37 of 38 fresh models agree: valid for >= 90.1 % with 95 % confidence."
    )


def test_a_statement_comes_back_as_it_was():
    given = statement()
    read = read_statement(given.to_bytes())
    assert read.to_bytes() == given.to_bytes()
    assert (read.certificate, read.votes, read.issued, read.expires) == (
        ITEM.certificate,
        ITEM.votes,
        given.issued,
        given.expires,
    )
    assert given.to_plain() == json.loads(given.to_bytes())


@pytest.mark.slow
def test_every_change_of_one_character_is_found():
    payload = statement().to_bytes()
    for place in range(len(payload)):
        for other in (payload[place] ^ 1, payload[place] ^ 16, ord(" ")):
            if other != payload[place]:
                changed = payload[:place] + bytes([other]) + payload[place + 1 :]
                with pytest.raises(CorruptFile):
                    read_statement(changed)


@pytest.mark.parametrize("place", range(0, 1600, 7))
def test_every_missing_character_is_found(place):
    payload = statement().to_bytes()
    with pytest.raises(CorruptFile):
        read_statement(payload[:place] + payload[place + 1 :])


@pytest.mark.parametrize(
    ("was", "becomes", "part"),
    [
        ('"delta":0.9,', '"delta":0.8,', "certificate"),
        ('"target":"approved"', '"target":"rejected"', "certificate"),
        ('"income":48000.0', '"income":38000.0', "point"),
        ('"promise":"f00d"', '"promise":"f00e"', "promise"),
        ('"issued":"2026-03-01', '"issued":"2027-03-01', "issued"),
        ('"expires":"2026-05-30', '"expires":"2036-05-30', "expires"),
        ('"model":"sha256:ab"', '"model":"sha256:ac"', "identity"),
        ('"betarce":"0.1.0"', '"betarce":"0.2.0"', "versions"),
        ("with 95 % confidence. 37", "with 99 % confidence. 37", "in_words"),
        ("drawn with replacement", "drawn without placement", "space"),
        ('"signer":""', '"signer":"me"', "signer"),
    ],
)
def test_the_message_names_the_part_that_was_changed(was, becomes, part):
    payload = statement().to_bytes().decode()
    assert was in payload
    with pytest.raises(CorruptFile, match=f"`{part}` was changed: it does not match its digest"):
        read_statement(payload.replace(was, becomes, 1).encode())


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"votes": "1" * 38}, r"`votes` has 38 of 38 in favour, but `certificate` says 37 of 38"),
        ({"in_words": "All models agree."}, "`in_words` does not follow from the rest"),
        ({"space": "anything at all"}, "`space` does not follow from the rest"),
        ({"point": {"values": {}, "exact": []}}, "`subject` is not the digest of `point`"),
        ({"point": "salted"}, "do not agree on whether the point is told"),
        ({"point": {"values": {}}}, "`point` must be 'salted', or have `values` and `exact`"),
        ({"expires": "2026-02-01T12:00:00.000000Z"}, "`expires` is not later than `issued`"),
        ({"issued": "1 March"}, "'1 March' is not a time"),
        ({"votes": 7}, "it cannot be read: TypeError"),
        ({"votes": "2" * 38}, "`votes` must be ones and zeros"),
        ({"identity": ["sha256:ab"]}, "`identity` must hold names and digests"),
        ({"signer": None}, "`signer` must be text"),
    ],
)
def test_a_statement_with_digests_computed_anew_must_still_add_up(parts, message):
    with pytest.raises(CorruptFile, match=message):
        read_statement(resealed(statement().to_plain(), **parts))


def test_a_certificate_that_does_not_pass_promises_nothing():
    weak = replace(ITEM.certificate, n_agree=20)
    with pytest.raises(InvalidInput, match=r"`certificate` must be one that passed; got one that did not: 20 of 38"):
        make_statement("f00d", weak, ITEM.votes, POINT, identity={}, versions={}, issued=NOON)


def test_a_private_statement_commits_to_the_point_without_telling_it():
    salt = new_salt()
    hidden = statement(salt=salt)
    text = hidden.to_bytes().decode()
    assert "48000" not in text
    assert ITEM.certificate.point not in text
    read = read_statement(hidden.to_bytes())
    assert read.point is None
    assert read.is_of(POINT, salt)
    assert not read.is_of(POINT, new_salt())
    assert not read.is_of({**POINT, "values": {"income": 48_001.0}}, salt)
    assert not read.is_of(POINT)


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        (b"\xff", "it is not plain ASCII"),
        (b"{", "it is not strict JSON"),
        (b"[]", "it is not an in-toto statement"),
        (b'{"_type":"https://in-toto.io/Statement/v1","predicateType":"other"}', "it is no promise of this version"),
    ],
)
def test_what_is_no_statement_is_refused(payload, message):
    with pytest.raises(CorruptFile, match=message):
        read_statement(payload)


def test_a_space_that_nobody_knows_is_said_as_it_is():
    assert space_in_words("Moon(phase=3)") == "Moon(phase=3)"
