"""Rules on what may change: one function per rule, rules in files, and what own rules are made of."""

from betarce.features import rules as _rules
from betarce.features.rules import *  # noqa: F403
from betarce.features.rules.protocol import Guide, Rule, RulePart
from betarce.features.rules.reach import Ends, Moves
from betarce.features.rules.registry import rule
from betarce.features.rules.relation import Relation
from betarce.features.rules_file import read_rules, write_rules

__all__ = ["Ends", "Guide", "Moves", "Relation", "Rule", "RulePart", "read_rules", "rule", "write_rules"]
__all__ += _rules.__all__
