"""What it takes to add something, tried on a copy of the package: the files that are touched are those of the docs."""

import re
import shutil
import subprocess
import sys

import pytest

import house

RULE = """
from dataclasses import dataclass

import numpy as np

from betarce.features.rules.protocol import Rule, RulePart
from betarce.features.rules.reach import Ends
from betarce.features.rules.registry import rule


@rule("multiple_of", order=35)
@dataclass(frozen=True)
class MultipleOf(RulePart):
    base: int

    def in_words(self) -> str:
        return f"a multiple of {self.base}"

    def ends(self, column) -> Ends:
        return Ends(values=np.arange(column.lower // self.base, column.upper // self.base + 1) * self.base)


def multiple_of(base: int) -> Rule:
    return Rule.of(MultipleOf(base))
"""

EXPLAINER = '''
from dataclasses import dataclass

import numpy as np

from betarce.explainers.protocol import Explained
from betarce.explainers.registry import register


@register("first-row")
@dataclass(frozen=True)
class FirstRow:
    """Hands out the first training row of the target class."""

    def explain(self, originals, targets, problem, box, seeds):
        points = originals.copy()
        for i, wanted in enumerate(targets):
            inside = problem.is_target(problem.X_train, np.tile(wanted, (len(problem.X_train), 1)))
            points[i] = problem.X_train[np.argmax(inside)]
        n = len(points)
        return Explained(points, np.ones(n, dtype=bool), [""] * n, np.ones(n, dtype=int))
'''

KERNEL = """
from dataclasses import dataclass

import numpy as np
from sklearn.dummy import DummyClassifier


@dataclass(frozen=True, eq=False)
class ConstantKernel:
    share: np.ndarray
    kind = "other"
    width = 1

    def __len__(self):
        return len(self.share)

    def scores(self, X, members):
        return np.tile(np.log(self.share / (1 - self.share))[members], (len(X), 1))

    def doubt(self, X, members):
        return 0.0


def stack(models):
    if not all(isinstance(each.estimator, DummyClassifier) for each in models):
        return None
    return ConstantKernel(np.array([each.estimator.class_prior_[1] for each in models]))
"""

SPACE = '''
@dataclass(frozen=True)
class Thinned(Seed):
    """Retrain on every second row."""

    def plan(self, recipe: Recipe, table: Table, name: str, seed: int) -> Job:
        return Job(recipe, Retraining(name, seed, rows=np.arange(0, len(np.asarray(table.y)), 2)))


'''

SEARCH = '''
import numpy as np

from betarce.search import Ladders


class OneStep:
    """Offers the safest row of the data that the goal knows."""

    def ladders(self, task, goal):
        points = goal.anchors(task)[:, -1:]
        n = len(points)
        rows = np.arange(n)
        depth, valid = goal(points[:, 0], rows)
        good = valid & goal.is_robust(points[:, 0], rows)
        return Ladders(points, good[:, None], depth[:, None], np.ones(n, dtype=int), np.zeros(n, dtype=bool))
'''

FIGURE = '''
"""How many rows were asked."""

from matplotlib.figure import Figure


def rows_frame(table):
    return table.groupby("family").size().rename("rows").reset_index()


def draw_rows(frame):
    figure = Figure()
    figure.subplots().bar(frame["family"], frame["rows"])
    return figure
'''

FITTED = """
import numpy as np
from sklearn.linear_model import LogisticRegression
import betarce as brce
X = np.random.default_rng(0).normal(size=(80, 2)); y = (X[:, 0] > 0).astype(int)
rejected = X[y == 0][:3]
def explained(**methods):
    options = dict(delta=0.6, confidence=0.8, n_models=(5, 9), random_state=0, verbose=-1)
    return brce.BetaRCE(LogisticRegression(), **options, **methods).fit(X, y).explain(rejected)
"""


