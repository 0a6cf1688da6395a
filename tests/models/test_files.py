"""Models from files: what each source offers, who must trust what, and what is refused."""

import io
import json
import pickle
import sys
import zipfile

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import FunctionTransformer

from betarce.errors import CorruptFile, InvalidInput, UnusableModel
from betarce.models import Network
from betarce.models.files import load_model, save_model
from mixed_models import LABELS, TABLE, fitted, scores

NUMBERS = TABLE[["income", "age"]]


@pytest.mark.parametrize("name", ["hist-gradient-boosting", "logistic", "random-forest"])
def test_a_built_in_model_is_a_recipe(name):
    loaded = load_model(name, table=TABLE)
    assert (loaded.fitted, loaded.recipe) == (False, True)
    assert loaded.to_retrain().fit(TABLE, LABELS).predict(TABLE).shape == LABELS.shape
    with pytest.raises(UnusableModel, match="offers a recipe only"):
        loaded.to_score()


def test_a_built_in_model_needs_a_table_and_a_name_that_is_known():
    with pytest.raises(InvalidInput, match="`table` must be given to make the built-in model 'logistic'"):
        load_model("logistic")
    with pytest.raises(InvalidInput, match=r"There is no model 'logistics'\. Did you mean 'logistic'"):
        load_model("logistics", table=TABLE)
    with pytest.raises(InvalidInput, match=r"There is no model 'x9\.bin'. It must be one of hist-gradient-boosting, "):
        load_model("x9.bin")


# skops


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "trust"),
    [
        ("logistic", []),
        ("random forest", []),
        ("hist gradient boosting", []),
        ("voting", []),
        ("network", []),
        ("lightgbm", ["lightgbm.sklearn.LGBMClassifier"]),
        ("xgboost pipeline", ["xgboost.sklearn.XGBClassifier"]),
    ],
)
def test_a_skops_file_gives_the_same_bits(kind, trust, tmp_path):
    pytest.importorskip("skops")
    model = fitted(kind)
    save_model(model, tmp_path / "model.skops")
    loaded = load_model(tmp_path / "model.skops", trust=trust)
    assert (loaded.fitted, loaded.recipe) == (True, True)
    np.testing.assert_array_equal(scores(loaded.to_score()), scores(model))
    save_model(fitted(kind), tmp_path / "again.skops")
    assert (tmp_path / "again.skops").read_bytes() == (tmp_path / "model.skops").read_bytes()


def test_a_type_that_nobody_trusts_is_named_with_what_would_trust_it(tmp_path):
    pytest.importorskip("skops")
    save_model(fitted("lightgbm"), tmp_path / "model.skops")
    said = (
        r"model\.skops': The file holds the type 'lightgbm\.sklearn\.LGBMClassifier', which nobody has trusted\. .* "
        r"pass trust=\['lightgbm\.sklearn\.LGBMClassifier'\]\.$"
    )
    with pytest.raises(InvalidInput, match=said):
        load_model(tmp_path / "model.skops")
    with pytest.raises(InvalidInput, match="nobody has trusted"):
        load_model(tmp_path / "model.skops", trust=["lightgbm.basic.Booster"])


def test_a_file_cannot_trust_itself(tmp_path):
    skops = pytest.importorskip("skops.io")
    content = skops.dumps(FunctionTransformer(np.log1p))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(parts["schema.json"])
    text = json.dumps(schema).replace('"log1p"', '"system"').replace('"numpy"', '"os"')
    parts["schema.json"] = json.dumps({**json.loads(text), "trusted": ["os.system"]}).encode()
    with zipfile.ZipFile(tmp_path / "evil.skops", "w") as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    with pytest.raises(InvalidInput, match=r"the type 'os\.system', which nobody has trusted"):
        load_model(tmp_path / "evil.skops")


@pytest.mark.parametrize(
    "content", [b"", b"nonsense", b"PK\x05\x06" + b"\0" * 18], ids=["empty", "no zip", "empty zip"]
)
def test_a_damaged_skops_file_is_said(content, tmp_path):
    pytest.importorskip("skops")
    (tmp_path / "model.skops").write_bytes(content)
    with pytest.raises(CorruptFile, match=r"model\.skops' is not a usable model: it cannot be read as a \.skops file"):
        load_model(tmp_path / "model.skops")


