"""`betarce certify`: a verdict on counterfactuals that came from elsewhere."""

import json

import pandas as pd
import pytest

import betarce as brce
from command_line import SMALL, ask, said
from mixed_models import LABELS, TABLE


@pytest.fixture(scope="module")
def bank(tmp_path_factory):
    """A run, points that it certified itself, and rows of people who were rejected."""
    folder = tmp_path_factory.mktemp("bank")
    TABLE.assign(approved=LABELS).to_csv(folder / "loans.csv", index=False)
    TABLE[LABELS == 0].iloc[:4].to_csv(folder / "rejected.csv", index=False)
    fitting = ["--label", "approved", "--model", "logistic", "--out", folder / "run", *SMALL]
    assert ask("fit", folder / "loans.csv", *fitting).exit_code == 0
    rce = brce.load(folder / "run")
    result = rce.explain(pd.read_csv(folder / "rejected.csv"), target=1)
    assert result.certified.all()
    robust = result.to_frame()["robust"].assign(customer=[f"c{i}" for i in range(4)])
    robust.to_csv(folder / "points.csv", index=False)
    return folder


def test_points_of_the_run_itself_are_certified(bank):
    done = ask("certify", bank / "points.csv", "--from", bank / "run", "--target", "1", "--names", "customer")
    assert done.exit_code == 0, done.output
    assert "Row c0: " in said(done)
    assert "4 of 4 points are certified" in said(done)
    assert "before anyone saw a verdict" in said(done)


def test_verdicts_are_those_of_python(bank):
    done = ask("certify", bank / "points.csv", "--from", bank / "run", "--target", "1", "--json")
    points = json.loads(done.stdout)["points"]
    verdicts = brce.load(bank / "run").certify(pd.read_csv(bank / "points.csv").drop(columns="customer"), target=1)
    assert [point["n_agree"] for point in points] == [verdict.certificate.n_agree for verdict in verdicts]
    assert [point["lower_bound"] for point in points] == list(verdicts.to_frame()["lower_bound"])
    assert "does not know are left out: 'customer'" in said(done)


def test_a_point_that_is_no_counterfactual_fails_and_says_so(bank, tmp_path):
    out = tmp_path / "verdicts.csv"
    done = ask("certify", bank / "rejected.csv", "--from", bank / "run", "--target", "1", "--csv", out)
    assert done.exit_code == 1
    assert "the model itself does not answer 1" in said(done)
    verdicts = pd.read_csv(out)
    assert len(verdicts) == 4
    assert not verdicts["certified"].all()


def test_a_point_that_cannot_be_read_leaves_the_others_alone(bank, tmp_path):
    points = pd.read_csv(bank / "points.csv").astype({"housing": object})
    points.loc[1, "housing"] = "castle"
    points.to_csv(tmp_path / "points.csv", index=False)
    done = ask("certify", tmp_path / "points.csv", "--from", bank / "run", "--target", "1", "--json")
    assert done.exit_code == 1
    found = json.loads(done.stdout)
    assert found["certified"] == 3
    assert found["points"][1]["n_agree"] is None
    assert "castle" in found["points"][1]["says"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "Say with --target which class of 'approved' is wanted: 0, 1."),
        (["--target", "2"], "'2'"),
        (["--target", "1", "--names", "nobody"], "nobody"),
        (["--target", "1", "--csv", "/no/such/folder/out.csv"], "--csv"),
    ],
    ids=["no target", "no such class", "no such column", "no such folder"],
)
def test_wrong_use_is_said_in_options(bank, words, sentence):
    done = ask("certify", bank / "points.csv", "--from", bank / "run", *words)
    assert done.exit_code == 2
    assert sentence in said(done)


def test_a_file_without_the_columns_of_the_run_is_refused(bank, tmp_path):
    (tmp_path / "points.csv").write_text("a,b\n1,2\n")
    done = ask("certify", tmp_path / "points.csv", "--from", bank / "run", "--target", "1")
    assert done.exit_code == 2
    assert "lacks" in said(done)
