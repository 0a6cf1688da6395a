"""The page on promises: all its commands run as typed, in their order, and so does its Python."""

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import betarce as brce
from betarce.cli import app
from betarce.datasets import load_loan
from betarce.models.files import save_model
from betarce.tables.csv_file import as_categories

PAGE = Path(__file__).parents[2] / "docs" / "promises.md"
ISSUE = """
betarce init loans.csv --label approved --out features.toml
betarce fit loans.csv --label approved --model lightgbm --features features.toml --space bootstrap --delta 0.9 \
--confidence 0.95 --out run
betarce explain rejected.csv --from run --target 1 --ledger promises.db --out answers.json --csv changes.csv
betarce verify answers.json --from run
betarce recheck --ledger promises.db --from run --model newloans.csv --json recheck.json
betarce recheck --ledger promises.db --from run --model next.skops --trust lightgbm.sklearn.LGBMClassifier
betarce recheck --ledger promises.db --from run --predictions scored.csv
betarce monitor --ledger promises.db --json monitor.json
betarce ledger head --ledger promises.db
"""


def commands():
    blocks = re.findall(r"```console\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    return [line.removeprefix("$ ") for block in blocks for line in block.splitlines()]


def test_the_page_has_the_whole_flow():
    page = commands()
    assert [line for line in page if line in ISSUE.splitlines()] == ISSUE.strip().splitlines()


def write_tables():
    loans = load_loan(400)
    table = loans.X.assign(approved=np.asarray(loans.y))
    table.iloc[:340].to_csv("loans.csv", index=False)
    later = table.iloc[340:]
    later[later["approved"] == 0].iloc[:8].drop(columns="approved").to_csv("rejected.csv", index=False)
    rows = np.random.default_rng(1).integers(0, 340, 340)
    table.iloc[rows].to_csv("newloans.csv", index=False)


def write_model():
    lightgbm = pytest.importorskip("lightgbm")
    pytest.importorskip("skops")
    table = pd.read_csv("newloans.csv")
    X = as_categories(table.drop(columns="approved"))
    known = brce.load("run").subject_.table.X.dtypes.to_dict()
    model = lightgbm.LGBMClassifier(n_estimators=50, verbosity=-1, n_jobs=1, random_state=0)
    save_model(model.fit(X.astype(known), table["approved"]), "next.skops")


def write_scores():
    points = pd.read_csv("points.csv", dtype={"promise": str})
    points.assign(prediction=1)[["promise", "prediction"]].to_csv("scored.csv", index=False)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::betarce.errors.BetarceWarning")
def test_every_command_and_the_python_of_the_page_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_tables()
    before = {"next.skops": write_model, "scored.csv": write_scores}
    for line in commands():
        for name, write in before.items():
            if name in line:
                write()
        done = CliRunner().invoke(app, shlex.split(line)[1:])
        assert done.exit_code == 0 or ("recheck" in line and done.exit_code == 1), f"{line}\n{done.output}"
        assert done.exception is None or isinstance(done.exception, SystemExit), line
    check_files()
    [block] = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    exec(compile(block, str(PAGE), "exec"), {})
    assert "all promises hold" in capsys.readouterr().out


def check_files():
    with brce.Ledger("promises.db", read_only=True) as ledger:
        assert ledger.verify().intact
        assert ledger.history()["kind"].tolist().count("rechecked") == 3
        n_promises = len(ledger.promises())
    assert n_promises >= 4
    document = json.loads(Path("recheck.json").read_text(encoding="utf-8"))
    assert document["counts"]["held"] + document["counts"]["broken"] == n_promises
    assert len(document["gate"]["audit_shares"]) == 59
    assert document["where"]["of"] == "training rows"
    assert len(json.loads(Path("monitor.json").read_text(encoding="utf-8"))["deployments"]) >= 1
    assert Path("changes.csv").read_text(encoding="utf-8").startswith("row,")
