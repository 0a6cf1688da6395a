"""A new model against the promises on record, and where it ranks among audit members."""

import json
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import betarce as brce
from betarce.errors import InvalidInput
from betarce.ledger import rank, read_statement
from betarce.ledger.departure import Departures
from betarce.runs.identity import identity
from promises_by_hand import Clock, promises

RNG = np.random.default_rng(0)
X = pd.DataFrame({"income": RNG.normal(50, 15, 300).round(1), "debt": RNG.normal(20, 8, 300).round(1)})
Y = np.where(X["income"] - X["debt"] + RNG.normal(0, 6, 300) > 30, "yes", "no")


@pytest.fixture(scope="module")
def run():
    rce = brce.BetaRCE(LogisticRegression(), n_models=(10, 46), random_state=0, verbose=-1).fit(X, Y)
    rejected = X[rce.model_.predict(X) == "no"][:20]
    result = rce.explain(rejected)
    rce.audit(result, n_models=59)
    return rce, result


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def ledger(tmp_path, clock):
    with brce.Ledger(tmp_path / "promises.db", clock=clock) as opened:
        yield opened


class Constant:
    """A model that says the same everywhere."""

    def __init__(self, label, classes=("no", "yes")):
        self.label, self.classes_ = label, np.array(classes)

    def predict(self, table):
        return np.full(len(table), self.label)


@pytest.mark.slow
def test_statements_of_a_run_carry_its_identity(ledger, run):
    rce, result = run
    names = ledger.record(result, run=rce)
    statement = read_statement(ledger.envelope(names[0]).payload)
    assert statement.identity == identity(rce).to_plain()
    assert set(statement.identity) == {"model", "search_members", "certifying_members", "data", "rules"}


def test_a_run_that_the_result_does_not_come_from_is_refused(ledger, run):
    with pytest.raises(InvalidInput, match="`run` must be the explainer that the result comes from"):
        ledger.record(promises(2), run=run[0])
    with pytest.raises(InvalidInput, match="`run` must be a fitted BetaRCE; got str"):
        ledger.record(run[1], run="run")


def test_the_model_that_promises_were_made_for_keeps_them_all(ledger, run):
    rce, result = run
    names = ledger.record(result)
    found = ledger.recheck(rce.model_, run=rce, name="spring")
    assert found.counts == {"held": len(names), "broken": 0, "expired": 0, "unscored": 0}
    assert (found.share, found.beyond, found.deployed) == (0.0, False, True)
    assert found.gate.p > 0.5
    assert found.gate.departure <= found.gate.audit_departures.mean()
    assert found.where.share == 0.0
    assert "all promises hold" in str(found)
    assert ledger.verify().intact


def test_a_model_beyond_the_declared_space_is_said_to_be_so_and_breaks_nothing_until_deployed(ledger, run):
    rce, result = run
    names = ledger.record(result)
    found = ledger.recheck(Constant("no"), run=rce)
    assert found.counts["broken"] == len(names)
    assert found.gate.p == 1 / 60
    assert found.beyond
    assert "this change was not of the kind you declared" in str(found)
    assert not found.deployed
    assert set(ledger.promises()["state"]) == {"issued"}
    assert ledger.recheck(Constant("no"), run=rce, deployed=True).deployed
    assert set(ledger.promises()["state"]) == {"broken"}
    assert ledger.verify().intact


@pytest.mark.slow
def test_members_of_the_space_are_bad_luck_at_worst_but_for_a_few(ledger, run):
    rce, result = run
    ledger.record(result)
    drawn = rce.fresh_draw(40, role="deployment").models
    alarms = sum(ledger.recheck(model, run=rce, dry_run=True).beyond for model in drawn)
    assert alarms <= 6  # each fires with a chance of 5 % at most: more than 6 of 40 with one of 1 %
    assert ledger.history()["kind"].tolist().count("rechecked") == 0


def test_a_broken_promise_stays_open_and_is_broken_once(ledger, run):
    ledger.record(run[1])
    for _ in range(2):
        ledger.recheck(Constant("no"))
    assert ledger.history()["kind"].tolist().count("broken") == len(ledger.promises())
    assert ledger.recheck(Constant("yes")).counts["held"] == len(ledger.promises())


def test_what_has_expired_is_noted_once_and_binds_no_longer(ledger, run, clock):
    names = ledger.record(run[1], expires="2026-03-31")
    clock.advance(days=60)
    assert ledger.recheck(Constant("no")).counts == {"held": 0, "broken": 0, "expired": len(names), "unscored": 0}
    assert ledger.recheck(Constant("no")).promises == ()
    assert ledger.history(names[0])["kind"].tolist() == ["issued", "expired"]


def test_erased_and_withdrawn_promises_are_left_out(ledger, run):
    names = ledger.record(run[1])
    ledger.erase(names[0])
    ledger.withdraw(names[1])
    assert len(ledger.recheck(Constant("yes")).promises) == len(names) - 2
    assert ledger.verify().intact


