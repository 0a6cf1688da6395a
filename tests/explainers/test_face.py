"""FACE: the contract, paths against a plain Dijkstra, and that it keeps to dense data."""

import gc
import heapq
import weakref

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from betarce.comparison.metrics import plausibility
from betarce.ensemble import Ensemble
from betarce.errors import InvalidInput
from betarce.explainers import Face, GrowingSpheres, NearestUnlike, Problem, check_explainer
from betarce.features import FeatureSpace
from betarce.rules import at_most, immutable
from contract_cases import keeps_the_contract
from small_problem import FEATURES, POINTS

test_face_keeps_the_contract = keeps_the_contract(Face(), rules=True)

test_face_within_epsilon_keeps_the_contract = keeps_the_contract(
    Face(mode="epsilon", density="knn", min_confidence=0.6)
)

test_face_on_some_rows_keeps_the_contract = keeps_the_contract(
    Face(fraction=0.5, density="uniform", min_density=0.1, seed=4)
)


class Linear:
    """Class 1 where 2a + b reaches a level."""

    classes_ = np.array([0, 1])

    def __init__(self, level=1.45):
        self.level = level

    def predict(self, X):
        return (2 * X[:, 0] + X[:, 1] >= self.level).astype(int)


def problem_of(X, model, rules=None):
    features = FeatureSpace.infer(X, rules=rules)
    return Problem(Ensemble([model], [0, 1]), features, X, model.predict(X))


def explain(explainer, problem, originals, wanted=None):
    wanted = np.tile([False, True], (len(originals), 1)) if wanted is None else wanted
    return explainer.explain(originals, wanted, problem, problem.features.box(originals), [0] * len(originals))


def plain_costs(X, pairs, density, k, middle_density):
    """Costs of edges as the docstring tells them, from first principles."""
    lengths = np.array([np.linalg.norm(a - b) for a, b in pairs])
    if density == "uniform":
        heights = np.zeros(len(lengths))
    elif density == "knn":
        heights = np.log(k / (len(X) * np.pi * lengths**2))
    else:
        heights = np.log([middle_density((a + b) / 2) for a, b in pairs])
    return lengths, heights


def plain_face(X, exits, original, mode, density, k):
    """The end of the cheapest path: neighbours, densities and Dijkstra's algorithm without any matrix."""
    n = len(X)
    gaps = np.linalg.norm(X[:, None] - X, axis=2)
    last = np.sort(gaps, axis=1)[:, k]
    epsilon, bandwidth = np.quantile(last, 0.9), np.median(last)

    def middle_density(x):
        return np.exp(-np.square(X - x).sum(axis=1) / (2 * bandwidth**2)).mean() / (2 * np.pi * bandwidth**2)

    if mode == "knn":
        joined = {(min(i, j), max(i, j)) for i in range(n) for j in np.argsort(gaps[i])[1 : k + 1]}
        first = np.argsort(np.linalg.norm(X - original, axis=1))[:k]
    else:
        joined = {(i, j) for i in range(n) for j in range(i + 1, n) if gaps[i, j] <= epsilon}
        first = np.flatnonzero(np.linalg.norm(X - original, axis=1) <= epsilon)
    edges = sorted(joined)
    lengths, heights = plain_costs(X, [(X[i], X[j]) for i, j in edges], density, k, middle_density)
    full = np.quantile(heights, 0.99)
    costs = lengths * (1 + np.maximum(full - heights, 0))
    ways = {i: [] for i in range(n)}
    for (i, j), cost in zip(edges, costs, strict=True):
        ways[i].append((j, cost))
        ways[j].append((i, cost))

    lengths, heights = plain_costs(X, [(original, X[j]) for j in first], density, k, middle_density)
    queue = [(c, j) for c, j in zip(lengths * (1 + np.maximum(full - heights, 0)), first, strict=True)]
    heapq.heapify(queue)
    done = set()
    while queue:
        cost, i = heapq.heappop(queue)
        if exits[i]:
            return X[i]
        if i not in done:
            done.add(i)
            for j, more in ways[i]:
                heapq.heappush(queue, (cost + more, j))
    return None


