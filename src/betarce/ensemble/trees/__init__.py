"""Tree ensembles of any library, evaluated as one."""
