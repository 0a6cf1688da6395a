"""Plans: what a file says reaches the plan, what it cannot mean is refused by name."""

import copy
import tomllib
from pathlib import Path

import pytest

import betarce
from betarce.comparison.grids import PAPER_GRIDS
from betarce.errors import InvalidInput
from betarce.paper.plan import Plan
from betarce.paper.plan_file import plan_of, read_experiment, read_plan, shipped_plans

TEXT = """
data = ["breast_cancer", "car"]
families = ["logistic"]
spaces = ["seed", "bootstrap"]
bases = ["nice"]
deltas = [0.7, 0.8]
confidences = [0.9]
n_models = [20, 30]
prior = "uniform"
audit_spaces = ["architecture"]
folds = 4
run_folds = [1, 3]
rows = 5
audit_members = 6
tuning_rows = 7
tuning_members = 8
seed = 9

[methods.spheres]
method = "growing-spheres"

[methods.face]
parameters = {mode = "knn"}
grid = {fraction = [0.1, 0.3]}

[methods.robx]
grid = "paper"

[methods.betarce]

[methods.mine]
method = "betarce-paper"
parameters = {n_models = 40, n_candidates = 50}
"""
DOCUMENT = tomllib.loads(TEXT)


def changed(**keys):
    document = copy.deepcopy(DOCUMENT)
    document.update(keys)
    return document


def test_every_key_of_a_file_reaches_the_plan(tmp_path):
    path = tmp_path / "my.toml"
    path.write_text(TEXT)
    plan = read_plan(path)
    assert plan.data == ("breast_cancer", "car")
    assert plan.families == ("logistic",)
    assert plan.spaces == ("seed", "bootstrap")
    assert plan.bases == ("nice",)
    assert plan.promises == [(0.7, 0.9), (0.8, 0.9)]
    assert plan.prior == betarce.posterior.UNIFORM
    assert plan.audit_spaces == ("architecture",)
    assert (plan.folds, plan.run_folds, plan.rows, plan.audit_members) == (4, (1, 3), 5, 6)
    assert (plan.tuning_rows, plan.tuning_members, plan.seed) == (7, 8, 9)
    spheres, face, robx, ours, mine = plan.methods
    assert (spheres.name, spheres.method, spheres.based) == ("spheres", "growing-spheres", False)
    assert face.full_grid == {"mode": ("knn",), "fraction": (0.1, 0.3)}
    assert robx.grid == PAPER_GRIDS["robx"]
    assert robx.based
    assert ours.ours
    assert plan.sizes(ours, plan.guarantee(ours, 0.7, 0.9), "logistic") == (20, 30)
    assert plan.sizes(mine, plan.guarantee(mine, 0.7, 0.9), "logistic") == (40, 0)
    assert plan.pool_sizes("logistic") == (40, 30)


def test_a_plan_is_the_product_of_its_cells_and_every_cell_has_its_own_seed():
    plan = plan_of(DOCUMENT, what="my.toml")
    names = [cell.name for cell in plan.cells]
    assert len(set(names)) == 2 * 1 * 2 * 2
    assert names[0] == "breast_cancer-logistic-seed-fold1"
    assert len({plan.seed_of(cell) for cell in plan.cells}) == len(names)
    more = plan_of(changed(data=["rice", "breast_cancer"]), what="my.toml")
    assert more.seed_of(plan.cells[0]) == plan.seed_of(plan.cells[0])


