"""Records of an earlier run, taken over: the same as running everything, and refused where they would not be."""

import gzip
import json
from pathlib import Path

import pandas as pd
import pytest

from betarce.errors import CorruptFile, InvalidInput
from betarce.paper import cell as celling
from betarce.paper.cell import run_cell
from betarce.paper.plan_file import plan_of, read_plan
from betarce.paper.records import finished_cells, read_cell, records_table
from betarce.paper.reproduction import compressed, write_reproduction
from betarce.paper.reuse import Reuse
from betarce.paper.runner import run_plan
from small_plan import DOCUMENT as SMALL
from small_plan import as_toml, of

pytestmark = pytest.mark.slow

METHODS = {**SMALL["methods"], "betarce": {"parameters": {"n_models": 12}}}
DOCUMENT = {**SMALL, "methods": METHODS}
PUBLISHED = Path(__file__).parents[2] / "docs" / "results"


def plan(**keys):
    return plan_of({**DOCUMENT, **keys}, what="test.toml")


def toml(document):
    return "\n".join(f"{key} = {as_toml(value)}" for key, value in document.items())


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    """A run of all methods, and its report."""
    folder, small = tmp_path_factory.mktemp("full"), plan()
    run_plan(small, folder, n_jobs=1, verbose=-1)
    finished = finished_cells(small, folder, small.cells)
    (folder / "report").mkdir()
    (folder / "report" / "plan.toml").write_text(toml(DOCUMENT))
    (folder / "report" / "records.csv.gz").write_bytes(compressed(records_table(finished)))
    return small, finished, folder / "report" / "records.csv.gz"


def without_times(finished):
    records = records_table(finished).assign(ms=0.0)
    return gzip.decompress(compressed(records)).decode().splitlines()


def rerun_cell(full, path=None, rerun=("betarce",)):
    """Run the cell again, on the members that the full run trained."""
    small, _, earlier = full
    reuse = Reuse.of(path or earlier, small, rerun)
    return run_cell(small.cells[0], small, shared=earlier.parents[1] / "shared", reuse=reuse)


@pytest.mark.parametrize("rerun", [["betarce"], ["robx"], ["betarce", "betarce-paper"]])
def test_what_is_taken_over_and_what_is_run_again_make_the_records_of_a_full_run(full, rerun):
    small, finished, _ = full
    assert without_times([(small.cells[0], rerun_cell(full, rerun=rerun))]) == without_times(finished)


def test_methods_that_are_taken_over_are_not_asked(full, monkeypatch):
    monkeypatch.setattr(celling.OtherMethods, "run", None)
    content = rerun_cell(full)
    assert {record["status"] for record in of(content["records"], "robx")} == {"found"}


def test_the_file_of_a_cell_and_the_report_say_what_was_taken_over_and_from_where(full, tmp_path):
    small, finished, path = full
    reuse = Reuse.of(path, small, ["betarce"])
    run_plan(small, tmp_path, reuse=reuse, n_jobs=1, verbose=-1)
    stated = read_cell(small.cells[0], small, tmp_path)["reused"]
    assert stated == {"records": "records.csv.gz", "digest": reuse.digest, "methods": ["robx", "betarce-paper"]}
    page = write_reproduction(small, finished_cells(small, tmp_path, small.cells), tmp_path / "report").read_text()
    assert f"* robx, betarce-paper: in 1 cells, from records.csv.gz ({reuse.digest})" in page
    assert "reused" not in finished[0][1]


def changed_copy(path, folder, change):
    """Write the records with one value changed, and the plan beside them."""
    records = change(pd.read_csv(path, keep_default_na=False, dtype=str))
    (folder / "plan.toml").write_text(path.with_name("plan.toml").read_text())
    target = folder / "records.csv.gz"
    target.write_bytes(gzip.compress(records.to_csv(index=False).encode()))
    return target


def test_records_of_other_models_or_members_are_found_out_by_the_base_methods(full, tmp_path):
    def other_audit(records):
        records.loc[records.index[records["method"] == "growing-spheres"][0], "robustness"] = "0.2"
        return records

    copy = changed_copy(full[2], tmp_path, other_audit)
    with pytest.raises(InvalidInput, match=r"of another run: growing-spheres gives row \d+ robustness .* say 0\.2"):
        rerun_cell(full, copy)


def test_records_that_are_not_one_for_each_row_are_refused(full, tmp_path):
    def one_gone(records):
        return records.drop(records.index[records["method"] == "robx"][1])

    copy = changed_copy(full[2], tmp_path, one_gone)
    with pytest.raises(InvalidInput, match="not one for each row of robx, growing-spheres"):
        rerun_cell(full, copy)


def test_a_file_that_changes_under_a_run_is_refused(full, tmp_path):
    small, _, path = full
    copy = changed_copy(path, tmp_path, lambda records: records)
    reuse = Reuse.of(copy, small, ["betarce"])
    copy.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(InvalidInput, match="has changed since this run began"):
        run_cell(small.cells[0], small, reuse=reuse)


