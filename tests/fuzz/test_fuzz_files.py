"""Mutants of rules, plans, cells and arrays: refused by one of our own errors, or read as what they say."""

import hashlib
from contextlib import suppress
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

import betarce as brce
from betarce.errors import BetarceError
from betarce.features import FeatureSpace
from betarce.features.rules_file import rules_of
from betarce.features.stored import same_data
from betarce.models.network import Network
from betarce.models.stored import pack, unpack
from betarce.paper.plan_file import read_plan, shipped_plans
from betarce.paper.records import cell_text, fingerprint, path_of, read_cell
from betarce.storage.array_file import from_bytes, to_bytes
from betarce.storage.files import seal, unseal
from mixed_table import TABLE
from mutants import TIMES, byte_mutants, data_mutants
from small_plan import plan

RULES = """
[columns.age]
immutable = true

[columns.income]
kind = "continuous"
step = 100
increase_only = true
at_most = 5000
between = [0, 90000]

[columns.purpose]
transitions = {car = ["home", "education"], home = []}

[columns.credits]
no_more_than = "age"
one_of = [1, 2, 3]

[columns.visits]
may_be_missing = true

[columns.grade]
kind = "ordinal"
levels = ["low", "mid", "high"]
"""
YAML = """
columns:
  age: &frozen {immutable: true}
  owner: *frozen
  income:
    kind: continuous
    step: 100
    at_most: 5000
    between: [0, 90000]
  purpose:
    transitions: {car: [home, education], home: []}
  credits: {<<: *frozen, one_of: [1, 2, 3]}
  visits: {may_be_missing: true}
"""


@pytest.mark.slow
@pytest.mark.parametrize(("ending", "text", "n"), [("toml", RULES, 2000), ("yaml", YAML, 800)])
def test_a_file_of_rules_with_other_bytes_is_refused_or_says_rules(ending, text, n, tally, tmp_path):
    count = tally(f"rules, bytes of {ending.upper()}")
    path = tmp_path / f"rules.{ending}"
    path.write_text(text)
    original = brce.read_rules(path)
    for i, content in enumerate(byte_mutants(text.encode(), n, seed=5)):
        path.write_bytes(content)
        with count.refusals():
            found = brce.read_rules(path)
            count.read("equal" if found == original else "other rules")
            if i % 10 == 0:
                usable_or_refused(found)


def usable_or_refused(found):
    """Rules that could be read fit a table, or an error of our own says why they do not."""
    with suppress(BetarceError):
        features = FeatureSpace.infer(TABLE, found)
        points = features.encode(TABLE)
        features.project(points + features.scale / 3, features.box(points))


KEYS = ["immutable", "increase_only", "at_most", "between", "one_of", "transitions", "no_more_than", "derived", "kind"]
KEYS += ["levels", "step", "decimals", "column", "may_be_missing", "columns", "groups", "age", "purpose", "none"]
LEAVES = st.one_of(
    st.sampled_from([*KEYS, "continuous", "ordinal", "age / 2", True, False, None, 0, 1, 2.5, -1, 1e308, 10**18]),
    st.floats(),
    st.text(max_size=5),
)
DOCUMENTS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(KEYS), inner, max_size=3)),
    max_leaves=8,
)


@pytest.mark.slow
@settings(max_examples=300 * TIMES)
@given(document=st.dictionaries(st.sampled_from(["age", "income", "purpose"]), DOCUMENTS, max_size=2))
def test_whatever_a_file_says_of_columns_is_refused_or_means_rules(tally, document):
    count = tally("rules, hypothesis")
    with count.refusals():
        found = rules_of({"columns": document}, what="rules.toml")
        count.read("other rules")
        usable_or_refused(found)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["smoke", "members", "paper"])
def test_a_plan_with_other_bytes_is_refused_or_is_a_plan(name, tally, tmp_path):
    count = tally("plans, bytes")
    content = shipped_plans()[name].read_bytes()
    original = read_plan(name)
    path = tmp_path / "plan.toml"
    for mutant in byte_mutants(content, 300, seed=6):
        path.write_bytes(mutant)
        with count.refusals():
            found = read_plan(path)
            assert len(found.cells) > 0
            assert found.digest.startswith("blake2b:")
            count.read("equal" if found == original else "other plans")


PLAN = plan()
CELL = PLAN.cells[0]


def record(method, row, found=True):
    """Give a record as a cell writes it."""
    scores = ("robustness", "proximity_l1", "proximity_l2", "plausibility", "distance_to_base", "changed")
    vote = {"n_agree": 9, "n_models": 9, "lower_bound": 0.8, "upper_bound": 0.99, "members": "fresh"}
    return {
        "method": method,
        "base": "growing-spheres",
        "parameters": {"tau": 0.5},
        "delta": 0.6,
        "confidence": 0.8,
        "row": row,
        "found": found,
        "status": "certified" if found else "not-found",
        "reason": "" if found else "Nothing was found.",
        **dict.fromkeys(scores, 0.5 if found else None),
        "evaluations": 100,
        "ms": 1.5,
        **(vote if found else dict.fromkeys(vote)),
    }


CONTENT = {
    "data_digest": "blake2b:0",
    "n_train": 100,
    "accuracy": 0.9,
    "warnings": ["A member is odd."],
    "records": [record("betarce", 1), record("robx", 2, found=False)],
}


