"""Envelopes and keys: who signed what."""

import base64
import json
import os
import stat

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

from betarce.errors import CorruptFile, InvalidInput, MissingExtra
from betarce.ledger.envelope import IN_TOTO, Envelope, read_envelope
from betarce.ledger.keys import PublicKey, SigningKey

KEY = SigningKey.new()


def test_the_signed_bytes_are_those_of_the_dsse_protocol():
    assert Envelope(b"\xe2\x9c\x93 ok", "application/é").signed_bytes == (
        b"DSSEv1 14 application/\xc3\xa9 6 \xe2\x9c\x93 ok"
    )


def test_a_signature_can_be_checked_with_nothing_but_the_standard_library_of_signing():
    envelope = Envelope(b"{}").signed(KEY).to_plain()
    payload, signature = base64.b64decode(envelope["payload"]), base64.b64decode(envelope["signatures"][0]["sig"])
    public = serialization.load_pem_public_key(KEY.public.pem)
    assert isinstance(public, ed25519.Ed25519PublicKey)
    public.verify(signature, b"DSSEv1 28 " + IN_TOTO.encode() + b" 2 " + payload)


def test_every_change_of_one_character_in_a_signed_envelope_is_found():
    text = json.dumps(Envelope(b'{"a": "bcd"}').signed(KEY).to_plain())
    for place, char in enumerate(text):
        other = "A" if char != "A" else "B"
        with pytest.raises(CorruptFile):
            read_envelope(text[:place] + other + text[place + 1 :]).check_signatures([KEY.public])


def test_two_texts_that_stand_for_the_same_bytes_are_told_apart():
    plain = Envelope(b"a").to_plain()
    assert plain["payload"] == "YQ=="
    with pytest.raises(CorruptFile, match=r"`payload` is not base64 as it is written"):
        read_envelope({**plain, "payload": "YR=="})


def test_a_signature_of_another_key_does_not_count():
    stranger = SigningKey.new()
    with pytest.raises(CorruptFile, match="none of the given keys has signed it: it is signed by "):
        Envelope(b"{}").signed(stranger).check_signatures([KEY.public])
    with pytest.raises(CorruptFile, match="it is signed by nobody"):
        Envelope(b"{}").check_signatures([KEY.public])
    Envelope(b"{}").signed(stranger).signed(KEY).check_signatures([KEY.public])


def test_a_signature_over_other_content_is_refused():
    signed = Envelope(b"{}").signed(KEY)
    with pytest.raises(CorruptFile, match="was changed after signing"):
        Envelope(b"[]", signatures=signed.signatures).check_signatures([KEY.public])


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("[]", "it is not a DSSE envelope"),
        ({"payload": "e30=", "payloadType": "x"}, "it is not a DSSE envelope"),
        ({"payload": "e30=", "payloadType": "x", "signatures": [], "more": 1}, "and nothing else"),
        ({"payload": "#", "payloadType": "x", "signatures": []}, "`payload` is not base64"),
        ({"payload": "e30=", "payloadType": "x", "signatures": [{"sig": "e30="}]}, "does not have `keyid` and `sig`"),
        ("{", "not strict JSON"),
    ],
)
def test_what_is_no_envelope_is_refused(document, message):
    with pytest.raises(CorruptFile, match=message):
        read_envelope(document)


def test_keys_come_back_from_their_files_and_only_the_owner_reads_the_private_one(tmp_path):
    private, public = KEY.save(tmp_path / "key.pem")
    assert (private.name, public.name) == ("key.pem", "key.pub.pem")
    assert stat.S_IMODE(os.stat(private).st_mode) == 0o600
    assert SigningKey.load(private).public.keyid == PublicKey.load(public).keyid == KEY.public.keyid
    assert KEY.public.keyid[:16] in repr(KEY)
    assert KEY.public.keyid[:16] in repr(KEY.public)


def test_a_key_is_never_replaced(tmp_path):
    KEY.save(tmp_path / "key.pem")
    before = (tmp_path / "key.pem").read_bytes()
    with pytest.raises(InvalidInput, match="exists already, and keys are not replaced"):
        SigningKey.new().save(tmp_path / "key.pem")
    assert (tmp_path / "key.pem").read_bytes() == before


def test_a_file_that_is_no_such_key_is_refused(tmp_path):
    other = ec.generate_private_key(ec.SECP256R1())
    pem = serialization.Encoding.PEM
    pkcs8 = serialization.PrivateFormat.PKCS8
    (tmp_path / "ec.pem").write_bytes(other.private_bytes(pem, pkcs8, serialization.NoEncryption()))
    (tmp_path / "locked.pem").write_bytes(
        other.private_bytes(pem, pkcs8, serialization.BestAvailableEncryption(b"secret"))
    )
    (tmp_path / "text.pem").write_text("hello")
    with pytest.raises(InvalidInput, match="holds a key of another kind; Ed25519 is needed"):
        SigningKey.load(tmp_path / "ec.pem")
    for name in ("locked.pem", "text.pem"):
        with pytest.raises(InvalidInput, match="is not a private key in PEM without a password"):
            SigningKey.load(tmp_path / name)
    with pytest.raises(InvalidInput, match="is not a public key in PEM"):
        PublicKey.load(tmp_path / "text.pem")
    with pytest.raises(InvalidInput, match="cannot be read: No such file"):
        SigningKey.load(tmp_path / "nowhere.pem")


def test_signing_without_its_library_says_what_to_install(monkeypatch):
    for name in ("cryptography.hazmat.primitives.asymmetric.ed25519", "cryptography.hazmat.primitives.serialization"):
        monkeypatch.setitem(__import__("sys").modules, name, None)
    with pytest.raises(MissingExtra, match=r'pip install "betarce\[sign\]"'):
        SigningKey.new()
