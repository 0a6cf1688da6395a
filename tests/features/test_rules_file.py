"""Rules in files: what is written is read, what is wrong is named."""

import sys
import time

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

import betarce as brce
from betarce.errors import InvalidInput, MissingExtra
from betarce.features import FeatureSpace, Rule
from betarce.features.formula import Formula
from betarce.features.hints import hints
from betarce.features.rules.between import Between
from betarce.features.rules.movement import Movement
from betarce.rules import read_rules, write_rules
from mixed_table import TABLE, rules


@pytest.fixture
def written(tmp_path):
    def write(text, name="rules.toml"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


KEYS = {
    "immutable = true": brce.immutable(),
    "immutable = false": Rule(),
    "increase_only = true": brce.increase_only(),
    "decrease_only = true": brce.decrease_only(),
    "at_most = 2": brce.at_most(2),
    "increase_only = true\nat_most = 2.5": brce.increase_only() & brce.at_most(2.5),
    "between = [0, 10]": brce.between(0, 10),
    "between = [-inf, 10]": brce.between(-np.inf, 10),
    'one_of = ["car", "home"]': brce.one_of(["car", "home"]),
    "one_of = [1, 2]": brce.one_of([1, 2]),
    'transitions = {rent = ["own"], own = []}': brce.transitions({"rent": ["own"], "own": []}),
    "transitions = [[1, [2, 3]], [2, []]]": brce.transitions({1: [2, 3], 2: []}),
    'no_more_than = "limit"': brce.no_more_than("limit"),
    'no_more_than = ["limit", "cap"]': brce.no_more_than("limit") & brce.no_more_than("cap"),
    "may_be_missing = true": brce.may_be_missing(),
    'derived = "debt / income"': brce.derived("debt / income"),
    'kind = "integer"': brce.integer(),
    'kind = "integer"\nstep = 5': brce.integer(step=5),
    'kind = "continuous"\ndecimals = 2': brce.continuous(decimals=2),
    'kind = "continuous"\nstep = 0.25': brce.continuous(step=0.25),
    'kind = "categorical"': brce.categorical(),
    'kind = "categorical"\nlevels = [1, 2]': brce.categorical([1, 2]),
    'kind = "ordinal"\nlevels = ["low", "high"]': brce.ordinal(["low", "high"]),
}


@pytest.mark.parametrize("text", KEYS)
def test_every_key_says_what_its_rule_says(text, written):
    found = read_rules(written(f"[columns.x]\n{text}\n"))
    assert found == ({} if KEYS[text] == Rule() else {"x": KEYS[text]})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[columns.age]\nimutable = true", r"\[columns.age\]: there is no key 'imutable'. Did you mean 'immutable'\?"),
        ("[columns.age]\nzzz = 1", "there is no key 'zzz'. Known keys: kind, levels, step"),
        ("[colums.age]\nimmutable = true", "there is no key 'colums'. Did you mean 'columns'"),
        ("[columns]\nage = 3", r"\[columns.age\] must be a table of names and values; got 3"),
        ("[columns.age]\nimmutable = 1", "key 'immutable': must be true or false; got 1"),
        ("[columns.age]\nat_most = 'x'", "key 'at_most': `change` must be a number >= 0; got 'x'"),
        ("[columns.age]\nat_most = -1", "key 'at_most'"),
        ("[columns.age]\nbetween = 3", "key 'between': must be a pair"),
        ("[columns.age]\nbetween = [3, 1]", "key 'between': `low` and `high` must be numbers with low <= high"),
        ("[columns.age]\nbetween = ['a', 'b']", "key 'between'"),
        ("[columns.age]\none_of = 'car'", "key 'one_of': must be a list of values; got 'car'"),
        ("[columns.age]\none_of = []", "key 'one_of': `values` must hold at least one value"),
        ("[columns.age]\none_of = [2020-01-01]", "key 'one_of': a value must be text, a number"),
        ("[columns.age]\ntransitions = 'rent'", "key 'transitions': must say what may become what"),
        ("[columns.age]\ntransitions = {rent = 'own'}", "key 'transitions': must be a list of values; got 'own'"),
        ("[columns.age]\nno_more_than = 1.5", "key 'no_more_than'"),
        ("[columns.age]\nmay_be_missing = 'yes'", "key 'may_be_missing'"),
        ("[columns.age]\nderived = 3", "key 'derived': must be arithmetic over columns"),
        ("[columns.age]\nderived = 'a.b'", "key 'derived': A formula may use"),
        ("[columns.age]\nkind = 'int'", "key 'kind': there is no kind 'int'. Did you mean 'integer'"),
        ("[columns.age]\nkind = ['integer']", "key 'kind': there is no kind"),
        ("[columns.age]\nstep = 5", '\'step\' needs kind = "continuous" or kind = "integer" beside it'),
        ("[columns.age]\nkind = 'integer'\nstep = 0.5", "key 'step': `step` of whole numbers must be whole"),
        ("[columns.age]\nkind = 'integer'\ndecimals = 2", "'decimals' needs kind = \"continuous\""),
        ("[columns.age]\nlevels = ['a']", '\'levels\' needs kind = "categorical" or kind = "ordinal"'),
        ("[columns.age]\nkind = 'ordinal'\nlevels = 'abc'", "key 'levels': must be a list of values"),
        ("[columns.age]\nkind = 'ordinal'", r'kind = "ordinal" needs levels = \[lowest, ..., highest\] beside it'),
        ("[columns.age]\ncolumn = 1.5", "a column is named by text or a whole number"),
        ("[columns.a]\ncolumn = 1\n[columns.b]\ncolumn = 1\nimmutable = true", "the column 1 is named twice"),
        ("[groups]\ncolour = 'red'", r"\[groups\]: 'colour' must list two or more columns"),
        ("[groups]\ncolour = ['red']", "must list two or more columns"),
        ("[groups]\na = ['x', 'y']\nb = ['y', 'z']", "'y' is in two groups, 'a' and 'b'"),
        ("[groups]\na = ['x', 'y']\n[columns.a]\nkind = 'integer'", "a group is always categorical"),
        ("[columns.age", "is not valid TOML: .*at end of document"),
        ("[columns.age]\nimmutable = true\nimmutable = true", "is not valid TOML"),
        ("[columns.age]\nimmutable = true\n[columns.age]\nstep = 2", "is not valid TOML"),
        ("[columns.a]\ntransitions = [[1, [2]], [1, [3]]]", "say once what may become of each value; 1 is there twice"),
    ],
)
def test_what_is_wrong_is_named_with_file_column_and_key(text, message, written):
    with pytest.raises(InvalidInput, match=message) as caught:
        read_rules(written(text))
    assert "rules.toml" in str(caught.value)


