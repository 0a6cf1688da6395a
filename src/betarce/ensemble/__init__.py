"""Many members answering as one: kernels for linear models, networks and trees, and a fallback for all others."""

from betarce.ensemble.ensemble import Ensemble

__all__ = ["Ensemble"]
