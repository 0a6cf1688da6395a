"""The README's code and commands run, in order, and print what it shows."""

import re
from pathlib import Path

import pytest

import shown_output
from betarce.datasets import load_loan

README = Path(__file__).parents[1] / "README.md"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::betarce.errors.BetarceWarning")
def test_what_the_readme_shows_is_what_is_printed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    loans = load_loan(n=200)
    loans.X.assign(approved=loans.y).to_csv("loans.csv", index=False)  # what a reader has
    shown = list(shown_output.follow(README))
    assert shown
    assert not [str(each) for each in shown if not each.is_true]


def test_the_commands_that_a_newcomer_is_given_exist():
    makefile = (README.parent / "Makefile").read_text()
    for target in re.findall(r"^make (\w+)", README.read_text(), flags=re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE)
