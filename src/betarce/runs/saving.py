"""Save a fitted explainer to a folder, without pickle."""

import json
import os
import re
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from betarce.arrays import AnyArray, FloatArray
from betarce.ensemble import Ensemble
from betarce.ensemble.trees.stored_kernel import kernel_arrays
from betarce.errors import InvalidInput, PartlyStored
from betarce.features import FeatureSpace
from betarce.features.formula import Formula
from betarce.features.rules.derived import Derived
from betarce.features.stored import to_plain
from betarce.members import Members, Role
from betarce.models.files.stored_form import StoredModel, store_model
from betarce.models.recipe import Table
from betarce.robustify import BetaRCE
from betarce.runs.identity import identity, note_digests
from betarce.runs.manifest import MANIFEST, Manifest, StoredFile, StoredMember, TableSource
from betarce.runs.methods import MethodWriter
from betarce.runs.training_data import table_content
from betarce.runs.versions import versions_of
from betarce.storage.array_file import to_bytes
from betarce.storage.files import make_folder, write_whole
from betarce.storage.values import plain

FIT = "fit.json"
DIGITS = 16
"""How much of its digest the name of a file holds."""
OWN_NAME = re.compile(rf"(?P<stem>[a-z][a-z0-9-]*)-[0-9a-f]{{{DIGITS}}}\.(?:arrays|skops|json)")
"""How files of a run are called."""
_METHODS = ("space", "base", "search", "n_models", "prior")
_PLAIN = ("certify_on", "delta", "confidence", "max_changes", "n_jobs", "verbose")


def save_run(rce: BetaRCE, folder: str | os.PathLike[str], *, source: TableSource | None = None) -> None:
    """Write a fitted explainer to a folder; `betarce.load` reads it.

    A run that is in the folder stays whole until the new one is complete.

    Parameters
    ----------
    rce : BetaRCE
        Fitted, with the members that the run is to hold.
    folder : str or path
        New, empty, or a run that is replaced.
    source : TableSource, optional
        How the training table was read from a file.

    Raises
    ------
    InvalidInput
        If the folder holds something else, or a model holds what no file can hold.
    NotWritten
        If the disk is full or read-only; a run that was there is still there.

    Warns
    -----
    PartlyStored
        If the explainer holds code of the user's own, which no file can hold; the message says what.
    """
    target = check_run_folder(folder)
    writer = MethodWriter()
    parameters, state = _parameters(rce, writer), _state(rce, writer)
    left_out = [f"your own code {code.name}, of `{code.part}`" for code in dict.fromkeys(writer.lost)]
    left_out += _lost_functions(rce.features_)
    left_out += _changed_columns(rce.subject_.table, rce.subject_.points, rce.features_)
    with RunWriter(target) as files:
        state["model"] = files.add_model("model", store_model(rce.model_))
        state["given_model"] = None if rce.model is rce.model_ else files.add_model("recipe", store_model(rce.model))
        members = {role: _add_members(files, rce.members_, role) for role in rce.members_.ensembles}
        state["kernels"] = _add_kernels(files, rce)
        text = json.dumps(to_plain(rce.features_), allow_nan=False)
        state["features"] = files.add("features", text.encode("ascii"), form="json")
        state["data"] = files.add("data", table_content(rce.subject_.table, rce.subject_.points))
        state["answers"] = files.add("answers", to_bytes(_answers(rce)))
        made_of = identity(rce)
        Manifest(
            parameters=parameters,
            state=state,
            versions=versions_of(rce.model_),
            identity=made_of.to_plain(),
            members=members,
            files=files.written,
            left_out=tuple(left_out),
            source=source or TableSource(),
        ).write(target)
    _tidy(target, files.written)
    if left_out:
        warnings.warn(
            f"The run {os.fspath(folder)!r} does not hold {'; '.join(left_out)}. Whatever needs it says so after "
            "loading.",
            PartlyStored,
            stacklevel=3,
        )


def check_run_folder(folder: str | os.PathLike[str]) -> Path:
    """Give the folder of a run, made if it is not there; refuse one that holds something else."""
    target = make_folder(folder)
    there = sorted(os.listdir(target))
    if there and not {MANIFEST, FIT} & set(there):
        raise InvalidInput(
            f"`folder` must be new, empty, or a run; {os.fspath(folder)!r} holds {there[0]!r}. Choose another name."
        )
    make_folder(target / "members")
    return target