def test_a_skops_file_with_trees_that_lead_astray_is_refused(tmp_path):
    skops = pytest.importorskip("skops.io")
    model = fitted("random forest")
    content = skops.dumps(model)
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as archive, zipfile.ZipFile(made, "w") as changed:
        for name in archive.namelist():
            part = archive.read(name)
            if name.endswith(".npy"):
                array = np.load(io.BytesIO(part), allow_pickle=False)
                if array.dtype.names and "left_child" in array.dtype.names and len(array) > 1:
                    array = array.copy()
                    array["left_child"][0] = 10**7
                    buffer = io.BytesIO()
                    np.save(buffer, array, allow_pickle=False)
                    part = buffer.getvalue()
            changed.writestr(name, part)
    (tmp_path / "model.skops").write_bytes(made.getvalue())
    with pytest.raises(CorruptFile, match="a tree has a node whose children are not in it"):
        load_model(tmp_path / "model.skops")


def test_a_skops_file_that_unfolds_to_too_much_is_refused(tmp_path, monkeypatch):
    pytest.importorskip("skops")
    save_model(LogisticRegression().fit(NUMBERS, LABELS), tmp_path / "model.skops")
    monkeypatch.setattr("betarce.models.files.skops_file.MOST_BYTES", 10)
    with pytest.raises(CorruptFile, match=r"it unfolds to [0-9,]+ bytes; at most 10 are read"):
        load_model(tmp_path / "model.skops")


# LightGBM and XGBoost


def test_a_lightgbm_file_offers_predictions_and_no_recipe(tmp_path):
    model = fitted("lightgbm")
    model.booster_.save_model(tmp_path / "model.txt")
    loaded = load_model(tmp_path / "model.txt")
    np.testing.assert_array_equal(loaded.to_score().predict(TABLE), model.predict(TABLE))
    np.testing.assert_array_equal(scores(loaded.model), scores(model))
    with pytest.raises(UnusableModel, match="offers predictions only: how the model was trained is not in the file"):
        loaded.to_retrain()


def test_a_lightgbm_file_takes_the_labels_that_it_is_told(tmp_path):
    fitted("lightgbm").booster_.save_model(tmp_path / "model.txt")
    loaded = load_model(tmp_path / "model.txt", classes=["no", "yes"])
    assert set(loaded.model.predict(TABLE)) == {"no", "yes"}
    with pytest.raises(InvalidInput, match="The model tells 2 classes apart; there are 3"):
        load_model(tmp_path / "model.txt", classes=["a", "b", "c"])


@pytest.mark.parametrize("name", ["model.json", "model.ubj"])
def test_an_xgboost_file_offers_predictions_and_no_recipe(name, tmp_path):
    model = fitted("xgboost")
    model.save_model(tmp_path / name)
    loaded = load_model(tmp_path / name)
    assert (loaded.fitted, loaded.recipe) == (True, False)
    np.testing.assert_array_equal(scores(loaded.model), scores(model))
    with pytest.raises(InvalidInput, match="knows the classes 0 to 1 only; these are 'no', 'yes'"):
        load_model(tmp_path / name, classes=["no", "yes"])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"tree\nversion=v4\nnonsense", "LightGBM cannot read it"),
        (b'{"learner": 3}', "XGBoost cannot read it"),
        (b"income,age\n1,2\n", "The file has no format of a model that is known here"),
    ],
)
def test_a_file_of_no_model_is_said(content, said, tmp_path, capfd):
    pytest.importorskip("lightgbm")
    pytest.importorskip("xgboost")
    (tmp_path / "model.bin").write_bytes(content)
    with pytest.raises((CorruptFile, InvalidInput), match=said):
        load_model(tmp_path / "model.bin")


# The network


def small_network(table=NUMBERS, labels=LABELS):
    return Network(hidden_layers=2, neurons=8, max_epochs=3, random_state=0).fit(table, labels)


@pytest.mark.parametrize("labels", [LABELS, np.where(LABELS, "yes", "no")], ids=["numbers", "names"])
@pytest.mark.parametrize("table", [NUMBERS, NUMBERS.to_numpy()], ids=["frame", "array"])
def test_a_network_comes_back_from_safetensors(labels, table, tmp_path):
    pytest.importorskip("safetensors")
    network = small_network(table, labels)
    save_model(network, tmp_path / "net.safetensors")
    loaded = load_model(tmp_path / "net.safetensors")
    assert (loaded.fitted, loaded.recipe) == (True, True)
    np.testing.assert_array_equal(scores(loaded.model, table), scores(network, table))
    np.testing.assert_array_equal(loaded.model.predict(table), network.predict(table))
    assert loaded.model.get_params() == network.get_params()


