"""Files of models that are damaged or forged: refused by an error of our own, before memory or the process is lost."""

import io
import json
import zipfile
from contextlib import suppress

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

from betarce.errors import CorruptFile, UnusableModel
from betarce.models import Network
from betarce.models.files import load_model, save_model
from betarce.models.files.read_apart import check_readable
from mixed_models import LABELS, TABLE
from mutants import byte_mutants

NUMBERS = TABLE[["income", "age"]]


def changed_skops(content, change):
    """Write the parts of a .skops file anew."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = change({name: archive.read(name) for name in archive.namelist()})
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return made.getvalue()


def said_array(shape, dtype="<f8"):
    """Write the start of an array of numpy that says more than there is."""
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + b"\0" * 16


@pytest.mark.parametrize(
    ("array", "said"),
    [
        (said_array(f"({10**12},)"), r"it unfolds to 8,0[0-9,]+ bytes; at most"),
        (said_array(f"({10**30},)"), "it unfolds to"),
        (said_array("(2,)", "<U400000000"), "it unfolds to"),
        (said_array("(-1,)"), "negative dimensions"),
        (said_array("(5,)"), "EOF: reading array data"),
        (said_array("(2,)", "|O"), "allow_pickle=False"),
        (said_array("[" * 60), "cannot be read as a .skops file"),
    ],
)
def test_an_array_in_a_skops_file_that_says_more_than_there_is_is_refused(array, said, tmp_path):
    pytest.importorskip("skops")
    save_model(LogisticRegression().fit(NUMBERS, LABELS), tmp_path / "model.skops")
    content = (tmp_path / "model.skops").read_bytes()
    (tmp_path / "model.skops").write_bytes(changed_skops(content, lambda parts: parts | {"0.npy": array}))
    with pytest.raises(CorruptFile, match=said):
        load_model(tmp_path / "model.skops")


def test_a_sparse_matrix_in_a_skops_file_that_unfolds_to_too_much_is_refused(tmp_path, monkeypatch):
    pytest.importorskip("skops")
    model = LogisticRegression().fit(NUMBERS, LABELS)
    model.coef_ = csr_matrix(np.zeros((1, 2)))
    save_model(model, tmp_path / "model.skops")
    content = (tmp_path / "model.skops").read_bytes()
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data.npy", b"\0" * 5_000_000)
    bomb = changed_skops(content, lambda parts: {k: inner.getvalue() if k[-1] == "z" else v for k, v in parts.items()})
    assert len(bomb) < 20_000
    (tmp_path / "model.skops").write_bytes(bomb)
    monkeypatch.setattr("betarce.models.files.skops_file.MOST_BYTES", 1_000_000)
    with pytest.raises(CorruptFile, match=r"it unfolds to 5,0[0-9,]+ bytes; at most 1,000,000 are read"):
        load_model(tmp_path / "model.skops", trust=["scipy.sparse._csr.csr_matrix"])


def test_a_skops_file_packed_in_a_way_that_nobody_knows_is_refused(tmp_path):
    pytest.importorskip("skops")
    save_model(LogisticRegression().fit(NUMBERS, LABELS), tmp_path / "model.skops")
    content = bytearray((tmp_path / "model.skops").read_bytes())
    start = content.find(b"PK\x01\x02")
    content[start + 10] = 99
    (tmp_path / "model.skops").write_bytes(content)
    with pytest.raises(CorruptFile, match="compression method"):
        load_model(tmp_path / "model.skops")


def test_a_model_that_lacks_a_parameter_is_refused(tmp_path):
    pytest.importorskip("skops")
    save_model(LogisticRegression().fit(NUMBERS, LABELS), tmp_path / "model.skops")
    content = (tmp_path / "model.skops").read_bytes()

    def without_solver(parts):
        return parts | {"schema.json": parts["schema.json"].replace(b'"solver"', b'"other"')}

    (tmp_path / "model.skops").write_bytes(changed_skops(content, without_solver))
    with pytest.raises(UnusableModel, match=r"This LogisticRegression lacks a part: .*solver"):
        load_model(tmp_path / "model.skops")


@pytest.mark.slow
@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_a_damaged_file_at_which_its_library_crashes_is_said(library, tmp_path, monkeypatch):
    # Read apart alone: what is damaged may crash one process and not the next, and this one has to go on.
    module = pytest.importorskip(library)
    kind = module.LGBMClassifier if library == "lightgbm" else module.XGBClassifier
    model = kind(n_estimators=3, **({"min_child_samples": 2, "verbose": -1} if library == "lightgbm" else {}))
    model.fit(NUMBERS, LABELS)
    path = tmp_path / ("model.txt" if library == "lightgbm" else "model.ubj")
    (model.booster_ if library == "lightgbm" else model).save_model(path)
    content = path.read_bytes()
    check_readable(content, library)
    for mutant in byte_mutants(content, 8, seed=1):
        with suppress(CorruptFile):
            check_readable(mutant, library)
    crashing = tmp_path / "python"
    crashing.write_text("#!/bin/sh\nkill -SEGV $$\n")
    crashing.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(crashing))
    with pytest.raises(CorruptFile, match="its own library crashes at it"):
        load_model(path)


def test_a_library_that_does_not_come_back_is_not_waited_for():
    pytest.importorskip("lightgbm")
    with pytest.raises(CorruptFile, match="does not come back from reading it"):
        check_readable(b"tree\n", "lightgbm", seconds=0.0)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"classes": [1, 0]}, "its classes are not sorted, or not all different"),
        ({"classes": [1, 1]}, "its classes are not sorted, or not all different"),
        ({"columns": ["age"]}, "it names 1 columns of 2"),
        ({"columns": [1, 2]}, "it says of its network what the network is not"),
        ({"best_epoch": 1.5}, "it says of its network what the network is not"),
        ({"n_layers": 10**30}, "KeyError"),
        ({"dtype": "<U1000000000"}, "TypeError"),
        ({"more": 1}, "it says of its network what the network is not"),
        ({"parameters": {"neurons": [1]}}, "stands for no value"),
    ],
)
def test_a_network_that_no_training_gives_is_refused(change, said, tmp_path):
    safetensors = pytest.importorskip("safetensors")
    numpy_file = pytest.importorskip("safetensors.numpy")
    path = tmp_path / "net.safetensors"
    save_model(Network(hidden_layers=2, neurons=8, max_epochs=3, random_state=0).fit(NUMBERS, LABELS), path)
    with safetensors.safe_open(path, "numpy") as file:
        metadata = file.metadata()
    about = json.dumps(json.loads(metadata["about"]) | change)
    path.write_bytes(numpy_file.save(numpy_file.load(path.read_bytes()), {**metadata, "about": about}))
    with pytest.raises(CorruptFile, match=said):
        load_model(path)


@pytest.mark.parametrize("length", [0, 7, 2**31, 2**63, 2**64 - 1])
def test_a_safetensors_file_with_an_absurd_length_of_its_header_is_refused(length, tmp_path):
    pytest.importorskip("safetensors")
    path = tmp_path / "net.safetensors"
    save_model(Network(hidden_layers=2, neurons=8, max_epochs=3, random_state=0).fit(NUMBERS, LABELS), path)
    path.write_bytes(length.to_bytes(8, "little") + path.read_bytes()[8:])
    with pytest.raises(CorruptFile, match="it cannot be read as a network of betarce"):
        load_model(path)
