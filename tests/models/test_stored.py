"""Models as arrays: every bit comes back, and nothing that is not a model becomes one."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import FunctionTransformer

from betarce.ensemble import Ensemble
from betarce.errors import CorruptFile, InvalidInput
from betarce.models.families import paper_model
from betarce.models.network import Network
from betarce.models.stored import Unstorable, pack, unpack
from betarce.storage.array_file import from_bytes, to_bytes
from mixed_models import LABELS, MODELS, TABLE, fitted, prepared, scores
from other_processes import printed_elsewhere

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 4))
Y = (X[:, 0] + X[:, 1] ** 2 + 0.3 * RNG.normal(size=120) > 0.5).astype(int)
PROBES = RNG.normal(size=(300, 4))


def paper(kind, labels=Y):
    if kind == "lightgbm":
        pytest.importorskip("lightgbm")
    model = {"plain logistic": LogisticRegression, "unpenalised": lambda: LogisticRegression(C=np.inf)}.get(kind)
    model = model() if model else paper_model(kind)
    return model.set_params(random_state=3).fit(X, labels)


def through_a_file(arrays):
    return from_bytes(to_bytes(arrays))


@pytest.mark.parametrize("kind", ["logistic", "lightgbm", "network", "plain logistic", "unpenalised"])
@pytest.mark.parametrize("labels", [Y, np.where(Y, "yes", "no")], ids=["numbers", "names"])
def test_every_bit_of_the_papers_models_comes_back(kind, labels):
    model = paper(kind, labels)
    [again] = unpack(through_a_file(pack([model])))
    assert type(again) is type(model)
    np.testing.assert_array_equal(again.predict_proba(PROBES), model.predict_proba(PROBES))
    np.testing.assert_array_equal(again.predict(PROBES), model.predict(PROBES))
    assert again.classes_.tolist() == model.classes_.tolist()
    assert repr(again.get_params()) == repr(model.get_params())


@pytest.mark.parametrize("kind", MODELS)
def test_every_bit_of_a_model_on_a_mixed_table_comes_back(kind):
    model = fitted(kind)
    content = to_bytes(pack([model]))
    [again] = unpack(from_bytes(content))
    np.testing.assert_array_equal(scores(again), scores(model))
    np.testing.assert_array_equal(again.predict(TABLE), model.predict(TABLE))
    assert to_bytes(pack([again])) == content, "a model that was loaded is stored as it was"


def test_a_loaded_model_can_be_trained_again():
    for kind in ("lightgbm pipeline", "hist gradient boosting", "voting"):
        model = fitted(kind)
        [again] = unpack(pack([model]))
        np.testing.assert_array_equal(scores(again.fit(TABLE, LABELS)), scores(model))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["logistic", "lightgbm", "network"])
def test_an_ensemble_reads_them_as_it_read_the_originals(kind):
    models = [paper(kind).set_params(random_state=seed).fit(X, Y) for seed in range(3)]
    ours, theirs = (Ensemble(each, [0, 1]) for each in (unpack(pack(models)), models))
    np.testing.assert_array_equal(ours.margins(PROBES, 1), theirs.margins(PROBES, 1))


def test_networks_of_several_sizes_go_together():
    models = [Network(hidden_layers=n, neurons=8 * n, max_epochs=2, random_state=n).fit(X, Y) for n in (1, 2, 3)]
    for model, again in zip(models, unpack(pack(models)), strict=True):
        assert [layer.shape for layer in again.weights_] == [layer.shape for layer in model.weights_]
        assert again.best_epoch_ == model.best_epoch_
        np.testing.assert_array_equal(again.validation_losses_, model.validation_losses_)


@pytest.mark.slow
def test_the_same_model_is_the_same_bytes_in_every_process():
    code = (
        "from hashlib import sha256; from mixed_models import fitted; from betarce.models.stored import pack;"
        "from betarce.storage.array_file import to_bytes;"
        "print(*[sha256(to_bytes(pack([fitted(kind)]))).hexdigest() for kind in ('random forest', 'voting')])"
    )
    assert len(printed_elsewhere(code)) == 1


def test_values_of_every_kind_come_back():
    from collections import OrderedDict, defaultdict
    from functools import partial

    from scipy import sparse

    class_weight = {0: np.float32(0.5), 1: float("inf")}
    odd = {
        "pairs": [(1, "a"), (None, b"\x00\xff"), ({"x"}, frozenset({2, 1}))],
        "dicts": [OrderedDict(a=1), defaultdict(list, b=[2]), class_weight],
        "arrays": [np.array([["a", None]], dtype=object), np.array(3), np.array(["é"]), np.float64("nan")],
        "types": [np.float32, int, np.dtype("int8"), slice(1, None, 2), np.log1p, partial(np.log1p, 3)],
        "random": [np.random.default_rng(3), np.random.RandomState(4)],
        "tables": [pd.Index(["a", "b"]), pd.NA, sparse.csr_matrix(np.eye(3))],
        "limits": [-0.0, float("-inf"), 2**70],
    }
    model = LogisticRegression()
    model.extra_ = odd
    [again] = unpack(through_a_file(pack([model])), ask=False)
    back = again.extra_
    assert back["pairs"] == odd["pairs"]
    assert back["dicts"] == odd["dicts"]
    assert [type(each) for each in back["dicts"]] == [OrderedDict, defaultdict, dict]
    assert type(back["dicts"][2][0]) is np.float32
    assert back["arrays"][0].tolist() == [["a", None]]
    assert back["arrays"][1].shape == ()
    assert back["types"][:5] == odd["types"][:5]
    assert back["types"][5].args == (3,)
    assert back["random"][0].random() == np.random.default_rng(3).random()
    assert back["random"][1].random() == np.random.RandomState(4).random()
    assert back["tables"][0].equals(odd["tables"][0])
    assert back["tables"][1] is pd.NA
    assert (back["tables"][2] != odd["tables"][2]).nnz == 0
    assert repr(back["limits"]) == repr(odd["limits"])


class Own(ClassifierMixin, BaseEstimator):
    """A classifier that no file of betarce knows."""

    def fit(self, table, labels):
        self.classes_ = np.unique(labels)
        return self

    def predict(self, table):
        return np.full(len(table), self.classes_[0])


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (
            lambda: Own().fit(X, Y),
            r"^the model is of the class [\w.]*test_stored\.Own, which betarce's own files cannot hold",
        ),
        (lambda: prepared(Own()).fit(TABLE, LABELS), r"^\.steps\[1\]\[1\] is of the class [\w.]*test_stored\.Own, "),
        (
            lambda: FunctionTransformer(np.linalg.norm),
            r"^\.func is the function numpy\.linalg\.norm, which betarce's own files cannot hold",
        ),
        (lambda: FunctionTransformer(lambda table: table), r"^\.func is the function [\w.]*test_stored\.<lambda>"),
        (lambda: LogisticRegression(class_weight=Own), r"^\.class_weight is the class [\w.]*test_stored\.Own, "),
        (lambda: LogisticRegression(C=np.datetime64("2024-01-01")), r"^\.C is an array of datetime64\[D\], "),
    ],
    ids=["a class", "a class inside", "a function", "a lambda", "a class as such", "a date"],
)
def test_what_cannot_be_stored_is_named_with_its_place(model, said):
    with pytest.raises(Unstorable, match=said) as caught:
        pack([model()])
    assert isinstance(caught.value, InvalidInput)


def test_a_model_that_holds_itself_is_refused():
    model = LogisticRegression()
    model.extra_ = [model]
    with pytest.raises(Unstorable, match=r"^\.extra_\[0\] holds itself"):
        pack([model])
    nested = []
    for _ in range(40):
        nested = [nested]
    model.extra_ = nested
    with pytest.raises(Unstorable, match="lies too deep in lists"):
        pack([model])


def changed(arrays, change):
    """Change what a file says about its models."""
    about = json.loads(arrays["about"].tobytes())
    change(about)
    return {**arrays, "about": np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)}


def text(content):
    return lambda arrays: {**arrays, "about": np.frombuffer(content, dtype=np.uint8)}


def named(path):
    return lambda arrays: changed(arrays, lambda about: about["objects"][0].update({"class": path}))


def state(**parts):
    return lambda arrays: changed(arrays, lambda about: about["objects"][0]["state"].update(parts))


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        lambda arrays: {},
        text(b"[{]"),
        text(b"1" * 5000),
        text(b"[" * 5000),
        text(b"\xff"),
        text(b'{"models": [{"object": 0}], "objects": 3}'),
        text(b'{"models": [{"object": 7}], "objects": []}'),
        text(b'{"models": [{"object": -1}], "objects": []}'),
        text(b'{"models": [{"unheard": 1}], "objects": []}'),
        text(b'{"models": [{"a": 1, "b": 2}], "objects": []}'),
        text(b'{"models": [{"function": "os:system"}], "objects": []}'),
        text(b'{"models": [{"function": "numpy:load"}], "objects": []}'),
        text(b'{"models": [{"type": "numpy:memmap"}], "objects": []}'),
        text(b'{"models": [{"dtype": "O8,f4"}], "objects": []}'),
        text(b'{"models": [{"partial": [3, [], {"dict": []}]}], "objects": []}'),
        lambda arrays: {name: part for name, part in arrays.items() if name != "1"},
        lambda arrays: {**arrays, "0": np.zeros(3), "1": np.zeros(3)},
        named("os:system"),
        named("subprocess:Popen"),
        named("sklearn.utils:check_array"),
        named("sklearn.linear_model:NoSuchModel"),
        named("sklearn.no_such_module:LogisticRegression"),
        named("betarce.storage.files:write_whole"),
        named(3),
        named("..os:system"),
        state(weights_=[[1.0]]),
        state(classes_={"array": 10**9}),
    ],
)
def test_what_does_not_hold_models_is_refused(change):
    with pytest.raises(CorruptFile, match="it does not hold models"):
        unpack(change(pack([paper("network")])))


def records(arrays, record):
    parts = {key: [field[i] for field in record["fields"]] for i, key in enumerate(("names", "formats", "offsets"))}
    dtype = np.dtype({**parts, "itemsize": record["bytes"]})
    return np.frombuffer(arrays[str(record["content"])].tobytes(), dtype=dtype)


def test_trees_that_would_lead_compiled_code_astray_are_refused():
    arrays = pack([RandomForestClassifier(n_estimators=2, random_state=0).fit(X, Y)])
    about = json.loads(arrays["about"].tobytes())
    trees = [each["state"]["tree_"]["tree"] for each in about["objects"] if "tree_" in each["state"]]
    record = trees[0][3]["array"]["record"]
    nodes = records(arrays, record)
    for name, value, said in (
        ("left_child", 10**6, "children are not in it"),
        ("right_child", 0, "children are not in it"),
        ("feature", 99, "a column that is not there"),
        ("feature", -5, "a column that is not there"),
    ):
        wrong = nodes.copy()
        wrong[name][0] = value
        with pytest.raises(CorruptFile, match=said):
            unpack({**arrays, str(record["content"]): np.frombuffer(wrong.tobytes(), dtype=np.uint8)})

    def fewer_columns(about):
        about["objects"][-1]["state"]["n_features_in_"] = 3

    with pytest.raises(CorruptFile, match="a tree asks for 4 columns of 3"):
        unpack(changed(arrays, fewer_columns))


def test_boosted_trees_that_would_lead_compiled_code_astray_are_refused():
    arrays = pack([fitted("hist gradient boosting")])
    about = json.loads(arrays["about"].tobytes())
    [first, *_] = [each["state"] for each in about["objects"] if each["class"].endswith(":TreePredictor")]
    record = first["nodes"]["array"]["record"]
    nodes = records(arrays, record)
    for name, value, said in (
        ("left", 10**6, "children are not in it"),
        ("feature_idx", 99, "a tree asks for 100 columns of 4"),
    ):
        wrong = nodes.copy()
        wrong[name][0] = value
        with pytest.raises(CorruptFile, match=said):
            unpack({**arrays, str(record["content"]): np.frombuffer(wrong.tobytes(), dtype=np.uint8)})


@pytest.mark.parametrize(("kind", "tag"), [("lightgbm", "lightgbm"), ("xgboost", "xgboost")])
def test_a_booster_that_its_library_cannot_read_is_refused(kind, tag, capfd):
    arrays = pack([fitted(kind)])
    [booster] = [
        part[tag]
        for each in json.loads(arrays["about"].tobytes())["objects"]
        for part in each["state"].values()
        if isinstance(part, dict) and tag in part
    ]
    place = str(booster["text"] if tag == "lightgbm" else booster)
    with pytest.raises(CorruptFile, match="cannot read its model"):
        unpack({**arrays, place: np.frombuffer(b"nonsense", dtype=np.uint8)})
