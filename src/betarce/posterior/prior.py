"""Prior beliefs about the validity rate."""

import sys
from dataclasses import dataclass

from betarce.errors import InvalidInput


@dataclass(frozen=True)
class Prior:
    """A Beta(a, b) prior on the validity rate.

    Examples
    --------
    >>> Prior(2, 1)
    Prior(a=2, b=1)
    """

    a: float
    b: float

    def __post_init__(self) -> None:
        for name, value, least in (("a", self.a, 0.0), ("b", self.b, 1e-9)):
            if not (isinstance(value, (int, float)) and least <= value <= sys.float_info.max):
                rule = "a number >= 0" if least == 0 else "a number > 0"
                raise InvalidInput(f"`prior.{name}` must be {rule}; got {value!r}.")


JEFFREYS = Prior(0.5, 0.5)
"""The paper's prior."""
UNIFORM = Prior(1, 1)
"""Every validity rate is as likely as any other before the vote."""
EXACT = Prior(0, 1)
"""The default. Clopper-Pearson: the guarantee holds for every true rate, at the price of a slightly larger quorum."""

PRIORS = {"jeffreys": JEFFREYS, "uniform": UNIFORM, "exact": EXACT}


def check_prior(prior: object) -> Prior:
    """Turn a name, a pair or a `Prior` into a `Prior`.

    Examples
    --------
    >>> check_prior("exact")
    Prior(a=0, b=1)
    >>> check_prior((2, 3))
    Prior(a=2, b=3)
    """
    match prior:
        case Prior():
            return prior
        case str() if prior in PRIORS:
            return PRIORS[prior]
        case (float() | int() as a, float() | int() as b):
            return Prior(a, b)
    raise InvalidInput(
        f"`prior` must be one of {', '.join(map(repr, PRIORS))}, a pair (a, b) or a Prior; got {prior!r}."
    )
