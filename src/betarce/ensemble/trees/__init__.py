"""Kernels for tree ensembles of any library."""
