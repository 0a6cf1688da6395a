"""The programs of others and ours on one common problem; writes the tables of docs/comparison.md.

Run: ``make others``, or ``python bench/others.py FOLDER [PROGRAM ...] [--write] [--only-read]``. Each program gets an
environment of its own in FOLDER and answers there. What is done is not done again, so delete FOLDER/PROGRAM to repeat
it; with ``--only-read`` no program is run, and the tables show what is there. Diabetes is read from
``BETARCE_DATA_DIR``; breast cancer comes with scikit-learn.
"""

import json
import sys
import time
from collections.abc import Iterator
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import numpy as np

from betarce.arrays import FloatArray
from betarce.errors import DataUnavailable
from betarce.paper.tables.markdown import text_table
from others_problem import ENOUGH, WANTED, Common, Score, prepare
from others_programs import PROGRAMS, installed, ran
from pages import replace_block
from timing import one_thread

PAGE = Path(__file__).parents[1] / "docs" / "comparison.md"
SCORES = ("answered", "truly >= 0.9", "least rate", "L1", "changed")
HEAD = ("program, setting", *SCORES, "ms per row", "s before")
AFTER = ("base points of", "its L1", "its truly >= 0.9", "certified", "truly >= 0.9", "least rate", "L1", "ms per row")
N_DRAWS = 5
OURS: dict[str, dict[str, Any]] = {
    "betarce": {},
    'betarce, `n_models="few"`': {"n_models": "few"},
    'betarce, `n_models="many"`': {"n_models": "many"},
}


def cells(score: Score) -> list[str]:
    """Give the numbers of one line."""
    if score.answered == 0:
        return ["0.00", *["-"] * 4]
    parts = (score.answered, score.covered, score.lowest, score.l1)
    digits = [f"{part:.2f}" for part in parts]
    return [*digits[:3], f"{score.l1:.3f}", f"{score.changed:.1f}"]


def ours(common: Common) -> Iterator[list[str]]:
    """Measure ours from the person: means over several draws of members, since what is promised is a mean."""
    for name, settings in OURS.items():
        scores, costs = [], []
        for draw in range(N_DRAWS):
            rce, seconds = common.explainer(draw, **settings)
            rce.explain(common.tuning[:1])  # what is compiled or loaded on the first call
            start = time.process_time()
            points = rce.explain(common.rows).points("robust").to_numpy(float)
            costs.append((1000 * (time.process_time() - start) / len(common.rows), seconds))
            scores.append(common.scored(points, common.rows, common.audit))
        mean = Score(*np.mean([astuple(score) for score in scores], axis=0))
        answered, covered, *rest = cells(replace(mean, lowest=min(score.lowest for score in scores)))
        covered += f" ({min(score.covered for score in scores):.2f})"
        ms, seconds = np.median(costs, axis=0)
        members = f"{len(rce.members_.search)} + {len(rce.members_.voters)} members"
        yield [f"{name} ({members})", answered, covered, *rest, f"{ms:.1f}", f"{seconds:.1f}"]


def after(common: Common, name: str, points: FloatArray) -> list[str]:
    """Make the points of another program robust, each as close as can be to where it was."""
    kept = common.answered(points)
    if not kept.any():
        return [name, *["-"] * (len(AFTER) - 1)]
    rows, bases = common.rows[kept], points[kept]
    common.after.explain(common.tuning[:1])
    start = time.process_time()
    robust = common.after.explain(rows, base_points=bases).points("robust").to_numpy(float)
    ms = 1000 * (time.process_time() - start) / len(rows)
    theirs, score = common.scored(bases, rows, common.audit), common.scored(robust, rows, common.audit)
    certified, covered, lowest, l1, _ = cells(score)
    return [name, f"{theirs.l1:.3f}", f"{theirs.covered:.2f}", certified, covered, lowest, l1, f"{ms:.1f}"]


def chosen(common: Common, files: list[Path], robust: bool) -> list[Path]:
    """Give the documented setting of a method, and the one that was best on other rows, judged by other networks.

    Best is closest: of all settings, or for a program that promises robustness of those whose points are robust
    often enough (without any, the most robust one). A row without an answer counts as one that is not robust.
    """
    if len(files) == 1:
        return files
    scores = [common.scored(np.load(file)["tuning"], common.tuning, common.proxies) for file in files]
    reached = [score.answered * score.covered if score.answered else 0.0 for score in scores]
    wanted = reached if robust else [score.answered for score in scores]
    level = min(max(wanted), ENOUGH)
    least = min((np.nan_to_num(scores[i].l1, nan=np.inf), i) for i in range(len(files)) if wanted[i] >= level)[1]
    return list(dict.fromkeys([files[0], files[least]]))


def methods(files: list[Path]) -> dict[str, list[Path]]:
    """Gather the files of each method, the documented setting first."""
    gathered: dict[str, list[Path]] = {}
    for file in sorted(files, key=lambda file: int(file.stem.rpartition("-")[2])):
        gathered.setdefault(file.stem.rpartition("-")[0], []).append(file)
    return gathered


def on(common: Common, home: Path, keys: list[str]) -> str:
    """Run all programs on one problem; give its two tables."""
    problem = home / f"{common.name}.npz"
    if not problem.exists():
        common.write(problem)
    lines, others = list(ours(common)), []
    for key in keys:
        program = PROGRAMS[key]
        for method, files in methods(ran(key, home, problem, only_read="--only-read" in sys.argv)).items():
            for i, file in enumerate(chosen(common, files, program.robust)):
                held = np.load(file)
                kind = ("documented" if i == 0 else "tuned") if len(files) > 1 else "only one"
                name = f"{program.name} {method}, {kind}: {json.loads(str(held['words']))['setting']}"
                score = common.scored(held["points"], common.rows, common.audit)
                lines.append([name, *cells(score), f"{held['ms']:.1f}", f"{held['prepare_s']:.1f}"])
                others.append(after(common, name.partition(":")[0], held["points"]))
    title = f"**{common.name.replace('_', ' ').capitalize()}**, {common.X.shape[1]} features, {len(common.rows)} rows."
    made_robust = "The same points, made robust by betarce (`explain(rows, base_points=points)`):"
    return "\n\n".join([title, text_table(HEAD, lines), made_robust, text_table(AFTER, others)])


def installs(home: Path, keys: list[str]) -> str:
    """Say which programs could be installed, by which command."""
    lines = []
    for key in keys:
        program, said = PROGRAMS[key], installed(key, home)
        commands = ", then ".join(f"`pip install {wanted}`" for wanted in program.pip)
        worked = f"yes{', ' + program.note if program.note else ''}"
        failed = f"no: `{said.get('command')}` ends with `{said.get('error')}`"
        lines.append([program.name, commands, worked if said["state"] == "installed" else failed])
    version = ".".join(map(str, sys.version_info[:2]))
    return text_table(("program", "command", f"installs today, on Python {version}?"), lines)


def main() -> None:
    """Run everything whose data and program are here."""
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    home, keys = Path(words[0]).absolute(), words[1:] or list(PROGRAMS)
    home.mkdir(parents=True, exist_ok=True)
    parts = [installs(home, keys)]
    for name in WANTED:
        try:
            common = prepare(name)
        except DataUnavailable as error:
            print(f"{name}: skipped. {error}")
            continue
        with one_thread():
            parts.append(on(common, home, keys))
        print(parts[-1], flush=True)
    if "--write" in sys.argv:
        replace_block(PAGE, "others", "\n\n".join(parts))


if __name__ == "__main__":
    main()
