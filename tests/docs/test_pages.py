"""What the pages show is what is printed today, and the notebook is the start page."""

import json
import re
from pathlib import Path

import pytest

import shown_output
from notebook import NOTEBOOK, PAGE, notebook

DOCS = PAGE.parent
FOLLOWED = [PAGE, *sorted((DOCS / "tutorials").glob("[!i]*.md"))]


def python_blocks(page):
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)


def test_the_notebook_is_the_start_page():
    assert NOTEBOOK.read_text(encoding="utf-8") == notebook(PAGE.read_text(encoding="utf-8")), (
        "run `python tools/notebook.py`"
    )


def test_the_notebook_has_all_code_of_the_page_and_no_output():
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert code == [block.strip() for block in python_blocks(PAGE)]
    assert all(not cell["outputs"] for cell in cells if cell["cell_type"] == "code")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::betarce.errors.BetarceWarning")
def test_the_notebook_runs_from_top_to_bottom(capsys):
    namespace = {}
    for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), str(NOTEBOOK), "exec"), namespace)
    printed = capsys.readouterr().out
    assert "certified" in printed
    assert "fresh models agree" in printed
    assert (namespace["rce"].audit(namespace["result"], n_models=100)["robust"].dropna() >= 0.8).all()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::betarce.errors.BetarceWarning")
@pytest.mark.parametrize("page", FOLLOWED, ids=lambda page: page.stem)
def test_what_a_page_shows_is_what_is_printed(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    wrong = [str(shown) for shown in shown_output.follow(page) if not shown.is_true]
    assert not wrong, "\n\n".join([*wrong, f"run `python tools/shown_output.py --write {page}`"])


def page_of(folder, text):
    path = folder / "page.md"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("shown", "is_true"),
    [("1 2\n", True), ("1   2\n", True), ("1 ...\n", True), ("1 3\n", False), ("1\n", False), ("", False)],
)
def test_an_output_that_is_not_printed_is_found(tmp_path, shown, is_true):
    page = page_of(tmp_path, f"```python\na = 1\nprint(a)\n```\n\n```python\nprint(2)\n```\n\n```text\n{shown}```\n")
    [found] = shown_output.follow(page)
    assert found.is_true is is_true


def test_an_output_is_written_where_the_page_shows_something_else(tmp_path):
    page = page_of(
        tmp_path, "```python\nprint(1)\n```\n\n```text\n2\n```\n\n```python\nprint(3)\n```\n\n```text\n...\n```\n"
    )
    shown_output.write(page, list(shown_output.follow(page)))
    assert "```text\n1\n```" in page.read_text()
    assert "```text\n...\n```" in page.read_text()


def test_commands_of_a_page_run_and_show_what_they_print(tmp_path):
    page = page_of(tmp_path, "```sh\npip install x\nbetarce --version  # a note\n```\n\n```text\nbetarce 9.9\n```\n")
    [found] = shown_output.follow(page)
    assert not found.is_true
    assert re.fullmatch(r"betarce [\w.]+\n", found.printed)


def test_a_command_that_fails_says_which(tmp_path):
    with pytest.raises(RuntimeError, match=r"betarce fit gone\.csv"):
        list(shown_output.follow(page_of(tmp_path, "```sh\nbetarce fit gone.csv --label y --out run\n```\n")))


def test_rules_of_a_page_go_into_the_file_of_rules(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("features.toml").write_text("[columns.age]  # integer\n# a note\n\n[columns.debt]\n")
    list(shown_output.follow(page_of(tmp_path, "```toml\n[columns.age]\nimmutable = true\n```\n")))
    assert (
        Path("features.toml").read_text() == "[columns.age]  # integer\nimmutable = true\n# a note\n\n[columns.debt]\n"
    )


def test_rules_for_a_column_that_is_not_there_are_found(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("features.toml").write_text("[columns.age]\n")
    with pytest.raises(RuntimeError, match=r"0 sections \[columns.gone\]"):
        list(shown_output.follow(page_of(tmp_path, "```toml\n[columns.gone]\nimmutable = true\n```\n")))
