"""How hard a feature is to change: `cost`."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from betarce.checks import is_number
from betarce.errors import InvalidInput
from betarce.features.rules.file_values import short
from betarce.features.rules.protocol import Guide, Rule, RulePart, Scope
from betarce.features.rules.registry import rule
from betarce.features.rules.values import stored_number, unsaid
from betarce.storage.values import plain


@rule("cost", stored=("weight",), order=100)
@dataclass(frozen=True)
class Cost(RulePart):
    """How many times each unit of a feature counts."""

    weight: float

    scope: ClassVar[Scope] = "table"
    guide: ClassVar[tuple[Guide, ...]] = (
        Guide("moves", "cost = 3", "a change counts three times: it is made less often"),
    )

    def in_words(self) -> str:
        """Say it in a few words."""
        return f"costs {self.weight:g} times as much"

    def cost_factor(self) -> float:
        """Say how many times as much a change costs."""
        return self.weight

    def to_toml(self) -> Mapping[str, Any]:
        """Give its key in a file of rules."""
        return {"cost": short(self.weight)}

    @classmethod
    def from_value(cls, value: Any) -> "Cost":
        """Read a number."""
        return _times(value)

    def to_json(self) -> Mapping[str, Any]:
        """Give the weight."""
        return {"weight": plain(self.weight, what="a part of a rule")}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Cost":
        """Read the weight."""
        weight = stored_number(data, "weight")
        if not 0 < weight < math.inf:
            raise unsaid("weight", weight)
        return cls(weight)


def cost(weight: float) -> Rule:
    """Say how hard a feature is to change: a weight of 3 counts each of its units three times.

    Every certified point is the cheapest one that the search finds, so a feature that costs more changes less often.
    Distances in results stay plain.

    Examples
    --------
    >>> from betarce.features.rules import decrease_only
    >>> cost(3) & decrease_only()
    <rule: decrease only, costs 3 times as much>
    """
    return Rule.of(_times(weight))


def _times(weight: float) -> Cost:
    if not is_number(weight) or not 0 < weight < math.inf:
        raise InvalidInput(f"`weight` must be a number > 0; got {weight!r}. To forbid a change, use immutable().")
    return Cost(float(weight))