def test_a_missing_file_and_an_unknown_ending_say_so(tmp_path):
    with pytest.raises(InvalidInput, match=r"There is no file of rules at .*none\.toml'\. `betarce init"):
        read_rules(tmp_path / "none.toml")
    with pytest.raises(InvalidInput, match=r"must end in .toml, .yaml or .yml; got 'rules.json'"):
        read_rules("rules.json")


def test_bytes_that_are_no_text_say_so(tmp_path):
    (tmp_path / "rules.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidInput, match=r"rules.toml cannot be read: it is not text in UTF-8"):
        read_rules(tmp_path / "rules.toml")


class TestYaml:
    TEXT = """
columns:
  age: {immutable: true}
  purpose:
    one_of: [car, null]
"""

    @pytest.mark.parametrize("ending", ["yaml", "yml"])
    def test_yaml_is_read_like_toml(self, ending, written):
        found = read_rules(written(self.TEXT, f"rules.{ending}"))
        assert found == {"age": brce.immutable(), "purpose": brce.one_of(["car", None])}

    def test_an_empty_file_has_no_rules(self, written):
        assert read_rules(written("", "rules.yaml")) == {}
        assert read_rules(written("null", "rules.yaml")) == {}
        assert read_rules(written("columns: {age: null}", "rules.yaml")) == {}

    def test_aliases_and_merged_rules_are_read(self, written):
        text = "columns:\n  a: &free {increase_only: true}\n  b: *free\n  c: {<<: *free, at_most: 2}"
        found = read_rules(written(text, "rules.yaml"))
        assert found == dict.fromkeys("ab", brce.increase_only()) | {"c": brce.increase_only() & brce.at_most(2)}

    def test_wrong_yaml_is_named(self, written):
        with pytest.raises(InvalidInput, match=r"rules.yaml is not valid YAML"):
            read_rules(written("{", "rules.yaml"))

    @pytest.mark.parametrize(
        ("text", "line"),
        [
            ("columns:\n  age: {immutable: true}\n  age: {}", 3),
            ("columns:\n  age:\n    increase_only: true\n    increase_only: false", 4),
            ("columns: {}\ngroups: {}\ncolumns: {}", 3),
        ],
    )
    def test_a_key_that_is_there_twice_drops_no_rule_silently(self, text, line, written):
        with pytest.raises(InvalidInput, match=rf"not valid YAML: the key '\w+' is there twice \(line {line}\)"):
            read_rules(written(text, "rules.yaml"))

    def test_without_the_library_the_message_says_what_to_install(self, written, monkeypatch):
        monkeypatch.setitem(sys.modules, "yaml", None)
        with pytest.raises(MissingExtra, match=r'Reading rules.yaml needs `yaml`.*pip install "betarce\[yaml\]"'):
            read_rules(written("{}", "rules.yaml"))


def round_trip(space, table, tmp_path):
    path = tmp_path / "rules.toml"
    text = write_rules(space, path)
    assert path.read_text(encoding="utf-8") == text
    found = read_rules(path)
    again = FeatureSpace.infer(table, found)
    pd.testing.assert_frame_equal(again.describe(), space.describe())
    assert dict(again.rules) == {name: rule for name, rule in space.rules.items() if rule != Rule()}
    return text


@pytest.mark.slow
@settings(max_examples=40)
@given(drawn=rules())
def test_a_written_file_reads_back_as_the_same_rules(drawn, tmp_path_factory):
    round_trip(FeatureSpace.infer(TABLE, drawn), TABLE, tmp_path_factory.mktemp("rules"))


def test_uncommenting_every_suggestion_gives_a_valid_file(tmp_path):
    text = write_rules(FeatureSpace.infer(TABLE))
    body = text[text.index("\n[columns.") :]
    lines = [line.removeprefix("# ") for line in body.splitlines()]
    found = FeatureSpace.infer(TABLE, read_rules(_write(tmp_path, "\n".join(lines)))).rules
    assert set(found) == set(TABLE.columns)


def _write(tmp_path, text):
    (tmp_path / "edited.toml").write_text(text, encoding="utf-8")
    return tmp_path / "edited.toml"


def test_the_comments_show_what_was_inferred():
    text = write_rules(FeatureSpace.infer(TABLE), notes={"age": "Look here."})
    assert f"[columns.age]  # integer: {TABLE['age'].min()} to {TABLE['age'].max()}\n# Look here.\n" in text
    assert "[columns.grade]  # ordinal: low < mid < high\n" in text
    assert "[columns.note]  # categorical: a, b, may be missing\n" in text
    assert '# one_of = ["car", "education", "home"]' in text


def test_groups_are_written_with_their_rules(tmp_path):
    table = pd.DataFrame({"x": [0.5, 1.5, 2.5], "is_a": [1, 0, 0], "is_b": [0, 1, 0], "is": [1, 2, 3]})
    group = ("is_a", "is_b")
    for rule in (brce.one_hot(), brce.one_hot() & brce.immutable(), brce.one_hot() & brce.one_of(["is_a", None])):
        text = round_trip(FeatureSpace.infer(table, {group: rule}), table, tmp_path)
        assert '[groups]\nis_ = ["is_a", "is_b"]' in text  # "is" is a column already


ODD_NAMES = ["loan amount", 'a "quoted" name', "line\nbreak", "tab\t", "zażółć", "a.b", "", "\x7f", "#no comment", "-1"]


def test_odd_names_and_levels_are_written_and_read(tmp_path):
    table = pd.DataFrame({name: [f"{name} 1", f"{name} 2", None] for name in ODD_NAMES})
    drawn = {name: brce.one_of([f"{name} 1"]) for name in ODD_NAMES}
    drawn["a.b"] = brce.transitions({"a.b 1": ["a.b 2"]})
    round_trip(FeatureSpace.infer(table), table, tmp_path)
    round_trip(FeatureSpace.infer(table, drawn), table, tmp_path)


@pytest.mark.slow
@given(name=st.text(), level=st.text())
def test_any_text_survives_the_file(name, level, tmp_path_factory):
    table = pd.DataFrame({name: [level, level + "?"], name + "!": [1, 2]})
    space = FeatureSpace.infer(table, {name: brce.one_of([level]), name + "!": brce.immutable()})
    round_trip(space, table, tmp_path_factory.mktemp("rules"))


def test_names_that_are_no_text_are_written_beside_the_section(tmp_path):
    table = pd.DataFrame({0: [1, 2], 7: [1.5, 2.5], "7": ["a", "b"]})
    space = FeatureSpace.infer(table, {0: brce.no_more_than(7), 7: brce.immutable(), "7": brce.one_of(["a"])})
    assert "column = 7\n" in round_trip(space, table, tmp_path)
    table.columns = pd.MultiIndex.from_tuples([("a", "x"), ("a", "y"), ("b", "x")])
    space = FeatureSpace.infer(table, {("a", "x"): brce.no_more_than(("a", "y"))})
    assert 'no_more_than = [["a", "y"]]' in round_trip(space, table, tmp_path)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (
            brce.derived(lambda table: table["age"]),
            "'age' is derived by a Python function, which a file of rules cannot",
        ),
        (Rule.of(Between(low=0.0)), "a bound on one side only"),
        (Rule.of(Movement(down=3.0, up=2.0)), "may move down by 3.0 and up by 2.0"),
        (Rule.of(Movement(down=3.0)), "may move down by 3.0 and up by None"),
    ],
)
def test_what_a_file_cannot_say_is_refused(rule, message):
    space = FeatureSpace.infer(TABLE, {"age": rule})
    with pytest.raises(InvalidInput, match=message):
        write_rules(space)


