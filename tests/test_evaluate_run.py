"""Plans carried out: every row recorded, every setting felt, nothing lost when killed."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import betarce
from betarce.errors import InvalidInput, MissingExtra
from betarce.evaluate import run as running
from betarce.evaluate.plan import plan_of
from betarce.evaluate.records import fingerprint, path_of, read_cell, records_table, summary
from betarce.evaluate.run import choose_cells, cut, run_cell, run_plan, survey
from betarce.explainers import EXPLAINERS, GrowingSpheres, Nice
from betarce.files import seal, unseal

DOCUMENT = {
    "data": ["breast_cancer"],
    "families": ["logistic"],
    "spaces": ["bootstrap"],
    "bases": ["growing-spheres"],
    "deltas": [0.6, 0.7],
    "confidences": [0.8],
    "rows": 4,
    "run_folds": [0],
    "audit_members": 5,
    "tuning_rows": 3,
    "tuning_members": 4,
    "methods": {
        "growing-spheres": {},
        "robx": {"parameters": {"n_samples": 50}, "grid": {"tau": [0.5, 0.6]}},
        "betarce": {},
        "betarce-paper": {},
    },
}
KEYS = [
    *("method", "base", "parameters", "delta", "confidence", "row", "found", "status", "reason"),
    *("robustness", "proximity_l1", "proximity_l2", "plausibility", "distance_to_base", "changed"),
    *("evaluations", "ms", "n_agree", "n_models", "lower_bound", "members"),
]


def plan(**keys):
    return plan_of({**DOCUMENT, **keys}, what="test.toml")


@pytest.fixture(scope="module")
def content():
    return run_cell(plan().cells[0], plan())


def of(records, method, **keys):
    return [r for r in records if r["method"] == method and all(r[k] == v for k, v in keys.items())]


def as_toml(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {as_toml(each)}" for key, each in value.items()) + "}"
    return json.dumps(value)


# Records


def test_every_method_base_and_guarantee_has_a_record_of_every_row(content):
    records = content["records"]
    entries = [("growing-spheres", None, None), ("robx", "growing-spheres", None)]
    entries += [(name, "growing-spheres", delta) for delta in (0.6, 0.7) for name in ("betarce", "betarce-paper")]
    rows = cut(plan().cells[0], plan()).names[:4].tolist()
    for name, base, delta in entries:
        assert [r["row"] for r in of(records, name, base=base, delta=delta)] == rows
    assert len(records) == 4 * len(entries)
    assert all(list(record) == KEYS for record in records)
    assert json.loads(json.dumps(records, allow_nan=False)) == records


def test_certificates_are_recorded_with_who_voted(content):
    for name, members in (("betarce", "fresh"), ("betarce-paper", "search")):
        for record in of(content["records"], name, status="certified"):
            assert record["members"] == members
            assert record["lower_bound"] >= record["delta"]
            assert record["n_models"] == plan().sizes(betarce.Guarantee(record["delta"], 0.8))[0]
    assert of(content["records"], "betarce", status="certified")


def test_a_cell_is_the_same_again_but_for_the_time(content):
    again = run_cell(plan().cells[0], plan())
    assert fingerprint(again["records"]) == fingerprint(content["records"])
    assert again["accuracy"] == content["accuracy"] > 0.8


def test_folds_cover_every_row_once_and_are_scaled_by_their_training_part():
    cells = plan(run_folds=[0, 1, 2]).cells
    folds = [cut(cell, plan()) for cell in cells]
    assert sorted(np.concatenate([fold.names for fold in folds])) == list(range(569))
    for fold in folds:
        assert len(fold.X_train) + len(fold.X_test) == 569
        assert (fold.X_train.min(), fold.X_train.max()) == (0.0, 1.0)
    assert cut(plan(spaces=["seed"]).cells[0], plan()).names.tolist() == folds[0].names.tolist()


def test_what_is_odd_about_the_members_is_recorded_once(monkeypatch):
    monkeypatch.setattr(running, "paper_model", lambda family: LogisticRegression())
    changed = plan(spaces=["seed"])
    [warning] = run_cell(changed.cells[0], changed)["warnings"]
    assert "members are the same model" in warning


# Every key reaches its method


@pytest.mark.parametrize(
    ("keys", "check"),
    [
        ({"rows": 2}, lambda r: len(of(r, "growing-spheres")) == 2),
        ({"deltas": [0.5]}, lambda r: {x["delta"] for x in of(r, "betarce")} == {0.5}),
        ({"confidences": [0.7]}, lambda r: {x["confidence"] for x in of(r, "betarce")} == {0.7}),
        ({"n_models": [9, 11]}, lambda r: {x["n_models"] for x in of(r, "betarce")} == {11}),
        ({"n_models": [9, 11]}, lambda r: {x["n_models"] for x in of(r, "betarce-paper")} == {9}),
        ({"bases": ["nice"]}, lambda r: {x["base"] for x in of(r, "betarce") + of(r, "robx")} == {"nice"}),
        ({"audit_members": 3}, lambda r: all((3 * x["robustness"]) % 1 < 1e-9 for x in r if x["found"])),
        ({"run_folds": [1]}, lambda r: r[0]["row"] in cut(plan(run_folds=[1]).cells[0], plan()).names),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_settings_are_felt_in_the_records(keys, check, content):
    changed = plan(**keys)
    records = run_cell(changed.cells[0], changed)["records"]
    assert check(records)
    assert fingerprint(records) != fingerprint(content["records"])


@pytest.mark.parametrize("keys", [{"seed": 1}, {"spaces": ["seed"]}, {"folds": 2}])
def test_other_cells_and_seeds_give_other_records(keys, content):
    changed = plan(**keys, deltas=[0.6])
    records = run_cell(changed.cells[0], changed)["records"]
    first = [r["proximity_l1"] for r in of(content["records"], "growing-spheres")]
    assert [r["proximity_l1"] for r in of(records, "growing-spheres")] != first


def test_parameters_and_grids_reach_the_method(monkeypatch):
    seen = []

    def spying(self, originals, targets, problem, box, seeds):
        seen.append((len(originals), self.n_samples, self.tau, self.base))
        return GrowingSpheres().explain(originals, targets, problem, box, seeds)

    monkeypatch.setattr(EXPLAINERS["robx"], "explain", spying)
    changed = plan(tuning_rows=2)
    records = run_cell(changed.cells[0], changed)["records"]
    base = "growing-spheres"
    assert seen[:2] == [(2, 50, 0.5, base), (2, 50, 0.6, base)]  # tuned on two training rows ...
    [chosen] = {json.dumps(record["parameters"]) for record in of(records, "robx")}
    assert seen[2:] == [(4, 50, json.loads(chosen)["tau"], base)]  # ... then run on the rows of the fold
    assert json.loads(chosen)["n_samples"] == 50


def test_the_numbers_of_members_reach_the_draws(monkeypatch):
    drawn = {}
    original = betarce.BetaRCE.fresh_members

    def spying(self, n_models, *, role="audit"):
        drawn[role] = n_models
        return original(self, n_models, role=role)

    monkeypatch.setattr(betarce.BetaRCE, "fresh_members", spying)
    changed = plan(audit_members=6, tuning_members=7)
    run_cell(changed.cells[0], changed)
    assert drawn == {"audit": 6, "tune": 7}


@pytest.mark.parametrize(("family", "space"), [("logistic", "seed"), ("network", "architecture")])
def test_the_family_and_the_space_reach_the_draws(family, space, monkeypatch):
    made, asked = [], []

    def making(name):
        made.append(name)
        return betarce.paper_model("logistic")

    def recording(model, **options):
        asked.append(options["space"])
        return betarce.BetaRCE(model, **options)

    monkeypatch.setattr(running, "paper_model", making)
    monkeypatch.setattr(running, "BetaRCE", recording)
    changed = plan(families=[family], spaces=[space], methods={"growing-spheres": {}})
    run_cell(changed.cells[0], changed)
    assert (made, asked) == ([family], [space])


# Failures


class Broken(Nice):
    """A method that breaks down."""

    def explain(self, *arguments):
        raise MissingExtra("install me")


def test_a_method_that_breaks_down_is_recorded_and_leaves_the_others_alone(monkeypatch, content):
    monkeypatch.setitem(EXPLAINERS, "nice", Broken)
    changed = plan(bases=["nice", "growing-spheres"], methods={"nice": {}, **DOCUMENT["methods"]})
    records = run_cell(changed.cells[0], changed)["records"]
    broken = of(records, "nice") + of(records, "betarce", base="nice") + of(records, "robx", base="nice")
    assert len(broken) == 4 + 8 + 4
    for record in broken:
        assert (record["found"], record["status"]) == (False, "failed")
        assert record["reason"] == "MissingExtra: install me"
        assert list(record) == KEYS
    others = [r for r in records if r["method"] != "nice" and r["base"] != "nice"]
    assert fingerprint(others) == fingerprint(content["records"])


def test_a_cell_that_fails_is_reported_and_does_not_stop_the_others(monkeypatch, tmp_path):
    real = running.load

    def load(name):
        if name == "car":
            raise betarce.DataUnavailable("no car today")
        return real(name)

    monkeypatch.setattr(running, "load", load)
    changed = plan(data=["car", "breast_cancer"], methods={"growing-spheres": {}})
    report = run_plan(changed, tmp_path, n_jobs=1, verbose=-1)
    assert report.failed == {"car-logistic-bootstrap-fold0": "DataUnavailable: no car today"}
    assert report.done == ["breast_cancer-logistic-bootstrap-fold0"]
    assert len(records_table(changed, tmp_path, changed.cells)) == 4


# Files


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished")
    changed = plan(run_folds=[0, 1, 2], spaces=["bootstrap", "seed"])
    report = run_plan(changed, folder, n_jobs=1, verbose=-1)
    assert len(report.done) == 6
    return changed, folder


def prints(changed, folder):
    return {cell.name: read_cell(cell, changed, folder)["fingerprint"] for cell in changed.cells}


def copied(changed, folder, to):
    for cell in changed.cells:
        path = path_of(cell, to)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(path_of(cell, folder).read_bytes())


def test_a_file_says_where_it_comes_from(finished):
    changed, folder = finished
    document = read_cell(changed.cells[0], changed, folder)
    assert document["version"] == betarce.__version__
    assert (document["seed"], document["plan_digest"], document["plan"]) == (0, changed.digest, changed.protocol)
    assert document["fingerprint"] == fingerprint(document["records"])
    assert len({read_cell(cell, changed, folder)["data_digest"] for cell in changed.cells}) == 1


def test_finished_cells_are_skipped_and_a_deleted_one_comes_back_the_same(finished, tmp_path):
    changed, folder = finished
    copied(changed, folder, tmp_path)
    gone = changed.cells[2]
    path_of(gone, tmp_path).unlink()
    kept = {cell: path_of(cell, tmp_path).read_bytes() for cell in changed.cells if cell != gone}
    report = run_plan(changed, tmp_path, n_jobs=1, verbose=-1)
    assert report.done == [gone.name]
    assert len(report.skipped) == 5
    assert all(path_of(cell, tmp_path).read_bytes() == content for cell, content in kept.items())
    assert prints(changed, tmp_path) == prints(changed, folder)


def test_two_workers_give_what_one_gives(finished, tmp_path):
    changed, folder = finished
    run_plan(changed, tmp_path, n_jobs=2, verbose=-1)
    assert prints(changed, tmp_path) == prints(changed, folder)


def test_a_killed_run_goes_on_to_the_same_result(finished, tmp_path):
    changed, folder = finished
    document = {**DOCUMENT, "run_folds": [0, 1, 2], "spaces": ["bootstrap", "seed"]}
    text = "\n".join(f"{key} = {as_toml(value)}" for key, value in document.items())
    (tmp_path / "plan.toml").write_text(text)
    out = tmp_path / "out"
    command = [sys.executable, "-c", "from betarce.cli import app; app()", "reproduce", str(tmp_path / "plan.toml")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen([*command, "--out", str(out), "--jobs", "1"], env=environment, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not list(out.glob("cells/*.json")) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    states = list(survey(changed, out, changed.cells).values())
    assert {"finished", "missing"} == set(states)
    report = run_plan(changed, out, n_jobs=1, verbose=-1)
    assert len(report.skipped) == states.count("finished")
    assert prints(changed, out) == prints(changed, folder)


def test_a_damaged_file_is_named_and_computed_again(finished, tmp_path):
    changed, folder = finished
    copied(changed, folder, tmp_path)
    first, second = (path_of(cell, tmp_path) for cell in changed.cells[:2])
    first.write_text(first.read_text().replace('"found": true', '"found": false', 1))
    second.write_bytes(second.read_bytes()[:1000])
    report = run_plan(changed, tmp_path, n_jobs=1, verbose=-1)
    assert report.damaged == report.done == [cell.name for cell in changed.cells[:2]]
    assert prints(changed, tmp_path) == prints(changed, folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"plan_digest": "x"}, "is of another plan"),
        ({"version": "0.0.1"}, "is of another version of betarce"),
        ({"cell": {}}, "is of another cell"),
        ({"betarce_cell": 2}, "is of another kind of file"),
    ],
)
def test_a_file_of_something_else_is_refused_and_left_alone(change, message, finished, tmp_path):
    changed, folder = finished
    copied(changed, folder, tmp_path)
    path = path_of(changed.cells[3], tmp_path)
    path.write_text(seal(unseal(path.read_text()) | change))
    path_of(changed.cells[0], tmp_path).unlink()
    before = path.read_bytes()
    with pytest.raises(InvalidInput, match=message):
        run_plan(changed, tmp_path, n_jobs=1, verbose=-1)
    assert path.read_bytes() == before
    assert not path_of(changed.cells[0], tmp_path).exists()


def test_a_plan_with_more_cells_keeps_what_is_finished(finished, tmp_path):
    changed, folder = finished
    copied(changed, folder, tmp_path)
    more = plan(run_folds=[0], spaces=["bootstrap", "architecture"])
    assert list(survey(more, tmp_path, more.cells).values()) == ["finished", "missing"]


def test_only_chooses_cells_by_name(tmp_path):
    assert [cell.space for cell in choose_cells(plan(spaces=["seed", "bootstrap"]), "boot")] == ["bootstrap"]
    with pytest.raises(InvalidInput, match="`only` must be part of the name of a cell"):
        run_plan(plan(), tmp_path, only="zzz")


def test_a_folder_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InvalidInput, match="`out` must be a folder"):
        run_plan(plan(), tmp_path / "file", verbose=-1)


def test_the_summary_counts_rows_without_an_answer(finished):
    changed, folder = finished
    table = records_table(changed, folder, changed.cells)
    table.loc[table["method"] == "robx", ["found", "robustness"]] = [False, None]
    lines = summary(table).set_index(["method", "delta"])
    assert (lines["rows"] == 24).all()
    assert lines.loc["robx", "found"].tolist() == [0.0]
    assert lines.loc["robx", "robustness"].isna().all()
    assert lines.loc[("betarce", 0.7), "found"] > 0.9
    assert summary(table[:0]).empty
