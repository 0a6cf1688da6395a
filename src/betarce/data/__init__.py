"""Data sets to try things on: the six of the paper, and a synthetic loan book."""

from betarce.data.catalogue import NAMES, PAPER_NAMES, load
from betarce.data.dataset import Dataset
from betarce.data.loan import load_loan

__all__ = ["NAMES", "PAPER_NAMES", "Dataset", "load", "load_loan"]
