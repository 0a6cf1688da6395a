"""Library versions that a run was made with, compared with those installed here."""

import platform
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

import betarce
from betarce.models.stored.inside import objects_inside

_ALWAYS = ("numpy", "pandas", "sklearn", "scipy")
_SHOWN = {"sklearn": "scikit-learn"}


def versions_of(model: object) -> dict[str, str]:
    """Name the versions of what made a model: Python, betarce, and the libraries that its parts come from.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> list(versions_of(LogisticRegression()))
    ['python', 'betarce', 'numpy', 'pandas', 'scikit-learn', 'scipy']
    """
    own = {type(part).__module__.partition(".")[0] for part in objects_inside(model)}
    shown = sorted({_SHOWN.get(name, name) for name in own | set(_ALWAYS)})
    libraries = {name: installed(name) for name in shown if installed(name)}
    return {"python": platform.python_version(), "betarce": betarce.__version__, **libraries}


def differences(made_with: Mapping[str, str]) -> list[str]:
    """Say which libraries have another version here, or none; of Python, only the first two numbers count.

    Examples
    --------
    >>> differences({"betarce": "0.0.1"}) == [f"betarce 0.0.1 (here {betarce.__version__})"]
    True
    """
    found = []
    for name, then in made_with.items():
        now = platform.python_version() if name == "python" else installed(name)
        same = then.split(".")[:2] == now.split(".")[:2] if name == "python" else then == now
        if not same:
            found.append(f"{name} {then} (here {now or 'none'})")
    return found


def installed(library: str) -> str:
    """Give the version of a library by the name of its module or distribution; "" if it has none."""
    modules = {shown: name for name, shown in _SHOWN.items()}
    module = sys.modules.get(modules.get(library, library))
    stated = getattr(module, "__version__", None)
    if isinstance(stated, str):
        return stated
    try:
        return version(library)
    except (PackageNotFoundError, ValueError):
        return ""
