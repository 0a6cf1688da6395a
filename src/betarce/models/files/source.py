"""Own models by name: a built-in one, a file, or code of the user's own."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from betarce.errors import CorruptFile, InvalidInput, UnusableModel
from betarce.models.files.imported import imported_model, is_import_path
from betarce.models.files.native_files import from_lightgbm, from_xgboost, native_library
from betarce.models.files.network_file import from_safetensors, to_safetensors
from betarce.models.files.read_apart import check_readable
from betarce.models.files.skops_file import from_skops, to_skops
from betarce.models.files.stored_form import restore_model, store_model
from betarce.models.tabular import MODELS, tabular_model
from betarce.storage.files import check_path, read_bytes, write_whole

_PICKLES = (".joblib", ".pkl", ".pickle")
_ACCEPTED = (
    f"one of {', '.join(MODELS)}; a .skops, .safetensors or .arrays file; a model file of LightGBM or XGBoost; or "
    "package.module:object, an estimator or a function that makes one"
)


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A model and what its source offers.

    Attributes
    ----------
    model : classifier
        Fitted or not.
    source : str
        Where it comes from.
    fitted : bool
        Whether it can score rows.
    recipe : bool
        Whether it can be trained again: it has `fit`, and its parameters are those that it was trained with.
    """

    model: Any
    source: str
    fitted: bool
    recipe: bool

    def to_retrain(self) -> Any:
        """Give the model if it can be trained again, or say why it cannot."""
        if not self.recipe:
            raise UnusableModel(
                f"{self.source!r} offers predictions only: how the model was trained is not in the file, so it cannot "
                "be retrained. Pass a recipe: a .skops file of the estimator, or package.module:object."
            )
        return self.model

    def to_score(self) -> Any:
        """Give the model if it can score rows, or say why it cannot."""
        if not self.fitted:
            raise UnusableModel(
                f"{self.source!r} offers a recipe only: the model is not trained, so it cannot score rows. Train it."
            )
        return self.model


def load_model(
    source: str | os.PathLike[str],
    *,
    table: pd.DataFrame | None = None,
    classes: Sequence[Any] | None = None,
    trust: Sequence[str] = (),
    allow_pickle: bool = False,
) -> LoadedModel:
    """Get a model by name.

    Parameters
    ----------
    source : str or path
        A built-in name such as "lightgbm"; a `.skops`, `.safetensors` or `.arrays` file; a file of LightGBM (text)
        or XGBoost (JSON, UBJSON); "package.module:object"; or a `.joblib` or `.pkl` file.
    table : DataFrame, optional
        The training table, which built-in models are made for.
    classes : sequence, optional
        The labels, sorted, for files that only number them.
    trust : sequence of str
        Types that a `.skops` file may hold besides those of scikit-learn.
    allow_pickle : bool
        Whether a `.joblib` or `.pkl` file may be read, which runs whatever code it holds.

    Returns
    -------
    LoadedModel
        With what it offers: retraining needs a recipe, scoring needs only predictions.

    Raises
    ------
    InvalidInput
        If there is no such model, or the caller has not trusted what it takes.
    CorruptFile
        If the file is not what its name says.

    Examples
    --------
    >>> loaded = load_model("logistic", table=pd.DataFrame({"age": [20, 60]}))
    >>> loaded.fitted, loaded.recipe
    (False, True)
    >>> load_model("lightbgm")
    Traceback (most recent call last):
    betarce.errors.InvalidInput: There is no model 'lightbgm'. Did you mean 'lightgbm'?
    """
    text = check_path(source, what="source")
    if text in MODELS:
        if table is None:
            raise InvalidInput(f"`table` must be given to make the built-in model {text!r}: its columns decide.")
        return LoadedModel(tabular_model(text, table), text, fitted=False, recipe=True)
    if is_import_path(text) and not os.path.exists(text):
        return _described(imported_model(text), text)
    if not os.path.isfile(text):
        close = get_close_matches(text, [*MODELS, *_nearby(text)], 1)
        hint = f"Did you mean {close[0]!r}?" if close else f"It must be {_ACCEPTED}."
        raise InvalidInput(f"There is no model {text!r}. {hint}")
    if Path(text).suffix.lower() in _PICKLES:
        return _described(_unpickled(text, allow_pickle), text)
    try:
        return _from_file(text, classes, trust)
    except CorruptFile as error:
        raise CorruptFile(f"{text!r} is not a usable model: {error}.") from error
    except InvalidInput as error:
        raise InvalidInput(f"{text!r}: {error}") from error


def save_model(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model to a file, without pickle.

    Parameters
    ----------
    model : classifier
    path : str or path
        Its end says how: `.skops`, `.safetensors` for a `Network`, or `.arrays`, betarce's own, for the models that
        runs hold.
    """
    suffix = Path(check_path(path)).suffix.lower()
    if suffix == ".skops":
        write_whole(path, to_skops(model))
    elif suffix == ".safetensors":
        write_whole(path, to_safetensors(model))
    elif suffix == ".arrays":
        stored = store_model(model)
        if stored.form != "arrays":
            raise InvalidInput(f"{type(model).__name__} goes to a .skops file; betarce does not know all its parts.")
        write_whole(path, stored.content)
    else:
        raise InvalidInput(f"`path` must end in .skops, .safetensors or .arrays; got {os.fspath(path)!r}.")


def _from_file(text: str, classes: Sequence[Any] | None, trust: Sequence[str]) -> LoadedModel:
    content, suffix = read_bytes(text), Path(text).suffix.lower()
    if suffix == ".skops":
        return _described(from_skops(content, trust=trust), text)
    if suffix == ".safetensors":
        return _described(from_safetensors(content), text)
    if suffix == ".arrays":
        return _described(restore_model(content, "arrays"), text)
    library = native_library(content)
    if library is None:
        raise InvalidInput(f"The file has no format of a model that is known here. A model is {_ACCEPTED}.")
    check_readable(content, library)
    read = from_lightgbm if library == "lightgbm" else from_xgboost
    return LoadedModel(read(content, classes=classes), text, fitted=True, recipe=False)


def _unpickled(text: str, allowed: bool) -> Any:
    if not allowed:
        raise InvalidInput(
            f"{text!r} is a pickle, and reading it runs whatever code its author put into it. If you know who made it, "
            "pass allow_pickle=True. Better: write the model to a .skops file, which runs nothing."
        )
    import joblib

    try:
        return joblib.load(text)
    except Exception as error:
        raise CorruptFile(f"{text!r} cannot be read as a pickle: {type(error).__name__}: {error}.") from error


def _described(model: Any, source: str) -> LoadedModel:
    if not hasattr(model, "predict") and not hasattr(model, "fit"):
        raise UnusableModel(f"{source!r} must hold a classifier; got {type(model).__name__}.")
    return LoadedModel(model, source, fitted=_is_fitted(model), recipe=hasattr(model, "fit"))


def _is_fitted(model: Any) -> bool:
    if not hasattr(model, "fit"):
        return True
    try:
        check_is_fitted(model)
    except (NotFittedError, TypeError):
        return False
    except AttributeError as error:
        raise UnusableModel(f"This {type(model).__name__} lacks a part: {error}. Store it again.") from error
    return True


def _nearby(text: str) -> list[str]:
    folder = Path(text).parent
    return [str(folder / each.name) for each in folder.iterdir() if each.is_file()] if folder.is_dir() else []
