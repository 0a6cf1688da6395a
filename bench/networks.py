"""How fast networks train and answer together, against one at a time.

All figures are for one thread; each ratio comes from one run on one machine.
"""

import copy
from collections.abc import Iterator

import numpy as np
import torch
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import minmax_scale
from torch import nn

from betarce.models.network import Network, train_networks
from timing import N_CANDIDATES, N_MEMBERS, Record, answering, candidates, fastest, one_thread

EPOCHS = 20
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


def training(name: str, data: Data) -> Iterator[Record]:
    """Train 32 networks for a fixed number of epochs: together, one at a time, and each by a plain torch loop."""
    recipe = Network(max_epochs=EPOCHS, patience=EPOCHS)

    def members() -> list[Network]:
        return [clone(recipe).set_params(random_state=seed) for seed in range(N_MEMBERS)]

    plain, single, together = fastest(
        lambda: [plain_torch(*data, seed, epochs=EPOCHS, patience=EPOCHS) for seed in range(N_MEMBERS)],
        lambda: [network.fit(*data) for network in members()],
        lambda: train_networks(members(), *data, [None] * N_MEMBERS),
    )
    yield Record(f"train {N_MEMBERS}, {name}, vs plain torch one by one", together, plain, least=3)
    yield Record(f"train {N_MEMBERS}, {name}, vs ourselves one by one", together, single)


def small_training() -> Iterator[Record]:
    """Train networks so small that Python, not arithmetic, takes the time."""
    X, y = like_diabetes()
    recipe = Network(neurons=16, batch_size=32, max_epochs=EPOCHS, patience=EPOCHS)
    members = [clone(recipe).set_params(random_state=seed) for seed in range(N_MEMBERS)]
    single, together = fastest(
        lambda: [clone(network).fit(X, y) for network in members],
        lambda: train_networks([clone(network) for network in members], X, y, [None] * N_MEMBERS),
    )
    yield Record(f"train {N_MEMBERS} of 16 neurons, vs ourselves one by one", together, single)


def run() -> Iterator[Record]:
    """Measure training, then answering."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with one_thread():
            X, y = breast_cancer()
            yield from training("breast cancer", (X, y))
            yield from training("diabetes-like", like_diabetes())
            yield from small_training()
            points = candidates(X, N_CANDIDATES)
            networks = [Network(max_epochs=EPOCHS, random_state=seed) for seed in range(N_MEMBERS)]
            yield answering("Network", train_networks(networks, X, y, [None] * N_MEMBERS), points, least=30)
            recipe = MLPClassifier((128, 128, 128), early_stopping=True)
            perceptrons = [clone(recipe).set_params(random_state=seed).fit(X, y) for seed in range(N_MEMBERS)]
            yield answering("MLPClassifier", perceptrons, points, least=30)
    finally:
        torch.set_num_threads(threads)
