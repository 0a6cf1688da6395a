"""Seeds derived from names, so that no result depends on order or on the number of workers."""

import hashlib
import secrets
from numbers import Integral

import numpy as np

from betarce.errors import InvalidInput

_BITS = 31  # the largest that scikit-learn, LightGBM, XGBoost and torch all accept


def derive(seed: int, *names: str | int | bytes) -> int:
    """Turn a seed and a path of names into another seed.

    Parameters
    ----------
    seed : int
        The seed of the whole computation.
    *names : str, int or bytes
        What the derived seed is for, from the general to the particular.

    Returns
    -------
    int
        In [0, 2**31): the range that every library of the field accepts.

    Examples
    --------
    >>> derive(0, "bootstrap", "search", 17) == derive(0, "bootstrap", "search", 17)
    True
    >>> derive(0, "bootstrap", "search", 17) == derive(0, "bootstrap", "certify", 17)
    False
    """
    digest = hashlib.blake2b(digest_size=8)
    for part in (seed, *names):
        kind = type(part).__name__[0]
        encoded = part if isinstance(part, bytes) else str(part).encode()
        # The length keeps ("ab", "c") and ("a", "bc") apart, the kind keeps 1 and "1" apart.
        digest.update(f"{kind}{len(encoded)}:".encode() + encoded)
    return int.from_bytes(digest.digest(), "little") >> (64 - _BITS)


def generator(seed: int, *names: str | int | bytes) -> np.random.Generator:
    """Give the random generator that belongs to a seed and a path of names.

    Examples
    --------
    >>> a, b = generator(0, "rows"), generator(0, "rows")
    >>> bool(a.random() == b.random())
    True
    """
    return np.random.default_rng(derive(seed, *names))


def check_seed(random_state: object) -> int:
    """Turn what users pass as `random_state` into one int.

    Examples
    --------
    >>> check_seed(7)
    7
    >>> check_seed("seven")
    Traceback (most recent call last):
    betarce.errors.InvalidInput: `random_state` must be None, an int >= 0, or a numpy generator; got 'seven'.
    """
    match random_state:
        case None:
            return secrets.randbits(_BITS)
        case np.random.Generator():
            return int(random_state.integers(2**_BITS))
        case np.random.RandomState():
            return int(random_state.randint(2**_BITS))
        case Integral() if not isinstance(random_state, bool) and int(random_state) >= 0:
            return int(random_state)
    raise InvalidInput(f"`random_state` must be None, an int >= 0, or a numpy generator; got {random_state!r}.")