def unit_square(n, seed):
    """Random rows that fill the unit square to its corners, so that ranges are 1."""
    return np.vstack([np.random.default_rng(seed).random((n - 2, 2)), [[0.0, 0.0], [1.0, 1.0]]])


@pytest.mark.slow
@pytest.mark.parametrize("density", ["kde", "knn", "uniform"])
@pytest.mark.parametrize("mode", ["knn", "epsilon"])
def test_the_path_ends_where_a_plain_dijkstra_ends(mode, density):
    X = unit_square(150, seed=1)
    problem = problem_of(X, Linear())
    originals = np.random.default_rng(2).uniform(0.05, 0.4, (20, 2))
    result = explain(Face(mode=mode, density=density, n_neighbors=5), problem, originals)
    exits = problem.y_train == 1
    expected = np.array([plain_face(X, exits, original, mode, density, 5) for original in originals])
    np.testing.assert_array_equal(result.points, expected)


def test_on_a_regular_grid_without_densities_the_path_is_as_short_as_can_be():
    side = np.linspace(0, 1, 11)
    X = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    problem = problem_of(X, Linear())
    result = explain(Face(mode="epsilon", epsilon=0.1001, density="uniform"), problem, np.array([[0.1, 0.3]]))
    # Along the grid, only steps of 0.1 are allowed: five to the right reach 2a + b >= 1.45, and nothing is quicker.
    np.testing.assert_allclose(result.points, [[0.6, 0.3]])


@pytest.mark.slow
def test_rows_whose_first_end_is_lost_by_their_rules_get_the_next():
    X = unit_square(200, seed=5)
    problem = problem_of(X, Linear(), {"x0": at_most(0.25)})
    originals = np.random.default_rng(6).uniform(0.1, 0.4, (20, 2))
    result = explain(Face(n_neighbors=5), problem, originals)
    free = explain(Face(n_neighbors=5), problem_of(X, Linear()), originals)
    assert result.found.all()
    assert (np.abs(result.points[:, 0] - originals[:, 0]) <= 0.25 + 1e-12).all()
    assert (Linear().predict(result.points) == 1).all()
    assert (result.points != free.points).any()
    box = problem.features.box(originals)
    for i in np.flatnonzero((result.points != free.points).any(axis=1)):
        moved = problem.features.project(X, box.take(np.full(len(X), i)))
        works = (problem.y_train == 1) & (Linear().predict(moved) == 1)
        end = plain_face(X, works, originals[i], "knn", "kde", 5)
        np.testing.assert_array_equal(result.points[i], moved[(end == X).all(axis=1)][0])
    assert not explain(Face(n_neighbors=5, n_candidates=1), problem, originals).found.all()


def two_moons():
    """A row of one moon, two ways to the target class: a long one along the moon, a short one across empty space."""
    rng = np.random.default_rng(0)
    angle = np.linspace(0, np.pi, 300)
    moon = np.column_stack([np.cos(angle), np.sin(angle)]) + rng.normal(0, 0.02, (300, 2))
    few = np.column_stack([np.linspace(-0.8, 1.0, 8), np.full(8, -0.3)])  # a thin bridge below
    return np.vstack([moon, few])


class Right:
    classes_ = np.array([0, 1])

    def predict(self, X):
        return (X[:, 0] > 0).astype(int)


def test_paths_follow_the_moon_rather_than_the_thin_bridge():
    X = two_moons()
    problem = problem_of(X, Right())
    original = np.array([[-1.0, 0.0]])
    dense = explain(Face(mode="epsilon", epsilon=0.3, bandwidth=0.05), problem, original).points[0]
    blind = explain(Face(mode="epsilon", epsilon=0.3, density="uniform"), problem, original).points[0]
    assert dense[1] > 0.8, "the top of the moon"
    assert blind[1] < -0.2, "the bridge, which is shorter"


