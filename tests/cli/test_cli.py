"""The commands as a user types them."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import betarce as brce
from betarce.cli import app
from betarce.cli.layout import number, share

RUNNER = CliRunner()


def run(*arguments):
    return RUNNER.invoke(app, list(arguments), env={"COLUMNS": "120"})


def test_help_lists_the_commands():
    result = run("--help")
    assert result.exit_code == 0
    assert "demo" in result.stdout
    assert "size" in result.stdout


def test_the_version_is_told():
    result = run("--version")
    assert result.exit_code == 0
    assert result.stdout == f"betarce {brce.__version__}\n"


def test_size_prints_json_for_machines():
    document = json.loads(run("size", "--delta", "0.9", "--confidence", "0.95", "--json").stdout)
    assert document["prior"] == "exact"
    [line] = document["lines"]
    assert line == {"delta": 0.9, "confidence": 0.95, "all agree": 29, "1 may dissent": 46} | {
        key: line[key] for key in ("2 may dissent", "5 may dissent")
    }


def test_size_answers_how_many_models():
    result = run("size", "--delta", "0.9", "--confidence", "0.95")
    assert result.exit_code == 0
    [line] = [line for line in result.stdout.splitlines() if line.strip().startswith("0.9 ")]
    assert re.findall(r"[\d.]+", line)[:4] == ["0.9", "0.95", "29", "46"]


def test_size_answers_the_reverse():
    result = run("size", "--models", "38", "--confidence", "0.95", "--prior", "jeffreys")
    [line] = [line for line in result.stdout.splitlines() if line.strip().startswith("38 ")]
    assert re.findall(r"[\d.]+", line)[:4] == ["38", "0.95", "0.951", "0.902"]


def test_size_takes_other_priors():
    assert "18" in run("size", "--delta", "0.9", "--confidence", "0.95", "--prior", "jeffreys").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("size", "--delta", "1.5"), "--delta must be strictly between 0 and 1; got 1.5"),
        (("size", "--prior", "flat"), "--prior must be one of jeffreys, uniform, exact; got 'flat'."),
        (("size", "--models", "0"), "--models must"),
        (("demo", "--jobs", "0"), "--jobs must be a number of workers up to 1024, or -1 for one per core; got 0."),
        (("demo", "--confidence", "2"), "--confidence must be strictly between 0 and 1"),
    ],
)
def test_wrong_arguments_give_one_clear_line_and_exit_code_two(arguments, message):
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.output


@pytest.mark.slow
def test_the_demo_tells_its_story_and_repeats_it_word_for_word():
    arguments = ("demo", "--delta", "0.7", "--confidence", "0.8", "--audit-models", "10", "--jobs", "1")
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    assert "SYNTHETIC" in result.stdout
    assert result.stdout.count("was rejected") == 5
    assert "fresh models agree: valid for" in result.stdout
    assert "realised" in result.stdout
    assert run(*arguments).stdout == result.stdout


def test_numbers_are_written_as_people_write_them():
    assert (number(1234567), number(1.5), number(2.0)) == ("1,234,567", "1.50", "2")
    assert (share(0.9017), share(float("nan")), share(1.0)) == ("90.1 %", "-", "100.0 %")


# From a CSV file


@pytest.fixture(scope="module")
def loans():
    rng = np.random.default_rng(0)
    n = 80
    table = pd.DataFrame(
        {
            "income": rng.integers(10, 60, n) * 100,
            "debt": rng.integers(0, 30, n) * 100,
            "housing": rng.choice(["rent", "own"], n),
            "grade": rng.integers(1, 4, n),
        }
    )
    good = table["income"] - table["debt"] + 800 * (table["housing"] == "own") > 2400
    return table.assign(approved=np.where(good, "yes", "no"))


@pytest.fixture
def here(loans, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    loans.to_csv("loans.csv", index=False)
    return tmp_path


QUICK = ("--delta", "0.5", "--confidence", "0.6", "--models", "5,8", "--jobs", "1")


def squeezed(text):
    return " ".join(text.split())


class TestInit:
    def test_it_writes_a_file_to_edit_and_says_what_comes_next(self, here, loans):
        result = run("init", "loans.csv", "--label", "approved")
        assert result.exit_code == 0, result.output
        assert "80 rows, 4 columns." in result.stdout
        assert "own, rent" in result.stdout
        assert 'kind = "categorical"' in squeezed(result.stdout)
        assert "betarce explain loans.csv --label approved --target CLASS --features features.toml" in result.stdout
        text = (here / "features.toml").read_text()
        assert "[columns.housing]  # categorical: own, rent" in text
        assert "approved" not in text
        assert brce.read_rules("features.toml") == {}

    def test_it_never_overwrites_unasked(self, here):
        (here / "features.toml").write_text("mine")
        result = run("init", "loans.csv", "--label", "approved")
        assert result.exit_code == 2
        assert "'features.toml' exists already. Add --force to overwrite it" in result.stderr
        assert (here / "features.toml").read_text() == "mine"
        assert run("init", "loans.csv", "--label", "approved", "--force").exit_code == 0
        assert (here / "features.toml").read_text() != "mine"

    def test_empty_columns_are_left_out_and_row_names_are_no_column(self, here, loans):
        loans.assign(**{"[empty]": None}).rename(index=lambda i: f"r{i}").to_csv("odd.csv", sep=";")
        result = run("init", "odd.csv", "--out", "odd.toml", "--drop", "grade")
        assert result.exit_code == 0, result.output
        assert "'[empty]' holds no value at all and is left out." in squeezed(result.stderr)
        assert "80 rows, 4 columns" in result.stdout
        assert "grade" not in (here / "odd.toml").read_text()

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("init", "loan.csv"), "There is no file 'loan.csv'. Did you mean 'loans.csv'?"),
            (("init", "loans.csv", "--label", "aproved"), "no column 'aproved'. Did you mean 'approved'?"),
            (("init", "loans.csv", "--drop", "zzz"), "no column 'zzz'. Its columns are: income, debt"),
            (("init", "loans.csv", "--out", "none/x.toml"), "must name a file in an existing folder"),
            (("init", "loans.csv", "--out", "x.yaml"), "--out must end in .toml; got 'x.yaml'."),
        ],
    )
    def test_mistakes_are_one_clear_line(self, arguments, message, here):
        result = run(*arguments)
        assert result.exit_code == 2
        assert message in squeezed(result.stderr)


class TestExplain:
    def test_max_changes_of_a_file_of_rules_was_ignored(self, here, loans):
        (here / "features.toml").write_text("max_changes = 1\n[columns.debt]\ndecrease_only = true\n")
        arguments = ("explain", "loans.csv", "--label", "approved", "--target", "yes", "--features", "features.toml")
        result = run(*arguments, "--limit", "6", "--out", "result.json", "--model", "logistic", *QUICK)
        assert result.exit_code in (0, 1), result.output
        answers = brce.Result.load("result.json")
        assert answers.features.max_changes == 1
        assert max((item.robust != item.original).sum() for item in answers if item.robust is not None) == 1
        more = run(
            *arguments, "--max-changes", "2", "--limit", "6", "--out", "more.json", "--model", "logistic", *QUICK
        )
        assert more.exit_code in (0, 1), more.output
        assert brce.Result.load("more.json").features.max_changes == 2

    def test_a_column_left_out_as_init_advised_was_missed_by_the_file_of_init(self, here, loans):
        loans.assign(customer=[f"C{i}" for i in range(80)]).to_csv("loans.csv", index=False)
        told = run("init", "loans.csv", "--label", "approved")
        assert "Better leave it out (--drop customer)" in squeezed(told.stderr)
        arguments = ("explain", "loans.csv", "--label", "approved", "--target", "yes", "--features", "features.toml")
        result = run(*arguments, "--drop", "customer", "--limit", "2", "--model", "logistic", *QUICK)
        assert result.exit_code in (0, 1), result.output

    @pytest.mark.slow
    def test_it_says_what_to_change_and_writes_it_down(self, here, loans):
        (here / "features.toml").write_text("[columns.debt]\nimmutable = true\n[columns.grade]\nkind = 'categorical'\n")
        arguments = ("explain", "loans.csv", "--label", "approved", "--target", "yes", "--features", "features.toml")
        arguments += ("--limit", "2", "--out", "result.json", "--csv", "changes.csv", "--model", "logistic", *QUICK)
        result = run(*arguments)
        assert result.exit_code == 0, result.output
        assert "The model learnt from 80 rows. It is right for" in squeezed(result.stdout)
        assert result.stdout.count("what would make approved = yes?") == 2
        assert "fresh models agree: valid for" in result.stdout
        assert "more rows are in another class; raise --limit" in result.stdout
        saved = brce.Result.load("result.json")
        assert len(saved) == 2
        assert (saved.robust["debt"].to_numpy() == loans["debt"].to_numpy()[saved.robust.index - 1]).all()
        assert [item.target for item in saved] == ["yes", "yes"]
        changes = pd.read_csv("changes.csv")
        assert changes.columns.tolist() == ["row", "feature", "from", "base", "to"]
        assert len(changes) == len(saved.changes())
        assert run(*arguments).stdout == result.stdout

    @pytest.mark.slow
    @pytest.mark.parametrize("model", ["hist-gradient-boosting", "lightgbm", "random-forest"])
    def test_every_model_takes_the_mixed_table(self, model, here, loans):
        gaps = loans.rename(columns={"income": "income, [EUR]"})
        gaps.loc[::9, "debt"] = np.nan
        gaps.loc[::11, "housing"] = None
        gaps.assign(owner=[True, False] * 40).to_csv("gaps.csv", index=False)
        result = run(
            "explain", "gaps.csv", "--label", "approved", "--target", "yes", "--limit", "1", "--model", model, *QUICK
        )
        assert result.exit_code == 0, result.output
        assert "1 rows have a certified answer" in result.stdout

    @pytest.mark.slow
    def test_rows_of_another_file_are_explained(self, here, loans):
        rows = pd.concat([loans[loans["approved"] == "no"][:1], loans[loans["approved"] == "yes"][:3]])
        rows = rows.drop(columns="approved").assign(comment="x")[["comment", *loans.columns[3::-1]]]
        rows.index = ["Ann", "Bob", "Cid", "Dan"]
        rows.to_csv("rejected.csv")
        arguments = ("explain", "loans.csv", "--label", "approved", "--target", "yes", "--rows", "rejected.csv")
        result = run(*arguments, "--model", "logistic", *QUICK)
        assert result.exit_code == 0, result.output
        assert "Row Ann: what would make approved = yes?" in result.stdout
        assert "3 more are in class yes already." in result.stdout

    @pytest.mark.slow
    def test_a_row_that_cannot_be_read_spoils_no_other(self, here, loans):
        rows = loans[loans["approved"] == "no"][:3].drop(columns="approved").set_axis(["Ann", "Bob", "Cid"])
        rows.loc["Bob", "housing"] = "boat"
        rows.to_csv("rejected.csv")
        arguments = ("explain", "loans.csv", "--label", "approved", "--target", "yes", "--rows", "rejected.csv")
        result = run(*arguments, "--model", "logistic", *QUICK)
        assert result.exit_code == 0, result.output
        said = squeezed(result.stdout)
        assert "'boat' in column 'housing', row 'Bob'; the training table knows only" in said
        assert "Row Ann: what would make approved = yes?" in said
        assert "The others: 1 unreadable." in said

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("--target", "maybe"), "There is no class 'maybe'. The classes are: no, yes."),
            ((), "Say with --target which class of 'approved' is wanted: no, yes."),
            (
                ("--target", "yes", "--model", "forest"),
                "--model must be one of hist-gradient-boosting, lightgbm, logistic, random-forest; got 'forest'.",
            ),
            (("--target", "yes", "--space", "moon"), "--space must be one of bootstrap, new-data, seed; got 'moon'."),
            (("--target", "yes", "--rows", "none.csv"), "There is no file 'none.csv'"),
            (
                ("--target", "yes", "--rows", "short.csv"),
                "lacks 3 columns that the model was trained on: 'debt', 'housing', 'grade'",
            ),
            (
                ("--target", "yes", "--rows", "odd.csv"),
                "'boat' in column 'housing', row 1; the training table knows only",
            ),
            (("--target", "yes", "--rows", "good.csv"), "gives all 1 rows the class 'yes' already"),
            (("--target", "yes", "--features", "none.toml"), "There is no file of rules at 'none.toml'"),
            (("--target", "yes", "--features", "bad.toml"), "bad.toml, [columns.debt]: there is no key 'imutable'"),
            (("--target", "yes", "--out", "none/r.json"), "must name a file in an existing folder"),
            (("--target", "yes", "--base", "moon"), "--base must be one of none, "),
            (("--target", "yes", "--models", "some"), "--models must be few, auto, many, a number, or two"),
            (
                ("--target", "yes", "--models", "1", "--delta", "0.9"),
                "Draw more models, or lower --delta or --confidence.",
            ),
            (("--target", "yes", "--prior", "flat"), "--prior must be one of"),
            (("--target", "yes", "--jobs", "0"), "--jobs must be a number of workers"),
            (("--target", "yes", "--csv", "none/r.csv"), "--csv must name a file in an existing folder"),
            (("--target", "yes", "--delta", "2"), "--delta must be strictly between 0 and 1"),
        ],
    )
    def test_mistakes_are_one_clear_line(self, arguments, message, here):
        (here / "short.csv").write_text("income\n1000\n")
        (here / "odd.csv").write_text("income,debt,housing,grade\n1000,100,boat,1\n")
        (here / "good.csv").write_text("income,debt,housing,grade\n5900,0,own,1\n")
        (here / "bad.toml").write_text("[columns.debt]\nimutable = true\n")
        result = run("explain", "loans.csv", "--label", "approved", "--model", "logistic", *QUICK, *arguments)
        assert result.exit_code == 2, result.output
        assert message in squeezed(result.stderr)
        assert "Traceback" not in result.output

    @pytest.mark.parametrize(
        ("labels", "message"),
        [
            (np.linspace(0, 1, 80), "holds numbers with fractions, as in a regression"),
            (np.arange(80), "has 80 different values; at most 20 can be classes"),
            (np.zeros(80, dtype=int), "has one value only"),
            ([None] * 80, "has one value only"),
        ],
    )
    def test_labels_that_are_no_classes_are_refused(self, labels, message, here, loans):
        loans.assign(approved=labels).to_csv("odd.csv", index=False)
        result = run("explain", "odd.csv", "--label", "approved", "--target", "1", *QUICK)
        assert result.exit_code == 2
        assert message in squeezed(result.stderr)

    @pytest.mark.slow
    @pytest.mark.parametrize(("labels", "target"), [([0.0, 1.0, None, 1.0], "1"), ([False, True, True, True], "true")])
    def test_numbers_and_truth_values_are_classes_and_rows_without_one_are_left_out(self, labels, target, here, loans):
        wanted = (loans["approved"] == "yes").astype(type(labels[0]))
        wanted = wanted.where(np.arange(80) % 10 > 0, None) if None in labels else wanted
        loans.assign(approved=wanted).to_csv("numbers.csv", index=False)
        arguments = ("explain", "numbers.csv", "--label", "approved", "--target", target, "--limit", "1")
        result = run(*arguments, "--model", "logistic", *QUICK)
        assert result.exit_code == 0, result.output
        assert f"learnt from {72 if None in labels else 80} rows" in result.stdout

    @pytest.mark.slow
    def test_a_space_that_does_not_vary_is_said_before_the_answers_and_gives_exit_code_one(self, here):
        arguments = ("explain", "loans.csv", "--label", "approved", "--target", "yes", "--space", "seed")
        result = run(*arguments, "--limit", "1", "--model", "logistic", *QUICK)
        assert result.exit_code == 1, result.output
        warning = "would say nothing about retraining. Use --space bootstrap."
        said = squeezed(result.output)
        assert warning in squeezed(result.stderr)
        assert said.index(warning) < said.index("Row ")
        assert "Traceback" not in result.output

    @pytest.mark.slow
    def test_what_looks_wrong_in_the_table_is_said_by_both_commands_before_anything_else(self, here, loans):
        text = loans["income"].astype(str).where(loans.index != 7, "unknown")
        coded = loans["grade"].map({1: "low", 2: "mid", 3: "high"})
        label = loans["approved"].where(loans.index > 1)
        loans.assign(income=text, code=coded, customer=range(80, 160), approved=label).to_csv("bad.csv", index=False)
        arguments = ("bad.csv", "--label", "approved")
        rules = ("--target", "yes", "--limit", "2", "--model", "logistic", *QUICK)
        told = [run("init", *arguments), run("explain", *arguments, *rules)]
        for result in told:
            assert result.exit_code == 0, result.output
            said = squeezed(result.stderr)
            assert "2 of 80 rows have no value in 'approved' and are left out." in said
            assert "'income' holds numbers but for 1 of 78 values: 'unknown'." in said
            assert "'grade' and 'code' say the same" in said
            assert "'customer' looks like an identifier" in said
            assert "Look at this" not in result.stdout
        assert told[1].output.index("Look at this") < told[1].output.index("Training logistic")
        mended = run("explain", *arguments, *rules, "--missing", "unknown", "--drop", "code", "--drop", "customer")
        assert "left out" in mended.stderr
        assert mended.stderr.count("* ") == 1

    @pytest.mark.slow
    def test_an_identifier_is_never_recommended_to_change_unless_a_rule_names_it(self, here, loans):
        rising = loans.sort_values("income", kind="stable").assign(customer=range(80)).drop(columns="income")
        rising.to_csv("ids.csv", index=False)  # the number says all about the income
        arguments = ("explain", "ids.csv", "--label", "approved", "--target", "yes", "--model", "logistic", *QUICK)
        assert "'customer' looks like an identifier" in squeezed(run(*arguments, "--csv", "a.csv").stderr)
        assert "customer" not in set(pd.read_csv("a.csv")["feature"])
        (here / "features.toml").write_text("[columns.customer]\nkind = 'integer'\n")
        allowed = run(*arguments, "--csv", "b.csv", "--features", "features.toml")
        assert "identifier" not in allowed.stderr
        assert "customer" in set(pd.read_csv("b.csv")["feature"])

    @pytest.mark.slow
    def test_json_is_all_there_is_on_stdout(self, here):
        arguments = ("explain", "loans.csv", "--label", "approved", "--target", "yes", "--limit", "2", "--json")
        result = run(*arguments, "--model", "logistic", *QUICK)
        assert result.exit_code == 0, result.output
        document = json.loads(result.stdout)
        assert document["rows_learnt_from"] == 80
        assert document["findings"] == []
        assert len(document["result"]["rows"]) == 2
        assert "Training logistic" in result.stderr

    @pytest.mark.slow
    def test_whole_numbers_are_whole_in_the_csv_file(self, here, loans):
        loans.assign(rate=loans["income"] / 1000 + 0.5).to_csv("mixed.csv", index=False)
        arguments = ("explain", "mixed.csv", "--label", "approved", "--target", "yes", "--csv", "changes.csv")
        assert run(*arguments, "--model", "logistic", *QUICK).exit_code == 0
        changes = pd.read_csv("changes.csv", dtype=str)
        income = changes[changes["feature"] == "income"]
        assert len(income)
        assert income[["row", "from", "base", "to"]].stack().str.fullmatch(r"\d+").all()

    @pytest.mark.slow
    def test_rows_are_counted_from_one(self, here, loans):
        first = loans.sort_values("approved", ignore_index=True)  # the rejected come first
        first.to_csv("sorted.csv", index=False)
        arguments = ("explain", "sorted.csv", "--label", "approved", "--target", "yes", "--limit", "1")
        assert "Row 1: what" in run(*arguments, "--model", "logistic", *QUICK).stdout


def test_csv_files_that_cannot_be_read_say_so(here):
    (here / "empty.csv").write_text("")
    (here / "heading.csv").write_text("a,b\n")
    (here / "ragged.csv").write_text("a,b\n1,2\n1,2,3\n")
    (here / "latin.csv").write_bytes("a,b\nż,1\n".encode("cp1250"))
    for name, message in [
        ("empty.csv", "cannot be read as CSV"),
        ("heading.csv", "has no rows"),
        ("ragged.csv", "cannot be read as CSV"),
        ("latin.csv", "cannot be read as CSV in UTF-8"),
    ]:
        result = run("init", name)
        assert result.exit_code == 2, name
        assert message in squeezed(result.stderr)


PLAN = """
data = ["breast_cancer"]
families = ["logistic"]
spaces = ["bootstrap", "seed"]
run_folds = [0]
rows = 3
audit_members = 5
deltas = [0.6]
confidences = [0.8]

