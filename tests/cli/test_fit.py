"""`betarce fit` and `betarce explain --from`: as typed, killed and gone on, and what is said when it cannot be."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

import betarce as brce
from betarce.models.files import save_model
from betarce.runs import FitFolder, identity
from betarce.storage.files import unseal
from command_line import SMALL, ask
from mixed_models import LABELS, TABLE, fitted


@pytest.fixture(scope="module")
def bank(tmp_path_factory):
    """A table, rows to explain, and a run, all made on the command line."""
    folder = tmp_path_factory.mktemp("bank")
    loans = TABLE.assign(approved=LABELS)
    loans.to_csv(folder / "loans.csv", index=False)
    loans.assign(id=range(len(loans)))[LABELS == 0].iloc[:6].to_csv(folder / "rejected.csv", index=False)
    done = ask(
        "fit", folder / "loans.csv", "--label", "approved", "--model", "logistic", "--out", folder / "run", *SMALL
    )
    assert done.exit_code == 0, done.output
    return folder


def told(text):
    document = unseal(text)
    for row in document["rows"]:
        row.pop("runtime_s")
    return document


@pytest.mark.slow
def test_fit_says_how_many_models_and_how_long(bank, tmp_path):
    words = ["fit", bank / "loans.csv", "--label", "approved", "--model", "logistic", "--out", tmp_path / "run", *SMALL]
    done = ask(*words)
    assert "Training 19 models (3 to search, 14 to certify, 2 to audit): about " in " ".join(done.stderr.split())
    assert "3 search members, 14 certifying members, 2 audit members" in done.stdout


@pytest.mark.slow
def test_a_run_explains_rows_as_the_explainer_would(bank, tmp_path):
    out, csv = tmp_path / "answers.json", tmp_path / "changes.csv"
    done = ask("explain", bank / "rejected.csv", "--from", bank / "run", "--target", "1", "--out", out, "--csv", csv)
    assert done.exit_code == 0, done.output
    assert "that the model does not know are left out: 'approved', 'id'." in " ".join(done.stderr.split())
    assert "what would make approved = 1?" in done.stdout
    assert csv.read_text().startswith("row,")
    again = tmp_path / "again.json"
    ask("explain", bank / "rejected.csv", "--from", bank / "run", "--target", "1", "--out", again)
    assert told(again.read_text()) == told(out.read_text())
    assert len(brce.Result.load(out)) > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--from", "nowhere", "--target", "1"], "There is no run in 'nowhere': there is no such folder"),
        (["--from", "RUN"], "Say with --target which class of 'approved' is wanted: 0, 1"),
        (["--from", "RUN", "--target", "2"], "There is no class '2'. The classes are: 0, 1"),
        (["--from", "RUN", "--target", "1", "--delta", "0.7"], "--delta belongs to the training"),
        (["--from", "RUN", "--target", "1", "--model", "logistic"], "--model belongs to the training"),
        (["--target", "1"], "--label must name the column of classes; or take a run with --from"),
    ],
)
def test_wrong_use_is_said_in_options(words, said, bank):
    done = ask("explain", bank / "rejected.csv", *[bank / "run" if word == "RUN" else word for word in words])
    assert done.exit_code == 2
    assert said in " ".join(done.stderr.split())


@pytest.mark.slow
def test_missing_columns_are_all_named(bank, tmp_path):
    TABLE[["income", "housing"]].to_csv(tmp_path / "rows.csv", index=False)
    done = ask("explain", tmp_path / "rows.csv", "--from", bank / "run", "--target", "1")
    assert done.exit_code == 2
    assert "lacks 2 columns that the model was trained on: 'debt', 'age'." in " ".join(done.stderr.split())


def test_a_finished_run_is_not_overwritten(bank):
    before = (bank / "run" / "manifest.json").read_bytes()
    done = ask("fit", bank / "loans.csv", "--label", "approved", "--model", "logistic", "--out", bank / "run", *SMALL)
    assert done.exit_code == 2
    assert "is a finished run. Choose another name, or remove it first." in " ".join(done.stderr.split())
    assert (bank / "run" / "manifest.json").read_bytes() == before


@pytest.mark.slow
def test_a_model_file_must_be_trusted_and_hold_a_recipe(bank, tmp_path):
    pytest.importorskip("skops")
    model = fitted("lightgbm")
    save_model(model, tmp_path / "model.skops")
    model.booster_.save_model(tmp_path / "model.txt")
    words = ["fit", bank / "loans.csv", "--label", "approved", "--out", tmp_path / "run", *SMALL]
    done = ask(*words, "--model", tmp_path / "model.skops")
    assert done.exit_code == 2
    assert "--trust lightgbm.sklearn.LGBMClassifier" in " ".join(done.stderr.split())
    done = ask(*words, "--model", tmp_path / "model.txt")
    assert "offers predictions only" in " ".join(done.stderr.split())
    done = ask(*words, "--model", tmp_path / "model.skops", "--trust", "lightgbm.sklearn.LGBMClassifier")
    assert done.exit_code == 0, done.output
    (tmp_path / "model.pkl").write_bytes(b"x")
    done = ask(
        "fit", bank / "loans.csv", "--label", "approved", "--out", tmp_path / "r", "--model", tmp_path / "model.pkl"
    )
    assert "--allow-pickle" in done.stderr


@pytest.mark.slow
def test_a_fit_of_something_else_is_not_mixed_in(bank, tmp_path):
    rce = brce.BetaRCE(fitted("logistic"), n_models=(3, 14), delta=0.8, confidence=0.9, random_state=5, verbose=-1)
    rce.fit(TABLE, LABELS, store=FitFolder(tmp_path / "run"))
    words = ["fit", bank / "loans.csv", "--label", "approved", "--model", "logistic", "--out", tmp_path / "run", *SMALL]
    done = ask(*words)
    assert done.exit_code == 2
    assert "differs in the model and the seed" in " ".join(done.stderr.split())


# Real kills


def start(words):
    return subprocess.Popen(
        [sys.executable, "-m", "betarce", *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def n_members(folder):
    place = folder / "members"
    return len([name for name in os.listdir(place) if name.endswith(".arrays")]) if place.is_dir() else 0


def killed(words, folder, at):
    """Start a command and kill it with -9 once it has so many members; say whether it was still at work."""
    process = start(words)
    while process.poll() is None and n_members(folder) < at:
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    return process.returncode == -signal.SIGKILL


@pytest.mark.slow
@pytest.mark.parametrize("model", ["logistic", "hist-gradient-boosting"])
def test_a_fit_that_is_killed_goes_on_to_the_same_bits(model, bank, tmp_path):
    words = ["fit", bank / "loans.csv", "--label", "approved", "--model", model, *SMALL]
    done = ask(*words, "--out", tmp_path / "whole")
    assert done.exit_code == 0, done.output
    there = 0
    for at in (1, 7, 12):
        assert killed([*words, "--out", tmp_path / "run"], tmp_path / "run", at)
        assert n_members(tmp_path / "run") >= max(at, there), "members that are there stay there"
        there = n_members(tmp_path / "run")
        assert not (tmp_path / "run" / "manifest.json").exists()
    done = ask("explain", bank / "rejected.csv", "--from", tmp_path / "run", "--target", "1")
    assert "its fit was stopped. Give the command of that fit again, and it goes on" in " ".join(done.stderr.split())
    done = ask(*words, "--out", tmp_path / "run", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["models_from_before"] >= there
    one, other = (brce.load(tmp_path / name) for name in ("whole", "run"))
    assert identity(one) == identity(other)
    names = [sorted(os.listdir(tmp_path / name / "members")) for name in ("whole", "run")]
    assert names[0] == names[1]
    manifests = [(tmp_path / name / "manifest.json").read_text() for name in ("whole", "run")]
    assert manifests[0] == manifests[1]


@pytest.mark.slow
def test_a_damaged_member_of_a_stopped_fit_is_trained_again(bank, tmp_path):
    words = ["fit", bank / "loans.csv", "--label", "approved", "--model", "logistic", *SMALL, "--out", tmp_path / "run"]
    assert killed(words, tmp_path / "run", 5)
    [path, *_] = sorted((tmp_path / "run" / "members").glob("search-0-*"))
    path.write_bytes(b"nonsense")
    done = ask(*words)
    assert done.exit_code == 0, done.output
    assert "it was changed since it was written. The model is trained again." in " ".join(done.stderr.split())
    assert identity(brce.load(tmp_path / "run")) == identity(brce.load(bank / "run"))
