"""The limit benchmark: its oracles against brute force, and its arithmetic."""

import json
from itertools import combinations, product

import numpy as np
import pytest
from lightgbm import LGBMClassifier
from scipy.optimize import linprog
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

import limit
import limit_report
import limit_scene
from betarce import Ensemble, FrontierSearch
from betarce.models import ValidationSplit
from limit_oracle import Closest, HalfSpaces, Place, closest, closest_by_votes, greedy_path
from limit_trees import Archive, Grid, thresholds
from limit_trees import closest_by_votes as closest_by_votes_of_trees

pytestmark = pytest.mark.slow

N_MEMBERS = 9


def a_place(seed, *, n_features=2, n_members=N_MEMBERS):
    """A model that accepts the base by a hair, and members that were tilted and moved at random."""
    rng = np.random.default_rng(seed)
    direction = rng.normal(size=n_features)
    weights = direction + 0.5 * rng.normal(size=(n_members + 1, n_features))
    base = rng.uniform(0.3, 0.7, n_features)
    offsets = -(weights @ base) - rng.uniform(0.0, 0.4, n_members + 1) * np.abs(weights).max(axis=1)
    offsets[0] = 0.01 - weights[0] @ base
    model, members = (HalfSpaces.of(weights[part], offsets[part], positive=True) for part in (slice(1), slice(1, None)))
    return Place(base, np.zeros(n_features), np.ones(n_features), model, members)


def distance_by_trying_all_subsets(place, votes):
    """The L1 distance of the closest point, by a linear program for every set of members that could be kept."""
    d, best = len(place.base), np.inf
    for kept in combinations(range(len(place.members.offsets)), votes):
        weights = np.vstack([place.model.weights, place.members.weights[list(kept)]])
        offsets = np.concatenate([place.model.offsets, place.members.offsets[list(kept)]])
        # Variables: the point, then its distance along each feature.
        one, none = np.eye(d), np.zeros((len(weights), d))
        limits = np.block([[-weights, none], [one, -one], [-one, -one]])
        result = linprog(
            np.concatenate([np.zeros(d), np.ones(d)]),
            A_ub=limits,
            b_ub=np.concatenate([offsets, place.base, -place.base]),
            bounds=[*zip(place.lower, place.upper, strict=True), *[(0, None)] * d],
        )
        best = min(best, result.fun if result.status == 0 else np.inf)
    return best


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("votes", [5, 7, 9])
def test_the_linear_oracle_is_as_close_as_the_best_of_all_subsets(seed, votes):
    place = a_place(seed)
    found = closest_by_votes(place, [votes], place.base[None])[votes]
    expected = distance_by_trying_all_subsets(place, votes)
    assert found.distance == pytest.approx(expected, abs=1e-5)
    assert found.bound <= expected + 1e-6
    assert found.proven or found.point is None


@pytest.mark.parametrize("seed", range(6))
def test_no_point_of_a_fine_grid_is_accepted_and_closer_than_the_bound(seed):
    place, votes = a_place(seed), 7
    found = closest(place, votes)
    points = np.array(list(product(np.linspace(0, 1, 201), repeat=2)))
    accepted = [place.votes(point) >= votes for point in points]
    assert np.abs(points[accepted] - place.base).sum(axis=1).min(initial=np.inf) >= found.bound - 1e-6


@pytest.mark.parametrize("seed", range(4))
def test_the_oracle_is_never_farther_at_a_lower_level(seed):
    place = a_place(seed, n_features=6, n_members=20)
    found = closest_by_votes(place, [10, 15, 18, 20], place.base[None])
    distances = [found[votes].distance for votes in (10, 15, 18, 20)]
    assert distances == sorted(distances)
    assert all(place.votes(each.point) >= votes for votes, each in found.items() if each.point is not None)


def test_the_greedy_search_is_an_upper_bound_with_the_votes_it_says():
    place = a_place(1, n_features=6, n_members=20)
    path = greedy_path(place, 15)
    assert set(path) >= set(range(15, 21))
    for votes, point in path.items():
        assert place.votes(point) >= votes
        assert place.distance(point) >= closest(place, votes, point).bound


