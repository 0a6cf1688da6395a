"""Data sets for examples: the six of the paper plus a synthetic loan table."""

from betarce.datasets.catalogue import NAMES, PAPER_NAMES, load
from betarce.datasets.dataset import Dataset
from betarce.datasets.loan import load_loan

__all__ = ["NAMES", "PAPER_NAMES", "Dataset", "load", "load_loan"]
