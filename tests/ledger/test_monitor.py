"""Promised against realised: each deployment is one piece of evidence."""

import json
from datetime import timedelta

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import betarce as brce
from betarce.cli import app
from betarce.errors import InvalidInput
from betarce.ledger.monitor import bounds
from promises_by_hand import Clock, promises


@pytest.fixture
def ledger(tmp_path):
    clock = Clock()
    with brce.Ledger(tmp_path / "promises.db", clock=clock) as opened:
        names = opened.record(promises(10), cohort=["north"] * 5 + ["south"] * 6)
        for month, n_broken in enumerate([0, 1, 5]):
            clock.advance(days=40)
            said = ["rejected"] * n_broken + ["approved"] * (10 - n_broken)
            opened.recheck(pd.Series(said, index=names), name=f"model {month}", deployed=True)
        opened.recheck(pd.Series("rejected", index=names), name="candidate", deployed=False)
        opened.erase(names[9])
        yield opened


def test_each_deployment_is_one_line_and_candidates_are_none(ledger):
    table = ledger.monitor().deployments()
    assert table["model"].tolist() == ["model 0", "model 1", "model 2"]
    assert table["promises"].tolist() == [10, 10, 10]
    assert table["realised"].tolist() == [1.0, 0.9, 0.5]
    assert table["promised"].tolist() == [0.9] * 3
    assert (table["at"].diff().dropna() == timedelta(days=40)).all()


def test_groups_count_deployments_not_promises(ledger):
    monitor = ledger.monitor()
    cohorts = monitor.by("cohort")
    assert cohorts.index.tolist() == ["(erased)", "north", "south"]
    assert cohorts["deployments"].tolist() == [3, 3, 3]
    assert cohorts["promises"].tolist() == [3, 15, 12]
    assert cohorts.loc["north", "realised"] == pytest.approx((1 + 0.8 + 0) / 3)
    assert cohorts.loc["south", "realised"] == 1.0
    assert set(cohorts["verdict"]) == {"not known yet"}
    assert monitor.by("delta").index.tolist() == [0.9]
    assert monitor.by("age").index.tolist() == ["031 to 90 days", "091 to 180 days"]
    with pytest.raises(InvalidInput, match="`what` must be one of cohort, delta, age; got 'moon'"):
        monitor.by("moon")


def test_bounds_are_those_of_clopper_and_pearson():
    lower, upper = bounds(np.array([1.0] * 8 + [0.0] * 2))
    assert lower == pytest.approx(0.4931, abs=1e-4)
    assert upper == pytest.approx(0.9632, abs=1e-4)
    assert bounds(np.zeros(4))[0] == 0.0
    assert bounds(np.ones(4))[1] == 1.0


def test_bounds_cover_the_mean_of_shares():
    rng = np.random.default_rng(0)
    below = above = 0
    for _ in range(1000):
        lower, upper = bounds(rng.beta(9, 1, size=12))
        below += lower > 0.9
        above += upper < 0.9
    assert max(below, above) <= 50


def test_a_ledger_without_deployments_has_empty_tables(tmp_path):
    with brce.Ledger(tmp_path / "promises.db") as ledger:
        monitor = ledger.monitor()
        assert monitor.deployments().empty
        assert monitor.by("cohort").empty
        assert monitor.to_plain()["deployments"] == []


@pytest.mark.slow
def test_the_command_prints_writes_and_draws(ledger, tmp_path):
    path = tmp_path / "promises.db"
    arguments = ["--json", str(tmp_path / "monitor.json"), "--plot", str(tmp_path / "monitor.png")]
    done = CliRunner().invoke(app, ["monitor", "--ledger", str(path), *arguments])
    assert done.exit_code == 0, done.output
    assert "model 2" in done.stdout
    document = json.loads((tmp_path / "monitor.json").read_text())
    assert [line["realised"] for line in document["deployments"]] == [1.0, 0.9, 0.5]
    assert (tmp_path / "monitor.png").read_bytes().startswith(b"\x89PNG")
    wrong = CliRunner().invoke(app, ["monitor", "--ledger", str(tmp_path / "nowhere.db")])
    assert wrong.exit_code == 2
    assert "--ledger must name a ledger" in wrong.stderr
