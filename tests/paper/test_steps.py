"""Step by step: what recorders keep, what the frames say of it, and that it is drawn."""

import numpy as np
import pandas as pd
import pytest

import betarce as brce
from betarce.errors import InvalidInput
from betarce.features import FeatureSpace
from betarce.paper.figures.step_pictures import Scene, candidate_kinds, draw_ladder, draw_shells, shown_shells
from betarce.paper.figures.steps import (
    RecordedDepth,
    RecordedPredicate,
    climb_frame,
    ladder_frame,
    path_frame,
    shells_frame,
)
from betarce.plotting.sheet import save_png
from betarce.search import Task
from figure_checks import left_title

plt = pytest.importorskip("matplotlib.pyplot")

FEATURES = FeatureSpace.infer(np.array([[0.0, 0.0], [2.0, 1.0]]))
BASE = np.array([[0.6, 0.5]])
BOX = FEATURES.box(BASE)
TASK = Task(BASE, FEATURES, BOX, seeds=[0])
PLACES = ["x1", "x2"]


def to_the_right(points, rows):
    return points[:, 0] > 1.0


class Slope:
    """Depth that grows to the right, and more slowly upwards."""

    def __call__(self, points, rows):
        return 6 * points[:, 0] + 2 * points[:, 1] - 3, points[:, 0] > 0.5

    def slopes(self, points, rows):
        return np.tile([6.0, 2.0], (len(points), 1))


@pytest.fixture(scope="module")
def spheres():
    sought = RecordedPredicate(to_the_right)
    search = brce.GrowingSpheresSearch(initial_radius=0.4, n_candidates=30, bounded=False)
    found = search.find(TASK, sought)
    return found, sought.frame(), shells_frame(sought.frame(), initial_radius=0.4)


@pytest.fixture(scope="module")
def frontier():
    depth = RecordedDepth(Slope())
    ladders = brce.FrontierSearch(steps=(0.1,)).climb(TASK, depth)
    return ladders, depth.frame(), climb_frame(depth.frame())


def test_a_recorder_changes_nothing_and_counts_every_point(spheres):
    found, record, _ = spheres
    search = brce.GrowingSpheresSearch(initial_radius=0.4, n_candidates=30, bounded=False)
    plain = search.find(TASK, to_the_right)
    np.testing.assert_array_equal(found.points, plain.points)
    assert len(record) == plain.n_evaluations[0]
    np.testing.assert_array_equal(record["hit"], record["x1"] > 1)


def test_every_candidate_lies_in_the_shell_that_is_drawn(spheres):
    _, record, shells = spheres
    distance = np.linalg.norm((record[PLACES].to_numpy() - BASE) / FEATURES.scale, axis=1)
    for shell in shells.itertuples():
        own = distance[record["step"] == shell.step]
        assert len(own) == shell.n_candidates == 30
        assert (own >= shell.inner - 1e-9).all()
        assert (own <= shell.outer + 1e-9).all()


def test_balls_are_halved_until_one_is_empty_then_shells_grow_until_one_is_not(spheres):
    _, _, shells = spheres
    then = list(shells["then"])
    assert then == ["halve"] * then.count("halve") + ["grow"] * then.count("grow") + ["found"]
    assert then.count("halve") > 0
    assert then.count("grow") > 0
    assert ((shells["n_hits"] > 0) == (shells["then"] != "grow")).all()
    grown = shells[shells["inner"] > 0]
    np.testing.assert_allclose(grown["outer"] - grown["inner"], grown["outer"].iloc[0] / 2)


def test_what_was_found_is_the_closest_hit_of_the_last_shell(spheres):
    found, record, shells = spheres
    last = record[(record["step"] == shells["step"].iloc[-1]) & record["hit"]]
    distance = np.linalg.norm((last[PLACES].to_numpy() - BASE) / FEATURES.scale, axis=1)
    np.testing.assert_array_equal(last[PLACES].to_numpy()[distance.argmin()], found.points[0])


