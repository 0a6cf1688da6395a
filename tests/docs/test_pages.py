"""The code on the pages runs, and the notebook is the start page."""

import json
import re

import pytest

from notebook import NOTEBOOK, PAGE, notebook

DOCS = PAGE.parent
TUTORIALS = sorted((DOCS / "tutorials").glob("[!i]*.md"))


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
@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_the_code_of_a_tutorial_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {}
    for block in python_blocks(page):
        exec(compile(block, str(page), "exec"), namespace)
    assert namespace
