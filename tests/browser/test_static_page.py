"""The page as a file, in a real browser: what people see, do, hear and print."""

from dataclasses import replace

import pytest

from betarce.results.page.texts import english
from betarce.rules import immutable, increase_only
from browser.checks import barriers, focused, press_until, scrolls_sideways, sheets
from results_by_hand import HOSTILE, many

pytestmark = pytest.mark.browser


@pytest.fixture(scope="session")
def answers(tmp_path_factory):
    """Write a page on thirty rows."""
    path = tmp_path_factory.mktemp("pages") / "answers.html"
    rules = {"amount 0": increase_only(), "count 3": immutable()}
    many(60, rules=rules).to_html(path, title="Loans of March")
    return path


def show_row(page, number):
    page.evaluate(f"location.hash = '#/row/{number}'")
    page.wait_for_selector("article.person")


def steps(page):
    return page.locator(".what-to-change .step .said").all_inner_texts()


def test_the_overview_counts_what_came_out(window, answers):
    page = window(answers)
    assert page.title() == "Loans of March"
    assert "60 rows, 54 with an answer." in page.inner_text("main")
    assert page.locator(".panels .bars").first.inner_text().split("\n")[:2] == ["✓ Answer found", "54"]
    assert page.locator("table.rows tbody tr").count() == 25


def test_search_and_filters_narrow_the_list(window, answers):
    page = window(answers)
    page.get_by_label("Search", exact=True).fill("Applicant 1004")
    assert page.inner_text(".found") == "One row found"
    assert page.locator("table.rows tbody th").all_inner_texts() == ["Applicant 1004"]
    page.get_by_label("Search", exact=True).fill("")
    page.get_by_label("Outcome", exact=True).select_option("not-found")
    assert page.inner_text(".found") == "2 rows found"
    page.get_by_label("Outcome", exact=True).select_option("")
    page.get_by_label("Changes", exact=True).select_option(label="amount 1")
    lines = page.locator("table.rows tbody .column_changes").all_inner_texts()
    assert 0 < len(lines) < 60
    page.get_by_label("Search", exact=True).fill("nobody is called so")
    assert "No row fits" in page.inner_text(".list")


def test_the_list_can_be_ordered_by_effort(window, answers):
    page = window(answers)
    page.get_by_label("Order").select_option("effort")
    efforts = [float(text) for text in page.locator("tbody .column_effort").all_inner_texts()]
    assert efforts == sorted(efforts, reverse=True)


def test_a_row_says_what_to_change_and_how_sure_that_is(window, answers):
    page = window(answers)
    page.get_by_role("link", name="Applicant 1000").click()
    assert page.inner_text("h1") == "Applicant 1000"
    assert "To get “approved”, change" in page.inner_text(".lead")
    assert "99 of 103 retrained models agree. Expect at least 9 in 10." in page.inner_text(".how-sure")
    assert page.get_by_role("img", name="99 of 103 retrained models agree.").count() == 1
    assert len(steps(page)) >= 1
    assert "Only" in page.inner_text(".usual")
    assert "blake2b:" in page.inner_text(".certificate")
    assert focused(page) == ["H1", "Applicant 1000"]


def test_the_slider_changes_the_advice_and_says_that_it_is_another_promise(window, answers):
    page = window(answers)
    show_row(page, 1)
    recorded = steps(page)
    slider = page.get_by_label("Promise: share of retrained models that will agree")
    assert slider.get_attribute("aria-valuetext") == "At least 9 in 10"
    slider.focus()
    for _ in range(25):
        page.keyboard.press("ArrowLeft")
    assert slider.get_attribute("aria-valuetext") == "At least 65 in 100"
    assert steps(page) != recorded
    assert "Expect at least 65 in 100." in page.inner_text(".how-sure")
    assert "This setting is not the answer on record." in page.inner_text(".tradeoff")
    assert "Each setting is a promise of its own." in page.inner_text(".tradeoff")
    page.get_by_role("button", name="Back to the answer on record").click()
    assert steps(page) == recorded
    assert not page.get_by_text("This setting is not the answer on record.").is_visible()


