"""How one kind of value is stored."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from betarce.models.stored.reader import Reader
    from betarce.models.stored.writer import Writer


@dataclass(frozen=True)
class Kind:
    """One kind of value.

    Attributes
    ----------
    tag : str
        What the data is called in a file.
    types : tuple of str
        The classes whose instances it takes, as "module:name"; by name, so that no library is imported to be compared
        with. Subclasses are not taken.
    write : callable (value, Writer) -> plain data
    read : callable (plain data, Reader) -> value
        Raises CorruptFile, or one of the errors that data of a wrong shape cause, for anything else.
    """

    tag: str
    types: tuple[str, ...]
    write: Callable[[Any, "Writer"], Any]
    read: Callable[[Any, "Reader"], Any]
