"""Run the fast tests on every Python, with the lowest and the newest dependencies, with and without pyarrow.

`make matrix` runs every cell and prints a table; `make lowest` runs the one with the lowest dependencies alone. What
has passed is not run again until the code, the tests or the dependencies change. Environments are kept in `.matrix/`.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / ".matrix"
PYTHONS = ("3.11", "3.12", "3.13")
LOWEST_ON = PYTHONS[0]  # the oldest Python is the one that the lowest versions were built for
EXTRAS = "lightgbm,plot,polars,sign,trees,yaml"
TOOLS = ("hypothesis", "pytest")
CONSTRAINTS = {"newest": "constraints.txt", "lowest": "constraints-lowest.txt"}
FAST = (
    "test_edges.py",
    "features/test_features.py",
    "features/test_alignment.py",
    "features/test_rules_file.py",
    "features/test_mixed.py",
    "features/test_precision.py",
    "features/test_stored.py",
    "ledger/test_envelope.py",
    "test_layers.py",
    "test_lowest.py",
    "test_posterior.py",
    "robustify/test_betarce.py",
    "robustify/test_certify.py",
    "test_seeding.py",
    "test_spaces.py",
    "features/test_table_storages.py",
)
# Old libraries beside new ones warn of what is deprecated by now, and LightGBM 4.6 of names that it made up itself.
PATIENT = ("default::DeprecationWarning", "default:X does not have valid feature names:UserWarning")


@dataclass(frozen=True)
class Cell:
    """One combination."""

    python: str
    dependencies: str
    pyarrow: bool

    @property
    def name(self) -> str:
        return f"{self.python}-{self.dependencies}-{'with' if self.pyarrow else 'without'}-pyarrow"

    @property
    def environment(self) -> Path:
        return HOME / f"{self.python}-{self.dependencies}"


@dataclass(frozen=True)
class Outcome:
    """What became of a cell: "passed", "failed", "timeout", "not installed" or "skipped"."""

    status: str
    detail: str = ""
    versions: str = ""
    install_s: float = 0.0
    tests_s: float = 0.0


def main() -> int:
    options = _options()
    HOME.mkdir(exist_ok=True)
    (HOME / ".gitignore").write_text("*\n")
    cells = [cell for cell in _cells() if options.dependencies in (None, cell.dependencies)]
    cells = [cell for cell in cells if options.python in (None, cell.python)]
    cells = [cell for cell in cells if options.pyarrow in (None, "yes" if cell.pyarrow else "no")]
    outcomes = {}
    for cell in cells:
        outcomes[cell] = _remembered(cell) or _run(cell, options.minutes * 60)
        _print_line(cell, outcomes[cell])
    print("\n" + _table(outcomes))
    return int(any(outcome.status not in ("passed", "skipped") for outcome in outcomes.values()))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dependencies", choices=sorted(CONSTRAINTS), help="only these")
    parser.add_argument("--python", choices=PYTHONS, help="only this one")
    parser.add_argument("--pyarrow", choices=("yes", "no"), help="only with it, or only without")
    parser.add_argument("--minutes", type=float, default=15, help="the most that one installation or one run may take")
    return parser.parse_args()


def _cells() -> list[Cell]:
    newest = [Cell(python, "newest", pyarrow) for python in PYTHONS for pyarrow in (False, True)]
    return [*(Cell(LOWEST_ON, "lowest", pyarrow) for pyarrow in (False, True)), *newest]


def _run(cell: Cell, limit: float) -> Outcome:
    interpreter = find_python(cell.python)
    if interpreter is None:
        return Outcome("skipped", f"there is no Python {cell.python} on this machine")
    started = time.perf_counter()
    try:
        _install(cell, interpreter, limit)
    except subprocess.TimeoutExpired:
        return Outcome("timeout", f"installation took more than {limit:.0f} s")
    except subprocess.CalledProcessError as error:
        return Outcome("not installed", _last_line(error.stderr))
    installed = time.perf_counter()
    outcome = _test(cell, limit)
    outcome = Outcome(
        **{**asdict(outcome), "install_s": installed - started, "tests_s": time.perf_counter() - installed}
    )
    if outcome.status == "passed":
        _results_file(cell).write_text(json.dumps({"digest": _digest(cell), **asdict(outcome)}))
    return outcome


def _install(cell: Cell, interpreter: str, limit: float) -> None:
    stamp = cell.environment / f"installed-{_digest(cell, code=False)}"
    python = cell.environment / "bin" / "python"
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    pip += ["--constraint", str(ROOT / CONSTRAINTS[cell.dependencies])]
    if not stamp.exists():
        shutil.rmtree(cell.environment, ignore_errors=True)
        _call([interpreter, "-m", "venv", str(cell.environment)], limit)
        _call([*pip, "--editable", f"{ROOT}[{EXTRAS}]", *TOOLS], limit)
        stamp.touch()
    beside = _beside(cell)
    if cell.pyarrow and not beside.is_dir():
        # In a folder of its own: the same environment serves the runs without it.
        partial = beside.with_name("pyarrow-partial")
        shutil.rmtree(partial, ignore_errors=True)
        _call([*pip, "--no-deps", "--target", str(partial), "pyarrow"], limit)
        partial.rename(beside)


def _test(cell: Cell, limit: float) -> Outcome:
    python = str(cell.environment / "bin" / "python")
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(_beside(cell)) if cell.pyarrow else ""}
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *(f"tests/{name}" for name in FAST)]
    command += [part for each in PATIENT if cell.dependencies == "lowest" for part in ("-W", each)]
    log = HOME / f"{cell.name}.log"
    versions = _versions(python, environment)
    with log.open("w") as file:
        try:
            done = subprocess.run(command, cwd=ROOT, env=environment, stdout=file, stderr=file, timeout=limit)
        except subprocess.TimeoutExpired:
            return Outcome("timeout", f"more than {limit:.0f} s; see {log.relative_to(ROOT)}", versions)
    counts = re.findall(r"(\d+ (?:passed|failed|skipped|errors?))", _last_line(log.read_text()))
    if done.returncode:
        return Outcome("failed", f"{', '.join(counts)}; see {log.relative_to(ROOT)}", versions)
    return Outcome("passed", ", ".join(counts), versions)


def find_python(version: str) -> str | None:
    """Find an interpreter: this one, on the path, or among those of pyenv; the newest that works."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    builds = sorted(pyenv.glob(f"{version}.*/bin/python"), key=lambda path: _numbers(path.parts[-3]), reverse=True)
    candidates = [sys.executable, shutil.which(f"python{version}"), *map(str, builds)]
    show = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"
    for candidate in filter(None, candidates):
        answer = subprocess.run([candidate, "-c", show], capture_output=True, text=True)
        if answer.stdout.strip() == version:
            return candidate
    return None


