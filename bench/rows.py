"""What one row costs, alone and in a batch of 100, for each family, and the very first; writes docs/performance.md.

Seconds of the processor on one thread, with default settings and members: the median over single rows, the least of
three batches, and the least of three cold processes from the import to the first answer.
"""

import os
import subprocess
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
N_ALONE, N_BATCHES, N_PROCESSES = 30, 3, 3
FIRST_GOAL = 4.0
FIRST = """
import time
import betarce as brce
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
loans = brce.datasets.load_loan(n=800).numeric()
model = make_pipeline(StandardScaler(), LogisticRegression())
rce = brce.BetaRCE(model, random_state=0, verbose=-1).fit(loans.X[:600], loans.y[:600])
rejected = loans.X[600:][rce.model_.predict(loans.X[600:]) == 0][:1]
assert rce.explain(rejected)[0].status == "certified"
print(time.process_time())
"""


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


def first_answer() -> float:
    """Give the seconds of the processor from a cold start to a certified answer on the bundled loans."""
    command = [sys.executable, "-c", FIRST]
    return min(
        float(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout) for _ in range(N_PROCESSES)
    )


def table() -> str:
    """Measure all families, and a cold start."""
    head = "| family | members | one row, median ms | least ms | goal | a row of 100, ms | goal |"
    load = f"Load of the machine (two cores) before: {os.getloadavg()[0]:.1f}."
    first = (
        "From a cold start, imports and the training of all members included, to the first certified answer on the "
        f"bundled loans (logistic regression): {first_answer():.1f} s of the processor; the goal is {FIRST_GOAL:g}."
    )
    return "\n".join([head, "|---" * 7 + "|", *map(line, GOALS), "", first, "", load])


def main() -> None:
    with one_thread():
        text = table()
    print(text)
    if "--write" in sys.argv:
        before, rest = PAGE.read_text().split(MARKS[0])
        write_whole(PAGE, f"{before}{MARKS[0]}\n\n{text}\n\n{MARKS[1]}{rest.split(MARKS[1])[1]}")


if __name__ == "__main__":
    main()
