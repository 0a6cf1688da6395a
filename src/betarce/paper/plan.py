"""Plans of experiments, and the independent cells that they stand for."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import product
from typing import Any

from betarce.comparison.forms import FORMS, KINDS
from betarce.comparison.grids import Grid
from betarce.comparison.tuning import TUNING_MEMBERS, TUNING_ROWS
from betarce.explainers import EXPLAINERS
from betarce.parameters import parameters_of
from betarce.posterior import Guarantee, Prior
from betarce.seeding import derive
from betarce.storage.files import digest

_CHOOSE_CELLS = ("data", "families", "spaces", "run_folds")


@dataclass(frozen=True)
class Method:
    """One method of a plan.

    Attributes
    ----------
    name : str
        What it is called in the records.
    method : str
        "betarce", "betarce-paper", or the name of an explainer.
    parameters : mapping
        Of the explainer; its defaults where silent. BetaRCE has "n_models", and the parameters of its search.
    grid : mapping of parameter to values
        What is tried before, on training rows and members that serve for nothing else; the most robust is taken.
    """

    name: str
    method: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    grid: Grid = field(default_factory=dict)

    @property
    def ours(self) -> bool:
        """Whether it is a form of BetaRCE, which knows delta and confidence."""
        return self.method in FORMS

    @property
    def based(self) -> bool:
        """Whether it starts from the points of a base method."""
        return self.ours or "base" in parameters_of(EXPLAINERS[self.method]())

    @property
    def full_grid(self) -> dict[str, Any]:
        """The grid, with the fixed parameters as lists of one."""
        return {**{name: (value,) for name, value in self.parameters.items()}, **self.grid}


@dataclass(frozen=True)
class Cell:
    """One data set, model family, space and fold: trained, explained and measured without knowing of other cells."""

    data: str
    family: str
    space: str
    fold: int

    @property
    def name(self) -> str:
        """What it is called: its file, and where its seeds come from."""
        return f"{self.data}-{self.family}-{self.space}-fold{self.fold}"


@dataclass(frozen=True)
class Plan:
    """What is to be run.

    Attributes
    ----------
    data : tuple of str
        Data sets, by the names of `betarce.datasets.load`.
    families : tuple of str
        "logistic", "lightgbm", "network".
    spaces : tuple of str
        "seed", "bootstrap", "architecture".
    methods : tuple of Method
        In a file one section each: ``[methods.NAME]``, with the keys ``method`` (NAME itself by default),
        ``parameters`` and ``grid`` ("paper", or lists of values by parameter).
    bases : tuple of str
        Base methods, by the names of explainers. Every method that starts from base points is run with each.
    deltas, confidences : tuple of float
        Both forms of BetaRCE are run with each pair; other methods know of neither and run once.
    n_models : "few", "auto", "many", int or pair of int
        Members for searching and for certifying, as in `BetaRCE`; a method's own "n_models" comes first.
    prior : str, pair or None
        As in `BetaRCE`, a pair [a, b] in a file, for both forms. By default each has its own: "exact" ours, "jeffreys"
        the paper's.
    folds : int
        Parts that a data set is cut into; each cell explains rows of one and trains on the others.
    run_folds : tuple of int
        Which of them are run, from 0; all by default.
    rows : int
        Rows explained in each fold.
    audit_members : int
        Fresh members that measure the robustness.
    audit_spaces : tuple of str
        Further spaces whose members measure it too: how well a promise about one space holds in another.
    tuning_rows, tuning_members : int
        Training rows and members on which grids are tried.
    seed : int
    """

    data: tuple[str, ...]
    families: tuple[str, ...]
    spaces: tuple[str, ...]
    methods: tuple[Method, ...]
    bases: tuple[str, ...] = ("growing-spheres",)
    deltas: tuple[float, ...] = (0.9,)
    confidences: tuple[float, ...] = (0.95,)
    n_models: str | int | tuple[int, int] = "auto"
    prior: Prior | None = None
    folds: int = 3
    run_folds: tuple[int, ...] = ()
    rows: int = 30
    audit_members: int = 30
    audit_spaces: tuple[str, ...] = ()
    tuning_rows: int = TUNING_ROWS
    tuning_members: int = TUNING_MEMBERS
    seed: int = 0

    @property
    def cells(self) -> list[Cell]:
        """All cells, in the order of the plan."""
        folds = self.run_folds or range(self.folds)
        return [Cell(*setting) for setting in product(self.data, self.families, self.spaces, folds)]

    @property
    def promises(self) -> list[tuple[float, float]]:
        """Every pair of delta and confidence."""
        return list(product(self.deltas, self.confidences))

    def guarantee(self, method: Method, delta: float, confidence: float) -> Guarantee:
        """Give what a form of BetaRCE promises for a pair of delta and confidence."""
        return FORMS[method.method].guarantee(delta, confidence, self.prior)

    def sizes(self, method: Method, guarantee: Guarantee, family: str) -> tuple[int, int]:
        """Say how many members of a family search and how many certify for one form of BetaRCE and guarantee."""
        n_models = method.parameters.get("n_models", self.n_models)
        return FORMS[method.method].sizes(n_models, guarantee, KINDS[family])

    def pool_sizes(self, family: str) -> tuple[int, int]:
        """Say how many members a cell needs for searching and for certifying, over all methods and guarantees."""
        ours = [method for method in self.methods if method.ours]
        sizes = [
            self.sizes(method, self.guarantee(method, *promise), family)
            for method, promise in product(ours, self.promises)
        ]
        return max((n for n, _ in sizes), default=0), max((n for _, n in sizes), default=0)

    def seed_of(self, cell: Cell) -> int:
        """Give a cell its own seed, which no other part of the plan changes; its members are drawn by it."""
        return derive(self.seed, cell.name)

    def shared_seed(self, cell: Cell) -> int:
        """Give the seed that the cells of all spaces share: that of the model, of base points, and of searches."""
        return derive(self.seed, f"{cell.data}-{cell.family}-fold{cell.fold}")

    @property
    def protocol(self) -> dict[str, Any]:
        """All that decides what a cell's records are, as plain data: everything but the choice of cells."""
        return {key: _plain(value) for key, value in asdict(self).items() if key not in _CHOOSE_CELLS}

    @cached_property
    def digest(self) -> str:
        """A digest of the protocol: files of plans that differ only in their choice of cells fit together."""
        return digest(self.protocol)


def _plain(value: Any) -> Any:
    """Turn tuples into the lists that JSON has."""
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, (tuple, list)) else value
