"""The only way to the disk: whole files or none, strict documents, arrays without pickle."""
