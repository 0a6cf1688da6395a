"""The command line, called within the process of the tests."""

from typer.testing import CliRunner

from betarce.cli import app

# For `betarce fit`: few members, so that it takes a second.
SMALL = ["--delta", "0.8", "--confidence", "0.9", "--models", "3,14", "--audit", "2", "--jobs", "1"]


def ask(*words):
    """Call `betarce` with these words."""
    return CliRunner().invoke(app, [str(word) for word in words])


def said(done):
    """Give all that a call printed, as one line."""
    return " ".join((done.stdout + done.stderr).split())
