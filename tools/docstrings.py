"""Check the docstrings of all public names: what the reference shows must be whole.

    python tools/docstrings.py

A public function or class has a summary in one sentence, an example that runs (the tests run them), and no section
that numpydoc cannot read or that contradicts the signature. Prints what is missing, one line each, and ends with 1 if
anything is.
"""

import importlib
import inspect
import sys
from collections.abc import Iterator
from typing import Any

from numpydoc.validate import validate

import betarce
from betarce.exports import HOMES, NAMESPACES

# What numpydoc finds that matters to readers; the others are matters of taste.
CODES = {
    "GL06": "an unknown section",
    "GL07": "sections in the wrong order",
    "GL08": "no docstring",
    "PR02": "unknown parameters",
    "PR10": "no space before the colon of a parameter",
    "SS01": "no summary",
    "SS03": "the summary does not end with a period",
    "SS06": "the summary is longer than one line",
}
PROTOCOLS = {
    "Depth",
    "Explainer",
    "Goal",
    "Predicate",
    "Relation",
    "Search",
    "Space",
    "Trainer",
}  # shown by what implements them


def public_names() -> dict[str, Any]:
    """Give every public function and class by its full name, once."""
    found = {f"betarce.{name}": getattr(betarce, name) for names in HOMES.values() for name in names}
    for namespace in NAMESPACES:
        module = importlib.import_module(f"betarce.{namespace}")
        for name in module.__all__:
            thing = getattr(module, name)
            if not any(thing is other for other in found.values()):
                found[f"betarce.{namespace}.{name}"] = thing
    return {name: thing for name, thing in found.items() if inspect.isclass(thing) or inspect.isfunction(thing)}


def needs_example(name: str, thing: Any) -> bool:
    """Say whether readers miss an example: errors and protocols are shown elsewhere."""
    is_error = inspect.isclass(thing) and issubclass(thing, BaseException)
    return not is_error and name.rsplit(".", 1)[-1] not in PROTOCOLS


def faults(name: str, thing: Any) -> Iterator[str]:
    """List what the docstring of one name lacks."""
    home = f"{thing.__module__}.{thing.__qualname__}"
    for code, message in validate(home)["errors"]:
        if code in CODES:
            yield f"{name}: {message}"
    text = inspect.getdoc(thing) or ""
    if needs_example(name, thing) and ">>>" not in text:
        yield f"{name}: No example"


def main() -> int:
    names = public_names()
    found = [fault for name, thing in sorted(names.items()) for fault in faults(name, thing)]
    print("\n".join(found) or f"The docstrings of {len(names)} public names are whole.")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
