"""The page for readers without scripts: every answer in a few lines of plain HTML."""

from collections.abc import Mapping
from html import escape
from typing import Any

_MOST_ROWS = 200


def fallback(content: Mapping[str, Any], words: Mapping[str, Any]) -> str:
    """List the answers, the first 200 of many.

    Parameters
    ----------
    content : mapping
        What the page shows, as `betarce.results.page.content.page_content` says it.
    words : mapping
        The texts of the page.
    """
    people = content["people"]
    parts = [f"<h1>{escape(content['title'])}</h1>", f"<p>{escape(words['no_script'])}</p>"]
    parts += [_row(person, content, words) for person in people[:_MOST_ROWS]]
    if (more := len(people) - _MOST_ROWS) > 0:
        parts.append(f"<p>{escape(words['no_script_more'].format(n=f'{more:,}'))}</p>")
    return "\n".join(parts)


def _row(person: Mapping[str, Any], content: Mapping[str, Any], words: Mapping[str, Any]) -> str:
    parts = [f"<section><h2><bdi>{escape(person['name'])}</bdi>: {escape(words['status'][person['status']])}</h2>"]
    if person["answer"] is None:
        parts.append(f"<p>{escape(words['why'][person['status']])} <bdi>{escape(person['reason'])}</bdi></p>")
    else:
        option, vote = person["options"][person["answer"]], content["votes"][person["vote"]["on"]]
        parts.append(f"<ul>{''.join(_change(change, person, content) for change in option['changes'])}</ul>")
        agree = words["models_agree"].format(agree=f"{option['agree']:,}", n=f"{vote['n_models']:,}")
        promise = words["certificate_promise_text"].format(
            delta=f"{vote['delta']:.1%}", confidence=f"{vote['confidence']:.1%}"
        )
        parts.append(f"<p>{escape(agree)} {escape(words['certificate_promise'])}: {escape(promise)}.</p>")
    return "".join([*parts, "</section>"])


def _change(change: list[Any], person: Mapping[str, Any], content: Mapping[str, Any]) -> str:
    j, to = change[:2]
    cells = [content["columns"][j]["title"], person["now"][j], to]
    title, before, after = (f"<bdi>{escape(text)}</bdi>" for text in cells)
    return f"<li>{title}: {before} → <b>{after}</b></li>"