[methods.growing-spheres]
[methods.betarce]
"""


@pytest.mark.slow
class TestReproduce:
    @pytest.fixture
    def plan(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "tiny.toml").write_text(PLAN)
        return tmp_path

    def test_it_runs_what_is_missing_and_sums_up_by_method(self, plan):
        arguments = ("reproduce", "tiny.toml", "--out", "results", "--jobs", "1")
        first = run(*arguments, "--only", "seed")
        assert first.exit_code == 0, first.output
        assert "1 cells: 1 missing." in first.stdout
        assert "1 cells done, 0 skipped" in first.stdout
        again = json.loads(run(*arguments, "--only", "seed", "--json").stdout)
        assert (again["done"], again["skipped"]) == ([], ["breast_cancer-logistic-seed-fold0"])
        second = run(*arguments)
        assert "2 cells: 1 finished, 1 missing." in second.stdout
        assert "1 cells done, 1 skipped as finished before, 0 failed." in second.stdout
        [line] = [line for line in second.stdout.splitlines() if line.strip().startswith("betarce")]
        assert line.split()[:3] == ["betarce", "0.6", "6/6"]
        assert len(list((plan / "results" / "cells").glob("*.json"))) == 2
        assert "Tables and figures: results/report/README.md." in second.stdout
        assert "2 of 2 cells are finished" in (plan / "results" / "report" / "README.md").read_text()

    def test_a_dry_run_lists_the_cells_and_writes_nothing(self, plan):
        result = run("reproduce", "tiny.toml", "--out", "results", "--dry-run")
        assert result.exit_code == 0
        assert "breast_cancer-logistic-seed-fold0: missing" in result.stdout
        assert not (plan / "results").exists()
        machine = run("reproduce", "tiny.toml", "--out", "results", "--dry-run", "--json")
        assert json.loads(machine.stdout)["cells"]["breast_cancer-logistic-seed-fold0"] == "missing"
        assert "162 cells" in run("reproduce", "paper", "--out", "results", "--dry-run").stdout

    def test_a_failed_cell_is_named_and_gives_exit_code_one(self, plan, monkeypatch):
        def load(name):
            raise brce.errors.DataUnavailable("no network")

        monkeypatch.setattr("betarce.paper.cell.load", load)
        result = run("reproduce", "tiny.toml", "--out", "results", "--jobs", "1")
        assert result.exit_code == 1
        assert "Failed: breast_cancer-logistic-seed-fold0: DataUnavailable: no network" in result.stderr
        assert "0 cells done, 0 skipped as finished before, 2 failed." in result.stdout

    def test_a_method_that_breaks_down_is_named_with_its_reason(self, plan, monkeypatch):
        def explain(*_):
            raise brce.errors.MissingExtra("install [it]")

        monkeypatch.setattr(brce.explainers.Nice, "explain", explain)
        (plan / "tiny.toml").write_text(f'bases = ["nice", "growing-spheres"]\n{PLAN}\n[methods.nice]\n')
        result = run("reproduce", "tiny.toml", "--out", "results", "--jobs", "1")
        assert result.exit_code == 0, result.output
        assert "nice broke down in 2 cells: MissingExtra: install [it]" in result.stdout
        assert "betarce from nice broke down in 2 cells" in result.stdout
        assert "--retry-failed runs these cells again" in result.stdout
        assert "  from growing-spheres" in result.stdout

    def test_a_damaged_file_is_named(self, plan):
        arguments = ("reproduce", "tiny.toml", "--out", "results", "--jobs", "1", "--only", "seed")
        run(*arguments)
        (plan / "results/cells/breast_cancer-logistic-seed-fold0.json").write_text("{}")
        result = run(*arguments)
        assert result.exit_code == 0, result.output
        assert "The file of breast_cancer-logistic-seed-fold0 was damaged; the cell was run again." in result.stdout

    def test_records_of_an_earlier_run_serve_for_methods_that_are_not_run_again(self, plan):
        arguments = ("reproduce", "tiny.toml", "--jobs", "1", "--only", "seed")
        run(*arguments, "--out", "first")
        again = run(*arguments, "--out", "second", "--reuse", "first/report/records.csv.gz", "--rerun", "betarce")
        assert again.exit_code == 0, again.output
        assert '"reused": {"records": "records.csv.gz"' in next((plan / "second/cells").glob("*.json")).read_text()

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("tiny.toml", "--out", "results", "--rerun", "betarce"), "--rerun needs --reuse"),
            (
                ("tiny.toml", "--out", "results", "--reuse", "x.gz", "--rerun", "betarce"),
                "There is no plan 'plan.toml'",
            ),
            (("smok", "--out", "results"), "There is no plan 'smok'"),
            (("wrong.toml", "--out", "results"), "wrong.toml: there is no key 'rowz'. Did you mean 'rows'?"),
            (("tiny.toml", "--out", "results", "--only", "zzz"), "--only must be part of the name of a cell"),
            (("tiny.toml", "--out", "tiny.toml"), "--out must be a folder"),
        ],
    )
    def test_mistakes_are_one_clear_line(self, arguments, message, plan):
        (plan / "wrong.toml").write_text("rowz = 3\n" + PLAN)
        result = run("reproduce", *arguments)
        assert result.exit_code == 2, result.output
        assert message in squeezed(result.stderr)
        assert "Traceback" not in result.output
