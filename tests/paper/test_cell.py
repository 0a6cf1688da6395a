"""Cells: every row recorded, every setting felt, members and base points shared where they should be."""

import json

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import betarce
from betarce.errors import MissingExtra
from betarce.explainers import EXPLAINERS, GrowingSpheres, Nice
from betarce.paper import cell as celling
from betarce.paper.cell import cut, run_cell
from betarce.paper.records import fingerprint
from small_plan import DOCUMENT, of, plan

pytestmark = pytest.mark.slow

KEYS = [
    *("method", "base", "parameters", "delta", "confidence", "row", "found", "status", "reason"),
    *("robustness", "proximity_l1", "proximity_l2", "plausibility", "distance_to_base", "changed"),
    *("evaluations", "ms", "n_agree", "n_models", "lower_bound", "upper_bound", "members"),
]


def distances(records, method):
    return [r["proximity_l1"] for r in of(records, method)]


@pytest.fixture(scope="module")
def content():
    return run_cell(plan().cells[0], plan())


# Records


def test_every_method_base_and_guarantee_has_a_record_of_every_row(content):
    records = content["records"]
    entries = [("growing-spheres", None, None), ("robx", "growing-spheres", None)]
    entries += [(name, "growing-spheres", delta) for delta in (0.6, 0.7) for name in ("betarce", "betarce-paper")]
    rows = cut(plan().cells[0], plan()).names[:4].tolist()
    for name, base, delta in entries:
        assert [r["row"] for r in of(records, name, base=base, delta=delta)] == rows
    assert len(records) == 4 * len(entries)
    assert all(list(record) == KEYS for record in records)
    assert json.loads(json.dumps(records, allow_nan=False)) == records


def test_certificates_are_recorded_with_who_voted(content):
    for name, members, n_models, prior in (
        ("betarce", "fresh", 13, betarce.posterior.EXACT),
        ("betarce-paper", "search", 9, betarce.posterior.JEFFREYS),
    ):
        for record in of(content["records"], name, status="certified"):
            assert record["members"] == members
            assert record["lower_bound"] >= record["delta"]
            assert record["n_models"] == n_models
            low, high = betarce.posterior.interval(record["n_agree"], n_models, confidence=0.6, prior=prior)
            assert (record["lower_bound"], record["upper_bound"]) == (pytest.approx(low), pytest.approx(high))
    assert of(content["records"], "betarce", status="certified")


def test_a_cell_is_the_same_again_but_for_the_time(content):
    again = run_cell(plan().cells[0], plan())
    assert fingerprint(again["records"]) == fingerprint(content["records"])
    assert again["accuracy"] == content["accuracy"] > 0.8


def test_folds_cover_every_row_once_and_are_scaled_by_their_training_part():
    cells = plan(run_folds=[0, 1, 2]).cells
    folds = [cut(cell, plan()) for cell in cells]
    assert sorted(np.concatenate([fold.names for fold in folds])) == list(range(569))
    for fold in folds:
        assert len(fold.X_train) + len(fold.X_test) == 569
        assert (fold.X_train.min(), fold.X_train.max()) == (0.0, 1.0)
    assert cut(plan(spaces=["seed"]).cells[0], plan()).names.tolist() == folds[0].names.tolist()


def test_what_is_odd_about_the_members_is_recorded_once(monkeypatch):
    monkeypatch.setattr(celling, "paper_model", lambda family: LogisticRegression())
    changed = plan(spaces=["seed"])
    [warning] = run_cell(changed.cells[0], changed)["warnings"]
    assert "members are the same model" in warning


# Every key reaches its method


