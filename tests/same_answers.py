"""Whether two results are the same to the bit; the time that they took aside."""

from dataclasses import fields

import numpy as np

_APART = ("features", "runtime_s", "points", "ladder")


def same_answers(one, other):
    """Compare all that is handed out, and raise with the first difference."""
    assert len(one) == len(other)
    for mine, yours in zip(one, other, strict=True):
        for field in fields(mine):
            if field.name not in _APART:
                here, there = getattr(mine, field.name), getattr(yours, field.name)
                assert here == there or (here != here and there != there), (mine.name, field.name, here, there)
        for which in ("original", "base", "robust"):
            assert _bits(mine.points[which]) == _bits(yours.points[which]), (mine.name, which)
        for field in fields(mine.ladder):
            here, there = getattr(mine.ladder, field.name), getattr(yours.ladder, field.name)
            assert np.array_equal(here, there), (mine.name, field.name)
    return True


def _bits(point):
    return None if point is None else point.tobytes()
