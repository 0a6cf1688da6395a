"""A fitted explainer as a folder: the same bits after loading, and every damage is named."""

import json
import os
import re
import shutil
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression

import betarce as brce
from betarce.errors import CorruptFile, InvalidInput, NotWritten, OtherVersions, PartlyStored, UnusableModel
from betarce.runs import identity
from betarce.runs.manifest import Manifest
from betarce.storage.files import seal, unseal
from mixed_models import LABELS, MODELS, TABLE

SETTINGS = {"n_models": (4, 30), "delta": 0.8, "confidence": 0.9, "random_state": 1, "verbose": -1}
RULES = {"age": brce.immutable(), "income": brce.increase_only()}


def explainer(kind="logistic", **settings):
    settings = {"features": RULES, **SETTINGS, **settings}
    return brce.BetaRCE(MODELS[kind](), **settings).fit(TABLE, LABELS)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """An explainer and its run, which tests copy before they damage it."""
    rce = explainer()
    folder = tmp_path_factory.mktemp("runs") / "run"
    rce.save(folder, n_audit=3)
    return rce, folder


@pytest.fixture
def run(saved, tmp_path):
    return Path(shutil.copytree(saved[1], tmp_path / "run"))


def files_of(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def told(result):
    """Give all that a result says, but for how long it took."""
    document = unseal(result.to_json())
    for row in document["rows"]:
        row.pop("runtime_s")
    return document


def rejected(rce):
    table = TABLE[rce.model_.predict(TABLE) == 0]
    return table.iloc[:4]


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind",
    [
        *("logistic", "lightgbm", "lightgbm pipeline", "network", "random forest", "hist gradient boosting"),
        *("xgboost pipeline", "calibrated", "voting"),
    ],
)
def test_a_loaded_run_explains_to_the_same_bits(kind, tmp_path):
    rce = explainer(kind)
    rce.save(tmp_path / "run", n_audit=2)
    loaded = brce.load(tmp_path / "run")
    rows = rejected(rce)
    assert told(loaded.explain(rows, target=1)) == told(rce.explain(rows, target=1))
    assert identity(loaded) == identity(rce)
    points = rce.subject_.points
    for role, ensemble in rce.members_.ensembles.items():
        again = loaded.members_.ensembles[role]
        np.testing.assert_array_equal(again.margins(points, 1), ensemble.margins(points, 1))


@pytest.mark.slow
def test_everything_that_defines_an_explainer_comes_back(saved):
    rce, folder = saved
    loaded = brce.load(folder)
    kept = ("space", "base", "search", "certify_on", "delta", "confidence", "n_models", "prior", "random_state")
    assert {name: getattr(loaded, name) for name in kept} == {name: getattr(rce, name) for name in kept}
    assert loaded.members_.origins == rce.members_.origins
    assert loaded.members_.sizes == {"search": 4, "certifying": 30, "audit": 3}
    assert (loaded.seed_, loaded.members_.looked) == (rce.seed_, rce.members_.looked)
    assert loaded.guarantee_ == rce.guarantee_
    assert loaded.features_.describe().equals(rce.features_.describe())
    pd.testing.assert_frame_equal(loaded.subject_.table.X, TABLE)
    assert loaded.classes_.tolist() == [0, 1]
    assert repr(loaded.model) == repr(rce.model)


@pytest.mark.slow
def test_a_loaded_explainer_draws_the_same_further_members(saved):
    rce, folder = saved
    loaded = brce.load(folder)
    points = rce.subject_.points
    ours, theirs = (each.fresh_members(3, role="later").margins(points, 1) for each in (loaded, rce))
    np.testing.assert_array_equal(ours, theirs)
    assert len(brce.load(folder).extend(8).members_.certifying) == 38


