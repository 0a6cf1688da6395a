"""The plan of the simulation: which cells, and how many fits of each."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from itertools import product
from typing import Any

from betarce.errors import InvalidInput
from betarce.paper.guarantee.cells import DATA, FAMILIES, SPACES, Cell

_MOST_FITS, _MOST_AUDIT = 10_000, 1_000_000


@dataclass(frozen=True)
class GuaranteePlan:
    """What is simulated.

    Attributes
    ----------
    data, families, spaces : tuple of str
    varied : tuple of str
        Data sets that are simulated under every space; the others under the first one alone.
    guarantees : tuple of pairs of float
        Delta and confidence.
    fits : int
        Draws of search and certifying members for each cell.
    audit_members : int or None
        Fresh members that measure the truth; None for the default of each family.
    seed : int

    Examples
    --------
    >>> plan = GuaranteePlan(("diabetes", "wine"), ("logistic",), ("bootstrap", "seed"), varied=("diabetes",))
    >>> [cell.name for cell in plan.cells]
    ['wine-logistic-bootstrap-1', 'diabetes-logistic-bootstrap-1', 'diabetes-logistic-seed-1']
    """

    data: tuple[str, ...]
    families: tuple[str, ...]
    spaces: tuple[str, ...]
    varied: tuple[str, ...] = ()
    guarantees: tuple[tuple[float, float], ...] = ((0.9, 0.95),)
    fits: int = 20
    audit_members: int | None = None
    seed: int = 1

    @property
    def cells(self) -> list[Cell]:
        """All cells, those that take longest first."""
        settings = product(self.guarantees, reversed(self.families), reversed(self.data), self.spaces)
        return [
            Cell(data, family, space, self.seed, *guarantee)
            for guarantee, family, data, space in settings
            if space == self.spaces[0] or data in self.varied
        ]


def guarantee_plan_of(document: Mapping[str, Any], *, what: str) -> GuaranteePlan:
    """Turn the content of a file into a plan; `what` names the file in messages.

    Examples
    --------
    >>> guarantee_plan_of({"data": ["car"]}, what="my.toml")
    Traceback (most recent call last):
    betarce.errors.InvalidInput: my.toml, key 'data': there is no 'car'. Take some of: diabetes, breast_cancer, heloc,
    wine, loan.
    """
    known = [each.name for each in fields(GuaranteePlan)]
    for key in document:
        if key not in known:
            close = get_close_matches(str(key), known, 1)
            raise InvalidInput(f"{what}: there is no key {key!r}.{f' Did you mean {close[0]!r}?' if close else ''}")
    choices = {"data": DATA, "families": FAMILIES, "spaces": SPACES, "varied": DATA}
    values: dict[str, Any] = {}
    for key, value in document.items():
        place = f"{what}, key {key!r}"
        if key in choices:
            values[key] = _names(value, choices[key], place)
        elif key == "guarantees":
            values[key] = _guarantees(value, place)
        else:
            most = {"fits": _MOST_FITS, "audit_members": _MOST_AUDIT}.get(key, 2**63 - 1)
            if type(value) is not int or not (0 if key == "seed" else 1) <= value <= most:
                raise InvalidInput(f"{place}: must be a whole number up to {most:,}; got {value!r}.")
            values[key] = value
    missing = [key for key in ("data", "families", "spaces") if not values.get(key)]
    if missing:
        raise InvalidInput(f"{what}: the key {missing[0]!r} is missing.")
    return GuaranteePlan(**values)


def _names(value: Any, known: tuple[str, ...], place: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise InvalidInput(f"{place}: must be a list of names; got {value!r}.")
    for name in value:
        if name not in known:
            raise InvalidInput(f"{place}: there is no {name!r}. Take some of: {', '.join(known)}.")
    return tuple(dict.fromkeys(value))


def _guarantees(value: Any, place: str) -> tuple[tuple[float, float], ...]:
    pairs = value if isinstance(value, list) else []
    for pair in pairs:
        fine = isinstance(pair, list) and len(pair) == 2 and all(type(x) is float and 0 < x < 1 for x in pair)
        if not fine:
            raise InvalidInput(f"{place}: must be pairs of delta and confidence, such as [[0.9, 0.95]]; got {pair!r}.")
    if not pairs:
        raise InvalidInput(f"{place}: must be pairs of delta and confidence, such as [[0.9, 0.95]]; got {value!r}.")
    return tuple((delta, confidence) for delta, confidence in pairs)
