"""Data sets to try things on: the six of the paper, and a synthetic loan book."""

from betarce.datasets.catalogue import NAMES, PAPER_NAMES, load
from betarce.datasets.dataset import Dataset
from betarce.datasets.loan import load_loan

__all__ = ["NAMES", "PAPER_NAMES", "Dataset", "load", "load_loan"]