def test_a_base_that_is_accepted_already_is_its_own_oracle():
    place = a_place(0)
    assert closest(place, 0).distance == 0.0


def test_votes_that_nobody_can_win_have_no_point():
    place = a_place(0)
    never = HalfSpaces(np.vstack([place.members.weights, [0.0, 0.0]]), np.append(place.members.offsets, -1.0))
    blocked = Place(place.base, place.lower, place.upper, place.model, never)
    found = closest(blocked, N_MEMBERS + 1)
    assert found.point is None
    assert found.distance == found.bound == np.inf
    assert closest(blocked, N_MEMBERS).distance == pytest.approx(closest(place, N_MEMBERS).distance, abs=1e-5)


def test_what_is_not_proven_says_how_much_is_missing():
    assert Closest(np.zeros(1), 0.5, 0.4).gap == pytest.approx(0.1)
    assert not Closest(np.zeros(1), 0.5, 0.4).proven


@pytest.fixture(scope="module")
def forest():
    """Small LightGBM members on two features, their thresholds, and a way to count their votes."""
    X, y = make_classification(150, 2, n_informative=2, n_redundant=0, flip_y=0.2, random_state=0)
    rng = np.random.default_rng(0)
    samples = [rng.integers(0, len(X), len(X)) for _ in range(12)]
    settings = {"n_estimators": 3, "num_leaves": 4, "min_child_samples": 5, "verbosity": -1}
    models = [LGBMClassifier(**settings).fit(X[rows], y[rows]) for rows in samples]
    return X, models, Ensemble(models, [0, 1])


def test_members_change_their_mind_at_thresholds_only(forest):
    X, models, ensemble = forest
    for j, cut in enumerate(thresholds(models, 2)):
        edges = np.concatenate([[cut[0] - 1], cut, [cut[-1] + 1]])
        points = np.repeat(X.mean(axis=0)[None], len(edges) - 1, axis=0)
        votes = []
        for share in (0.1, 0.9):
            points[:, j] = edges[:-1] + share * np.diff(edges)
            votes.append(ensemble.agrees(points, 1))
        assert (votes[0] == votes[1]).all()
        assert (votes[0][1:] != votes[0][:-1]).any()


def test_going_to_the_grid_costs_no_vote_and_no_distance(forest):
    X, models, ensemble = forest
    base = X[0]
    grid = Grid.around(base, X.min(axis=0), X.max(axis=0), thresholds(models, 2))
    places = grid.places(X)
    assert (ensemble.agrees(grid.points(places), 1) == ensemble.agrees(X, 1)).all()
    assert (grid.cost(places) <= np.abs(X - base).sum(axis=1) + 1e-12).all()


@pytest.mark.parametrize("row", [0, 1, 2, 3])
def test_the_tree_oracle_is_as_close_as_the_best_of_the_whole_grid(forest, row):
    X, models, ensemble = forest
    base, target = X[row], 1 - models[0].predict(X[[row]])[0]
    grid = Grid.around(base, X.min(axis=0), X.max(axis=0), thresholds(models, 2))

    def votes(points):
        return ensemble.votes(points, target)

    everything = np.array(list(product(*(range(len(value)) for value in grid.values))))
    counts, cost = votes(grid.points(everything)), grid.cost(everything)
    found = closest_by_votes_of_trees(grid, votes, [7, 9, 11], X, most=12, seed=0)
    for level in (7, 9, 11):
        assert counts.max() >= level
        assert votes(found[level][None])[0] >= level
        assert np.abs(found[level] - base).sum() == pytest.approx(cost[counts >= level].min())


def test_a_point_with_more_votes_counts_for_fewer_too():
    archive = Archive(5, 1)
    archive.add(np.array([[3], [2]]), np.array([4, 2]), np.array([0.3, 0.2]))
    assert archive.cost.tolist() == [0.2, 0.2, 0.2, 0.3, 0.3, np.inf]
    assert archive.places[:, 0].tolist()[:5] == [2, 2, 2, 3, 3]


