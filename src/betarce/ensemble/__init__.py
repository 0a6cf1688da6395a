"""Evaluate many fitted models as one ensemble.

Kernels evaluate all linear models, networks or trees of an ensemble at once; all other models are asked one by one.
"""

from betarce.ensemble.ensemble import Ensemble

__all__ = ["Ensemble"]
