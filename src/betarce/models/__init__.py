"""Models that come with the package: those of the paper, its network, networks from torch."""

from betarce.models.families import paper_model, paper_ranges
from betarce.models.network import Network
from betarce.models.torch_bridge import network_from_torch, network_to_torch
from betarce.models.validation import ValidationSplit

__all__ = ["Network", "ValidationSplit", "network_from_torch", "network_to_torch", "paper_model", "paper_ranges"]
