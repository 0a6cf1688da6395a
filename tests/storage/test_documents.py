"""Files that nobody has vouched for are read within limits, or refused in our own words."""

import json
import time

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from betarce.errors import CorruptFile, InvalidInput
from betarce.features import FeatureSpace
from betarce.rules import read_rules, write_rules
from betarce.storage.documents import MOST_DEPTH, check_limits, parse_json, parse_toml, parse_yaml
from betarce.storage.files import read_text, seal, unseal

PLAIN = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**200), 2**200),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(), inner, max_size=4)),
    max_leaves=20,
)


@pytest.mark.slow
@given(PLAIN)
def test_plain_data_comes_back_from_json(data):
    again = parse_json(json.dumps(data, allow_nan=False))
    assert repr(again) == repr(data)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"a": NaN}', "NaN is not JSON"),
        ("[-Infinity]", "-Infinity is not JSON"),
        ("[1e999]", "1e999 is more than a number can be"),
        ("[-1.5e400]", "more than a number can be"),
        ("1" * 5000, "a whole number has more than 100 digits"),
        ('{"a": {"b": 1, "c": 2, "b": 1}}', "an object has the key 'b' twice"),
        (r'{"a": 1, "\u0061": 1}', "an object has the key 'a' twice"),
        ("[" * 65 + "]" * 65, "more than 64 levels"),
        ('{"a":' * 100_000, "more than 64 levels"),
        ("[1", "delimiter"),
        ("", "Expecting value"),
    ],
)
def test_json_that_is_not_strict_is_refused(text, reason):
    with pytest.raises(CorruptFile, match=reason):
        parse_json(text)


def test_brackets_in_text_are_not_depth():
    data = ['["' * 200, {"{[": '\\"[[['}, "é" * 70 + "[" * 70]
    assert parse_json(json.dumps(data)) == data
    assert parse_json("[" * MOST_DEPTH + "]" * MOST_DEPTH) is not None


def test_a_number_beyond_floats_in_a_sealed_file_is_refused():
    text = seal({"x": 1.5}).replace("1.5", "1e999")
    with pytest.raises(CorruptFile, match="1e999 is more than a number can be"):
        unseal(text)


BOMBS = {
    "dotted key": ".".join(["a"] * 100_000) + " = 1",
    "dotted section": "[" + ".".join(['"a"'] * 100_000) + "]",
    "arrays": "a = " + "[" * 100_000,
    "tables": "a = " + "{a = " * 100_000,
    "long number": "a = " + "1" * 5000,
    "long hexadecimal number": "a = 0x" + "f" * 100_000,
    "key twice": "a = 1\na = 1",
    "date": "a = 2024-13-45",
}


@pytest.mark.parametrize("name", BOMBS)
def test_toml_beyond_the_limits_is_refused_at_once(name):
    started = time.process_time()
    with pytest.raises(CorruptFile, match="not valid TOML: "):
        parse_toml(BOMBS[name])
    assert time.process_time() - started < 2


ALIAS_BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "\n".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 10)
)
MERGE_BOMB = "a0: &a0 {x: 1, y: 2}\n" + "\n".join(
    f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 9)}]}}" for i in range(1, 10)
)
YAML_BOMBS = {
    "aliases": ALIAS_BOMB,
    "alias of itself": "a: &a [*a]",
    "many merges": f"a: &a {{{', '.join(f'k{i}: 1' for i in range(2000))}}}\nb: {{<<: [{', '.join(['*a'] * 2000)}]}}",
    "nesting": "[" * 100_000,
    "blocks": "- " * 10_000,
    "long number": "a: " + "1" * 5000,
    "long hexadecimal number": "a: 0x" + "f" * 100_000,
    "sexagesimal number": "a: 1" + ":59" * 100_000,
    "date": "a: 2024-13-45",
    "tag": "a: !!timestamp x",
    "truth": "a: !!bool x",
    "empty number": 'a: !!int ""',
    "code": "a: !!python/object/apply:os.system [true]",
    "key twice": "a: 1\na: 1",
    "key twice inside": "{a: {b: 1, b: 2}}",
    "list as key": "? [a]\n: 1",
    "merge of a number": "<<: 1",
    "two documents": "a: 1\n---\na: 2",
    "control characters": "a: \x00",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", YAML_BOMBS)
def test_yaml_beyond_the_limits_is_refused_at_once(name):
    started = time.process_time()
    with pytest.raises(CorruptFile, match="not valid YAML: "):
        parse_yaml(YAML_BOMBS[name], name="rules.yaml")
    assert time.process_time() - started < 5


def test_merging_the_same_names_again_stays_small():
    assert parse_yaml(MERGE_BOMB, name="rules.yaml")["a9"] == {"x": 1, "y": 2}


def test_merged_names_give_way_to_own_ones_and_to_earlier_ones():
    text = "a: &a {x: 1, y: 1}\nb: &b {x: 2, z: 2}\nc: {z: 3, <<: [*a, *b]}"
    assert parse_yaml(text, name="rules.yaml")["c"] == {"x": 1, "y": 1, "z": 3}


@pytest.mark.slow
def test_an_alias_bomb_of_376_bytes_does_not_hang_read_rules(tmp_path):
    (tmp_path / "rules.yaml").write_text(f"columns:\n  {ALIAS_BOMB.replace(chr(10), chr(10) + '  ')}")
    with pytest.raises(InvalidInput, match=r"rules.yaml is not valid YAML: it holds more than 1,000,000 values"):
        read_rules(tmp_path / "rules.yaml")


def test_a_file_that_is_too_large_is_not_read(tmp_path):
    (tmp_path / "rules.toml").write_bytes(b"#" * (2**22 + 1))
    with pytest.raises(InvalidInput, match=r"rules.toml cannot be read: it has more than 4,194,304 bytes"):
        read_rules(tmp_path / "rules.toml")
    with pytest.raises(CorruptFile, match="more than 1,024 bytes"):
        read_text("/dev/zero", most=1024)


def test_a_whole_number_that_could_not_be_read_back_is_not_written():
    space = FeatureSpace.infer(
        pd.DataFrame({"a": pd.Series([2**64, 1], dtype=object)}, dtype=object).astype("category")
    )
    with pytest.raises(InvalidInput, match="cannot be written in a file of rules"):
        write_rules(space)


def test_limits_count_keys_and_values():
    check_limits({i: [i] for i in range(1000)})
    with pytest.raises(ValueError, match="64 bits"):
        check_limits({2**64: 1})
