"""The commands as a user types them."""

import re

import pytest
from typer.testing import CliRunner

from betarce.cli import app, number, share

RUNNER = CliRunner()


def run(*arguments):
    return RUNNER.invoke(app, list(arguments), env={"COLUMNS": "120"})


def test_help_lists_the_commands():
    result = run("--help")
    assert result.exit_code == 0
    assert "demo" in result.stdout
    assert "size" in result.stdout


def test_size_answers_how_many_models():
    result = run("size", "--delta", "0.9", "--confidence", "0.95")
    assert result.exit_code == 0
    [line] = [line for line in result.stdout.splitlines() if line.strip().startswith("0.9 ")]
    assert re.findall(r"[\d.]+", line)[:4] == ["0.9", "0.95", "18", "38"]


def test_size_answers_the_reverse():
    result = run("size", "--models", "38", "--confidence", "0.95")
    [line] = [line for line in result.stdout.splitlines() if line.strip().startswith("38 ")]
    assert re.findall(r"[\d.]+", line)[:4] == ["38", "0.95", "0.951", "0.902"]


def test_size_takes_other_priors():
    assert "29" in run("size", "--delta", "0.9", "--confidence", "0.95", "--prior", "exact").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("size", "--delta", "1.5"), "`delta` must be strictly between 0 and 1; got 1.5"),
        (("size", "--prior", "flat"), "`prior` must be one of"),
        (("size", "--models", "0"), "`n_models`"),
        (("demo", "--confidence", "2"), "`confidence` must be strictly between 0 and 1"),
    ],
)
def test_wrong_arguments_give_one_clear_line_and_exit_code_two(arguments, message):
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.output


def test_the_demo_tells_its_story_and_repeats_it_word_for_word():
    arguments = ("demo", "--delta", "0.7", "--confidence", "0.8", "--audit-models", "10", "--jobs", "1")
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    assert "SYNTHETIC" in result.stdout
    assert result.stdout.count("was rejected") == 5
    assert "fresh models agree: valid for" in result.stdout
    assert "realised" in result.stdout
    assert run(*arguments).stdout == result.stdout


def test_numbers_are_written_as_people_write_them():
    assert (number(1234567), number(1.5), number(2.0)) == ("1,234,567", "1.50", "2")
    assert (share(0.9017), share(float("nan")), share(1.0)) == ("90.1 %", "-", "100.0 %")
