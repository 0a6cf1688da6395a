"""Store members in the folder of a run while they are trained, so that a stopped fit can go on."""

import os
import warnings
from pathlib import Path
from typing import Any

from betarce.errors import BetarceWarning, CorruptFile, InvalidInput
from betarce.features import FeatureSpace
from betarce.features.stored import check_format
from betarce.models.files.stored_form import restore_model, store_model
from betarce.models.recipe import Outcome, Table
from betarce.runs.manifest import MANIFEST, StoredFile
from betarce.runs.methods import MethodWriter
from betarce.runs.saving import DIGITS, FIT, OWN_NAME, RunWriter, check_run_folder, file_stem
from betarce.runs.training_data import table_digest
from betarce.runs.versions import versions_of
from betarce.spaces import Space
from betarce.storage.files import read_bytes, read_text, seal, unseal, write_whole

FORMAT = 1
_KIND = "betarce_fit"
_WORDS = {
    "data": "the training table",
    "model": "the model",
    "space": "the space",
    "seed": "the seed",
    "versions": "the versions of the libraries",
}


class FitFolder:
    """The stored members of a fit in the folder of its run, so that a fit that was killed goes on.

    They belong to one training table, model, space and seed, and to the versions of the libraries; with
    others it is refused, and how many members are asked for does not matter.

    Parameters
    ----------
    folder : str or path
        Where the run will be; new, empty, or with a fit that was stopped.
    trust : sequence of str
        Further types that stored models may hold, see `betarce.load`.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from betarce import BetaRCE
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> rce = BetaRCE(LogisticRegression(max_iter=5000), n_models=(5, 46), random_state=0, verbose=-1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rce = rce.fit(X[:, :4], y, store=FitFolder(f"{folder}/run"))
    ...     FitFolder(f"{folder}/run").n_stored
    52
    """

    def __init__(self, folder: str | os.PathLike[str], *, trust: tuple[str, ...] = ()) -> None:
        self._name = os.fspath(folder)
        self._folder = check_run_folder(folder)
        if (self._folder / MANIFEST).exists():
            raise InvalidInput(
                f"`folder` must be new, empty, or hold a fit that was stopped; {self._name!r} is a finished run. "
                "Choose another name, or remove it first."
            )
        self._trust = tuple(trust)
        self._files = RunWriter(self._folder)
        self._there = {
            found["stem"]: self._folder / within / found.string
            for within in ("", "members")
            for found in map(OWN_NAME.fullmatch, os.listdir(self._folder / within))
            if found
        }

    @property
    def n_stored(self) -> int:
        """How many models are there, the explained one among them."""
        return len(self._there)

    def begin(self, model: object, table: Table, features: FeatureSpace, *, space: Space, seed: int) -> None:
        """Take note of all that decides what the members will be; refuse if others are stored already."""
        definition = {
            "data": table_digest(table, features.encode(table.X)),
            "model": store_model(model).digest,
            "space": MethodWriter().write(space, "space"),
            "seed": seed,
            "versions": versions_of(model),
        }
        path = self._folder / FIT
        if not path.exists():
            write_whole(path, seal({_KIND: FORMAT, "definition": definition}))
            return
        there = _definition(path)
        others = [words for name, words in _WORDS.items() if definition[name] != there.get(name)]
        if others:
            raise InvalidInput(
                f"`folder` must hold the same fit, or none; the fit that was stopped in {self._name!r} differs in "
                f"{' and '.join(others)}. Give the same again to go on with it, or choose another name."
            )

    def read(self, name: str) -> Outcome | None:
        """Give a model that was trained before; None if it was not, or if its file is damaged, which is said."""
        path = self._there.get(file_stem(name))
        if path is None:
            return None
        said = path.with_name(f"{file_stem(name)}.warning")
        try:
            return Outcome(self._model(path), warning=read_text(said) if said.exists() else "")
        except CorruptFile as error:
            warnings.warn(
                f"{str(path)!r} cannot be used: {error}. The model is trained again.", BetarceWarning, stacklevel=2
            )
            path.unlink()
            del self._there[file_stem(name)]
            return None

    def write(self, name: str, outcome: Outcome) -> None:
        """Write a model that was just trained."""
        within = "" if name == "model" else "members/"
        if outcome.warning:
            write_whole(self._folder / within / f"{file_stem(name)}.warning", outcome.warning)
        written = self._files.add_model(name, store_model(outcome.model), within=within)
        self._there[file_stem(name)] = self._folder / written

    def _model(self, path: Path) -> Any:
        content = read_bytes(path)
        if not path.stem.endswith(StoredFile.of(content).sha256[:DIGITS]):
            raise CorruptFile("it was changed since it was written")
        return restore_model(content, path.suffix[1:], trust=self._trust)


def _definition(path: Path) -> dict[str, Any]:
    try:
        document = unseal(read_text(path))
        check_format(document.get(_KIND), FORMAT, "fit")
        return dict(document["definition"])
    except (CorruptFile, KeyError, TypeError, ValueError) as error:
        raise CorruptFile(
            f"{str(path)!r} does not say what fit was stopped here: {error}. Remove the folder, and fit again."
        ) from error