def test_only_toml_is_written(tmp_path):
    with pytest.raises(InvalidInput, match=r"`path` must end in .toml"):
        write_rules(FeatureSpace.infer(TABLE), tmp_path / "rules.yaml")


@pytest.mark.parametrize("as_path", [str, lambda path: path], ids=["str", "Path"])
def test_betarce_reads_the_file_itself(as_path, written):
    path = written("[columns.a]\nimmutable = true\n")
    X = pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0] * 5, "b": [0.0, 1.0, 1.5, 0.5] * 5})
    loose = {"delta": 0.5, "confidence": 0.6, "n_models": 5, "random_state": 0}
    rce = brce.BetaRCE(LogisticRegression(), features=as_path(path), **loose)
    rce.fit(X, [0, 1, 1, 0] * 5)
    assert rce.features_.rules == {"a": brce.immutable()}


class TestFormula:
    TABLE = pd.DataFrame({"a": [1.0, -2.0, 3.5], "b": [2.0, 4.0, -8.0], "loan amount": [1, 2, 3]})

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("a / b", lambda a, b, _: a / b),
            ("-a + 2 * b - 1.5", lambda a, b, _: -a + 2 * b - 1.5),
            ("(a + b) ** 2", lambda a, b, _: (a + b) ** 2),
            ("min(a, b, 0)", lambda a, b, _: np.minimum(np.minimum(a, b), 0)),
            ("max(a / b, +1)", lambda a, b, _: np.maximum(a / b, 1)),
            ("`loan amount` * a / `loan amount`", lambda a, b, c: c * a / c),
            ("  a*0  ", lambda a, b, _: a * 0),
        ],
    )
    def test_arithmetic_is_that_of_numpy(self, text, expected):
        columns = [self.TABLE[name].to_numpy(dtype=float) for name in self.TABLE]
        np.testing.assert_array_equal(Formula(text)(self.TABLE), expected(*columns))

    def test_tables_of_every_kind_are_taken(self):
        frame = self.TABLE[["a", "b"]]
        expected = (frame["a"] / frame["b"]).to_numpy()
        np.testing.assert_array_equal(Formula("a / b")(pl.from_pandas(frame, nan_to_null=False)), expected)
        np.testing.assert_array_equal(Formula("x0 / x1")(frame.to_numpy()), expected)
        np.testing.assert_array_equal(Formula("a / b")(frame.convert_dtypes()), expected)

    def test_missing_stays_missing_and_zero_divides_without_a_warning(self):
        table = pd.DataFrame({"a": pd.array([1, None, 0], dtype="Int64"), "b": [0.0, 1.0, 0.0]})
        np.testing.assert_array_equal(Formula("a / b")(table), [np.inf, np.nan, np.nan])

    @pytest.mark.parametrize(
        "text",
        [
            *("__import__('os')", "a.b", "a[0]", "lambda: 1", "a if b else c", "a and b", "f(a)", "min()", "not a"),
            *(
                "min(a, key=b)",
                "True * a",
                "a @ b",
                "a // b",
                "a % b",
                "'x' * a",
                "a < b",
                "[a]",
                "1e400 * a",
                "min(*a)",
            ),
            *("a; b", "a = b", "", "a +", "(a", "9" * 999, "a + " * 400 + "a", "a\x00", "~a", "(a := b)", "f'{a}'"),
            *("2 + 2", "a.__class__", "max(a, b).x", "1j * a", "None", "print(a)", "``", "`a"),
        ],
    )
    def test_anything_else_is_refused_when_it_is_written(self, text):
        with pytest.raises(InvalidInput, match="formula"):
            Formula(text)

    @given(st.text(alphabet="ab+-*/().,1e_`[]'\"= :", max_size=30))
    def test_no_text_gets_past_the_check_with_another_error(self, text):
        try:
            formula = Formula(text)
        except InvalidInput:
            return
        if set(formula.names) <= set(self.TABLE):
            assert formula(self.TABLE).dtype == np.float64
        else:
            with pytest.raises(InvalidInput, match="which the table lacks"):
                formula(self.TABLE)

    def test_a_column_called_like_a_mark_of_ours_is_read_itself(self):
        table = pd.DataFrame({"_quoted_0": [1.0], "b c": [10.0], "_quoted__0": [100.0]})
        formula = Formula("_quoted_0 + `b c` * 2 + _quoted__0")
        assert formula.names == ("_quoted_0", "b c", "_quoted__0")
        assert formula(table).tolist() == [121.0]

    def test_names_are_read_as_they_are_written(self):
        table = pd.DataFrame({"ﬁ": [1.0], "fi": [10.0], "µ": [100.0], "μ": [1000.0]})
        assert Formula("ﬁ - fi")(table).tolist() == [-9.0]
        assert Formula("é * µ + μ").names == ("é", "µ", "μ")

    @pytest.mark.parametrize("text", ["a`b`", "`a``b`", "`a`b", "-" * 998 + "a", "a" + "*a" * 400])
    def test_names_side_by_side_and_endless_chains_are_refused(self, text):
        with pytest.raises(InvalidInput, match="formula"):
            Formula(text)

    def test_an_unknown_column_gets_a_suggestion(self):
        with pytest.raises(
            InvalidInput, match=r"names 'loan_amount', which the table lacks\. Did you mean 'loan amount'"
        ):
            Formula("loan_amount * 2")(self.TABLE)

    def test_text_cannot_be_computed_with(self):
        with pytest.raises(InvalidInput, match="computes with 'a', which does not hold numbers"):
            Formula("a * 2")(pd.DataFrame({"a": ["x"]}))

    def test_a_formula_in_a_file_keeps_a_table_consistent(self, written, tmp_path):
        table = pd.DataFrame({"debt": [1.0, 2.0, 3.0], "income": [4.0, 4.0, 8.0], "share": [0.25, 0.5, 0.375]})
        found = read_rules(written('[columns.share]\nderived = "debt / income"\n'))
        space = FeatureSpace.infer(table, found)
        assert space.describe().loc["share", "rule"] == "derived from debt / income"
        round_trip(space, table, tmp_path)
        with pytest.raises(InvalidInput, match="disagrees with the training table in 1 of 3 rows"):
            FeatureSpace.infer(table.assign(share=[0.25, 0.5, 0.9]), found)


