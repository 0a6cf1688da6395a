"""What a rule says, for tests that check values without the code under test."""

from types import SimpleNamespace

from betarce.features.rules.registry import RULES


def said(rule):
    """Give what a rule says by the names of its JSON form; None where it is silent."""
    silent = {key: None for entry in RULES.values() for key in entry.stored}
    return SimpleNamespace(**silent | {key: value for part in rule.parts for key, value in part.to_json().items()})