def test_a_model_of_other_classes_or_columns_cannot_score(ledger, run):
    ledger.record(run[1])
    other = ledger.recheck(Constant("maybe", classes=("maybe", "never")), run=run[0])
    assert other.counts["unscored"] == len(other.promises)
    assert other.gate is None
    assert other.reasons[0] == "the new model does not know the class 'yes', only 'maybe', 'never'"
    narrow = LogisticRegression().fit(X[["income"]], Y)
    assert ledger.recheck(narrow).reasons[0] == "the new model has other columns: the promises have 'debt'"
    with pytest.raises(InvalidInput, match="`model` must have `predict`, or be a Series of predictions; got int"):
        ledger.recheck(3)


def test_predictions_of_any_system_are_looked_up_by_promise_or_by_row(ledger, run):
    names = ledger.record(run[1])
    rows = ledger.promises()["name"]
    by_promise = pd.Series("yes", index=names).drop(names[0])
    found = ledger.recheck(by_promise)
    assert found.counts["held"] == len(names) - 1
    assert found.reasons[0] == f"there is no prediction for {names[0]!r}"
    assert ledger.recheck(pd.Series("no", index=rows.tolist()), run=run[0]).counts["broken"] == len(names)
    with pytest.raises(InvalidInput, match="must have each name once"):
        ledger.recheck(pd.Series("yes", index=[1, 1]))


def test_a_recheck_is_told_as_table_json_and_junit(ledger, run):
    ledger.record(run[1], cohort="<b>&\x00")
    found = ledger.recheck(Constant("no"), run=run[0], name="a <model> & \x1b[31m")
    assert found.to_frame()["outcome"].tolist() == ["broken"] * len(found.promises)
    document = json.loads(json.dumps(found.to_plain(), allow_nan=False))
    assert document["gate"]["beyond"]
    assert len(document["gate"]["audit_shares"]) == 59
    suite = ElementTree.fromstring(found.to_junit())
    assert suite.get("failures") == str(len(found.promises) + 1)
    assert len(suite.findall("testcase/failure")) == len(found.promises) + 1
    lucky = ElementTree.fromstring(ledger.recheck(Constant("no")).to_junit())
    assert lucky.get("failures") == "0"
    assert len(lucky.findall("testcase/skipped")) == len(found.promises) == int(lucky.get("skipped"))


def test_a_ledger_opened_to_be_read_is_rechecked_without_a_record(tmp_path, run):
    with brce.Ledger(tmp_path / "p.db") as ledger:
        ledger.record(run[1])
        head = ledger.head()
    with brce.Ledger(tmp_path / "p.db", read_only=True) as ledger:
        assert ledger.recheck(Constant("no")).counts["broken"] > 0
        assert ledger.head() == head


def test_equal_shares_never_make_the_gate_fire():
    same = np.ones((10, 59), dtype=bool)
    assert rank(np.ones(10, dtype=bool), same).p == 1.0
    few = rank(np.ones(10, dtype=bool), np.zeros((10, 18), dtype=bool))
    assert few.p == 1 / 19
    assert not few.beyond
    assert "too few audit members to tell" in str(few)
    with pytest.raises(InvalidInput, match="`audit_broken` must have one row per promise"):
        rank(np.ones(3, dtype=bool), same)


def test_under_the_declared_space_the_gate_fires_in_five_percent_at_most():
    rng = np.random.default_rng(1)
    fired = 0
    for _ in range(2000):
        luck = rng.beta(1, 12, size=60)  # every model has its own share of promises to break
        broken = rng.random((70, 60)) < luck
        fired += rank(broken[:, 0], broken[:, 1:]).beyond
    assert fired / 2000 <= 0.065  # 0.05 and three standard errors
    assert fired / 2000 >= 0.02


def test_two_numbers_are_ranked_as_one_and_the_gate_still_fires_in_five_percent_at_most():
    rng = np.random.default_rng(2)
    fired = 0
    for _ in range(2000):
        luck = rng.beta(1, 12, size=60)
        broken = rng.random((70, 60)) < luck
        departures = rng.normal(0.08, 0.01, 60) + 0.05 * luck  # the two numbers go together
        both = {"departure": departures[0], "audit_departures": departures[1:]}
        fired += rank(broken[:, 0], broken[:, 1:], **both).beyond
    assert 0.02 <= fired / 2000 <= 0.065  # 0.05 and three standard errors


def test_a_model_that_departs_or_breaks_more_than_all_others_is_beyond():
    rng = np.random.default_rng(3)
    audit, none = rng.random((70, 59)) < 0.05, np.zeros(70, dtype=bool)
    usual = rng.normal(0.08, 0.01, 59)
    assert rank(none, audit, departure=0.5, audit_departures=usual).beyond
    assert rank(~none, audit, departure=0.0, audit_departures=usual).beyond
    typical = rank(none, audit, departure=0.08, audit_departures=usual)
    assert typical.p > 0.05
    assert "where it departs most from the certifying members, it does so on 8.0% more of the" in str(typical)


