"""Promises on record: what was handed out to whom on what grounds, and whether it still holds."""

from betarce.ledger.chain import Head
from betarce.ledger.conditions import Condition
from betarce.ledger.disagreement import Disagreement, Region
from betarce.ledger.envelope import Envelope, Signature, read_envelope
from betarce.ledger.gate import Gate, rank
from betarce.ledger.heads import load_head, save_head
from betarce.ledger.integrity import Integrity, Problem
from betarce.ledger.keys import PublicKey, SigningKey
from betarce.ledger.ledger import Ledger
from betarce.ledger.monitor import Monitor
from betarce.ledger.predictions_file import read_predictions
from betarce.ledger.promises import Promise
from betarce.ledger.recheck import Recheck
from betarce.ledger.statement import Statement, read_statement
from betarce.ledger.verification import Verification, verify

__all__ = [
    "Condition",
    "Disagreement",
    "Envelope",
    "Gate",
    "Head",
    "Integrity",
    "Ledger",
    "Monitor",
    "Problem",
    "Promise",
    "PublicKey",
    "Recheck",
    "Region",
    "Signature",
    "SigningKey",
    "Statement",
    "Verification",
    "load_head",
    "rank",
    "read_envelope",
    "read_predictions",
    "read_statement",
    "save_head",
    "verify",
]
