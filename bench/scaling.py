"""What clusters cost and what they save: the measured figures behind docs/scaling.md, printed one a line.

Work is given as time of the processor, which other programs on the machine disturb little; waiting as time of the
clock.
"""

import os
import pickle
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import explain as explaining
from betarce.engines.engine import engine
from betarce.paper.cell import run_cell
from betarce.paper.plan import Plan
from betarce.paper.plan_file import plan_of, read_plan
from betarce.paper.records import cell_text, path_of, read_cell
from betarce.paper.runner import run_plan
from betarce.storage.files import write_whole
from timing import one_thread

FAMILIES = ("logistic", "lightgbm", "network")
N_CALLS = 1000


def show(name: str, value: float, unit: str) -> None:
    print(f"{name:<58} {value:>12,.4g} {unit}", flush=True)


def cost(work: Callable[[], Any]) -> tuple[float, Any]:
    """Give the seconds of processor that a piece of work takes, and its result."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def rows() -> None:
    """Show the cost of members and of explanations, and what would travel to workers that only explain."""
    for family in FAMILIES:
        explaining.prepared(family)  # libraries are loaded and code is compiled here
        fitting, (rce, batch) = cost(lambda family=family: explaining.prepared(family))
        show(f"{family}: train 38 + 38 members", fitting, "s of processor")
        taken = min(cost(lambda rce=rce, batch=batch: rce.explain(batch))[0] for _ in range(3))
        show(f"{family}: explain a row, in a batch of {len(batch)}", 1000 * taken / len(batch), "ms of processor")
        show(f"{family}: a fitted BetaRCE, pickled", len(pickle.dumps(rce)) / 1e6, "MB")
        show(f"{family}: a result of {len(batch)} rows, pickled", len(pickle.dumps(rce.explain(batch))) / 1e3, "kB")


def without_dice() -> Plan:
    """Give the plan of the paper without the one method that not every machine has."""
    plan = read_plan("paper")
    return replace(
        plan,
        data=("breast_cancer",),
        families=FAMILIES,
        spaces=("bootstrap",),
        run_folds=(0,),
        bases=("growing-spheres",),
        methods=tuple(method for method in plan.methods if method.method != "dice"),
    )


def cells() -> None:
    """Show the cost of cells of the paper's plan, the size of their results, and what the driver does with them."""
    plan = without_dice()
    for cell in plan.cells:
        taken, content = cost(lambda cell=cell: run_cell(cell, plan))
        show(f"{cell.name}: compute", taken, "s of processor")
        taken, text = cost(lambda cell=cell, content=content: cell_text(cell, plan, content))
        show(f"{cell.name}: check and seal, by the worker", 1000 * taken, "ms of processor")
        show(f"{cell.name}: result, and file", len(text) / 1e3, "kB")
        with tempfile.TemporaryDirectory() as folder:
            path_of(cell, folder).parent.mkdir()
            taken, _ = cost(lambda cell=cell, text=text, out=folder: write_whole(path_of(cell, out), text))
            show(f"{cell.name}: write, by the driver", 1000 * taken, "ms of processor")
            taken, _ = cost(lambda cell=cell, out=folder: read_cell(cell, plan, out))
            show(f"{cell.name}: read and check", 1000 * taken, "ms of processor")
    show("a call on its way to a worker: the plan, pickled", len(pickle.dumps(plan)) / 1e3, "kB")


def nothing(number: int) -> int:
    return number


def pause(number: int) -> int:
    time.sleep(0.5)
    return number


def clusters() -> None:
    """Show what engines with two workers add: to a run, and to each of its cells."""
    for name in ("local", "dask", "ray"):
        start = time.perf_counter()
        with engine(name, n_jobs=2) as compute:
            list(compute(nothing, range(2)))
            show(f"{name}: start, until two workers have answered", time.perf_counter() - start, "s")
            start = time.perf_counter()
            list(compute(nothing, range(N_CALLS)))
            show(
                f"{name}: a call that does nothing, of {N_CALLS}", 1000 * (time.perf_counter() - start) / N_CALLS, "ms"
            )
            start = time.perf_counter()
            list(compute(pause, range(20)))
            show(f"{name}: 20 calls that wait 0.5 s, beyond 5 s", time.perf_counter() - start - 5, "s")
            start = time.perf_counter()
        show(f"{name}: stop", time.perf_counter() - start, "s")


def speed() -> None:
    """Show how long one plan takes with one worker and with two; for a machine that has nothing else to do."""
    methods: dict[str, dict[str, Any]] = {"growing-spheres": {}, "nice": {}, "betarce": {}, "betarce-paper": {}}
    keys = {"data": ["breast_cancer"], "families": ["logistic"], "spaces": ["bootstrap", "seed", "architecture"]}
    plan = plan_of({**keys, "deltas": [0.8, 0.9], "methods": methods}, what="speed")
    for name, n_jobs in (("local", 1), ("local", 2), ("dask", 2), ("ray", 2)):
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            run_plan(plan, folder, engine=name, n_jobs=n_jobs, verbose=-1)
            show(f"{name}, {n_jobs} workers: {len(plan.cells)} small cells", time.perf_counter() - start, "s")


PARTS = {"rows": rows, "cells": cells, "clusters": clusters, "speed": speed}


def main(names: Sequence[str]) -> None:
    """Show the parts that are named, or all."""
    show("load of the machine before", os.getloadavg()[0], "processes")
    for name in names or PARTS:
        with one_thread():
            PARTS[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