def test_a_centre_that_is_sought_has_no_shells():
    sought = RecordedPredicate(to_the_right)
    brce.GrowingSpheresSearch().find(Task(BASE + 1, FEATURES, BOX, seeds=[0]), sought)
    assert shells_frame(sought.frame(), initial_radius=0.1).empty


def test_an_empty_recorder_says_what_to_do():
    with pytest.raises(InvalidInput, match="Pass the recorder to a search first"):
        RecordedDepth(Slope()).frame()


def test_the_phases_of_a_climb_come_in_their_order(frontier):
    ladders, record, climb = frontier
    assert (record["asked"] == "depth").sum() == ladders.n_evaluations[0]
    order = climb.drop_duplicates("phase")["phase"].tolist()
    assert order == ["base", "stand", "move", "place", "refine"]
    assert climb.loc[climb["phase"] == "place", "step"].nunique() == 3


def test_the_path_leads_up_from_the_base_and_ends_where_it_is_deep_enough(frontier):
    _, _, climb = frontier
    path = path_frame(climb)
    np.testing.assert_array_equal(path[PLACES].iloc[0], BASE[0])
    np.testing.assert_allclose(path["depth"], Slope()(path[PLACES].to_numpy(), None)[0])
    assert (np.diff(path["depth"]) > 0).all()
    assert path["depth"].iloc[-2] < 8 <= path["depth"].iloc[-1]


def test_every_place_on_the_path_but_the_first_is_a_move_that_was_tried(frontier):
    _, _, climb = frontier
    moves = climb.loc[climb["phase"] == "move", PLACES].to_numpy()
    for place in path_frame(climb)[PLACES].to_numpy()[1:]:
        assert (moves == place).all(axis=1).any()


def test_the_rungs_that_were_tried_lie_on_the_path(frontier):
    _, _, climb = frontier
    path = path_frame(climb)[PLACES].to_numpy()
    starts, ways = path[:-1], np.diff(path, axis=0)
    for rung in climb.loc[climb["phase"] == "place", PLACES].to_numpy():
        share = np.clip(((rung - starts) * ways).sum(axis=1) / (ways**2).sum(axis=1), 0, 1)
        assert np.linalg.norm(starts + share[:, None] * ways - rung, axis=1).min() < 1e-9


def test_the_walk_stops_at_the_first_miss(frontier):
    ladders, _, _ = frontier
    n = int(ladders.exists.sum())
    votes = np.full(n, 10)
    votes[4] = 8
    ladder = ladder_frame(ladders, votes, quorum=9)
    assert list(ladder["walk"][:6]) == ["passed"] * 4 + ["missed", "not asked"]
    assert ladder.index[ladder["chosen"]].tolist() == [3]
    np.testing.assert_array_equal(ladder[PLACES], ladders.points[0, ladders.exists[0]])


def test_a_walk_that_misses_at_once_chooses_nothing(frontier):
    ladders, _, _ = frontier
    ladder = ladder_frame(ladders, np.zeros(int(ladders.exists.sum()), dtype=int), quorum=1)
    assert not ladder["chosen"].any()


def test_votes_must_fit_the_rungs(frontier):
    with pytest.raises(InvalidInput, match="one count for each of the"):
        ladder_frame(frontier[0], [1, 2], quorum=1)


def scene(**changes):
    xs, ys = np.linspace(-0.5, 2.5, 30), np.linspace(-0.5, 1.5, 20)
    right = np.tile(xs, (20, 1))
    parts = {
        "points": np.array([[0.1, 0.2], [1.5, 0.5]]),
        "in_target": np.array([False, True]),
        "xs": xs,
        "ys": ys,
        "margins": right - 0.5,
        "n_agree": np.clip((10 * right).astype(int), 0, 10),
        "n_models": 10,
        "quorum": 10,
        "original": np.array([0.2, 0.5]),
        "base": BASE[0],
        "scale": FEATURES.scale,
    }
    return Scene(**{**parts, **changes})


def smallest_letters(figure):
    figure.canvas.draw()
    return min(text.get_fontsize() for text in figure.findobj(plt.Text) if text.get_text())


