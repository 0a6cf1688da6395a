"""The pictures of answers: what they draw, and that every kind of answer can be drawn."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

import betarce as brce
from answers_by_hand import GUARANTEE, answer, batch, failure
from betarce.features import FeatureSpace
from betarce.results.plots import change_frame, vote_in_words, votes_frame
from figure_checks import left_title

plt = pytest.importorskip("matplotlib.pyplot")


def drawn_texts(axes):
    """Draw, then give all that is written, as it is read."""
    axes.figure.canvas.draw()
    texts = [*axes.texts, *axes.get_yticklabels(), left_title(axes)]
    return [text.get_text().replace(r"\$", "$") for text in texts]


def wide(n):
    features = FeatureSpace.infer(
        pd.DataFrame(np.array([np.zeros(n), np.ones(n)]), columns=[f"f{j}" for j in range(n)])
    )
    points = {"original": np.zeros(n), "base": np.full(n, 0.25), "robust": np.linspace(0.3, 0.9, n)}
    return answer(features=features, points=points)


def positions(item, feature):
    frame = change_frame(item)
    return frame.loc[frame["feature"] == feature].set_index("point")["position"].to_dict()


def test_only_features_that_differ_are_drawn():
    frame = change_frame(answer(base={"age": 49}, robust={"age": 80, "purpose": "home"}))
    assert frame["feature"].tolist() == ["age"] * 3 + ["purpose"] * 3
    assert frame["point"].tolist() == ["original", "base", "robust"] * 2
    assert frame["text"].tolist() == ["30", "49", "80", "car", "car", "home"]
    assert frame["low"].tolist() == ["18"] * 3 + [""] * 3


def test_numbers_lie_where_they_are_in_the_training_range():
    item = answer(base={"income": 50_000.0}, robust={"income": 75_000.0})
    assert positions(item, "income") == {"original": 0.12, "base": 0.5, "robust": 0.75}


def test_a_value_beyond_the_training_range_lies_beyond_the_rail():
    item = answer(base={"income": 50_000.0}, robust={"income": 150_000.0})
    assert positions(item, "income")["robust"] == 1.5
    assert item.plot().get_xlim()[1] > 1.5


def test_ordered_names_lie_in_their_order():
    assert positions(answer(base={"grade": "high"}, robust={"grade": "mid"}), "grade") == {
        "original": 0,
        "base": 1,
        "robust": 0.5,
    }


@pytest.mark.parametrize(
    ("base", "robust", "places"),
    [
        ("education", "home", [0, 0.5, 1]),
        ("car", "home", [0, 0, 1]),
        ("home", "home", [0, 1, 1]),
        ("home", "car", [0, 1, 0]),
    ],
)
def test_names_without_an_order_go_from_left_to_right(base, robust, places):
    item = answer(base={"purpose": base}, robust={"purpose": robust})
    assert list(positions(item, "purpose").values()) == places


def test_a_missing_value_lies_left_of_the_range():
    item = answer(original=None, base={"visits": None}, robust={"visits": 4})
    assert positions(item, "visits")["base"] < 0
    assert "missing" in drawn_texts(item.plot())


def test_a_column_that_never_varied_can_be_drawn():
    features = FeatureSpace.infer(pd.DataFrame({"a": [5.0, 5.0], "b": [0.0, 1.0]}))
    points = {"original": np.array([5.0, 0]), "base": np.array([5.0, 0]), "robust": np.array([5.25, 0])}
    item = answer(features=features, points=points)
    assert list(positions(item, "a").values()) == [0.5, 0.5, 0.75]
    assert "5.25" in drawn_texts(item.plot())


def test_the_change_chart_writes_names_values_and_the_certificate():
    texts = drawn_texts(answer(base={"income": 50_000.0}, robust={"income": 75_000.5}).plot())
    assert {"income", "12,000.00", "50,000.00", "75,000.50", "0", "100,000"} <= set(texts)
    assert "row 17: certified\n37 of 38 fresh models agree: valid for >= 90.1 % with 95 % confidence" in texts


def test_dollars_are_no_mathematics():
    item = answer(robust={"cost in $ per $": 1.5}, name="$x_1$ and $y$")
    texts = drawn_texts(item.plot())
    assert "cost in $ per $" in texts
    assert any(text.startswith("$x_1$ and $y$: certified") for text in texts)


def test_long_names_are_cut():
    texts = drawn_texts(answer(robust={"age": 31}, name="a" * 50).plot())
    assert any(text.startswith("a" * 23 + "…: certified") for text in texts)


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 12])
def test_no_label_of_the_change_chart_meets_another(n):
    axes = wide(n).plot()
    axes.figure.canvas.draw()
    renderer = axes.figure.canvas.get_renderer()
    boxes = [text.get_window_extent(renderer) for text in axes.texts]
    boxes += [label.get_window_extent(renderer) for label in axes.get_yticklabels()]
    boxes.append(axes.get_legend().get_window_extent(renderer))
    boxes.append(left_title(axes).get_window_extent(renderer))
    meeting = [(a, b) for i, a in enumerate(boxes) for b in boxes[:i] if a.overlaps(b)]
    assert not meeting
    assert all(axes.figure.bbox.contains(*corner) for box in boxes for corner in (box.min, box.max))


@pytest.mark.slow
def test_of_many_changes_the_largest_are_drawn():
    item = wide(50)
    assert change_frame(item)["feature"].unique().tolist() == [f"f{j}" for j in range(20, 50)]
    assert any("the 30 largest of 50 changes" in text for text in drawn_texts(item.plot()))


def test_an_answer_without_a_point_draws_its_reason():
    item = failure(reason="The rules leave nothing.", status="infeasible")
    assert change_frame(item).empty
    assert {"The rules leave nothing.", "row 18: infeasible"} <= set(drawn_texts(item.plot()))


def test_an_answer_that_changes_nothing_says_so():
    assert "Nothing has to change." in drawn_texts(answer().plot())


def test_the_votes_are_those_of_the_members_in_their_order():
    first = answer(votes=(True, False, True), name="a", n_agree=2, n_models=3)
    frame = votes_frame(batch(first, failure(), answer(votes=(True,) * 3, name="a", n_agree=3, n_models=3)))
    assert frame["line"].tolist() == [0, 0, 0, 2, 2, 2]
    assert frame["row"].tolist() == ["a"] * 6
    assert frame["member"].tolist() == [0, 1, 2] * 2
    assert frame["agrees"].tolist() == [True, False, True, True, True, True]


def test_the_outcome_of_a_vote_is_told_in_words():
    assert vote_in_words(answer()) == "37 of 38 agree, quorum 37: valid for >= 90.1 %"
    short = failure(certificate=GUARANTEE.certify(30, 38))
    assert vote_in_words(short) == "30 of 38 agree, quorum 37: valid for >= 66.6 %, not-found"
    assert vote_in_words(failure()) == "no vote: not-found"
    assert "quorum out of reach" in vote_in_words(answer(n_agree=10, n_models=10))


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "members"), [(1, 15), (1, 100), (40, 38), (40, 100)])
def test_the_vote_strip_is_legible_for_any_batch(rows, members):
    axes = batch(*(answer(name=i, n_models=members, n_agree=members - i % 2) for i in range(rows))).plot_votes()
    texts = drawn_texts(axes)
    assert {str(i) for i in range(rows)} <= set(texts)
    assert sum("agree, quorum" in text for text in texts) == rows
    cells = sum(len(collection.get_paths()) for collection in axes.collections)
    assert cells == rows * members
    renderer = axes.figure.canvas.get_renderer()
    boxes = [text.get_window_extent(renderer) for text in axes.texts]
    assert not any(a.overlaps(b) for a, b in pairwise(boxes))
    assert all(axes.figure.bbox.contains(*corner) for box in boxes for corner in (box.min, box.max))
    width = axes.transData.transform((1, 0))[0] - axes.transData.transform((0, 0))[0]
    assert width > 5  # pixels of a cell at 100 dots an inch


@pytest.mark.slow
def test_a_long_batch_draws_forty_rows_and_says_how_many_more_there_are():
    axes = batch(*(answer(name=i) for i in range(43))).plot_votes()
    assert len(axes.get_yticks()) == 40
    assert "Votes of the certifying members (the first 40 rows; 3 more are not shown)" in drawn_texts(axes)


def test_votes_of_members_that_steered_are_called_so():
    assert "Votes of the members that also steered the search" in drawn_texts(
        batch(answer(members="search")).plot_votes()
    )


@pytest.mark.parametrize("items", [[], [failure()]], ids=["no row", "no vote"])
def test_a_batch_without_votes_can_be_drawn(items):
    axes = batch(*items).plot_votes()
    assert axes.get_legend() is None
    assert sum(text.startswith("no vote") for text in drawn_texts(axes)) == len(items)


def test_pictures_are_drawn_on_given_axes():
    _, (left, right) = plt.subplots(1, 2, layout="constrained")
    assert answer(robust={"age": 50}).plot(left) is left
    assert batch(answer()).plot_votes(ax=right) is right


@pytest.mark.slow
def test_what_explain_returns_is_drawn(tmp_path):
    X, y = make_classification(n_samples=200, n_features=4, random_state=0)
    rce = brce.BetaRCE(LogisticRegression(), delta=0.8, confidence=0.9, n_models=18, random_state=0, verbose=-1).fit(
        X, y
    )
    result = rce.explain(X[:3])
    frame = votes_frame(result)
    assert frame.groupby("line")["agrees"].sum().tolist() == [item.certificate.n_agree for item in result]
    for name, axes in {"changes": result[0].plot(), "votes": result.plot_votes()}.items():
        axes.figure.savefig(tmp_path / f"{name}.png")
        assert (tmp_path / f"{name}.png").stat().st_size > 3000
