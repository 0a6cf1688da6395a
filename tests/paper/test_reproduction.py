"""The page of a reproduction: everything it leads to is there, and says what was run."""

import gzip
import io

import pandas as pd
import pytest

from betarce.errors import InvalidInput
from betarce.explainers import Nice
from betarce.paper.records import finished_cells, path_of, records_table
from betarce.paper.reproduction import write_reproduction
from betarce.paper.runner import run_plan
from small_plan import DOCUMENT, plan

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    out = tmp_path_factory.mktemp("out")
    changed = plan(
        run_folds=[0, 1],
        deltas=[0.8, 0.9],
        confidences=[0.95],
        n_models=[38, 46],
        methods={"nice": {}, **DOCUMENT["methods"]},
    )
    with pytest.MonkeyPatch.context() as broken:
        broken.setattr(Nice, "explain", None)
        run_plan(changed, out, n_jobs=1, verbose=-1)
    return changed, out


def test_the_page_leads_to_tables_figures_records_and_the_plan(finished, tmp_path):
    changed, out = finished
    page = write_reproduction(
        changed, finished_cells(changed, out, changed.cells), tmp_path / "report", plan_text="data = []\n"
    )
    text = page.read_text()
    assert "2 of 2 cells are finished" in text
    links = [part.partition(")")[0] for part in text.split("](")[1:]]
    assert {"records.csv.gz", "plan.toml", "figures/figures.md", "tables/goals.md"} <= set(links)
    assert "tables/comparison-logistic-growing-spheres.md" in links
    assert all((tmp_path / "report" / link).is_file() for link in links)
    assert (tmp_path / "report" / "plan.toml").read_text() == "data = []\n"
    assert "nice, in 2 cells: TypeError" in text  # a method that could not run is named
    assert "comparison-network-dice: There are no records" in text  # and so is a table that has nothing to show


def test_the_records_are_all_there_and_the_same_bytes_again(finished, tmp_path):
    changed, out = finished
    first, again = (
        write_reproduction(changed, finished_cells(changed, out, changed.cells), tmp_path / name).parent
        for name in ("a", "b")
    )
    content = (first / "records.csv.gz").read_bytes()
    assert content == (again / "records.csv.gz").read_bytes()
    table = pd.read_csv(io.BytesIO(gzip.decompress(content)))
    records = records_table(finished_cells(changed, out, changed.cells))
    assert list(table) == list(records)
    assert table["robustness"].to_numpy() == pytest.approx(records["robustness"].astype(float).to_numpy(), nan_ok=True)
    assert not (first / "plan.toml").exists()


def test_a_part_of_a_plan_will_do_but_nothing_will_not(finished, tmp_path):
    changed, out = finished
    path = path_of(changed.cells[0], tmp_path)
    path.parent.mkdir()
    with pytest.raises(InvalidInput, match="No cell of the plan is finished yet"):
        write_reproduction(changed, finished_cells(changed, tmp_path, changed.cells), tmp_path / "report")
    path.write_bytes(path_of(changed.cells[0], out).read_bytes())
    path_of(changed.cells[1], tmp_path).write_text("damaged")
    assert (
        "1 of 2 cells are finished"
        in write_reproduction(
            changed, finished_cells(changed, tmp_path, changed.cells), tmp_path / "report"
        ).read_text()
    )
