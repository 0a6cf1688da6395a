"""Mutants of files: of their bytes, and of the data that they say. FUZZ_TIMES=20 tries twenty times as many."""

import copy
import os

import numpy as np

from betarce.features.stored import same_data

TIMES = int(os.environ.get("FUZZ_TIMES", "1"))
TOKENS = [
    *(b"NaN", b"Infinity", b"1e999", b"-1e999", b"-0.0", b"9" * 30, b"1" * 5000, b"0x" + b"f" * 40, b"1e-400"),
    *(b"null", b"true", b"{}", b"[]", b'""', b"[" * 100, b"]" * 100, b'{"a":' * 100, b"\x00", b"\xff", b"\xed\xa0\x80"),
    *(b"\x1b[31m", b"\xe2\x80\xae", b"\n", b"\r", b"#", b"&a", b"*a", b"<<: *a", b"'", b'"""', b"=", b".", b"\\ud800"),
]
WRONG = [
    *(None, True, False, 0, 1, -1, 2**53 + 1, -(2**63), 10**90, 0.0, -0.0, 0.5, 70.5, -1.5, 1e-300, 1e300, 5e-324),
    *("", "x", "0", "certified", "not-found", "float64", "\x1b[31m", "\ud800", [], [[]], {}, [None], {"x": 1}),
    *({"float": "nan"}, {"float": "inf"}, {"tuple": []}, {"date": "2024-13-45"}, {"timestamp": "x", "unit": "s"}),
]


def byte_mutants(content, n, seed):
    """Give `n` files that differ from one in a few bytes: flipped, replaced, lost, repeated, moved or inserted."""
    rng = np.random.default_rng(seed)
    n *= TIMES
    while n:
        mutant = bytearray(content)
        for _ in range(rng.integers(1, 4)):
            _change_bytes(mutant, rng)
        if mutant != content:
            yield bytes(mutant)
            n -= 1


def _change_bytes(mutant, rng):
    start = int(rng.integers(len(mutant) + 1))
    end = min(len(mutant), start + int(rng.choice([1, 1, 2, 5, 20, 200])))
    match rng.integers(7):
        case 0:
            for i in range(start, min(end, start + 1)):
                mutant[i] ^= 1 << int(rng.integers(8))
        case 1:
            mutant[start:end] = rng.integers(0, 256, end - start, dtype=np.uint8).tobytes()
        case 2:
            del mutant[start:end]
        case 3:
            mutant[end:end] = mutant[start:end]
        case 4:
            piece = mutant[start:end]
            del mutant[start:end]
            at = int(rng.integers(len(mutant) + 1))
            mutant[at:at] = piece
        case 5:
            mutant[start:start] = TOKENS[int(rng.integers(len(TOKENS)))]
        case 6:
            # A digit for a digit, a letter for a letter: still a file of its kind, but another one.
            for i in range(start, end):
                if 48 <= mutant[i] < 58:
                    mutant[i] = 48 + int(rng.integers(10))
                elif 97 <= mutant[i] < 123:
                    mutant[i] = 97 + int(rng.integers(26))


def data_mutants(data, n, seed):
    """Give `n` documents that differ from one in a place or two: another value, or a part lost, repeated or moved."""
    rng = np.random.default_rng(seed)
    n *= TIMES
    while n:
        mutant = copy.deepcopy(data)
        for _ in range(rng.choice([1, 1, 2])):
            _change_data(mutant, rng)
        if not same_data(mutant, data):
            yield mutant
            n -= 1


def _change_data(data, rng):
    places = list(_places(data))
    if not places:
        return
    inner, key = places[int(rng.integers(len(places)))]
    other, at = places[int(rng.integers(len(places)))]
    match rng.integers(6):
        case 0 | 1:
            inner[key] = copy.deepcopy(WRONG[int(rng.integers(len(WRONG)))])
        case 2:
            del inner[key]
        case 3:
            if isinstance(inner, list):
                inner.insert(key, copy.deepcopy(inner[key]))
            else:
                inner[f"{key}'"] = copy.deepcopy(inner[key])
        case 4:
            inner[key] = copy.deepcopy(other[at])
        case 5:
            inner[key] = _nearby(inner[key], rng)


def _nearby(value, rng):
    match value:
        case bool():
            return not value
        case int():
            return value + int(rng.choice([-1, 1, 1000]))
        case float():
            return value * float(rng.choice([-1, 1 + 1e-12, 1.1])) + float(rng.choice([0, 1e-9, 0.5]))
        case str():
            return value + "x" if rng.random() < 0.5 else value[:-1]
        case list():
            return value[::-1]
    return value


def _places(data):
    """Give every container and key inside JSON data."""
    for key, value in list(data.items() if isinstance(data, dict) else enumerate(data)):
        yield data, key
        if isinstance(value, (dict, list)):
            yield from _places(value)