@pytest.mark.parametrize(
    "content",
    [
        b"no gzip",
        gzip.compress(b"a,b\n1,2\n", mtime=0),
        gzip.compress(b"\xff", mtime=0),
        gzip.compress(b"a,b\n" * 999, mtime=0)[:10] + b"\xff" * 40,
        gzip.compress(b"a,b\n" * 999, mtime=0)[:-12],
        gzip.compress(b'a,"' + b"b" * 200_000, mtime=0),
    ],
    ids=["no gzip", "no records", "no text", "damaged", "cut off", "a long value"],
)
def test_what_is_no_file_of_records_is_refused(full, content, tmp_path):
    copy = changed_copy(full[2], tmp_path, lambda records: records)
    copy.write_bytes(content)
    with pytest.raises(CorruptFile, match="The records to reuse"):
        rerun_cell(full, copy)


def test_records_that_unfold_to_too_much_are_refused(full, tmp_path, monkeypatch):
    copy = changed_copy(full[2], tmp_path, lambda records: records)
    copy.write_bytes(gzip.compress(b"0" * 10_000_000, mtime=0))
    monkeypatch.setattr("betarce.paper.reuse.MOST_BYTES", 1_000_000)
    with pytest.raises(CorruptFile, match="The records to reuse unfold to more than 1,000,000 bytes"):
        rerun_cell(full, copy)


def test_a_line_of_records_that_cannot_be_read_is_said(full, tmp_path):
    copy = changed_copy(full[2], tmp_path, lambda records: records.assign(row="many"))
    with pytest.raises(CorruptFile, match="have a line that cannot be read: invalid literal"):
        rerun_cell(full, copy)


@pytest.mark.parametrize(
    ("keys", "named"),
    [
        ({"seed": 1}, "'robx', 'betarce-paper'"),
        ({"tuning_rows": 2}, "'robx', 'betarce-paper'"),
        ({"methods": {**METHODS, "robx": {}}}, "'robx'"),
        ({"methods": {**METHODS, "nice": {}}}, "'nice'"),
        ({"methods": {**METHODS, "betarce-paper": {"parameters": {"n_models": 20}}}}, "'betarce-paper'"),
        ({"deltas": [0.7]}, "'betarce-paper'"),
        ({"prior": "exact"}, "'betarce-paper'"),
        ({"bases": ["nice"]}, "'robx', 'betarce-paper'"),
        (
            {"methods": {name: METHODS[name] for name in METHODS if name != "growing-spheres"}},
            "'robx', 'betarce-paper'",
        ),
    ],
    ids=str,
)
def test_a_method_that_is_defined_otherwise_must_be_run_again(full, keys, named):
    _, _, path = full
    with pytest.raises(InvalidInput, match=f"`rerun` must name every method that is defined otherwise .* add {named}"):
        Reuse.of(path, plan(**keys), ["betarce"])


def test_a_choice_of_cells_and_a_changed_definition_of_what_is_run_again_do_not_matter(full):
    _, _, path = full
    methods = {**METHODS, "betarce": {"parameters": {"n_models": 20}}}
    assert Reuse.of(path, plan(run_folds=[1], methods=methods), ["betarce"]).methods == ("robx", "betarce-paper")


def test_the_prior_that_a_form_has_by_itself_is_no_change(full, tmp_path):
    _, _, path = full
    (tmp_path / "plan.toml").write_text(toml({"prior": "jeffreys", **DOCUMENT}))
    (tmp_path / "records.csv.gz").write_bytes(path.read_bytes())
    assert Reuse.of(tmp_path / "records.csv.gz", plan(), ["betarce"]).methods == ("robx", "betarce-paper")


@pytest.mark.parametrize(
    ("rerun", "message"),
    [([], "`rerun` must name methods of the plan, such as 'betarce-paper'; got none"), (["x"], "got 'x'")],
)
def test_what_is_run_again_must_be_named(full, rerun, message):
    small, _, path = full
    with pytest.raises(InvalidInput, match=message):
        Reuse.of(path, small, rerun)


def test_a_file_that_is_not_there_is_named(full, tmp_path):
    small, _, path = full
    with pytest.raises(InvalidInput, match="There is no plan"):
        Reuse.of(tmp_path / "records.csv.gz", small, ["betarce"])
    (tmp_path / "plan.toml").write_text(path.with_name("plan.toml").read_text())
    with pytest.raises(InvalidInput, match="`reuse` must be a file of records"):
        Reuse.of(tmp_path / "records.csv.gz", small, ["betarce"])


def test_published_records_lose_nothing_on_the_way_through_a_run():
    path = PUBLISHED / "confidence" / "records.csv.gz"
    lines = pd.read_csv(path, keep_default_na=False, dtype=str)
    small = plan(
        data=["heloc"], families=["network"], spaces=["seed", "bootstrap", "architecture"], run_folds=[0, 1, 2]
    )
    reuse = Reuse(str(path), Reuse.of(path, read_plan("confidence"), ["betarce"]).digest, (), 30)
    cells = [
        (cell, {"records": [record for entry in reuse.records_of(cell).values() for record in entry]})
        for cell in small.cells
    ]
    assert gzip.decompress(compressed(records_table(cells))) == gzip.decompress(path.read_bytes())
    assert len(lines) == sum(len(content["records"]) for _, content in cells)
    assert json.dumps(cells[0][1])
