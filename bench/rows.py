"""What one row costs, alone and in a batch of 100, for each family; writes the table of docs/performance.md.

Seconds of the processor on one thread, with default settings and members: the median over single rows, and the least of
three batches.
"""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import explain as explaining
from betarce.storage.files import write_whole
from timing import one_thread

PAGE = Path(__file__).parents[1] / "docs" / "performance.md"
MARKS = "<!-- measured by bench/rows.py -->", "<!-- end of what was measured -->"
GOALS = {"logistic": (5.0, 1.5), "lightgbm": (12.0, 6.0), "network": (20.0, 10.0)}
N_ALONE, N_BATCHES = 30, 3


def cost(work: Callable[[], object]) -> float:
    """Give the milliseconds of the processor that a piece of work takes."""
    start = time.process_time()
    work()
    return 1000 * (time.process_time() - start)


def line(family: str) -> str:
    """Measure one family; give its line of the table."""
    rce, rows = explaining.prepared(family)
    alone = [cost(lambda i=i: rce.explain(rows[i : i + 1])) for i in range(N_ALONE)]
    batch = min(cost(lambda: rce.explain(rows)) for _ in range(N_BATCHES)) / len(rows)
    members = f"{len(rce.members_.search)} + {len(rce.members_.voters)}"
    parts = [members, f"{np.median(alone):.1f}", f"{min(alone):.1f}", f"{GOALS[family][0]:g}"]
    return " | ".join([f"| {family}", *parts, f"{batch:.2f}", f"{GOALS[family][1]:g} |"])


def table() -> str:
    """Measure all families."""
    head = "| family | members | one row, median ms | least ms | goal | a row of 100, ms | goal |"
    load = f"Load of the machine, two cores that others used too, before: {os.getloadavg()[0]:.1f}."
    return "\n".join([head, "|---" * 7 + "|", *map(line, GOALS), "", load])


def main() -> None:
    with one_thread():
        text = table()
    print(text)
    if "--write" in sys.argv:
        before, rest = PAGE.read_text().split(MARKS[0])
        write_whole(PAGE, f"{before}{MARKS[0]}\n\n{text}\n\n{MARKS[1]}{rest.split(MARKS[1])[1]}")


if __name__ == "__main__":
    main()
