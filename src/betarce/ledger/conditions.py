"""Conditions on a re-check, as people write them: ``p <= 0.05``, ``broken > 10``."""

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from betarce.errors import InvalidInput
from betarce.ledger.recheck import Recheck

_OPERATORS: Mapping[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
_NAMES = ("p", "share", "held", "broken", "expired", "unscored")
_FORM = re.compile(r"\s*(?P<name>\w+)\s*(?P<sign><=|>=|<|>)\s*(?P<number>[0-9.eE+-]+)\s*(?P<percent>%?)\s*")


@dataclass(frozen=True)
class Condition:
    """A comparison that a re-check meets or not.

    Attributes
    ----------
    name : {"p", "share", "held", "broken", "expired", "unscored"}
        The p-value of the gate, the share of broken promises, or a number of promises.
    sign : {"<=", ">=", "<", ">"}
    number : float

    Examples
    --------
    >>> print(Condition.read("share > 20 %"))
    share > 0.2
    >>> Condition.read("q < 1")
    Traceback (most recent call last):
    betarce.errors.InvalidInput: `condition` must be about p, share, held, broken, expired or unscored; got 'q < 1'.
    """

    name: str
    sign: str
    number: float

    def __str__(self) -> str:
        return f"{self.name} {self.sign} {self.number:g}"

    @classmethod
    def read(cls, text: str) -> "Condition":
        """Read a condition from text."""
        found = _FORM.fullmatch(text)
        try:
            number = float(found["number"]) if found else float("nan")
        except ValueError:
            number = float("nan")
        if found is None or number != number:
            raise InvalidInput(f"`condition` must be of the form 'p <= 0.05' or 'broken > 10'; got {text!r}.")
        if found["name"] not in _NAMES:
            raise InvalidInput(f"`condition` must be about {', '.join(_NAMES[:-1])} or {_NAMES[-1]}; got {text!r}.")
        return cls(found["name"], found["sign"], number / 100 if found["percent"] else number)

    def met(self, found: Recheck) -> bool:
        """Say whether a re-check meets it; without a rank, no condition on p is met."""
        if self.name == "p":
            value = None if found.gate is None else found.gate.p
        else:
            value = found.share if self.name == "share" else found.counts[self.name]
        return value is not None and _OPERATORS[self.sign](value, self.number)
