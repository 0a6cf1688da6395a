"""Plans carried out: nothing lost when killed, the same on any number of workers."""

import os
import signal
import subprocess
import sys
import time

import pytest

import betarce
from betarce.errors import InvalidInput
from betarce.explainers import Nice
from betarce.paper import cell as celling
from betarce.paper.records import (
    fingerprint,
    finished_cells,
    path_of,
    read_cell,
    records_table,
    summary,
)
from betarce.paper.runner import choose_cells, run_plan, survey
from betarce.storage.files import seal, unseal
from small_plan import DOCUMENT, as_toml, plan

pytestmark = pytest.mark.slow


def test_a_cell_that_fails_is_reported_and_does_not_stop_the_others(monkeypatch, tmp_path):
    real = celling.load

    def load(name):
        if name == "car":
            raise betarce.errors.DataUnavailable("no car today")
        return real(name)

    monkeypatch.setattr(celling, "load", load)
    changed = plan(data=["car", "breast_cancer"], methods={"growing-spheres": {}})
    report = run_plan(changed, tmp_path, n_jobs=1, verbose=-1)
    assert report.failed == {"car-logistic-bootstrap-fold0": "DataUnavailable: no car today"}
    assert report.done == ["breast_cancer-logistic-bootstrap-fold0"]
    assert len(records_table(finished_cells(changed, tmp_path, changed.cells))) == 4


def test_cells_with_a_method_that_could_not_run_are_kept_until_they_are_asked_for_again(monkeypatch, tmp_path):
    changed = plan(methods={"nice": {}, "growing-spheres": {}}, run_folds=[0, 1])
    with monkeypatch.context() as broken:
        broken.setattr(Nice, "explain", None)
        run_plan(changed, tmp_path, only="fold0", n_jobs=1, verbose=-1)
    run_plan(changed, tmp_path, n_jobs=1, verbose=-1)
    assert list(survey(changed, tmp_path, changed.cells).values()) == ["incomplete", "finished"]
    assert run_plan(changed, tmp_path, n_jobs=1, verbose=-1).done == []
    report = run_plan(changed, tmp_path, retry_failed=True, n_jobs=1, verbose=-1)
    assert report.done == ["breast_cancer-logistic-bootstrap-fold0"]
    assert list(survey(changed, tmp_path, changed.cells).values()) == ["finished", "finished"]
    assert records_table(finished_cells(changed, tmp_path, changed.cells))["found"].all()


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
    table = records_table(finished_cells(changed, folder, changed.cells))
    table.loc[table["method"] == "robx", ["found", "robustness"]] = [False, None]
    lines = summary(table).set_index(["method", "delta"])
    assert (lines["rows"] == 24).all()
    assert lines.loc["robx", "found"].tolist() == [0.0]
    assert lines.loc["robx", "robustness"].isna().all()
    assert lines.loc[("betarce", 0.7), "found"] > 0.9
    assert summary(table[:0]).empty
