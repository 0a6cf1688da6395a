"""DSSE envelopes: content, what kind of content it is, and signatures over both.

The format is https://github.com/secure-systems-lab/dsse, protocol v1, as in-toto and Sigstore use it.
"""

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from betarce.errors import CorruptFile
from betarce.ledger.keys import PublicKey, SigningKey
from betarce.storage.documents import parse_json

IN_TOTO = "application/vnd.in-toto+json"


@dataclass(frozen=True)
class Signature:
    """A signature, and the name of its key.

    Examples
    --------
    >>> key = SigningKey.new()
    >>> signed = Envelope(b"text").signed(key)
    >>> signed.signatures[0].keyid == key.public.keyid
    True
    """

    keyid: str
    sig: bytes


@dataclass(frozen=True)
class Envelope:
    """Content under signatures.

    Attributes
    ----------
    payload : bytes
        The content.
    kind : str
        Its media type.
    signatures : tuple of Signature

    Examples
    --------
    >>> envelope = Envelope(b"hello world", "http://example.com/HelloWorld")
    >>> envelope.signed_bytes
    b'DSSEv1 29 http://example.com/HelloWorld 11 hello world'
    >>> read_envelope(envelope.to_plain()) == envelope
    True
    """

    payload: bytes
    kind: str = IN_TOTO
    signatures: tuple[Signature, ...] = ()

    @property
    def signed_bytes(self) -> bytes:
        """What signatures are over: the pre-authentication encoding of DSSE."""
        kind = self.kind.encode()
        return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(self.payload), self.payload)

    def signed(self, key: SigningKey) -> "Envelope":
        """Add a signature."""
        added = Signature(key.public.keyid, key.sign(self.signed_bytes))
        return Envelope(self.payload, self.kind, (*self.signatures, added))

    def check_signatures(self, keys: Sequence[PublicKey]) -> None:
        """Refuse an envelope that none of these keys has signed, or that holds a false signature of one of them.

        Raises
        ------
        CorruptFile
            With what is wrong.
        """
        by_name = {key.keyid: key for key in keys}
        known = [each for each in self.signatures if each.keyid in by_name]
        for each in known:
            if not by_name[each.keyid].accepts(each.sig, self.signed_bytes):
                raise CorruptFile(
                    f"the signature of the key {each.keyid[:16]}... does not match: the content or the signature was "
                    "changed after signing"
                )
        if not known:
            who = ", ".join(f"{each.keyid[:16]}..." for each in self.signatures) or "nobody"
            raise CorruptFile(f"none of the given keys has signed it: it is signed by {who}")

    def to_plain(self) -> dict[str, Any]:
        """Write the envelope as JSON has it."""
        payload = base64.b64encode(self.payload).decode()
        return {"payload": payload, "payloadType": self.kind, "signatures": self.plain_signatures()}

    def plain_signatures(self) -> list[dict[str, str]]:
        """Write the signatures as JSON has them."""
        return [{"keyid": each.keyid, "sig": base64.b64encode(each.sig).decode()} for each in self.signatures]


def check_in_toto(envelope: Envelope) -> None:
    """Refuse an envelope whose signatures are over content of another kind than statements."""
    if envelope.kind != IN_TOTO:
        raise CorruptFile(f"its `payloadType` is {envelope.kind!r}, not {IN_TOTO!r}")


def read_envelope(document: Any) -> Envelope:
    """Read an envelope from plain data, or from its JSON text.

    Raises
    ------
    CorruptFile
        With what is wrong.

    Examples
    --------
    >>> read_envelope(Envelope(b"hello world").to_plain()).payload
    b'hello world'
    """
    data = parse_json(document) if isinstance(document, str) else document
    match data:
        case {"payload": str(payload), "payloadType": str(kind), "signatures": list(signatures)} if len(data) == 3:
            found = tuple(_signature(each) for each in signatures)
            if not (kind.isascii() and kind.isprintable()):
                raise CorruptFile("its `payloadType` is no media type")
            return Envelope(_decoded(payload, "`payload`"), kind, found)
    raise CorruptFile("it is not a DSSE envelope: that has `payload`, `payloadType` and `signatures`, and nothing else")


def _signature(data: Any) -> Signature:
    match data:
        case {"keyid": str(keyid), "sig": str(sig)} if len(data) == 2:
            return Signature(keyid, _decoded(sig, "`sig`"))
    raise CorruptFile("one of its `signatures` does not have `keyid` and `sig`, and nothing else")


def _decoded(text: str, what: str) -> bytes:
    try:
        content = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise CorruptFile(f"{what} is not base64") from error
    if base64.b64encode(content).decode() != text:  # two texts may stand for the same bytes
        raise CorruptFile(f"{what} is not base64 as it is written: its last character was changed")
    return content
