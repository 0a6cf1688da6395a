"""Run pages as a reader would, and compare what they show with what is printed.

    python tools/shown_output.py docs/start.md            # say what differs
    python tools/shown_output.py --write docs/start.md    # and write what is printed today into the page

Blocks of `python` and commands of `betarce` in blocks of `sh` run in their order, in one folder and one namespace.
Rules in a block of `toml` are put into features.toml, as the page tells. A block of `text` shows what was printed since
the block of `text` before it. There, `...` stands for anything (as in doctest), and white space counts as one space.
"""

import contextlib
import doctest
import io
import os
import re
import shlex
import sys
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from betarce.cli import app
from betarce.errors import BetarceWarning

BLOCK = re.compile(r"^```(python|sh|toml|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
WIDTH = "80"  # of the terminal that pages show


@dataclass(frozen=True)
class Shown:
    """What a page shows, where, and what was printed instead."""

    page: Path
    start: int
    end: int
    shown: str
    printed: str

    @property
    def is_true(self) -> bool:
        return doctest.OutputChecker().check_output(self.shown, self.printed, FLAGS)

    def __str__(self) -> str:
        line = self.page.read_text(encoding="utf-8")[: self.start].count("\n") + 1
        return f"{self.page.name}, line {line}, shows\n{self.shown}\nbut this was printed\n{self.printed}"


@dataclass
class Session:
    """What a reader has while following a page: names, a folder, and what was printed last."""

    page: Path
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})
    printed: str = ""

    def python(self, code: str) -> None:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(code, str(self.page), "exec"), self.names)
        self.printed += out.getvalue()

    def sh(self, lines: str) -> None:
        for line in lines.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            if words[:1] != ["betarce"]:
                continue  # pip and make are what CI does before
            done = CliRunner().invoke(app, words[1:], env={"COLUMNS": WIDTH})
            if done.exit_code != 0:
                raise RuntimeError(f"{self.page.name}: {line}\n{done.output}\n{done.exception!r}")
            self.printed += done.stdout

    def toml(self, rules: str) -> None:
        path = Path("features.toml")
        text = path.read_text(encoding="utf-8")
        for section in re.split(r"\n(?=\[)", rules.strip()):
            head, _, lines = section.partition("\n")
            text, found = re.subn(rf"^({re.escape(head)}.*)$", rf"\1\n{lines.strip()}", text, flags=re.MULTILINE)
            if found != 1:
                raise RuntimeError(f"{self.page.name}: features.toml has {found} sections {head}")
        path.write_text(text, encoding="utf-8")


def follow(page: Path) -> Iterator[Shown]:
    """Run a page in the current folder, and give each output that it shows."""
    session = Session(page)
    for block in BLOCK.finditer(page.read_text(encoding="utf-8")):
        kind, content = block.groups()
        if kind == "text":
            yield Shown(page, block.start(2), block.end(2), content, session.printed)
            session.printed = ""
        else:
            getattr(session, kind)(content)


def as_shown(printed: str) -> str:
    """Leave out empty lines at both ends and spaces at the ends of lines."""
    lines = [line.rstrip() for line in printed.splitlines()]
    return "\n".join(lines).strip("\n") + "\n"


def write(page: Path, found: list[Shown]) -> None:
    """Put what was printed into the page, where it shows something else."""
    text = page.read_text(encoding="utf-8")
    for each in reversed(found):
        if not each.is_true:
            text = text[: each.start] + as_shown(each.printed) + text[each.end :]
    page.write_text(text, encoding="utf-8")


def main(arguments: list[str]) -> int:
    pages = [Path(name).resolve() for name in arguments if name != "--write"]
    wrong = []
    for page in pages:
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), warnings.catch_warnings():
            warnings.simplefilter("ignore", BetarceWarning)
            found = list(follow(page))
        wrong += [each for each in found if not each.is_true]
        if "--write" in arguments:
            write(page, found)
    print("\n\n".join(map(str, wrong)) or "Everything shown is what is printed.")
    return int(bool(wrong))


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main(sys.argv[1:]))
