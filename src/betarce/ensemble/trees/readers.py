"""Find the reader of a classifier's trees."""

from collections.abc import Callable
from typing import Any

from betarce.ensemble.foreign import catboost, lightgbm, sklearn_trees, xgboost
from betarce.ensemble.preprocessing.probe_points import ProbePoints
from betarce.ensemble.trees.forest_arrays import TreeMember


def read_member(model: Any, probes: ProbePoints | None = None) -> TreeMember | None:
    """Read the trees of a fitted classifier; None if it is not known to have any.

    Parameters
    ----------
    model : fitted classifier
    probes : ProbePoints, optional
        Show every level of every category to CatBoost's reader.

    Returns
    -------
    TreeMember or None

    Raises
    ------
    Unreadable
        If `Tree` cannot represent them exactly.
    """
    kind = type(model)
    # By name, so that no library is imported to be compared with; a subclass may override `predict`, so it is out.
    name = (kind.__module__.partition(".")[0], kind.__name__)
    if name == ("catboost", "CatBoostClassifier"):
        return catboost.read_trees(model, probes)
    reader = READERS.get(name)
    return reader(model) if reader else None


READERS: dict[tuple[str, str], Callable[[Any], TreeMember]] = {
    ("lightgbm", "LGBMClassifier"): lightgbm.read_trees,
    ("xgboost", "XGBClassifier"): xgboost.read_trees,
    ("sklearn", "DecisionTreeClassifier"): sklearn_trees.read_forest,
    ("sklearn", "RandomForestClassifier"): sklearn_trees.read_forest,
    ("sklearn", "ExtraTreesClassifier"): sklearn_trees.read_forest,
    ("sklearn", "BaggingClassifier"): sklearn_trees.read_bagging,
    ("sklearn", "AdaBoostClassifier"): sklearn_trees.read_ada_boost,
    ("sklearn", "GradientBoostingClassifier"): sklearn_trees.read_gradient_boosting,
    ("sklearn", "HistGradientBoostingClassifier"): sklearn_trees.read_hist_gradient_boosting,
}
