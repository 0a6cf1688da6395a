"""The simulation of the guarantee as a plan: its file, its cells, and what becomes of damaged ones."""

from dataclasses import replace

import pytest

from betarce.errors import InvalidInput
from betarce.paper.guarantee.plan import GuaranteePlan, guarantee_plan_of
from betarce.paper.guarantee.run import guarantee_cells, guarantee_states, path_of, run_guarantee, write_guarantee
from betarce.paper.plan_file import read_experiment, read_plan

pytestmark = pytest.mark.slow

SMALL = GuaranteePlan(("breast_cancer",), ("logistic",), ("bootstrap",), fits=2, audit_members=16)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    out = tmp_path_factory.mktemp("guarantee")
    report = run_guarantee(SMALL, out, n_jobs=1, verbose=-1)
    assert report.failed == {}
    return out


def test_a_finished_cell_is_skipped_and_its_tables_are_written(finished):
    again = run_guarantee(SMALL, finished, n_jobs=1, verbose=-1)
    assert again.done == []
    assert again.skipped == ["breast_cancer-logistic-bootstrap-1"]
    files = write_guarantee(SMALL, finished)
    assert set(files) == {"summary", "cells"}
    assert "true, 5th percentile over fits" in files["summary"].read_text()
    assert "| breast_cancer | logistic | bootstrap | ours | 15 + 298 | 2 |" in files["cells"].read_text()


def test_a_damaged_cell_is_seen_and_run_again_to_the_same_answers(finished):
    (cell,) = guarantee_cells(SMALL)
    path = path_of(cell, finished)
    whole = path.read_text()
    path.write_text(whole[:-40])
    assert guarantee_states(SMALL, finished, [cell]) == {cell: "damaged"}
    assert run_guarantee(SMALL, finished, n_jobs=1, verbose=-1).damaged == [cell.name]

    def timeless(text):
        return [line for line in text.splitlines() if not any(word in line for word in ("seconds", '"ms"', "digest"))]

    assert timeless(path.read_text()) == timeless(whole)


def test_a_cell_of_other_settings_is_left_alone(finished):
    with pytest.raises(InvalidInput, match=r"was simulated with other settings\. It was left as it is"):
        run_guarantee(replace(SMALL, fits=3), finished, n_jobs=1, verbose=-1)


def test_a_part_of_no_name_is_refused():
    with pytest.raises(InvalidInput, match="such as 'breast_cancer-logistic-bootstrap-1'; got 'nonsense'"):
        guarantee_cells(SMALL, "nonsense")


def test_the_shipped_plan_has_the_cells_of_the_page():
    plan = read_experiment("guarantee")
    assert len(plan.cells) == 36
    assert plan.fits == 20
    with pytest.raises(InvalidInput, match="a comparison is wanted here"):
        read_plan("guarantee")


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"dta": ["wine"]}, "there is no key 'dta'. Did you mean 'data'"),
        ({"data": ["wine"], "families": ["logistic"]}, "the key 'spaces' is missing"),
        ({"data": "wine"}, "must be a list of names; got 'wine'"),
        ({"families": ["tree"]}, "there is no 'tree'. Take some of: logistic"),
        ({"fits": 0}, "must be a whole number up to 10,000; got 0"),
        ({"fits": True}, "must be a whole number"),
        ({"guarantees": [[0.9]]}, "must be pairs of delta and confidence"),
        ({"guarantees": []}, "must be pairs of delta and confidence"),
    ],
)
def test_what_a_file_cannot_mean_is_refused_with_its_place(document, message):
    with pytest.raises(InvalidInput, match=message):
        guarantee_plan_of(document, what="my.toml")


def test_an_unknown_kind_of_plan_is_refused(tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text('kind = "party"\n')
    with pytest.raises(InvalidInput, match="must be 'comparison' or 'guarantee'; got 'party'"):
        read_experiment(path)
