"""Count what became of mutants, and say so at the end of the run."""

from collections import Counter, defaultdict
from contextlib import contextmanager

import pytest

from betarce.errors import BetarceError

_COUNTS = defaultdict(Counter)


@contextmanager
def _refusals(kind):
    """Count a mutant as refused if one of our own errors says so; any other error fails the test."""
    _COUNTS[kind]["mutants"] += 1
    try:
        yield
    except BetarceError:
        _COUNTS[kind]["refused"] += 1


class Tally:
    """What became of mutants of one kind: refused by one of our own errors, or read, and then as what."""

    def __init__(self, kind):
        self.kind = kind

    def refusals(self):
        return _refusals(self.kind)

    def read(self, outcome):
        _COUNTS[self.kind][outcome] += 1


@pytest.fixture(scope="module")
def tally():
    return Tally


def pytest_terminal_summary(terminalreporter):
    if not _COUNTS:
        return
    terminalreporter.section("fuzz")
    for kind, counts in sorted(_COUNTS.items()):
        terminalreporter.write_line(_line(kind, counts))
    total = sum(_COUNTS.values(), Counter())
    terminalreporter.write_line(_line("all", total))


def _line(kind, counts):
    outcomes = ", ".join(f"{n:,} {outcome}" for outcome, n in counts.items() if outcome != "mutants")
    return f"fuzz: {kind}: {counts['mutants']:,} mutants: {outcomes}"
