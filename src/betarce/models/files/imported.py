"""Models named as `package.module:object`: the user's own code, imported from the working directory."""

import os
import re
import sys
from difflib import get_close_matches
from importlib import import_module
from typing import Any

from betarce.errors import InvalidInput, UnusableModel

_PATH = re.compile(r"(?P<module>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):(?P<name>[A-Za-z_]\w*)")


def is_import_path(source: str) -> bool:
    """Say whether a source is of the form `package.module:object`.

    Examples
    --------
    >>> is_import_path("bank.models:score"), is_import_path("C:/score.skops"), is_import_path("score.skops")
    (True, False, False)
    """
    return _PATH.fullmatch(source) is not None


def imported_model(source: str) -> Any:
    """Import an estimator, or call the function that makes one.

    Parameters
    ----------
    source : str
        Such as "bank.models:score"; modules of the working directory are found, as those that are installed.

    Raises
    ------
    InvalidInput
        If there is no such module or name.
    UnusableModel
        If the user's code fails, or gives something without `predict`.
    """
    found = _PATH.fullmatch(source)
    if found is None:
        raise InvalidInput(f"A model of your own is named as package.module:object; got {source!r}.")
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    module = _module(found["module"], source)
    if not hasattr(module, found["name"]):
        close = get_close_matches(found["name"], dir(module), 1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise InvalidInput(f"The module {found['module']!r} has no {found['name']!r}.{hint}")
    model = getattr(module, found["name"])
    if isinstance(model, type) or (callable(model) and not hasattr(model, "predict") and not hasattr(model, "fit")):
        try:
            model = model()
        except Exception as error:
            raise UnusableModel(f"{source} could not make a model: {type(error).__name__}: {error}") from error
    if not hasattr(model, "predict") and not hasattr(model, "fit"):
        raise UnusableModel(f"{source} must give a classifier with `fit` and `predict`; got {type(model).__name__}.")
    return model


def _module(name: str, source: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise InvalidInput(
                f"There is no module {error.name!r}, which {source!r} names: it must be installed, or in the working "
                f"directory {os.getcwd()!r}."
            ) from error
        raise UnusableModel(f"Importing {name} failed: it needs {error.name!r}, which is not installed.") from error
    except Exception as error:
        raise UnusableModel(f"Importing {name} failed: {type(error).__name__}: {error}") from error
