"""Mutants of results and certificates: refused by one of our own errors, or read as what they say."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from betarce import Certificate, Guarantee, Result
from betarce.features.stored import same_data
from betarce.storage.files import digest, seal, unseal
from mixed_table import TABLE
from mutants import TIMES, WRONG, byte_mutants, data_mutants
from stored_results import result_of

TEXT = result_of(TABLE[["age", "income", "purpose"]], statuses=["certified", "not-found"]).to_json()
CERTIFICATE = (
    Guarantee(0.9, 0.95, "jeffreys").certify(37, 38, target="yes", space="Seed()", point="0123456789abcdef").to_json()
)


@pytest.mark.slow
def test_a_result_with_other_bytes_is_refused_or_equal(tally, tmp_path):
    count = tally("results, bytes")
    path = tmp_path / "result.json"
    for content in byte_mutants(TEXT.encode(), 2000, seed=1):
        path.write_bytes(content)
        with count.refusals():
            again = Result.load(path)
            assert again.to_json() == TEXT
            count.read("equal")


@pytest.mark.slow
@pytest.mark.parametrize("part", ["rows", "features", "certificate"])
def test_a_result_that_says_something_else_under_a_right_digest_is_refused_or_read_as_it_says(part, tally):
    count = tally("results, data under a right digest")
    document = unseal(TEXT)
    inner = document["rows"][0]["certificate"] if part == "certificate" else document[part]
    for mutant in data_mutants(inner, 200, seed=2):
        changed = {**document, part: mutant}
        if part == "certificate":
            changed = {**document, "rows": [{**document["rows"][0], "certificate": mutant}, document["rows"][1]]}
        with count.refusals():
            again = Result.from_json(seal(resealed(changed)))
            written = unseal(again.to_json())
            assert same_data(written, {**resealed(changed), "written_by": written["written_by"]})
            count.read("equal" if same_data(resealed(changed), document) else "read as they say")


def resealed(document):
    """Give certificates the digests that they would have had."""
    rows = (
        [
            {**row, "certificate": with_digest(row["certificate"])}
            if isinstance(row, dict) and row.get("certificate")
            else row
            for row in document["rows"]
        ]
        if isinstance(document["rows"], list)
        else document["rows"]
    )
    return {**document, "rows": rows}


def with_digest(data):
    if not isinstance(data, dict):
        return data
    rest = {key: value for key, value in data.items() if key != "digest"}
    return {**rest, "digest": digest(rest)}


@pytest.mark.slow
def test_a_certificate_with_other_bytes_is_refused_or_equal(tally):
    count = tally("certificates, bytes")
    original = Certificate.from_json(CERTIFICATE)
    for content in byte_mutants(CERTIFICATE.encode(), 3000, seed=3):
        with count.refusals():
            assert Certificate.from_json(content.decode("utf-8", "replace")) == original
            count.read("equal")


@pytest.mark.slow
def test_a_certificate_that_says_something_else_under_a_right_digest_is_refused_or_read_as_it_says(tally):
    count = tally("certificates, data under a right digest")
    for mutant in data_mutants(json.loads(CERTIFICATE), 2000, seed=4):
        data = with_digest(mutant)
        with count.refusals():
            assert same_data(json.loads(Certificate.from_json(json.dumps(data)).to_json()), data)
            count.read("equal" if same_data(data, json.loads(CERTIFICATE)) else "read as they say")


FIELDS = sorted(json.loads(CERTIFICATE))
ANYTHING = st.sampled_from(WRONG)


@pytest.mark.slow
@settings(max_examples=300 * TIMES)
@given(said=st.dictionaries(st.sampled_from(FIELDS), ANYTHING, max_size=3))
def test_whatever_is_said_of_the_fields_of_a_certificate(tally, said):
    count = tally("certificates, hypothesis")
    data = with_digest(json.loads(CERTIFICATE) | said)
    with count.refusals():
        assert same_data(json.loads(Certificate.from_json(json.dumps(data)).to_json()), data)
        count.read("read as they say")
