"""Plans as TOML files: every key checked, and what it cannot mean refused with its place."""

import math
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from difflib import get_close_matches
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any

from betarce.comparison.forms import FORMS
from betarce.comparison.grids import MOST_CONFIGURATIONS, PAPER_GRIDS, Grid, configurations
from betarce.comparison.tuning import configured
from betarce.datasets import PAPER_NAMES
from betarce.errors import CorruptFile, InvalidInput
from betarce.explainers import EXPLAINERS
from betarce.models.families import FAMILIES
from betarce.paper.guarantee.plan import GuaranteePlan, guarantee_plan_of
from betarce.paper.plan import Method, Plan
from betarce.parameters import parameters_of
from betarce.posterior import Prior, check_prior
from betarce.robustify.sizes import AMOUNTS
from betarce.storage.documents import parse_toml
from betarce.storage.files import MOST_BYTES_BY_HAND, digest, read_text

_MOST = 1_000_000
_MOST_FOLDS = 1000
_LONGEST_NAME = 100  # files are named after methods
_SPACES = ("seed", "bootstrap", "architecture")
_METHOD_KEYS = ("method", "parameters", "grid")


def shipped_plans() -> dict[str, Path]:
    """Give the plans that come with the package.

    Examples
    --------
    >>> sorted(shipped_plans())
    ['confidence', 'guarantee', 'members', 'paper', 'smoke']
    """
    folder = Path(str(files("betarce.paper") / "plans"))
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def read_experiment(plan: str | os.PathLike[str]) -> Plan | GuaranteePlan:
    """Read a plan of any kind: the name of one that is shipped, or a path to a TOML file.

    The key ``kind`` says which: "comparison" (the default) or "guarantee".

    Examples
    --------
    >>> len(read_experiment("guarantee").cells)
    36
    """
    path, document = _document(plan)
    kind = document.pop("kind", "comparison")
    if kind == "guarantee":
        return guarantee_plan_of(document, what=str(path))
    if kind != "comparison":
        raise InvalidInput(f"{path}, key 'kind': must be 'comparison' or 'guarantee'; got {kind!r}.")
    return plan_of(document, what=str(path))


def read_plan(plan: str | os.PathLike[str]) -> Plan:
    """Read a plan of a comparison: the name of one that is shipped, or a path to a TOML file.

    Examples
    --------
    >>> [cell.name for cell in read_plan("smoke").cells]
    ['breast_cancer-logistic-bootstrap-fold0', 'breast_cancer-lightgbm-bootstrap-fold0']
    """
    experiment = read_experiment(plan)
    if not isinstance(experiment, Plan):
        raise InvalidInput(f"{_path(plan)}, key 'kind': a comparison is wanted here; got a plan of the guarantee.")
    return experiment


def _document(plan: str | os.PathLike[str]) -> tuple[Path, dict[str, Any]]:
    path, text = _path(plan), plan_text(plan)
    try:
        return path, dict(parse_toml(text))
    except CorruptFile as error:
        raise InvalidInput(f"{path} is {error}.") from error


def plan_text(plan: str | os.PathLike[str]) -> str:
    """Give a plan as it was written."""
    path = _path(plan)
    try:
        return read_text(path, most=MOST_BYTES_BY_HAND)
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        raise InvalidInput(
            f"There is no plan {os.fspath(plan)!r}: neither a file, nor one of those that come along: "
            f"{', '.join(shipped_plans())}."
        ) from None
    except CorruptFile as error:
        raise InvalidInput(f"{path} cannot be read: {error}.") from error


def _path(plan: str | os.PathLike[str]) -> Path:
    return shipped_plans().get(os.fspath(plan), Path(plan))


