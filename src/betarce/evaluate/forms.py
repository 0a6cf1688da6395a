"""The two forms of BetaRCE that are compared: ours, and the paper's."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from betarce.posterior import Guarantee
from betarce.robustify.settings import role_sizes
from betarce.search import FrontierSearch, GrowingSpheresSearch
from betarce.spaces import Seed


@dataclass(frozen=True)
class Form:
    """How a form of BetaRCE searches, and who certifies what it finds.

    Attributes
    ----------
    search : callable
        Makes the search; its parameters are parameters of the form.
    certify_on : {"holdout", "search"}
        As in `BetaRCE`.
    """

    search: Callable[..., FrontierSearch | GrowingSpheresSearch]
    certify_on: str

    @property
    def parameters(self) -> list[str]:
        """What can be set: "n_models", and all that the search takes."""
        return ["n_models", *(each.name for each in fields(self.search()))]

    def searching(self, parameters: Mapping[str, Any]) -> FrontierSearch | GrowingSpheresSearch:
        """Give the search with its parameters set; lists, as files have them, become tuples."""
        chosen: dict[str, Any] = {name: value for name, value in parameters.items() if name != "n_models"}
        return self.search(**{name: tuple(v) if isinstance(v, list) else v for name, v in chosen.items()})

    def sizes(self, n_models: Any, guarantee: Guarantee) -> tuple[int, int]:
        """Say how many members search and how many certify; the latter is 0 where the former do it.

        Examples
        --------
        >>> [form.sizes("auto", Guarantee(0.9, 0.95)) for form in FORMS.values()]
        [(38, 38), (38, 0)]
        """
        found = role_sizes(n_models, self.certify_on, guarantee, Seed())
        return found["search"], found.get("certify", 0)


FORMS: Mapping[str, Form] = {
    "betarce": Form(FrontierSearch, "holdout"),
    "betarce-paper": Form(GrowingSpheresSearch, "search"),
}
"""By name: "betarce" certifies on fresh members, "betarce-paper" on those that steered the search."""
