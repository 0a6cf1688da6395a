"""Columns of zeros and ones that stand for one category: `one_hot`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from betarce.features.rules.protocol import Rule, RulePart, Scope
from betarce.features.rules.registry import rule
from betarce.features.rules.values import unsaid


@rule("one_hot", keys=(), stored=("group",), order=90)
@dataclass(frozen=True)
class OneHot(RulePart):
    """Several columns are one; a file of rules names them under [groups]."""

    scope: ClassVar[Scope] = "column"

    def in_words(self) -> str:
        """Say it in a few words."""
        return "one-hot"

    def to_toml(self) -> Mapping[str, Any]:
        """Say nothing in the section of the group, which is there because of [groups]."""
        return {}

    def to_json(self) -> Mapping[str, Any]:
        """Give its key."""
        return {"group": True}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "OneHot":
        """Read its key."""
        if data["group"] is not True:
            raise unsaid("group", data["group"])
        return cls()


def one_hot() -> Rule:
    """Say that several columns of zeros and ones stand for one category: ``{("a_x", "a_y"): one_hot()}``.

    Examples
    --------
    >>> one_hot()
    <rule: one-hot>
    """
    return Rule.of(OneHot())
