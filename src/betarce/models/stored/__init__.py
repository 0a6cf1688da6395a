"""Serialise fitted models to plain arrays, bit for bit, without pickle."""

from betarce.models.stored.packing import pack, unpack
from betarce.models.stored.writer import Unstorable

__all__ = ["Unstorable", "pack", "unpack"]
