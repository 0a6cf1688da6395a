"""What the asker wants of single columns, as rules of one row: they narrow the rules of the run, never loosen them."""

from collections.abc import Hashable, Sequence

from betarce.features import FeatureSpace, Rule
from betarce.rules import between, decrease_only, immutable, increase_only, one_of
from betarce.web.questions import Wish


def narrowed(features: FeatureSpace, wishes: Sequence[Wish]) -> dict[Hashable, Rule]:
    """Give the rules that hold for one row instead of the general ones.

    Parameters
    ----------
    features : FeatureSpace
        Has the rules of the run.
    wishes : sequence of Wish
        At most one per column.

    Examples
    --------
    >>> import pandas as pd
    >>> features = FeatureSpace.infer(pd.DataFrame({"debt": [0, 900]}), {"debt": decrease_only()})
    >>> narrowed(features, [Wish(0, "between", low=100.0)])
    {'debt': <rule: decrease only, between 100 and inf>}
    """
    rules = {}
    for wish in wishes:
        column = features.columns[wish.column]
        # Rules of single rows say how a value moves, not what it is or costs: those parts hold for every row anyway.
        general = features.rules.get(column.name, Rule())
        moves = Rule(tuple(part for part in general.parts if part.scope == "row"))
        rules[column.name] = moves & _rule(wish, features)
    return rules


def _rule(wish: Wish, features: FeatureSpace) -> Rule:
    match wish.kind:
        case "keep":
            return immutable()
        case "up":
            return increase_only()
        case "down":
            return decrease_only()
        case "only":
            levels = features.columns[wish.column].levels or ()
            return one_of([levels[place] for place in wish.levels])
    return between(wish.low, wish.high)
