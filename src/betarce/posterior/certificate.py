"""The outcome of one vote on one point, as a value that can be stored and checked again."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from betarce.arrays import FloatArray
from betarce.errors import CorruptFile, InvalidInput

if TYPE_CHECKING:
    from betarce.posterior.guarantee import Guarantee


def fingerprint(point: FloatArray) -> str:
    """Give a short digest that ties a certificate to the exact values of its point.

    Examples
    --------
    >>> fingerprint(np.array([1.0, 2.0])) == fingerprint(np.array([1.0, 2.0]))
    True
    >>> fingerprint(np.array([1.0, 2.0])) == fingerprint(np.array([1.0, 2.0000001]))
    False
    """
    # Adding zero turns -0.0 into 0.0: they are the same value to every model. So are all kinds of NaN.
    values = np.ascontiguousarray(point, dtype="<f8") + 0.0
    values[np.isnan(values)] = np.nan
    return hashlib.blake2b(values.tobytes(), digest_size=8).hexdigest()


@dataclass(frozen=True)
class Certificate:
    """The outcome of one vote on one point; `Guarantee.certify` makes it.

    Attributes
    ----------
    n_agree, n_models : int
        The vote.
    guarantee : Guarantee
        What the vote was about.
    members : {"fresh", "search"}
        "fresh": the voters never took part in choosing the point. "search": they did (the paper's way), so the
        stated confidence is optimistic.
    target : str, int, float, bool or None
        The class that the voters had to give.
    space : str
        The declared space of retrained models.
    point : str
        A fingerprint of the certified point, or "" if none was given.
    varied : bool
        Whether the voters differ from each other at all. Where all are the same model, their votes say nothing about
        retraining, and the certificate certifies nothing.

    Examples
    --------
    >>> from betarce import Certificate, Guarantee
    >>> certificate = Guarantee(0.9, 0.95).certify(38, 38, target="approved")
    >>> certificate.certified, round(certificate.lower_bound, 3)
    (True, 0.924)
    >>> Certificate.from_json(certificate.to_json()) == certificate
    True
    >>> print(Guarantee(0.9, 0.95).certify(30, 38))
    30 of 38 fresh models agree: valid for >= 65.2 % with 95 % confidence, short of the 90 % asked for
    """

    n_agree: int
    n_models: int
    guarantee: Guarantee
    members: Literal["fresh", "search"] = "fresh"
    target: str | float | int | bool | None = None
    space: str = ""
    point: str = ""
    varied: bool = True
    lower_bound: float = field(init=False, compare=False)
    certified: bool = field(init=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("space", "point"):
            if not isinstance(getattr(self, name), str):
                raise InvalidInput(f"`{name}` must be text; got {getattr(self, name)!r}.")
        if not isinstance(self.members, str) or self.members not in ("fresh", "search"):
            raise InvalidInput(f"`members` must be 'fresh' or 'search'; got {self.members!r}.")
        bound = self.guarantee.lower_bound(self.n_agree, self.n_models)
        for name in ("n_agree", "n_models"):
            object.__setattr__(self, name, int(getattr(self, name)))
        passes = self.guarantee.certifies(self.n_agree, self.n_models)
        object.__setattr__(self, "lower_bound", float(bound))
        object.__setattr__(self, "certified", bool(passes) and self.varied)

    def __str__(self) -> str:
        if not self.varied:
            return (
                f"{self.n_agree} of {self.n_models} models agree, but all of them are the same model: this says "
                "nothing about retraining"
            )
        who = "fresh models" if self.members == "fresh" else "models that also steered the search"
        verdict = (
            f"{self.n_agree} of {self.n_models} {who} agree: valid for >= {percent(self.lower_bound)} "
            f"with {percent(self.guarantee.confidence)} confidence"
        )
        if not self.certified:
            return f"{verdict}, short of the {percent(self.guarantee.delta)} asked for"
        return verdict if self.members == "fresh" else f"{verdict} (optimistic: not tested on fresh models)"

    def to_json(self) -> str:
        """Write the certificate as one JSON object, with a digest over all its fields."""
        from betarce.posterior.certificate_file import to_plain

        return json.dumps(to_plain(self), sort_keys=True, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        """Read a certificate and check that nothing was changed, and that its verdict follows from its vote.

        Raises
        ------
        InvalidInput
            If it is no text.
        CorruptFile
            If the text is not a certificate, was changed, does not add up, or has the format of another version.
        """
        from betarce.posterior.certificate_file import from_plain
        from betarce.storage.documents import parse_json

        if not isinstance(text, str):
            raise InvalidInput(f"`text` must be the JSON of a certificate, as text; got {type(text).__name__}.")
        try:
            data = parse_json(text)
        except CorruptFile as error:
            raise CorruptFile(f"This is not a readable betarce certificate: {error}.") from error
        return from_plain(data)


def percent(share: float) -> str:
    """Write a share as a percentage, rounded down so that it never claims more than was shown.

    Examples
    --------
    >>> percent(0.90064), percent(0.8999)
    ('90 %', '89.9 %')
    """
    return f"{math.floor(share * 1000 + 1e-9) / 10:g} %"
