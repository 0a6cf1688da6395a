"""The lowest versions that are stated are the ones that are tested."""

import re
import sys
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

import matrix
from betarce.cli import app
from betarce.engines.engine import engine

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
STATED = [
    *PROJECT["dependencies"],
    *(each for extra in [*matrix.EXTRAS.split(","), "parquet"] for each in EXTRAS[extra]),
]
STATED += [each for each in EXTRAS["test"] if each.startswith(matrix.TOOLS)]
PINS = dict(re.findall(r"^([\w-]+)==(\S+)$", (ROOT / "constraints-lowest.txt").read_text(), re.MULTILINE))


@pytest.mark.parametrize("requirement", STATED)
def test_the_lowest_stated_version_is_the_one_that_make_lowest_installs(requirement):
    name, stated = re.fullmatch(r"([\w-]+)>=([\d.]+)", requirement).groups()
    assert re.match(rf"{re.escape(stated)}(\.0)*$", PINS[name]), f"{requirement}, but {PINS[name]} is tested"


def test_every_pin_is_stated():
    assert set(PINS) == {requirement.partition(">=")[0] for requirement in STATED}


def test_the_fast_tests_are_there():
    assert [name for name in matrix.FAST if not (ROOT / "tests" / name).is_file()] == []


def test_this_python_is_found():
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert matrix.find_python(version) == sys.executable
    assert matrix.find_python("2.0") is None


# What failed with versions below the stated ones


def test_the_command_line_shows_its_help():
    for command in ([], ["explain"], ["size"]):
        shown = CliRunner().invoke(app, [*command, "--help"])
        assert shown.exit_code == 0, shown.output
        assert "Usage" in shown.output


def test_work_is_mapped_over_workers():
    with engine("local", n_jobs=1) as compute:
        assert sorted(outcome.value for outcome in compute(abs, [-2, 1])) == [1, 2]
