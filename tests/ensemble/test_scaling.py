"""What scalers do to a number, to the last bit."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from betarce.ensemble.preprocessing.probe_points import ProbePoints
from betarce.ensemble.preprocessing.read_columns import read_preprocessing
from betarce.ensemble.preprocessing.scaling import Op, apply, largest_at_most
from betarce.ensemble.preprocessing.unwrap import unwrap
from betarce.ensemble.unreadable import Unreadable
from mixed_pipelines import SCALERS, columns, preprocessing, problem


@pytest.mark.slow
def test_preprocessing_gives_what_its_transformers_give_to_the_bit():
    space = columns()
    points, y = problem(space)
    for scaler in SCALERS:
        core = LogisticRegression(max_iter=5)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = make_pipeline(preprocessing(scaler, sparse_threshold=0), core).fit(space.decode(points), y)
        probes = ProbePoints(space.readings, space.decode, space.width, points[:20])
        drawn = space.draw(np.random.default_rng(2), 500)
        found = unwrap(model, probes).preprocessing.transform(drawn)
        np.testing.assert_array_equal(found, model[:-1].transform(space.decode(drawn)))


FINITE = st.floats(-1e12, 1e12)


@pytest.mark.slow
@settings(deadline=None)
@given(
    scaler=st.sampled_from(sorted(set(SCALERS) - {"none"})),
    seen=st.lists(FINITE, min_size=2, max_size=5),
    limits=st.lists(FINITE, min_size=1, max_size=5),
    precision=st.sampled_from(["float64", "float32"]),
)
def test_a_limit_behind_a_scaler_is_found_to_the_last_bit_in_front_of_it(scaler, seen, limits, precision):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        step = SCALERS[scaler]().fit(np.array(seen, dtype=precision)[:, None])
        decode = lambda points: np.asarray(points, dtype=precision)  # noqa: E731
        probe = np.array(seen, dtype=precision).astype(float)[:, None]
        try:
            ops = read_preprocessing([step], None, ProbePoints.numeric(1, decode, probe)).outputs[0].ops
        except Unreadable:
            assert precision == "float32", "some scalers mix precisions, which is left to the members"
            return
        if precision == "float32" and ops and ops[0].precision == "float64":
            return  # so few numbers that both precisions agree on them
        limits = np.array(limits)
        cuts = largest_at_most([ops] * len(limits), limits)
        for limit, cut in zip(limits, cuts, strict=True):
            near = [x for x in (cut, np.nextafter(cut, -np.inf), np.nextafter(cut, np.inf)) if np.isfinite(x)]
            for x in near:
                if precision == "float32":
                    x = float(np.float32(x))
                if not np.isfinite(np.array(x, dtype=precision)):
                    continue
                value = step.transform(np.array([[x]], dtype=precision))[0, 0]
                assert (float(value) <= limit) == (x <= cut)


def test_no_number_at_all_may_reach_a_limit():
    ops = (Op("set", 1.0),)
    assert largest_at_most([ops, ops], np.array([0.5, 1.0])).tolist() == [-np.inf, np.finfo(float).max]
    np.testing.assert_array_equal(apply(ops, np.array([3.0, np.nan])), [1.0, np.nan])