def test_a_promise_that_no_change_keeps_is_said_to_be_out_of_reach(window, tmp_path):
    result = many(1)
    ladder = result[0].ladder
    short = type(ladder)(ladder.points[2:], ladder.n_agree[2:], ladder.n_least[2:])
    type(result)([replace(result[0], ladder=short)], result.features).to_html(tmp_path / "page.html")
    page = window(tmp_path / "page.html")
    show_row(page, 1)
    slider = page.get_by_label("Promise: share of retrained models that will agree")
    slider.focus()
    page.keyboard.press("End")
    assert "No change was found for this promise." in page.inner_text(".what-to-change")
    assert "No change was found for this promise." in page.inner_text(".setting")


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (10, "80 of 103 retrained models agree with the safest change that was found"),
        (20, "The rules on what may change contradict each other"),
        (30, "The model already gives this row the class that is wanted."),
        (40, "holds a value that the training table does not know"),
        (50, "All retrained models turned out to be the same model."),
    ],
)
def test_a_row_without_an_answer_says_why_and_what_would_help(window, answers, number, said):
    page = window(answers)
    show_row(page, number)
    assert said in page.inner_text("article")
    assert page.locator(".what-to-change").count() == 0
    assert page.locator(".not-promised").count() == 0


def test_the_annex_says_how_the_answers_were_made(window, answers):
    page = window(answers)
    page.get_by_role("link", name="Technical annex").click()
    text = page.inner_text("main")
    assert "98 of 103 certifying models must agree" in text
    assert "increase only" in text
    assert "immutable" in text


def test_the_keyboard_alone_gets_everywhere(window, answers):
    page = window(answers)
    page.keyboard.press("Tab")
    assert focused(page) == ["A", "Skip to the content"]
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    press_until(page, "Tab", lambda tag, text: tag == "A" and text == "Applicant 1001")
    page.keyboard.press("Enter")
    page.wait_for_selector("article.person")
    assert focused(page) == ["H1", "Applicant 1001"]
    press_until(page, "Tab", lambda tag, _: tag == "INPUT")
    before = page.inner_text(".setting")
    page.keyboard.press("Home")
    assert page.inner_text(".setting") != before
    press_until(page, "Tab", lambda tag, text: tag == "BUTTON" and text == "Back to the answer on record")
    press_until(page, "Tab", lambda tag, text: tag == "SUMMARY" and text.startswith("What stays"))
    page.keyboard.press("Enter")
    assert page.locator("details.stays dl").is_visible()
    press_until(page, "Shift+Tab", lambda tag, text: text == "← All rows")
    page.keyboard.press("Enter")
    page.wait_for_selector("table.rows")
    press_until(page, "Tab", lambda tag, text: tag == "BUTTON" and text == "Next page")
    page.keyboard.press("Enter")
    assert page.inner_text(".pager span") == "Page 2 of 3"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", ["#/", "#/row/1", "#/row/10", "#/row/40", "#/annex"])
def test_there_is_no_serious_barrier(window, answers, axe, view, scheme):
    page = window(f"{answers.as_uri()}{view}", color_scheme=scheme)
    assert barriers(page, axe) == []


def test_dark_and_light_follow_the_reader(window, answers):
    grounds = [
        window(answers, color_scheme=scheme).evaluate("getComputedStyle(document.body).backgroundColor")
        for scheme in ("light", "dark")
    ]
    assert grounds[0] != grounds[1]


@pytest.mark.parametrize("view", ["#/", "#/row/1", "#/row/10", "#/annex"])
def test_a_phone_needs_no_sideways_scrolling(window, answers, view):
    page = window(f"{answers.as_uri()}{view}", width=360, height=740)
    assert not scrolls_sideways(page)


def test_one_row_is_printed_on_one_sheet(window, answers):
    page = window(f"{answers.as_uri()}#/row/1")
    assert sheets(page) == 1


def test_all_rows_are_printed_one_per_sheet_behind_a_cover(window, answers):
    assert sheets(window(answers)) == 61


