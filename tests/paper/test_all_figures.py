"""All figures in a folder: complete for complete records, honest for partial ones."""

import sys

import pandas as pd
import pytest

from betarce.errors import BetarceWarning, InvalidInput
from betarce.paper.figures.all_figures import write_figures
from betarce.paper.figures.bounds import bounds_frame
from figure_records import bare, made_up_records, record, unanswered

GS = "growing-spheres"


@pytest.fixture
def matplotlib():
    pytest.importorskip("matplotlib").use("Agg")
    plt = pytest.importorskip("matplotlib.pyplot")
    yield plt
    assert not plt.get_fignums(), "every figure is closed"


def names(paths, end=""):
    return [path.name for path in paths if path.name.endswith(end)]


@pytest.mark.slow
def test_partial_records_give_what_they_can_and_say_what_is_left_out(matplotlib, tmp_path):
    """One data set, one space, two deltas, no DiCE: the extent of the plan "smoke"."""
    records = made_up_records(
        data=("car",), families=("logistic",), spaces=("bootstrap",), bases=(GS,), deltas=(0.8, 0.9)
    )
    paths = write_figures(records, tmp_path / "new" / "figures")
    assert all(path.exists() for path in paths)
    assert names(paths)[0] == "figures.md"
    assert names(paths, ".png") == [
        *(f"bounds_logistic_{GS}_{end}.png" for end in ("betarce-paper", "betarce", "both")),
        *("time.png", f"forms_{GS}.png"),
        *(f"distance_{GS}_{form}.png" for form in ("betarce-paper", "betarce")),
    ]
    index = paths[0].read_text()
    for path in paths[1:]:
        assert f"]({path.name})" in index
    left_out = index.split("## Left out")[1]
    assert f"bounds_logistic_{GS}_betarce_confidence: only one confidence was run." in left_out
    assert f"models_logistic_{GS}: no delta and confidence was run with several numbers" in left_out


@pytest.mark.slow
def test_the_numbers_are_those_of_the_frame_to_six_digits(matplotlib, tmp_path):
    records = made_up_records(data=("car", "wine"), spaces=("seed",), bases=(GS,), deltas=(0.8, 0.9))
    write_figures(records, tmp_path)
    written = pd.read_csv(tmp_path / f"bounds_network_{GS}.csv")
    pd.testing.assert_frame_equal(written, bounds_frame(records, family="network", base=GS).round(6))
    assert {"rows", "answers"} <= set(written)


@pytest.mark.slow
def test_several_confidences_and_numbers_of_models_get_their_figures(matplotlib, tmp_path):
    setting = {"data": ("car",), "spaces": ("seed",), "bases": (GS,), "deltas": (0.8,), "n_rows": 3}
    records = pd.concat(
        [
            made_up_records(**setting, confidences=(0.9, 0.99)),
            made_up_records(**setting, confidences=(0.9,), forms={"betarce-64": "fresh"}, n_models=64),
        ]
    ).drop_duplicates(["method", "confidence", "row"])
    paths = write_figures(records, tmp_path)
    assert f"bounds_network_{GS}_betarce_confidence.png" in names(paths)
    assert f"bounds_network_{GS}_betarce_confidence_0.8.png" in names(paths)
    assert f"models_network_{GS}.png" in names(paths)
    assert f"bounds_network_{GS}_betarce.png" not in names(paths)
    left_out = paths[0].read_text().split("## Left out")[1]
    assert f"bounds_network_{GS}_betarce, " in left_out
    assert "time: only one delta was run." in left_out
    assert "time.csv" in names(paths), "numbers that make no picture are written all the same"
    assert "time.png" not in names(paths)


@pytest.mark.slow
def test_numbers_of_models_on_many_places_get_a_figure_for_each_space(matplotlib, tmp_path):
    setting = {"data": ("heloc", "wine", "car"), "bases": (GS,), "deltas": (0.8,), "n_rows": 2}
    parts = [made_up_records(**setting, forms={f"betarce-{n}": "fresh"}, n_models=n) for n in (32, 64)]
    paths = write_figures(pd.concat(parts).drop_duplicates(["data", "space", "method", "row"]), tmp_path)
    spaces = ("seed", "bootstrap", "architecture")
    assert names(paths, ".png") == [f"models_network_{GS}_{space}.png" for space in spaces]


def test_records_without_an_answer_of_betarce_give_the_reason_alone(matplotlib, tmp_path):
    for folder, records in {
        "foreign": pd.DataFrame([bare()]),
        "unanswered": pd.DataFrame([unanswered(record())]),
    }.items():
        paths = write_figures(records, tmp_path / folder)
        assert names(paths) == ["figures.md"]
        assert "all figures: no form of BetaRCE has an answer in these records." in paths[0].read_text()


@pytest.mark.slow
def test_one_form_alone_leaves_out_the_comparison_of_both(matplotlib, tmp_path):
    records = made_up_records(data=("car",), spaces=("seed",), bases=(GS,), forms={"betarce": "fresh"}, n_rows=2)
    paths = write_figures(records, tmp_path)
    assert not [name for name in names(paths) if name.startswith("forms") or name.endswith("both.png")]
    assert f"forms_{GS}: there is no row where both" in paths[0].read_text()


@pytest.mark.slow
def test_names_of_methods_become_safe_names_of_files(matplotlib, tmp_path):
    forms = {"our/form: 2": "fresh"}
    paths = write_figures(
        made_up_records(data=("car",), spaces=("seed",), bases=(GS,), forms=forms, n_rows=2), tmp_path
    )
    assert f"bounds_network_{GS}_our-form-2.png" in names(paths)
    assert all(path.parent == tmp_path for path in paths)


@pytest.mark.slow
def test_without_matplotlib_only_the_numbers_are_written_and_that_is_said(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    records = made_up_records(data=("car",), spaces=("seed",), bases=(GS,), n_rows=2)
    with pytest.warns(BetarceWarning, match=r"Only the numbers .*pip install \"betarce\[plot\]\""):
        paths = write_figures(records, tmp_path)
    assert names(paths, ".png") == []
    assert f"bounds_network_{GS}.csv" in names(paths)
    assert "all pictures: pictures need matplotlib" in paths[0].read_text()


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(InvalidInput, match="is a file"):
        write_figures(pd.DataFrame(), tmp_path / "taken")
