"""`.skops` files: scikit-learn models without pickle, where the caller says which further types are trusted.

skops trusts scikit-learn's estimators and numpy. betarce adds the parts of those that it checks itself, and its own
classes. Everything else is for the caller to trust by name; what a file says about itself counts for nothing.
"""

import io
import json
import math
import zipfile
from collections.abc import Mapping, Sequence
from tokenize import TokenError
from typing import Any

import numpy as np

from betarce.errors import CorruptFile, InvalidInput, require
from betarce.models.stored.trees import check_inside
from betarce.storage.files import MOST_BYTES

_SCHEMA = "schema.json"
_HEADER = 2**14  # bytes; the longest header that numpy reads has fewer
_DATE = (1980, 1, 1, 0, 0, 0)  # the first that a zip file can hold
_FAULTS: tuple[type[Exception], ...] = (
    *(KeyError, ValueError, TypeError, AttributeError, IndexError, OverflowError, RecursionError, ImportError),
    *(OSError, NotImplementedError, MemoryError, SyntaxError, TokenError, zipfile.BadZipFile),
)
_SHARED = ("DictNode", "ListNode", "NdArrayNode", "ObjectNode", "TreeNode")
_CONSTANTS = (*(f"{kind}{bits}" for kind in ("float", "int", "uint") for bits in (8, 16, 32, 64)), "bool", "str_")
_HIST = "sklearn.ensemble._hist_gradient_boosting"
_ALWAYS = (
    "betarce.models.network.Network",
    "betarce.models.tabular.columns_by_number",
    "betarce.models.validation.ValidationSplit",
    "collections.OrderedDict",
    "collections.defaultdict",
    "functools.partial",  # the function that it holds must be trusted as well
    "numpy.dtype",
    f"{_HIST}.predictor.TreePredictor",  # `check_inside` looks at the nodes of all trees
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.tree._tree.Tree",
    "sklearn.utils._bunch.Bunch",
    "sklearn.utils.validation.check_array",
)
_WITH: Mapping[str, str] = {
    "lightgbm.sklearn.LGBMClassifier": "lightgbm.basic.Booster",
    "xgboost.sklearn.XGBClassifier": "xgboost.core.Booster",
    "xgboost.sklearn.XGBRFClassifier": "xgboost.core.Booster",
}


def to_skops(model: object) -> bytes:
    """Write a model as skops does, but to the same bytes in every process.

    Raises
    ------
    InvalidInput
        If it holds something that skops cannot write, or could not read again.
    """
    sio = _skops("Storing this model")
    try:
        content: bytes = sio.dumps(model)
        types = sio.get_untrusted_types(data=content)
        sio.loads(content, trusted=types)  # skops writes functions by names under which nothing may be found
    except _FAULTS as error:
        raise InvalidInput(
            f"This {type(model).__name__} cannot be stored without pickle: {type(error).__name__}: {error}. Functions "
            "and classes that it holds must be importable by name: defined in a module, and no lambda."
        ) from error
    return _canonical(content)


def from_skops(content: bytes, *, trust: Sequence[str] = ()) -> Any:
    """Read a model from the content of a `.skops` file.

    Parameters
    ----------
    content : bytes
    trust : sequence of str
        Further types that may be made, such as "lightgbm.sklearn.LGBMClassifier"; with a classifier its booster is
        trusted too.

    Raises
    ------
    InvalidInput
        If the file holds types that nobody trusted; the message names them.
    CorruptFile
        If it is no such file.
    """
    sio = _skops("Reading a .skops file")
    _check_size(content)
    trusted = [*_ALWAYS, *trust, *(_WITH[name] for name in trust if name in _WITH)]
    try:
        unknown = sorted(set(sio.get_untrusted_types(data=content)) - set(trusted))
        if unknown:
            raise InvalidInput(_advice(unknown))
        model = sio.loads(content, trusted=trusted)
        check_inside(model)
    except InvalidInput:
        raise
    except _FAULTS as error:
        raise CorruptFile(f"it cannot be read as a .skops file: {type(error).__name__}: {error}") from error
    return model


