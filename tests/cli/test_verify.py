"""`betarce explain --ledger` and `betarce verify`: what was handed out, on record and checked."""

import json

import numpy as np
import pytest

import betarce as brce
from betarce.ledger import PublicKey, SigningKey, verify
from betarce.models.tabular import tabular_model
from betarce.runs import identity
from betarce.runs.csv_rows import read_table
from betarce.runs.manifest import Manifest
from betarce.runs.training_data import table_digest
from command_line import SMALL, ask, said
from mixed_models import LABELS, TABLE


@pytest.fixture(scope="module")
def bank(tmp_path_factory):
    """A run, answers, promises, statements and a certificate, all made on the command line."""
    folder = tmp_path_factory.mktemp("bank")
    loans = TABLE.assign(approved=LABELS)
    loans.to_csv(folder / "loans.csv", index=False)
    rejected = loans.assign(customer=[f"c{i}" for i in range(len(loans))])[LABELS == 0].iloc[:6]
    rejected.to_csv(folder / "rejected.csv", index=False)
    fitting = ["--label", "approved", "--model", "logistic", "--out", folder / "run", *SMALL]
    assert ask("fit", folder / "loans.csv", *fitting).exit_code == 0
    SigningKey.new().save(folder / "key.pem")
    explaining = ["--target", "1", "--ledger", folder / "promises.db", "--out", folder / "answers.json"]
    terms = ["--names", "customer", "--cohort", "housing", "--expires", "2999-12-31", "--key", folder / "key.pem"]
    done = ask("explain", folder / "rejected.csv", "--from", folder / "run", *explaining, *terms)
    assert done.exit_code == 0, done.output
    assert "Recorded 6 promises" in said(done)
    assert ask("ledger", "export", "--ledger", folder / "promises.db", "--out", folder / "all.jsonl").exit_code == 0
    result = brce.Result.load(folder / "answers.json")
    (folder / "certificate.json").write_text(result[0].certificate.to_json())
    return folder


def test_promises_carry_names_cohorts_and_expiry(bank):
    with brce.Ledger(bank / "promises.db", read_only=True) as ledger:
        frame = ledger.promises()
        assert ledger.verify().intact
    assert frame["name"].tolist()[0].startswith("c")
    assert set(frame["cohort"]) <= {"own", "rent", "with family"}
    assert set(frame["expires"].dt.year) == {3000}


def test_explaining_again_records_nothing_twice(bank):
    words = ["explain", bank / "rejected.csv", "--from", bank / "run", "--target", "1", "--names", "customer"]
    assert ask(*words, "--ledger", bank / "promises.db").exit_code == 0
    with brce.Ledger(bank / "promises.db", read_only=True) as ledger:
        assert len(ledger.promises()) == 6


@pytest.fixture(scope="module")
def run(bank):
    return brce.load(bank / "run")


@pytest.mark.parametrize("name", ["answers.json", "all.jsonl", "certificate.json"])
@pytest.mark.parametrize("strength", ["arithmetic", "votes"])
def test_what_was_handed_out_holds(name, strength, bank, run):
    found = verify(bank / name, run=run, strength=strength)
    assert found.holds, found
    assert found.strength == strength
    assert found.n_checked == (1 if name == "certificate.json" else 6)


def test_what_was_handed_out_holds_after_training_again(bank):
    done = ask("verify", bank / "answers.json", "--from", bank / "run", "--strength", "members", "--jobs", 1, "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout) == {
        "file": str(bank / "answers.json"),
        "kind": "answers",
        "strength": "members",
        "checked": 6,
        "holds": True,
        "problems": [],
        "notes": [],
    }


def test_the_training_table_is_compared_with_that_of_the_run(bank, run, tmp_path):
    source = Manifest.read(bank / "run").source
    same = read_table(bank / "loans.csv", run, source)
    assert table_digest(same, run.features_.encode(same.X)) == identity(run).data
    other = TABLE.assign(approved=LABELS)
    other.loc[4, "income"] += 1
    other.to_csv(tmp_path / "other.csv", index=False)
    other.iloc[1:].to_csv(tmp_path / "fewer.csv", index=False)
    words = ["verify", bank / "answers.json", "--from", bank / "run", "--strength", "members"]
    done = ask(*words, "--data", tmp_path / "other.csv")
    assert done.exit_code == 1
    assert "1 rows of the training table differ from those of the run, first row 4" in said(done)
    fewer = read_table(tmp_path / "fewer.csv", run, source)
    found = verify(bank / "answers.json", run=run, strength="members", data=fewer)
    assert found.problems == ("the training table has 159 rows, that of the run 160",)


