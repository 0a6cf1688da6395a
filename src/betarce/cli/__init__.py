"""The command line: parses, calls, prints."""

import typer

from betarce.cli.demo import demo
from betarce.cli.reproduce import reproduce
from betarce.cli.size import figures, size
from betarce.cli.tables import explain, init

app = typer.Typer(
    no_args_is_help=True, add_completion=False, rich_markup_mode="markdown", pretty_exceptions_enable=False
)


@app.callback()
def main() -> None:
    """Counterfactual explanations that survive retraining."""


for command in (demo, size, figures, init, explain, reproduce):
    app.command()(command)
