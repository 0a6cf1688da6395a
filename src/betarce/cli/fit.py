"""`betarce fit`: a run from a CSV file, which goes on where it was stopped."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from betarce.cli.findings import print_findings
from betarce.cli.friendly import friendly_errors, friendly_warnings
from betarce.cli.layout import known, print_json
from betarce.cli.options import (
    AllowPickle,
    Confidence,
    Delta,
    Drop,
    Jobs,
    Json,
    Missing,
    Prior,
    Seed,
    Table,
    Trust,
)
from betarce.cli.training import Base, MaxChanges, Models, Space, explainer_settings
from betarce.safe_text import in_terminal

if TYPE_CHECKING:
    from betarce.runs.csv_runs import Fitted


def fit(
    data: Table,
    label: Annotated[str, typer.Option(help="Its column of classes.", show_default=False, metavar="COLUMN")],
    out: Annotated[Path, typer.Option(help="Folder of the run.", show_default=False)],
    model: Annotated[
        str,
        typer.Option(
            help="hist-gradient-boosting, lightgbm, logistic, random-forest; a .skops or .safetensors file; or "
            "package.module:object.",
            metavar="MODEL",
        ),
    ] = "hist-gradient-boosting",
    features: Annotated[Path | None, typer.Option(help="File of rules, as `betarce init` writes.")] = None,
    drop: Drop = None,
    missing: Missing = None,
    space: Space = "bootstrap",
    base: Base = "none",
    models: Models = "auto",
    audit: Annotated[int, typer.Option(help="Further models, which later models are compared with.", min=0)] = 59,
    max_changes: MaxChanges = None,
    delta: Delta = 0.9,
    confidence: Confidence = 0.95,
    prior: Prior = "exact",
    seed: Seed = 0,
    jobs: Jobs = -1,
    trust: Trust = None,
    allow_pickle: AllowPickle = False,
    json: Json = False,
) -> None:
    """Train a model and its members on a CSV file, and write them to a folder that explains later.

    Stop it at any time: the same command goes on, and keeps the models that it has.
    """
    from betarce.runs.csv_jobs import read_training
    from betarce.runs.csv_runs import fit_run
    from betarce.runs.manifest import TableSource

    with friendly_errors(), friendly_warnings() as warned:
        settings = explainer_settings(
            space=space,
            base=base,
            prior=prior,
            models=models,
            jobs=jobs,
            max_changes=max_changes,
        )
        settings |= {"delta": delta, "confidence": confidence, "verbose": 1}
        source = TableSource(label, tuple(missing or ()), tuple(drop or ()))
        training = read_training(data, label=label, features=features, drop=drop or (), missing=missing or ())
        print_findings(training.findings, data)
        how: dict[str, Any] = {"trust": trust or (), "allow_pickle": allow_pickle, "n_audit": audit, "seed": seed}
        fitted = fit_run(training, out, model=model, source=source, **how, **settings)
    if json:
        print_json(_document(fitted, out, warned))
    else:
        _print(fitted, out)


def _print(fitted: "Fitted", out: Path) -> None:
    sizes = fitted.rce.members_.sizes
    right = "" if known(fitted.accuracy) is None else f" It is right for {fitted.accuracy:.0%} of rows kept aside."
    stored = f" {fitted.n_stored} models were there from before." if fitted.n_stored else ""
    shown = ", ".join(f"{n} {role} members" for role, n in sizes.items())
    typer.echo(in_terminal(f"Wrote {out}: {shown}.{stored}{right}"))
    typer.echo(in_terminal(f"Next: betarce explain ROWS.csv --from {out} --target CLASS"))


def _document(fitted: "Fitted", out: Path, warned: Any) -> dict[str, object]:
    return {
        "run": str(out),
        "members": dict(fitted.rce.members_.sizes),
        "models_from_before": fitted.n_stored,
        "accuracy": known(fitted.accuracy),
        "warnings": list(warned),
    }