@pytest.mark.parametrize("name", ["answers.json", "all.jsonl", "certificate.json"])
def test_any_change_of_one_character_is_found(name, bank, tmp_path):
    text = (bank / name).read_text(encoding="utf-8")
    keys = [PublicKey.load(bank / "key.pub.pem")] if name == "all.jsonl" else []
    # Spaces between the parts of an envelope are no part of what is signed: tools may write them otherwise.
    places = [i for i, character in enumerate(text[:-1]) if not (keys and character == " ")]
    for place in np.random.default_rng(3).choice(places, 16, replace=False).tolist():
        for character in ("", "1" if text[place] != "1" else "2"):
            (tmp_path / name).write_text(text[:place] + character + text[place + 1 :], encoding="utf-8")
            assert not verify(tmp_path / name, keys=keys).holds, (place, text[place - 20 : place + 20])


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ('"votes": [true', '"votes": [false', "`votes` of entry 1 of `rows`"),
        ('"name": "c', '"name": "d', "`name` of entry 1 of `rows`"),
        ('"target": 1', '"target": 0', "`target` of entry 1 of `rows`"),
        ('"written_by": "betarce', '"written_by": "betarte', "`written_by`"),
        ('"digest": "blake2b:', '"digest": "blake3b:', "`certificate` of entry 1 of `rows`"),
        ('"model": "', '"model": "x', "`made_with`"),
    ],
)
def test_the_message_says_what_was_changed_in_answers(old, new, what, bank, tmp_path):
    text = (bank / "answers.json").read_text(encoding="utf-8")
    assert old in text
    (tmp_path / "answers.json").write_text(text.replace(old, new, 1), encoding="utf-8")
    [problem] = verify(tmp_path / "answers.json").problems
    assert f"it was damaged or edited in {what}" in problem


@pytest.fixture(scope="module")
def contrary_run():
    """A run of the same size, whose members learnt the opposite."""
    model = tabular_model("logistic", TABLE)
    settings = {"n_models": (3, 14), "delta": 0.8, "confidence": 0.9, "verbose": -1}
    return brce.BetaRCE(model, random_state=1, **settings).fit(TABLE, 1 - LABELS)


def test_votes_that_the_members_do_not_give_are_found(contrary_run, bank):
    [problem, *others] = [each for each in verify(bank / "answers.json", run=contrary_run).problems if "vote" in each]
    assert "of 14 members vote otherwise than recorded (member 1, 2, 3, 4, 5, ...)" in problem
    assert len(others) == 5


def test_statements_of_another_run_are_found(contrary_run, bank):
    found = verify(bank / "all.jsonl", run=contrary_run)
    assert "its certifying members are others than those of the run: the digests differ" in " ".join(found.problems)


def test_a_statement_that_is_not_signed_by_the_key_is_found(bank, tmp_path):
    assert "Not checked: who signed the statements" in said(ask("verify", bank / "all.jsonl"))
    assert ask("verify", bank / "all.jsonl", "--public-key", bank / "key.pub.pem").exit_code == 0
    SigningKey.new().save(tmp_path / "other.pem")
    done = ask("verify", bank / "all.jsonl", "--public-key", tmp_path / "other.pub.pem")
    assert done.exit_code == 1
    assert "line 1: none of the given keys has signed it" in said(done)


def test_a_private_statement_is_checked_as_far_as_it_tells(bank, run, tmp_path):
    with brce.Ledger(tmp_path / "p.db") as ledger:
        ledger.record(brce.Result.load(bank / "answers.json"), run=run, private=True)
    assert ask("ledger", "export", "--ledger", tmp_path / "p.db", "--out", tmp_path / "p.jsonl").exit_code == 0
    found = verify(tmp_path / "p.jsonl", run=run)
    assert found.holds
    assert found.notes == ("6 of 6 do not tell their point, so nobody can vote on it again",)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["verify", "nowhere.json"], "The file must name a file; there is none at 'nowhere.json'"),
        (["verify", "FILE", "--strength", "votes"], "--from must be given to check votes"),
        (["verify", "FILE", "--strength", "vote"], "--strength must be one of arithmetic, votes, members; got 'vote'"),
        (["verify", "FILE", "--data", "loans.csv"], "--data needs --strength members"),
        (["verify", "FILE", "--from", "nowhere"], "There is no run in 'nowhere'"),
        (["explain", "ROWS", "--label", "approved", "--target", "1", "--ledger", "p.db"], "--ledger needs --from"),
        (["explain", "ROWS", "--from", "RUN", "--target", "1", "--expires", "2999-01-01"], "--expires needs --ledger"),
        (["explain", "ROWS", "--from", "RUN", "--target", "1", "--names", "age"], "has no column 'age'"),
        (["explain", "ROWS", "--from", "RUN", "--target", "1", "--names", "approved"], "'approved' has '0' twice"),
        (["explain", "ROWS", "--from", "RUN", "--target", "1", "--ledger", "LEDGER", "--expires", "soon"], "--expires"),
        (["explain", "ROWS", "--from", "RUN", "--target", "1", "--ledger", "FILE"], "is not a usable ledger"),
        (
            ["explain", "ROWS", "--from", "RUN", "--target", "1", "--ledger", "LEDGER", "--cohort", "branch"],
            "has no column 'branch'",
        ),
    ],
)
def test_wrong_use_is_said_before_anything_is_done(words, message, bank, monkeypatch):
    monkeypatch.chdir(bank)
    names = {"FILE": "answers.json", "ROWS": "rejected.csv", "RUN": "run", "LEDGER": "promises.db"}
    before = (bank / "promises.db").read_bytes()
    done = ask(*[names.get(word, word) for word in words])
    assert done.exit_code == 2, done.output
    assert message in said(done)
    assert (bank / "promises.db").read_bytes() == before
    assert not (bank / "p.db").exists()