def test_it_is_more_plausible_than_growing_spheres():
    X, y = load_breast_cancer(return_X_y=True)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    features = FeatureSpace.infer(X)
    problem = Problem(Ensemble([model], [0, 1]), features, X, y)
    originals = X[::10]
    wanted = model.predict(originals)[:, None] != np.array([0, 1])
    away = {}
    for explainer in (Face(), GrowingSpheres()):
        result = explain(explainer, problem, originals, wanted)
        assert result.found.all()
        away[type(explainer).__name__] = plausibility(result.points, X, n_neighbors=15, scale=features.scale).mean()
    assert away["Face"] < away["GrowingSpheres"], away


def test_the_middle_of_an_edge_is_that_of_its_ends_for_names_too():
    graph = Face().chart(Problem(Ensemble([Linear()], [0, 1]), FEATURES, POINTS, np.zeros(len(POINTS)))).graph
    names = np.array([column.is_nominal for column in FEATURES.columns])
    codes = POINTS[:, names].astype(int)[:, 0]
    spread = np.hstack([POINTS[:, ~names] / FEATURES.scale[~names], np.eye(3)[codes] / np.sqrt(2)])
    edges = graph.edges
    middles = (spread[edges.tails] + spread[edges.heads]) / 2
    squares = np.square(middles[:, None] - spread).sum(axis=2)
    expected = np.log(np.exp(-squares / (2 * graph.bandwidth**2)).sum(axis=1))
    np.testing.assert_allclose(graph.log_density(POINTS, edges), expected, atol=1e-9)
    np.testing.assert_allclose(edges.lengths, np.linalg.norm(spread[edges.tails] - spread[edges.heads], axis=1))


def two_islands():
    rng = np.random.default_rng(0)
    return np.vstack([rng.random((40, 2)) * 0.3, 0.7 + rng.random((40, 2)) * 0.3])


def test_islands_without_a_bridge_give_a_reason():
    problem = problem_of(two_islands(), Linear())
    originals = np.array([[0.1, 0.1], [0.45, 0.45]])
    for explainer, remedy in ((Face(n_neighbors=3), "`n_neighbors`"), (Face(mode="epsilon", epsilon=0.1), "`epsilon`")):
        result = explain(explainer, problem, originals)
        assert not result.found[0]
        assert "falls into parts" in result.reasons[0]
        assert f"Raise {remedy}" in result.reasons[0]
        np.testing.assert_array_equal(result.points[0], originals[0])
    assert result.reasons[1].startswith("No training row lies within `epsilon`")
    alone = explain(Face(mode="epsilon", epsilon=0.1), problem, originals[1:])
    assert alone.reasons == result.reasons[1:], "a batch that nothing is near to"
    assert explain(Face(n_neighbors=50), problem, originals).found.all()


def test_ends_that_no_row_is_good_enough_for_give_a_reason():
    problem = problem_of(two_islands(), Linear())
    result = explain(Face(min_confidence=0.9), problem, np.array([[0.1, 0.1]]))
    assert "`min_confidence`=0.9" in result.reasons[0], "labels alone are never that sure"
    fixed = problem_of(two_islands(), Linear(), {"x0": immutable(), "x1": immutable()})
    result = explain(Face(n_neighbors=50, n_candidates=7), fixed, np.array([[0.1, 0.1]]))
    assert result.reasons[0].startswith("None of the 7 training rows")


