"""How long the import takes, and how much memory an evaluation."""

import statistics
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator, Sequence

import numpy as np
from sklearn.linear_model import LogisticRegression

import betarce as brce
from betarce.models.network import train_networks
from timing import N_MEMBERS, Record, one_thread

PROCESSES = 7
MIB = 2**20
N_FEATURES = 30


def importing(statement: str) -> float:
    """Give the median time of an import after numpy's, in fresh processes."""
    program = f"import time, numpy; start = time.perf_counter(); {statement}; print(time.perf_counter() - start)"
    command = [sys.executable, "-c", program]
    runs = [subprocess.run(command, check=True, capture_output=True, text=True).stdout for _ in range(PROCESSES)]
    return statistics.median(float(seconds) for seconds in runs)


def extra_memory(ensemble: brce.Ensemble, n: int) -> float:
    """Give the peak memory of `Ensemble.margins` on n points in MiB, without the points and the result."""
    points = np.random.default_rng(0).random((n, N_FEATURES))
    tracemalloc.start()
    try:
        result = ensemble.margins(points, 1)
        return (tracemalloc.get_traced_memory()[1] - result.nbytes) / MIB
    finally:
        tracemalloc.stop()


def bounded(name: str, members: Sequence[object], n: int) -> Record:
    """Compare the memory for a batch and for one four times as large: a ratio of 1 is what chunks should give."""
    ensemble = brce.Ensemble(members, [0, 1])
    small, large = extra_memory(ensemble, n), extra_memory(ensemble, 4 * n)
    title = f"memory beside result, {N_MEMBERS} {name}, {n // 1000}k vs {4 * n // 1000}k points"
    return Record(title, large, small, unit="MiB", least=0.8)


def run() -> Iterator[Record]:
    """Measure imports, then memory."""
    yield Record("import betarce, after numpy", importing("import betarce"), most=0.5)
    yield Record("import BetaRCE and all it needs, after numpy", importing("from betarce import BetaRCE"))
    random = np.random.default_rng(0)
    X = random.random((300, N_FEATURES))
    y = (X.sum(axis=1) + random.normal(size=300) > N_FEATURES / 2).astype(int)
    with one_thread():
        samples = [random.integers(0, len(X), len(X)) for _ in range(N_MEMBERS)]
        yield bounded("logistic", [LogisticRegression().fit(X[rows], y[rows]) for rows in samples], 200_000)
        networks = [brce.Network(max_epochs=3, random_state=seed) for seed in range(N_MEMBERS)]
        yield bounded("networks", train_networks(networks, X, y, samples), 20_000)
