"""`betarce serve` as typed: a real process, a real socket, and what it says when it cannot start."""

import json
import socket
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from betarce.runs.manifest import TableSource
from betarce.runs.saving import save_run
from loan_desk import loan_explainer, rejected_rows, served

pytest.importorskip("starlette")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("desk")
    loan_explainer().save(folder / "run")
    rejected_rows().to_csv(folder / "rows.csv", index=False)
    return folder


def refused(*words):
    command = [sys.executable, "-m", "betarce", "serve", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    return " ".join(done.stderr.replace("│", " ").split())


def test_it_prints_an_address_that_answers_and_stops_when_asked(place):
    with served(place / "run", "--rows", place / "rows.csv", "--title", "Loans <of> March") as (server, url):
        page = urllib.request.urlopen(url, timeout=20).read().decode()
        assert "Loans &lt;of&gt; March" in page
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(url.rsplit("/", 2)[0] + "/", timeout=20)
    assert server.returncode == 0


def test_a_port_in_use_is_said_before_anything_is_loaded(place):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert f"--port must be free; {port} is in use. Choose another one" in refused(place / "run", "--port", port)


def test_an_address_of_another_machine_is_refused(place):
    assert "--host must be an address of this machine" in refused(place / "run", "--host", "203.0.113.7", "--port", 0)


def test_what_is_not_there_is_named(place):
    assert "There is no run in" in refused(place / "nowhere", "--port", 0)
    assert "rows.txt" in refused(place / "run", "--rows", place / "rows.txt", "--port", 0)
    assert "nobody.db" in refused(place / "run", "--ledger", place / "nobody.db", "--port", 0)


def test_rows_without_a_column_of_the_run_are_refused(place, tmp_path):
    rejected_rows().drop(columns="debt").to_csv(tmp_path / "rows.csv", index=False)
    assert "debt" in refused(place / "run", "--rows", tmp_path / "rows.csv", "--port", 0)


def test_words_that_meant_missing_in_the_training_table_mean_so_in_the_rows(tmp_path):
    save_run(loan_explainer(), tmp_path / "run", source=TableSource(label="answer", missing=("not asked",)))
    rejected_rows().assign(score="not asked").to_csv(tmp_path / "rows.csv", index=False)
    with served(tmp_path / "run", "--rows", tmp_path / "rows.csv") as (_, url):
        row = json.load(urllib.request.urlopen(f"{url}api/row/0", timeout=20))
    place = list(loan_explainer().features_.form.names).index("score")
    assert row["values"][place] is None
