"""The registry of rules: which classes there are, what files call them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from betarce.errors import InvalidInput

if TYPE_CHECKING:
    from betarce.features.rules.protocol import RulePart

_RESERVED = ("column",)  # what a section of a file says beside its rules


@dataclass(frozen=True)
class Entry:
    """One registered class.

    Attributes
    ----------
    name : str
        What messages about the registry call it.
    part : type
        The class.
    keys : tuple of str
        Its keys in a file of rules.
    stored : tuple of str
        Its keys in JSON.
    order : float
        Its place in words and in JSON.
    order_in_file : float
        Its place in a section of a file of rules.
    """

    name: str
    part: "type[RulePart]"
    keys: tuple[str, ...]
    stored: tuple[str, ...]
    order: float
    order_in_file: float


RULES: dict[str, Entry] = {}
"""Every rule by its name."""

_Part = TypeVar("_Part", bound="type[RulePart]")


def rule(
    name: str,
    *,
    keys: Sequence[str] | None = None,
    stored: Sequence[str] | None = None,
    order: float = 1000,
    order_in_file: float | None = None,
) -> Callable[[_Part], _Part]:
    """Register a class of rules.

    Parameters
    ----------
    name : str
        Its name: one that no other rule has.
    keys : sequence of str, optional
        Its keys in a file of rules; its name if None.
    stored : sequence of str, optional
        Its keys in JSON; its name if None.
    order : float, default=1000
        Its place in words and in JSON; rules of this package come first.
    order_in_file : float, optional
        Its place in a section of a file of rules; `order` if None.

    Returns
    -------
    callable
        A decorator of a frozen dataclass that inherits from `RulePart`.

    Raises
    ------
    InvalidInput
        If another rule has one of the names.

    Examples
    --------
    ``@rule("multiples_of")`` above a dataclass registers it. A name is taken once:

    >>> from betarce.rules import RulePart
    >>> rule("at_most")(RulePart)
    Traceback (most recent call last):
        ...
    betarce.errors.InvalidInput: `name`, `keys` and `stored` must be free; got 'at_most', which another rule has.
    """

    def register(part: _Part) -> _Part:
        own = (name,)
        entry = Entry(
            name,
            part,
            own if keys is None else tuple(keys),
            own if stored is None else tuple(stored),
            order,
            order if order_in_file is None else order_in_file,
        )
        _check_free(entry)
        RULES[name] = entry
        return part

    return register


def _check_free(entry: Entry) -> None:
    """Refuse names that are taken; a class that is defined again takes its own place."""
    taken = [word for word in entry.keys if word in _RESERVED]
    for other in RULES.values():
        if _qualified(other.part) != _qualified(entry.part):
            taken += [word for word in (entry.name,) if word == other.name]
            taken += [word for word in entry.keys if word in other.keys]
            taken += [word for word in entry.stored if word in other.stored]
    if taken:
        raise InvalidInput(f"`name`, `keys` and `stored` must be free; got {taken[0]!r}, which another rule has.")


def _qualified(part: "type[RulePart]") -> str:
    return f"{part.__module__}.{part.__qualname__}"


def entry_of(part: "RulePart") -> Entry:
    """Find the entry of a rule."""
    for entry in RULES.values():
        if entry.part is type(part):
            return entry
    raise InvalidInput(
        f"`{type(part).__name__}` must be registered before it is used: decorate it with betarce.rules.rule(name)."
    )


def is_part(value: object) -> bool:
    """Say whether a value is of a registered class."""
    return any(entry.part is type(value) for entry in RULES.values())


def in_order() -> list[Entry]:
    """List all rules as words and JSON have them."""
    return sorted(RULES.values(), key=lambda entry: entry.order)


def in_file_order() -> list[Entry]:
    """List all rules as a section of a file has them."""
    return sorted(RULES.values(), key=lambda entry: entry.order_in_file)
