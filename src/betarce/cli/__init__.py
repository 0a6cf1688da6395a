"""The command line: parses, calls, prints."""

from typing import Annotated

import typer

from betarce.cli.certify import certify
from betarce.cli.datasets import datasets
from betarce.cli.demo import demo
from betarce.cli.explain import explain
from betarce.cli.figures import figures
from betarce.cli.fit import fit
from betarce.cli.init import init
from betarce.cli.ledger import ledger
from betarce.cli.monitor import monitor
from betarce.cli.recheck import recheck
from betarce.cli.report import report
from betarce.cli.reproduce import reproduce
from betarce.cli.serve import serve
from betarce.cli.size import size
from betarce.cli.verify import verify

app = typer.Typer(
    no_args_is_help=True, add_completion=False, rich_markup_mode="markdown", pretty_exceptions_enable=False
)


def _print_version(asked: bool) -> None:
    if asked:
        import betarce

        typer.echo(f"betarce {betarce.__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", help="Say which version this is.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Counterfactual explanations that survive retraining.

    Exit codes: 0 fine, 1 something that was promised or asked for failed, 2 wrong use.
    """


for command in (
    *(demo, init, fit, explain, certify, verify, recheck, monitor, report, serve),
    *(size, figures, reproduce, datasets),
):
    app.command()(command)
app.add_typer(ledger, name="ledger")
