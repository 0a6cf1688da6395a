"""Kernels of trees as arrays: the same bits come back, and nothing that points nowhere is walked over."""

import numpy as np
import pytest

from betarce.ensemble import Ensemble
from betarce.ensemble.ensemble import KnownKernel
from betarce.ensemble.trees.stored_kernel import kernel_arrays, kernel_of_arrays
from betarce.errors import CorruptFile
from betarce.features import FeatureSpace
from betarce.storage.array_file import from_bytes, to_bytes
from mixed_models import LABELS, TABLE, fitted

FEATURES = FeatureSpace.infer(TABLE)
POINTS = FEATURES.encode(TABLE)
LEVELS = [-1 if column.levels is None else len(column.levels) for column in FEATURES.columns]


def ensemble_of(kind):
    model = fitted(kind)
    others = [type(model)(**model.get_params()).set_params(**settings) for settings in ({}, {"max_depth": 3})]
    models = [model, *(other.fit(TABLE, LABELS) for other in others)]
    return models, Ensemble(models, [0, 1], features=FEATURES, probe=POINTS[:40])


@pytest.fixture(scope="module", params=["lightgbm", "hist gradient boosting"])
def stored(request):
    models, ensemble = ensemble_of(request.param)
    return models, ensemble, from_bytes(to_bytes(kernel_arrays(ensemble.tree_kernel, levels=LEVELS)))


def test_a_kernel_comes_back_to_the_same_bits(stored):
    models, ensemble, arrays = stored
    kernel = kernel_of_arrays(arrays, levels=LEVELS, n_members=len(models))
    answers = np.searchsorted([0, 1], ensemble.labels(POINTS[:40]))
    again = Ensemble(models, [0, 1], features=FEATURES, probe=POINTS[:40], known=KnownKernel(kernel, answers))
    assert again.tree_kernel is kernel
    assert repr(again) == repr(ensemble)
    np.testing.assert_array_equal(again.margins(POINTS, 1), ensemble.margins(POINTS, 1))
    assert to_bytes(kernel_arrays(kernel, levels=LEVELS)) == to_bytes(arrays)


def test_a_kernel_that_answers_otherwise_is_not_used(stored):
    models, ensemble, arrays = stored
    kernel = kernel_of_arrays(arrays, levels=LEVELS, n_members=len(models))
    wrong = 1 - np.searchsorted([0, 1], ensemble.labels(POINTS[:40]))
    again = Ensemble(models, [0, 1], features=FEATURES, probe=POINTS[:40], known=KnownKernel(kernel, wrong))
    assert again.tree_kernel is not kernel
    np.testing.assert_array_equal(again.margins(POINTS, 1), ensemble.margins(POINTS, 1))


@pytest.mark.parametrize(
    ("name", "value", "what"),
    [
        ("children", 10**6, "child"),
        ("children", -1, "child"),
        ("feature", 500, "column"),
        ("feature", -1, "column"),
        ("root", 3, "root"),
        ("depth", 77, "depth"),
        ("output", 9, "output"),
        ("member_start", 1, "member"),
        ("source", 99, "column"),
        ("set_start", -5, "set of codes"),
        ("set_codes", 1000, "set of codes"),
        ("outside", 2, "side of a code"),
    ],
)
def test_what_points_to_nowhere_is_refused(name, value, what, stored):
    models, _, arrays = stored
    if not len(arrays[name]):
        pytest.skip("this kernel has none")
    changed = {key: array.copy() for key, array in arrays.items()}
    changed[name][0] = value
    with pytest.raises(CorruptFile, match=f"its kernel has a {what} that cannot be"):
        kernel_of_arrays(changed, levels=LEVELS, n_members=len(models))


def test_a_kernel_of_other_members_or_without_a_part_is_refused(stored):
    _, _, arrays = stored
    with pytest.raises(CorruptFile, match="it is the kernel of 3 members; 4 are there"):
        kernel_of_arrays(arrays, levels=LEVELS, n_members=4)
    for name in ("feature", "outside", "rounding"):
        with pytest.raises(CorruptFile, match=f"no usable part '{name}'"):
            kernel_of_arrays({key: each for key, each in arrays.items() if key != name}, levels=LEVELS, n_members=3)
        wrong = {**arrays, name: arrays[name].astype(np.float32)}
        with pytest.raises(CorruptFile, match=f"no usable part '{name}'"):
            kernel_of_arrays(wrong, levels=LEVELS, n_members=3)


def test_members_of_other_kinds_have_no_kernel_of_trees():
    model = fitted("logistic")
    assert Ensemble([model], [0, 1], features=FEATURES, probe=POINTS[:10]).tree_kernel is None
