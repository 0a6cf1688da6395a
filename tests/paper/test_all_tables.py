"""All tables in a folder: whole records give all of them, partial ones say what is left out."""

import pandas as pd
import pytest

from betarce.errors import InvalidInput
from betarce.paper.tables.all_tables import write_tables
from betarce.paper.tables.markdown import markdown_table
from records_by_hand import record, table, whole_paper

NAMES = [
    *("comparison-network-growing-spheres", "comparison-network-dice", "comparison-lightgbm-growing-spheres"),
    *("comparison-logistic-growing-spheres", "agreement", "generalisation", "correlation", "goals"),
]


@pytest.mark.slow
def test_whole_records_give_every_table_twice(tmp_path):
    paths, left_out = write_tables(whole_paper(n_rows=2), tmp_path / "new" / "folder")
    assert left_out == {}
    assert [path.name for path in paths] == [f"{name}.{end}" for name in NAMES for end in ("md", "csv")]
    for path in paths:
        text = path.read_text()
        assert text.endswith("\n")
        if path.suffix == ".md":
            assert text.startswith("# ")
        else:
            assert len(pd.read_csv(path)) > 0
    assert sorted(path.name for path in paths) == sorted(path.name for path in (tmp_path / "new" / "folder").iterdir())


@pytest.mark.slow
def test_partial_records_leave_tables_out_and_say_why(tmp_path):
    lines = [
        record(name, family="logistic", data="breast_cancer", row=row)
        for name in ("growing-spheres", "robx", "betarce-paper", "betarce")
        for row in range(3)
    ]
    paths, left_out = write_tables(table(*lines), tmp_path)
    assert {path.stem for path in paths} == {"comparison-logistic-growing-spheres", "agreement", "correlation", "goals"}
    assert list(left_out) == [*NAMES[:3], "generalisation"]
    assert left_out["comparison-network-dice"] == (
        "There are no records of RobX or BetaRCE for neural network with base counterfactuals of DiCE."
    )


@pytest.mark.slow
def test_records_of_methods_that_the_paper_lacks_have_no_table(tmp_path):
    paths, left_out = write_tables(table(record("nice")), tmp_path)
    assert paths == []
    assert list(left_out) == NAMES


def test_no_records_and_no_folder_are_refused(tmp_path):
    with pytest.raises(InvalidInput, match="No cell of the plan is finished yet"):
        write_tables(pd.DataFrame(), tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInput, match="must be a folder"):
        write_tables(table(record("face")), tmp_path / "file")


def test_a_markdown_cell_never_breaks_its_line():
    frame = pd.DataFrame({"why": ["a | b\n c"]}, index=pd.Index(["x|y"], name="what"))
    assert markdown_table(frame, left=1).splitlines() == ["| what | why |", "|:---|---:|", r"| x\|y | a \| b c |"]
