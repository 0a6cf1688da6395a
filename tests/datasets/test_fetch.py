"""What is in the cache is whole, checked, and what was downloaded."""

import hashlib
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pandas as pd
import pytest

from betarce.datasets import fetch, load
from betarce.datasets.catalogue import CATALOGUE
from betarce.errors import CorruptFile, DataUnavailable, MissingExtra

ROOT = Path(__file__).parents[2]
SHARED = Path(os.environ.get("BETARCE_DATA_DIR") or ROOT.parent / "shared" / "data")
TABLE = pd.DataFrame({"size": [0.1, 1 / 3, 2e-17], "count": [1, 2, 3], "kind": ["a", "b", "ü"]})


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    monkeypatch.delenv("BETARCE_DATA_DIR", raising=False)
    monkeypatch.setenv("BETARCE_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def shared():
    if not SHARED.is_dir():
        pytest.skip(f"the csv files of the paper are not in {SHARED}")
    return SHARED


def accept(table):
    return table


def download(path, table=TABLE, check=accept):
    return fetch.download(path, fetch=lambda: table, check=check, otherwise="Do without.")


def raising(error):
    def fail(*args, **options):
        raise error

    return fail


def test_what_was_downloaded_is_what_is_read_later(cache):
    path = cache / "table.csv"
    pd.testing.assert_frame_equal(download(path), TABLE)
    pd.testing.assert_frame_equal(fetch.read_cached(path), TABLE)


def test_the_digest_is_one_that_sha256sum_can_check(cache):
    download(cache / "table.csv")
    digest, name = (cache / "table.csv.sha256").read_text().split()
    assert (digest, name) == (hashlib.sha256((cache / "table.csv").read_bytes()).hexdigest(), "table.csv")


def test_nothing_but_the_table_and_its_digest_is_left_in_the_cache(cache):
    download(cache / "table.csv")
    assert sorted(path.name for path in cache.iterdir()) == ["table.csv", "table.csv.sha256"]


def test_an_empty_cache_has_nothing(cache):
    assert fetch.read_cached(cache / "table.csv") is None


@pytest.mark.parametrize("lost", ["table.csv", "table.csv.sha256"])
def test_a_table_or_a_digest_alone_counts_as_nothing(cache, lost):
    download(cache / "table.csv")
    (cache / lost).unlink()
    assert fetch.read_cached(cache / "table.csv") is None
    download(cache / "table.csv")
    pd.testing.assert_frame_equal(fetch.read_cached(cache / "table.csv"), TABLE)


def test_a_changed_table_is_refused_by_name(cache):
    path = cache / "table.csv"
    download(path)
    path.write_bytes(path.read_bytes().replace(b"0.1", b"0.2"))
    with pytest.raises(CorruptFile) as caught:
        fetch.read_cached(path)
    assert str(caught.value) == (
        f"{path} is not the file that was downloaded: its sha256 differs from the one in table.csv.sha256. "
        f"Delete {path} to download it again."
    )


@pytest.mark.parametrize("content", [b"", b"\xff\xfe"], ids=["empty", "no text"])
def test_a_digest_that_says_nothing_is_refused(content, cache):
    download(cache / "table.csv")
    (cache / "table.csv.sha256").write_bytes(content)
    with pytest.raises(CorruptFile, match="sha256 differs"):
        fetch.read_cached(cache / "table.csv")


def test_a_table_that_fails_its_check_is_not_kept(cache):
    with pytest.raises(CorruptFile, match="wrong"):
        download(cache / "table.csv", check=raising(CorruptFile("wrong")))
    assert not cache.exists()


@pytest.mark.slow
@pytest.mark.parametrize("replacements", [0, 1], ids=["before the table", "between table and digest"])
def test_a_process_killed_while_writing_leaves_no_half_file(cache, replacements):
    path = cache / "table.csv"
    program = f"""
import os, pandas as pd
from pathlib import Path
from betarce.datasets import fetch

replace, left = os.replace, {replacements}

def die(*args):
    global left
    if left == 0:
        os._exit(9)
    left -= 1
    replace(*args)

os.replace = die
table = pd.DataFrame({{"a": range(1000)}})
fetch.download(Path({str(path)!r}), fetch=lambda: table, check=lambda t: t, otherwise="")
"""
    killed = subprocess.run([sys.executable, "-c", program], check=False)
    assert killed.returncode == 9
    assert path.exists() == (replacements == 1)
    assert fetch.read_cached(path) is None
    download(path)
    pd.testing.assert_frame_equal(fetch.read_cached(path), TABLE)


def test_an_interrupted_write_takes_its_temporary_file_away(cache, monkeypatch):
    monkeypatch.setattr(os, "replace", raising(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        download(cache / "table.csv")
    assert list(cache.iterdir()) == []


def test_a_cache_that_cannot_be_written_says_what_to_set(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(DataUnavailable, match=r"cannot be kept in .*Set BETARCE_CACHE_DIR to a folder"):
        download(tmp_path / "file" / "table.csv")


def test_no_network_names_the_three_ways(cache):
    with pytest.raises(DataUnavailable) as caught:
        load("rice", fetch=raising(ConnectionError("no route to host")))
    message = str(caught.value)
    assert message.startswith("rice.csv could not be downloaded: no route to host. To get it: (1) connect")
    for way in (str(cache), "set BETARCE_DATA_DIR to its folder", "pass that folder as `data_dir`"):
        assert way in message
    assert not cache.exists()


def test_the_real_openml_client_without_a_network_ends_in_data_unavailable(monkeypatch):
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    monkeypatch.setattr(socket, "getaddrinfo", raising(socket.gaierror("Name or service not known")))
    with pytest.raises(DataUnavailable, match=r"diabetes\.csv could not be downloaded: .*not known"):
        load("diabetes")


def test_a_download_is_checked_against_the_catalogue_before_it_is_kept(cache):
    with pytest.raises(
        CorruptFile, match=r"the download of rice\.csv is not the 'rice' data: column 'Area' is missing"
    ):
        load("rice", fetch=lambda: TABLE)
    assert not cache.exists()


@pytest.mark.parametrize("name", CATALOGUE)
def test_a_download_gives_the_data_set_of_the_file_now_and_later(name, shared, cache):
    expected = load(name, data_dir=shared)
    if CATALOGUE[name].bundled is None:
        calls = []
        first = load(name, fetch=lambda: calls.append(1) or pd.read_csv(shared / CATALOGUE[name].file))
        pd.testing.assert_frame_equal(first.X, expected.X)
        assert calls == [1]
    later = load(name, download=False)
    pd.testing.assert_frame_equal(later.X, expected.X)
    pd.testing.assert_series_equal(later.y, expected.y)


def test_a_corrupt_cache_is_refused_by_load(cache):
    table = load("breast_cancer").X.assign(diagnosis=["M"] * 212 + ["B"] * 357)
    path = cache / "breast_cancer.csv"
    download(path, table)
    assert str(path) in load("breast_cancer").source
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(CorruptFile, match="Delete"):
        load("breast_cancer")


@pytest.fixture
def ucimlrepo(monkeypatch):
    """The library as far as it is used, with one table of two features, a target and a column of neither role."""
    module = ModuleType("ucimlrepo")
    module.DatasetNotFoundError = type("DatasetNotFoundError", (Exception,), {})
    original = pd.DataFrame({"a": [1, 2], "b": [3, 4], "color": ["red", "white"], "Class": ["x", "y"]})
    data = SimpleNamespace(original=original, features=original[["a", "b"]], targets=original[["Class"]])
    module.fetch_ucirepo = lambda *, id: SimpleNamespace(data=data)
    monkeypatch.setitem(sys.modules, "ucimlrepo", module)
    return module


def test_uci_tables_are_the_features_then_the_target_under_our_name(ucimlrepo):
    table = fetch.from_uci(545, target="class", file="rice.csv")
    assert table.to_dict("list") == {"a": [1, 2], "b": [3, 4], "class": ["x", "y"]}


@pytest.mark.parametrize("kind", ["not found", "no connection", "login page"])
def test_all_that_uci_can_answer_wrongly_ends_in_data_unavailable(ucimlrepo, kind):
    errors = {
        "not found": ucimlrepo.DatasetNotFoundError("not available"),
        "no connection": ConnectionError("Error connecting to server"),
        "login page": ValueError("Expecting value: line 1 column 1"),
    }
    ucimlrepo.fetch_ucirepo = raising(errors[kind])
    with pytest.raises(DataUnavailable, match=str(errors[kind])):
        load("rice")


def test_without_ucimlrepo_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ucimlrepo", None)
    with pytest.raises(MissingExtra) as caught:
        load("wine")
    assert str(caught.value) == (
        "Downloading wine_quality.csv (it is neither in BETARCE_DATA_DIR nor in the cache) needs `ucimlrepo`. "
        'Install it with: pip install "betarce[data]"'
    )


@pytest.fixture
def openml(monkeypatch):
    """What OpenML 37 answers, made up in the right numbers."""
    names = ["preg", "plas", "pres", "skin", "insu", "mass", "pedi", "age"]
    data = pd.DataFrame([[float(row + column) for column in range(8)] for row in range(768)], columns=names)
    target = pd.Series(["tested_positive"] * 268 + ["tested_negative"] * 500, dtype="category", name="class")
    asked = []

    def fetch_openml(**options):
        asked.append(options)
        return SimpleNamespace(data=data, target=target)

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch_openml)
    return asked


def test_the_table_of_openml_takes_the_form_of_the_file(openml):
    data = load("diabetes")
    assert list(data.X) == list(CATALOGUE["diabetes"].features)
    assert data.y.tolist() == [1] * 268 + [0] * 500
    assert data.X["Glucose"].tolist()[:3] == [1, 2, 3]
    assert openml[0]["data_id"] == 37
    assert openml[0]["cache"] is False, "a second, unchecked cache"


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {"BETARCE_CACHE_DIR": "/a/b"}, "/a/b"),
        ("linux", {"XDG_CACHE_HOME": "/x"}, "/x/betarce"),
        ("linux", {"HOME": "/home/ada"}, "/home/ada/.cache/betarce"),
        ("win32", {"LOCALAPPDATA": "/local", "XDG_CACHE_HOME": "/x"}, "/local/betarce"),
    ],
)
def test_the_cache_is_where_the_platform_keeps_caches(monkeypatch, platform, variables, expected):
    for name in ("BETARCE_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    assert fetch.cache_dir() == Path(expected)
