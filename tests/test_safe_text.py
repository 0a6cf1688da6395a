"""Names may hold anything; where they are shown they stay text."""

import csv
import io
import json
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from betarce.cli import app
from betarce.cli.terminal import Console
from betarce.paper.tables.markdown import markdown_table
from betarce.safe_text import csv_for_people, in_json, in_markdown, in_terminal

HOSTILE = "\x1b]0;owned\x07\x1b[31m[/nothing] <script>alert(1)</script> $\\bad$ | =cmd"
CODES = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@given(st.text())
def test_no_code_reaches_the_terminal(text):
    shown = in_terminal(text)
    assert not CODES.search(shown)
    shown.encode("utf-8")  # a lone surrogate could not be printed
    if not CODES.search(text) and text.isprintable():
        assert shown == text


@given(st.dictionaries(st.text(), st.text() | st.integers()))
def test_control_sequences_above_127_reached_the_terminal_by_json(document):
    shown = in_json(json.dumps(document, ensure_ascii=False))
    assert not CODES.search(shown)
    assert json.loads(shown) == document


@given(st.text())
def test_control_codes_reached_the_terminal_by_csv(text):
    written = csv_for_people(pd.DataFrame({text: [text]}))
    assert not CODES.search(written.replace("\t", ""))
    assert len(list(csv.reader(io.StringIO(written)))) == 2


@given(st.text())
def test_a_console_prints_text_of_any_kind_without_its_codes(text):
    from rich.markup import escape
    from rich.table import Table

    written = io.StringIO()
    console = Console(file=written, width=80)
    table = Table("name")
    table.add_row(escape(text))
    console.print(table)
    console.print(f"[bold]{escape(text)}[/]")
    assert not CODES.search(written.getvalue())


def test_joined_emoji_and_other_scripts_stay_as_they_are():
    assert in_terminal("👩‍💻 Zażółć 年齢 a\nb") == "👩‍💻 Zażółć 年齢 a\nb"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<script>alert(1)</script>", "&lt;script>alert(1)&lt;/script>"),
        ("<!-- x", "&lt;!-- x"),
        ("a | b", r"a \| b"),
        ("[x](javascript:y)", r"\[x](javascript:y)"),
        ("![x](y)", r"!\[x](y)"),
        ("`code`", r"\`code\`"),
        (r"a \| b", r"a \\\| b"),
        ("&lt;b>", "&amp;lt;b>"),
        ("two\n\nlines", "two lines"),
        ("p < 0.001 & q", "p < 0.001 & q"),
        ("breast_cancer *x*", "breast_cancer *x*"),
        ("\x1b[31m", r"\x1b\[31m"),
    ],
)
def test_markdown_shows_text_as_it_is(text, shown):
    assert in_markdown(text) == shown


def test_a_table_in_markdown_has_its_cells_and_no_others():
    frame = pd.DataFrame({"a|b": ["<img src=x onerror=y>", "x<br>y"]}, index=pd.Index(["p|q", "r"], name="<i>"))
    lines = markdown_table(frame).splitlines()
    assert lines[0] == r"| &lt;i> | a\|b |"
    assert lines[2] == r"| p\|q | &lt;img src=x onerror=y> |"
    assert lines[3] == "| r | x<br>y |"  # our own line break


FORMULAS = ["=HYPERLINK(1)", "+1+2", "-1+2", "@SUM(A1)", "\t=1", "\r=1", " =1", "＝1", "-x", "\x00=1"]


@pytest.mark.parametrize("text", FORMULAS)
def test_a_spreadsheet_runs_nothing_of_a_csv(text):
    frame = pd.DataFrame({text: [text, "plain"]})
    for read in (frame, frame.astype("category"), frame.astype("string")):
        rows = list(csv.reader(io.StringIO(csv_for_people(read), newline="")))
        assert [row[0][0] for row in rows] == ["'", "'", "p"]