def _numbers(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)]


def _versions(python: str, environment: dict[str, str]) -> str:
    show = (
        "from importlib.metadata import version as v; "
        "print(*(f'{n} {v(n)}' for n in ('numpy', 'pandas', 'scikit-learn')), sep=', ')"
    )
    return subprocess.run([python, "-c", show], env=environment, capture_output=True, text=True).stdout.strip()


def _call(command: list[str], limit: float) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=limit)


def _beside(cell: Cell) -> Path:
    return cell.environment / "pyarrow-beside"


def _results_file(cell: Cell) -> Path:
    return HOME / f"{cell.name}.json"


def _remembered(cell: Cell) -> Outcome | None:
    try:
        known = json.loads(_results_file(cell).read_text())
    except (OSError, ValueError):
        return None
    return Outcome(**known) if known.pop("digest", None) == _digest(cell) else None


def _digest(cell: Cell, *, code: bool = True) -> str:
    """Digest all that a cell's outcome hangs on: the dependencies, and the code unless only they count."""
    files = [ROOT / "pyproject.toml", ROOT / CONSTRAINTS[cell.dependencies]]
    if code:
        files += sorted(path for folder in ("src", "tests") for path in (ROOT / folder).rglob("*.py"))
        files.append(Path(__file__))
    whole = hashlib.blake2b(digest_size=8)
    for path in files:
        whole.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes() + b"\0")
    return whole.hexdigest()


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip() if lines else ""


def _print_line(cell: Cell, outcome: Outcome) -> None:
    print(f"{cell.name}: {outcome.status} {outcome.detail}", flush=True)


def _table(outcomes: dict[Cell, Outcome]) -> str:
    heading = ("Python", "dependencies", "pyarrow", "outcome", "tests", "versions", "install s", "tests s")
    lines = [
        (
            cell.python,
            cell.dependencies,
            "yes" if cell.pyarrow else "no",
            outcome.status,
            outcome.detail,
            outcome.versions,
            f"{outcome.install_s:.0f}",
            f"{outcome.tests_s:.0f}",
        )
        for cell, outcome in outcomes.items()
    ]
    widths = [max(map(len, column)) for column in zip(heading, *lines, strict=True)]
    rows = [heading, tuple("-" * width for width in widths), *lines]
    return "\n".join("| " + " | ".join(map(str.ljust, row, widths)) + " |" for row in rows)


if __name__ == "__main__":
    sys.exit(main())
