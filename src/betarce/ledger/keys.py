"""Ed25519 keys in PEM files: to sign a statement, and to check who signed it."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from betarce.errors import InvalidInput, require
from betarce.ledger.chain import sha256
from betarce.storage.files import check_writable, read_bytes, write_whole

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

_MOST_BYTES = 2**14


class SigningKey:
    """A private key.

    Examples
    --------
    >>> key = SigningKey.new()
    >>> key.public.accepts(key.sign(b"text"), b"text"), key.public.accepts(key.sign(b"text"), b"Text")
    (True, False)
    """

    def __init__(self, key: "Ed25519PrivateKey") -> None:
        self._key = key

    def __repr__(self) -> str:
        return f"SigningKey({self.public.keyid[:16]}...)"

    @classmethod
    def new(cls) -> "SigningKey":
        """Draw a key at random."""
        return cls(_ed25519().Ed25519PrivateKey.generate())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "SigningKey":
        """Read a private key from a PEM file."""
        key = _load(path, "load_pem_private_key", password=None)
        if not isinstance(key, _ed25519().Ed25519PrivateKey):
            raise InvalidInput(f"{os.fspath(path)!r} holds a key of another kind; Ed25519 is needed.")
        return cls(key)

    @property
    def public(self) -> "PublicKey":
        """The key that everyone may have."""
        return PublicKey(self._key.public_key())

    def sign(self, content: bytes) -> bytes:
        """Sign bytes."""
        return self._key.sign(content)

    def save(self, path: str | os.PathLike[str]) -> tuple[Path, Path]:
        """Write the key, for its owner's eyes only, and its public half beside it; give both paths.

        What is there already is never replaced: whoever loses a key can sign no more in its name.
        """
        target = check_writable(path)
        public = target.with_suffix(".pub" + (target.suffix or ".pem"))
        for place in (target, public):
            if place.exists():
                raise InvalidInput(
                    f"`path` must be a new file; {str(place)!r} exists already, and keys are not replaced."
                )
        forms = require("cryptography.hazmat.primitives.serialization", extra="sign", purpose="Signing")
        secret = self._key.private_bytes(forms.Encoding.PEM, forms.PrivateFormat.PKCS8, forms.NoEncryption())
        write_whole(target, secret, mode=0o600)
        write_whole(public, self.public.pem)
        return target, public


class PublicKey:
    """A public key, with the name that signatures call it by.

    Examples
    --------
    >>> public = SigningKey.new().public
    >>> public.accepts(b"no signature", b"text"), len(public.keyid)
    (False, 64)
    """

    def __init__(self, key: "Ed25519PublicKey") -> None:
        self._key = key

    def __repr__(self) -> str:
        return f"PublicKey({self.keyid[:16]}...)"

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "PublicKey":
        """Read a public key from a PEM file."""
        key = _load(path, "load_pem_public_key")
        if not isinstance(key, _ed25519().Ed25519PublicKey):
            raise InvalidInput(f"{os.fspath(path)!r} holds a key of another kind; Ed25519 is needed.")
        return cls(key)

    @property
    def pem(self) -> bytes:
        """The key as a PEM file holds it."""
        return self._bytes("PEM")

    @property
    def keyid(self) -> str:
        """The SHA-256 of the key."""
        return sha256(self._bytes("DER"))

    def accepts(self, signature: bytes, content: bytes) -> bool:
        """Say whether this key's owner signed these bytes."""
        from cryptography.exceptions import InvalidSignature

        try:
            self._key.verify(signature, content)
        except InvalidSignature:
            return False
        return True

    def _bytes(self, encoding: str) -> bytes:
        forms = require("cryptography.hazmat.primitives.serialization", extra="sign", purpose="Signing")
        form = getattr(forms.Encoding, encoding)
        return self._key.public_bytes(form, forms.PublicFormat.SubjectPublicKeyInfo)


def _ed25519() -> Any:
    return require("cryptography.hazmat.primitives.asymmetric.ed25519", extra="sign", purpose="Signing")


def _load(path: str | os.PathLike[str], loader: str, **options: Any) -> Any:
    forms = require("cryptography.hazmat.primitives.serialization", extra="sign", purpose="Signing")
    from cryptography.exceptions import UnsupportedAlgorithm

    try:
        content = read_bytes(path, most=_MOST_BYTES)
    except OSError as error:
        raise InvalidInput(f"The key {os.fspath(path)!r} cannot be read: {error.strerror or error}.") from error
    try:
        return getattr(forms, loader)(content, **options)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        wanted = "private" if "private" in loader else "public"
        raise InvalidInput(
            f"{os.fspath(path)!r} is not a {wanted} key in PEM without a password. Make one with "
            "`betarce ledger key --out key.pem`."
        ) from error
