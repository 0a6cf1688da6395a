"""Counterfactual explanations that survive retraining."""

__version__ = "0.1.0"
