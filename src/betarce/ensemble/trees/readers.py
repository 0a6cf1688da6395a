"""Which reader knows the trees of which classifier."""

from collections.abc import Callable
from typing import Any

from betarce.ensemble.foreign import catboost, lightgbm, sklearn_trees, xgboost
from betarce.ensemble.preprocessing.probe_points import Witness
from betarce.ensemble.trees.forest_arrays import TreeMember


def read_member(model: Any, witness: Witness | None = None) -> TreeMember | None:
    """Read a fitted classifier's trees; None if it is not known to have any.

    Raises
    ------
    Unreadable
        If they hold what `Tree` cannot say exactly.
    """
    kind = type(model)
    # By name, so that no library is imported to be compared with; a subclass may override `predict`, so it is out.
    name = (kind.__module__.partition(".")[0], kind.__name__)
    if name == ("catboost", "CatBoostClassifier"):
        return catboost.read_trees(model, witness)
    reader = READERS.get(name)
    return reader(model) if reader else None


READERS: dict[tuple[str, str], Callable[[Any], TreeMember]] = {
    ("lightgbm", "LGBMClassifier"): lightgbm.read_trees,
    ("xgboost", "XGBClassifier"): xgboost.read_trees,
    ("sklearn", "DecisionTreeClassifier"): sklearn_trees.read_forest,
    ("sklearn", "RandomForestClassifier"): sklearn_trees.read_forest,
    ("sklearn", "ExtraTreesClassifier"): sklearn_trees.read_forest,
    ("sklearn", "GradientBoostingClassifier"): sklearn_trees.read_gradient_boosting,
    ("sklearn", "HistGradientBoostingClassifier"): sklearn_trees.read_hist_gradient_boosting,
}
