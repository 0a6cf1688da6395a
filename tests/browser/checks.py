"""What browser tests ask of every page."""

import re

IMPACTS = ("serious", "critical")


def barriers(page, axe):
    """List what axe-core calls a serious or critical barrier, in a line each."""
    page.evaluate(axe)
    found = page.evaluate("() => axe.run(document, { resultTypes: ['violations'] })")
    return [
        f"{violation['id']}: {node['html'][:120]} {node['failureSummary']}"
        for violation in found["violations"]
        if violation["impact"] in IMPACTS
        for node in violation["nodes"]
    ]


def scrolls_sideways(page):
    """Say whether the page is wider than its window."""
    return page.evaluate("document.documentElement.scrollWidth > window.innerWidth")


def sheets(page):
    """Count the pages that printing gives."""
    return len(re.findall(rb"/Type\s*/Page\b(?!s)", page.pdf(prefer_css_page_size=True)))


def focused(page):
    """Say what has the focus: its tag and its text."""
    return page.evaluate("[document.activeElement.tagName, document.activeElement.textContent.trim()]")


def press_until(page, key, wanted, most=80):
    """Press a key until the focus is on what is wanted."""
    for _ in range(most):
        page.keyboard.press(key)
        if wanted(*focused(page)):
            return
    raise AssertionError(f"{key} never led there; the focus is on {focused(page)}")
