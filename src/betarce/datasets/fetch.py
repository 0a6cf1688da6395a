"""Download tables into a cache that is checked on every read."""

import hashlib
import http.client
import io
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from betarce.errors import CorruptFile, DataUnavailable, InvalidInput, require
from betarce.storage.files import make_folder, write_whole

Fetch = Callable[[], pd.DataFrame]

# Errors of a broken answer, for example the login page of a hotel instead of the table.
_BROKEN_ANSWER = (http.client.HTTPException, ValueError)


def cache_dir() -> Path:
    """Give the folder of the cache: BETARCE_CACHE_DIR, or the cache folder of the platform.

    Examples
    --------
    >>> from unittest.mock import patch
    >>> with patch.dict(os.environ, BETARCE_CACHE_DIR="/tmp/tables"):
    ...     cache_dir().as_posix()
    '/tmp/tables'
    """
    if chosen := os.environ.get("BETARCE_CACHE_DIR"):
        return Path(chosen).expanduser()
    variable, fallback = (
        ("LOCALAPPDATA", "~/AppData/Local") if sys.platform == "win32" else ("XDG_CACHE_HOME", "~/.cache")
    )
    return Path(os.environ.get(variable) or fallback).expanduser() / "betarce"


def from_uci(dataset_id: int, *, target: str, file: str) -> pd.DataFrame:
    """Download a table of the UCI repository, its only target last, under the name `target`."""
    repository = require(
        "ucimlrepo",
        extra="data",
        purpose=f"Downloading {file} (it is neither in BETARCE_DATA_DIR nor in the cache)",
    )
    try:
        data = repository.fetch_ucirepo(id=dataset_id).data
    except (repository.DatasetNotFoundError, *_BROKEN_ANSWER) as error:
        raise ConnectionError(str(error)) from error
    features: pd.DataFrame = data.features
    return features.assign(**{target: data.targets.iloc[:, 0]})


def from_openml(data_id: int, *, target: str) -> pd.DataFrame:
    """Download a table of OpenML, its target last, under the name `target`."""
    from sklearn.datasets import fetch_openml

    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="A network error occurred")  # if it lasts, we say so
            # Not its cache: ours is the one that is checked on every reading.
            bunch = fetch_openml(data_id=data_id, as_frame=True, cache=False, n_retries=1, parser="pandas")
    except _BROKEN_ANSWER as error:
        raise ConnectionError(str(error)) from error
    features: pd.DataFrame = bunch.data
    return features.assign(**{target: bunch.target})


def read_table(path: Path) -> pd.DataFrame:
    """Read a csv file.

    Raises
    ------
    CorruptFile
        If the file is not a table.
    """
    return _parse(path.read_bytes(), path)


def read_cached(path: Path) -> pd.DataFrame | None:
    """Read a table of the cache, or give None if it is not there.

    Raises
    ------
    CorruptFile
        If the file is not the one that was written.
    """
    digest_path = _digest_path(path)
    if not (path.is_file() and digest_path.is_file()):
        return None
    content = path.read_bytes()
    if digest_path.read_text(encoding="utf-8", errors="replace").split()[:1] != [_digest(content)]:
        raise CorruptFile(
            f"{path} is not the file that was downloaded: its sha256 differs from the one in "
            f"{digest_path.name}. Delete {path} to download it again."
        )
    return _parse(content, path)


def download(path: Path, *, fetch: Fetch, check: Callable[[pd.DataFrame], object], otherwise: str) -> pd.DataFrame:
    """Fetch a table, check it, then write it to the cache.

    Parameters
    ----------
    path : Path
        The file of the cache to write. It appears whole or not at all.
    fetch : callable () -> DataFrame
        Gets the table; raises OSError where it cannot be reached.
    check : callable (DataFrame) -> object
        Raises if this is not the right table. It sees the table as a later reading will see it.
    otherwise : str
        What users can do if the table cannot be reached; the end of the message.

    Returns
    -------
    DataFrame
        What :func:`read_cached` will give from now on.
    """
    try:
        fetched = fetch()
    except OSError as error:
        raise DataUnavailable(f"{path.name} could not be downloaded: {error}. {otherwise}") from error
    content = fetched.to_csv(index=False, lineterminator="\n").encode()
    table = _parse(content, path)
    check(table)
    try:
        _keep(path, content)
    except (OSError, InvalidInput) as error:
        raise DataUnavailable(
            f"{path.name} was downloaded, but it cannot be kept in {path.parent}: {error}. "
            "Set BETARCE_CACHE_DIR to a folder that can be written."
        ) from error
    return table


def _keep(path: Path, content: bytes) -> None:
    digest_path = _digest_path(path)
    make_folder(path.parent)
    digest_path.unlink(missing_ok=True)  # an old digest would condemn the new file if we were stopped here
    write_whole(path, content)
    write_whole(digest_path, f"{_digest(content)}  {path.name}\n")


def _parse(content: bytes, path: Path) -> pd.DataFrame:
    try:
        return pd.read_csv(io.BytesIO(content))
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise CorruptFile(f"{path} is not a csv table: {error}. Replace or delete it.") from error


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _digest_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")  # in the form that `sha256sum --check` reads
