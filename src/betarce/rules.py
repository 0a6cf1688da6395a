"""Rules on what may change: one function per rule, and rules in files."""

from betarce.features.rules import (
    Rule,
    at_most,
    between,
    categorical,
    continuous,
    cost,
    decrease_only,
    derived,
    immutable,
    increase_only,
    integer,
    may_be_missing,
    no_more_than,
    one_hot,
    one_of,
    ordinal,
    transitions,
)
from betarce.features.rules_file import read_rules, write_rules

__all__ = [
    "Rule",
    "at_most",
    "between",
    "categorical",
    "continuous",
    "cost",
    "decrease_only",
    "derived",
    "immutable",
    "increase_only",
    "integer",
    "may_be_missing",
    "no_more_than",
    "one_hot",
    "one_of",
    "ordinal",
    "read_rules",
    "transitions",
    "write_rules",
]
