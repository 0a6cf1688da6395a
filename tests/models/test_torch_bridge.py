"""Networks from torch and back: the same weights to the bit, the same labels but for rounding."""

import sys
import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.neural_network import MLPClassifier

import betarce as brce
from betarce.ensemble.stacked import StackedGroup
from betarce.errors import InvalidInput, MissingExtra, UnusableModel
from betarce.models.network import Network
from betarce.models.torch_bridge import network_from_torch, network_to_torch

torch = pytest.importorskip("torch")
nn = torch.nn

RANDOM = np.random.default_rng(0)
X = RANDOM.random((200, 4)).astype(np.float32)
TWO = np.where(X[:, 0] + X[:, 1] > 1, "yes", "no")
THREE = np.digitize(X[:, 0] + X[:, 1], [0.8, 1.2])


def module_of(*sizes, seed=0, dropout=0.0, end=()):
    """Build a network whose answers vary over the unit cube."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        layers = []
        for n_in, n_out in pairwise(sizes):
            layers += [nn.Linear(n_in, n_out), nn.ReLU()] + [nn.Dropout(dropout)] * (dropout > 0)
        cut = -2 if dropout else -1
        module = nn.Sequential(*layers[:cut], *end).eval()
        with torch.no_grad():
            last = [layer for layer in module if type(layer) is nn.Linear][-1]
            last.weight *= 10
            middle = module[: len(module) - len(end)](torch.from_numpy(X)).median(dim=0).values
            last.bias -= middle
    return module


def forward(module, points=X):
    with torch.no_grad():
        return module(torch.from_numpy(np.asarray(points, np.float32))).numpy()


def logits_agree(network, module):
    scores = network.decision_function(X)
    np.testing.assert_allclose(scores.reshape(len(X), -1), forward(module), atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("y", [TWO, THREE], ids=["two classes", "three classes"])
def test_a_round_trip_keeps_every_bit(y):
    network = Network(neurons=16, max_epochs=5, random_state=0).fit(X, y)
    module = network_to_torch(network)
    again = network_from_torch(module, classes=network.classes_)
    for name in ("weights_", "biases_"):
        for before, after in zip(getattr(network, name), getattr(again, name), strict=True):
            assert before.dtype == after.dtype == np.float32
            assert before.tobytes() == after.tobytes()
    assert again.rounding_ == network.rounding_
    assert again.get_params() == {**Network().get_params(), "neurons": 16}
    np.testing.assert_array_equal(again.decision_function(X), network.decision_function(X))
    logits_agree(network, module)
    for before, after in zip(module.parameters(), network_to_torch(again).parameters(), strict=True):
        assert torch.equal(before, after)


def test_all_fitted_names_are_there():
    network = network_from_torch(module_of(4, 8, 1), classes=[0, 1])
    trained = Network(neurons=8, max_epochs=1).fit(X, TWO)
    assert {name for name in vars(trained) if name.endswith("_")} == {
        name for name in vars(network) if name.endswith("_")
    }
    assert network.n_features_in_ == 4
    assert network.classes_.tolist() == [0, 1]


def towards_the_boundary(network):
    """Give points on both sides of where the label changes, from far to neighbouring."""
    is_high = network.predict(X) == network.classes_[1]
    n = min(is_high.sum(), (~is_high).sum())
    low, high, points = X[~is_high][:n], X[is_high][:n], [X]
    for _ in range(25):
        middle = (low + high) / 2
        up = network.predict(middle) == network.classes_[1]
        high, low = np.where(up[:, None], middle, high), np.where(up[:, None], low, middle)
        points += [low, high]
    return np.vstack(points)


@pytest.mark.parametrize("end", [(), (nn.Sigmoid(),)], ids=["logits", "sigmoid"])
def test_labels_of_one_output_agree_with_torch_but_for_rounding(end):
    module = module_of(4, 32, 32, 1, end=end)
    network = network_from_torch(module, classes=["no", "yes"])
    points = towards_the_boundary(network)
    logits = forward(module[:5], points)[:, 0]
    slope, offset = network.rounding_
    sure = np.abs(logits) > 2 * (slope * np.linalg.norm(points, axis=1) + offset)
    assert 0.2 < sure.mean() < 1
    np.testing.assert_array_equal(network.predict(points)[sure], np.where(logits > 0, "yes", "no")[sure])
    if end:
        np.testing.assert_allclose(network.predict_proba(X)[:, 1], forward(module)[:, 0], atol=1e-5)


@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize("end", [(), (nn.Softmax(dim=1),)], ids=["logits", "softmax"])
def test_labels_of_several_outputs_agree_with_torch(n, end):
    module = module_of(4, 32, 32, n, end=end)
    network = network_from_torch(module, classes=np.arange(n))
    logits = forward(module[:5])
    top = np.sort(logits, axis=1)
    sure = top[:, -1] - top[:, -2] > 1e-4
    labels = logits.argmax(axis=1)
    assert len(set(labels)) > 1
    assert sure.mean() > 0.9
    np.testing.assert_array_equal(network.predict(X)[sure], labels[sure])
    probabilities = torch.softmax(torch.from_numpy(logits), dim=1).numpy()
    np.testing.assert_allclose(network.predict_proba(X), probabilities, atol=1e-5)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_classes_may_come_in_any_order(n):
    module = module_of(4, 16, n)
    names = np.array(["c", "a", "b"][: max(n, 2)])
    mixed, plain = (network_from_torch(module, classes=classes) for classes in (names, range(len(names))))
    assert mixed.classes_.tolist() == sorted(names)
    np.testing.assert_array_equal(mixed.predict(X), names[plain.predict(X)])
    np.testing.assert_allclose(mixed.predict_proba(X), plain.predict_proba(X)[:, np.argsort(names)], atol=1e-6)


def test_nested_reused_biasless_and_named_layers_are_read():
    relu = nn.ReLU()
    module = nn.Sequential(
        nn.Sequential(nn.Dropout(0.1), nn.Linear(4, 8, bias=False), relu),
        nn.Sequential(nn.Sequential(nn.Linear(8, 6), nn.Dropout(0.2)), relu),
        nn.Linear(6, 1),
    ).eval()
    network = network_from_torch(module, classes=[0, 1])
    logits_agree(network, module)
    assert (network.hidden_layers, network.neurons, network.dropout) == (2, (8, 6), (0.1, 0.0, 0.2))
    back = network_to_torch(network)
    assert [layer.p for layer in back if type(layer) is nn.Dropout] == [0.1, 0.2]
    logits_agree(network, back)


def test_a_subclass_of_sequential_is_read_unless_it_computes_in_its_own_way():
    class Named(nn.Sequential):
        pass

    class Doubled(nn.Sequential):
        def forward(self, inputs):
            return 2 * super().forward(inputs)

    layers = list(module_of(4, 8, 1))
    logits_agree(network_from_torch(Named(*layers), classes=[0, 1]), Named(*layers))
    with pytest.raises(UnusableModel, match=r"`module` must be a torch.nn.Sequential; got Doubled\. It may hold"):
        network_from_torch(Doubled(*layers), classes=[0, 1])


def test_a_linear_module_is_read():
    module = module_of(4, 1)
    network = network_from_torch(module, classes=[0, 1])
    logits_agree(network, module)
    logits_agree(network, network_to_torch(network))


def test_the_parameters_say_how_the_module_is_built():
    network = network_from_torch(module_of(4, 32, 32, 1, dropout=0.3), classes=[0, 1])
    assert (network.hidden_layers, network.neurons, network.dropout) == (2, 32, 0.3)
    again = clone(network).set_params(max_epochs=1).fit(X, TWO)
    assert [weight.shape for weight in again.weights_] == [weight.shape for weight in network.weights_]


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((4, 8, 6, 1), r"`neurons` must be an int >= 1; got \(8, 6\)\."),
        ((4, 1), "`hidden_layers` must be an int >= 1; got 0."),
    ],
)
def test_what_network_cannot_say_is_not_retrained_in_silence(sizes, message):
    network = network_from_torch(module_of(*sizes), classes=[0, 1])
    with pytest.raises(InvalidInput, match=message):
        clone(network).fit(X, TWO)


def test_the_module_is_neither_changed_nor_kept():
    module = module_of(4, 8, 1).train()
    before = [parameter.clone() for parameter in module.parameters()]
    network = network_from_torch(module, classes=[0, 1])
    scores = network.decision_function(X)
    assert module.training
    assert all(map(torch.equal, module.parameters(), before))
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.zero_()
    np.testing.assert_array_equal(network.decision_function(X), scores)


def test_a_built_module_is_independent_trainable_and_leaves_the_random_state_alone():
    network = network_from_torch(module_of(4, 8, 1), classes=[0, 1])
    weights = network.weights_[0].copy()
    state = torch.get_rng_state()
    module = network_to_torch(network)
    assert torch.equal(torch.get_rng_state(), state)
    assert not module.training
    module(torch.from_numpy(X)).sum().backward()
    with torch.no_grad():
        module[0].weight.zero_()
    np.testing.assert_array_equal(network.weights_[0], weights)


@pytest.mark.parametrize("n_outputs", [1, 2, 3])
def test_an_ensemble_stacks_them(n_outputs):
    modules = [module_of(4, 24, 24, n_outputs, seed=seed) for seed in range(10)]
    classes = list(range(max(2, n_outputs)))
    networks = [network_from_torch(module, classes) for module in modules]
    ensemble = brce.Ensemble(networks, classes, probe=X[:20].astype(float))
    assert ensemble.has_slopes
    assert [type(group) for _, group in ensemble.groups] == [StackedGroup]
    points = X.astype(float)
    np.testing.assert_array_equal(
        ensemble.labels(points), np.column_stack([network.predict(points) for network in networks])
    )
    assert ensemble.slopes(points, 1, np.ones((len(X), 10))).shape == X.shape


def test_given_modules_can_be_explained():
    modules = [module_of(4, 16, 16, 1, seed=0) for _ in range(41)]
    for seed, module in enumerate(modules[1:]):
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for parameter in module.parameters():
                parameter += 0.01 * torch.randn(parameter.shape, generator=generator)
    model, *members = (network_from_torch(module, classes=[0, 1]) for module in modules)
    rce = brce.BetaRCE(model, space=brce.Given(members), delta=0.8, confidence=0.9, n_models=20, random_state=0)
    rce.fit(X.astype(float), model.predict(X))
    rejected = X[model.predict(X) == 0][:2].astype(float)
    result = rce.explain(rejected)
    assert [one.status for one in result] == ["certified", "certified"]
    assert (forward(modules[0], np.stack([one.robust for one in result])) > -1e-5).all()


def test_feature_names_let_it_answer_about_frames():
    frame = pd.DataFrame(X, columns=list("abcd"))
    network = network_from_torch(module_of(4, 8, 1), classes=[0, 1], feature_names=list("abcd"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(network.predict(frame), network_from_torch(module_of(4, 8, 1), [0, 1]).predict(X))
    with pytest.raises(InvalidInput, match=r"`feature_names` must be 4 strings, one an input; got \['a', 'b'\]\."):
        network_from_torch(module_of(4, 8, 1), classes=[0, 1], feature_names=["a", "b"])


LINEAR = nn.Linear(4, 4)


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        ([LINEAR, nn.Tanh(), LINEAR], r"hold nothing but .*; got Tanh\(\) as layer 1\."),
        (
            [LINEAR, nn.ReLU(), nn.Sequential(nn.BatchNorm1d(4)), LINEAR],
            r"hold nothing but .*; got BatchNorm1d\(4.* layer 2\.0\.",
        ),
        ([LINEAR, LINEAR], r"have a ReLU here; got Linear\(.*\) as layer 1\."),
        ([nn.ReLU(), LINEAR], r"have a Linear here; got ReLU\(\) as layer 0\."),
        ([LINEAR, nn.ReLU()], "have a Linear as its last layer with weights"),
        ([], "have a Linear as its last layer with weights"),
        ([nn.Dropout(0.5), nn.Sigmoid()], "have a Linear as its last layer with weights"),
        ([LINEAR, nn.Softmax(dim=1), LINEAR], r"have a ReLU here; got Softmax\(dim=1\) as layer 1\."),
        ([LINEAR, nn.Softmax(dim=0)], r"have a Softmax over 2 or more outputs \(dim=1\); got Softmax\(dim=0\)"),
        ([nn.Linear(4, 1), nn.Softmax(dim=1)], "have a Softmax over 2 or more outputs"),
        ([LINEAR, nn.Sigmoid()], r"one output before a Sigmoid; got Sigmoid\(\) as layer 1, after 4 outputs"),
        ([LINEAR, nn.ReLU(), nn.Linear(5, 1)], r"layers that fit; got Linear\(.*\) as layer 2, after 4 outputs"),
        (
            [nn.Linear(4, 4, dtype=torch.float64)],
            r"be in float32; got torch.float64 in .* Pass `module.float\(\)`",
        ),
    ],
)
def test_other_layers_are_refused_by_name(layers, message):
    with pytest.raises(UnusableModel, match="^`module` must .*" + message):
        network_from_torch(nn.Sequential(*layers), classes=range(4))


def test_a_subclass_of_a_layer_is_refused():
    class Odd(nn.Linear):
        pass

    with pytest.raises(UnusableModel, match=r"must hold nothing but .*; got Odd\("):
        network_from_torch(nn.Sequential(Odd(4, 1)), classes=[0, 1])


def test_a_layer_with_a_hook_is_refused():
    module = module_of(4, 8, 1)
    module[0].register_forward_hook(lambda layer, inputs, outputs: 2 * outputs)
    with pytest.raises(
        UnusableModel, match=r"`module` must have no forward hooks.* got Linear\(.* as layer 0 with one"
    ):
        network_from_torch(module, classes=[0, 1])


def test_weights_that_diverged_are_refused():
    module = module_of(4, 8, 1)
    with torch.no_grad():
        module[2].bias[0] = float("nan")
    with pytest.raises(UnusableModel, match="`module` must have finite weights; got NaN or infinity in Linear"):
        network_from_torch(module, classes=[0, 1])


@pytest.mark.parametrize("module", [LINEAR, "a module", MLPClassifier()], ids=["layer", "text", "scikit-learn"])
def test_only_a_sequential_is_read(module):
    name = type(module).__name__
    with pytest.raises(UnusableModel, match=rf"^`module` must be a torch.nn.Sequential; got {name}\. It may hold"):
        network_from_torch(module, classes=[0, 1])


@pytest.mark.parametrize("classes", [[0], [0, 1, 2], [1, 1], [[0, 1]], "yes"])
def test_classes_must_fit_the_outputs(classes):
    with pytest.raises(InvalidInput, match="`classes` must be 2 different labels for a module with 1 output; got "):
        network_from_torch(module_of(4, 8, 1), classes=classes)


def test_only_a_fitted_network_becomes_a_module():
    with pytest.raises(NotFittedError):
        network_to_torch(Network())
    with pytest.raises(UnusableModel, match=r"`network` must be a fitted betarce.Network; got MLPClassifier\."):
        network_to_torch(MLPClassifier())


def test_without_torch_the_message_names_the_extra(monkeypatch):
    module, network = module_of(4, 8, 1), network_from_torch(module_of(4, 8, 1), classes=[0, 1])
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtra, match=r'^`network_from_torch` needs `torch`.*pip install "betarce\[torch\]"'):
        network_from_torch(module, classes=[0, 1])
    with pytest.raises(MissingExtra, match=r'^`network_to_torch` needs `torch`.*pip install "betarce\[torch\]"'):
        network_to_torch(network)
    assert network.predict(X).shape == (len(X),)
