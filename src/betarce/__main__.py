"""`python -m betarce` is the command line."""

from betarce.cli import app

app(prog_name="betarce")
