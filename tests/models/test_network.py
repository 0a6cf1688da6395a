"""The paper's network: a scikit-learn classifier that is a function of its seed, alone or in company."""

import pickle
import subprocess
import sys
from dataclasses import fields

import numpy as np
import pandas as pd
import pytest
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import minmax_scale
from sklearn.utils.estimator_checks import check_estimator
from threadpoolctl import threadpool_info, threadpool_limits

from betarce.errors import InvalidInput
from betarce.models import network_training
from betarce.models.network import Network, train_networks
from betarce.models.network_training import Learner, Settings, make_task
from betarce.seeding import generator

RANDOM = np.random.default_rng(0)
X = RANDOM.random((160, 5)).astype(np.float32)
TWO = (X[:, 0] + X[:, 1] > 1).astype(int)
THREE = np.array(["low", "mid", "top"])[np.digitize(X[:, 0] + X[:, 1], [0.8, 1.2])]


def bits(network):
    return b"".join(part.tobytes() for part in (*network.weights_, *network.biases_, network.validation_losses_))


def train(n, y=TWO, rows=None, **parameters):
    recipe = Network(**{"max_epochs": 12, **parameters})
    estimators = [clone(recipe).set_params(random_state=seed) for seed in range(n)]
    return train_networks(estimators, X, y, [None] * n if rows is None else rows)


def task_of(network, y):
    settings = Settings(**{field.name: getattr(network, field.name) for field in fields(Settings)})
    return make_task(settings, network.random_state, y)[0]


def cross_entropy(network, X, y):
    scores = network.decision_function(X)
    if scores.ndim == 1:
        scores = np.column_stack([np.zeros(len(X)), scores])
    return -log_softmax(scores, axis=1)[np.arange(len(X)), np.searchsorted(network.classes_, y)].mean()


@pytest.mark.slow
def test_it_passes_the_checks_of_scikit_learn():
    check_estimator(Network(hidden_layers=1, neurons=16, dropout=0.0, learning_rate=0.02, random_state=0), on_skip=None)


def test_it_learns_breast_cancer():
    inputs, labels = load_breast_cancer(return_X_y=True)
    a, b, y_a, y_b = train_test_split(minmax_scale(inputs), labels, random_state=0)
    assert Network(random_state=0).fit(a, y_a).score(b, y_b) > 0.94


def test_the_same_seed_gives_the_same_bits_and_another_seed_others():
    first, again, other = (Network(random_state=seed, max_epochs=5).fit(X, TWO) for seed in (3, 3, 4))
    assert bits(first) == bits(again) != bits(other)


@pytest.mark.slow
@pytest.mark.parametrize("y", [TWO, THREE], ids=["two classes", "three classes"])
@pytest.mark.parametrize("together", [1, 160_000, 10_000_000])
def test_a_network_is_the_same_to_the_bit_in_any_company(y, together, monkeypatch):
    monkeypatch.setattr(network_training, "PARAMETERS_TOGETHER", together)
    alone = [Network(random_state=seed, max_epochs=12).fit(X, y) for seed in range(3)]
    for n in (5, 32):
        assert [bits(one) for one in alone] == [bits(one) for one in train(n, y)[:3]]


def test_a_network_is_the_same_to_the_bit_when_others_stop_before_it():
    parameters = {"neurons": 16, "patience": 2, "learning_rate": 0.03, "max_epochs": 40, "dropout": 0.2}
    together = train(12, **parameters)
    assert len({len(one.validation_losses_) for one in together}) > 2
    for seed, one in enumerate(together):
        assert bits(one) == bits(Network(random_state=seed, **parameters).fit(X, TWO))


def test_the_number_of_blas_threads_changes_nothing_and_is_restored():
    before = threadpool_info()
    first = Network(random_state=0, max_epochs=3).fit(X, TWO)
    assert threadpool_info() == before
    with threadpool_limits(1):
        assert bits(Network(random_state=0, max_epochs=3).fit(X, TWO)) == bits(first)


def test_different_shapes_and_rows_train_in_one_call():
    samples = [None, RANDOM.integers(160, size=160), np.arange(40), None, np.arange(40)]
    shapes = [(1, 8), (2, 16), (2, 16), (3, 8), (2, 16)]
    estimators = [
        Network(hidden_layers=depth, neurons=width, batch_size=32, max_epochs=4, random_state=i)
        for i, (depth, width) in enumerate(shapes)
    ]
    alone = [
        clone(estimator).fit(X if rows is None else X[rows], TWO if rows is None else TWO[rows])
        for estimator, rows in zip(estimators, samples, strict=True)
    ]
    together = train_networks(estimators, X, TWO, samples)
    assert all(one is given for one, given in zip(together, estimators, strict=True))
    assert [bits(one) for one in together] == [bits(one) for one in alone]


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two classes", "three classes"])
def test_early_stopping_restores_the_best_weights(y):
    for network in train(4, y, neurons=32, learning_rate=0.02, max_epochs=60, patience=3):
        losses = network.validation_losses_
        assert losses[network.best_epoch_ - 1] == losses.min()
        assert len(losses) == min(network.best_epoch_ + 3, 60)
        task = task_of(network, y)
        again = cross_entropy(network, X[task.validate], y[task.validate])
        assert again == pytest.approx(losses.min(), rel=1e-5)


