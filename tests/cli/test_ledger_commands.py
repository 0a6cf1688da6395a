"""`betarce ledger`, as it is typed."""

import json

import pytest
from typer.testing import CliRunner

import betarce as brce
from betarce.cli import app
from betarce.ledger import PublicKey, read_envelope, read_statement
from betarce.results.result import Result
from promises_by_hand import FEATURES, promised


@pytest.fixture
def path(tmp_path):
    place = tmp_path / "promises.db"
    with brce.Ledger(place) as ledger:
        ledger.record(Result([promised("Zoë \x1b[31m"), promised(7, income=41_000.0)], FEATURES), expires="2999-12-31")
    return place


def run(*arguments):
    return CliRunner().invoke(app, ["ledger", *map(str, arguments)])


def names(path):
    with brce.Ledger(path, read_only=True) as ledger:
        return ledger.promises().index.tolist()


def test_the_head_is_printed_kept_and_compared(path, tmp_path):
    done = run("head", "--ledger", path, "--out", tmp_path / "head.json")
    assert done.exit_code == 0
    assert "3 entries, 0 promises erased on request: intact" in done.stdout
    withdrawn = run("withdraw", "--ledger", path, names(path)[0], "--reason", "typo")
    assert withdrawn.stdout == "Withdrawn: 1.\n"
    later = run("head", "--ledger", path, "--compare", tmp_path / "head.json", "--json")
    assert later.exit_code == 0
    assert json.loads(later.stdout)["n_entries"] == 4


def test_a_head_of_another_ledger_fails(path, tmp_path):
    with brce.Ledger(tmp_path / "other.db"):
        pass
    assert run("head", "--ledger", tmp_path / "other.db", "--out", tmp_path / "head.json").exit_code == 0
    done = run("head", "--ledger", path, "--compare", tmp_path / "head.json")
    assert done.exit_code == 1
    assert "the head is that of another ledger" in done.stdout


def test_promises_are_listed_and_shown_without_codes_for_the_terminal(path):
    done = run("list", "--ledger", path)
    assert done.exit_code == 0
    assert "\x1b[31m" not in done.stdout
    document = json.loads(run("list", "--ledger", path, "--json").stdout)
    assert [line["row"] for line in document] == ["Zoë \x1b[31m", "7"]
    shown = run("show", "--ledger", path, names(path)[1][:6])
    assert shown.exit_code == 0
    assert "at least 90 % of all models" in shown.stdout
    assert "issued" in shown.stdout
    assert json.loads(run("show", "--ledger", path, names(path)[0], "--json").stdout)["state"] == "issued"


def test_statements_are_exported_one_per_line(path, tmp_path):
    assert run("export", "--ledger", path, "--out", tmp_path / "all.jsonl").exit_code == 0
    lines = (tmp_path / "all.jsonl").read_text().splitlines()
    assert [read_statement(read_envelope(line).payload).promise for line in lines] == names(path)


def test_promises_are_honoured_and_erased(path):
    first, second = names(path)
    assert run("honour", "--ledger", path, first).exit_code == 0
    assert run("erase", "--ledger", path, "--row", 7).stdout == "Erased: 1.\n"
    assert run("erase", "--ledger", path, first).stdout == "Erased: 1.\n"
    assert "(erased)" in run("list", "--ledger", path).stdout
    assert "Its content was erased on request" in run("show", "--ledger", path, second).stdout


def test_a_key_is_made_with_its_public_half(tmp_path):
    done = run("key", "--out", tmp_path / "key.pem")
    assert done.exit_code == 0
    assert PublicKey.load(tmp_path / "key.pub.pem").keyid
    again = run("key", "--out", tmp_path / "key.pem")
    assert again.exit_code == 2
    assert "exists already, and keys are not replaced" in again.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("head",), "--ledger must name a ledger; there is no file at"),
        (("withdraw", "abcd"), "--ledger must name a ledger; there is no file at"),
    ],
)
def test_a_mistyped_name_makes_no_new_ledger(tmp_path, arguments, message):
    done = run(*arguments, "--ledger", tmp_path / "nowhere.db")
    assert done.exit_code == 2
    assert message in done.stderr
    assert not (tmp_path / "nowhere.db").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("show", "zzzz"), "there is none whose name begins with 'zzzz'"),
        (("list", "--state", "lost"), "--state must be one of issued"),
        (("erase",), "Say either which promises are to be erased, or which --row"),
        (("erase", "--row", "nobody"), "--row must be that of a row on record; there is none called 'nobody'"),
    ],
)
def test_wrong_use_is_said_in_the_words_of_the_command_line(path, arguments, message):
    done = run(*arguments, "--ledger", path)
    assert done.exit_code == 2
    assert message in done.stderr
