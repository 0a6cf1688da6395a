"""How far a value may move: `immutable`, `increase_only`, `decrease_only`, `at_most`.

The four are one class, because any two of them together are again a limit down and a limit up.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from betarce.arrays import FloatArray
from betarce.checks import is_number
from betarce.errors import InvalidInput
from betarce.features.columns import Column
from betarce.features.rules.file_values import at_key, read_flag, short
from betarce.features.rules.protocol import Guide, Rule, RulePart
from betarce.features.rules.reach import Moves, least
from betarce.features.rules.registry import rule
from betarce.features.rules.values import stored_number
from betarce.storage.values import plain


@rule("movement", keys=("immutable", "increase_only", "decrease_only", "at_most"), stored=("down", "up"), order=10)
@dataclass(frozen=True)
class Movement(RulePart):
    """How far a value may go down and up from where it is; None for any distance."""

    down: float | None = None
    up: float | None = None

    guide: ClassVar[tuple[Guide, ...]] = (
        Guide("moves", "immutable = true", "it never changes"),
        Guide("moves", "increase_only = true", "numbers and ordered names only grow"),
        Guide("moves", "decrease_only = true", "... or only shrink"),
        Guide("moves", "at_most = 2", "it moves by no more than this"),
    )

    def in_words(self) -> str:
        """Say it in a few words."""
        down, up = self.down, self.up
        if down is not None and down == up:
            return "immutable" if up == 0 else f"at most {up:g} either way"
        words = {"increase only": down == 0, "decrease only": up == 0}
        words |= {f"down by at most {down}": bool(down), f"up by at most {up}": bool(up)}
        return ", ".join(word for word, holds in words.items() if holds)

    def joined(self, other: "Movement") -> "Movement":
        """Keep the closer limit of both ways."""
        return Movement(least(self.down, other.down), least(self.up, other.up))

    def misfit(self, column: Column, whole: Rule) -> str:
        """Names without an order can only be kept, or not."""
        if not column.is_nominal or (self.down, self.up) == (0, 0):
            return ""
        return f"says {whole}, but its values have no order. Declare one: betarce.ordinal([lowest, ..., highest])."

    def moves(self, column: Column, origin: FloatArray) -> Moves:
        """Go down and up from where each value is."""
        return Moves(
            None if self.down is None else origin - self.down,
            None if self.up is None else origin + self.up,
        )

    def to_toml(self) -> Mapping[str, Any]:
        """Give its keys in a file of rules, which cannot say two different distances."""
        down, up = self.down, self.up
        if down == 0 and up == 0:
            return {"immutable": True}
        said: dict[str, Any] = {"increase_only": True} if down == 0 else {"decrease_only": True} if up == 0 else {}
        furthest = {change for change in (down, up) if change}
        if len(furthest) > 1 or (furthest and None in (down, up)):
            raise InvalidInput(
                f"may move down by {down} and up by {up}, which a file of rules cannot say. Use "
                "betarce.at_most(change), which it can."
            )
        return said | ({"at_most": short(furthest.pop())} if furthest else {})

    @classmethod
    def from_toml(cls, said: Mapping[str, Any]) -> "Movement | None":
        """Read any of its four keys."""
        ways = {"immutable": cls(0, 0), "increase_only": cls(down=0), "decrease_only": cls(up=0)}
        whole = cls()
        for key, value in said.items():
            with at_key(key):
                if key == "at_most":
                    whole = whole.joined(_no_further_than(value))
                elif read_flag(value):
                    whole = whole.joined(ways[key])
        return None if whole == cls() else whole

    @classmethod
    def suggestions(cls, column: Column) -> Iterator[tuple[str, Any]]:
        """Offer to keep a value, or to let it grow where it can."""
        yield "immutable", True
        if column.kind in ("integer", "continuous", "ordinal"):
            yield "increase_only", True

    def to_json(self) -> Mapping[str, Any]:
        """Give the limits that it has."""
        said = {"down": self.down, "up": self.up}
        return {key: plain(change, what="a part of a rule") for key, change in said.items() if change is not None}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Movement":
        """Read the limits that it has."""
        return cls(stored_number(data, "down", least=0), stored_number(data, "up", least=0))


def immutable() -> Rule:
    """Keep the value as it is.

    Examples
    --------
    >>> immutable()
    <rule: immutable>
    """
    return Rule.of(Movement(down=0, up=0))


def increase_only() -> Rule:
    """Let the value grow, never shrink; for ordered categories, along their order.

    Examples
    --------
    >>> increase_only() & at_most(2)
    <rule: increase only, up by at most 2.0>
    """
    return Rule.of(Movement(down=0))


def decrease_only() -> Rule:
    """Let the value shrink, never grow; for ordered categories, along their order.

    Examples
    --------
    >>> decrease_only()
    <rule: decrease only>
    """
    return Rule.of(Movement(up=0))


def at_most(change: float) -> Rule:
    """Let the value move by no more than `change`, in its own units; for ordered categories, in places.

    Examples
    --------
    >>> at_most(2)
    <rule: at most 2 either way>
    """
    return Rule.of(_no_further_than(change))


def _no_further_than(change: float) -> Movement:
    if not is_number(change) or not change >= 0:
        raise InvalidInput(f"`change` must be a number >= 0; got {change!r}.")
    return Movement(down=float(change), up=float(change))
