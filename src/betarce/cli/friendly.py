"""Errors and warnings as sentences on stderr, in the words of the command line."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import typer

from betarce.safe_text import in_terminal

_OPTIONS = {
    "delta": "--delta",
    "confidence": "--confidence",
    "prior": "--prior",
    "n_models": "--models",
    "n_jobs": "--jobs",
    "random_state": "--seed",
    "space": "--space",
    "base": "--base",
    "features": "--features",
    "max_changes": "--max-changes",
    "target": "--target",
    "engine": "--engine",
    "address": "--address",
    "only": "--only",
    "out": "--out",
    "folder": "--out",
    "X": "the table",
}
# What has no option: said in another way, or not at all.
_PHRASES = [
    (r"Raise `max_evaluations` of the search, or lower", "Lower"),
    (r"; see the ConstantMembers warning of `fit`, if there was one", ""),
    (r"Use betarce\.Bootstrap\(\), or wrap the model in betarce\.models\.ValidationSplit", "Use --space bootstrap"),
    (r": features=\{.*?\}\.$", " in the file of --features."),
    (r", a pair \(a, b\) or a Prior;", ";"),
]
_PYTHON = re.compile(r"\bbetarce\.\w|\berror\.|\w=[\w({\[\"']|\w\(\)|\b(?:fit|explain)`")
_SENTENCES = re.compile(r"(?<=[.!?]) +(?=[A-Z`])")


def in_options(text: str, options: Mapping[str, str] | None = None) -> str:
    """Say in options what was said in parameters, and leave out advice that is Python.

    Parameters
    ----------
    text : str
        What an error, a warning or an answer says.
    options : mapping of str to str, optional
        What further parameters are called on the command line.

    Examples
    --------
    >>> in_options("`n_models` must be positive; got 0.")
    '--models must be positive; got 0.'
    >>> in_options('Pass n_models="few", n_models=1200 or n_models=(38, 1200).')
    'Pass --models few, --models 1200 or --models 38,1200.'
    >>> in_options("All members are the same model. Use betarce.Seed(), or pass space=betarce.Given(models).")
    'All members are the same model.'
    """
    known = {**_OPTIONS, **(options or {})}
    for phrase, instead in _PHRASES:
        text = re.sub(phrase, instead, text)
    text = re.sub(r"\btrust=\[([^\]]*)\]", lambda found: _trusts(found[1]), text)
    text = text.replace("allow_pickle=True", "--allow-pickle")
    for name, option in known.items():
        text = re.sub(rf"\b{name}=(?=[\d.])", f"{option} ", text)
        text = re.sub(rf"\b{name}=[\"']([\w-]+)[\"']", rf"{option} \1", text)
        text = re.sub(rf"\b{name}=\((\d+), (\d+)\)", rf"{option} \1,\2", text)
    text = re.sub(r"`(\w+)`", lambda found: known.get(found[1], found[0]), text)
    first, *others = _SENTENCES.split(text)
    return " ".join([first, *(sentence for sentence in others if not _PYTHON.search(sentence))]).replace("`", "'")


def _trusts(names: str) -> str:
    bare = [name.strip().strip("'") for name in names.split(",")]
    return " ".join(f"--trust {name}" for name in bare)


@contextmanager
def friendly_errors(**options: str) -> Iterator[None]:
    """Print our own errors as a sentence; leave all others, which are bugs, with their traceback.

    Parameters
    ----------
    **options
        What parameters are called in this command, such as ``path="--out"``.
    """
    from betarce.errors import BetarceError

    try:
        yield
    except BetarceError as error:
        typer.secho(in_terminal(f"Error: {in_options(str(error), options)}"), err=True, fg="red")
        raise typer.Exit(2) from None


@contextmanager
def friendly_warnings() -> Iterator[dict[str, type[Warning]]]:
    """Print each warning once, as a sentence, when it comes; gives the texts, each with its kind."""
    import warnings

    said: dict[str, type[Warning]] = {}

    def say(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        text = in_options(str(message))
        if text not in said:
            said[text] = category
            typer.secho(in_terminal(f"Warning: {text}"), err=True, fg="yellow")

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = say
        yield said
