"""A fitted explainer as a folder, and rows explained from file to file."""

from betarce.runs.file_to_file import FileAnswers, explain_file
from betarce.runs.fit_folder import FitFolder
from betarce.runs.identity import Identity, identity
from betarce.runs.loading import load
from betarce.runs.saving import save_run

__all__ = ["FileAnswers", "FitFolder", "Identity", "explain_file", "identity", "load", "save_run"]