def test_validation_rows_are_a_fifth_and_never_trained_on():
    for seed in range(20):
        task = task_of(Network(random_state=seed), TWO)
        assert len(task.validate) == 32
        assert sorted([*task.train, *task.validate]) == list(range(160))


def test_the_training_part_holds_every_class():
    rare = np.array([0] * 30 + [1] * 2 + [2])
    for seed in range(20):
        task = task_of(Network(random_state=seed, validation=0.9), rare)
        assert set(rare[task.train]) == {0, 1, 2}


def test_without_validation_rows_all_epochs_are_run():
    network = Network(validation=0, max_epochs=9, patience=1, random_state=0).fit(X, TWO)
    assert network.best_epoch_ == len(network.validation_losses_) == 9
    assert np.isnan(network.validation_losses_).all()


def gradients(learner, task, X):
    """Compute the gradients of one step."""
    learner.backward(X[task.train][np.newaxis], learner.codebook[task.train_codes][np.newaxis])
    return learner.gradients[0].copy()


@pytest.mark.slow
@pytest.mark.parametrize("y", [TWO, THREE], ids=["two classes", "three classes"])
def test_a_step_agrees_with_torch(y):
    torch = pytest.importorskip("torch")
    task = task_of(Network(neurons=7, dropout=0, hidden_layers=2, random_state=0), y)
    learner = Learner([task], X)
    flat = torch.from_numpy(learner.parameters[0].copy()).requires_grad_()
    inputs, start = torch.from_numpy(X[task.train]), 0
    for n_in, n_out in zip(learner.sizes[:-1], learner.sizes[1:], strict=True):
        weights = flat[start : start + n_in * n_out].reshape(n_in, n_out)
        bias = flat[start + n_in * n_out : start + (n_in + 1) * n_out]
        inputs = (inputs if start == 0 else inputs.relu()) @ weights + bias
        start += (n_in + 1) * n_out
    targets = torch.from_numpy(task.train_codes)
    if inputs.shape[1] == 1:
        loss = torch.nn.functional.binary_cross_entropy_with_logits(inputs[:, 0], targets.float())
    else:
        loss = torch.nn.functional.cross_entropy(inputs, targets)
    optimizer = torch.optim.Adam([flat], lr=1e-3)
    loss.backward()
    found = gradients(learner, task, X)
    np.testing.assert_allclose(found, flat.grad.numpy(), atol=1e-6)
    for _ in range(70):
        optimizer.step()
        learner.gradients[:] = found
        learner.descend()
    np.testing.assert_allclose(learner.parameters[0], flat.detach().numpy(), atol=2e-6)


def test_dropout_silences_its_share_and_keeps_the_mean():
    task = task_of(Network(dropout=0.4, random_state=0), TWO)
    learner = Learner([task], X)
    learner.forward(X[task.train][np.newaxis], 0.4)
    kept = learner.kept.mean()
    assert kept == pytest.approx(0.6, abs=0.01)
    assert set(np.unique(learner.slopes)) == {0, np.float32(2**16 / (2**16 - round(0.4 * 2**16)))}


def test_labels_do_not_depend_on_the_rows_beside_them():
    network = Network(dropout=0, learning_rate=0.02, batch_size=32, random_state=0).fit(X, TWO)
    low, high = X[network.predict(X) == 0][:30].astype(float), X[network.predict(X) == 1][:30].astype(float)
    for _ in range(30):
        middle = (low + high) / 2
        up = network.predict(middle) == 1
        high[up], low[~up] = middle[up], middle[~up]
    points = np.vstack([low, high])
    one_by_one = [network.predict(point[np.newaxis])[0] for point in points]
    np.testing.assert_array_equal(network.predict(points), one_by_one)


def test_probabilities_and_labels_follow_the_scores():
    two, three = train(1)[0], train(1, THREE)[0]
    np.testing.assert_array_equal(two.predict(X), (two.decision_function(X) > 0).astype(int))
    np.testing.assert_allclose(two.predict_proba(X)[:, 1], 1 / (1 + np.exp(-two.decision_function(X))))
    assert three.decision_function(X).shape == three.predict_proba(X).shape == (160, 3)
    np.testing.assert_allclose(three.predict_proba(X).sum(axis=1), 1)
    np.testing.assert_array_equal(three.predict(X), three.classes_[three.predict_proba(X).argmax(axis=1)])


