"""Fitted models as plain arrays and back, bit for bit, without pickle."""

from betarce.models.stored.packing import pack, unpack
from betarce.models.stored.writer import Unstorable

__all__ = ["Unstorable", "pack", "unpack"]
