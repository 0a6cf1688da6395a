"""The two forms of BetaRCE that are compared: ours, and the paper's."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from betarce.ensemble.kernel import Kind
from betarce.parameters import parameters_of
from betarce.posterior import EXACT, JEFFREYS, Guarantee, Prior
from betarce.robustify.sizes import role_sizes
from betarce.search import FrontierSearch, GrowingSpheresSearch, Search
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
    prior : Prior
        Where nothing else is asked for.
    """

    search: Callable[..., Search]
    certify_on: str
    prior: Prior

    @property
    def parameters(self) -> list[str]:
        """What can be set: "n_models", and all that the search takes."""
        return ["n_models", *parameters_of(self.search())]

    def searching(self, parameters: Mapping[str, Any]) -> Search:
        """Give the search with its parameters set; lists, as files have them, become tuples."""
        chosen: dict[str, Any] = {name: value for name, value in parameters.items() if name != "n_models"}
        return self.search(**{name: tuple(v) if isinstance(v, list) else v for name, v in chosen.items()})

    def guarantee(self, delta: float, confidence: float, prior: Prior | None = None) -> Guarantee:
        """Give the guarantee that is asked for, under the form's own prior by default."""
        return Guarantee(delta, confidence, self.prior if prior is None else prior)

    def sizes(self, n_models: Any, guarantee: Guarantee, kind: Kind = "other") -> tuple[int, int]:
        """Say how many members search and how many certify; the latter is 0 where the former do it.

        Examples
        --------
        >>> [form.sizes("auto", form.guarantee(0.9, 0.95), "trees") for form in FORMS.values()]
        [(61, 103), (38, 0)]
        """
        found = role_sizes(n_models, self.certify_on, guarantee, Seed(), kind)
        return found["search"], found.get("certify", 0)


KINDS: Mapping[str, Kind] = {"logistic": "linear", "lightgbm": "trees", "network": "network"}
"""What the models of each family of the paper are."""

FORMS: Mapping[str, Form] = {
    "betarce": Form(FrontierSearch, "holdout", EXACT),
    "betarce-paper": Form(GrowingSpheresSearch, "search", JEFFREYS),
}
"""By name: "betarce" certifies on fresh members, "betarce-paper" on those that steered the search."""
