"""Models as arrays: every bit comes back, and nothing that is not a model becomes one."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from betarce.ensemble import Ensemble
from betarce.errors import CorruptFile, InvalidInput
from betarce.models.families import paper_model
from betarce.models.network import Network
from betarce.models.stored import pack, unpack
from betarce.storage.array_file import from_bytes, to_bytes

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 4))
Y = (X[:, 0] + X[:, 1] ** 2 + 0.3 * RNG.normal(size=120) > 0.5).astype(int)
PROBES = RNG.normal(size=(300, 4))


def fitted(kind, labels=Y):
    if kind == "lightgbm":
        pytest.importorskip("lightgbm")
    model = {"plain logistic": LogisticRegression, "unpenalised": lambda: LogisticRegression(C=np.inf)}.get(kind)
    model = model() if model else paper_model(kind)
    return model.set_params(random_state=3).fit(X, labels)


def through_a_file(arrays):
    return from_bytes(to_bytes(arrays))


@pytest.mark.parametrize("kind", ["logistic", "lightgbm", "network", "plain logistic", "unpenalised"])
@pytest.mark.parametrize("labels", [Y, np.where(Y, "yes", "no")], ids=["numbers", "names"])
def test_every_bit_comes_back(kind, labels):
    model = fitted(kind, labels)
    [again] = unpack(through_a_file(pack([model])))
    assert type(again) is type(model)
    np.testing.assert_array_equal(again.predict_proba(PROBES), model.predict_proba(PROBES))
    np.testing.assert_array_equal(again.predict(PROBES), model.predict(PROBES))
    assert again.classes_.tolist() == model.classes_.tolist()
    assert repr(again.get_params()) == repr(model.get_params())


@pytest.mark.parametrize("kind", ["logistic", "lightgbm", "network"])
def test_an_ensemble_reads_them_as_it_read_the_originals(kind):
    models = [fitted(kind).set_params(random_state=seed).fit(X, Y) for seed in range(3)]
    ours, theirs = (Ensemble(each, [0, 1]) for each in (unpack(pack(models)), models))
    np.testing.assert_array_equal(ours.margins(PROBES, 1), theirs.margins(PROBES, 1))


def test_networks_of_several_sizes_go_together():
    models = [Network(hidden_layers=n, neurons=8 * n, max_epochs=2, random_state=n).fit(X, Y) for n in (1, 2, 3)]
    for model, again in zip(models, unpack(pack(models)), strict=True):
        assert [layer.shape for layer in again.weights_] == [layer.shape for layer in model.weights_]
        assert again.best_epoch_ == model.best_epoch_
        np.testing.assert_array_equal(again.validation_losses_, model.validation_losses_)


def test_other_kinds_are_refused_by_name():
    with pytest.raises(InvalidInput, match=r"DecisionTreeClassifier cannot be kept as arrays; this can: Network"):
        pack([DecisionTreeClassifier().fit(X, Y)])


@pytest.mark.parametrize(
    "change",
    [
        lambda arrays: {},
        lambda arrays: {**arrays, "about": np.frombuffer(b"[{]", dtype=np.uint8)},
        lambda arrays: {**arrays, "about": np.frombuffer(b'[{"kind": "os.system"}]', dtype=np.uint8)},
        lambda arrays: {name: part for name, part in arrays.items() if name != "0/classes"},
        lambda arrays: {**arrays, "0/weights0": arrays["0/weights0"][:, :-1]},
        lambda arrays: {**arrays, "0/classes": np.arange(5)},
        lambda arrays: {**arrays, "0/biases0": np.array("x")},
        lambda arrays: {**arrays, "about": np.frombuffer(b"1" * 5000, dtype=np.uint8)},
        lambda arrays: {**arrays, "about": np.frombuffer(b"[" * 5000, dtype=np.uint8)},
        lambda arrays: {**arrays, "about": np.frombuffer(b"\xff", dtype=np.uint8)},
        lambda arrays: {**arrays, "about": np.frombuffer(b'[{"kind": "Network", "parameters": 3}]', dtype=np.uint8)},
    ],
    ids=[
        *("nothing", "no JSON", "another kind", "a part is missing", "layers that do not fit", "other classes", "text"),
        *("a long number", "deep nesting", "no text", "no parameters"),
    ],
)
def test_what_does_not_hold_models_is_refused(change):
    with pytest.raises(CorruptFile, match="it does not hold models"):
        unpack(change(pack([fitted("network")])))
