"""Isotonic curves are read to the bit as numpy reads them."""

import numpy as np
import pytest

from betarce.ensemble.composites import isotonic
from betarce.ensemble.composites.isotonic import IsotonicCurve, read_curves, stack_curves


def drawn_curves(n: int) -> list[IsotonicCurve]:
    rng = np.random.default_rng(0)
    sizes = [1, 2, *rng.integers(2, 30, n - 2)]
    return [IsotonicCurve(np.unique(rng.random(size)), np.sort(rng.random(size).round(2))) for size in sizes]


@pytest.fixture(params=["compiled", "numpy"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "numpy":
        monkeypatch.setattr(isotonic, "compiled", lambda: None)
    return str(request.param)


def test_curves_are_read_as_numpy_reads_them(way: str) -> None:
    curves = drawn_curves(20)
    values = np.random.default_rng(1).uniform(-0.2, 1.2, (500, 20))
    for j, curve in enumerate(curves):  # the points themselves too
        values[: len(curve.x), j] = curve.x
    expected = np.stack([np.interp(values[:, j], *curve) for j, curve in enumerate(curves)], axis=1)
    assert np.array_equal(read_curves(values, stack_curves(curves)), expected)
    assert np.array_equal(read_curves(values[:, 7:9], stack_curves(curves), first=7), expected[:, 7:9])


def test_what_a_model_refuses_is_unknown_even_to_a_curve_of_one_point(way: str) -> None:
    curves = drawn_curves(3)
    assert np.isnan(read_curves(np.full((2, 3), np.nan), stack_curves(curves))).all()