def test_the_digest_tells_protocols_apart_but_not_choices_of_cells():
    first = plan_of(DOCUMENT, what="a")
    choices = {"data": ["rice"], "families": ["network"], "spaces": ["architecture"], "run_folds": [0]}
    for key, value in choices.items():
        assert plan_of(changed(**{key: value}), what="b").digest == first.digest
    other = {
        "bases": ["growing-spheres"],
        "deltas": [0.7],
        "confidences": [0.8],
        "n_models": 40,
        "prior": [2.0, 1.0],
        "audit_spaces": [],
        "folds": 5,
        "rows": 6,
        "audit_members": 7,
        "tuning_rows": 8,
        "tuning_members": 9,
        "seed": 10,
        "methods": {"nice": {}},
    }
    digests = {plan_of(changed(**{key: value}), what="b").digest for key, value in other.items()}
    assert len(digests | {first.digest}) == len(other) + 1
    assert set(other) | set(choices) == set(Plan.__dataclass_fields__)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"row": 3}, "my.toml: there is no key 'row'. Did you mean 'rows'?"),
        ({"zzz": 3}, "my.toml: there is no key 'zzz'. Known: data, families"),
        ({"data": ["brest_cancer"]}, "my.toml, key 'data': 'brest_cancer' is unknown. Did you mean 'breast_cancer'?"),
        ({"data": "car"}, "key 'data': must be a list; got 'car'"),
        ({"data": []}, "key 'data': must name at least one"),
        ({"data": ["car", "car"]}, "key 'data': 'car' is there twice"),
        ({"families": [1]}, "key 'families': 1 is unknown. Known: network, lightgbm, logistic."),
        ({"spaces": ["boot"]}, "key 'spaces': 'boot' is unknown. Did you mean 'bootstrap'?"),
        ({"bases": ["growing-sphere"]}, "Did you mean 'growing-spheres'?"),
        ({"bases": []}, "key 'bases': the methods need at least one"),
        ({"deltas": [1.5]}, "key 'deltas': must be numbers strictly between 0 and 1; got 1.5"),
        ({"confidences": []}, "key 'confidences': must list at least one number"),
        ({"n_models": 2}, "key 'n_models': 2 models cannot certify delta=0.7"),
        ({"n_models": "plenty"}, 'key \'n_models\': must be "few", "auto", "many", a whole number, or a pair'),
        ({"n_models": True}, "key 'n_models': must be a whole number >= 1; got True"),
        ({"folds": 1}, "key 'folds': must be a whole number >= 2; got 1"),
        ({"run_folds": [4]}, "key 'run_folds': there are folds 0 to 3; got 4"),
        ({"rows": 0}, "key 'rows': must be a whole number >= 1; got 0"),
        ({"audit_members": 1.5}, "key 'audit_members': must be a whole number >= 1; got 1.5"),
        ({"seed": -1}, "key 'seed': must be a whole number >= 0; got -1"),
        ({"methods": {}}, "key 'methods': must hold at least one section"),
        ({"methods": ["face"]}, "key 'methods': must be a section"),
        ({"methods": {"fase": {}}}, "my.toml, [methods.fase]: there is no method 'fase'. Did you mean 'face'?"),
        ({"methods": {"face": {"gird": {}}}}, "[methods.face]: there is no key 'gird'. Did you mean 'grid'?"),
        ({"methods": {"face": {"grid": {"fractoin": [1]}}}}, "no key 'fractoin'. Did you mean 'fraction'?"),
        ({"methods": {"face": {"grid": {"fraction": 0.1}}}}, "key 'grid', 'fraction': must be a list; got 0.1"),
        ({"methods": {"face": {"grid": {"fraction": []}}}}, "must list at least one value"),
        ({"methods": {"face": {"parameters": {"mode": float("nan")}}}}, "must be numbers, text, or lists"),
        ({"methods": {"nice": {"grid": "paper"}}}, "the paper has no grid for 'nice', only for dice, face"),
        (
            {"methods": {"face": {"parameters": {"mode": "knn"}, "grid": {"mode": ["knn"]}}}},
            "'mode' is both in `parameters` and in `grid`",
        ),
        ({"methods": {"betarce": {"grid": "paper"}}}, "[methods.betarce]: 'betarce' takes no grid"),
        ({"methods": {"betarce": {"parameters": {"norms": "l1"}}}}, "no key 'norms'. Did you mean 'norm'?"),
        ({"methods": {"betarce": {"parameters": {"norm": "l3"}}}}, "does not suit 'betarce': `norm` must be"),
        ({"methods": {"betarce": {"parameters": {"n_models": 2}}}}, "[methods.betarce]: 2 models cannot certify"),
        ({"prior": "flat"}, "key 'prior': `prior` must be one of 'jeffreys'"),
        ({"audit_spaces": ["boot"]}, "key 'audit_spaces': 'boot' is unknown. Did you mean 'bootstrap'?"),
        ({"methods": {"robx": {"parameters": {"base": "nice"}}}}, "there is no key 'base'"),
    ],
)
def test_what_a_plan_cannot_mean_is_refused_with_the_place(keys, message):
    with pytest.raises(InvalidInput) as caught:
        plan_of(changed(**keys), what="my.toml")
    assert message in str(caught.value)


