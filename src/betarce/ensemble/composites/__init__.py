"""Kernels for models made of other models: calibrated, voting and stacking classifiers."""
