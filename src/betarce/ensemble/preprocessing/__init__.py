"""What pipelines do to columns, read off and folded into kernels."""