def plan_of(document: Mapping[str, Any], *, what: str) -> Plan:
    """Turn the content of a file into a plan; `what` names the file in messages.

    Examples
    --------
    >>> plan_of({"dta": ["car"]}, what="my.toml")
    Traceback (most recent call last):
    betarce.errors.InvalidInput: my.toml: there is no key 'dta'. Did you mean 'data'?
    """
    _check_keys(document, [each.name for each in fields(Plan)], what)
    missing = [key for key in ("data", "families", "spaces", "methods") if key not in document]
    if missing:
        raise InvalidInput(f"{what}: the key {missing[0]!r} is missing.")
    values = {key: _READERS[key](value, f"{what}, key {key!r}") for key, value in document.items()}
    plan = Plan(**values)
    unknown = [fold for fold in plan.run_folds if fold >= plan.folds]
    if unknown:
        raise InvalidInput(f"{what}, key 'run_folds': there are folds 0 to {plan.folds - 1}; got {unknown[0]}.")
    if any(method.based for method in plan.methods) and not plan.bases:
        raise InvalidInput(f"{what}, key 'bases': the methods need at least one; got none.")
    for method in plan.methods:
        if method.ours:
            own = "n_models" in method.parameters
            place = f"{what}, [methods.{method.name}]" if own else f"{what}, key 'n_models'"
            _check_ours(plan, method, place)
    return plan


def _check_ours(plan: Plan, method: Method, place: str) -> None:
    try:
        for promise, family in product(plan.promises, plan.families):
            plan.sizes(method, plan.guarantee(method, *promise), family)
    except InvalidInput as error:
        raise InvalidInput(f"{place}: {error}") from None


def _check_keys(keys: Iterable[str], known: Iterable[str], place: str) -> None:
    """Refuse a key that means nothing, and name the one that may have been meant."""
    names = list(known)
    for key in keys:
        if key not in names:
            raise InvalidInput(f"{place}: there is no key {key!r}. {_hint(key, names)}")


# Values of a file


def _hint(key: object, known: Iterable[str]) -> str:
    names = list(known)
    close = get_close_matches(str(key), names, 1)
    return f"Did you mean {close[0]!r}?" if close else f"Known: {', '.join(names)}."


def _list(value: Any, place: str) -> list[Any]:
    if not isinstance(value, list):
        raise InvalidInput(f"{place}: must be a list; got {value!r}.")
    twice = [each for i, each in enumerate(value) if each in value[:i]]
    if twice:
        raise InvalidInput(f"{place}: {twice[0]!r} is there twice.")
    return value


def _table(value: Any, place: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidInput(f"{place}: must be a section of keys and values; got {value!r}.")
    return value


def _names(known: Iterable[str], *, least: int = 1) -> Callable[[Any, str], tuple[str, ...]]:
    names = list(known)

    def read(value: Any, place: str) -> tuple[str, ...]:
        chosen = _list(value, place)
        for each in chosen:
            if not isinstance(each, str) or each not in names:
                raise InvalidInput(f"{place}: {each!r} is unknown. {_hint(each, names)}")
        if len(chosen) < least:
            raise InvalidInput(f"{place}: must name at least one; got none. Known: {', '.join(names)}.")
        return tuple(chosen)

    return read


def _whole(least: int, most: int = _MOST) -> Callable[[Any, str], int]:
    def read(value: Any, place: str) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise InvalidInput(f"{place}: must be a whole number >= {least}; got {value!r}.")
        if value > most:
            raise InvalidInput(f"{place}: must be at most {most:,}; got {value!r}.")
        return value

    return read


def _wholes(value: Any, place: str) -> tuple[int, ...]:
    return tuple(_whole(0)(each, place) for each in _list(value, place))


def _shares(value: Any, place: str) -> tuple[float, ...]:
    if not _list(value, place):
        raise InvalidInput(f"{place}: must list at least one number; got none.")
    for each in value:
        if not isinstance(each, float) or not 0 < each < 1:
            raise InvalidInput(f"{place}: must be numbers strictly between 0 and 1; got {each!r}.")
    return tuple(value)


def _n_models(value: Any, place: str) -> str | int | tuple[int, int]:
    if isinstance(value, str) and value in AMOUNTS:
        return value
    if isinstance(value, list) and len(value) == 2:
        return _whole(1)(value[0], place), _whole(1)(value[1], place)
    if isinstance(value, int):
        return _whole(1)(value, place)
    names = ", ".join(f'"{name}"' for name in AMOUNTS)
    raise InvalidInput(f"{place}: must be {names}, a whole number, or a pair [search, certify]; got {value!r}.")


def _prior(value: Any, place: str) -> Prior:
    try:
        return check_prior(tuple(value) if isinstance(value, list) else value)
    except InvalidInput as error:
        raise InvalidInput(f"{place}: {error}") from None


def _methods(value: Any, place: str) -> tuple[Method, ...]:
    sections = _table(value, place)
    if not sections:
        raise InvalidInput(f"{place}: must hold at least one section, such as [methods.betarce]; got none.")
    file = place.removesuffix(", key 'methods'")
    wrong = [name for name in sections if not 0 < len(name) <= _LONGEST_NAME]
    if wrong:
        raise InvalidInput(f"{place}: a name must have 1 to {_LONGEST_NAME} characters; got {wrong[0]!r}.")
    return tuple(_method(name, content, f"{file}, [methods.{name}]") for name, content in sections.items())


def _method(name: str, content: Any, place: str) -> Method:
    keys = _table(content, place)
    _check_keys(keys, _METHOD_KEYS, place)
    known = [*FORMS, *EXPLAINERS]
    method = keys.get("method", name)
    if not isinstance(method, str) or method not in known:
        raise InvalidInput(f"{place}: there is no method {method!r}. {_hint(method, known)}")
    if method in FORMS:
        if "grid" in keys:
            raise InvalidInput(f"{place}: {method!r} takes no grid: `deltas` and `confidences` say what is run.")
        return Method(name, method, _form_parameters(keys.get("parameters", {}), method, f"{place}, key 'parameters'"))
    found = Method(
        name,
        method,
        _parameters(keys.get("parameters", {}), method, f"{place}, key 'parameters'"),
        _grid(keys.get("grid", {}), method, f"{place}, key 'grid'"),
    )
    both = [key for key in found.parameters if key in found.grid]
    if both:
        raise InvalidInput(f"{place}: {both[0]!r} is both in `parameters` and in `grid`.")
    n = math.prod(len(values) for values in found.grid.values())
    if n > MOST_CONFIGURATIONS:
        raise InvalidInput(f"{place}, key 'grid': must give at most {MOST_CONFIGURATIONS:,} configurations; got {n:,}.")
    for configuration in configurations(found.full_grid):
        try:
            configured(method, configuration)
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"{place}: {configuration} does not suit {method!r}: {error}") from None
    return found


