"""Every error and warning that betarce raises on purpose.

::

    BetarceError
    ├── InvalidInput (also a ValueError)      what was passed in cannot be used; nothing was done
    │   └── UnreachableGuarantee              too few models for this delta and confidence
    ├── UnusableModel (also a TypeError)      the model, or one of its retrained members, cannot play its role
    ├── MemberFailed                          some members could not be trained; the others are in `.members`
    ├── DataUnavailable                       a data set is neither here nor can it be fetched
    ├── CorruptFile                           a file is not what it claims to be; it was not used
    ├── NotWritten (also an OSError)          a file could not be written; what was there is still there
    ├── MissingExtra (also an ImportError)    an optional library is needed; the message says how to install it
    └── ContractBroken (also an AssertionError)  an implementation does not keep to its protocol; see betarce.testing

    BetarceWarning (a UserWarning)
    ├── DegenerateSpace                       all members are the same model: a certificate would say nothing
    ├── ConstantMembers                       some members answer one class everywhere
    ├── MemberWarning                         some members were trained with warnings
    ├── SlowMembers                           members are asked one by one, because no kernel can speak for them
    ├── PartlyStored                          a run was written without some code of the user's own
    ├── OtherVersions                         a run is used with other library versions than it was made with
    └── ClockSkew                             the clock is behind the last entry of a ledger
"""

from collections.abc import Sequence
from importlib import import_module
from types import ModuleType

__all__ = [
    "BetarceError",
    "BetarceWarning",
    "ClockSkew",
    "ConstantMembers",
    "ContractBroken",
    "CorruptFile",
    "DataUnavailable",
    "DegenerateSpace",
    "InvalidInput",
    "MemberFailed",
    "MemberWarning",
    "MissingExtra",
    "NotWritten",
    "SlowMembers",
    "UnreachableGuarantee",
    "UnusableModel",
]


_HEAD, _TAIL = 1500, 400  # characters of a message that are shown if it has more: what is wrong, and what to do


class BetarceError(Exception):
    """Base of all errors of this package."""

    def __str__(self) -> str:
        """Say it in a bounded number of characters, however large the value is that was passed in."""
        text = super().__str__()
        if len(text) <= _HEAD + _TAIL:
            return text
        return f"{text[:_HEAD]} [... {len(text) - _HEAD - _TAIL:,} characters ...] {text[-_TAIL:]}"


class InvalidInput(BetarceError, ValueError):
    """What was passed in cannot be used."""


class UnreachableGuarantee(InvalidInput):
    """No vote of so few models could ever give this guarantee."""


class UnusableModel(BetarceError, TypeError):
    """A model lacks something it needs for its role."""


class MemberFailed(BetarceError):
    """Some members could not be trained.

    Attributes
    ----------
    members : list
        The models that did train, so that the work is not lost.
    seeds : list of int
        The seeds of those that did not.
    """

    def __init__(self, message: str, *, members: Sequence[object], seeds: Sequence[int]) -> None:
        super().__init__(message)
        self.members = list(members)
        self.seeds = list(seeds)


class DataUnavailable(BetarceError):
    """A data set is neither on this machine nor can it be fetched."""


class CorruptFile(BetarceError):
    """A file is not what it claims to be."""


class NotWritten(BetarceError, OSError):
    """A file could not be written: the disk is full, read-only, or gone."""


class MissingExtra(BetarceError, ImportError):
    """An optional library is needed."""


class ContractBroken(BetarceError, AssertionError):
    """An implementation of a protocol does not keep to it."""


class BetarceWarning(UserWarning):
    """Base of all warnings of this package."""


class DegenerateSpace(BetarceWarning):
    """All members of a space are the same model."""


class ConstantMembers(BetarceWarning):
    """Some members answer one class everywhere."""


class MemberWarning(BetarceWarning):
    """Some members were trained with warnings."""


class SlowMembers(BetarceWarning):
    """Members are asked one by one, because no kernel can speak for them; the message says why."""


class ClockSkew(BetarceWarning):
    """The clock of this machine is behind the last entry of a ledger."""


class PartlyStored(BetarceWarning):
    """A run was written without some code of the user's own; the message says what, and what will not work."""


class OtherVersions(BetarceWarning):
    """A run is used with other library versions than it was made with."""


def require(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import an optional library, or say how to install it.

    Examples
    --------
    >>> require("json", extra="none", purpose="reading JSON").__name__
    'json'
    >>> require("no_such_library", extra="torch", purpose="The paper's network")
    Traceback (most recent call last):
    betarce.errors.MissingExtra: The paper's network needs `no_such_library`. Install it with:
    pip install "betarce[torch]"
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtra(f'{purpose} needs `{module}`. Install it with: pip install "betarce[{extra}]"') from error
