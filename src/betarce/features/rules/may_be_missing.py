"""Values that may be withdrawn: `may_be_missing`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from betarce.features.rules.protocol import Guide, Rule, RulePart
from betarce.features.rules.registry import rule
from betarce.features.rules.values import unsaid


@rule("may_be_missing", stored=("missing",), order=70, order_in_file=55)
@dataclass(frozen=True)
class MayBeMissing(RulePart):
    """A value may be withdrawn, and a missing one filled in."""

    restricts: ClassVar[bool] = False
    lets_miss: ClassVar[bool] = True
    guide: ClassVar[tuple[Guide, ...]] = (Guide("ends", "may_be_missing = true", "it may be withdrawn, or filled in"),)

    def in_words(self) -> str:
        """Say it in a few words."""
        return "may be missing"

    def to_json(self) -> Mapping[str, Any]:
        """Give its key."""
        return {"missing": True}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "MayBeMissing":
        """Read its key."""
        if data["missing"] is not True:
            raise unsaid("missing", data["missing"])
        return cls()


def may_be_missing() -> Rule:
    """Let a value be withdrawn, and a missing one be filled in; without this rule, missing stays missing.

    Examples
    --------
    >>> may_be_missing()
    <rule: may be missing>
    """
    return Rule.of(MayBeMissing())
