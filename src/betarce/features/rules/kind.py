"""What a column holds: `continuous`, `integer`, `categorical`, `ordinal`.

The four are one class, because a file may also say a kind alone, and they exclude each other.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, ClassVar, get_args

from betarce.checks import is_number
from betarce.errors import InvalidInput
from betarce.features.columns import Column, Kind
from betarce.features.rules.file_values import at_key, read_values, short
from betarce.features.rules.protocol import Guide, Rule, RulePart, Scope
from betarce.features.rules.registry import rule
from betarce.features.rules.values import distinct, stored_number, stored_values, unsaid
from betarce.storage.values import plain, unplain

_NEEDS: Mapping[str, tuple[Kind, ...]] = {
    "step": ("continuous", "integer"),
    "decimals": ("continuous",),
    "levels": ("categorical", "ordinal"),
}


@rule("kind", keys=("kind", "levels", "step", "decimals"), stored=("kind", "levels", "step"), order=80, order_in_file=0)
@dataclass(frozen=True)
class DeclaredKind(RulePart):
    """What a column holds, where it should not be read off the training table; None for what should."""

    kind: Kind | None = None
    levels: tuple[Any, ...] | None = None
    step: float | None = None

    scope: ClassVar[Scope] = "column"
    guide: ClassVar[tuple[Guide, ...]] = (
        Guide("holds", 'kind = "continuous", "integer", "binary", "categorical" or "ordinal"'),
        Guide("holds", 'step = 100 or decimals = 2 (numbers), levels = ["low", "mid", "high"] (names)'),
    )

    def in_words(self) -> str:
        """Say it in a few words."""
        said = {name: getattr(self, name) for name in _WORDS}
        return ", ".join(_WORDS[name](value) for name, value in said.items() if value)

    def joined(self, other: "DeclaredKind") -> "DeclaredKind":
        """Take from each what the other is silent about."""
        both: dict[str, Any] = {}
        for name, words in _WORDS.items():
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine is not None and theirs is not None and mine != theirs:
                raise InvalidInput(f"{words(mine)!r} and {words(theirs)!r} cannot both hold.")
            both[name] = theirs if mine is None else mine
        return DeclaredKind(**both)

    def denied_by(self, column: Column) -> str:
        """Compare a column with what was declared for it."""
        if self.kind not in (None, column.kind):
            return "is of another kind than its rule says"
        if self.levels not in (None, column.levels) and len(column.raw) == 1:
            return "has other levels than its rule says"
        if self.step not in (None, column.step) and column.levels is None:
            return "has another step than its rule says"
        return ""

    def to_toml(self) -> Mapping[str, Any]:
        """Give its keys in a file of rules."""
        said: dict[str, Any] = {"kind": self.kind} if self.kind else {}
        said |= {} if self.levels is None else {"levels": list(self.levels)}
        return said if self.step is None else said | {"step": short(self.step)}

    @classmethod
    def from_toml(cls, said: Mapping[str, Any]) -> "DeclaredKind | None":
        """Read its keys, which need each other."""
        kind = said.get("kind")
        if kind is not None and kind not in get_args(Kind):
            close = get_close_matches(str(kind), get_args(Kind), 1)
            hint = f"Did you mean {close[0]!r}?" if close else f"Known kinds: {', '.join(get_args(Kind))}."
            with at_key("kind"):
                raise InvalidInput(f"there is no kind {kind!r}. {hint}")
        for key, kinds in _NEEDS.items():
            if key in said and kind not in kinds:
                wanted = " or ".join(f'kind = "{each}"' for each in kinds)
                raise InvalidInput(f"{key!r} needs {wanted} beside it; got kind = {kind!r}.")
        if kind == "ordinal" and "levels" not in said:
            raise InvalidInput('kind = "ordinal" needs levels = [lowest, ..., highest] beside it.')
        if kind is None:
            return None
        return _FROM_TOML[kind](said) if kind in _FROM_TOML else cls(kind)

    def to_json(self) -> Mapping[str, Any]:
        """Give what it says."""
        said: dict[str, Any] = {} if self.kind is None else {"kind": self.kind}
        if self.levels is not None:
            said["levels"] = [plain(level, what="a value of a column") for level in self.levels]
        return said if self.step is None else said | {"step": plain(self.step, what="a part of a rule")}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "DeclaredKind":
        """Read what it says."""
        kind = unplain(data["kind"]) if "kind" in data else None
        if "kind" in data and kind not in get_args(Kind):
            raise unsaid("kind", kind)
        levels = stored_values(data["levels"]) if "levels" in data else None
        if levels is not None and len(levels) != len(dict.fromkeys(levels)):
            raise unsaid("levels", levels)
        step = stored_number(data, "step")
        if step is not None and not 0 < step < math.inf:
            raise unsaid("step", step)
        return cls(kind, levels, step)


_WORDS: Mapping[str, Callable[[Any], str]] = {
    "kind": str,
    "levels": lambda levels: f"levels {' < '.join(map(str, levels))}",
    "step": lambda step: f"in steps of {step:g}",
}


def continuous(*, step: float | None = None, decimals: int | None = None) -> Rule:
    """Say that a column holds numbers: any, multiples of `step`, or rounded to so many decimals.

    Examples
    --------
    >>> continuous(decimals=2)
    <rule: continuous, in steps of 0.01>
    """
    return Rule.of(_continuous(step, decimals))


def integer(*, step: float | None = None) -> Rule:
    """Say that a column holds whole numbers, or whole multiples of `step`.

    Examples
    --------
    >>> integer(step=5)
    <rule: integer, in steps of 5>
    """
    return Rule.of(_integer(step))


def categorical(levels: Iterable[Any] | None = None) -> Rule:
    """Say that a column holds names without an order, such as postcodes that are written as numbers.

    Examples
    --------
    >>> categorical()
    <rule: categorical>
    """
    return Rule.of(_categorical(levels))


def ordinal(levels: Iterable[Any]) -> Rule:
    """Say that a column holds names in an order, lowest first.

    Examples
    --------
    >>> ordinal(["low", "middle", "high"])
    <rule: ordinal, levels low < middle < high>
    """
    return Rule.of(_ordinal(levels))


def _continuous(step: float | None, decimals: int | None) -> DeclaredKind:
    if decimals is not None:
        if step is not None or not isinstance(decimals, int) or isinstance(decimals, bool) or not 0 <= decimals <= 15:
            raise InvalidInput(f"`decimals` must be a whole number from 0 to 15, without `step`; got {decimals!r}.")
        step = float(f"1e-{decimals}")
    return DeclaredKind("continuous", step=_check_step(step))


def _integer(step: float | None) -> DeclaredKind:
    step = _check_step(step)
    if step is not None and not float(step).is_integer():
        raise InvalidInput(f"`step` of whole numbers must be whole; got {step!r}.")
    return DeclaredKind("integer", step=step)


def _categorical(levels: Iterable[Any] | None) -> DeclaredKind:
    return DeclaredKind("categorical", None if levels is None else distinct("levels", levels))


def _ordinal(levels: Iterable[Any]) -> DeclaredKind:
    named = distinct("levels", levels)
    if len(named) < 2:
        raise InvalidInput(f"`levels` must hold at least two names, lowest first; got {list(named)!r}.")
    return DeclaredKind("ordinal", named)


def _check_step(step: float | None) -> float | None:
    if step is None:
        return None
    if not is_number(step) or not 0 < step < math.inf:
        raise InvalidInput(f"`step` must be a number > 0; got {step!r}.")
    return float(step)


def _continuous_from_toml(said: Mapping[str, Any]) -> DeclaredKind:
    step, decimals = said.get("step"), said.get("decimals")
    with at_key("step" if decimals is None else "decimals"):
        return _continuous(step, decimals)


def _integer_from_toml(said: Mapping[str, Any]) -> DeclaredKind:
    with at_key("step"):
        return _integer(said.get("step"))


def _categorical_from_toml(said: Mapping[str, Any]) -> DeclaredKind:
    levels = said.get("levels")
    with at_key("levels"):
        return _categorical(None if levels is None else read_values(levels))


def _ordinal_from_toml(said: Mapping[str, Any]) -> DeclaredKind:
    with at_key("levels"):
        return _ordinal(read_values(said["levels"]))


_FROM_TOML: Mapping[str, Callable[[Mapping[str, Any]], DeclaredKind]] = {
    "continuous": _continuous_from_toml,
    "integer": _integer_from_toml,
    "categorical": _categorical_from_toml,
    "ordinal": _ordinal_from_toml,
}