class Copy:
    """A copy of the package, which counts the files that are written or changed."""

    def __init__(self, folder):
        self.source = folder / "src" / "betarce"
        shutil.copytree(house.SOURCE, self.source, ignore=shutil.ignore_patterns("__pycache__"))
        self.touched = set()

    def write(self, name, text):
        (self.source / name).write_text(text)
        self.touched.add(name)

    def replace(self, name, old, new):
        text = (self.source / name).read_text()
        assert text.count(old) == 1, (name, old)
        self.write(name, text.replace(old, new))

    def says(self, code):
        paths = f"import sys; sys.path[:0] = [{str(self.source.parent)!r}, {str(self.source.parent.parent)!r}]\n"
        done = subprocess.run([sys.executable, "-c", paths + code], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()


@pytest.fixture
def copy(tmp_path):
    return Copy(tmp_path)


def stated(what):
    """Give the number of files that the docs state."""
    page = (house.ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    return int(re.search(rf"^\| {what}[^|]*\| (\d)", page, flags=re.MULTILINE).group(1))


@pytest.mark.slow
class TestAdding:
    def test_a_rule(self, copy):
        copy.write("features/rules/multiple_of.py", RULE)
        copy.replace(
            "exports.py", '    "no_more_than": [', '    "multiple_of": ["multiple_of"],\n    "no_more_than": ['
        )
        said = copy.says(
            "import betarce as brce, betarce.rules\n"
            "print('multiple_of' in dir(brce), 'multiple_of' in betarce.rules.__all__)\n"
            "import numpy as np\n"
            "from betarce.features.rules_file import rules_of\n"
            "rules = rules_of({'columns': {'x0': {'multiple_of': 5}}}, what='rules.toml')\n"
            "assert rules == {'x0': brce.multiple_of(5)}, rules\n"
            "space = brce.FeatureSpace.infer(np.arange(21.0)[:, None], {'x0': brce.multiple_of(5)})\n"
            "print(*space.box(np.array([[3.0]])).choices[0].values.astype(int))\n"
        )
        assert said == ["True", "True", "0", "5", "10", "15", "20"]
        assert len(copy.touched) == stated("rule")

    def test_an_explainer(self, copy):
        copy.write("explainers/first_row.py", EXPLAINER)
        copy.replace(
            "explainers/__init__.py",
            "from betarce.explainers.growing_spheres",
            "from betarce.explainers.first_row import FirstRow as FirstRow\nfrom betarce.explainers.growing_spheres",
        )
        said = copy.says(
            FITTED + "for item in explained(base='first-row'): print(item.base.tolist() == X[y == 1][0].tolist())"
        )
        assert said == ["True"] * 3
        assert len(copy.touched) == stated("explainer")

    def test_a_kernel(self, copy):
        copy.write("ensemble/constant.py", KERNEL)
        copy.replace("ensemble/families.py", "import linear, networks", "import constant, linear, networks")
        copy.replace("ensemble/families.py", "trees.stack)", "trees.stack, constant.stack)")
        said = copy.says(
            "import numpy as np, warnings; warnings.simplefilter('error')\n"
            "from sklearn.dummy import DummyClassifier\n"
            "from betarce import Ensemble\n"
            "X = np.zeros((9, 1)); labels = [[0] * 3 + [1] * 6, [0] * 6 + [1] * 3]\n"
            "models = [DummyClassifier().fit(X, y) for y in labels]\n"
            "print(*Ensemble(models, [0, 1]).labels(X[:2]).ravel())\n"
        )
        assert said == ["1", "0", "1", "0"]
        assert len(copy.touched) == stated("kernel")

    def test_a_space(self, copy):
        copy.replace("spaces.py", "SPACES: Mapping", SPACE.lstrip("\n") + "SPACES: Mapping")
        copy.replace("spaces.py", '"architecture": Architecture,', '"architecture": Architecture, "thinned": Thinned,')
        said = copy.says(FITTED + "print({item.certificate.space for item in explained(space='thinned')})")
        assert said == ["{'Thinned()'}"]
        assert len(copy.touched) == stated("space")

    def test_a_search(self, copy):
        (copy.source.parent.parent / "one_step.py").write_text(SEARCH)
        said = copy.says(FITTED + "from one_step import OneStep\nprint(len(explained(search=OneStep())))")
        assert said == ["3"]
        assert len(copy.touched) + 1 == stated("search")

    def test_a_figure_of_the_paper(self, copy):
        copy.write("paper/figures/rows.py", FIGURE.lstrip("\n"))
        name = "paper/figures/all_figures.py"
        copy.replace(
            name,
            "from betarce.paper.figures.scatter",
            "from betarce.paper.figures.rows import draw_rows, rows_frame\nfrom betarce.paper.figures.scatter",
        )
        copy.replace(
            name,
            "    yield _time(table)\n",
            "    yield _time(table)\n"
            "    rows = rows_frame(table)\n"
            '    yield _Sheet("rows", rows, {"": ("How many rows were asked.", partial(draw_rows, rows))})\n',
        )
        (copy.source.parent.parent / "figure_records.py").write_text(
            (house.ROOT / "tests" / "figure_records.py").read_text()
        )
        said = copy.says(
            "import tempfile; from pathlib import Path\n"
            "from figure_records import made_up_records\n"
            "from betarce.paper.figures.all_figures import write_figures\n"
            "import matplotlib; matplotlib.use('Agg')\n"
            "records = made_up_records(data=['car'], spaces=['seed'], bases=['dice'], deltas=[0.8])\n"
            "names = {path.name for path in write_figures(records, Path(tempfile.mkdtemp()))}\n"
            "print('rows.csv' in names, 'rows.png' in names)\n"
        )
        assert said == ["True", "True"]
        assert len(copy.touched) == stated("figure of the paper")
