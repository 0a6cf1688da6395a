"""How fast networks train and answer together, against one at a time.

Run: ``python bench/networks.py``. All figures are for one thread; each ratio comes from one run on one machine.
"""

import copy
import time
from collections.abc import Callable

import numpy as np
import torch
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import minmax_scale
from threadpoolctl import threadpool_limits
from torch import nn

from betarce.ensemble.affine import Peeled
from betarce.ensemble.networks import stack
from betarce.models.network import Network
from betarce.models.network_training import train_networks

N_MEMBERS, N_CANDIDATES, EPOCHS = 32, 100, 20
RUNS = 3
Data = tuple[np.ndarray, np.ndarray]


def breast_cancer() -> Data:
    """Give two of three folds of breast cancer, scaled to [0, 1]."""
    X, y = load_breast_cancer(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(X))[:380]
    return minmax_scale(X)[rows], y[rows]


def like_diabetes() -> Data:
    """Give 500 noisy rows of 8 columns."""
    random = np.random.default_rng(0)
    X = minmax_scale(random.normal(size=(500, 8)))
    noise = random.normal(0, 0.8, 500)
    return X, ((X - 0.5) @ random.normal(0, 3, 8) + noise > 0.5).astype(int)


def plain_torch(X: np.ndarray, y: np.ndarray, seed: int, *, epochs: int, patience: int) -> tuple[nn.Module, int]:
    """Train the paper's network as one usually would; give it and the number of epochs run."""
    torch.manual_seed(seed)
    inputs, targets = torch.from_numpy(X.astype(np.float32)), torch.from_numpy(y.astype(np.float32))[:, None]
    order = torch.randperm(len(inputs))
    cut = len(inputs) - round(0.2 * len(inputs))
    inputs, targets, kept_x, kept_y = (part[rows] for rows in (order[:cut], order[cut:]) for part in (inputs, targets))
    layers, width = [], inputs.shape[1]
    for _ in range(3):
        layers += [nn.Linear(width, 128), nn.ReLU(), nn.Dropout(0.4)]
        width = 128
    network, loss_of = nn.Sequential(*layers, nn.Linear(width, 1)), nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
    best, best_epoch, best_state = float("inf"), 0, {}
    for epoch in range(1, epochs + 1):
        network.train()
        for rows in torch.randperm(cut).split(128):
            optimizer.zero_grad()
            loss_of(network(inputs[rows]), targets[rows]).backward()
            optimizer.step()
        network.eval()
        with torch.no_grad():
            loss = loss_of(network(kept_x), kept_y).item()
        if loss < best:
            best, best_epoch, best_state = loss, epoch, copy.deepcopy(network.state_dict())
        elif epoch - best_epoch >= patience:
            break
    network.load_state_dict(best_state)
    return network.eval(), epoch


def fastest(*works: Callable[[], object]) -> list[float]:
    """Time several works in turn, so that a slow moment of the machine meets all of them; keep each one's best."""
    times = np.full((RUNS, len(works)), np.inf)
    for run in range(RUNS):
        for place, work in enumerate(works):
            start = time.perf_counter()
            work()
            times[run, place] = time.perf_counter() - start
    return times.min(axis=0).tolist()


def row(name: str, baseline: float, ours: float, goal: float | None) -> dict[str, object]:
    return {"name": name, "baseline_s": baseline, "ours_s": ours, "ratio": baseline / ours, "goal": goal}


def training(name: str, data: Data) -> list[dict[str, object]]:
    """Train 32 networks for a fixed number of epochs: together, one at a time, and each by a plain torch loop."""
    recipe = Network(max_epochs=EPOCHS, patience=EPOCHS)

    def members() -> list[Network]:
        return [clone(recipe).set_params(random_state=seed) for seed in range(N_MEMBERS)]

    plain, single, together = fastest(
        lambda: [plain_torch(*data, seed, epochs=EPOCHS, patience=EPOCHS) for seed in range(N_MEMBERS)],
        lambda: [network.fit(*data) for network in members()],
        lambda: train_networks(members(), *data, [None] * N_MEMBERS),
    )
    return [
        row(f"train {N_MEMBERS} on {name}, against plain torch", plain, together, 3.0),
        row(f"train {N_MEMBERS} on {name}, against ourselves one at a time", single, together, None),
    ]


def small_training() -> list[dict[str, object]]:
    """Train networks so small that Python, not arithmetic, takes the time."""
    X, y = like_diabetes()
    recipe = Network(neurons=16, batch_size=32, max_epochs=EPOCHS, patience=EPOCHS)
    members = [clone(recipe).set_params(random_state=seed) for seed in range(N_MEMBERS)]
    single, together = fastest(
        lambda: [clone(network).fit(X, y) for network in members],
        lambda: train_networks([clone(network) for network in members], X, y, [None] * N_MEMBERS),
    )
    return [row(f"train {N_MEMBERS} of 16 neurons, against ourselves one at a time", single, together, None)]


def answering(name: str, members: list[object], X: np.ndarray) -> dict[str, object]:
    """Ask 32 members about 100 candidates: one kernel against one `predict` per member and candidate."""
    points = X[:N_CANDIDATES]
    kernel = stack([Peeled(member) for member in members])
    assert kernel is not None
    baseline, ours = fastest(
        lambda: [member.predict(point[np.newaxis]) for point in points for member in members],
        lambda: (kernel.scores(points, slice(None)), kernel.doubt(points, slice(None))),
    )
    return row(f"answer: {name}, {N_MEMBERS} members x {N_CANDIDATES} candidates", baseline, ours, 30.0)


def run() -> list[dict[str, object]]:
    """Measure everything; one dict per figure."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1):
            X, y = breast_cancer()
            rows = training("breast cancer", (X, y)) + training("diabetes-like", like_diabetes()) + small_training()
            networks = [Network(max_epochs=EPOCHS, random_state=seed) for seed in range(N_MEMBERS)]
            rows.append(answering("Network", train_networks(networks, X, y, [None] * N_MEMBERS), X))
            perceptrons = [
                MLPClassifier((128, 128, 128), early_stopping=True, random_state=seed).fit(X, y)
                for seed in range(N_MEMBERS)
            ]
            rows.append(answering("MLPClassifier", perceptrons, X))
            return rows
    finally:
        torch.set_num_threads(threads)


if __name__ == "__main__":
    for line in run():
        goal = "" if line["goal"] is None else f"   (goal {line['goal']:.0f}x)"
        print(
            f"{line['name']:72s} {line['baseline_s']:8.3f} s -> {line['ours_s']:7.4f} s = {line['ratio']:6.1f}x{goal}"
        )