def test_a_line_of_a_csv_never_breaks_where_no_line_ends():
    frame = pd.DataFrame({"a": ["x\r=1", "y\r\n=2", "z\n=3"], "b": 1})
    rows = list(csv.reader(io.StringIO(csv_for_people(frame), newline="")))
    assert rows[1:] == [["x\n=1", "1"], ["y\n=2", "1"], ["z\n=3", "1"]]


def test_numbers_in_a_csv_stay_numbers():
    frame = pd.DataFrame(
        {
            "float": [-1.5, np.nan],
            "int": [-3, 4],
            "text": ["-2", "-1e5"],
            "gaps": pd.array([-1, None], dtype="Int64"),
            "truth": [True, False],
            "mixed": pd.Series([-1, "-inf"], dtype=object),
        }
    )
    assert csv_for_people(frame) == frame.to_csv(index=False)


def run(*arguments):
    return CliRunner().invoke(app, arguments)


@pytest.mark.slow
def test_hostile_names_in_a_table_stay_text_in_terminal_and_csv(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    table = pd.DataFrame({HOSTILE: rng.integers(0, 50, 80), "=k": rng.choice(["=HYPERLINK(1)", "\x1b[2Jb"], 80)})
    table["y"] = np.where(table[HOSTILE] + 20 * (table["=k"] == "=HYPERLINK(1)") > 35, "\x1b[31myes", "no")
    table.to_csv("t.csv", index=False)
    begun = run("init", "t.csv", "--label", "y")
    assert begun.exit_code == 0, begun.output
    done = run(
        *("explain", "t.csv", "--label", "y", "--target", "\x1b[31myes", "--model", "logistic", "--csv", "c.csv"),
        *("--delta", "0.5", "--confidence", "0.6", "--jobs", "1", "--limit", "6"),
    )
    assert done.exit_code == 0, done.output
    wrong = run("explain", "t.csv", "--label", "y", "--target", "\x1b[31mmaybe", "--jobs", "1")
    assert wrong.exit_code == 2
    for result in (begun, done, wrong):
        assert not CODES.search(result.stdout + result.stderr), result.output
    rows = list(csv.reader(io.StringIO((tmp_path / "c.csv").read_text(encoding="utf-8"), newline="")))
    assert len(rows) > 1
    assert not any(cell.startswith(("=", "+", "@")) for row in rows for cell in row)


@pytest.mark.slow
def test_a_hostile_name_of_a_method_loses_no_report(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = HOSTILE.replace("\\", "\\\\").replace("\x1b", "\\u001b").replace("\x07", "\\u0007")
    (tmp_path / "plan.toml").write_text(
        'data = ["breast_cancer"]\nfamilies = ["logistic"]\nspaces = ["seed"]\nrun_folds = [0]\nrows = 3\n'
        "audit_members = 5\ndeltas = [0.8, 0.9]\nconfidences = [0.95]\n[methods.growing-spheres]\n[methods.betarce]\n"
        f'[methods."{name}"]\nmethod = "betarce"\n'
        f'[methods."{name} nice"]\nmethod = "nice"\n'
    )
    monkeypatch.setattr("betarce.explainers.Nice.explain", None)  # its reason ends up in the report
    result = run("reproduce", "plan.toml", "--out", "out", "--jobs", "1")
    assert result.exit_code == 0, result.output
    assert not CODES.search(result.stdout + result.stderr)
    pages = list((tmp_path / "out" / "report").rglob("*.md"))
    assert len(pages) > 2
    text = "".join(page.read_text() for page in pages)
    assert "&lt;script>" in text
    assert "<script" not in text
    assert not CODES.search(text)
    for path in (tmp_path / "out" / "report").rglob("*.csv"):
        cells = [cell for row in csv.reader(io.StringIO(path.read_text(encoding="utf-8"))) for cell in row]
        assert not any(cell.startswith(("=", "+", "@")) for cell in cells), path
