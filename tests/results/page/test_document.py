"""The page as a file: it holds what the result holds, runs nothing but its own script, and loads nothing."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest

from betarce.errors import InvalidInput
from betarce.results.page.document import page_html
from betarce.results.page.modules import linked
from results_by_hand import HOSTILE, many


class Reader(HTMLParser):
    """Collect the elements of a page, with their attributes and what scripts and styles hold."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.texts, self._open = [], {}, None
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._open = dict(attrs).get("id", tag) if tag in ("script", "style", "title") else None

    def handle_endtag(self, tag):
        self._open = None

    def handle_data(self, data):
        if self._open:
            self.texts[self._open] = self.texts.get(self._open, "") + data

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module")
def html():
    return page_html(many(30), title="Loans & <more>")


@pytest.mark.slow
def test_the_page_holds_the_answers_of_the_result(html):
    content = json.loads(Reader(html).texts["content"])
    result = many(30)
    assert [person["name"] for person in content["people"]] == list(result.index)
    assert [person["status"] for person in content["people"]] == [item.status for item in result]
    assert content["title"] == "Loans & <more>"


def test_only_the_style_and_the_script_of_the_page_itself_may_run(html):
    page = Reader(html)
    [policy] = [meta["content"] for meta in page.all("meta") if meta.get("http-equiv") == "Content-Security-Policy"]
    directives = {
        name: set(rest.split()) for name, _, rest in (part.strip().partition(" ") for part in policy.split(";"))
    }
    for directive, text in (("script-src", page.texts["script"]), ("style-src", page.texts["style"])):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert directives[directive] == {f"'sha256-{digest}'"}
    for directive in ("default-src", "base-uri", "form-action"):
        assert directives[directive] == {"'none'"}
    assert "unsafe" not in policy


def test_the_page_loads_nothing_and_leads_nowhere(html):
    page = Reader(html)
    assert {tag for tag, _ in page.elements}.isdisjoint({"link", "img", "iframe", "object", "embed", "base", "form"})
    assert all("src" not in attributes for _, attributes in page.elements)
    assert all(link["href"].startswith("#") for link in page.all("a"))
    assert set(re.findall(r"\w+://[\w./-]+", html)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"@import|url\(", page.texts["style"])
    assert [script.get("type") for script in page.all("script")] == ["application/json"] * 2 + ["module"]


def test_nothing_that_a_table_holds_ends_the_data_or_becomes_markup():
    html = page_html(many(names=HOSTILE), title=HOSTILE[0][:100])
    page = Reader(html)
    assert len(page.all("script")) == 3
    assert not page.all("img")
    content = json.loads(page.texts["content"])
    assert [person["name"] for person in content["people"]] == HOSTILE
    assert page.texts["title"] == HOSTILE[0][:100]
    assert not re.search(
        r"\son\w+=", re.sub(r">[^<]*<", "><", re.sub(r"<script.*?</script>", "", html, flags=re.DOTALL))
    )


def test_a_page_can_be_written_in_any_alphabet(tmp_path):
    result = many(names=HOSTILE)
    result.to_html(tmp_path / "answers.html", title="Wnioski 🏦")
    assert "Wnioski 🏦" in (tmp_path / "answers.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_hundred_rows_of_twenty_columns_take_a_third_of_what_a_mail_may_have():
    assert len(page_html(many(100, 20)).encode()) < 500_000


def test_readers_without_scripts_get_every_answer(html):
    plain = re.search(r"<noscript>(.*)</noscript>", html, flags=re.DOTALL)[1]
    result = many(30)
    for item in result:
        assert f"<bdi>{item.name}</bdi>" in plain
    assert plain.count("retrained models agree.") == result.certified.sum()
    assert "<script" not in plain


@pytest.mark.slow
def test_readers_without_scripts_get_the_first_rows_of_many():
    plain = page_html(many(250, 3))
    assert plain.count("<section><h2>") == 200
    assert "50 more rows are in this file" in plain


@pytest.mark.parametrize("title", ["", "x" * 201, 7])
def test_a_title_that_no_page_can_have_is_refused(title):
    with pytest.raises(InvalidInput, match="`title` must be a text of 1 to 200 characters"):
        page_html(many(2), title=title)


def test_a_page_is_written_whole_or_not_at_all(tmp_path):
    with pytest.raises(InvalidInput, match="must name a file in an existing folder"):
        many(2).to_html(tmp_path / "nowhere" / "answers.html")
    assert list(tmp_path.iterdir()) == []


def test_an_empty_result_has_a_page():
    content = json.loads(Reader(page_html(many(0))).texts["content"])
    assert content["people"] == []
    assert content["votes"] == []


def test_modules_are_linked_in_the_order_of_their_imports():
    script = linked("page.js")
    places = [script.index(f"const module_{name} =") for name in ("dom", "texts", "figures", "steps", "person", "page")]
    assert places == sorted(places)
    assert "innerHTML" not in script
    assert "eval(" not in script
    assert not re.search(r"^\s*(?:import|export) ", script, flags=re.MULTILINE)


def test_the_same_result_gives_the_same_file():
    assert page_html(many(5)) == page_html(many(5))