@pytest.mark.slow
def test_a_loaded_explainer_is_saved_as_it_was(saved, tmp_path):
    _, folder = saved
    brce.load(folder).save(tmp_path / "again", n_audit=3)
    names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    again = sorted(
        str(path.relative_to(tmp_path / "again")) for path in (tmp_path / "again").rglob("*") if path.is_file()
    )
    assert names == again, "names hold the digests of what is in the files"


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        {"base": "face"},
        {"base": brce.explainers.NearestUnlike()},
        {"search": "growing-spheres"},
        {"search": brce.FrontierSearch(norm="l2")},
        {"certify_on": "search", "n_models": (12, 30)},
        {"space": brce.Seed(), "prior": "uniform"},
        {"space": brce.Mixture(["bootstrap", brce.Seed()], weights=[3, 1]), "prior": (1, 2)},
        {"space": brce.Architecture({"logisticregression__C": (0.1, 1.0)}), "prior": brce.Prior(0.5, 0.5)},
        {"random_state": np.random.default_rng(3), "max_changes": 2},
    ],
    ids=lambda settings: next(iter(settings)),
)
def test_methods_and_spaces_come_back(settings, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", brce.errors.DegenerateSpace)
        rce = explainer(**settings)
        rce.save(tmp_path / "run", n_audit=0)
    loaded = brce.load(tmp_path / "run")
    rows = rejected(rce).iloc[:2]
    assert told(loaded.explain(rows)) == told(rce.explain(rows))
    assert repr(loaded.members_.space) == repr(rce.members_.space)


@pytest.mark.slow
def test_models_that_exist_are_stored_too(tmp_path):
    rng = np.random.default_rng(0)
    models = []
    for _ in range(40):
        rows = rng.integers(0, len(TABLE), len(TABLE))
        models.append(MODELS["logistic"]().fit(TABLE.iloc[rows], LABELS[rows]))
    rce = explainer(space=brce.Given(models))
    rce.save(tmp_path / "run")
    loaded = brce.load(tmp_path / "run")
    rows = rejected(rce)
    assert told(loaded.explain(rows)) == told(rce.explain(rows))
    assert loaded.members_.audit is None
    with pytest.raises(InvalidInput, match="has none left to draw"):
        loaded.fresh_members(3)


# Code of the user's own


def draw_newest(X, y, seed):
    rows = np.random.default_rng(seed).integers(0, len(X), len(X))
    return MODELS["logistic"]().fit(X.iloc[rows], y[rows])


def unlike(x, model, target):
    return TABLE[target == LABELS].iloc[0]


@pytest.mark.slow
def test_a_space_of_the_users_own_is_left_out_and_can_be_passed_again(tmp_path):
    rce = explainer(space=brce.Custom(draw_newest))
    with pytest.warns(PartlyStored, match=r"does not hold your own code [\w.]*test_runs\.draw_newest, of `space`"):
        rce.save(tmp_path / "run", n_audit=2)
    loaded = brce.load(tmp_path / "run")
    rows = rejected(rce)
    assert told(loaded.explain(rows)) == told(rce.explain(rows)), "members exist, so that explaining needs no drawing"
    with pytest.raises(
        InvalidInput, match=r"does not hold your own code: [\w.]*draw_newest, of `space`.*load\(folder, "
    ):
        loaded.fresh_members(2)
    again = brce.load(tmp_path / "run", space=brce.Custom(draw_newest))
    points = rce.subject_.points
    ours, theirs = (each.fresh_members(2).margins(points, 1) for each in (again, rce))
    np.testing.assert_array_equal(ours, theirs)
    with pytest.raises(InvalidInput, match="`space` must be of the kind that the run was made with, Custom"):
        brce.load(tmp_path / "run", space="bootstrap")


@pytest.mark.slow
def test_a_space_that_is_stored_cannot_be_replaced(saved):
    with pytest.raises(InvalidInput, match="`space` must be None for this run: it holds its space, Bootstrap"):
        brce.load(saved[1], space="seed")


@pytest.mark.slow
def test_a_base_of_the_users_own_is_left_out_and_can_be_set_again(tmp_path):
    rce = explainer(base=unlike)
    with pytest.warns(PartlyStored, match=r"your own code [\w.]*unlike, of `base`"):
        rce.save(tmp_path / "run", n_audit=0)
    loaded = brce.load(tmp_path / "run")
    rows = rejected(rce)
    with pytest.raises(InvalidInput, match=r"your own code: [\w.]*unlike, of `base`. Set it: rce\.set_params\(base="):
        loaded.explain(rows)
    assert told(loaded.set_params(base=unlike).explain(rows)) == told(rce.explain(rows))


@pytest.mark.slow
def test_a_derived_function_is_left_out_and_a_formula_is_not(tmp_path):
    table = TABLE.assign(share=TABLE["debt"].fillna(1) / TABLE["income"])

    def share(rows):
        return rows["debt"] / rows["income"]

    filled = table.assign(debt=table["debt"].fillna(1.0))
    settings = {**SETTINGS, "model": LogisticRegression(max_iter=2000)}
    numbers = filled.drop(columns="housing")
    written = brce.BetaRCE(**settings, features={"share": brce.derived("debt / income")}).fit(numbers, LABELS)
    written.save(tmp_path / "formula", n_audit=0)
    rows = numbers[written.model_.predict(numbers) == 0].iloc[:2]
    assert told(brce.load(tmp_path / "formula").explain(rows)) == told(written.explain(rows))
    coded = brce.BetaRCE(**settings, features={"share": brce.derived(share)}).fit(numbers, LABELS)
    with pytest.warns(PartlyStored, match=r"the function of the derived column 'share' \(write it as a formula"):
        coded.save(tmp_path / "function", n_audit=0)
    loaded = brce.load(tmp_path / "function")
    with pytest.raises(InvalidInput, match="is not part of the file that these features were loaded from"):
        loaded.explain(rows)
    again = loaded.set_params(features={"share": brce.derived(share)})
    assert told(again.explain(rows)) == told(coded.explain(rows))


class OwnModel(ClassifierMixin, BaseEstimator):
    """A classifier of the user's own: one threshold."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        income = X["income"].to_numpy()
        self.threshold_ = float((income[y == 0].mean() + income[y == 1].mean()) / 2)
        return self

    def predict(self, X):
        return (X["income"].to_numpy() > self.threshold_).astype(int)


@pytest.mark.slow
def test_a_model_of_the_users_own_class_needs_to_be_trusted(tmp_path, monkeypatch):
    pytest.importorskip("skops")
    module = type(sys)("own_models")
    own = type("OwnModel", OwnModel.__bases__, {**vars(OwnModel), "__module__": "own_models"})
    module.OwnModel = own
    monkeypatch.setitem(sys.modules, "own_models", module)
    rce = brce.BetaRCE(own(), features=RULES, **SETTINGS).fit(TABLE, LABELS)
    rce.save(tmp_path / "run", n_audit=0)
    with pytest.raises(
        InvalidInput, match=r"model-\w+\.skops'.* type 'own_models\.OwnModel', which nobody has trusted"
    ):
        brce.load(tmp_path / "run")
    loaded = brce.load(tmp_path / "run", trust=["own_models.OwnModel"])
    rows = rejected(rce)
    assert told(loaded.explain(rows)) == told(rce.explain(rows))
    assert identity(loaded) == identity(rce)


@pytest.mark.slow
def test_a_model_that_no_file_can_hold_is_refused_before_anything_is_written(tmp_path):
    pytest.importorskip("skops")
    rce = explainer()
    rce.model_.steps.insert(0, ("own", type("Step", (BaseEstimator,), {"transform": lambda self, X: X})()))
    with pytest.raises(InvalidInput, match=r"Pipeline cannot be stored: Its steps\[0\]\[1\] is of the class"):
        rce.save(tmp_path / "run", n_audit=0)
    assert not [path for path in (tmp_path / "run").rglob("*") if path.is_file()]


# Damage


def one_of(folder, start):
    return next(folder / name for name in files_of(folder) if name.startswith(start))


@pytest.mark.parametrize("start", ["model-", "data-", "features-", "answers-", "members/search-0-", "members/audit-2-"])
@pytest.mark.parametrize("damage", ["changed", "cut", "longer", "gone", "a folder"])
def test_a_damaged_file_is_named(start, damage, run):
    path = one_of(run, start)
    content = path.read_bytes()
    path.unlink()
    if damage == "changed":
        path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    elif damage == "cut":
        path.write_bytes(content[:-1])
    elif damage == "longer":
        path.write_bytes(content + b"\0")
    elif damage == "a folder":
        path.mkdir()
    with pytest.raises(CorruptFile, match=rf"{path.name}' .*The run is damaged: take it from a copy"):
        brce.load(run)


@pytest.mark.parametrize("start", ["manifest", "model", "data"])
def test_a_pipe_among_the_files_of_a_run_was_waited_for_without_end(start, run):
    path = one_of(run, start)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(CorruptFile, match=f"{re.escape(path.name)}.* is a device or a pipe"):
        brce.load(run)


def test_a_manifest_that_was_edited_is_refused(run):
    path = run / "manifest.json"
    path.write_text(path.read_text().replace('"delta": 0.8', '"delta": 0.9'))
    with pytest.raises(CorruptFile, match=r"manifest\.json' is not the manifest of a usable run: the content does not"):
        brce.load(run)


def edited(folder, change):
    """Change a manifest and give it a digest that fits, as no accident would."""
    path = folder / "manifest.json"
    document = unseal(path.read_text())
    change(document)
    path.write_text(seal(document))


def test_a_run_of_a_newer_version_says_so(run):
    edited(run, lambda document: document.update(betarce_run=2))
    with pytest.raises(CorruptFile, match=r"has format 2, but this version of betarce reads format 1. Upgrade betarce"):
        brce.load(run)


@pytest.mark.slow
def test_other_versions_of_libraries_are_said(run):
    edited(run, lambda document: document["versions"].update({"scikit-learn": "0.1", "nowhere": "3.0"}))
    with pytest.warns(
        OtherVersions, match=r"was made with scikit-learn 0\.1 \(here [\d.]+\), nowhere 3\.0 \(here none\)"
    ):
        brce.load(run)


def other_answers(folder):
    """Let a run claim answers that its members do not give, with digests that fit."""
    from hashlib import sha256

    from betarce.storage.array_file import from_bytes, to_bytes

    path = one_of(folder, "answers-")
    arrays = from_bytes(path.read_bytes())
    arrays["certifying"][:, 5] ^= 1
    content = to_bytes(arrays)
    path.write_bytes(content)
    name = path.name

    def change(document):
        document["files"][name] = {"size": len(content), "sha256": sha256(content).hexdigest()}

    edited(folder, change)


@pytest.mark.slow
def test_members_that_answer_otherwise_are_found(run):
    other_answers(run)
    with pytest.raises(
        UnusableModel, match=r"1 of 30 certifying models of the run .* answer otherwise than when it was"
    ):
        brce.load(run)


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        lambda document: document["files"].update({"../secret.arrays": {"size": 1, "sha256": "0"}}),
        lambda document: document["files"].update({"/etc/passwd": {"size": 1, "sha256": "0"}}),
        lambda document: document["files"].update({"x": {"size": "1", "sha256": "0"}}),
        lambda document: document["members"].pop("search"),
        lambda document: document["members"].update(judges=[]),
        lambda document: document["members"]["search"].append(["nowhere.arrays", "search/9", 1, 0]),
        lambda document: document["state"].pop("data"),
        lambda document: document["state"].update(seed="1"),
        lambda document: document["state"].update(space={"method": "os:system", "parameters": {}}),
        lambda document: document["state"].update(space={"method": "betarce.spaces:check_space", "parameters": {}}),
        lambda document: document["state"].update(model="manifest.json"),
        lambda document: document["parameters"].pop("delta"),
        lambda document: document["parameters"].update(delta={"float": "nan"}),
        lambda document: document["source"].update(label=3),
        lambda document: document.pop("betarce_run"),
    ],
)
def test_a_manifest_that_makes_no_sense_is_refused(change, run):
    edited(run, change)
    with pytest.raises((CorruptFile, InvalidInput)):
        brce.load(run)


def test_what_is_no_run_is_said(tmp_path):
    with pytest.raises(InvalidInput, match=r"There is no run in .*nowhere': there is no such folder"):
        brce.load(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidInput, match=r"There is no run in .*empty': it has no file 'manifest\.json'"):
        brce.load(tmp_path / "empty")
    (tmp_path / "file").write_text("x")
    with pytest.raises(InvalidInput, match=r"There is no run in .*file': there is no such folder"):
        brce.load(tmp_path / "file")
    with pytest.raises(InvalidInput, match="`folder` must be a path"):
        brce.load(3)


# Writing


def test_a_folder_with_something_else_is_left_alone(saved, tmp_path):
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "dear.txt").write_text("x")
    with pytest.raises(InvalidInput, match=r"`folder` must be new, empty, or a run; .*letters' holds 'dear\.txt'"):
        saved[0].save(tmp_path / "letters", n_audit=3)
    assert files_of(tmp_path / "letters") == ["dear.txt"]


@pytest.mark.slow
def test_saving_over_a_run_replaces_it_whole(saved, run):
    other = explainer(random_state=2)
    (run / "notes.txt").write_text("mine")
    other.save(run, n_audit=1)
    loaded = brce.load(run)
    assert identity(loaded) == identity(other)
    named = {"manifest.json", "notes.txt", *Manifest.read(run).files}
    assert set(files_of(run)) == named, "files of the run before are gone, files of others are not"


@pytest.mark.slow
def test_a_full_disk_leaves_the_run_that_was_there(saved, run, monkeypatch):
    before = files_of(run)
    real, written = os.replace, []

    def full(source, target):
        written.append(target)
        if len(written) > 5:
            raise OSError(28, "No space left on device")
        real(source, target)

    other = explainer(random_state=2)
    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(NotWritten, match="could not be written: No space left on device"):
        other.save(run, n_audit=0)
    monkeypatch.undo()
    assert files_of(run) == before
    assert identity(brce.load(run)) == identity(saved[0])


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only for the administrator")
def test_a_read_only_place_is_said(saved, tmp_path):
    (tmp_path / "locked").mkdir(mode=0o500)
    with pytest.raises(NotWritten, match="could not be made: Permission denied"):
        saved[0].save(tmp_path / "locked" / "run", n_audit=3)


@pytest.mark.slow
def test_hostile_names_stay_text(tmp_path):
    evil = "\x1b[31mage\u202e ../../x; rm -rf / {0} %s"
    table = TABLE[["income", "age"]].rename(columns={"age": evil})
    labels = np.where(LABELS, "yes\x1b[2J", "no'\"\n")
    model = LogisticRegression(max_iter=2000)
    rce = brce.BetaRCE(model, features={evil: brce.immutable()}, **SETTINGS).fit(table, labels)
    rce.save(tmp_path / "run", n_audit=0)
    loaded = brce.load(tmp_path / "run")
    rows = table[rce.model_.predict(table) == "no'\"\n"].iloc[:2]
    assert told(loaded.explain(rows)) == told(rce.explain(rows))
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["state"]["classes"] == ["no'\"\n", "yes\x1b[2J"]
    assert {str(path.relative_to(tmp_path)).partition("/")[0] for path in tmp_path.rglob("*")} == {"run"}
