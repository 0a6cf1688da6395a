"""Read the preprocessing of fitted pipelines, to fold it into kernels.

See `docs/preprocessing.md`.
"""