def test_a_new_model_is_asked_once_about_the_training_rows(ledger, run):
    asked = []

    class Spy(LogisticRegression):
        def predict(self, table):
            asked.append(len(table))
            return super().predict(table)

    rce, result = run
    ledger.record(result)
    found = ledger.recheck(Spy().fit(X, Y), run=rce, dry_run=True)
    assert found.where.of == "training rows"
    assert found.gate.departure is not None
    assert asked.count(len(X)) == 1


def test_a_change_in_a_region_departs_more_than_one_of_as_many_rows_that_are_disputed_anyway(run):
    rce, _ = run
    departures, labels = Departures(rce), rce.model_.predict(X)
    flipped = np.where(labels == "yes", "no", "yes")
    margins = np.abs(rce.model_.decision_function(X))
    disputed, region = np.argsort(margins)[:30], np.argsort(X["debt"])[:30]
    one, other = labels.copy(), labels.copy()
    one[disputed], other[region] = flipped[disputed], flipped[region]
    assert departures.of_labels(labels) < departures.of_labels(one) < departures.of_labels(other)


def test_a_run_that_declares_old_rows_advises_the_space_that_covers_new_ones(ledger, run):
    rce, result = run
    ledger.record(result)
    found = ledger.recheck(Constant("no"), run=rce, dry_run=True)
    assert found.beyond
    assert 'Fit a run with space="new-data"' in found.advice
    assert found.to_plain()["advice"] == found.advice
    assert ledger.recheck(rce.model_, run=rce, dry_run=True).advice == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("space", "advised"),
    [
        ("new-data", False),
        (brce.Mixture(["seed", "bootstrap"]), True),
        (brce.Mixture(["seed", "new-data"]), False),
    ],
)
def test_only_spaces_of_old_rows_are_advised_against(space, advised, ledger):
    rce = brce.BetaRCE(LogisticRegression(), space=space, delta=0.5, n_models=(6, 18), random_state=0, verbose=-1)
    result = rce.fit(X, Y).explain(X[rce.model_.predict(X) == "no"][:5])
    rce.audit(result, n_models=19)
    ledger.record(result)
    found = ledger.recheck(Constant("no"), run=rce, dry_run=True)
    assert found.beyond
    assert bool(found.advice) == advised


def draw_rows(seed, n=300):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"income": rng.normal(50, 15, n).round(1), "debt": rng.normal(20, 8, n).round(1)})
    return table, np.where(table["income"] - table["debt"] + rng.normal(0, 6, n) > 30, "yes", "no")


@pytest.mark.slow
def test_the_gate_cries_wolf_at_a_model_of_new_rows_only_where_old_rows_were_declared(tmp_path):
    alarms = {}
    for space in ("bootstrap", "new-data"):
        alarms[space] = 0
        for run in range(3):
            table, labels = draw_rows(100 + run)
            model = DecisionTreeClassifier(min_samples_leaf=5, random_state=0)  # it remembers much of its rows
            rce = brce.BetaRCE(model, space=space, delta=0.7, n_models=(10, 46), random_state=run, verbose=-1)
            rce.fit(table, labels)
            result = rce.explain(table[rce.model_.predict(table) == "no"][:20])
            rce.audit(result, n_models=59)
            with brce.Ledger(tmp_path / f"{space}-{run}.db") as ledger:
                ledger.record(result)
                new = (clone(model).fit(*draw_rows(1000 + 10 * run + i)) for i in range(10))
                alarms[space] += sum(ledger.recheck(each, run=rce, dry_run=True).beyond for each in new)
    assert alarms["new-data"] <= 3 < alarms["bootstrap"], alarms


def test_where_the_models_disagree_is_said_of_rows_and_features(ledger, run):
    rce, result = run
    ledger.record(result)
    contrary = LogisticRegression().fit(X, np.where(X["debt"] > 22, "no", Y))
    found = ledger.recheck(contrary, run=rce, dry_run=True)
    assert found.where.of == "training rows"
    assert found.where.share == np.mean(contrary.predict(X) != rce.model_.predict(X))
    assert {region.feature for region in found.where.regions} <= {"income", "debt"}
    assert all(region.share > region.elsewhere for region in found.where.regions)
    assert found.where.rows
    told = ledger.recheck(pd.Series("no", index=ledger.promises().index), run=rce, dry_run=True)
    assert (told.where.of, told.where.share) == ("promises", 1.0)


def test_a_broken_promise_is_repaired_with_a_point_that_is_certified_anew(ledger, run):
    rce, result = run
    names = ledger.record(result, cohort="north")
    ledger.recheck(Constant("no"))
    frame = ledger.repair(names[:2], run=rce, expires="2026-12-31")
    assert frame["status"].tolist() == ["certified", "certified"]
    assert ledger.promise(names[0]).state == "superseded"
    new = ledger.promise(frame["by"].iloc[0])
    assert (new.state, new.cohort, new.name) == ("issued", "north", ledger.promise(names[0]).name)
    assert ledger.verify().intact
    assert len(ledger.repair(run=rce)) == len(names) - 2
    with pytest.raises(InvalidInput, match=f"{names[0]} is superseded. Nothing was recorded"):
        ledger.repair(names[0], run=rce)
