"""Ten thousand rows of a mixed table: seconds, memory, a second worker, and a hundred thousand from file to file.

``python bench/many_rows.py`` prints one line per figure, each from a process of its own, beside its goal; with
``--write`` the lines go into docs/performance.md. A pipeline with LightGBM of 100 trees on twelve numbers and eight
categories with missing values, default members. Memory is the most that a process held above what it held once the
members were there; workers are listed apart, since each brings the libraries once more. Two processes that share
nothing say how much of a second core the machine really gives to such work.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import lightgbm as lgb

import betarce as brce
import tables
from betarce.paper.tables.markdown import text_table
from betarce.runs import explain_file
from pages import replace_block

PAGE = Path(__file__).parents[1] / "docs" / "performance.md"
N_ROWS, N_FILE = 10_000, 100_000
MIB = 2**20
TICK = 0.05
TASKS = ("one", "two", "file")


def model(seed: int) -> Any:
    return lgb.LGBMClassifier(n_estimators=100, num_leaves=15, random_state=seed, n_jobs=1, verbose=-1)


def rows(n: int) -> Any:
    """Draw rows to explain, as a table."""
    space = tables.Mixed()
    return space.decode(space.draw(n, seed=5))


def fit(folder: Path) -> None:
    """Fit with the default members, and store the run."""
    space = tables.Mixed()
    points = space.draw(tables.N_ROWS, seed=0)
    rce = brce.BetaRCE(tables.with_preprocessing(model, 0), random_state=0, n_jobs=-1, verbose=-1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rce.fit(space.decode(points), tables.labels(points)).save(folder)


def resident(pid: int | str) -> int:
    """Give the bytes that a process holds for itself alone; what workers map together is no part of it."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("Private_")) * 1024


def family() -> list[int]:
    """Give this process and its workers."""
    found, queue = [], [os.getpid()]
    while queue:
        pid = queue.pop()
        found.append(pid)
        for task in Path(f"/proc/{pid}/task").glob("*/children"):
            queue += map(int, task.read_text().split())
    return found


@contextmanager
def most_memory() -> Iterator[dict[str, float]]:
    """Watch this process, and its workers apart: all that these hold for themselves."""
    start, seen, stop = resident(os.getpid()), {"MiB": 0.0, "workers": 0.0}, threading.Event()

    def watch() -> None:
        while not stop.wait(TICK):
            own, *others = map(resident, family())
            seen["MiB"] = max(seen["MiB"], (own - start) / MIB)
            seen["workers"] = max(seen["workers"], sum(others) / MIB)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        stop.set()
        thread.join()


def measured(task: str, folder: Path) -> dict[str, float]:
    """Do one task in this process; give seconds, memory and rows with an answer."""
    rce = brce.load(folder / "run")
    rce.set_params(verbose=-1, n_jobs=2 if task == "two" else 1)
    rce.explain(rows(20))  # compiled code is compiled here
    if task == "file":
        rows(N_FILE).to_csv(folder / "rows.csv", index=False)
    table = None if task == "file" else rows(N_ROWS)
    start = time.perf_counter()
    with most_memory() as seen:
        if task == "file":
            answers = explain_file(rce, folder / "rows.csv", folder / "answers.csv", target=1, n_jobs=2, verbose=-1)
            n, done = answers.n_rows, answers.statuses.get("certified", 0) + answers.statuses.get("already-there", 0)
        else:
            result = rce.explain(table)
            n, done = len(result), sum(item.status in ("certified", "already-there") for item in result)
    return {"rows": n, "answered": done, "seconds": time.perf_counter() - start, **seen}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--task", choices=TASKS)
    parser.add_argument("--folder", type=Path)
    asked = parser.parse_args()
    if asked.task:
        print(json.dumps(measured(asked.task, asked.folder)))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fit(folder / "run")
        found = {task: in_process(task, folder) for task in TASKS}
        apart = at_once("one", folder, times=2)
    text = report(found, apart)
    print(text)
    if asked.write:
        replace_block(PAGE, "many rows", text)


def in_process(task: str, folder: Path) -> dict[str, float]:
    """Do one task in a process of its own."""
    return at_once(task, folder, times=1)[0]


def at_once(task: str, folder: Path, *, times: int) -> list[dict[str, float]]:
    """Do one task in several processes that know nothing of each other."""
    command = [sys.executable, __file__, "--task", task, "--folder", str(folder)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) for _ in range(times)]
    printed = [process.communicate()[0] for process in running]
    if any(process.returncode for process in running):
        raise RuntimeError(f"{task}: a process failed")
    return [json.loads(text.splitlines()[-1]) for text in printed]


def report(found: dict[str, dict[str, float]], apart: list[dict[str, float]]) -> str:
    """Give one line per task, the speed-up by a second worker, and what the machine gives at most."""
    names = {"one": "in memory, one worker", "two": "in memory, two workers", "file": "file to file, two workers"}
    goals = {"one": "", "two": "45 s, 250 MiB", "file": "250 MiB"}
    lines = [
        (
            names[task],
            f"{line['rows']:,.0f}",
            f"{line['answered']:,.0f}",
            f"{line['seconds']:.1f}",
            f"{line['MiB']:.0f}",
            f"{line['workers']:.0f}",
            goals[task],
        )
        for task, line in found.items()
    ]
    head = (
        "how",
        "rows",
        "answered or already there",
        "seconds",
        "MiB above the members",
        "MiB of all workers",
        "goal",
    )
    speed_up = found["one"]["seconds"] / found["two"]["seconds"]
    most = len(apart) * found["one"]["seconds"] / max(line["seconds"] for line in apart)
    return (
        f"{text_table(head, lines)}\n\nA second worker makes it {speed_up:.2f} times as fast; the goal is 1.8. Two "
        f"processes at once that share nothing do {most:.2f} times the work of one: more the machine does not give."
    )


if __name__ == "__main__":
    main()