def test_the_cell_that_is_mutated_is_one_that_can_be_read(tmp_path):
    path = path_of(CELL, tmp_path)
    path.parent.mkdir(parents=True)
    path.write_text(cell_text(CELL, PLAN, CONTENT))
    assert read_cell(CELL, PLAN, tmp_path)["records"] == CONTENT["records"]
    assert read_cell(CELL, PLAN, tmp_path)["cell"] == asdict(CELL)


@pytest.mark.slow
def test_a_cell_with_other_bytes_is_refused_or_equal(tally, tmp_path):
    count = tally("cells, bytes")
    text = cell_text(CELL, PLAN, CONTENT)
    path = path_of(CELL, tmp_path)
    path.parent.mkdir(parents=True)
    for mutant in byte_mutants(text.encode(), 1500, seed=7):
        path.write_bytes(mutant)
        with count.refusals():
            assert same_data(read_cell(CELL, PLAN, tmp_path), unseal(text))
            count.read("equal")


@pytest.mark.slow
def test_a_cell_that_says_something_else_under_a_right_digest_is_refused_or_holds_records(tally, tmp_path):
    count = tally("cells, data under a right digest")
    original = unseal(cell_text(CELL, PLAN, CONTENT))
    path = path_of(CELL, tmp_path)
    path.parent.mkdir(parents=True)
    for mutant in data_mutants(original, 1000, seed=8):
        if isinstance(mutant.get("records"), list) and all(isinstance(each, dict) for each in mutant["records"]):
            mutant["fingerprint"] = fingerprint(mutant["records"])
        path.write_text(seal(mutant), encoding="utf-8", errors="backslashreplace")
        with count.refusals():
            found = read_cell(CELL, PLAN, tmp_path)
            assert same_data(found, mutant)
            assert all(each["status"] in ("found", "failed", "certified", "not-found") for each in found["records"])
            count.read("equal" if same_data(found, original) else "read as they say")


ARRAYS = {
    "weights": np.arange(12, dtype=np.float32).reshape(3, 4),
    "truths": np.array([True, False, True]),
    "texts": np.array(["Zażółć", "b", ""]),
    "bytes": np.array([b"ab", b"c"]),
    "number": np.array(3),
    "none": np.empty((0, 4)),
}


def same_arrays(one, other):
    pairs = [(one[name], other[name]) for name in one if name in other]
    return list(one) == list(other) and all(
        (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes()) for a, b in pairs
    )


def test_arrays_come_back_to_the_bit():
    assert same_arrays(from_bytes(to_bytes(ARRAYS)), ARRAYS)


@pytest.mark.slow
def test_arrays_with_other_bytes_are_refused_or_equal(tally):
    count = tally("arrays, bytes")
    for mutant in byte_mutants(to_bytes(ARRAYS), 5000, seed=9):
        with count.refusals():
            assert same_arrays(from_bytes(mutant), ARRAYS)
            count.read("equal")


@pytest.mark.slow
def test_arrays_that_say_something_else_under_a_right_digest_are_refused_or_are_arrays(tally):
    count = tally("arrays, bytes under a right digest")
    content = to_bytes(ARRAYS)
    magic, body = content[:17], content[49:]
    for mutant in byte_mutants(body, 5000, seed=10):
        with count.refusals():
            found = from_bytes(magic + hashlib.blake2b(mutant, digest_size=32).digest() + mutant)
            assert sum(array.nbytes for array in found.values()) <= len(mutant)
            assert all(isinstance(str(value), str) for array in found.values() for value in array.ravel().tolist())
            count.read("equal" if same_arrays(found, ARRAYS) else "other arrays")


@pytest.mark.slow
def test_arrays_of_models_that_do_not_fit_together_are_refused_or_are_models(tally):
    count = tally("models as arrays")
    X = np.random.default_rng(0).normal(size=(40, 3))
    y = (X[:, 0] > 0).astype(int)
    network = Network(hidden_layers=2, neurons=4, max_epochs=2, random_state=0).fit(X, y)
    packed = pack([network, LogisticRegression(C=np.inf).fit(X, y)])
    rng = np.random.default_rng(11)
    names = sorted(packed)
    for i in range(600 * TIMES):
        name = names[int(rng.integers(len(names)))]
        mutant = dict(packed)
        if i % 3 == 0:
            mutant[name] = packed[names[int(rng.integers(len(names)))]]
        elif i % 3 == 1 or name != "about":
            mutant[name] = mutilated(packed[name], rng)
        else:
            text = next(byte_mutants(packed[name].tobytes(), 1, seed=i))
            mutant[name] = np.frombuffer(text, dtype=np.uint8)
        with count.refusals():
            for model in unpack(mutant):
                rows = np.zeros((2, model.n_features_in_))
                assert model.predict_proba(rows).shape == (2, len(model.classes_))
            count.read("read as they say")


def mutilated(array, rng):
    match rng.integers(5):
        case 0:
            return array.ravel()
        case 1:
            return array[..., :-1] if array.ndim else np.array("x")
        case 2:
            return array.astype("U10")
        case 3:
            return array[None]
    return np.empty(0)
