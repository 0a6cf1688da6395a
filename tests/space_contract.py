"""What every space keeps to."""

import numpy as np
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier

from betarce.members import draw_members
from betarce.models.recipe import Recipe, Table

X, Y = make_classification(n_samples=120, n_features=4, flip_y=0.2, random_state=0)
GRID = np.random.default_rng(0).normal(size=(300, 4))


def answers(models):
    return np.array([model.predict(GRID) for model in models])


class SpaceContract:
    """Inherit and set `space`; `estimator` where the tree will not do."""

    space = None
    estimator = DecisionTreeClassifier(max_features=2)

    def draw(self, sizes, *, seed=0, n_jobs=None):
        return draw_members(
            self.space, Recipe(self.estimator), Table(X, Y), sizes, seed=seed, n_jobs=n_jobs, verbose=-1
        )

    def test_each_role_gets_as_many_members_as_asked(self):
        draws = self.draw({"search": 3, "certify": 5})
        assert [len(draw.models) for draw in draws.values()] == [3, 5]

    def test_the_same_seed_gives_the_same_members(self):
        first, second = (self.draw({"search": 4})["search"].models for _ in range(2))
        np.testing.assert_array_equal(answers(first), answers(second))

    def test_another_seed_gives_other_members(self):
        first, second = (self.draw({"search": 4}, seed=seed)["search"].models for seed in (0, 1))
        assert (answers(first) != answers(second)).any()

    def test_the_number_of_workers_changes_nothing(self):
        alone, together = (self.draw({"search": 4}, n_jobs=n)["search"].models for n in (1, 2))
        np.testing.assert_array_equal(answers(alone), answers(together))

    def test_a_member_does_not_depend_on_how_many_others_are_drawn(self):
        few = self.draw({"search": 2})["search"].models
        many = self.draw({"search": 5, "certify": 3})["search"].models
        np.testing.assert_array_equal(answers(few), answers(many[:2]))

    def test_roles_share_no_member(self):
        draws = self.draw({"search": 6, "certify": 6})
        seeds = [model.get_params()["random_state"] for draw in draws.values() for model in draw.models]
        assert len(set(seeds)) == 12

    def test_the_training_rows_are_left_alone(self):
        before = X.copy(), Y.copy()
        self.draw({"search": 2})
        np.testing.assert_array_equal(X, before[0])
        np.testing.assert_array_equal(Y, before[1])
