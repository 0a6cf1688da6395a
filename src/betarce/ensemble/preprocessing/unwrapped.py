"""What is left of a fitted model when its wrappings are taken off."""

from dataclasses import dataclass
from typing import Any

from betarce.ensemble.composites.combining import Rule
from betarce.ensemble.preprocessing.columns import Front
from betarce.ensemble.preprocessing.probe_points import Witness
from betarce.ensemble.preprocessing.thresholds import Threshold


@dataclass(frozen=True, eq=False)
class Peeled:
    """A fitted model without its wrappings.

    Attributes
    ----------
    core : object
        The estimator that decides.
    front : Front or None
        What stands before it; None where it sees the point as it is, or is made of others.
    threshold : Threshold or None
        Where its label turns, if not at even odds.
    why : str
        Why no kernel may have it; empty if all that stands before it is known.
    parts : tuple of Peeled
        The models it is made of.
    methods : tuple of str
        What each of them is asked for.
    rule : Rule or None
        How their answers are combined.
    witness : Witness or None
        The points on which it was watched.
    """

    core: Any
    front: Front | None = None
    threshold: Threshold | None = None
    why: str = ""
    parts: tuple["Peeled", ...] = ()
    methods: tuple[str, ...] = ()
    rule: Rule | None = None
    witness: Witness | None = None

    @property
    def turn(self) -> float | None:
        """The score at which the label turns; None if a kernel cannot say."""
        if self.threshold is None:
            return 0.0
        final = None if self.rule is None else self.rule.final
        return self.threshold.offset(self.core if final is None else final)

    @property
    def family(self) -> str:
        """What tells members that may share a kernel from others."""
        name = type(self.core).__qualname__
        if self.rule is None:
            return name
        parts = zip(self.parts, self.methods, strict=True)
        return f"{name}{self.rule.shape}({', '.join(f'{part.family}.{method}' for part, method in parts)})"
