"""What every search keeps to."""

import numpy as np
import pandas as pd

from betarce.features import FeatureSpace, decrease_only, immutable
from betarce.search import Task

TABLE = pd.DataFrame({"a": [0.0, 1.0], "b": [0, 10], "c": [-5.0, 5.0], "d": [0.0, 1.0]})
FEATURES = FeatureSpace.infer(TABLE, rules={"d": immutable(), "c": decrease_only()})
CENTERS = np.array([[0.1, 2.0, 1.0, 0.5], [0.4, 9.0, -1.0, 0.25], [0.3, 1.0, 4.0, 0.75], [0.9, 5.0, 0.0, 0.5]])
SEEDS = [11, 22, 33, 44]


def sought(points, rows):
    return points[:, 0] + points[:, 1] / 10 > 1.2


class SearchContract:
    """Inherit and set `search`, and `frugal` with a budget too small to succeed."""

    search = None
    frugal = None

    def run(self, search=None, rows=slice(None), predicate=sought):
        centers = CENTERS[rows]
        box = FEATURES.box(centers)
        seeds = list(np.array(SEEDS)[rows])
        return (search or self.search).find(Task(centers, FEATURES, box, seeds), predicate)

    def test_the_same_seed_gives_the_same_answer(self):
        np.testing.assert_array_equal(self.run().points, self.run().points)

    def test_a_row_does_not_depend_on_the_batch_it_is_in(self):
        together = self.run()
        for i in range(len(CENTERS)):
            alone = self.run(rows=[i])
            np.testing.assert_array_equal(alone.points[0], together.points[i])
            assert alone.n_evaluations[0] == together.n_evaluations[i]

    def test_what_is_found_is_what_was_sought(self):
        result = self.run()
        assert result.found.all()
        assert sought(result.points, None).all()

    def test_constraints_hold_and_whole_numbers_stay_whole(self):
        result = self.run()
        box = FEATURES.box(CENTERS)
        assert (result.points >= box.lower).all()
        assert (result.points <= box.upper).all()
        np.testing.assert_array_equal(result.points[:, 1], np.rint(result.points[:, 1]))
        np.testing.assert_array_equal(result.points[:, 3], CENTERS[:, 3])

    def test_inputs_are_left_alone(self):
        before = CENTERS.copy()
        self.run()
        np.testing.assert_array_equal(CENTERS, before)

    def test_the_predicate_gets_only_points_that_could_be_handed_out(self):
        def check(points, rows):
            np.testing.assert_array_equal(FEATURES.encode(FEATURES.decode(points)), points)
            np.testing.assert_array_equal(points[:, 3], CENTERS[rows, 3])
            return sought(points, rows)

        assert self.run(predicate=check).found.all()

    def test_a_budget_that_runs_out_is_said_and_kept(self):
        def rare(points, rows):
            return np.zeros(len(points), dtype=bool)

        result = self.run(search=self.frugal, predicate=rare)
        assert result.status == ["budget-spent"] * len(CENTERS)
        assert (result.n_evaluations <= self.frugal.max_evaluations).all()

    def test_nothing_to_find_in_the_whole_box_is_said(self):
        result = self.run(predicate=lambda points, rows: np.zeros(len(points), dtype=bool))
        assert result.status == ["not-found"] * len(CENTERS)