def test_ends_are_as_sure_and_as_dense_as_asked():
    X = unit_square(300, seed=3)
    y = Linear().predict(X)
    model = LogisticRegression(C=100).fit(X, y)
    problem = Problem(Ensemble([model], [0, 1]), FeatureSpace.infer(X), X, y)
    originals = X[model.predict(X) == 0][:20]
    sure = explain(Face(min_confidence=0.95), problem, originals).points
    assert (model.predict_proba(sure)[:, 1] >= 0.95).all()
    ends = explain(Face(min_density=0.7, density="knn"), problem, originals).points
    last = [np.sort(np.linalg.norm(X - end, axis=1))[10] for end in ends]
    assert max(last) <= np.quantile(np.sort(np.linalg.norm(X[:, None] - X, axis=2), axis=1)[:, 10], 0.3) + 1e-9


def test_without_rules_ends_are_training_rows_and_no_nearer_than_the_nearest():
    X = unit_square(300, seed=4)
    problem = problem_of(X, Linear())
    originals = X[problem.y_train == 0][:30]
    ends = explain(Face(), problem, originals).points
    assert (ends[:, None] == X).all(axis=2).any(axis=1).all()
    least = explain(NearestUnlike(norm="l2"), problem, originals).points
    gap, smallest = (np.linalg.norm(points - originals, axis=1) for points in (ends, least))
    assert (gap >= smallest - 1e-12).all()


def test_the_seed_says_which_rows_are_used():
    X = unit_square(300, seed=4)
    problem = problem_of(X, Linear())
    originals = X[problem.y_train == 0][:30]
    one, same, other = (explain(Face(fraction=0.2, seed=s), problem, originals).points for s in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()
    assert len(Face(fraction=0.2).chart(problem).index) == 60


def test_equal_rows_are_no_obstacle():
    X = np.repeat(np.linspace(0, 1, 20), 30)[:, None] * [[1.0, 0.0]]
    problem = problem_of(X, Linear())
    for mode, options in (("knn", {"n_neighbors": 3}), ("epsilon", {"epsilon": 0.06})):
        for density in ("kde", "knn", "uniform"):
            result = explain(Face(mode=mode, density=density, **options), problem, X[:3])
            assert result.found.all(), (mode, density)


def test_missing_values_are_no_obstacle():
    rng = np.random.default_rng(0)
    X = unit_square(200, seed=9)
    X[rng.random(200) < 0.3, 1] = np.nan

    class Filled(Linear):
        def predict(self, X):
            return super().predict(np.nan_to_num(X, nan=0.5))

    problem = problem_of(X, Filled())
    originals = X[problem.y_train == 0][:20]
    for mode in ("knn", "epsilon"):
        result = explain(Face(mode=mode), problem, originals)
        assert result.found.all()
        assert not problem.features.violations(result.points, problem.features.box(originals)).any()


@pytest.mark.slow
def test_the_graph_is_built_once_and_goes_with_its_problem():
    problem = problem_of(unit_square(100, seed=1), Linear())
    explain(Face(), problem, np.array([[0.2, 0.2]]))
    assert Face().chart(problem) is Face().chart(problem)
    assert Face().chart(problem) is not Face(n_neighbors=3).chart(problem)
    gone = weakref.ref(problem)
    del problem
    gc.collect()
    assert gone() is None


def test_an_empty_batch_has_an_empty_answer():
    assert explain(Face(), problem_of(two_islands(), Linear()), np.empty((0, 2))).points.shape == (0, 2)


def test_it_is_known_by_name():
    assert check_explainer("face") == Face()


@pytest.mark.parametrize(
    "options",
    [
        {"mode": "tree"},
        {"n_neighbors": 0},
        {"epsilon": 0.0},
        {"density": "low"},
        {"bandwidth": -1.0},
        {"fraction": 0.0},
        {"min_confidence": 1.0},
        {"min_density": -0.1},
        {"n_candidates": 0},
        {"seed": -1},
    ],
    ids=str,
)
def test_options_out_of_range_are_refused(options):
    with pytest.raises(InvalidInput, match=f"`{next(iter(options))}` must"):
        Face(**options)


def test_epsilon_without_its_mode_is_refused():
    with pytest.raises(InvalidInput, match="`epsilon` is for mode 'epsilon'"):
        Face(epsilon=0.3)
