"""The plan of the house: its layers, the imports between its packages, and a picture of both.

``python tools/house.py`` draws `docs/architecture.svg` from the code. Tests compare the picture with the code, and hold
every import against the layers.
"""

import ast
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "betarce"
PICTURE = ROOT / "docs" / "architecture.svg"

# From the ground up: what each package or module at the top level does. Imports point down, or stay on their floor.
LAYERS: Sequence[Mapping[str, str]] = (
    {
        "errors": "Every error and warning that is raised on purpose.",
        "exports": "The public names, those of the rules among them: what is imported by name.",
        "arrays": "Names for types of arrays.",
        "seeding": "Seeds derived from names.",
        "checks": "Checks of arguments that many modules take.",
        "parameters": "Parameters of methods, read and set by name.",
        "progress": "Progress bars.",
        "safe_text": "Foreign text made harmless for terminals, Markdown and CSV.",
        "storage": "The only way to the disk: whole files or none, strict documents, arrays without pickle.",
    },
    {
        "posterior": "From votes to bounds, quorums and certificates.",
        "targets": "Which classes each row accepts.",
        "resampling": "Training rows drawn again with replacement.",
        "plotting": "The one style of all pictures.",
    },
    {
        "features": "Where raw tables end: columns, rules, and what points may be.",
        "rules": "The rules under their public name.",
        "datasets": "The data sets of the paper, and a synthetic loan book.",
        "tables": "Tables of the user, read from files and checked.",
    },
    {
        "models": "How one model is trained again, and the models that come with the package.",
        "search": "Searches for the closest points that reach a goal, over a feature space.",
        "engines": "Work mapped over cores or machines.",
    },
    {
        "ensemble": "Many members that answer as one.",
        "spaces": "Distributions over retrained models.",
    },
    {
        "explainers": "Methods that make counterfactuals, one per file.",
        "member_training": "Planned members trained in parallel.",
        "members": "Members drawn from a space and trained, each with a role.",
    },
    {
        "robustify": "Where search and certifying members meet: what decides.",
        "results": "Answers as tables, words, pages, pictures and files.",
    },
    {
        "runs": "A fitted explainer as a folder, and rows explained from file to file.",
    },
    {
        "ledger": "Promises on record: statements, a chain, re-checks at deployment, promised against realised.",
        "comparison": "Methods side by side on the same rows, and their metrics.",
        "metrics": "The metrics under their public name.",
        "demo": "Five rejected loans, explained and checked.",
    },
    {
        "paper": "The reproduction of the paper: plans, cells, records, tables, figures.",
        "web": "The local server of the page: what if, verdicts, promises on record.",
        "testing": "Contract kits: what explainers, searches, spaces, kernels and rules must keep to.",
    },
    {
        "cli": "The command line: parses, calls, prints.",
        "__main__": "`python -m betarce`.",
    },
)
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}


def source_files() -> list[Path]:
    """Give every module but the package's own `__init__.py`, which imports by name when it is asked."""
    return sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