def test_three_classes_are_learned():
    network = Network(random_state=0, dropout=0.1, learning_rate=0.005).fit(X, THREE)
    assert network.score(X, THREE) > 0.85


@pytest.mark.parametrize("n", [2, 3, 10, 33])
def test_tiny_data_work(n):
    y = np.arange(n) % 2
    assert Network(random_state=0, max_epochs=3, batch_size=32).fit(X[:n], y).predict(X[:n]).shape == (n,)


def test_column_names_of_a_frame_are_kept_by_all():
    frame = pd.DataFrame(X, columns=list("abcde"))
    for network in train_networks([Network(max_epochs=1), Network(max_epochs=1)], frame, TWO, [None, None]):
        assert list(network.feature_names_in_) == list("abcde")
        with pytest.raises(ValueError, match="feature names"):
            network.predict(frame[list("edcba")])


def test_a_pickle_is_small_and_answers_the_same():
    network = train(1)[0]
    stored = pickle.dumps(network)
    assert len(stored) < 4 * sum(layer.size for layer in network.weights_) + 10_000
    np.testing.assert_array_equal(pickle.loads(stored).predict_proba(X), network.predict_proba(X))


@pytest.mark.slow
def test_neither_import_nor_training_needs_torch():
    program = (
        "import sys, numpy as np; from betarce.models.network import Network;"
        "X = np.random.default_rng(0).random((50, 2));"
        "Network(max_epochs=2).fit(X, X[:, 0] > 0.5).predict(X); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_progress_counts_every_network_once():
    counts = []
    estimators = [Network(neurons=8, max_epochs=20, patience=2, random_state=seed) for seed in range(11)]
    train_networks(estimators, X, TWO, [None] * 11, progress=counts.append)
    assert sum(counts) == 11
    assert min(counts) > 0


def test_a_numpy_generator_serves_as_random_state():
    first, again = (Network(max_epochs=2, random_state=generator(0, "x")).fit(X, TWO) for _ in range(2))
    assert bits(first) == bits(again)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"hidden_layers": 0}, "`hidden_layers` must be an int >= 1; got 0."),
        ({"neurons": 2.5}, "`neurons` must be an int >= 1; got 2.5."),
        ({"batch_size": "all"}, "`batch_size` must be an int >= 1; got 'all'."),
        ({"max_epochs": 0}, "`max_epochs` must be an int >= 1; got 0."),
        ({"patience": True}, "`patience` must be an int >= 1; got True."),
        ({"dropout": 1}, "`dropout` must be a number in [0, 1); got 1."),
        ({"validation": -0.1}, "`validation` must be a number in [0, 1); got -0.1."),
        ({"learning_rate": float("nan")}, "`learning_rate` must be a finite number > 0; got nan."),
        ({"random_state": "seven"}, "`random_state` must be None"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_bad_parameters_are_named(parameters, message):
    with pytest.raises(InvalidInput) as caught:
        Network(**parameters).fit(X, TWO)
    assert str(caught.value).startswith(message)


def test_one_class_only_is_refused_before_any_training():
    with pytest.raises(InvalidInput, match=r"`y` must hold at least 2 classes; got only one class, 1\. Check"):
        Network().fit(X, np.ones(160, int))
    with pytest.raises(InvalidInput, match="`y` must hold at least 2 classes"):
        train_networks([Network(), Network()], X, TWO, [None, np.flatnonzero(TWO == 0)])


def test_a_diverging_loss_is_reported():
    with pytest.raises(InvalidInput, match="The loss must be finite after at least one epoch; got"):
        Network(learning_rate=1e30, random_state=0).fit(X, TWO)


def test_bad_calls_of_train_networks_are_named():
    network = Network()
    assert train_networks([], X, TWO, []) == []
    with pytest.raises(InvalidInput, match=r"`rows` must have one entry per estimator \(1\); got 2\."):
        train_networks([network], X, TWO, [None, None])
    with pytest.raises(InvalidInput, match="`estimators` must be distinct objects"):
        train_networks([network, network], X, TWO, [None, None])
    with pytest.raises(InvalidInput, match="`rows` must be None or non-empty 1-D int arrays"):
        train_networks([network], X, TWO, [TWO == 1])
    with pytest.raises(InvalidInput, match=r"`rows` must lie in \[0, 160\); got 3 to 160\."):
        train_networks([network], X, TWO, [np.array([3, 160])])
