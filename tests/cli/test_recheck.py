"""`betarce recheck`: a new model against the promises on record, from whatever source it comes."""

import json
import os
import shutil
import sqlite3
import subprocess
from xml.etree import ElementTree

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import betarce as brce
from betarce.models.files import save_model
from betarce.models.tabular import tabular_model
from betarce.storage.files import seal, unseal
from command_line import ask, said
from mixed_models import LABELS, TABLE, fitted

SMALL = ["--delta", "0.8", "--confidence", "0.9", "--models", "3,14", "--audit", "19", "--jobs", "1"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A run, a ledger, and new models in every form."""
    folder = tmp_path_factory.mktemp("bank")
    loans = TABLE.assign(approved=LABELS)
    loans.to_csv(folder / "loans.csv", index=False)
    loans.assign(customer=[f"c{i}" for i in range(len(loans))])[LABELS == 0].iloc[:8].to_csv(
        folder / "rejected.csv", index=False
    )
    fitting = ["--label", "approved", "--model", "logistic", "--out", folder / "run", *SMALL]
    assert ask("fit", folder / "loans.csv", *fitting).exit_code == 0
    words = ["--target", "1", "--ledger", folder / "promises.db", "--names", "customer", "--cohort", "housing"]
    assert ask("explain", folder / "rejected.csv", "--from", folder / "run", *words).exit_code == 0
    TABLE.assign(approved=np.where(TABLE["income"] > 40, 1 - LABELS, LABELS)).to_csv(
        folder / "contrary.csv", index=False
    )
    model = tabular_model("logistic", TABLE)
    save_model(model.fit(TABLE, LABELS), folder / "same.skops")
    joblib.dump(model, folder / "same.joblib")
    (folder / "bank_models.py").write_text(
        "import joblib\n\ndef score():\n    return joblib.load('same.joblib')\n\nname = 'no model'\n"
    )
    return folder


@pytest.fixture
def bank(made, tmp_path, monkeypatch):
    """The same with a ledger of its own, as the working directory."""
    for path in made.iterdir():
        (shutil.copytree if path.is_dir() else shutil.copy)(path, tmp_path / path.name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def recheck(*words):
    return ask("recheck", "--ledger", "promises.db", "--from", "run", *words)


def entries():
    with brce.Ledger("promises.db", read_only=True) as ledger:
        assert ledger.verify().intact
        return ledger.history()["kind"].tolist()


@pytest.mark.parametrize(
    "words",
    [
        ["--model", "loans.csv"],
        pytest.param(["--model", "same.skops"], marks=pytest.mark.slow),
        pytest.param(["--model", "same.joblib", "--allow-pickle"], marks=pytest.mark.slow),
        pytest.param(["--model", "bank_models:score"], marks=pytest.mark.slow),
    ],
    ids=["new data", "skops", "pickle", "own code"],
)
def test_a_model_like_the_old_one_passes(words, bank):
    pytest.importorskip("skops")
    done = recheck(*words, "--json", "recheck.json", "--junit", "recheck.xml")
    assert done.exit_code == 0, done.output
    document = json.loads((bank / "recheck.json").read_text())
    assert document["counts"]["held"] == 8
    assert document["deployed"]
    assert document["gate"]["p"] > 0.05
    assert len(document["gate"]["audit_departures"]) == 19
    assert "all promises hold" in said(done)
    assert ElementTree.parse(bank / "recheck.xml").getroot().get("failures") == "0"
    assert entries()[-1] == "rechecked"


def test_a_change_that_was_not_declared_fails_and_says_where(bank):
    done = recheck("--model", "contrary.csv", "--json", "recheck.json", "--junit", "recheck.xml")
    assert done.exit_code == 1, done.output
    document = json.loads((bank / "recheck.json").read_text())
    assert (document["gate"]["p"], document["deployed"]) == (0.05, False)
    assert document["where"]["of"] == "training rows"
    assert document["where"]["features"][0]["share"] > document["where"]["features"][0]["elsewhere"]
    assert document["where"]["rows"]
    assert "this change was not of the kind you declared" in said(done)
    assert "Fit a run with --space new-data, which does" in said(done)
    assert "Failed: p <= 0.05" in said(done)
    assert "most of all where" in said(done)
    assert ElementTree.parse(bank / "recheck.xml").getroot().get("failures") == "9"
    assert "broken" not in entries()


def test_predictions_of_any_system_are_taken_by_promise_or_by_row(bank):
    assert ask("ledger", "points", "--ledger", "promises.db", "--out", "points.csv").exit_code == 0
    points = pd.read_csv("points.csv", dtype={"promise": str})
    assert list(points.columns) == ["promise", *TABLE.columns]
    with brce.Ledger("promises.db", read_only=True) as ledger:
        assert points["promise"].tolist() == ledger.promises().index.tolist()
        names = ledger.promises()["name"]
    points.assign(prediction=1)[["promise", "prediction"]].to_csv("scored.csv", index=False)
    assert recheck("--predictions", "scored.csv").exit_code == 0
    pd.DataFrame({"row": names, "approved": [0, *[1] * 7]}).to_csv("by_row.csv", index=False)
    done = recheck("--predictions", "by_row.csv", "--warn-if", "broken > 0", "--json", "recheck.json")
    assert "Warning: broken > 0" in said(done)
    document = json.loads((bank / "recheck.json").read_text())
    assert document["counts"]["broken"] == 1
    assert document["gate"]["departure"] is None
    assert document["promises"][0]["outcome"] == "broken"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        pytest.param(["--strict"], 1, marks=pytest.mark.slow),
        pytest.param(["--error-if", "share > 50 %"], 0, marks=pytest.mark.slow),
        (["--error-if", "share > 0.1", "--error-if", "p < 0"], 1),
        pytest.param(["--error-if", "p < 0"], 0, marks=pytest.mark.slow),
    ],
)
def test_conditions_decide_on_the_exit_code(words, code, bank):
    with brce.Ledger("promises.db", read_only=True) as ledger:
        names = ledger.promises().index
    pd.DataFrame({"promise": names, "class": [0, *[1] * 7]}).to_csv("scored.csv", index=False)
    done = recheck("--predictions", "scored.csv", "--dry-run", *words)
    assert done.exit_code == code, done.output
    assert "rechecked" not in entries()


@pytest.mark.slow
def test_broken_promises_are_repaired_honoured_and_referred(bank):
    with brce.Ledger("promises.db", read_only=True) as ledger:
        first, second, third, *others = ledger.promises().index.tolist()
    pd.DataFrame({"promise": [first, second, third, *others], "class": [0, 0, 0, *[1] * 5]}).to_csv(
        "s.csv", index=False
    )
    recheck("--predictions", "s.csv", "--in-use")
    assert ask("ledger", "honour", "--ledger", "promises.db", first).exit_code == 0
    assert ask("ledger", "refer", "--ledger", "promises.db", second).stdout == "Referred: 1.\n"
    done = ask("ledger", "repair", "--ledger", "promises.db", "--from", "run", "--json")
    assert done.exit_code == 0, done.output
    lines = json.loads(done.stdout)
    assert [line["promise"] for line in lines] == [second, third]
    assert all(line["status"] == "certified" for line in lines)
    with brce.Ledger("promises.db", read_only=True) as ledger:
        assert ledger.verify().intact
        frame = ledger.promises()
        assert frame.loc[[first, second, third], "state"].tolist() == ["honoured", "superseded", "superseded"]
        assert ledger.promise(lines[0]["by"]).name == ledger.promise(second).name
        assert ledger.promise(lines[0]["by"]).cohort == ledger.promise(second).cohort
        assert (
            json.loads(ask("ledger", "show", "--ledger", "promises.db", second, "--json").stdout)["history"][-1]["what"]
            == "superseded"
        )
    again = ask("ledger", "repair", "--ledger", "promises.db", "--from", "run", first)
    assert again.exit_code == 2
    assert "is honoured. Nothing was recorded" in said(again)


class TestBadInput:
    """Each has a clear message and the exit code 2, and nothing is put on record."""

    @pytest.fixture(autouse=True)
    def _nothing_is_recorded(self, bank):
        before = entries()
        yield
        assert entries() == before

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("words", "message"),
        [
            ([], "Say either which --model is new, or what it predicts with --predictions"),
            (["--model", "nothing.csv"], "There is no file 'nothing.csv'"),
            (["--model", "nothing.skops"], "There is no model 'nothing.skops'"),
            (["--model", "logistic"], "offers a recipe only"),
            (["--model", "same.joblib"], "--allow-pickle"),
            (["--model", "bank_models:name"], "must give a classifier"),
            (["--model", "same.skops", "--error-if", "p = 1"], "must be of the form 'p <= 0.05'"),
            (["--model", "same.skops", "--warn-if", "luck > 1"], "must be about p, share, held"),
            (["--model", "same.skops", "--json", "nowhere/a.json"], "which is not a folder"),
            (["--predictions", "loans.csv"], "must have a column 'promise' or 'row'"),
        ],
    )
    def test_wrong_use(self, words, message):
        done = recheck(*words)
        assert done.exit_code == 2, done.output
        assert message in said(done)

    @pytest.mark.slow
    def test_a_model_with_other_columns(self, bank):
        other = TABLE[["income", "age"]].assign(wealth=1)
        save_model(LogisticRegression(max_iter=5000).fit(other, LABELS), bank / "other.skops")
        done = recheck("--model", "other.skops")
        assert done.exit_code == 2
        assert "it wants 'wealth'; the promises have 'debt', 'housing'. Nothing was put on record" in said(done)

    @pytest.mark.slow
    def test_a_model_with_other_classes(self, bank):
        model = tabular_model("logistic", TABLE).fit(TABLE, np.where(LABELS, "yes", "no"))
        save_model(model, bank / "other.skops")
        done = recheck("--model", "other.skops")
        assert done.exit_code == 2
        assert "the new model does not know the class 1, only 'no', 'yes'" in said(done)

    @pytest.mark.slow
    def test_a_model_with_other_dtypes(self, bank):
        coded = TABLE.fillna(0).assign(housing=TABLE["housing"].cat.codes)
        save_model(LogisticRegression(max_iter=5000).fit(coded, LABELS), bank / "other.skops")
        done = recheck("--model", "other.skops")
        assert done.exit_code == 2
        assert "the new model cannot take these columns: TypeError" in said(done)

    @pytest.mark.slow
    def test_a_type_that_nobody_trusted(self, bank):
        lightgbm = pytest.importorskip("lightgbm")
        model = lightgbm.LGBMClassifier(n_estimators=2, verbosity=-1).fit(TABLE[["income", "age"]], LABELS)
        save_model(model, bank / "other.skops")
        done = recheck("--model", "other.skops")
        assert done.exit_code == 2
        assert "--trust lightgbm.sklearn.LGBMClassifier" in said(done)

    @pytest.mark.slow
    def test_new_data_without_a_column_or_a_class(self, bank):
        TABLE.drop(columns="debt").assign(approved=LABELS).to_csv("new.csv", index=False)
        assert "has no column 'debt'" in said(recheck("--model", "new.csv"))
        TABLE.to_csv("new.csv", index=False)
        assert "has no column 'approved'" in said(recheck("--model", "new.csv"))
        TABLE.assign(approved=1).to_csv("new.csv", index=False)
        assert "has one value only" in said(recheck("--model", "new.csv"))

    @pytest.mark.slow
    def test_predictions_for_nobody_or_twice(self, bank):
        pd.DataFrame({"row": ["x", "y"], "class": [1, 1]}).to_csv("s.csv", index=False)
        assert "has no prediction for any promise" in said(recheck("--predictions", "s.csv"))
        pd.DataFrame({"row": ["x", "x"], "class": [1, 1]}).to_csv("s.csv", index=False)
        assert "has 'x' more than once" in said(recheck("--predictions", "s.csv"))
        pd.DataFrame({"row": ["x"], "a": [1], "b": [1]}).to_csv("s.csv", index=False)
        assert "must have one column 'prediction' with the classes" in said(recheck("--predictions", "s.csv"))

    def test_a_damaged_run_is_named(self, bank):
        [path, *_] = (bank / "run" / "members").glob("audit-0-*")
        path.write_bytes(b"nonsense")
        done = recheck("--model", "same.skops")
        assert done.exit_code == 2
        assert path.name in said(done)


class TestFilesOfOthers:
    """A ledger or a run that this version cannot read is named, and left as it is."""

    def refused(self, path):
        before = path.read_bytes()
        done = recheck("--model", "same.skops")
        assert done.exit_code == 2, done.output
        assert path.read_bytes() == before
        return said(done)

    def test_a_ledger_of_a_newer_version(self, bank):
        connection = sqlite3.connect("promises.db")
        connection.execute("PRAGMA user_version = 7")
        connection.close()
        assert "it has version 7 of the tables" in self.refused(bank / "promises.db")

    def test_a_file_that_is_no_ledger(self, bank):
        (bank / "promises.db").write_text("Dear diary, this is not a database. " * 100)
        assert "is not a usable ledger: it is no SQLite database" in self.refused(bank / "promises.db")

    def test_a_run_of_a_newer_version(self, bank):
        path = bank / "run" / "manifest.json"
        document = unseal(path.read_text())
        path.write_text(seal(document | {"betarce_run": 2}))
        assert "has format 2, but this version of betarce reads format 1" in self.refused(path)

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a disk")
    def test_a_ledger_on_a_read_only_disk(self, bank):
        disk = bank / "disk"
        disk.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "tmpfs", disk], capture_output=True).returncode:
            pytest.skip("no disk can be mounted here")
        try:
            shutil.copy("promises.db", disk)
            subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
            words = ["--ledger", disk / "promises.db", "--from", "run", "--model", "same.skops"]
            done = ask("recheck", *words)
            assert done.exit_code == 2, done.output
            assert "is read-only. Nothing of this was recorded" in said(done)
            assert ask("recheck", *words, "--dry-run").exit_code == 0
        finally:
            subprocess.run(["umount", disk], check=True)


@pytest.mark.slow
def test_new_rows_with_a_new_category_are_left_out_and_said(bank):
    new = TABLE.assign(housing=TABLE["housing"].astype(str), approved=LABELS)
    new.loc[:2, "housing"] = "castle"
    new.to_csv("new.csv", index=False)
    done = recheck("--model", "new.csv")
    assert "3 of 160 rows of 'new.csv' are left out" in said(done)
    assert done.exit_code == 0, done.output


def test_a_mistyped_ledger_is_not_made(bank):
    done = ask("recheck", "--ledger", "promise.db", "--from", "run", "--model", "loans.csv")
    assert done.exit_code == 2
    assert "--ledger must name a ledger; there is no file at 'promise.db'" in said(done)
    assert not (bank / "promise.db").exists()


@pytest.mark.slow
def test_native_files_of_lightgbm_are_scored(bank):
    lightgbm = pytest.importorskip("lightgbm")
    model = lightgbm.LGBMClassifier(n_estimators=8, num_leaves=5, verbosity=-1, n_jobs=1).fit(TABLE, LABELS)
    model.booster_.save_model("native.txt")
    done = recheck("--model", "native.txt", "--json", "recheck.json", "--dry-run")
    assert done.exit_code in (0, 1), done.output
    counts = json.loads((bank / "recheck.json").read_text())["counts"]
    with brce.Ledger("promises.db", read_only=True) as ledger:
        points = ledger.points().astype(TABLE.dtypes.to_dict())
    assert counts["held"] == int((model.predict(points) == 1).sum())
    assert counts["unscored"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["native.json", "native.ubj"])
def test_native_files_of_xgboost_are_scored(name, bank):
    model = fitted("xgboost")
    model.save_model(name)
    done = recheck("--model", name, "--json", "recheck.json", "--dry-run")
    assert done.exit_code in (0, 1), done.output
    document = json.loads((bank / "recheck.json").read_text())
    with brce.Ledger("promises.db", read_only=True) as ledger:
        points = ledger.points().astype(TABLE.dtypes.to_dict())
    assert document["counts"]["held"] == int((model.predict(points) == 1).sum())
    assert document["counts"]["unscored"] == 0
    assert document["gate"]["departure"] is not None
    assert document["model"] == name


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """A run over numbers alone, which a network can take, with promises on record; as the working directory."""
    pytest.importorskip("torch")
    pytest.importorskip("safetensors")
    monkeypatch.chdir(tmp_path)
    numbers = TABLE[["income", "age"]].astype(float)
    numbers.assign(approved=LABELS).to_csv("loans.csv", index=False)
    numbers[LABELS == 0].iloc[:6].to_csv("rejected.csv", index=False)
    assert ask("fit", "loans.csv", "--label", "approved", "--model", "logistic", "--out", "run", *SMALL).exit_code == 0
    words = ["--from", "run", "--target", "1", "--ledger", "promises.db"]
    assert ask("explain", "rejected.csv", *words).exit_code == 0
    return numbers


@pytest.mark.slow
def test_a_network_in_safetensors_is_scored(desk):
    network = brce.Network(hidden_layers=1, neurons=8, max_epochs=40, learning_rate=0.01, random_state=0)
    save_model(network.fit(desk, LABELS), "next.safetensors")
    done = recheck("--model", "next.safetensors", "--json", "recheck.json")
    assert done.exit_code in (0, 1), done.output
    with open("recheck.json") as file:
        document = json.load(file)
    with brce.Ledger("promises.db", read_only=True) as ledger:
        points = ledger.points().astype(desk.dtypes.to_dict())
    assert document["counts"]["held"] == int((network.predict(points) == 1).sum())
    assert document["counts"]["unscored"] == 0
    assert document["gate"]["departure"] is not None
    assert entries()[-1] == "rechecked"


@pytest.mark.slow
def test_a_network_of_other_columns_or_a_damaged_one_is_said(desk):
    network = brce.Network(hidden_layers=1, neurons=4, max_epochs=1, random_state=0)
    save_model(network.fit(desk[["income"]], LABELS), "next.safetensors")
    before = entries()
    done = recheck("--model", "next.safetensors")
    assert done.exit_code == 2, done.output
    assert "the new model has other columns: the promises have 'age'. Nothing was put on record" in said(done)
    with open("next.safetensors", "r+b") as file:
        file.write(b"nonsense")
    done = recheck("--model", "next.safetensors")
    assert done.exit_code == 2, done.output
    assert "it cannot be read as a network of betarce" in said(done)
    assert entries() == before


@pytest.mark.slow
def test_a_run_that_declares_new_data_lets_a_model_of_new_rows_pass(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    loans = TABLE.assign(approved=LABELS)
    loans[::2].to_csv("loans.csv", index=False)
    loans[1::2].to_csv("newloans.csv", index=False)
    loans[::2][LABELS[::2] == 0].iloc[:6].to_csv("rejected.csv", index=False)
    fitting = ["--label", "approved", "--model", "logistic", "--space", "new-data", "--out", "run", *SMALL]
    assert ask("fit", "loans.csv", *fitting).exit_code == 0
    words = ["--from", "run", "--target", "1", "--ledger", "promises.db", "--out", "answers.json"]
    assert ask("explain", "rejected.csv", *words).exit_code == 0
    assert ask("verify", "answers.json", "--from", "run").exit_code == 0
    assert ask("ledger", "export", "--ledger", "promises.db", "--out", "statements.jsonl").exit_code == 0
    assert ask("verify", "statements.jsonl", "--from", "run", "--strength", "members").exit_code == 0
    done = recheck("--model", "newloans.csv")
    assert done.exit_code == 0, done.output
    assert "--space" not in said(done)
    assert entries()[-1] == "rechecked"
