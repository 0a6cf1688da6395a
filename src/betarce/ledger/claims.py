"""What a file claims: certified points with their votes, from answers, statements or a certificate."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from betarce.arrays import FloatArray
from betarce.errors import CorruptFile, InvalidInput
from betarce.features import FeatureSpace
from betarce.ledger.envelope import Envelope, check_in_toto, read_envelope
from betarce.ledger.keys import PublicKey
from betarce.ledger.statement import Statement, read_statement
from betarce.posterior import Certificate
from betarce.results.result import Result
from betarce.storage.documents import parse_json
from betarce.storage.files import is_as_written, read_text

Kind = Literal["answers", "statements", "certificate"]
_LAYOUT = "it is laid out otherwise than betarce writes it: spaces or line ends were changed"


@dataclass(frozen=True, eq=False)
class Claim:
    """One certified point, as a file states it.

    Attributes
    ----------
    name : str
        What it is called in messages.
    certificate : Certificate
    votes : tuple of bool
        Who agreed, in the order of the members; empty where the file does not say.
    point : array or None
        That of an answer.
    statement : Statement or None
        What it comes from, if it comes from one; it tells its point, or commits to it.
    """

    name: str
    certificate: Certificate
    votes: tuple[bool, ...] = ()
    point: FloatArray | None = None
    statement: Statement | None = None


@dataclass(frozen=True, eq=False)
class Claims:
    """All that a file claims, each of it found to add up.

    Attributes
    ----------
    kind : {"answers", "statements", "certificate"}
    claims : tuple of Claim
    features : FeatureSpace or None
        That of answers.
    n_signed : int
        Statements that are signed.
    """

    kind: Kind
    claims: tuple[Claim, ...]
    features: FeatureSpace | None = None
    n_signed: int = 0


def read_claims(path: str | os.PathLike[str], *, keys: Sequence[PublicKey] = ()) -> Claims:
    """Read a file of answers, statements or one certificate, and check everything that follows from something else.

    Parameters
    ----------
    path : str or path
    keys : sequence of PublicKey
        One of which must have signed every statement.

    Raises
    ------
    CorruptFile
        With what was changed, or does not add up.
    InvalidInput
        If there is no such file.
    """
    try:
        text = read_text(path)
    except (FileNotFoundError, IsADirectoryError):
        raise InvalidInput(f"`path` must name a file; there is none at {os.fspath(path)!r}.") from None
    try:
        document = parse_json(text)
    except CorruptFile:
        if text.count('{"payload"') > 1:  # one envelope per line, as `betarce ledger export` writes them
            return _of_statements(text.splitlines(), keys)
        raise
    match document:
        case {"betarce_result": _}:
            return _of_answers(text)
        case {"betarce_certificate": _}:
            return _of_certificate(text)
        case {"payload": _}:
            return _of_statements([text], keys)
    raise CorruptFile("it holds neither answers, nor statements in envelopes, nor a certificate")


def _of_answers(text: str) -> Claims:
    result = Result.from_json(text)
    if not is_as_written(text):
        raise CorruptFile(_LAYOUT)
    claims = tuple(
        Claim(f"row {item.name!r}", item.certificate, item.votes, item.points["robust"])
        for item in result
        if item.status == "certified" and item.certificate is not None
    )
    return Claims("answers", claims, result.features)


def _of_certificate(text: str) -> Claims:
    certificate = Certificate.from_json(text)
    if certificate.to_json() != text.removesuffix("\n"):
        raise CorruptFile(_LAYOUT)
    if not certificate.certified:
        raise CorruptFile(f"it certifies nothing: {certificate}")
    return Claims("certificate", (Claim("the certificate", certificate),))


def _of_statements(lines: Sequence[str], keys: Sequence[PublicKey]) -> Claims:
    claims = []
    for i, line in enumerate(lines, 1):
        try:
            envelope = read_envelope(line)
            claims.append(_of_statement(envelope, keys))
        except CorruptFile as error:
            raise CorruptFile(f"{f'line {i}: ' if len(lines) > 1 else ''}{error}") from error
    n_signed = sum(claim.statement is not None and bool(claim.statement.signer) for claim in claims)
    return Claims("statements", tuple(claims), n_signed=n_signed)


def _of_statement(envelope: Envelope, keys: Sequence[PublicKey]) -> Claim:
    check_in_toto(envelope)
    statement = read_statement(envelope.payload)
    if keys:
        envelope.check_signatures(keys)
    elif statement.signer and not any(each.keyid == statement.signer for each in envelope.signatures):
        raise CorruptFile(f"the signature of the key {statement.signer[:16]}... is missing: it was to sign it")
    name = f"promise {statement.promise}"
    return Claim(name, statement.certificate, statement.votes, statement=statement)
