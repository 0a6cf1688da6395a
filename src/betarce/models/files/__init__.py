"""Models from files and to files, without pickle unless the caller asks for it."""