@pytest.fixture(scope="module")
def cell():
    """A small cell from end to end: 40 members for the oracle, one of ours and the paper's form."""
    X, y = make_classification(260, 4, n_informative=3, n_redundant=0, flip_y=0.1, random_state=3)
    model = ValidationSplit(LogisticRegression(), random_state=0).fit(X[:200], y[:200])
    scene = limit_scene.with_bases(model, X[:200], y[:200], X[200:206], None, n_members=40, n_audit=30)
    settings = {
        "ours": {"search": FrontierSearch(norm="l1"), "certify_on": "holdout", "prior": "exact", "n_models": (38, 46)},
        "paper": limit.PAPER,
    }
    return {"data": "made up", **limit.run_cell(scene, "logistic", settings, draws=[0])}


def test_a_cell_is_strict_json_and_has_every_row_of_every_draw(cell):
    assert json.loads(json.dumps(cell, allow_nan=False)) == cell
    assert [len(draw["rows"]) for draws in cell["settings"].values() for draw in draws] == [6] * 2
    assert cell["votes"] == 36


def test_ours_is_never_closer_than_the_oracle_with_as_many_votes(cell):
    for draws in cell["settings"].values():
        for row in (row for draw in draws for row in draw["rows"] if "l1" in row):
            assert row["l1"] >= row["oracle_at_votes"] - 1e-5
    assert all(row["l1"] - row["bound"] <= 1e-5 for row in cell["oracle"])


def test_the_ratio_is_the_product_of_its_parts(cell):
    for draws in cell["settings"].values():
        split = limit_report.split(cell, draws)
        assert split.ratio == pytest.approx(split.stat * split.search)
        assert split.search >= 1 - 1e-4


def a_saved_cell(data, family, setting, distances):
    """What a saved cell says of one setting in one draw; None is a row without an answer."""
    rows = [
        {"status": "not-found"}
        if l1 is None
        else {"status": "certified", "l1": l1, "votes": 280, "validity": 0.93, "oracle_at_votes": 1.1}
        for l1 in distances
    ]
    oracle = {"l1": 1.0, "bound": 1.0, "validity": 0.9, "largest_gap": 0.0, "levels": {"270": 1.0}}
    return {
        "data": data,
        "family": family,
        "n_rows": len(rows),
        "n_base_missing": 0,
        "exact": True,
        "oracle": [oracle] * len(rows),
        "settings": {setting: [{"n_models": [38, 46], "rows": rows}]},
    }


def test_rows_without_an_answer_are_counted():
    cell = a_saved_cell("diabetes", "logistic", "default", [1.2, None, 1.4])
    split = limit_report.split(cell, cell["settings"]["default"])
    assert (split.n_found, split.n_asked) == (2, 3)
    assert split.ratio == pytest.approx(1.3)
    assert limit_report.ratio_rows([cell])[0][4] == "2 of 3"


def test_goals_are_met_missed_or_not_yet_measured():
    cells = [a_saved_cell(data, "logistic", "default", [1.3]) for data in ("a", "b", "c")]
    cells.append(a_saved_cell("a", "lightgbm", "default", [1.5]))
    met, absent, missed, unknown = limit_report.goal_lines(cells)
    assert met == "logistic, mean of the cells, default: 1.30; the goal is <= 1.4: met."
    assert absent.endswith("0 of 3 cells are there; the goal is <= 1.2.")
    assert missed == "LightGBM, default: 1.50; the goal is <= 1.45: missed."
    assert "0 of 1 cells are there" in unknown


def test_the_report_goes_between_its_markers(tmp_path, capsys):
    page, results = tmp_path / "page.md", tmp_path / "results"
    results.mkdir()
    page.write_text("before\n<!-- limit begin: measured, not written by hand -->\nold\n<!-- limit end -->\nafter\n")
    limit_report.write_report(results, page)
    assert "old" in page.read_text()
    assert "nothing to report" in capsys.readouterr().out
    cell = a_saved_cell("diabetes", "logistic", "default", [1.2])
    (results / "cell.json").write_text(json.dumps(cell))
    limit_report.write_report(results, page)
    text = page.read_text()
    assert "old" not in text
    assert text.startswith("before")
    assert text.endswith("after\n")
    assert "| diabetes | logistic | default | 38 + 46 | 1 of 1 | 1.2000 | 1.20 | 1.10 | 1.09 |" in text