def _form_parameters(value: Any, method: str, place: str) -> dict[str, Any]:
    table = _plain_values(value, FORMS[method].parameters, place)
    if "n_models" in table:
        table["n_models"] = _n_models(table["n_models"], f"{place}, 'n_models'")
    try:
        FORMS[method].searching(table)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{place}: {table} does not suit {method!r}: {error}") from None
    return table


def _parameters(value: Any, method: str, place: str) -> dict[str, Any]:
    return _plain_values(value, [name for name in parameters_of(EXPLAINERS[method]()) if name != "base"], place)


def _plain_values(value: Any, known: Iterable[str], place: str) -> dict[str, Any]:
    table = _table(value, place)
    _check_keys(table, known, place)
    for name, each in table.items():
        try:
            digest({name: each})
        except (TypeError, ValueError):
            raise InvalidInput(f"{place}, {name!r}: must be numbers, text, or lists of them; got {each!r}.") from None
    return dict(table)


def _grid(value: Any, method: str, place: str) -> Grid:
    if value == "paper":
        if method not in PAPER_GRIDS:
            raise InvalidInput(f"{place}: the paper has no grid for {method!r}, only for {', '.join(PAPER_GRIDS)}.")
        return {name: tuple(values) for name, values in PAPER_GRIDS[method].items()}
    table = _parameters(value, method, place)
    grid = {name: tuple(_list(values, f"{place}, {name!r}")) for name, values in table.items()}
    empty = [name for name, values in grid.items() if not values]
    if empty:
        raise InvalidInput(f"{place}, {empty[0]!r}: must list at least one value; got none.")
    return grid


_READERS: Mapping[str, Callable[[Any, str], Any]] = {
    "data": _names(PAPER_NAMES),
    "families": _names(FAMILIES),
    "spaces": _names(_SPACES),
    "methods": _methods,
    "bases": _names(EXPLAINERS, least=0),
    "deltas": _shares,
    "confidences": _shares,
    "n_models": _n_models,
    "prior": _prior,
    "folds": _whole(2, _MOST_FOLDS),
    "run_folds": _wholes,
    "rows": _whole(1),
    "audit_members": _whole(1),
    "audit_spaces": _names(_SPACES, least=0),
    "tuning_rows": _whole(1),
    "tuning_members": _whole(1),
    "seed": _whole(0, 2**63 - 1),
}
