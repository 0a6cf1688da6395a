"""Where work is computed: threads, processes, and clusters of Dask or Ray."""