def test_rows_that_the_filters_left_are_printed(window, answers):
    page = window(answers)
    page.get_by_label("Search", exact=True).fill("Applicant 100")
    assert page.inner_text(".found") == "10 rows found"
    assert sheets(page) == 11


def test_paper_shows_the_answer_on_record_wherever_the_slider_is(window, answers):
    page = window(f"{answers.as_uri()}#/row/1")
    recorded = steps(page)
    page.get_by_label("Promise: share of retrained models that will agree").focus()
    page.keyboard.press("Home")
    assert steps(page) != recorded
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    printed = page.locator("#paper .what-to-change .step .said").all_text_contents()
    assert [" ".join(text.split()) for text in printed] == [" ".join(text.split()) for text in recorded]
    assert "Expect at least 9 in 10." in page.locator("#paper .how-sure").text_content()


def test_names_from_hostile_tables_are_shown_and_never_run(window, tmp_path):
    many(names=HOSTILE).to_html(tmp_path / "page.html", title=HOSTILE[0])
    page = window(tmp_path / "page.html")
    requests = []
    page.on("request", lambda request: requests.append(request.url))
    assert page.inner_text("h1") == HOSTILE[0]
    names = page.locator("table.rows tbody th").all_text_contents()
    assert names[:7] == HOSTILE[:7]
    for number in range(1, len(HOSTILE) + 1):
        show_row(page, number)
    assert page.evaluate("window.hacked") is None
    assert page.evaluate("document.querySelectorAll('script').length") == 3
    assert requests == []
    assert not scrolls_sideways(page)


def test_text_from_right_to_left_is_kept_apart_from_the_words_around_it(window, tmp_path):
    many(names=HOSTILE).to_html(tmp_path / "page.html")
    page = window(tmp_path / "page.html")
    show_row(page, 3)
    name = page.locator("h1 bdi")
    assert name.text_content() == HOSTILE[2]
    assert name.evaluate("node => getComputedStyle(node).unicodeBidi") == "isolate"


def test_two_hundred_columns_stay_readable(window, tmp_path, axe):
    many(12, 200).to_html(tmp_path / "page.html")
    for width in (1200, 360):
        page = window(tmp_path / "page.html", width=width)
        show_row(page, 1)
        page.locator("details.stays summary").click()
        assert page.locator("details.stays dt").count() > 190
        assert not scrolls_sideways(page)
    assert barriers(page, axe) == []


@pytest.mark.parametrize("n_rows", [1_000, 10_000])
def test_many_rows_are_pages_of_a_list(window, tmp_path, n_rows):
    many(n_rows, 6).to_html(tmp_path / "page.html")
    page = window(tmp_path / "page.html")
    assert page.locator("table.rows tbody tr").count() == 25
    assert page.evaluate("document.getElementsByTagName('*').length") < 2_000
    last = f"Applicant {1000 + n_rows - 2}"
    milliseconds = page.evaluate(
        """(text) => {
            const input = document.querySelector("input[type=search]");
            const start = performance.now();
            input.value = text;
            input.dispatchEvent(new Event("input"));
            return performance.now() - start;
        }""",
        last,
    )
    assert page.locator("table.rows tbody th").all_inner_texts() == [last]
    assert milliseconds < 2_000


def test_an_empty_result_says_so(window, tmp_path):
    many(0).to_html(tmp_path / "page.html")
    page = window(tmp_path / "page.html")
    assert "0 rows, 0 with an answer." in page.inner_text("main")


def test_without_scripts_the_answers_can_still_be_read(chromium, answers):
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(answers.as_uri())
    text = page.inner_text("main")
    context.close()
    assert "Applicant 1000: Answer found" in text
    assert "99 of 103 retrained models agree." in text


def test_a_translated_page_reads_from_right_to_left(window, tmp_path):
    many(12).to_html(tmp_path / "page.html", texts={**english(), "language": "ar", "direction": "rtl"})
    for view in ("", "#/row/1"):
        page = window(f"{(tmp_path / 'page.html').as_uri()}{view}", width=420)
        assert page.evaluate("getComputedStyle(document.body).direction") == "rtl"
        assert not scrolls_sideways(page)
