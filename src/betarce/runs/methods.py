"""Serialise spaces, searches and base methods; the user's own code is stored by its name alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from importlib import import_module
from typing import Any, NoReturn

import numpy as np

from betarce.errors import CorruptFile, InvalidInput
from betarce.spaces import Given
from betarce.storage.values import plain, unplain

_HOMES = ("betarce.explainers", "betarce.posterior", "betarce.search", "betarce.spaces")


@dataclass(frozen=True)
class LostCode:
    """What stands for code of the user's own in an explainer that was loaded from a run.

    Attributes
    ----------
    part : str
        The parameter that it is, or is a part of: "space", "base" or "search".
    name : str
        What the code is called.
    text : str
        How it was shown; it is shown the same way, so that certificates say the same.
    """

    part: str
    name: str
    text: str = field(repr=False)

    def __repr__(self) -> str:
        return self.text

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        self._refuse()

    def plan(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse to draw members."""
        self._refuse()

    def explain(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse to find base points."""
        self._refuse()

    def ladders(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse to search."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        advice = {
            "space": "Pass the space to draw from: betarce.load(folder, space=...).",
            "base": "Set it: rce.set_params(base=...); or pass `base_points`.",
            "search": "Set it: rce.set_params(search=...).",
        }[self.part]
        raise InvalidInput(
            f"The run that this explainer was loaded from does not hold your own code: {self.name}, of `{self.part}`. "
            f"{advice}"
        )


@dataclass(frozen=True)
class MethodWriter:
    """Writes the parameters of an explainer that are methods.

    Attributes
    ----------
    lost : list of LostCode
        The user's own code that was met, which plain data cannot hold.
    """

    lost: list[LostCode] = field(default_factory=list)

    def write(self, value: Any, part: str) -> Any:
        """Write a method, or a value that one holds, as plain data."""
        value = value.item() if isinstance(value, np.generic) else value
        match value:
            case Given():
                return {"given": len(value)}
            case LostCode():
                return self._left_out(value)
            case None | bool() | int() | float() | str():
                return plain(value, what=f"`{part}`")
            case tuple() | list():
                items = [self.write(each, part) for each in value]
                return {"tuple": items} if isinstance(value, tuple) else {"list": items}
            case Mapping():
                return {"mapping": [[self.write(key, part), self.write(each, part)] for key, each in value.items()]}
        kind = type(value)
        if is_dataclass(kind) and kind.__module__.startswith(_HOMES):
            held = {each.name: self.write(getattr(value, each.name), part) for each in fields(value) if each.init}
            return {"method": f"{kind.__module__}:{kind.__qualname__}", "parameters": held}
        return self._left_out(LostCode(part, _name(value), repr(value)))

    def _left_out(self, code: LostCode) -> dict[str, str]:
        self.lost.append(code)
        return {"lost": code.name, "part": code.part, "text": code.text}


def read_method(data: Any, models: Sequence[object] = ()) -> Any:
    """Read what `MethodWriter` wrote.

    Parameters
    ----------
    data : plain data
    models : sequence of fitted models
        What stands for the models of a `Given` space.

    Raises
    ------
    CorruptFile
        For anything else, or one of the errors that data of a wrong shape cause.
    """
    match data:
        case {"given": int()}:
            return Given(models)
        case {"lost": str(name), "part": "space" | "base" | "search" as part, "text": str(text)}:
            return LostCode(part, name, text)
        case {"tuple": list(items)}:
            return tuple(read_method(each, models) for each in items)
        case {"list": list(items)}:
            return [read_method(each, models) for each in items]
        case {"mapping": list(pairs)}:
            return {read_method(key, models): read_method(each, models) for key, each in pairs}
        case {"method": str(path), "parameters": dict(held)}:
            kind = _known(path)
            return kind(**{name: read_method(each, models) for name, each in held.items()})
    return unplain(data)


def lost_code(data: Any) -> str | None:
    """Give the name of the first code of the user's own that the plain data of a method leaves out, if any."""
    if isinstance(data, Mapping) and "lost" in data:
        return str(data["lost"])
    inside = data.values() if isinstance(data, Mapping) else data if isinstance(data, list) else ()
    return next((name for name in map(lost_code, inside) if name is not None), None)


def _known(path: str) -> Any:
    module, _, name = path.partition(":")
    kind = None
    if module.startswith(_HOMES) and name.isidentifier():
        try:
            kind = getattr(import_module(module), name, None)
        except ImportError:
            kind = None
    if not isinstance(kind, type) or not is_dataclass(kind) or kind.__module__ != module:
        raise CorruptFile(f"it names the method {path!r}, which this version of betarce does not have")
    return kind


def _name(value: Any) -> str:
    named = value if hasattr(value, "__qualname__") else type(value)
    return f"{named.__module__}.{named.__qualname__}"
