"""The examples run, and keep what they claim. Those of the gallery are run by the build of the site, `make docs`."""

import runpy
from importlib.util import find_spec
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parents[1] / "examples"
EXAMPLES = sorted(path for path in FOLDER.glob("*.py") if not path.stem.startswith("plot_"))


@pytest.mark.filterwarnings("ignore")  # foreign libraries warn in ways of their own
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(path, capsys, monkeypatch):
    if path.stem == "foreign_dice" and find_spec("dice_ml") is None:
        pytest.skip("dice-ml is not installed")
    monkeypatch.setattr("sys.argv", [str(path)])  # an example must not take the words of the test command for its own
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out