@dataclass(eq=False)
class RunWriter:
    """Writes files under names that hold their digests: what another run needs is never overwritten.

    As a context, it takes back what it wrote if something fails.

    Attributes
    ----------
    folder : path
    written : dict of str to StoredFile
        By the path in the folder.
    """

    folder: Path
    written: dict[str, StoredFile] = field(default_factory=dict)
    _new: list[Path] = field(default_factory=list)

    def add(self, stem: str, content: bytes, *, form: str = "arrays", within: str = "") -> str:
        """Write a file whole, unless it is there; give its path in the folder."""
        stated = StoredFile.of(content)
        name = f"{within}{file_stem(stem)}-{stated.sha256[:DIGITS]}.{form}"
        path = self.folder / name
        if not _holds(path, content):
            write_whole(path, content)
            self._new.append(path)
        self.written[name] = stated
        return name

    def add_model(self, stem: str, stored: StoredModel, *, within: str = "") -> str:
        """Write a model; give its path in the folder."""
        return self.add(stem, stored.content, form=stored.form, within=within)

    def __enter__(self) -> "RunWriter":
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        for path in self._new if kind is not None else ():
            with suppress(OSError):
                path.unlink()


def file_stem(name: str) -> str:
    """Turn the name of a member into that of a file.

    Examples
    --------
    >>> file_stem("certify/17")
    'certify-17'
    """
    return name.replace("/", "-")


def _holds(path: Path, content: bytes) -> bool:
    try:
        return path.stat().st_size == len(content) and path.read_bytes() == content
    except OSError:
        return False


def _add_members(files: RunWriter, members: Members, role: Role) -> tuple[StoredMember, ...]:
    ensemble, found = members.ensembles[role], []
    for model, origin in zip(ensemble.models, members.origins[role], strict=True):
        found.append(StoredMember(files.add_model(origin.name, store_model(model), within="members/"), origin))
    note_digests(ensemble, [files.written[each.file].sha256 for each in found])
    return tuple(found)


def _add_kernels(files: RunWriter, rce: BetaRCE) -> dict[str, str]:
    """Write the kernels of trees, which take long to read off the members; give the file of each role that has one."""
    found: dict[str, str] = {}
    levels = levels_of(rce.features_)
    for role, ensemble in rce.members_.ensembles.items():
        kernel = ensemble.tree_kernel
        arrays = None if kernel is None else kernel_arrays(kernel, levels=levels)
        if arrays is not None:
            found[role] = files.add(f"kernel-{role}", to_bytes(arrays))
    return found


def levels_of(features: FeatureSpace) -> list[int]:
    """Give how many codes each column of a point has, -1 for numbers."""
    return [-1 if column.levels is None else len(column.levels) for column in features.columns]


def _parameters(rce: BetaRCE, writer: MethodWriter) -> dict[str, Any]:
    methods = {name: writer.write(getattr(rce, name), name) for name in _METHODS}
    values = {name: plain(getattr(rce, name), what=f"`{name}`") for name in _PLAIN}
    # A generator that was drawn from is not the one that `fit` was given; what it gave is the seed.
    given = rce.random_state
    seed = given if given is None or isinstance(given, int) else rce.seed_
    return {**methods, **values, "random_state": seed}


def _state(rce: BetaRCE, writer: MethodWriter) -> dict[str, Any]:
    members = rce.members_
    return {
        "seed": rce.seed_,
        "members_seed": members.seed,
        "space": writer.write(members.space, "space"),
        "varied": members.varied,
        "looked": members.looked,
        "n_extensions": members.n_extensions,
        "classes": [plain(label, what="a class") for label in rce.classes_.tolist()],
    }


def _answers(rce: BetaRCE) -> dict[str, AnyArray]:
    subject = rce.subject_
    found: dict[str, AnyArray] = {"model": answers_of(subject.problem.model, subject.probe)}
    return found | {role: answers_of(ensemble, subject.probe) for role, ensemble in rce.members_.ensembles.items()}


def answers_of(ensemble: Ensemble, probe: FloatArray) -> AnyArray:
    """Give the places of the labels of every member among the classes at some training rows, shape (n, members)."""
    return np.searchsorted(ensemble.classes, ensemble.labels(probe)).astype(np.uint16)


def _lost_functions(features: FeatureSpace) -> list[str]:
    derived = {name: rule.part(Derived) for name, rule in features.rules.items()}
    return [
        f"the function of the derived column {name!r} (write it as a formula, which files can hold)"
        for name, part in derived.items()
        if part is not None and not isinstance(part.function, Formula)
    ]


def _changed_columns(table: Table, points: FloatArray, features: FeatureSpace) -> list[str]:
    """Name columns of the training table that do not come back from points as they were."""
    if not isinstance(table.X, pd.DataFrame):
        return []
    back = features.decode(points, table.X.index)
    changed = [name for name in table.X.columns if not table.X[name].equals(back[name])]
    return [f"the column {name!r} of the training table as it was, only as it is read" for name in changed]


def _tidy(folder: Path, written: Sequence[str] | Mapping[str, object]) -> None:
    """Remove files of an earlier run or of a fit, which nothing refers to any more; what is not ours stays."""
    for within in ("", "members/"):
        for name in os.listdir(folder / within):
            ours = OWN_NAME.fullmatch(name) or name.endswith(".warning")
            if (ours and f"{within}{name}" not in written) or (not within and name == FIT):
                with suppress(OSError):
                    (folder / within / name).unlink()
