"""Workers that share the tests must each find the same ones, whatever the clock and the order of sets."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def collected(hash_seed: str) -> list[str]:
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "", "-p", "no:cacheprovider"]
    found = subprocess.run(
        command, cwd=ROOT, env=os.environ | {"PYTHONHASHSEED": hash_seed}, capture_output=True, text=True, check=True
    )
    return [line for line in found.stdout.splitlines() if "::" in line]


@pytest.mark.slow
def test_every_worker_finds_the_same_tests():
    first, again = collected("1"), collected("2")
    assert len(first) > 1000
    assert first == again


def test_no_two_folders_hold_a_module_of_the_same_name():
    """`tests`, `tools` and `bench` are all on the path: of two equal names the second could never be imported."""
    names = [path.stem for folder in ("tests", "tools", "bench") for path in (ROOT / folder).glob("*.py")]
    assert len(names) > 20
    assert sorted(names) == sorted(set(names))
