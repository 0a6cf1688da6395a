"""From files of rows to a file of answers: the answers of `explain`, whatever the format, the engine and the kills."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from typer.testing import CliRunner

from betarce import BetaRCE, immutable
from betarce.cli import app
from betarce.errors import CorruptFile, InvalidInput
from betarce.results.answer_table import answer_table
from betarce.runs.file_to_file import explain_file
from betarce.runs.part_folder import PartFolder
from betarce.runs.row_files import RowFiles
from small_problem import ENCODER, LABELS, TABLE

ROWS = TABLE[:16].assign(id=[f"p{i}" for i in range(16)])


@pytest.fixture(scope="module")
def rce():
    model = make_pipeline(ENCODER, LogisticRegression(C=100, max_iter=1000))
    rules = {"c": immutable()}
    return BetaRCE(model, features=rules, n_models=(8, 46), random_state=0, verbose=-1).fit(TABLE, LABELS)


@pytest.fixture(scope="module")
def expected(rce):
    return answer_table(rce.explain(TABLE[:16].set_axis(range(1, 17)), target=1))


def explained(rce, rows, out, **options):
    """Explain in parts of seven rows."""
    return explain_file(rce, rows, out, **{"target": 1, "part_rows": 7, "verbose": -1, **options})


def write(table, path):
    if path.suffix == ".csv":
        table.to_csv(path, index=False)
    elif path.suffix == ".parquet":
        table.to_parquet(path, index=False)
    else:
        path.write_text("".join(f"{json.dumps(record)}\n" for record in table.to_dict(orient="records")))
    return path


def read(path):
    if path.suffix == ".csv":
        return pd.read_csv(path, dtype=str)
    if path.suffix == ".parquet":
        return pd.read_parquet(path)
    return pd.DataFrame([json.loads(line) for line in path.read_text().splitlines()])


def same(table, expected):
    assert list(table.columns) == list(expected.columns)
    for name in expected.columns:
        # An empty text is a missing value to CSV.
        ours, theirs = (part[name].astype(object).replace("", None) for part in (table, expected))
        assert ours.isna().tolist() == theirs.isna().tolist(), name
        left, right = ours.dropna().tolist(), theirs.dropna().tolist()
        assert (left == right) or [str(value) for value in left] == [str(value) for value in right], name
    return True


@pytest.mark.parametrize(("rows", "out"), [("csv", "parquet"), ("parquet", "jsonl"), ("parquet", "csv")])
def test_every_format_gets_the_answers_of_explain(rce, expected, tmp_path, rows, out):
    source, path = write(ROWS, tmp_path / f"rows.{rows}"), tmp_path / f"answers.{out}"
    answers = explained(rce, source, path)
    assert same(read(path), expected)
    assert (answers.n_rows, answers.n_from_before) == (16, 0)
    assert answers.statuses == expected["status"].value_counts().to_dict()
    assert not (tmp_path / f"answers.{out}.parts").exists()


def test_json_lines_and_a_folder_of_parts_are_read_as_one_table(rce, expected, tmp_path):
    folder = tmp_path / "rows"
    folder.mkdir()
    (folder / "_SUCCESS").touch()
    write(ROWS[:11], folder / "part-0.jsonl")
    write(ROWS[11:], folder / "part-1.jsonl")
    explained(rce, folder, tmp_path / "answers.csv")
    assert same(read(tmp_path / "answers.csv"), expected)


def test_a_row_that_cannot_be_read_has_its_line_and_spoils_no_other(rce, expected, tmp_path):
    table = ROWS.astype(object)
    table.loc[3, "a"] = "a lot"
    table.loc[5, "d"] = "unheard of"
    explained(rce, write(table, tmp_path / "rows.csv"), tmp_path / "answers.csv")
    written = read(tmp_path / "answers.csv")
    assert written.index[written["status"] == "unreadable"].tolist() == [3, 5]
    assert "must hold numbers in column 'a'" in written["reason"][3]
    others = [i for i in range(16) if i not in (3, 5)]
    assert same(written.loc[others], expected.loc[others])


def test_rows_are_called_by_a_column_and_limited(rce, expected, tmp_path):
    path = tmp_path / "answers.csv"
    answers = explained(rce, write(ROWS, tmp_path / "rows.csv"), path, names="id", limit=9)
    assert read(path)["row"].tolist() == ROWS["id"][:9].tolist()
    assert answers.n_rows == 9


class Stopped(Exception):
    pass


def test_work_that_was_stopped_goes_on_and_ends_in_the_same_file(rce, tmp_path, monkeypatch):
    rows, path = write(ROWS, tmp_path / "rows.csv"), tmp_path / "answers.parquet"
    explained(rce, rows, path)
    whole = path.read_bytes()
    write_part = PartFolder.write

    def stop(folder, number, table):
        if number == 1:
            raise Stopped
        write_part(folder, number, table)

    with monkeypatch.context() as patch:
        patch.setattr(PartFolder, "write", stop)
        with pytest.raises(Stopped):
            explained(rce, rows, path)
    assert path.read_bytes() == whole
    path.unlink()
    assert explained(rce, rows, path).n_from_before == 7
    assert path.read_bytes() == whole


def test_parts_of_other_work_and_damaged_parts_are_refused(rce, tmp_path, monkeypatch):
    rows, path = write(ROWS, tmp_path / "rows.csv"), tmp_path / "answers.csv"

    def stop(folder, out, n_parts):
        raise Stopped

    with monkeypatch.context() as patch:
        patch.setattr(PartFolder, "join", stop)
        with pytest.raises(Stopped):
            explained(rce, rows, path)
    with pytest.raises(InvalidInput, match="other rows, another run, or other options"):
        explained(rce, rows, path, target=0)
    part = tmp_path / "answers.csv.parts" / "part-000001.csv"
    part.write_text(part.read_text().replace("certified", "certifled"))
    with pytest.raises(CorruptFile, match="was damaged"):
        explained(rce, rows, path)
    assert explained(rce, rows, path).n_from_before == 7


def test_files_that_cannot_be_used_are_refused_with_advice(rce, tmp_path):
    rows = write(ROWS, tmp_path / "rows.csv")
    with pytest.raises(InvalidInput, match=r"must end in .csv, .parquet or .jsonl"):
        explained(rce, rows, tmp_path / "answers.xlsx")
    with pytest.raises(InvalidInput, match="There is no file or folder"):
        explained(rce, tmp_path / "none.csv", tmp_path / "answers.csv")
    with pytest.raises(InvalidInput, match="lacks columns that the model was trained on: 'a'"):
        explained(rce, write(ROWS.drop(columns="a"), tmp_path / "b.csv"), tmp_path / "answers.csv")
    (tmp_path / "bad.jsonl").write_text('{"a": 1}\n[2]\n')
    with pytest.raises(InvalidInput, match=r"Line 2 of .* must be an object"):
        list(RowFiles.at(tmp_path / "bad.jsonl").parts(10))
    (tmp_path / "bad.parquet").write_text("no")
    with pytest.raises(InvalidInput, match="cannot be read as Parquet"):
        explained(rce, tmp_path / "bad.parquet", tmp_path / "answers.csv")
    (tmp_path / "twice.csv").write_text("a,a\n1,2\n")
    with pytest.raises(InvalidInput, match="more than once"):
        list(RowFiles.at(tmp_path / "twice.csv").parts(10))
    (tmp_path / "long.csv").write_text("a,b\n1,2\n1,2,3\n")
    with pytest.raises(InvalidInput, match="line 3 has 3 values"):
        list(RowFiles.at(tmp_path / "long.csv").parts(10))


def test_the_command_writes_tables_and_refuses_what_they_cannot_hold(rce, expected, tmp_path):
    rce.save(tmp_path / "run", n_audit=0)
    rows, out = write(ROWS, tmp_path / "rows.parquet"), tmp_path / "answers.jsonl"
    command = ["explain", str(rows), "--from", str(tmp_path / "run"), "--target", "1"]
    done = CliRunner().invoke(app, [*command, "--out", str(out), "--jobs", "1", "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["rows"] == 16
    assert same(read(out), expected)
    for options, message in [
        (["--out", str(out), "--report", "page.html"], "--report takes an --out that ends in .json"),
        (["--out", str(out), "--engine", "dusk"], "--engine must be one of local, dask, ray"),
        ([], "need --from, and an --out that ends in"),
    ]:
        failed = CliRunner().invoke(app, [*command, *options])
        assert failed.exit_code == 2
        assert message in " ".join(failed.stderr.split())


KILLED = """
import sys
import betarce as brce
from betarce.runs import explain_file
out, n_jobs = sys.argv[3], int(sys.argv[4])
explain_file(brce.load(sys.argv[1]), sys.argv[2], out, target=1, n_jobs=n_jobs, part_rows=40, verbose=-1)
"""


def test_a_kill_while_the_parts_are_removed_leaves_nothing_that_looks_damaged(tmp_path, monkeypatch):
    out, answers = tmp_path / "answers.csv", pd.DataFrame({"status": ["certified"]})

    def killed(folder, **options):
        (folder / "part-000000.csv").unlink()
        raise KeyboardInterrupt

    parts = PartFolder.beside(out, "csv", {"rows": 1})
    parts.write(0, answers)
    with monkeypatch.context() as patched:
        patched.setattr("betarce.runs.part_folder.shutil.rmtree", killed)
        with pytest.raises(KeyboardInterrupt):
            parts.join(out, 1)
    assert out.read_text() == "status\ncertified\n"
    again = PartFolder.beside(out, "csv", {"rows": 1})
    assert not again.has(0)
    again.write(0, answers)
    again.join(out, 1)
    assert [path.name for path in tmp_path.iterdir()] == ["answers.csv"]


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_killed_at_random_moments_and_resumed_the_output_is_the_same_file(rce, tmp_path, n_jobs):
    rce.save(tmp_path / "run", n_audit=0)
    rows = write(pd.concat([TABLE] * 4, ignore_index=True), tmp_path / "rows.parquet")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OMP_NUM_THREADS": "1"}

    def start(out):
        command = [sys.executable, "-c", KILLED, *map(str, (tmp_path / "run", rows, out, n_jobs))]
        return subprocess.Popen(command, env=environment)

    begun = time.monotonic()
    assert start(tmp_path / "whole.parquet").wait() == 0
    seconds, rng, kills = time.monotonic() - begun, random.Random(n_jobs), 0
    deadline = time.monotonic() + 8 * seconds
    while kills < 10 and time.monotonic() < deadline:
        process = start(tmp_path / "killed.parquet")
        try:
            process.wait(timeout=rng.uniform(0.3, 1.0) * seconds)
            break
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            kills += 1
    else:
        assert start(tmp_path / "killed.parquet").wait() == 0
    assert (tmp_path / "killed.parquet").read_bytes() == (tmp_path / "whole.parquet").read_bytes()
    assert not (tmp_path / "killed.parquet.parts").exists()
