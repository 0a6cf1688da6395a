"""`betarce datasets`: tables to try things on."""

import json

import pandas as pd

import betarce as brce
from command_line import ask


def test_all_data_sets_are_listed(monkeypatch, tmp_path):
    monkeypatch.delenv("BETARCE_DATA_DIR", raising=False)
    monkeypatch.setenv("BETARCE_CACHE_DIR", str(tmp_path))
    listed = json.loads(ask("datasets", "--json").stdout)["datasets"]
    assert tuple(line["name"] for line in listed) == brce.datasets.NAMES
    by_name = {line["name"]: line for line in listed}
    assert by_name["loan"]["rows"] == 2000
    assert by_name["loan"]["label"] == "approved"
    assert by_name["wine"]["rows"] is None
    assert "downloads it" in by_name["wine"]["about"]
    assert "breast_cancer" in ask("datasets").stdout


def test_a_data_set_is_written_with_its_classes(tmp_path):
    done = ask("datasets", "loan", "--out", tmp_path / "loans.csv")
    assert done.exit_code == 0
    assert "Its column of classes is approved" in " ".join(done.stdout.split())
    table, data = pd.read_csv(tmp_path / "loans.csv"), brce.datasets.load("loan")
    assert list(table) == [*data.X, "approved"]
    assert (table["approved"].to_numpy() == data.y.to_numpy()).all()


def test_an_unknown_name_and_a_file_without_a_name_are_refused(tmp_path):
    done = ask("datasets", "lone")
    assert done.exit_code == 2
    assert "Did you mean 'loan'?" in " ".join(done.stderr.split())
    done = ask("datasets", "--out", tmp_path / "loans.csv")
    assert done.exit_code == 2
    assert "--out needs the name" in " ".join(done.stderr.split())
    done = ask("datasets", "loan", "--out", tmp_path / "nowhere" / "loans.csv")
    assert done.exit_code == 2
    assert "--out" in done.stderr
