"""How the cost of one explained row grows with rows, members, features, the size of models, and candidates.

``python bench/growth.py`` measures every curve, prints its exponent, and with ``--write`` stores the points in
``docs/results/growth.csv``, draws them, and writes the tables of docs/performance.md. ``--draw`` only draws what is
stored, ``--roofline`` measures the kernels alone. Milliseconds are those of the processor, on one thread: the least of
a few runs.
"""

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import lightgbm as lgb
import numpy as np
from sklearn.linear_model import LogisticRegression

import betarce as brce
import growth_report
from betarce.models.network import Network, train_networks
from timing import one_thread

N_TRAIN, N_EXPLAINED = 1_000, 50
N_FEATURES, N_SEARCH, N_CERTIFYING = 20, 38, 103
RUNS = 3
Make = Callable[[], Any]


@dataclass(frozen=True)
class Curve:
    """One quantity that grows, and what is measured at each of its values.

    Attributes
    ----------
    what, family : str
    values : tuple of int
    cost : callable
        Gives milliseconds for a value.
    """

    what: str
    family: str
    values: tuple[int, ...]
    cost: Callable[[int], float]


def data(n_rows: int, n_features: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Draw rows of [0, 1] whose label a third of the columns decide, with noise."""
    random = np.random.default_rng(seed)
    X = random.random((n_rows, n_features))
    weights = np.where(np.arange(n_features) % 3 == 0, np.cos(np.arange(n_features)), 0.0)
    score = (X - 0.5) @ weights + 0.5 * np.sin(6 * X[:, 0]) + random.normal(0, 0.2, n_rows)
    return X, (score > 0).astype(int)


def logistic() -> Any:
    return LogisticRegression()


def trees(n_estimators: int = 30, num_leaves: int = 15, max_depth: int = -1) -> Any:
    return lgb.LGBMClassifier(
        n_estimators=n_estimators, num_leaves=num_leaves, max_depth=max_depth, n_jobs=1, verbose=-1
    )


def network(neurons: int = 128) -> Any:
    return Network(neurons=neurons, max_epochs=20)


MAKES: dict[str, Make] = {"logistic": logistic, "lightgbm": trees, "network": network}


def least(work: Callable[[], object], runs: int = RUNS) -> float:
    """Give the least milliseconds of the processor of a few runs."""
    best = float("inf")
    for _ in range(runs):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return 1000 * best


def fitted(model: Any, *, d: int = N_FEATURES, n_models: tuple[int, int] = (N_SEARCH, N_CERTIFYING)) -> brce.BetaRCE:
    """Fit an explainer on drawn rows, and explain a few rows once, so that compiled code is compiled."""
    X, y = data(N_TRAIN, d)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", brce.errors.BetarceWarning)
        rce = brce.BetaRCE(model, n_models=n_models, random_state=0, verbose=-1, n_jobs=1).fit(X, y)
    rce.explain(data(3, d, seed=1)[0])
    return rce


def per_row(rce: brce.BetaRCE, n_rows: int = N_EXPLAINED) -> float:
    """Give milliseconds per row in a batch."""
    rows = data(n_rows, len(rce.features_), seed=2)[0]
    return least(lambda: rce.explain(rows)) / n_rows


def by_rows(make: Make) -> Callable[[int], float]:
    """Milliseconds of a whole call, by its number of rows."""
    rce = fitted(make(), d=8)

    def cost(n: int) -> float:
        rows = data(n, 8, seed=2)[0]
        return least(lambda: rce.explain(rows), runs=1 if n > 1_000 else RUNS)

    return cost


def by_candidates(make: Make) -> Callable[[int], float]:
    """Milliseconds for the votes of all certifying members on so many points."""
    voters = fitted(make()).members_.voters

    def cost(n: int) -> float:
        points = data(n, N_FEATURES, seed=3)[0]
        return least(lambda: voters.votes(points, 1))

    return cost


def curves() -> Iterator[Curve]:
    """List what is measured, one curve at a time; a curve's members are trained when it is reached."""
    for family, make in MAKES.items():
        most = (1, 10, 100, 1_000, 10_000, 100_000) if family == "logistic" else (1, 10, 100, 1_000, 10_000)
        yield Curve("rows", family, most if family != "network" else most[:4], by_rows(make))
        yield Curve("candidates", family, (100, 1_000, 10_000, 100_000), by_candidates(make))
        for role, sizes in (
            ("certifying members", lambda k: (N_SEARCH, k)),
            ("search members", lambda k: (k, N_CERTIFYING)),
        ):
            yield Curve(
                role,
                family,
                (46, 103, 298, 1_024) if role[0] == "c" else (16, 64, 256, 1_024),
                lambda k, make=make, sizes=sizes: per_row(fitted(make(), n_models=sizes(k))),
            )
        yield Curve("features", family, (5, 20, 50, 150, 500), lambda d, make=make: per_row(fitted(make(), d=d)))
    yield Curve("trees", "lightgbm", (10, 30, 100, 300), lambda k: per_row(fitted(trees(n_estimators=k))))
    yield Curve("depth", "lightgbm", (2, 4, 6, 8), lambda k: per_row(fitted(trees(num_leaves=2**k, max_depth=k))))
    yield Curve("width", "network", (16, 64, 128, 256, 512), lambda k: per_row(fitted(network(neurons=k))))


def peak(dtype: Any) -> float:
    """Give the machine's GFLOPS in a large matrix product, on one thread."""
    a = np.ones((1_024, 1_024), dtype=dtype)
    return 2 * 1_024**3 / least(lambda: a @ a, runs=10) / 1e6


def comparisons() -> float:
    """Give the billions of 16-bit numbers per second that the machine compares in its cache, on one thread."""
    ranks, cut, below = np.arange(2**14, dtype=np.uint16), np.uint16(99), np.empty(2**14, dtype=bool)
    return 1_000 * len(ranks) / least(lambda: [np.less(ranks, cut, out=below) for _ in range(1_000)], runs=10) / 1e6


def splits(model: Any) -> int:
    """Count the splits of all trees of a model."""
    return sum(tree["num_leaves"] - 1 for tree in model.booster_.dump_model()["tree_info"])


def roofline() -> list[growth_report.Kernel]:
    """Hold each kernel against what the machine can do at most: products of matrices, or comparisons."""
    n, single, double, compared = 4_096, peak(np.float32), peak(np.float64), comparisons()
    X, y = data(N_TRAIN, N_FEATURES)
    points = data(n, N_FEATURES, seed=3)[0]
    linear = [logistic().fit(X, y) for _ in range(N_CERTIFYING)]
    networks = [network().set_params(random_state=i) for i in range(32)]
    train_networks(networks, X, y, [None] * len(networks))
    forest = [trees().fit(X, y) for _ in range(N_CERTIFYING)]
    work = {
        "logistic": (linear, 2 * N_FEATURES, "GFLOPS, double", double),
        "network": (networks, 2 * (N_FEATURES * 128 + 2 * 128 * 128 + 128), "GFLOPS, single", single),
        # Every split is one comparison of 16-bit ranks with each point, and a few operations on masks of leaves.
        "lightgbm": (forest, sum(map(splits, forest)) / len(forest), "billion comparisons/s", compared),
    }
    kernels = []
    for name, (members, amount, unit, limit) in work.items():
        ensemble = brce.Ensemble(members, [0, 1])
        ensemble.margins(points, 1)
        reached = n * len(members) * amount / least(lambda ensemble=ensemble: ensemble.margins(points, 1), 5) / 1e6
        kernels.append(growth_report.Kernel(name, unit, reached, limit))
    return kernels


def main() -> None:
    """Measure; print; and write if asked to."""
    if "--draw" in sys.argv:
        growth_report.draw(growth_report.read())
        return
    with one_thread():
        if "--roofline" not in sys.argv:
            points = measured()
            print(growth_report.table(points))
            if "--write" in sys.argv:
                growth_report.write_growth(points)
        kernels = roofline()
    print(growth_report.roofline_table(kernels))
    if "--write" in sys.argv:
        growth_report.write_roofline(kernels)


def measured() -> list[growth_report.Point]:
    """Measure every curve, and print it as soon as it is there."""
    points: list[growth_report.Point] = []
    for curve in curves():
        costs = [(value, curve.cost(value)) for value in curve.values]
        shown = "  ".join(f"{value:,}: {ms:.3g} ms" for value, ms in costs)
        print(f"{curve.what}, {curve.family}: {shown}", flush=True)
        points += [growth_report.Point(curve.what, curve.family, value, ms) for value, ms in costs]
    return points


if __name__ == "__main__":
    main()
