"""HTML representations for notebooks: escaped text in the notebook's own colours, without scripts."""

from collections import Counter
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from betarce.plotting.style import GREEN, GREY, ORANGE
from betarce.results.changes import Change, changed, exactly, largest, row_title
from betarce.results.summary import n_changed

if TYPE_CHECKING:
    from betarce.results.counterfactual import RobustCounterfactual

_MOST_ROWS = 20
_MOST_FEATURES = 8  # in each row of a batch
_MOST_ALONE = 60
_COLORS = {"certified": GREEN, "not-found": ORANGE, "budget-spent": ORANGE}
_LINE = "1px solid rgba(128, 128, 128, 0.35)"
# Names of classes come twice: notebooks stripe and align tables by rules of their own, which these must outweigh.
_STYLE = f"""<style>
.betarce-result table.betarce-changes {{ border-collapse: collapse; border: none; margin: 0.4em 0; color: inherit; }}
.betarce-result .betarce-changes tr:nth-child(n) {{ background: transparent; border: none; }}
.betarce-result .betarce-changes :is(th, td):nth-child(n) {{
  text-align: right; vertical-align: baseline; padding: 0.15em 0.8em; border: none; max-width: 18em;
  overflow-wrap: anywhere; white-space: normal; }}
.betarce-result .betarce-changes :is(th, td):first-child {{ text-align: left; }}
.betarce-result .betarce-changes thead th:nth-child(n) {{ border-bottom: {_LINE}; font-weight: normal; opacity: 0.75; }}
.betarce-result .betarce-changes tbody th:nth-child(n) {{ font-weight: normal; }}
.betarce-result .betarce-changes tbody.betarce-row th:first-child {{ padding-left: 1.6em; }}
.betarce-result .betarce-changes tbody.betarce-row td[colspan]:nth-child(n) {{
  text-align: left; max-width: 46em; padding-top: 0.6em; }}
.betarce-result .betarce-changes tbody.betarce-row + tbody.betarce-row {{ border-top: {_LINE}; }}
.betarce-result .betarce-name {{ padding-left: 0.5em; border-left: 0.3em solid; font-weight: bold; }}
.betarce-result .betarce-faint {{ opacity: 0.75; }}
.betarce-result p {{ margin: 0.2em 0; max-width: 46em; }}
</style>"""


def item_html(item: "RobustCounterfactual") -> str:
    """Show one answer: what to change, and how surely it holds."""
    changes = changed(item)
    shown = largest(changes, _MOST_ALONE)
    parts = [f"<p>{_head(item)}</p>", *(f"<p>{line}</p>" for line in _lines(item))]
    if shown:
        rows = "".join(_change_row(change) for change in shown)
        parts.append(f'<table class="betarce-changes">{_HEADER}<tbody>{rows}</tbody></table>')
    parts += [f'<p class="betarce-faint">{line}</p>' for line in _foot(item, len(changes) - len(shown))]
    return _wrapped(parts)


def result_html(items: Sequence["RobustCounterfactual"]) -> str:
    """Show the first rows of a batch: what to change in each, and how surely it holds."""
    counts = Counter(item.status for item in items)
    statuses = ", ".join(f"{n} {status}" for status, n in counts.most_common())
    parts = [f"<p><b>{_counted(len(items), 'row')}</b>{': ' * bool(statuses)}{escape(statuses)}</p>"]
    if items:
        bodies = "".join(_body(item) for item in items[:_MOST_ROWS])
        parts.append(f'<table class="betarce-changes">{_HEADER}{bodies}</table>')
    if (more := len(items) - _MOST_ROWS) > 0:
        parts.append(
            f'<p class="betarce-faint">and {_counted(more, "more row")}: <code>changes()</code> lists all, '
            f"<code>[{_MOST_ROWS}:]</code> shows the next.</p>"
        )
    return _wrapped(parts)


_HEADER = "<thead><tr><th>feature</th><th>from</th><th>→ base</th><th>→ to</th></tr></thead>"


def _wrapped(parts: Sequence[str]) -> str:
    return f'<div class="betarce-result">{_STYLE}\n' + "\n".join(parts) + "\n</div>"


def _body(item: "RobustCounterfactual") -> str:
    """Write one row of a batch as a part of the table: who it is, then one line per change."""
    changes = changed(item)
    shown = largest(changes, _MOST_FEATURES)
    head = "<br>".join([_head(item), *_lines(item)])
    rows = [f'<tr><td colspan="4">{head}</td></tr>', *(_change_row(change) for change in shown)]
    if more := len(changes) - len(shown):
        rows.append(f'<tr><th class="betarce-faint">and {_counted(more, "smaller change")}</th></tr>')
    return f'\n<tbody class="betarce-row">{"".join(rows)}</tbody>'


def _head(item: "RobustCounterfactual") -> str:
    targets = item.target if isinstance(item.target, (list, tuple, set, np.ndarray)) else [item.target]
    wanted = " or ".join(_text(target) for target in targets)
    color = _COLORS.get(item.status, GREY)
    name = f'<b class="betarce-name" style="border-color: {color}">{_text(row_title(item.name))}</b>'
    return f'{name}: {_text(item.status)} <span class="betarce-faint">to class {wanted}</span>'


def _lines(item: "RobustCounterfactual") -> list[str]:
    """Say how surely it holds, or why there is nothing, and what else should be known."""
    # A reason quotes the vote where there was one.
    certificate = "" if item.certificate is None or str(item.certificate) in item.reason else str(item.certificate)
    return [_text(text) for text in (certificate, item.reason, item.note) if text]


def _change_row(change: Change) -> str:
    texts = [_text(text) for text in change.texts]
    # Bold is what the row has to do: nothing, where only the base went elsewhere.
    texts[2] = f"<b>{texts[2]}</b>" if change.size else f"{texts[2]} (as it is)"
    cells = "".join(f"<td{_exact(change, i)}>{text}</td>" for i, text in enumerate(texts))
    return f"<tr><th>{_text(change.title)}</th>{cells}</tr>"


def _exact(change: Change, i: int) -> str:
    """Give all digits to whoever points at a rounded number."""
    exact = exactly(change.column, float(change.values[i]))
    text = change.texts[i].replace(",", "")
    rounded = change.column.levels is None and text != "missing" and float(text) != float(exact)
    return f' title="{_text(exact)}"' if rounded else ""


def _foot(item: "RobustCounterfactual", more: int) -> list[str]:
    if item.points["robust"] is None:
        return []
    lines = [f"and {_counted(more, 'smaller change')}: <code>changes()</code> lists all."] if more else []
    n, d = n_changed(item), len(item.features)
    return [
        *lines,
        f"{n} of {_counted(d, 'feature')} {'changes' if n == 1 else 'change'}; L1 distance, in ranges of the "
        f"features: {item.distance_to_original:.3g} from the original, {item.distance_to_base:.3g} from the base.",
    ]


def _counted(n: int, what: str) -> str:
    return f"{n:,} {what}{'s' * (n != 1)}"


def _text(value: object) -> str:
    return escape(str(value), quote=True)
