"""What more robustness costs, as data and as a picture."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

import betarce as brce
from betarce.errors import InvalidInput

X, Y = make_classification(n_samples=300, n_features=5, n_informative=4, n_redundant=0, flip_y=0.1, random_state=3)


@pytest.fixture(scope="module")
def rce():
    sizes = {"delta": 0.8, "confidence": 0.9, "n_models": (20, 25)}
    return brce.BetaRCE(LogisticRegression(), random_state=0, verbose=-1, **sizes).fit(X[:200], Y[:200])


@pytest.fixture(scope="module")
def frontier(rce):
    return rce.frontier(X[205])


@pytest.fixture(scope="module")
def around(rce):
    other = brce.BetaRCE(**{**rce.get_params(deep=False), "base": "growing-spheres", "search": "frontier"})
    return other.fit(X[:200], Y[:200]).frontier(X[205])


def test_it_is_shown_in_a_line(frontier):
    assert len(repr(frontier)) < 100
    assert repr(frontier).startswith("Frontier(row 0: ")


def assert_falling(frontier, start):
    """See that the rungs come ever closer, by the default search's idea of distance."""
    gap = np.abs(frontier.points - start) / frontier.features.scale
    assert (np.diff(gap.sum(axis=1) + 0.01 * (gap > 0).sum(axis=1)) < 0).all()


def test_the_table_has_the_rungs_the_base_and_the_papers_point(around):
    table = around.to_frame()
    assert set(table["kind"]) == {"rung", "base", "paper"}
    rungs = table[table["kind"] == "rung"]
    assert rungs["distance_to_base"].iloc[-1] == 0
    assert_falling(around, around.points[-1])
    assert table.loc[table["kind"] == "base", "distance_to_base"].item() == 0
    assert table["chosen"].sum() == 1


def test_without_a_base_to_stay_close_to_it_is_the_original_that_distance_is_measured_from(frontier):
    table = frontier.to_frame()
    assert set(table["kind"]) == {"rung", "base", "paper"}
    assert_falling(frontier, X[205])
    pytest.importorskip("matplotlib")
    axes = frontier.plot()
    assert axes.get_xlabel() == "L1 distance to the original (in ranges of the features)"
    drawn = axes.get_lines()[0].get_xdata()
    np.testing.assert_array_equal(drawn, table.loc[table["kind"] == "rung", "distance_to_original"])


def test_with_a_base_distance_is_drawn_from_it(around):
    pytest.importorskip("matplotlib")
    axes = around.plot()
    assert axes.get_xlabel() == "L1 distance to the base (in ranges of the features)"
    assert axes.get_lines()[0].get_xdata()[-1] == 0


def test_a_row_that_is_there_already_has_no_frontier(rce):
    [label] = rce.model_.predict(X[205:206])
    with pytest.raises(InvalidInput, match="The model gives this row the class that is wanted"):
        rce.frontier(X[205], target=label)


def test_the_chosen_rung_is_what_explain_hands_out(rce, frontier):
    [item] = rce.explain(X[205])
    chosen = frontier.to_frame().query("chosen").iloc[0]
    assert chosen["distance_to_base"] == pytest.approx(item.distance_to_base)
    assert chosen["n_agree"] == item.certificate.n_agree
    np.testing.assert_array_equal(frontier.at(0.8), item.robust)


def test_less_robustness_is_never_farther(frontier):
    scale = frontier.features.scale
    base_distance = [
        np.inf if (point := frontier.at(delta)) is None else np.abs((point - frontier.at(0.3)) / scale).sum()
        for delta in (0.8, 0.6, 0.3)
    ]
    assert base_distance[-1] == 0
    assert frontier.at(0.999) is None


def test_the_picture_marks_what_is_handed_out(frontier, tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    axes = frontier.plot()
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["candidates", "base", "paper's search", "handed out"]
    axes.figure.savefig(tmp_path / "frontier.png")
    assert (tmp_path / "frontier.png").stat().st_size > 5000
    matplotlib.pyplot.close("all")


def test_members_too_few_to_certify_can_still_steer_the_papers_search(rce):
    few = brce.BetaRCE(LogisticRegression(), delta=0.8, confidence=0.9, n_models=(5, 25), random_state=0, verbose=-1)
    assert len(few.fit(X[:200], Y[:200]).members_.search) < few.guarantee_.min_models()
    assert "paper" in set(few.frontier(X[205]).to_frame()["kind"])


def test_more_than_one_row_is_refused(rce):
    with pytest.raises(InvalidInput, match="`x` must be a single row"):
        rce.frontier(X[205:207])
