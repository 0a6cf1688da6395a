"""Models from files and to files, without pickle unless the caller asks for it."""

from betarce.models.files.source import LoadedModel, load_model, save_model

__all__ = ["LoadedModel", "load_model", "save_model"]
