"""Columns that are computed from others: `derived`."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from betarce.arrays import FloatArray
from betarce.errors import InvalidInput
from betarce.features.formula import Formula
from betarce.features.rules.protocol import Guide, Rule, RulePart, Scope
from betarce.features.rules.registry import rule


@rule("derived", order=60)
@dataclass(frozen=True)
class Derived(RulePart):
    """How a column is computed from a table."""

    function: Callable[[Any], Any]

    scope: ClassVar[Scope] = "table"
    guide: ClassVar[tuple[Guide, ...]] = (
        Guide("ends", 'derived = "debt / income"', "computed from others: + - * / ** min(...) max(...)"),
    )

    def in_words(self) -> str:
        """Say it in a few words."""
        return f"derived from {self.function.text}" if isinstance(self.function, Formula) else "derived"

    def compute(self, points: FloatArray, name: Hashable, decode: Callable[[FloatArray], Any]) -> FloatArray:
        """Compute the column `name` of points, which `decode` turns into a table of the user's own kind."""
        try:
            values = np.asarray(self.function(decode(points)), dtype=np.float64)
        except InvalidInput as error:
            raise InvalidInput(f"Column {name!r} is derived. {error}") from error
        except Exception as error:
            raise InvalidInput(f"The function of the derived column {name!r} failed: {error!r}") from error
        if values.shape != (len(points),):
            raise InvalidInput(
                f"The function of the derived column {name!r} must give one value per row, shape ({len(points)},); "
                f"got shape {values.shape}."
            )
        return values

    def to_toml(self) -> Mapping[str, Any]:
        """Give its formula; a function has no place in a file."""
        if not isinstance(self.function, Formula):
            raise InvalidInput(
                'is derived by a Python function, which a file of rules cannot say. Use betarce.derived("debt / '
                'income"), which it can.'
            )
        return {"derived": self.function.text}

    @classmethod
    def from_value(cls, value: Any) -> "Derived":
        """Read a formula."""
        if not isinstance(value, str):
            raise InvalidInput(f'must be arithmetic over columns, such as "debt / income"; got {value!r}.')
        return cls(Formula(value))

    def to_json(self) -> Mapping[str, Any]:
        """Give its formula, or the name of its function."""
        function: Any = self.function
        if isinstance(function, Formula):
            return {"derived": {"formula": function.text}}
        lost = isinstance(function, LostFunction)
        name = function.name if lost else getattr(function, "__qualname__", repr(function))
        return {"derived": {"function": str(name)}}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Derived":
        """Read its formula, or the name of its function."""
        said = data["derived"]
        return cls(Formula(said["formula"]) if "formula" in said else LostFunction(said["function"]))


@dataclass(frozen=True)
class LostFunction:
    """What stands for the function of a derived column in a space that was loaded from a file."""

    name: str

    def __call__(self, table: Any) -> Any:
        raise InvalidInput(
            f"Its function ({self.name}) is not part of the file that these features were loaded from. Fit again with "
            'the function, or write it as a formula, which files can keep: betarce.derived("debt / income").'
        )


def derived(function: Callable[[Any], Any] | str) -> Rule:
    """Compute the value from the other columns.

    Parameters
    ----------
    function : callable or str
        Takes a table of the user's own kind, returns one value per row: ``lambda t: t["debt"] / t["income"]``.
        Arithmetic may also be written as text, ``"debt / income"``, which can be kept in a file.

    Examples
    --------
    >>> derived("debt / income")
    <rule: derived from debt / income>
    """
    if isinstance(function, str):
        function = Formula(function)
    if not callable(function):
        raise InvalidInput(f"`function` must be a callable from a table to a column; got {function!r}.")
    return Rule.of(Derived(function))
