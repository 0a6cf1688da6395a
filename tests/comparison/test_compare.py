"""Methods side by side: same rows, same tuning_members, nothing lost."""

from itertools import combinations

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import betarce as brce
from betarce.comparison.compare import Comparison
from betarce.comparison.grids import PAPER_GRIDS, configurations
from betarce.comparison.scores import MEANS
from betarce.errors import InvalidInput
from betarce.explainers import EXPLAINERS, Explained

mpl.use("Agg")
X, Y = load_breast_cancer(return_X_y=True)
MODEL = make_pipeline(StandardScaler(), LogisticRegression())
OPTIONS = {"rows": X[400:412], "delta": 0.8, "confidence": 0.9, "n_audit": 25, "random_state": 0, "verbose": -1}


def run(methods, **options):
    return brce.compare(methods, MODEL, "bootstrap", X[:400], Y[:400], **{**OPTIONS, **options})


class Never:
    """A method that finds nothing."""

    def explain(self, originals, targets, problem, box, seeds):
        n = len(originals)
        return Explained(originals, np.zeros(n, dtype=bool), ["never"] * n, np.zeros(n, dtype=int))


class Liar:
    """A method that hands out the originals."""

    def explain(self, originals, targets, problem, box, seeds):
        n = len(originals)
        return Explained(originals, np.ones(n, dtype=bool), [""] * n, np.ones(n, dtype=int))


@pytest.fixture(scope="module")
def comparison():
    return run(["growing-spheres", "betarce", "betarce-paper", ("never", Never()), ("liar", Liar())])


@pytest.mark.slow
def test_every_method_has_a_line_for_every_row(comparison):
    counts = comparison.per_row.groupby("method").size()
    assert (counts == 12).all()
    assert len(counts) == 5
    assert comparison.summary()["rows"].tolist() == [12] * 5


def test_both_forms_of_betarce_are_more_robust_than_their_base(comparison):
    table = comparison.summary()
    assert table.loc["betarce", "robustness"] > table.loc["growing-spheres", "robustness"]
    assert table.loc["betarce-paper", "robustness"] > table.loc["growing-spheres", "robustness"]
    assert table.loc["betarce", "distance_to_base"] < table.loc["betarce-paper", "distance_to_base"]
    assert np.isnan(table.loc["growing-spheres", "distance_to_base"])


def test_a_row_without_an_answer_is_counted_and_says_why(comparison):
    table = comparison.summary()
    assert table.loc["never", "found"] == 0
    assert np.isnan(table.loc["never", "robustness"])
    reasons = comparison.per_row.query("method == 'never'")["reason"]
    assert set(reasons) == {"never"}


def test_an_answer_of_the_wrong_class_is_no_answer(comparison):
    lines = comparison.per_row.query("method == 'liar'")
    assert (lines["found"] == 0).all()
    assert lines["reason"].str.contains("does not give this point the target class").all()


@pytest.mark.slow
def test_the_same_seed_gives_the_same_comparison(comparison):
    again = run(["growing-spheres"]).per_row.drop(columns="ms")
    first = comparison.per_row.query("method == 'growing-spheres'").drop(columns="ms")
    assert again.equals(first.reset_index(drop=True))


@pytest.mark.slow
def test_tuning_takes_the_most_robust_configuration_on_other_rows_and_members():
    spheres = brce.explainers.GrowingSpheres
    grid = {"search": [brce.GrowingSpheresSearch(norm="l1"), brce.GrowingSpheresSearch(initial_radius=3.0)]}
    tuned = run([("spheres", spheres())], grids={"spheres": grid})
    assert tuned.chosen["spheres"]["search"].initial_radius == 3.0  # farther out, so more robust


def test_the_papers_grids_fit_their_methods():
    for name, grid in PAPER_GRIDS.items():
        if name == "dice":
            continue  # an extra
        explainer = EXPLAINERS[name]()
        assert set(grid) <= set(explainer.__dataclass_fields__), name
    assert len(configurations(PAPER_GRIDS["roar"])) == 18


def test_the_plot_has_one_mark_a_method_that_found_something(comparison):
    ax = comparison.plot()
    texts = [text.get_text() for text in ax.texts]
    assert {"growing-spheres", "betarce", "betarce-paper"} <= set(texts)
    assert not any("never" in text for text in texts)


def close_to_each_other():
    """Give a comparison whose marks nearly meet."""
    names = [f"a-method-of-a-long-name-{i}" for i in range(6)]
    lines = [
        {
            "method": name,
            "row": row,
            "found": 1.0,
            "robustness": 0.9 + 0.004 * i + 0.02 * row,
            "proximity_l1": 2 + i / 90,
        }
        for i, name in enumerate(names)
        for row in range(3)
    ]
    measures = {name: 1.0 for name in MEANS if name not in lines[0]}
    return Comparison(pd.DataFrame(lines).assign(**measures), {}, 0.9)


@pytest.mark.slow
def test_names_of_close_marks_cover_neither_each_other_nor_the_marks():
    ax = close_to_each_other().plot()
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts if text.get_text().startswith("a-method")]
    assert len(boxes) == 6
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
    marks = [ax.transData.transform(line.get_xydata()[0]) for line in ax.get_lines() if line.get_marker() == "o"]
    assert len(marks) == 6
    assert not any(box.contains(*mark) for box in boxes for mark in marks)


def test_a_terminal_of_80_columns_shows_the_robustness(comparison):
    with pd.option_context("display.width", 80, "display.max_columns", 0):
        assert "robustness" in str(comparison.summary())
    text = str(comparison)
    assert max(map(len, text.splitlines())) <= 80
    assert "robustness" in text.splitlines()[1]
    assert f"{comparison.summary().loc['betarce', 'robustness']:.3f} ±" in text


@pytest.mark.parametrize(
    ("methods", "options", "message"),
    [
        ([], {}, "at least one method"),
        (["magic"], {}, "names 'magic', which is unknown"),
        (["betarce", "betarce"], {}, "has 'betarce' twice"),
        (["betarce"], {"grids": "theirs"}, "`grids` must be 'paper'"),
        (["betarce"], {"grids": {"face": {}}}, "names 'face', which is not compared"),
    ],
)
def test_bad_input_gets_a_clear_error(methods, options, message):
    with pytest.raises(InvalidInput, match=message):
        run(methods, **options)