def _skops(purpose: str) -> Any:
    return require("skops.io", extra="models", purpose=purpose)


def _advice(unknown: Sequence[str]) -> str:
    booster = {part: whole for whole, part in _WITH.items()}
    wanted = list(dict.fromkeys(booster.get(name, name) for name in unknown))
    listed = ", ".join(repr(name) for name in wanted)
    return (
        f"The file holds {'types' if len(wanted) > 1 else 'the type'} {listed}, which nobody has trusted. Reading it "
        f"would run code of {'theirs' if len(wanted) > 1 else 'that type'}: if you know and want that, pass "
        f"trust=[{listed}]."
    )


def _check_size(content: bytes) -> None:
    """Refuse a file that unfolds to more than a file may take, before any array of it is made."""
    try:
        total = _unfolded(content)
        if total <= MOST_BYTES:
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                # Sparse matrices are archives in the archive.
                inner = [archive.read(name) for name in archive.namelist() if name.endswith(".npz")]
                total += sum(map(_unfolded, inner))
                said = sum(_said(archive.open(name).read(_HEADER)) for name in archive.namelist())
                total = max(total, said)
    except _FAULTS as error:
        raise CorruptFile(f"it cannot be read as a .skops file: {error}") from error
    if total > MOST_BYTES:
        raise CorruptFile(f"it unfolds to {total:,} bytes; at most {MOST_BYTES:,} are read")


def _unfolded(content: bytes) -> int:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return sum(entry.file_size for entry in archive.infolist())


def _said(start: bytes) -> int:
    """Say how many bytes an array of numpy is said to take; numpy asks for them before it looks for them."""
    if not start.startswith(b"\x93NUMPY"):
        return 0
    head = io.BytesIO(start)
    read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    version = np.lib.format.read_magic(head)
    if version not in read:
        return 0  # numpy refuses all versions but the third, whose arrays have fields
    shape, _, dtype = read[version](head)
    return math.prod(shape) * dtype.itemsize


def _canonical(content: bytes) -> bytes:
    """Replace what differs from process to process: addresses as names, random names, dates, the order of sets."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    numbers: dict[int, int] = {}
    names: dict[str, str] = {}
    schema = _renumbered(json.loads(files.pop(_SCHEMA)), numbers, names)
    parts = {names[name]: _without_gaps(part) for name, part in files.items() if name in names}
    parts[_SCHEMA] = json.dumps(schema, separators=(",", ":")).encode("ascii")
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(parts):
            archive.writestr(zipfile.ZipInfo(name, _DATE), parts[name])
    return made.getvalue()


def _without_gaps(content: bytes) -> bytes:
    """Put zeros between the fields of an array of records, where memory may have held anything."""
    if not content.startswith(b"\x93NUMPY"):
        return content
    array = np.load(io.BytesIO(content), allow_pickle=False)
    if not array.dtype.names:
        return content
    clean = np.zeros(array.shape, dtype=array.dtype)
    for name in array.dtype.names:
        clean[name] = array[name]
    made = io.BytesIO()
    np.save(made, clean, allow_pickle=False)
    return made.getvalue()


def _renumbered(node: Any, numbers: dict[int, int], names: dict[str, str]) -> Any:
    if isinstance(node, list):
        return [_renumbered(part, numbers, names) for part in node]
    if not isinstance(node, dict):
        return node
    if node.get("__loader__") == "SetNode":
        node = {**node, "content": sorted(node["content"], key=lambda part: str(part.get("content")))}
    found: dict[str, Any] = {}
    # Which equal constants are one object is a matter of chance, and does not matter.
    constant = node.get("__loader__") not in _SHARED or node.get("__class__") in _CONSTANTS
    for key, part in node.items():
        if key == "__id__" and isinstance(part, int):
            found |= {} if constant else {key: numbers.setdefault(part, len(numbers) + 1)}
        elif key == "file" and isinstance(part, str) and "__loader__" in node:
            found[key] = names.setdefault(part, f"{len(names)}.{part.rpartition('.')[2]}")
        else:
            found[key] = _renumbered(part, numbers, names)
    return found
