"""A small file of rows that unfolds to much: read in bounded memory, or refused before it is unfolded."""

import json
import subprocess
import sys

import numpy as np
import pytest

from betarce.errors import InvalidInput
from betarce.runs.row_files import RowFiles

arrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

READ = """
import resource, sys
from betarce.runs.row_files import RowFiles
RowFiles.at(sys.argv[1]).survey()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
n_rows = sum(len(part) for part in RowFiles.at(sys.argv[1], columns=("age",)).parts(500))
print(n_rows, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def read_elsewhere(path):
    """Read all rows in a process of its own; say how many there are, and how much more memory that took, in kB."""
    done = subprocess.run([sys.executable, "-c", READ, path], capture_output=True, text=True, check=True)
    return tuple(map(int, done.stdout.split()))


def write(path, columns, **options):
    parquet.write_table(arrow.table(columns), path, compression="zstd", store_schema=False, **options)
    assert path.stat().st_size < 10_000
    return path


@pytest.mark.slow
def test_a_long_text_in_every_row_is_held_once(tmp_path):
    texts = arrow.DictionaryArray.from_arrays(arrow.array(np.zeros(10_000, dtype=np.int32)), ["a" * 1_000_000])
    n_rows, memory = read_elsewhere(write(tmp_path / "rows.parquet", {"age": texts}))
    assert n_rows == 10_000
    assert memory < 100_000, "ten thousand texts of a megabyte each were unfolded"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["age", "other"])
def test_long_lists_are_not_unfolded(tmp_path, name):
    lists = arrow.array([[0] * 1_000_000] * 30, type=arrow.list_(arrow.int64()))
    _, memory = read_elsewhere(write(tmp_path / "rows.parquet", {name: lists, "id": arrow.array([1] * 30)}))
    assert memory < 100_000


def test_a_list_in_a_cell_is_told_apart_from_a_missing_value(tmp_path):
    path = write(tmp_path / "rows.parquet", {"age": arrow.array([[1], [2, 3]])})
    [part] = RowFiles.at(path, columns=("age",)).parts(10)
    assert part["age"].tolist() == ["<list<element: int64>>"] * 2


def test_a_column_that_unfolds_to_too_much_is_refused_before_it_is_unfolded(tmp_path, monkeypatch):
    path = write(tmp_path / "rows.parquet", {"age": arrow.array(["a" * 100_000] * 20)}, use_dictionary=False)
    monkeypatch.setattr("betarce.runs.parquet_rows.MOST_UNFOLDED", 1_000_000)
    with pytest.raises(
        InvalidInput, match=r"its column 'age' unfolds to 2,00\d,\d+ bytes in one row group; at most 1,0"
    ):
        list(RowFiles.at(path, columns=("age",)).parts(10))
    assert len(list(RowFiles.at(path, columns=("other",)).parts(10))) == 2  # nobody needs it


def test_a_parquet_file_that_names_a_column_twice_is_refused(tmp_path):
    table = arrow.table([arrow.array([1]), arrow.array([2])], names=["age", "age"])
    parquet.write_table(table, tmp_path / "rows.parquet")
    with pytest.raises(InvalidInput, match=r"rows.parquet' names the columns 'age' more than once"):
        list(RowFiles.at(tmp_path / "rows.parquet").parts(10))


def test_text_that_is_not_utf8_in_parquet_ends_in_an_error_of_our_own(tmp_path):
    buffers = arrow.array([b"\xff\xfe", b"ok"]).buffers()
    write(tmp_path / "rows.parquet", {"age": arrow.Array.from_buffers(arrow.string(), 2, buffers)})
    with pytest.raises(InvalidInput, match="cannot be read as Parquet"):
        list(RowFiles.at(tmp_path / "rows.parquet").parts(10))


def test_a_parquet_file_gives_the_same_rows_whether_or_not_columns_are_named(tmp_path):
    columns = {"age": arrow.array([1, None]), "job": arrow.array(["a", None]), "b.c": arrow.array(["x", "y"])}
    path = write(tmp_path / "rows.parquet", {**columns, "extra": arrow.array([7, 8])})
    [whole] = RowFiles.at(path).parts(10)
    [needed] = RowFiles.at(path, columns=tuple(columns)).parts(10)
    assert whole[list(columns)].equals(needed[list(columns)])
    assert needed.columns.tolist() == whole.columns.tolist()
    assert needed["extra"].isna().all()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"age": 1, "age": 2}', "it names a column more than once"),
        (f'{{"age": {"9" * 4000}}}', "a whole number has more than 100 digits"),
        ('{"age": ' + "[" * 100_000 + "]" * 100_000 + "}", "is not JSON"),
        ("[1]", "must be an object, one value per column"),
    ],
)
def test_odd_json_lines_are_refused_with_their_number(tmp_path, line, message):
    (tmp_path / "rows.jsonl").write_text(f'{{"age": 1}}\n\n{line}\n')
    with pytest.raises(InvalidInput, match=f"Line 3 of .*{message}"):
        list(RowFiles.at(tmp_path / "rows.jsonl").parts(10))


def test_a_line_without_end_is_not_waited_for(tmp_path, monkeypatch):
    (tmp_path / "rows.jsonl").write_text('{"age": 1}\n{"age": "' + "a" * 5000)
    monkeypatch.setattr("betarce.runs.json_lines.MOST_LINE", 1000)
    with pytest.raises(InvalidInput, match=r"Line 2 of .*rows.jsonl' has more than 1,000 characters"):
        list(RowFiles.at(tmp_path / "rows.jsonl").parts(10))


def test_lines_that_all_have_other_columns_make_no_table_of_all_of_them(tmp_path):
    lines = [json.dumps({"age": i, f"other {i}": 1}) for i in range(3000)]
    (tmp_path / "rows.jsonl").write_text("\n".join(lines))
    [part] = RowFiles.at(tmp_path / "rows.jsonl", columns=("age",)).parts(3000)
    assert part["age"].tolist() == list(range(3000))
    assert part.shape[1] < 30
