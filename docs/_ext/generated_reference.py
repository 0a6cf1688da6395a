"""Pages of the reference that are read off the code: every public name, and every command."""

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util.typing import ExtensionMetadata

import betarce
from betarce.cli import app as command_line
from betarce.exports import HOMES, NAMESPACES

GROUPS = {
    "The explainer and its answers": ["BetaRCE", "Result", "RobustCounterfactual", "Verdicts", "Frontier", "load"],
    "Comparing methods": ["compare", "Comparison"],
    "What is promised": ["Guarantee", "Certificate", "Prior"],
    "Spaces: how the model may change": ["Seed", "Bootstrap", "NewData", "Architecture", "Mixture", "Custom", "Given"],
    "Rules: what may change in a row": HOMES["betarce.rules"],
    "Searches, tables, models": ["FrontierSearch", "GrowingSpheresSearch", "FeatureSpace", "Ensemble", "Network"],
    "Promises on record": ["Ledger"],
}


def summary_table(module: str, names: list[str]) -> list[str]:
    return [
        f".. currentmodule:: {module}",
        "",
        ".. autosummary::",
        "   :toctree: generated",
        "   :nosignatures:",
        "",
    ] + [f"   {name}" for name in names]


def heading(text: str, line: str) -> list[str]:
    return ["", text, line * len(text), ""]


def top_level_page() -> str:
    """Make the page of all names of the top level; a name that no group has goes last."""
    grouped = {name for names in GROUPS.values() for name in names}
    rest = sorted(name for names in HOMES.values() for name in names if name not in grouped)
    groups = {**GROUPS, **({"Others": rest} if rest else {})}
    lines = [*heading("betarce", "="), "``import betarce as brce`` gives these names.", ""]
    for title, names in groups.items():
        lines += heading(title, "-") + summary_table("betarce", list(names))
    return "\n".join(lines) + "\n"


def namespace_page(namespace: str) -> str:
    """Make the page of one namespace: what it has beyond the names of the top level, and which of those it has."""
    module = importlib.import_module(f"betarce.{namespace}")
    at_top = {name for names in HOMES.values() for name in names}
    sentence = (module.__doc__ or "").strip().split("\n\n")[0].replace("\n", " ")
    listed = sorted(module.__all__)
    shared = [name for name in listed if name in at_top and getattr(betarce, name) is getattr(module, name)]
    own = [name for name in listed if name not in shared]
    constants = [name for name in own if not callable(getattr(module, name))]
    lines = [*heading(f"betarce.{namespace}", "="), sentence, "", f".. currentmodule:: betarce.{namespace}", ""]
    lines += summary_table(f"betarce.{namespace}", [name for name in own if name not in constants])
    if constants:
        lines += heading("Constants", "-") + [f"* ``{name}``: {constant(getattr(module, name))}" for name in constants]
    if shared:
        links = ", ".join(f":obj:`~betarce.{name}`" for name in shared)
        lines += ["", f"Also at the top level: {links}."]
    return "\n".join(lines) + "\n"


def constant(value: Any) -> str:
    words = [str(name) for name in value] if isinstance(value, dict | list | tuple | frozenset) else [repr(value)]
    return ", ".join(f"``{word}``" for word in words)


def commands(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    """List a command with all that are below it."""
    below = getattr(command, "commands", None)
    if below is None:
        yield path, command
    else:
        for name, each in below.items():
            yield from commands(each, f"{path} {name}")


def in_cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def options_table(command: Any) -> list[str]:
    rows = []
    for parameter in command.params:
        is_option = parameter.param_type_name == "option"
        form = ", ".join(parameter.opts) if is_option else (parameter.metavar or parameter.name)
        default = parameter.default if is_option and not callable(parameter.default) else None
        shown = f" Default: `{default}`." if default not in (None, False, (), []) and "..." not in str(default) else ""
        needed = " **Required.**" if parameter.required else ""
        rows.append(f"| `{form.strip('{}')}` | {in_cell(getattr(parameter, 'help', None) or '')}{needed}{shown} |")
    return ["", "| option | what it does |", "|---|---|", *rows, ""]


def commands_page() -> str:
    """Make the page of all commands with their options."""
    root = typer.main.get_command(command_line)
    lines = ["# Commands", ""]
    lines += ["`betarce COMMAND`, or `python -m betarce COMMAND`. " + in_cell((root.help or "").split("\n\n")[-1]), ""]
    for path, command in commands(root, "betarce"):
        lines += [f"## {path}", "", (command.help or "").strip(), *options_table(command)]
    return "\n".join(lines) + "\n"


def write(app: Sphinx, _config: Config) -> None:
    folder = Path(app.srcdir) / "reference"
    pages = {"betarce.rst": top_level_page(), "commands.md": commands_page()}
    pages |= {f"{namespace}.rst": namespace_page(namespace) for namespace in NAMESPACES}
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text() != text:  # an unchanged page is not read again
            path.write_text(text)


def setup(app: Sphinx) -> ExtensionMetadata:
    app.connect("config-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