def test_what_is_missing_is_named():
    with pytest.raises(InvalidInput, match=r"my.toml: the key 'families' is missing"):
        plan_of({"data": ["car"]}, what="my.toml")


def test_files_that_are_no_plans_say_so(tmp_path):
    with pytest.raises(
        InvalidInput,
        match=r"There is no plan 'smok': neither a file, nor one of .*: confidence, guarantee, members, paper, smoke",
    ):
        read_plan("smok")
    with pytest.raises(InvalidInput, match="There is no plan"):
        read_plan(tmp_path)
    bad = tmp_path / "bad.toml"
    bad.write_text("data = [")
    with pytest.raises(InvalidInput, match="is not valid TOML"):
        read_plan(bad)
    bad.write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_plan(bad)


def test_the_shipped_plans_are_sound_and_the_papers_is_its_protocol():
    assert {name: len(read_experiment(name).cells) for name in shipped_plans()} == {
        "confidence": 9,
        "guarantee": 36,
        "members": 9,
        "paper": 6 * 3 * 3 * 3,
        "smoke": 2,
    }
    paper = read_plan("paper")
    assert (paper.folds, paper.rows, paper.audit_members) == (3, 30, 30)
    assert (0.9, 0.95) in paper.promises
    assert {method.name for method in paper.methods if method.grid} == {"face", "rbr", "roar"}
    [theirs] = [method for method in paper.methods if method.method == "betarce-paper"]
    guarantees = [paper.guarantee(theirs, *promise) for promise in paper.promises]
    assert {guarantee.prior for guarantee in guarantees} == {betarce.posterior.JEFFREYS}
    assert {paper.sizes(theirs, guarantee, family) for guarantee in guarantees for family in paper.families} == {
        (32, 0)
    }
    [ours] = [method for method in paper.methods if method.method == "betarce"]
    assert paper.guarantee(ours, 0.9, 0.95) == betarce.Guarantee(0.9, 0.95, "exact")
    sizes = {family: paper.sizes(ours, paper.guarantee(ours, 0.9, 0.95), family) for family in paper.families}
    assert sizes == {"network": (20, 103), "lightgbm": (61, 103), "logistic": (15, 298)}


def test_named_amounts_of_members_are_read():
    for name in ("few", "auto", "many"):
        assert plan_of(changed(n_models=name), what="my.toml").n_models == name


def test_without_a_prior_each_form_has_its_own():
    document = changed()
    del document["prior"]
    plan = plan_of(document, what="my.toml")
    priors = {method.method: plan.guarantee(method, 0.7, 0.9).prior for method in plan.methods if method.ours}
    assert priors == {"betarce": betarce.posterior.EXACT, "betarce-paper": betarce.posterior.JEFFREYS}


def test_the_page_on_plans_names_every_key_and_its_example_is_a_plan():
    text = (Path(__file__).parents[2] / "docs" / "plans.md").read_text()
    example = text.split("```toml\n")[1].split("```")[0]
    assert len(plan_of(tomllib.loads(example), what="plans.md").cells) == 12
    keys = text.split("## Keys")[1].split("## What is in the folder")[0]
    missing = [name for name in Plan.__dataclass_fields__ if f"`{name}`" not in keys and name != "methods"]
    assert not missing
    assert all(f"| `{name}` |" in text for name in shipped_plans())