def test_other_safetensors_files_are_said(tmp_path):
    numpy_file = pytest.importorskip("safetensors.numpy")
    with pytest.raises(InvalidInput, match=r"holds a fitted betarce\.Network; got LogisticRegression"):
        save_model(LogisticRegression(), tmp_path / "net.safetensors")
    for content in (b"nonsense", numpy_file.save({"a": np.zeros(3)})):
        (tmp_path / "net.safetensors").write_bytes(content)
        with pytest.raises(CorruptFile, match="it cannot be read as a network of betarce"):
            load_model(tmp_path / "net.safetensors")


# betarce's own


def test_a_member_of_a_run_is_a_model_too(tmp_path):
    model = fitted("lightgbm pipeline")
    save_model(model, tmp_path / "model.arrays")
    loaded = load_model(tmp_path / "model.arrays")
    assert (loaded.fitted, loaded.recipe) == (True, True)
    np.testing.assert_array_equal(scores(loaded.model), scores(model))
    with pytest.raises(InvalidInput, match=r"`path` must end in \.skops, \.safetensors or \.arrays; got"):
        save_model(model, tmp_path / "model.pkl")


# Own code


@pytest.fixture
def bank(tmp_path, monkeypatch):
    """A package in the working directory."""
    (tmp_path / "ourbank").mkdir()
    (tmp_path / "ourbank" / "__init__.py").write_text("")
    (tmp_path / "ourbank" / "models.py").write_text(
        "from sklearn.linear_model import LogisticRegression\n"
        "score = LogisticRegression(C=3.0)\n"
        "def make(): return LogisticRegression(C=5.0)\n"
        "def broken(): raise RuntimeError('no licence')\n"
        "number = 3\n"
    )
    (tmp_path / "ourbank" / "needy.py").write_text("import a_library_that_is_not_there\n")
    (tmp_path / "ourbank" / "failing.py").write_text("1 / 0\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "ourbank"]:
        del sys.modules[name]


@pytest.mark.parametrize(("name", "strength"), [("score", 3.0), ("make", 5.0)])
def test_code_of_the_working_directory_is_imported(name, strength, bank):
    loaded = load_model(f"ourbank.models:{name}")
    assert strength == loaded.model.C
    assert (loaded.fitted, loaded.recipe) == (False, True)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("ourbank.models:scores", "The module 'ourbank.models' has no 'scores'. Did you mean 'score'"),
        ("ourbank.nothing:score", "There is no module 'ourbank.nothing', which .* names: it must be installed, or in"),
        ("ourbank.models:broken", "ourbank.models:broken could not make a model: RuntimeError: no licence"),
        ("ourbank.models:number", "must give a classifier with `fit` and `predict`; got int"),
        ("ourbank.needy:score", "it needs 'a_library_that_is_not_there', which is not installed"),
        ("ourbank.failing:score", "Importing ourbank.failing failed: ZeroDivisionError"),
    ],
)
def test_code_that_gives_no_model_is_said(source, said, bank):
    with pytest.raises((InvalidInput, UnusableModel), match=said):
        load_model(source)


# Pickle


def test_a_pickle_is_read_only_on_request(tmp_path):
    model = LogisticRegression().fit(NUMBERS, LABELS)
    joblib.dump(model, tmp_path / "model.joblib")
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(model))
    for name in ("model.joblib", "model.pkl"):
        with pytest.raises(InvalidInput, match=r"is a pickle, and reading it runs whatever code .* allow_pickle=True"):
            load_model(tmp_path / name)
        loaded = load_model(tmp_path / name, allow_pickle=True)
        assert loaded.to_score().predict(NUMBERS).tolist() == model.predict(NUMBERS).tolist()
    (tmp_path / "broken.pkl").write_bytes(b"nonsense")
    with pytest.raises(CorruptFile, match=r"broken\.pkl' cannot be read as a pickle"):
        load_model(tmp_path / "broken.pkl", allow_pickle=True)
    (tmp_path / "table.pkl").write_bytes(pickle.dumps(pd.Series([1])))
    with pytest.raises(UnusableModel, match=r"table\.pkl' must hold a classifier; got Series"):
        load_model(tmp_path / "table.pkl", allow_pickle=True)
