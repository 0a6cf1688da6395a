"""Retrained members: drawn from a space, and kept by role in one value."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from betarce.ensemble import Ensemble
from betarce.errors import InvalidInput
from betarce.member_training import MemberStore, report_failures, report_warnings, train_members
from betarce.models.recipe import Outcome, Recipe, Table
from betarce.seeding import derive, generator
from betarce.spaces import Given, Job, Space

Role = Literal["search", "certifying", "audit"]
"""What members are for: they steer the search, decide on what it found, or measure what was promised."""


@dataclass(frozen=True)
class Origin:
    """Where one member comes from.

    Attributes
    ----------
    name : str
        Its role and number when it was drawn, such as "certify/17"; "given/4" for the fifth of models that exist.
    seed : int or None
        What it was trained with, derived from the name; None for models that exist.
    n_redrawn : int
        Bootstrap samples that lost a class and were drawn again for it.
    """

    name: str
    seed: int | None = None
    n_redrawn: int = 0


@dataclass(frozen=True, eq=False)
class Draw:
    """Models drawn for one role.

    Attributes
    ----------
    models : sequence of fitted models
        In the order of their names.
    origins : tuple of Origin
        Where each comes from.
    """

    models: Sequence[object]
    origins: tuple[Origin, ...]

    def __post_init__(self) -> None:
        if len(self.models) != len(self.origins):
            raise InvalidInput(
                f"`origins` must be one per model ({len(self.models)}); got {len(self.origins)}. "
                "Store and load both together."
            )

    def __len__(self) -> int:
        return len(self.models)

    @property
    def n_redrawn(self) -> int:
        """Bootstrap samples that lost a class and were drawn again."""
        return sum(origin.n_redrawn for origin in self.origins)

    def take(self, which: Iterable[int]) -> "Draw":
        """Pick some of them, in any order."""
        chosen = list(which)
        return Draw([self.models[i] for i in chosen], tuple(self.origins[i] for i in chosen))

    def __add__(self, other: "Draw") -> "Draw":
        return Draw([*self.models, *other.models], (*self.origins, *other.origins))


@dataclass(frozen=True, eq=False)
class Members:
    """The retrained models by role, and how they were drawn.

    No model has two roles; that is checked when the value is made.

    Attributes
    ----------
    search : Ensemble
        The members that steer the search.
    certifying : Ensemble or None
        The members that decide; None if those of the search do, as in the paper.
    audit : Ensemble or None
        The members that measure what was promised, once there are some.
    space : space
        What they were drawn from.
    seed : int
        The seed that all members were derived from.
    origins : mapping of role to tuple of Origin
        The name and seed of every member.
    varied : bool
        Whether the members differ from each other at all.
    looked : bool
        Whether votes of those that decide have been looked at.
    n_extensions : int
        How often further certifying members were drawn.
    """

    search: Ensemble
    certifying: Ensemble | None
    space: Space
    seed: int
    origins: Mapping[Role, tuple[Origin, ...]]
    audit: Ensemble | None = None
    varied: bool = True
    looked: bool = False
    n_extensions: int = 0

    def __post_init__(self) -> None:
        there = self.ensembles
        sizes = {role: len(ensemble) for role, ensemble in there.items()}
        if self.sizes != sizes:
            raise InvalidInput(f"`origins` must name every member, {sizes}; got {self.sizes}.")
        taken: dict[int, Role] = {}
        for role, ensemble in there.items():
            shared = [taken[id(model)] for model in ensemble.models if id(model) in taken]
            if shared:
                raise InvalidInput(
                    f"{len(shared)} of {len(ensemble)} {role} members are {shared[0]} members too. Draw them anew."
                )
            taken.update((id(model), role) for model in ensemble.models)

    @classmethod
    def of(
        cls,
        draws: Mapping[str, Draw],
        assemble: Callable[[Sequence[object]], Ensemble],
        *,
        space: Space,
        seed: int,
    ) -> "Members":
        """Put the draws named "search" and "certify", the latter if there is one, into their roles.

        Parameters
        ----------
        draws : mapping of str to Draw
        assemble : callable
            Makes models vote together, such as `Subject.ensemble`.
        space : space
        seed : int
        """
        certify = draws.get("certify")
        origins: dict[Role, tuple[Origin, ...]] = {"search": draws["search"].origins}
        if certify is not None:
            origins["certifying"] = certify.origins
        return cls(
            search=assemble(draws["search"].models),
            certifying=None if certify is None else assemble(certify.models),
            space=space,
            seed=seed,
            origins=origins,
        )

    def __repr__(self) -> str:
        sizes = ", ".join(f"{n} {role}" for role, n in self.sizes.items())
        return f"Members({sizes}, space={self.space!r}, seed={self.seed})"

    @property
    def ensembles(self) -> dict[Role, Ensemble]:
        """The members of every role that has some."""
        roles: dict[Role, Ensemble | None] = {
            "search": self.search,
            "certifying": self.certifying,
            "audit": self.audit,
        }
        return {role: ensemble for role, ensemble in roles.items() if ensemble is not None}

    @property
    def sizes(self) -> dict[Role, int]:
        """How many members each role has."""
        return {role: len(origins) for role, origins in self.origins.items()}

    @property
    def n_redrawn(self) -> int:
        """Bootstrap samples that lost a class and were drawn again."""
        return sum(origin.n_redrawn for origins in self.origins.values() for origin in origins)

    @property
    def steered(self) -> bool:
        """Whether the members that decide also steered the search, as in the paper."""
        return self.certifying is None

    @property
    def voters(self) -> Ensemble:
        """The members that decide."""
        return self.search if self.certifying is None else self.certifying

    def draw_of(self, role: Role) -> Draw:
        """Give the models of a role with where each comes from, as they were drawn."""
        return Draw(self.ensembles[role].models, self.origins[role])

    def looked_at(self) -> "Members":
        """Note that votes of those that decide have been looked at."""
        return self if self.looked else replace(self, looked=True)

    def with_certifying(self, certifying: Ensemble, origins: Sequence[Origin]) -> "Members":
        """Give the same members with others that decide, at whose votes nobody has looked."""
        named: dict[Role, tuple[Origin, ...]] = {**self.origins, "certifying": tuple(origins)}
        return replace(self, certifying=certifying, origins=named, looked=False, n_extensions=self.n_extensions + 1)

    def with_audit(self, audit: Ensemble, origins: Sequence[Origin]) -> "Members":
        """Give the same members with some that measure what was promised."""
        named: dict[Role, tuple[Origin, ...]] = {**self.origins, "audit": tuple(origins)}
        return replace(self, audit=audit, origins=named)


def draw_members(
    space: Space,
    recipe: Recipe,
    table: Table,
    sizes: Mapping[str, int],
    *,
    seed: int,
    n_jobs: int | None = None,
    verbose: int = 0,
    announce: Callable[[float], str] | None = None,
    store: MemberStore | None = None,
) -> dict[str, Draw]:
    """Draw and train members for one or more roles.

    Every member depends on its name, which holds its role and number, and on nothing else: neither on `n_jobs` nor
    on how many others are drawn. So members of different roles are never the same.

    Parameters
    ----------
    space : space
        What may happen.
    recipe : Recipe
        How a model is trained.
    table : Table
        The original training rows.
    sizes : mapping of str to int
        How many members each role gets.
    seed : int
        The seed of the whole computation.
    n_jobs : int or None
        Workers, as in joblib.
    verbose : int
        See `betarce.progress`.
    announce : callable, optional
        Given the seconds that all members will take, as far as the first ones tell, it returns what to say before the
        others are trained.
    store : MemberStore, optional
        Where members are stored as they are trained; those that it has are not trained again.

    Returns
    -------
    dict of str to Draw

    Raises
    ------
    MemberFailed
        If some could not be trained; the others are in its `.members`.
    """
    if isinstance(space, Given):
        there = Draw(list(space.models), tuple(Origin(f"given/{i}") for i in range(len(space))))
        return deal(there, sizes, seed=seed)
    jobs = {role: plan_members(space, recipe, table, role, n, seed=seed) for role, n in sizes.items()}
    everything = [job for role in jobs.values() for job in role]
    outcomes = train_members(everything, table, n_jobs=n_jobs, verbose=verbose, announce=announce, store=store)
    report_failures(everything, outcomes)
    report_warnings(everything, outcomes)
    return {
        role: Draw([_trained(outcomes[job.retraining.name]) for job in planned], origins_of(planned))
        for role, planned in jobs.items()
    }


def plan_members(space: Space, recipe: Recipe, table: Table, role: str, n: int, *, seed: int) -> list[Job]:
    """Say what `n` members of a role will be, each from its own name."""
    return [space.plan(recipe, table, f"{role}/{i}", derive(seed, role, i)) for i in range(n)]


def origins_of(jobs: Iterable[Job]) -> tuple[Origin, ...]:
    """Give the names and seeds of members that were planned."""
    return tuple(Origin(job.retraining.name, job.retraining.seed, job.redrawn) for job in jobs)


def deal(there: Draw, sizes: Mapping[str, int], *, seed: int) -> dict[str, Draw]:
    """Deal models that exist out to roles, at random, no model twice.

    Examples
    --------
    >>> there = Draw([10, 11, 12], (Origin("given/0"), Origin("given/1"), Origin("given/2")))
    >>> dealt = deal(there, {"search": 1, "certify": 2}, seed=0)
    >>> sorted(dealt["search"].models + dealt["certify"].models)
    [10, 11, 12]
    """
    needed = sum(sizes.values())
    if needed > len(there):
        roles = " and ".join(f"{n} to {role}" for role, n in sizes.items())
        raise InvalidInput(
            f"`models` must be at least {needed}, {roles}; got {len(there)}. "
            "Add models, or ask for fewer with `n_models`."
        )
    order = iter(generator(seed, "given").permutation(len(there)).tolist())
    return {role: there.take(next(order) for _ in range(n)) for role, n in sizes.items()}


def _trained(outcome: Outcome) -> object:
    assert outcome.model is not None  # failures were reported before
    return outcome.model
