"""The glossary names places in the code that exist."""

import re
from importlib import import_module
from pathlib import Path

import pytest

GLOSSARY = Path(__file__).parent.parent / "docs" / "glossary.md"
ROWS = [line.split("|")[1:-1] for line in GLOSSARY.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
TERMS = {cells[0].strip(): cells for cells in ROWS if cells[0].strip() != "term"}


def resolve(path):
    """Import the longest part of a dotted path that is a module, and look the rest up in it."""
    parts = path.split(".")
    for n in range(len(parts), 0, -1):
        try:
            found = import_module(".".join(parts[:n]))
        except ModuleNotFoundError:
            continue
        for name in parts[n:]:
            found = getattr(found, name)
        return found
    raise AssertionError(f"{path} cannot be imported")


@pytest.mark.parametrize("term", TERMS)
def test_every_term_has_one_sentence_and_a_place_in_the_code(term):
    _, _, sentence, place = TERMS[term]
    assert re.fullmatch(r" .*\. ", sentence)
    assert resolve(place.strip().strip("`")) is not None


def test_every_term_is_there_once():
    terms = [cells[0].strip() for cells in ROWS if cells[0].strip() != "term"]
    assert len(terms) == len(set(terms)) > 40
