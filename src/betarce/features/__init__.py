"""The features of a table: what its columns hold, what rules let them become."""

from betarce.features.alignment import aligned_rows, aligned_values
from betarce.features.box import Box
from betarce.features.columns import Column
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
from betarce.features.space import FeatureSpace, Norm, Rules
from betarce.features.table_adapters import RawTable, check_table, row_names

__all__ = [
    "Box",
    "Column",
    "FeatureSpace",
    "Norm",
    "RawTable",
    "Rule",
    "Rules",
    "aligned_rows",
    "aligned_values",
    "at_most",
    "between",
    "categorical",
    "check_table",
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
    "row_names",
    "transitions",
    "write_rules",
]