def outside(figure):
    """Give the words that leave the sheet."""
    figure.canvas.draw()
    (left, bottom), (right, top) = figure.bbox.get_points()
    boxes = {text.get_text(): text.get_window_extent() for text in figure.findobj(plt.Text) if text.get_text()}
    return [t for t, box in boxes.items() if box.x0 < left or box.x1 > right or box.y0 < bottom or box.y1 > top]


def struck(figure):
    """Give the titles of the lower row that reach into the panels above."""
    figure.canvas.draw()
    lower = [(left_title(ax), above) for ax, above in zip(figure.axes[4:8], figure.axes[:4], strict=True)]
    return [title.get_text() for title, above in lower if title.get_window_extent().y1 > above.bbox.y0]


def letters(figure):
    return [text.get_text() for ax in figure.axes for text in ax.texts]


@pytest.mark.slow
def test_growing_spheres_are_drawn_in_eight_panels(spheres, tmp_path):
    found, record, shells = spheres
    candidates = record.assign(kind=candidate_kinds(record["hit"], record["x1"] > 0.5))
    figure = draw_shells(scene(), candidates, shells, found.points[0])
    assert letters(figure) == list("abcdefgh")
    assert len(figure.axes) == 8
    for ax, shell in zip(figure.axes[2:7], shown_shells(shells).itertuples(), strict=False):
        assert f"{shell.n_hits} of 30 robust" in ax.get_title(loc="left")
        radii = [patch.width / 2 / FEATURES.scale[0] for patch in ax.patches]
        assert radii == pytest.approx([radius for radius in (shell.inner, shell.outer) if radius])
        drawn = sum(len(marks.get_offsets()) for marks in ax.collections if type(marks).__name__ == "PathCollection")
        assert drawn == 30
    assert smallest_letters(figure) >= 7
    assert outside(figure) == []
    assert struck(figure) == []
    assert save_png(figure, tmp_path / "steps.png").stat().st_size < 150_000


def test_more_shells_than_panels_show_the_first_and_the_last():
    shells = pd.DataFrame({"step": range(1, 10)})
    assert shown_shells(shells)["step"].tolist() == [1, 2, 7, 8, 9]
    assert len(shown_shells(shells.head(3))) == 3


@pytest.mark.slow
@pytest.mark.parametrize("passes", [True, False])
def test_the_frontier_is_drawn_in_eight_panels_whether_or_not_a_rung_passes(frontier, passes):
    ladders, _, climb = frontier
    n = int(ladders.exists.sum())
    votes = np.where(np.arange(n) < 5, 10, 7) if passes else np.full(n, 7)
    ladder = ladder_frame(ladders, votes, quorum=9)
    path = path_frame(climb)
    figure = draw_ladder(scene(), climb, path, ladder, quorum=9)
    assert letters(figure) == list("abcdefgh")
    titles = [ax.get_title(loc="left") for ax in figure.axes]
    assert f"{len(path) - 1} taken" in titles[2]
    assert ("result" in titles[7]) == passes
    assert smallest_letters(figure) >= 7
    assert outside(figure) == []
    assert struck(figure) == []
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert {"original", "base", "result", "rung: passed", "rung: missed", "rung: not asked"} <= set(legend)


def test_a_scene_takes_two_features_and_matching_grids():
    with pytest.raises(InvalidInput, match="shows two features"):
        scene(points=np.zeros((4, 3)))
    with pytest.raises(InvalidInput, match=r"`margins` must have shape \(20, 30\); got \(30, 20\)"):
        scene(margins=np.zeros((30, 20)))


def test_a_saved_figure_keeps_its_colours(tmp_path):
    image = pytest.importorskip("PIL.Image")
    figure, ax = plt.subplots(figsize=(3, 2))
    ax.imshow(np.linspace(0, 1, 64)[None], aspect="auto")
    figure.patch.set_facecolor("#E3EEF6")
    drawn = np.asarray(image.open(save_png(figure, tmp_path / "a.png")).convert("RGB")).astype(int)
    assert np.abs(drawn[2, 2] - [0xE3, 0xEE, 0xF6]).max() <= 2
