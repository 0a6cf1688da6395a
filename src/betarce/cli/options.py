"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

Delta = Annotated[float, typer.Option(help="Share of all retrained models that must keep the class.")]
Confidence = Annotated[float, typer.Option(help="How sure that is, one-sided.")]
Prior = Annotated[str, typer.Option(help="jeffreys, uniform or exact.")]
Seed = Annotated[int, typer.Option(help="The same seed gives the same output.")]
Jobs = Annotated[int, typer.Option(help="Workers that train models; -1 for one a core.")]
Drop = Annotated[list[str] | None, typer.Option(help="Column to leave out; may be given more than once.")]
Table = Annotated[Path, typer.Argument(help="CSV file of the training table.", show_default=False)]
