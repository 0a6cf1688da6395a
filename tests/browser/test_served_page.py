"""The page of the local server, in a real browser: what if, wishes, verdicts, promises, and who can use it."""

import json
import urllib.request

import pytest

from betarce.ledger import Ledger
from browser.checks import barriers, press_until, scrolls_sideways
from loan_desk import loan_explainer, loan_table, rejected_rows, served

pytest.importorskip("starlette")
pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Store a run, rows to pick from and a ledger."""
    folder = tmp_path_factory.mktemp("desk")
    rce, rows = loan_explainer(), rejected_rows()
    rce.save(folder / "run")
    rows.to_csv(folder / "rows.csv", index=False)
    with Ledger(folder / "promises.db") as ledger:
        result = rce.explain(rows[:3].astype({"home": loan_table()["home"].dtype}), target="approved")
        names = ledger.record(result, cohort="spring <b>")
        ledger.withdraw(names[0], reason="asked for")
    return folder


@pytest.fixture(scope="module")
def address(place):
    """Serve it, as a user would, and give the address of the page."""
    with served(place / "run", "--rows", place / "rows.csv", "--ledger", place / "promises.db") as (_, url):
        yield url


def pick(page, name):
    page.get_by_label("Row", exact=True).fill(name)
    page.keyboard.press("Enter")


def answered(page, name="row 1"):
    pick(page, name)
    page.wait_for_selector("article.person .what-to-change .step")


def steps(page):
    return page.locator("article.person").first.locator(".what-to-change .step .said").all_inner_texts()


def told(page):
    return page.locator(".said-now").inner_text()


def test_a_picked_row_gets_an_answer_and_can_be_asked_again_without_a_change(window, address):
    page = window(address)
    answered(page)
    assert "The model says “rejected” now." in told(page)
    before = steps(page)
    assert "change one thing." in page.locator("article.person .lead").inner_text()  # the share follows from it
    page.get_by_role("button", name="as it is and ask again").first.click()
    page.wait_for_selector("text=This is answer 2 about this row.")
    assert steps(page) != before
    assert page.locator("select", has_text="keep it as it is").evaluate_all(
        "all => all.map((one) => one.value)"
    ).count("keep") == 1  # fmt: skip


def test_a_wish_that_leaves_nothing_says_so_and_forgetting_it_helps(window, address):
    page = window(address)
    answered(page)
    for wish in page.get_by_label("may it change?").all():
        wish.select_option("keep")
    page.get_by_role("button", name="Find what to change").click()
    page.wait_for_selector("article.person .what-to-change .step", state="detached")
    assert page.locator("article.person").count() == 1
    page.get_by_role("button", name="Forget my wishes").click()
    page.get_by_role("button", name="Find what to change").click()
    page.wait_for_selector("article.person .what-to-change .step")


def test_values_that_somebody_types_get_a_verdict(window, address):
    page = window(address)
    answered(page)
    page.get_by_role("button", name="Check these values").click()
    page.wait_for_selector("text=retrained models agree: enough for at least")
    page.get_by_label("income, to try").fill("10")
    page.get_by_label("home, to try").select_option(label="rent")
    page.get_by_role("button", name="Check these values").click()
    page.wait_for_selector("text=retrained models agree: not enough for at least")
    page.get_by_label("debt, to try").fill("")
    page.get_by_role("button", name="Check these values").click()
    page.wait_for_selector("text=debt needs a value.")
    window.faults.clear()  # the browser itself reports the refusal


def test_other_options_are_shown_on_demand(window, address):
    page = window(address)
    answered(page)
    page.get_by_role("button", name="Show other options").click()
    page.wait_for_selector("section.options details")
    page.locator("section.options summary").first.click()
    assert page.locator("section.options article.person").first.is_visible()


def test_a_row_that_cannot_be_read_says_why_and_the_next_one_is_answered(window, address):
    page = window(address)
    pick(page, "row 4")
    page.wait_for_selector("text=This row cannot be read")
    assert "castle" in told(page)
    answered(page)
    window.faults.clear()


def test_a_name_that_no_row_has_is_said(window, address):
    page = window(address)
    pick(page, "row 99")
    page.wait_for_selector("text=There is no such row.")


def test_promises_are_listed_and_each_tells_its_story(window, address):
    page = window(address + "#/promises")
    page.wait_for_selector("table.rows tbody tr")
    assert page.locator("table.rows tbody tr").count() == 3
    assert "spring <b>" in page.locator("table.rows").inner_text()
    page.locator("table.rows tbody tr", has_text="taken back").get_by_role("link").click()
    page.wait_for_selector("text=What happened")
    assert "asked for" in page.locator("main").inner_text()


def test_the_keyboard_alone_asks_and_checks(window, address):
    page = window(address)
    press_until(page, "Tab", lambda tag, text: tag == "BUTTON" and text == "Find what to change")
    page.keyboard.press("Enter")
    page.wait_for_selector("article.person")
    press_until(page, "Tab", lambda tag, text: tag == "BUTTON" and text == "Check these values")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=Verdict on the values typed in")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", ["", "#/annex", "#/promises"])
def test_there_is_no_serious_barrier(window, address, axe, view, scheme):
    page = window(address + view, color_scheme=scheme, bypass_csp=True)
    if not view:
        answered(page)
    if view == "#/promises":
        page.wait_for_selector("table.rows tbody tr")
    assert barriers(page, axe) == []


@pytest.mark.parametrize("view", ["", "#/annex", "#/promises"])
def test_a_phone_needs_no_sideways_scrolling(window, address, view):
    page = window(address + view, width=360, height=740)
    if not view:
        answered(page)
    if view == "#/promises":
        page.wait_for_selector("table.rows tbody tr")
    assert not scrolls_sideways(page)


def test_a_browser_that_leaves_in_the_middle_of_a_question_harms_nobody(window, address):
    page = window(address)
    pick(page, "row 1")
    page.context.close()
    answered(window(address))


def test_a_server_that_has_stopped_is_named_as_the_reason(window, place):
    with served(place / "run", "--rows", place / "rows.csv") as (_, url):
        page = window(url)
        state = json.loads(urllib.request.urlopen(f"{url}api/state", timeout=20).read())
        assert state["rows"] == ["row 1", "row 2", "row 3", "row 4"]
    page.get_by_role("button", name="Find what to change").click()
    page.wait_for_selector("text=The server does not answer. Is it still running?")
    window.faults.clear()