def test_hints_name_codes_identifiers_dates_steps_and_constants():
    n = 60
    table = pd.DataFrame(
        {
            "rating": [1, 2, 3] * 20,
            "customer": [f"C{i}" for i in range(n)],
            "number": range(n),
            "since": [f"2024-01-{i % 28 + 1:02d}" for i in range(n)],
            "amount": [500 * (i % 13) for i in range(n)],
            "same": "x",
            "fine": np.linspace(0, 1, n) ** 2,
            "colour": ["red", "blue"] * 30,
        }
    )
    found = hints(table, FeatureSpace.infer(table))
    assert {name: text.split()[0] for name, text in found.items()} == {
        "rating": "3",
        "customer": "60",
        "number": "A",
        "since": "Looks",
        "amount": "All",
        "same": "Always",
    }


def test_rules_that_were_read_before_lost_how_many_columns_may_change(written):
    read = read_rules(written("max_changes = 2\n[columns.age]\nimmutable = true\n"))
    assert FeatureSpace.infer(TABLE, read).max_changes == 2
    assert FeatureSpace.infer(TABLE, read, max_changes=1).max_changes == 1
    X = np.random.default_rng(0).normal(size=(40, 3))
    path = written("max_changes = 2\n")
    for features in (read_rules(path), path):
        rce = brce.BetaRCE(LogisticRegression(), features=features, n_models=(2, 6), delta=0.6, confidence=0.7)
        assert rce.set_params(verbose=-1).fit(X, X[:, 0] > 0).features_.max_changes == 2


def test_many_groups_were_compared_pair_by_pair(written):
    path = written("[groups]\n" + "".join(f'g{i} = ["a{i}", "b{i}"]\n' for i in range(20_000)))
    started = time.process_time()
    assert len(read_rules(path)) == 20_000
    assert time.process_time() - started < 10  # 60 and more before
