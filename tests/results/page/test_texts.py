"""The words of the page: all in one file, and translations that say all of it."""

import json
import re
from importlib.resources import files

import pytest

from betarce.errors import CorruptFile, InvalidInput
from betarce.results.page.document import page_html
from betarce.results.page.texts import check_texts, english
from results_by_hand import many

ASSETS = files("betarce.results.page").joinpath("assets")
SCRIPTS = {path.name: path.read_text() for path in ASSETS.iterdir() if path.name.endswith(".js")}


def german():
    def translated(text):
        return (
            {key: translated(value) for key, value in text.items()}
            if isinstance(text, dict)
            else ([translated(value) for value in text] if isinstance(text, list) else f"DE {text}")
        )

    return {**translated(english()), "language": "de", "direction": "ltr"}


def test_every_text_that_a_script_asks_for_is_there():
    asked = {
        key
        for text in SCRIPTS.values()
        for key in re.findall(r'(?:say|sentence|section|panel|part|field)\(\s*"([\w.-]+)"', text)
    }
    assert len(asked) > 60
    for key in asked:
        found = english()
        for part in key.split("."):
            found = found[part]
        assert found, key


def test_scripts_hold_no_words_of_their_own():
    for name, text in SCRIPTS.items():
        code = re.sub(r"//.*", "", text)
        shown = re.findall(r'"([A-Z][a-z]+(?: [a-z]+)+)"', code)
        assert shown == [], name


def test_a_translation_takes_the_place_of_english(tmp_path):
    html = page_html(many(3), texts=german())
    assert '<html lang="de" dir="ltr">' in html
    assert ">DE Overview<" in html
    (tmp_path / "de.json").write_text(json.dumps(german()), encoding="utf-8")
    assert page_html(many(3), texts=tmp_path / "de.json") == html


def test_languages_with_other_forms_for_numbers_can_have_them():
    forms = {"one": "{n} wiersz", "few": "{n} wiersze", "many": "{n} wierszy", "other": "{n} wiersza"}
    assert check_texts({**english(), "rows": forms})["rows"] == forms


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda texts: texts.pop("back"), "it lacks 'back'"),
        (lambda texts: texts["status"].pop("certified"), "it lacks 'status.certified'"),
        (lambda texts: texts.update(colour="blau"), "it has unknown 'colour'"),
        (lambda texts: texts.update(back=7), "it has the wrong kind of value in 'back'"),
        (lambda texts: texts.update(position="{wo} von {n}"), "it has unknown slots in 'position'"),
        (lambda texts: texts["limits"].pop(), "it has another number of entries in 'limits'"),
        (lambda texts: texts["rows"].pop("other"), "it lacks 'rows.other'"),
        (lambda texts: texts["rows"].update(dozen="x"), "it has unknown 'rows.dozen'"),
        (lambda texts: texts.update(direction="up"), "must have the direction 'ltr' or 'rtl'; got 'up'"),
    ],
)
def test_a_translation_that_says_something_else_is_refused(edit, message):
    texts = json.loads(json.dumps(english()))
    edit(texts)
    with pytest.raises(InvalidInput, match=message):
        check_texts(texts)


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        ("{", CorruptFile, "holds no texts: it is not strict JSON"),
        ("[]", CorruptFile, "holds no texts: it is not an object"),
        (None, InvalidInput, "must name a JSON file; there is none at"),
    ],
)
def test_a_file_without_texts_is_refused(content, error, message, tmp_path):
    if content is not None:
        (tmp_path / "de.json").write_text(content)
    with pytest.raises(error, match=message):
        check_texts(tmp_path / "de.json")
