"""Models made of other models, evaluated through the kernels of their parts."""
