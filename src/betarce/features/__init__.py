"""The features of a table: what its columns hold, what rules let them become."""

from betarce.features import rules  # registers every rule
from betarce.features.alignment import aligned_rows, aligned_values
from betarce.features.box import Box
from betarce.features.columns import Column
from betarce.features.rules.protocol import Rule
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
    "check_table",
    "row_names",
    "rules",
]
