"""Which category may become which: `transitions`."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from betarce.arrays import AnyArray, FloatArray
from betarce.errors import InvalidInput
from betarce.features.columns import Column
from betarce.features.rules.file_values import read_value, read_values
from betarce.features.rules.protocol import Guide, Rule, RulePart
from betarce.features.rules.reach import Moves
from betarce.features.rules.registry import rule
from betarce.features.rules.values import distinct, stored_values, unsaid
from betarce.storage.values import plain, unplain


@rule("transitions", stored=("moves",), order=40)
@dataclass(frozen=True)
class Transitions(RulePart):
    """For each category, those that it may become; one that is not listed stays."""

    pairs: tuple[tuple[Any, tuple[Any, ...]], ...]

    guide: ClassVar[tuple[Guide, ...]] = (
        Guide("moves", 'transitions = {rent = ["own"], own = []}', "which name may become which"),
    )

    def in_words(self) -> str:
        """Say it in a few words."""
        return "; ".join(f"{start} to {' or '.join(map(str, ends)) or 'nothing else'}" for start, ends in self.pairs)

    def misfit(self, column: Column, whole: Rule) -> str:
        """Numbers have no transitions."""
        return "" if column.levels is not None else "says which category may become which, but it holds numbers."

    def named_values(self) -> Sequence[Any]:
        """Name where each of them starts, and where it may end."""
        return [level for start, ends in self.pairs for level in (start, *ends)]

    def moves(self, column: Column, origin: FloatArray) -> Moves:
        """Look each row up in a table from level to level; to stay is always allowed."""
        levels = column.levels or ()
        ends: dict[Any, AnyArray] = {start: np.array([level in to for level in levels]) for start, to in self.pairs}
        nowhere = np.zeros(len(levels), dtype=bool)
        table = np.array([ends.get(level, nowhere) for level in levels]) | np.eye(len(levels), dtype=bool)
        return Moves(allowed=table[np.nan_to_num(origin, nan=0).astype(np.intp)])

    def to_toml(self) -> Mapping[str, Any]:
        """Give its key in a file of rules: a table of texts, or a list of pairs."""
        pairs = [(start, list(ends)) for start, ends in self.pairs]
        texts = all(isinstance(start, str) for start, _ in pairs)
        return {"transitions": dict(pairs) if texts else [list(pair) for pair in pairs]}

    @classmethod
    def from_value(cls, value: Any) -> "Transitions":
        """Read a table of texts, or a list of pairs."""
        if isinstance(value, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in value):
            starts = [read_value(start) for start, _ in value]
            twice = [start for i, start in enumerate(starts) if start in starts[:i]]
            if twice:
                raise InvalidInput(f"must say once what may become of each value; {twice[0]!r} is there twice.")
            return _from_to({start: read_values(ends) for start, (_, ends) in zip(starts, value, strict=True)})
        if not isinstance(value, Mapping):
            raise InvalidInput(f'must say what may become what, such as {{rent = ["own"], own = []}}; got {value!r}.')
        return _from_to({start: read_values(ends) for start, ends in value.items()})

    def to_json(self) -> Mapping[str, Any]:
        """Give a list of pairs."""
        what = "a value of a column"
        return {
            "moves": [[plain(start, what=what), [plain(end, what=what) for end in ends]] for start, ends in self.pairs]
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Transitions":
        """Read a list of pairs."""
        pairs = tuple((unplain(start), stored_values(ends)) for start, ends in data["moves"])
        if not pairs or len(pairs) != len({start for start, _ in pairs}):
            raise unsaid("moves", pairs)
        return cls(pairs)


def transitions(moves: Mapping[Any, Iterable[Any]]) -> Rule:
    """Say which category may become which others; to stay is always allowed, what is not listed stays.

    Examples
    --------
    >>> transitions({"rent": ["own", "with family"], "own": []})
    <rule: rent to own or with family; own to nothing else>
    """
    return Rule.of(_from_to(moves))


def _from_to(moves: Mapping[Any, Iterable[Any]]) -> Transitions:
    if not isinstance(moves, Mapping) or not moves:
        raise InvalidInput(f"`moves` must map categories to those they may become; got {moves!r}.")
    return Transitions(tuple((start, distinct(f"moves[{start!r}]", ends)) for start, ends in moves.items()))
