"""`betarce report` and `betarce explain --report`."""

import pytest
from typer.testing import CliRunner

from betarce.cli import app
from betarce.storage.files import seal, unseal
from results_by_hand import many

RUNNER = CliRunner()


def run(*arguments):
    return RUNNER.invoke(app, list(map(str, arguments)), env={"COLUMNS": "120"})


@pytest.fixture
def stored(tmp_path):
    many(5).save(tmp_path / "answers.json")
    return tmp_path / "answers.json"


def test_stored_answers_become_a_page(stored, tmp_path):
    result = run("report", stored, "--out", tmp_path / "page.html", "--title", "Loans of March")
    assert result.exit_code == 0
    assert "a page on 5 rows" in result.stderr
    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<title>Loans of March</title>" in html
    assert "Applicant 1000" in html


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nothing.json",), "there is none at 'nothing.json'"),
        (("{stored}", "--out", "nowhere/page.html"), "--out must name a file in an existing folder"),
        (("{stored}", "--out", "{folder}/page.html", "--texts", "nothing.json"), "--texts must name a JSON file"),
        (("{stored}", "--out", "{folder}/page.html", "--title", ""), "--title must be a text of 1 to 200 characters"),
    ],
)
def test_wrong_use_gives_one_clear_line_and_exit_code_two(arguments, message, stored, tmp_path):
    result = run("report", *(part.format(stored=stored, folder=tmp_path) for part in arguments))
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
    assert not (tmp_path / "page.html").exists()


def test_answers_of_a_newer_version_say_so(stored, tmp_path):
    document = unseal(stored.read_text())
    document["betarce_result"] += 1
    stored.write_text(seal(document))
    result = run("report", stored, "--out", tmp_path / "page.html")
    assert result.exit_code == 2
    assert "Upgrade betarce" in result.stderr
    assert not (tmp_path / "page.html").exists()


@pytest.mark.slow
def test_explain_writes_a_page_too(tmp_path):
    rows = [f"{i % 50},{i * 7 % 40},{'yes' if i % 50 + i * 7 % 40 > 45 else 'no'}" for i in range(200)]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,ok", *rows]))
    quick = ("--model", "logistic", "--models", "5,29", "--limit", "2", "--jobs", "1")
    page = tmp_path / "page.html"
    result = run("explain", tmp_path / "t.csv", "--label", "ok", "--target", "yes", "--report", page, *quick)
    assert result.exit_code == 0, result.stderr
    assert "a page to open in a browser" in result.stderr
    assert "<noscript>" in page.read_text(encoding="utf-8")