@pytest.mark.parametrize(
    ("keys", "check"),
    [
        ({"rows": 2}, lambda r: len(of(r, "growing-spheres")) == 2),
        ({"deltas": [0.5]}, lambda r: {x["delta"] for x in of(r, "betarce")} == {0.5}),
        ({"confidences": [0.7]}, lambda r: {x["confidence"] for x in of(r, "betarce")} == {0.7}),
        ({"n_models": [9, 11]}, lambda r: {x["n_models"] for x in of(r, "betarce")} == {11}),
        ({"n_models": [9, 11]}, lambda r: {x["n_models"] for x in of(r, "betarce-paper")} == {9}),
        ({"bases": ["nice"]}, lambda r: {x["base"] for x in of(r, "betarce") + of(r, "robx")} == {"nice"}),
        ({"audit_members": 3}, lambda r: all((3 * x["robustness"]) % 1 < 1e-9 for x in r if x["found"])),
        ({"run_folds": [1]}, lambda r: r[0]["row"] in cut(plan(run_folds=[1]).cells[0], plan()).names),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_settings_are_felt_in_the_records(keys, check, content):
    changed = plan(**keys)
    records = run_cell(changed.cells[0], changed)["records"]
    assert check(records)
    assert fingerprint(records) != fingerprint(content["records"])


@pytest.mark.parametrize("keys", [{"seed": 1}, {"folds": 2}])
def test_other_seeds_and_folds_give_other_records(keys, content):
    changed = plan(**keys, deltas=[0.6])
    records = run_cell(changed.cells[0], changed)["records"]
    assert distances(records, "growing-spheres") != distances(content["records"], "growing-spheres")


def test_cells_of_other_spaces_share_the_model_and_base_points_but_no_members(content):
    changed = plan(spaces=["seed"])
    other = run_cell(changed.cells[0], changed)
    assert other["accuracy"] == content["accuracy"]
    assert distances(other["records"], "growing-spheres") == distances(content["records"], "growing-spheres")
    assert distances(other["records"], "betarce") != distances(content["records"], "betarce")


def test_members_of_other_spaces_can_audit_too(content):
    changed = plan(audit_spaces=["bootstrap", "seed"])
    records = run_cell(changed.cells[0], changed)["records"]
    strip = [{k: v for k, v in r.items() if not k.startswith("robustness_")} for r in records]
    assert fingerprint(strip) == fingerprint(content["records"])
    assert all(r["robustness_bootstrap"] == r["robustness"] for r in records)
    seed = plan(spaces=["seed"])
    own = run_cell(seed.cells[0], seed)["records"]
    bare = [(r["robustness_seed"], s["robustness"]) for r, s in zip(records[:4], own[:4], strict=True)]
    assert all(ours == theirs for ours, theirs in bare)


def test_all_that_starts_from_a_base_starts_from_the_points_of_the_method_itself(monkeypatch):
    asked = []
    original = GrowingSpheres.explain

    def spying(self, originals, targets, problem, box, seeds):
        asked.extend(row.tobytes() for row in originals)
        return original(self, originals, targets, problem, box, seeds)

    monkeypatch.setattr(GrowingSpheres, "explain", spying)
    records = run_cell(plan().cells[0], plan())["records"]
    assert len(asked) == len(set(asked)) == 4 + 3  # the rows of the fold and of the tuning, once each
    bare = {r["row"]: r["proximity_l1"] for r in of(records, "growing-spheres")}
    for record in of(records, "betarce"):
        assert abs(record["proximity_l1"] - bare[record["row"]]) <= record["distance_to_base"] + 1e-9


@pytest.mark.parametrize("family", ["logistic", "lightgbm", "network"])
def test_what_is_taken_from_the_folder_is_what_was_computed(family, tmp_path, monkeypatch):
    changed = plan(families=[family], methods={"betarce": {}}, rows=2, deltas=[0.6])
    [cell] = changed.cells
    fresh = run_cell(cell, changed)
    kept = run_cell(cell, changed, shared=tmp_path)
    files = sorted(tmp_path.iterdir())
    assert len(files) == 4  # members that search, certify and audit, and base points
    monkeypatch.setattr("betarce.paper.trained_members.draw_members", None)  # nothing is trained any more ...
    monkeypatch.setattr(GrowingSpheres, "explain", None)  # ... and no base method asked
    again = run_cell(cell, changed, shared=tmp_path)
    assert fingerprint(fresh["records"]) == fingerprint(kept["records"]) == fingerprint(again["records"])
    assert sorted(tmp_path.iterdir()) == files


@pytest.mark.parametrize("which", [0, -1], ids=["base points", "members"])
@pytest.mark.parametrize("damage", [lambda b: b[: len(b) // 2], lambda b: b"\x80\x04." + b, lambda b: b""])
def test_a_damaged_file_is_named_and_its_content_computed_again(damage, which, tmp_path):
    changed = plan(methods={"betarce": {}}, deltas=[0.6])
    [cell] = changed.cells
    first = run_cell(cell, changed, shared=tmp_path)
    assert first["warnings"] == []
    path = sorted(tmp_path.iterdir(), key=lambda each: each.stat().st_size)[which]
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    again = run_cell(cell, changed, shared=tmp_path)
    [said] = again["warnings"]
    assert path.name in said
    assert "computed again" in said
    assert fingerprint(again["records"]) == fingerprint(first["records"])
    if which:
        assert path.read_bytes() == whole  # the time that base points took is never the same


def test_cells_share_what_is_defined_alike_and_nothing_else(tmp_path):
    bare = {"methods": {"growing-spheres": {}}}
    changed = plan(spaces=["bootstrap", "seed"], audit_spaces=["bootstrap", "seed"], **bare)
    for cell in changed.cells:
        run_cell(cell, changed, shared=tmp_path)
    assert len(list(tmp_path.iterdir())) == 3  # audits of both spaces, and base points, though both cells want them
    for keys, n_new in (({"seed": 1}, 2), ({"audit_members": 6}, 1), ({"rows": 3}, 1), ({"families": ["lightgbm"]}, 2)):
        other = plan(**bare, **keys)
        before = len(list(tmp_path.iterdir()))
        run_cell(other.cells[0], other, shared=tmp_path)
        assert len(list(tmp_path.iterdir())) == before + n_new


def test_what_was_said_about_training_is_said_again(tmp_path):
    # Few iterations of "sag" do not converge, and scikit-learn says so.
    changed = plan(spaces=["architecture"], methods={"betarce": {}}, deltas=[0.6])
    [cell] = changed.cells
    first, again = (run_cell(cell, changed, shared=tmp_path)["warnings"] for _ in range(2))
    assert first == again
    assert any("trained with warnings" in text for text in first)


def test_parameters_and_grids_reach_the_method(monkeypatch):
    seen = []

    def spying(self, originals, targets, problem, box, seeds):
        seen.append((len(originals), self.n_samples, self.tau, self.base.explainer))
        return GrowingSpheres().explain(originals, targets, problem, box, seeds)

    monkeypatch.setattr(EXPLAINERS["robx"], "explain", spying)
    changed = plan(tuning_rows=2)
    records = run_cell(changed.cells[0], changed)["records"]
    base = GrowingSpheres()
    assert seen[:2] == [(2, 50, 0.5, base), (2, 50, 0.6, base)]  # tuned on two training rows ...
    [chosen] = {json.dumps(record["parameters"]) for record in of(records, "robx")}
    assert seen[2:] == [(4, 50, json.loads(chosen)["tau"], base)]  # ... then run on the rows of the fold
    assert json.loads(chosen)["n_samples"] == 50


def test_the_family_the_space_and_the_numbers_reach_the_draws(monkeypatch):
    made, drawn = [], {}

    def making(name):
        made.append(name)
        return betarce.models.paper_model("logistic")

    def drawing(store, space, recipe, table, role, n, *, seed):
        drawn[role] = (space, n)
        return original(store, space, recipe, table, role, n, seed=seed)

    original = celling.cached_members
    monkeypatch.setattr(celling, "paper_model", making)
    monkeypatch.setattr(celling, "cached_members", drawing)
    changed = plan(
        families=["network"], spaces=["seed"], audit_members=6, tuning_members=7, n_models=[9, 11], deltas=[0.6]
    )
    run_cell(changed.cells[0], changed)
    assert made == ["network"]
    numbers = {"search": 9, "certify": 11, "audit": 6, "tune": 7}
    assert drawn == {role: (betarce.Seed(), n) for role, n in numbers.items()}


def test_parameters_of_betarce_and_the_prior_reach_it():
    methods = {"mine": {"method": "betarce", "parameters": {"n_models": [9, 12], "norm": "l1"}}, "betarce": {}}
    changed = plan(methods=methods, prior="exact", n_models=10, deltas=[0.6])
    records = run_cell(changed.cells[0], changed)["records"]
    assert {r["n_models"] for r in of(records, "mine")} == {12}
    assert {r["n_models"] for r in of(records, "betarce")} == {10}
    assert of(records, "mine")[0]["parameters"] == {"n_models": (9, 12), "norm": "l1"}
    for record in of(records, "betarce"):
        exact = betarce.Guarantee(0.6, 0.8, betarce.posterior.EXACT)
        assert record["lower_bound"] == pytest.approx(float(exact.lower_bound(record["n_agree"], 10)))


# Failures


class Broken(Nice):
    """A method that breaks down."""

    def explain(self, *arguments):
        raise MissingExtra("install me")


def test_a_method_that_breaks_down_is_recorded_and_leaves_the_others_alone(monkeypatch, content):
    monkeypatch.setitem(EXPLAINERS, "nice", Broken)
    changed = plan(bases=["nice", "growing-spheres"], methods={"nice": {}, **DOCUMENT["methods"]})
    records = run_cell(changed.cells[0], changed)["records"]
    broken = of(records, "nice") + of(records, "betarce", base="nice") + of(records, "robx", base="nice")
    assert len(broken) == 4 + 8 + 4
    for record in broken:
        assert (record["found"], record["status"]) == (False, "failed")
        assert record["reason"] == "MissingExtra: install me"
        assert list(record) == KEYS
    others = [r for r in records if r["method"] != "nice" and r["base"] != "nice"]
    assert fingerprint(others) == fingerprint(content["records"])
