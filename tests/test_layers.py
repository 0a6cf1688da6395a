"""The house stands as it was drawn: imports point down, nobody needs the paper, the picture shows the code."""

import pkgutil
import re
import subprocess
import sys

import pytest

import house


@pytest.mark.parametrize("path", house.source_files(), ids=lambda path: str(path.relative_to(house.SOURCE)))
def test_imports_point_down_only(path):
    own = house.package_of(path)
    for module in house.imports_of(path):
        other = module.split(".")[1]
        if other != own:
            assert house.LEVEL[other] <= house.LEVEL[own], f"{own} (layer {house.LEVEL[own]}) imports {module}"


def test_every_package_has_a_layer_and_a_sentence():
    assert {house.package_of(path) for path in house.source_files()} == set(house.LEVEL)
    for names in house.LAYERS:
        for name, sentence in names.items():
            assert sentence.endswith("."), name


def test_no_two_packages_need_each_other():
    assert sorted(house.circles(house.import_graph())) == [], "these import each other in a circle"


def test_no_import_within_a_function_hides_a_circle():
    assert sorted(house.circles(house.module_graph())) == [], "these import each other in a circle"


def test_one_call_alone_goes_up_by_name():
    called = {
        str(path.relative_to(house.SOURCE)): word
        for path in house.source_files()
        for word in re.findall(r"import_module\([^)]*betarce[^)]*\)", path.read_text(encoding="utf-8"))
    }
    assert called == {"robustify/betarce.py": 'import_module("betarce.runs")'}


def test_the_picture_shows_the_code():
    assert house.PICTURE.read_text(encoding="utf-8") == house.picture(), "run `python tools/house.py`"


def test_only_two_commands_need_the_paper():
    needing = {
        str(path.relative_to(house.SOURCE))
        for path in house.source_files()
        if house.package_of(path) != "paper"
        if any(module.split(".")[1] == "paper" for module in house.imports_of(path))
    }
    assert needing == {"cli/reproduce.py", "cli/figures.py"}


@pytest.mark.slow
def test_without_the_paper_all_else_works():
    code = (
        "import sys; sys.modules['betarce.paper'] = None\n"
        "import betarce\n"
        "for name in betarce.__all__: getattr(betarce, name)\n"
        "from typer.testing import CliRunner; from betarce.cli import app\n"
        "print(*[CliRunner().invoke(app, words).exit_code for words in (['size'], ['figures'])])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "0 1\n"


def test_the_page_shows_the_layers_and_names_what_exists():
    page = (house.ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert house.layers_table() in page, "put what `house.layers_table()` gives into docs/architecture.md"
    for name in re.findall(r"`(betarce\.[\w.]+)`", page.partition("## The way of one row")[2]):
        assert pkgutil.resolve_name(name), name
