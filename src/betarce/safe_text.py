"""Make untrusted text safe to show in a terminal, in Markdown, in a spreadsheet or in a picture.

Names of columns, rows, classes and methods may hold anything. Wherever they are shown they must stay text: not a
control code of a terminal, not a tag in a page, not a formula in a spreadsheet.
"""

import re
import unicodedata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

# Marks that turn the direction of text around, so that it reads as something else.
_TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_FORMULA = re.compile(r"[\s\0]*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n]")
_RETURN = re.compile("\r\n?")
_MARKDOWN = (
    (re.compile(r"\\(?=[!-/:-@\[-`{-~])"), r"\\\\"),
    (re.compile(r"&(?=#?\w+;)"), "&amp;"),
    (re.compile(r"<(?=[A-Za-z/!?])"), "&lt;"),
    (re.compile(r"([|\[`])"), r"\\\1"),
)


def in_terminal(text: str) -> str:
    """Escape control codes of a terminal; keep line breaks.

    Examples
    --------
    >>> print(in_terminal("age\\x1b[31m, \\u202eegnar"))
    age\\x1b[31m, \\u202eegnar
    """
    return "".join(char if _is_harmless(char) else _escaped(char) for char in text)


def in_json(document: str) -> str:
    """Escape control codes of a terminal in a JSON document, which stays the same document.

    `json.dumps` escapes those below a space alone; U+009B begins a control sequence too.

    Examples
    --------
    >>> print(in_json('{"age\x9b31m": "\u202eegnar"}'))
    {"age\\u009b31m": "\\u202eegnar"}
    """
    return "".join(char if _is_harmless(char) else f"\\u{ord(char):04x}" for char in document)


def in_markdown(value: object) -> str:
    """Write a value as one line of text that Markdown shows literally: no tag, no link, no new cell.

    Examples
    --------
    >>> print(in_markdown("<script>alert(1)</script> | [x](y)"))
    &lt;script>alert(1)&lt;/script> \\| \\[x](y)
    """
    text = in_terminal(" ".join(str(value).split()))
    for pattern, instead in _MARKDOWN:
        text = pattern.sub(instead, text)
    return text


def csv_for_people(frame: "pd.DataFrame", **options: Any) -> str:
    """Write a table as CSV for spreadsheets: text that could run as a formula gets a leading apostrophe.

    Numbers stay numbers, also negative ones, and so does text that is a number. Control codes of a terminal are
    escaped: someone will look at the file in one.

    Examples
    --------
    >>> import pandas as pd
    >>> print(csv_for_people(pd.DataFrame({"name": ["=1+1", "-3.5", "own"], "debt": [-2.0, 3, 4]})))
    name,debt
    '=1+1,-2.0
    -3.5,3.0
    own,4.0
    """
    named = frame.rename(columns=_in_csv)
    texts = {
        j: _mapped(named.iloc[:, j])
        for j, dtype in enumerate(named.dtypes)
        if getattr(dtype, "kind", "O") not in "biufcmM"
    }
    columns = [texts.get(j, named.iloc[:, j]) for j in range(named.shape[1])]
    data = dict(enumerate(columns))
    safe = type(frame)(data, index=frame.index)
    safe.columns = named.columns
    return str(safe.to_csv(**{"index": False, **options}))


def _mapped(column: "pd.Series[Any]") -> "pd.Series[Any]":
    # As objects: a column of whole numbers and gaps would be made one of floats.
    return type(column)([_in_csv(value) for value in column], index=column.index, dtype=object)


def in_picture(text: str) -> str:
    """Escape text so that matplotlib shows it literally, not as a formula between dollar signs."""
    return text.replace("$", r"\$")


def _is_harmless(char: str) -> bool:
    return char == "\n" or (unicodedata.category(char) not in ("Cc", "Cs", "Zl", "Zp") and char not in _TURNING)


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


def _in_csv(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    value = _RETURN.sub("\n", value)  # a lone one ends a line for some readers, and writers do not quote it
    shown = "".join(char if char == "\t" or _is_harmless(char) else _escaped(char) for char in value)
    if not _FORMULA.match(value):
        return shown
    try:
        float(value)
    except ValueError:
        return f"'{shown}"
    return shown
