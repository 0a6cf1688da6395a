"""Run work on threads, processes or clusters of Dask or Ray."""
