"""What every space keeps to."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from betarce.arrays import AnyArray
from betarce.members import Draw, draw_members
from betarce.models.recipe import Recipe
from betarce.spaces import Space
from betarce.testing.cases import Case, four_cases
from betarce.testing.contract import Contract, luck, name_of, same_bits


def check_space_contract(
    space: Space,
    *,
    model: Callable[[Case], Any] | None = None,
    cases: Iterable[Case] | None = None,
) -> None:
    """Check that a space keeps to its protocol.

    The same seed gives the same members, whatever the global random generators hold, on any number of workers;
    another seed gives others. A member depends on its own name alone: not on how many others are drawn, nor for which
    roles. No two members have the same name or seed. The training rows are left alone, and every member knows every
    class.

    Parameters
    ----------
    space : space
    model : callable, optional
        Gives the unfitted model to retrain for a case; by default a decision tree that looks at two columns per split,
        as the step "model" of the case's pipeline. Its training must depend on what the space changes.
    cases : iterable of Case, optional
        `four_cases` by default.

    Raises
    ------
    ContractBroken
        If it does not; the message names the promise that was broken, and on which case.

    Examples
    --------
    >>> from betarce.spaces import Bootstrap
    >>> check_space_contract(Bootstrap())
    """
    for case in four_cases() if cases is None else cases:
        made = _tree(case) if model is None else model(case)
        _check_on(space, case, made, Contract(name_of(space), case.name))


def _tree(case: Case) -> Any:
    return case.pipeline(DecisionTreeClassifier(max_features=2))


def _check_on(space: Space, case: Case, model: Any, contract: Contract) -> None:
    def draw(sizes: Mapping[str, int], *, seed: int = 0, n_jobs: int | None = None) -> dict[str, Draw]:
        return draw_members(space, Recipe(model), case.table, sizes, seed=seed, n_jobs=n_jobs, verbose=-1)

    with contract.untouched({"X": case.X, "y": case.y}), luck(1):
        both = draw({"search": 3, "certify": 4})
    sizes = {role: len(drawn) for role, drawn in both.items()}
    contract.require(sizes == {"search": 3, "certify": 4}, f"roles must get as many members as asked; got {sizes}.")
    origins = [origin for drawn in both.values() for origin in drawn.origins]
    contract.require(len({origin.name for origin in origins}) == 7, "two members have the same name.")
    contract.require(len({origin.seed for origin in origins}) == 7, "two members have the same seed.")
    models = [id(each) for drawn in both.values() for each in drawn.models]
    contract.require(len(set(models)) == 7, "two roles share a model.")
    classes = np.unique(case.y)
    for each in both["search"].models:
        known = np.asarray(getattr(each, "classes_", classes))
        contract.require(same_bits(np.unique(known), classes), f"a member does not know every class: {known.tolist()}.")
    search = _answers(both["search"], case)
    with luck(2):
        again = draw({"search": 3, "certify": 4})
    contract.same(_answers(again["search"], case), search, "the same seed gave other members the second time.")
    with luck(3):
        alone = draw({"search": 2})
    contract.same(
        _answers(alone["search"], case),
        search[:2],
        "a member depends on how many others are drawn.",
    )
    workers = draw({"search": 3}, n_jobs=2)
    contract.same(_answers(workers["search"], case), search, "members depend on the number of workers.")
    other = _answers(draw({"search": 3}, seed=1)["search"], case)
    contract.require(not same_bits(other, search), "another seed gave the same members.")


def _answers(drawn: Draw, case: Case) -> AnyArray:
    """Give what each member says of the table and around it: probabilities where it has some, which show more."""
    table = case.features.decode(case.around())
    models: list[Any] = list(drawn.models)
    return np.stack(
        [np.asarray(m.predict_proba(table) if hasattr(m, "predict_proba") else m.predict(table)) for m in models]
    )
