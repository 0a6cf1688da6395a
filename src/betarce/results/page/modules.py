"""Several modules of JavaScript as one script, for a page that may load nothing."""

import re
from functools import cache

from betarce.results.page.texts import asset

_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([\w-]+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:function|const|class) (\w+))", re.MULTILINE)


@cache
def linked(entry: str) -> str:
    """Put a module behind all modules that it imports, each in a scope of its own.

    Parameters
    ----------
    entry : str
        The module to start with. Imports must be of the form ``import { a, b } from "./other.js";``.

    Examples
    --------
    >>> script = linked("texts.js")
    >>> script.index("const module_dom") < script.index("const module_texts")
    True
    >>> "import {" in script or "export " in script
    False
    """
    scopes: dict[str, str] = {}
    _collect(entry.removesuffix(".js"), scopes)
    return "\n".join(scopes.values())


def _collect(name: str, scopes: dict[str, str]) -> None:
    if name in scopes:
        return
    source = asset(f"{name}.js")
    for _, other in _IMPORT.findall(source):
        _collect(other, scopes)
    exported = ", ".join(_EXPORT.findall(source))
    body = _IMPORT.sub(lambda found: f"const {{{found[1]}}} = {_scope(found[2])};\n", source)
    scopes[name] = f"const {_scope(name)} = (() => {{\n{_EXPORT.sub('', body)}return {{ {exported} }};\n}})();"


def _scope(name: str) -> str:
    return f"module_{name.replace('-', '_')}"