def package_of(path: Path) -> str:
    """Give the package or module at the top level that a file belongs to."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports_of(path: Path) -> Iterator[str]:
    """Give the modules of betarce that a file imports, wherever in the file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        modules = []
        if isinstance(node, ast.ImportFrom):
            modules = [node.module or ""]
            if node.module == "betarce":
                modules = [f"betarce.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        yield from (module for module in modules if module.startswith("betarce."))


def module_of(path: Path) -> str:
    """Give the full name of the module that a file is."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(["betarce", *(parts[:-1] if parts[-1] == "__init__" else parts)])


def module_graph() -> dict[str, set[str]]:
    """Give the modules that each module imports, at the top or in functions, without those for type checkers alone."""
    modules = {module_of(path): path for path in source_files()}
    graph = {}
    for name, path in modules.items():
        found = set()
        for node in _run_nodes(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                inside = {f"{node.module}.{alias.name}" for alias in node.names} & set(modules)
                found |= inside or {node.module or ""}
            elif isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
        graph[name] = found & set(modules) - {name}
    return graph


def _run_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Walk through all that runs."""
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _run_nodes(child)


def circles(graph: Mapping[str, set[str]]) -> set[str]:
    """Give the names that cannot be put into an order in which each comes after all that it imports."""
    free: set[str] = set()
    while ready := {name for name, others in graph.items() if name not in free and others <= free}:
        free |= ready
    return set(graph) - free


def import_graph() -> dict[str, set[str]]:
    """Give the packages that each package imports."""
    graph: dict[str, set[str]] = {name: set() for name in LEVEL}
    for path in source_files():
        own = package_of(path)
        graph[own] |= {module.split(".")[1] for module in imports_of(path)} - {own}
    return graph


def direct(graph: Mapping[str, set[str]]) -> set[tuple[str, str]]:
    """Leave out imports of what is imported through another package too: they would only fill the picture."""
    reached: dict[str, set[str]] = {}

    def below(name: str) -> set[str]:
        if name not in reached:
            reached[name] = set()
            for other in graph[name]:
                reached[name] |= {other} | below(other)
        return reached[name]

    return {
        (name, other)
        for name, others in graph.items()
        for other in others
        if not any(other in below(third) for third in others - {other})
    }


def layers_table() -> str:
    """Write the layers as a table in Markdown, the highest first."""
    lines = ["| layer | package | what it does |", "|---|---|---|"]
    for level in reversed(range(len(LAYERS))):
        lines += [f"| {level} | `{name}` | {sentence} |" for name, sentence in LAYERS[level].items()]
    return "\n".join(lines)


WIDTH, ROW, BOX, MARGIN = 1040, 74, 34, 24
_STYLE = """
text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #1f2933; text-anchor: middle; }
.floor { fill: #7b8794; font-size: 11px; text-anchor: start; }
.box { fill: #ffffff; stroke: #52606d; }
.band { fill: #f0f4f8; }
.way { fill: none; stroke: #0072b2; stroke-opacity: 0.45; }
"""


def picture() -> str:
    """Draw the layers as floors, and the imports between packages that go through no third one."""
    places = _places()
    height = MARGIN + ROW * len(LAYERS)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        'aria-label="Packages of betarce by layer, and the imports between them">',
        f"<style>{_STYLE}</style>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" orient="auto">'
        '<path d="M0 0 8 4 0 8z" fill="#0072b2" fill-opacity="0.7"/></marker></defs>',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
    ]
    for level in range(len(LAYERS)):
        top = _top(level)
        parts.append(f'<rect class="band" x="0" y="{top - 14}" width="{WIDTH}" height="{ROW - 12}"/>')
        parts.append(f'<text class="floor" x="10" y="{top + 2}">{level}</text>')
    graph = import_graph()
    for name, other in sorted(direct(graph)):
        parts.append(f'<path class="way" marker-end="url(#tip)" d="{_way(places[name], places[other])}"/>')
    for name, (x, y, width) in places.items():
        parts.append(f'<rect class="box" x="{x - width / 2:g}" y="{y}" width="{width:g}" height="{BOX}" rx="5"/>')
        parts.append(f'<text x="{x:g}" y="{y + 22}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _top(level: int) -> int:
    return MARGIN + ROW * (len(LAYERS) - 1 - level)


def _places() -> dict[str, tuple[float, int, float]]:
    """Give the middle, the top and the width of each box."""
    places = {}
    for level, names in enumerate(LAYERS):
        widths = [8.2 * len(name) + 18 for name in names]
        gap = min(150.0, (WIDTH - 40 - sum(widths)) / (len(names) + 1))
        left = 20 + (WIDTH - 20 - sum(widths) - gap * (len(names) - 1)) / 2
        for name, width in zip(names, widths, strict=True):
            places[name] = (round(left + width / 2, 1), _top(level), round(width, 1))
            left += width + gap
    return places


def _way(start: tuple[float, int, float], end: tuple[float, int, float]) -> str:
    (x, y, _), (to_x, to_y, _) = start, end
    if y == to_y:  # on the same floor: below the boxes between them
        low = y + BOX + 18
        return f"M{x:g} {y + BOX} C{x:g} {low} {to_x:g} {low} {to_x:g} {y + BOX}"
    bend = (to_y - y - BOX) / 2
    return f"M{x:g} {y + BOX} C{x:g} {y + BOX + bend:g} {to_x:g} {to_y - bend:g} {to_x:g} {to_y}"


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
    print(f"wrote {PICTURE}")
